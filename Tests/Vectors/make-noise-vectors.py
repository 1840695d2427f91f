#!/usr/bin/env python3
"""Writes noise-nx.json and noise-patterns.json with the Python package noiseprotocol, which shares no code with ours.

    python3 Tests/Vectors/make-noise-vectors.py        # needs: pip install noiseprotocol

Keys and payloads are SHA-256 of their names, so that every run writes the same bytes.
"""
import hashlib
import importlib.metadata
import json
import pathlib

from noise.connection import Keypair, NoiseConnection

HERE = pathlib.Path(__file__).parent
# Which side has a static key, and which side knows the other's beforehand.
PATTERNS = {
    "NX": ("r", ""), "NN": ("", ""), "NK": ("r", "i"), "XX": ("ir", ""), "XK": ("ir", "i"),
    "IK": ("ir", "i"), "IX": ("ir", ""), "KK": ("ir", "ir"), "KX": ("ir", "r"),
}


def secret(label):
    return hashlib.sha256(b"antenna noise vector: " + label.encode()).digest()


def public(private):
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def vector(pattern, cipher, prologue, payload_size):
    name = f"Noise_{pattern}_25519_{cipher}_BLAKE2b"
    has_static, knows_other = PATTERNS[pattern]
    keys = {"init_ephemeral": secret("init ephemeral"), "resp_ephemeral": secret("resp ephemeral")}
    statics = {"init": secret("init static"), "resp": secret("resp static")}
    sides = {}
    for side, other in (("init", "resp"), ("resp", "init")):
        connection = NoiseConnection.from_name(name.encode())
        (connection.set_as_initiator if side == "init" else connection.set_as_responder)()
        connection.set_prologue(prologue)
        connection.set_keypair_from_private_bytes(Keypair.EPHEMERAL, keys[f"{side}_ephemeral"])
        if side[0] in has_static:
            keys[f"{side}_static"] = statics[side]
            connection.set_keypair_from_private_bytes(Keypair.STATIC, statics[side])
        if side[0] in knows_other:
            keys[f"{side}_remote_static"] = public(statics[other])
            connection.set_keypair_from_public_bytes(Keypair.REMOTE_STATIC, public(statics[other]))
        connection.start_handshake()
        sides[side] = connection

    messages, handshake_hash, index = [], None, 0
    writer, reader = sides["init"], sides["resp"]
    after = 0
    while after < 4:
        payload = secret(f"payload {index}")[:payload_size]
        if not writer.handshake_finished:
            message = bytes(writer.write_message(payload))
            assert bytes(reader.read_message(message)) == payload
            if writer.handshake_finished:
                handshake_hash = writer.get_handshake_hash()
                assert handshake_hash == reader.get_handshake_hash()
        else:
            message = writer.encrypt(payload)
            assert reader.decrypt(message) == payload
            after += 1
        messages.append({"payload": payload.hex(), "ciphertext": message.hex()})
        writer, reader, index = reader, writer, index + 1
    return {
        "protocol_name": name, "init_prologue": prologue.hex(), "resp_prologue": prologue.hex(),
        **{key: value.hex() for key, value in sorted(keys.items())},
        "handshake_hash": handshake_hash.hex(), "messages": messages,
    }


def write(file, patterns):
    vectors = [
        vector(pattern, cipher, prologue, size)
        for pattern in patterns
        for cipher in ("AESGCM", "ChaChaPoly")
        for prologue, size in ((b"", 0), (b"antenna-link/1", 32))
    ]
    source = f"computed by {HERE.name}/{pathlib.Path(__file__).name} with noiseprotocol "
    source += importlib.metadata.version("noiseprotocol")
    (HERE / file).write_text(json.dumps({"source": source, "vectors": vectors}, indent=1) + "\n")


write("noise-nx.json", ["NX"])
write("noise-patterns.json", [pattern for pattern in PATTERNS if pattern != "NX"])
