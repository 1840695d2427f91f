"""Writes the first inputs of each target into fuzz/corpus, from the pages of vectors and the examples of the unit tests.

    python3 fuzz/seed.py

What is there stays; the name of a file says where it comes from.
"""

import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "Tests" / "Conformance" / "offline"))
from vectors_page import written  # noqa: E402

CORPUS = ROOT / "fuzz" / "corpus"
PAGE, LINKS = written("vectors.md"), written("link-vectors.md")


def put(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def examples():
    """The JSON of the events of EventExamples.swift: those without anything to fill in."""
    text = (ROOT / "Tests" / "Core" / "ChannelWireTests" / "EventExamples.swift").read_text()
    for number, call in enumerate(re.findall(r"example\(\s*\.(\w+),((?:[^()]|\([^()]*\))*)\)", text)):
        tag, rest = call
        params = "".join(re.findall(r'#"(.*?)"#', rest))
        if "\\#(" in params or not params:
            continue
        identifier = re.search(r'id: "([^"]+)"', rest)
        wire = re.sub(r"([A-Z])", lambda m: "." + m[1].lower(), tag)
        head = f'"msgId":"{identifier[1]}",' if identifier else ""
        yield f"{tag}-{number}", f'{{"v":"9-19",{head}"event":"x.{wire}","params":{params}}}'.encode()


def stretch(data):
    return struct.pack(">H", len(data)) + data


def step(number, *parts):
    return bytes([number]) + b"".join(parts)


def seed():
    for name, value in PAGE.items():
        if name.startswith("link."):
            put("links", name, value)
        elif name.startswith("frame."):
            put("frame", name, value)
            put("relay-session", name, step(3, b"\0") + step(14) + step(0, value[:1] + value[1:3], value[3:]))
            put("client-session", name, step(5, value[:1] + value[1:3], value[3:]) * 2)
    for name in ("signed.element", "roster.header.element", "roster.chunk"):
        put("element", name, PAGE[name])
    forward = PAGE["forward.member.header"] + PAGE["signed.element"]
    plain = PAGE["forward.channel.header"] + PAGE["forward.channel.json"]
    for name, value in (("member", forward), ("channel", plain)):
        put("element", f"forward.{name}", value)
        put("admission", f"forward.{name}", value)
    for name in ("batch", "roster.body", "compressed.small", "compressed.zstd", "signed.element"):
        put("body", name, PAGE[name])
    put("body", "array", b'[{"event":"x.ok","params":{}}, {"event":"x.ok","params":{"a":"]}"}}]')
    for name in ("compressed.small", "compressed.zstd"):
        put("compressed", name, PAGE[name])
    put("record", "vectors", PAGE["record"])
    for name in ("record-by-root", "record-by-owner"):
        put("record", name, LINKS[name])
    put("roster", "blob", PAGE["roster.blob"])
    put("roster", "empty", PAGE["roster.empty.blob"])
    put("profile", "record.profile", PAGE["record.profile"])
    put("json", "record.profile", PAGE["record.profile"])
    put("json", "scalars", b'[null,true,-0,1.5e3,"\\u00e9\\ud83d\\ude00",{"a":[]}]')
    put("json", "deep", b'{"a":' * 31 + b"1" + b"}" * 31)
    put("event", "signed.json", PAGE["signed.json"])
    for name, value in examples():
        put("event", name, value)
    put("profile", "message", b'{"displayName":"b","fullName":"","type":"text","text":"x","signMessages":{"enable":"on"}}')
    put("certificate", "vectors", LINKS["certificate"])
    for suite in ("chachapoly", "aesgcm"):
        client, relay = LINKS[f"{suite}.client-flight"], LINKS[f"{suite}.relay-flight"]
        put("preface", f"{suite}.client", client[:8])
        put("preface", f"{suite}.relay", relay[:8])
        put("handshake", f"{suite}.to-relay", b"\0\0\4" + client + LINKS[f"{suite}.client-record-0"])
        put("handshake", f"{suite}.to-client", b"\1\0\x0a" + relay)
    put("handshake", "message-two", b"\3\0\x08" + LINKS["chachapoly.relay-flight"][8:])
    put("handshake", "refusal", b"\1\0\0ANTN\0\0\0\6")
    put("socks", "name-and-password", bytes.fromhex("0502 0100 050000 01 7f000001 1234"))
    put("socks", "open", bytes.fromhex("0500 050000 03 05") + b"relay" + b"\x12\x34")
    put("socks", "refused", bytes.fromhex("0500 0505"))
    put("identity-file", "shape", b"antenna relay identity 1\nidentity-secret " + b"A" * 43 + b"\nstatic-secret " +
        b"A" * 43 + b"\ncertificate " + b"A" * 194 + b"\n")
    put("control", "status", b'{"id":1,"command":"status"}')
    put("control", "prune", b'{"id":2,"command":"prune","arguments":{"channel":"#news","keep":10}}')
    put("control", "members", b'{"id":3,"command":"members","arguments":{"channel":"#\'my news\'","limit":5,"after":"QQ=="}}')
    put("control", "leave", b'{"id":4,"command":"leave","arguments":{"channel":"#news_1","reason":"spam"}}')
    put("control", "answer", b'{"error":{"code":103,"message":"No.","name":"not-rejected"},"id":2,"ok":false}')
    put("control", "left", b'{"id":4,"ok":true,"result":{"already":false,"channel":"#news","id":"x"}}')
    put("configuration", "defaults", re.sub(rb"(?m)^; (\w+ =)", rb"\1", (ROOT / "deploy" / "antennad.conf").read_bytes()))
    put("configuration", "small", b"[limits]\nchannels = 5\n[relay]\nname = x ; why\n")
    for name, text in (("date", "2026-07-14T09:30:05Z"), ("age", "7d"), ("seconds", "-9223372036854775808"),
                       ("id", PAGE["channel.text"].decode()), ("name", "#'my news'")):
        put("texts", name, text.encode())
    sessions()


def sessions():
    """Programs as Sources/Support/FuzzTargets/Steps.swift reads them."""
    message = b'{"v":"9-19","msgId":"AQIDBAUGBwgJCgsM","event":"x.msg.new","params":{"content":{"type":"text","text":"hi"}}}'
    edit = b'{"msgId":"AQIDBAUGBwgJCgsN","event":"x.msg.update","params":{"msgId":"AQIDBAUGBwgJCgsM","content":{"type":"text","text":"ho"}}}'
    delete = b'{"msgId":"AQIDBAUGBwgJCgsO","event":"x.msg.del","params":{"msgId":"AQIDBAUGBwgJCgsM"}}'
    settle, attach = step(14), step(10, b"\0", bytes(8))
    put("relay-session", "owner-publishes", attach + settle + b"".join(step(11, stretch(m)) for m in (message, edit, delete)))
    put("relay-session", "history", attach + settle + step(13, b"\0", b"\x7f" + b"\xff" * 7, b"\1") + step(13, b"\2", bytes(8), b"\1"))
    put("relay-session", "reader", step(9, b"\0") + settle + step(10, b"\1", bytes(7) + b"\x64") + settle + step(11, stretch(message)))
    put("relay-session", "control", step(3, b"\3") + step(4) + settle + step(7, b"\0") + step(7, b"\1") + step(5, stretch(message)))
    put("relay-session", "roster", step(3, b"\0") + settle + step(6, stretch(PAGE["roster.body"])))
    put("relay-session", "profile", step(3, b"\0") + settle + step(8, stretch(PAGE["record.profile"])))
    put("relay-session", "batch", attach + settle + step(12, stretch(PAGE["batch"])) + step(12, stretch(PAGE["compressed.zstd"])))
    put("relay-session", "cursor", step(10, b"\2", b"\x7f" + b"\xff" * 7) + settle + step(15, b"\1") + attach)
    put("relay-session", "garbage", step(1, stretch(bytes(50))) + step(2, stretch(b"\xff" * 50)))
    put("client-session", "changed", b"".join(step(4, b"\1", struct.pack(">H", place), b"\xff", struct.pack(">H", place + 1), b"\0")
                                            for place in range(0, 60, 6)))
    put("client-session", "silence", step(1) * 6)
    put("client-session", "twice", step(2) * 6 + step(3) * 6)
    put("client-session", "hang-up", step(7, b"\0") + step(0) + step(7, b"\0"))
    for name, time in (("first", -(2**63)), ("last", 2**63 - 1)):
        put("client-session", f"{name}-time", step(6, struct.pack(">qq", 1, time), stretch(message[1:])) * 4)
    put("client-session", "last-sequence", step(0) * 3 + step(6, struct.pack(">qq", 2**63 - 1, 5), stretch(message[1:])) * 4)


seed()
