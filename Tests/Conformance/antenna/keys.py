"""Ids and keys (channel.md, "Ids and keys")."""

import hashlib
import os

import nacl.exceptions
import nacl.signing

from .bytesio import WireError, b64, unb64

DER_PREFIX = bytes.fromhex("302a300506032b6570032100")


def der(public):
    return DER_PREFIX + public


def from_der(data):
    if len(data) != 44 or not data.startswith(DER_PREFIX):
        raise WireError("not an Ed25519 SubjectPublicKeyInfo")
    return data[12:]


def key_text(public):
    return b64(der(public))


def key_from_text(text):
    return from_der(unb64(text))


class KeyPair:
    """An Ed25519 key pair; `public` is the raw 32 bytes."""

    def __init__(self, seed=None):
        self._key = nacl.signing.SigningKey(seed if seed is not None else os.urandom(32))
        self.public = bytes(self._key.verify_key)

    def sign(self, message):
        return self._key.sign(message).signature


def verify(public, signature, message):
    if len(signature) != 64 or len(public) != 32:
        return False
    try:
        nacl.signing.VerifyKey(public).verify(message, signature)
        return True
    except (nacl.exceptions.BadSignatureError, ValueError, TypeError):
        return False


def channel_id(root_public):
    return hashlib.sha256(root_public).digest()


def new_id(raw=None):
    """A member or message id: the 16 ASCII characters of base64url of 12 random bytes."""
    return b64(raw if raw is not None else os.urandom(12)).encode()
