"""The channel layer's byte vectors V1 to V8 and V10 to V12: both directions of each."""

import pytest

from antenna import elements, record
from antenna.bytesio import b64
from antenna.keys import KeyPair, channel_id, der, key_from_text, key_text, new_id

ROOT, OWNER, MEMBER = (KeyPair(bytes([i]) * 32) for i in (1, 2, 3))
CHANNEL = channel_id(ROOT.public)
OWNER_ID, MEMBER_ID = new_id(bytes(range(12))), new_id(bytes(range(12, 24)))
TIME = 1_781_000_000
BODY = (
    b'{"v":"9-19","msgId":"AQIDBA==","event":"x.grp.mem.role","params":{"memberId":"REEwT0R4QVJFaE1VRlJZWA==",'
    b'"memberKey":"MCowBQYDK2VwAyEA7UkoxijRwsbq6QM4kFmVYSlZJzpcY_k2NsFGFKyHN9E=","role":"moderator",'
    b'"rosterVersion":1}}'
)
PLAIN = (
    b'{"v":"9-19","msgId":"BQYHCA==","event":"x.msg.new","params":{"content":{"text":"hi","type":"text"},'
    b'"asGroup":true}}'
)
SIGNATURE = bytes.fromhex(
    "df916e3c25ace6fdb294b269c49b4a05676ff8dcb13400c1d5d3e8b38c38e64f"
    "642b8ba9ad17923b6a031e57d1ac87cde9de8268535b2871b6e006d0cf4b250c"
)


def sha256(data):
    import hashlib

    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "key, public",
    [
        (ROOT, "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"),
        (OWNER, "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394"),
        (MEMBER, "ed4928c628d1c2c6eae90338905995612959273a5c63f93636c14614ac8737d1"),
    ],
)
def test_v1_public_keys(key, public):
    assert key.public.hex() == public


@pytest.mark.parametrize(
    "key, text",
    [
        (OWNER, "MCowBQYDK2VwAyEAgTl3Dqh9F19Wo1Rmw0x-zMuNipG07jeiXfYPW4_Js5Q="),
        (MEMBER, "MCowBQYDK2VwAyEA7UkoxijRwsbq6QM4kFmVYSlZJzpcY_k2NsFGFKyHN9E="),
    ],
)
def test_v2_keys_in_json(key, text):
    assert key_text(key.public) == text and key_from_text(text) == key.public


def test_v3_channel_id():
    assert CHANNEL.hex() == "34750f98bd59fcfc946da45aaabe933be154a4b5094e1c4abf42866505f3c97e"
    assert b64(CHANNEL) == "NHUPmL1Z_PyUbaRaqr6TO-FUpLUJThxKv0KGZQXzyX4="


def test_v4_member_ids():
    assert (OWNER_ID, b64(OWNER_ID)) == (b"AAECAwQFBgcICQoL", "QUFFQ0F3UUZCZ2NJQ1FvTA==")
    assert (MEMBER_ID, b64(MEMBER_ID)) == (b"DA0ODxAREhMUFRYX", "REEwT0R4QVJFaE1VRlJZWA==")


def test_v5_signed_element():
    assert (
        elements.signature_input(CHANNEL, OWNER_ID, b"").hex()
        == "472034750f98bd59fcfc946da45aaabe933be154a4b5094e1c4abf42866505f3c97e1041414543417751464267634943516f4c"
    )
    element = elements.sign(BODY, CHANNEL, OWNER_ID, OWNER)
    assert element.signatures == [SIGNATURE]
    data = element.encode()
    assert data == bytes.fromhex("2f47014d40") + SIGNATURE + BODY and len(data) == 286
    assert sha256(data) == "f75054a53acab2aefb512e43aaebe197a5a5edf41ced24e4f2508168bd82d873"
    read = elements.parse_element(data)
    assert read == element and read.verifies(CHANNEL, OWNER_ID, OWNER.public)
    assert not read.verifies(CHANNEL, MEMBER_ID, OWNER.public)
    assert not read.verifies(CHANNEL, OWNER_ID, MEMBER.public)


def forwards():
    return [
        elements.Forward(OWNER_ID, "alice", TIME, elements.sign(BODY, CHANNEL, OWNER_ID, OWNER)),
        elements.Forward(None, None, TIME, elements.Plain(PLAIN)),
    ]


@pytest.mark.parametrize(
    "index, head",
    [(0, "3e4d1041414543417751464267634943516f4c05616c696365000000006a27e740"), (1, "3e43000000006a27e740")],
)
def test_v6_forward_headers(index, head):
    forward = forwards()[index]
    assert forward.encode() == bytes.fromhex(head) + forward.element.encode()
    assert elements.parse_element(forward.encode()) == forward


def test_v7_batch_of_two():
    data = elements.batch(forwards())
    assert data.startswith(bytes.fromhex("3d02013f3e4d")) and len(data) == 450
    assert sha256(data) == "8499d18285cd3fc8653356374dde14fbffe7ca84b443e730b2201286c8c540f8"
    assert elements.parse_body(data) == forwards()


def test_v8_owner_auth():
    auth = record.OwnerAuth.make(OWNER_ID, OWNER.public, ROOT)
    data = bytes([127]) + auth.encode()
    assert data.hex() == (
        "7f1041414543417751464267634943516f4c2c302a300506032b65700321008139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37"
        "a25df60f5b8fc9b39440723eb5ca8b700eec6d546cbad3662738724e94149a97c63080b0abbf248d495622a9f7577f1852eb96c4025d"
        "824f7ca6d7d05bbfbb7786628a21281bd5c5080b"
    )
    assert record.OwnerAuth.decode(data[1:]) == auth


def test_v10_roster_blobs():
    blob = elements.roster_blob([(MEMBER_ID, MEMBER.public, "moderator")])
    assert blob.hex() == (
        "0001104441304f4478415245684d55465259582c302a300506032b6570032100ed4928c628d1c2c6eae90338905995612959273a5c63"
        "f93636c14614ac8737d1096d6f64657261746f720000"
    )
    assert (
        b64(elements.sha512(blob))
        == "O8dNlS9ZRhH_NTbO47BfT6EqRpTz7gV0DzfBnBDrS596OPVSfxycnHnoEepAsEajwLSjvNUR_huDxdFt2Bw6bQ=="
    )
    assert elements.roster_blob([]) == b"\0\0"
    assert (
        b64(elements.sha512(b"\0\0"))
        == "XqcdxtC09Xvzmq3QfCCMNfBs0rrF_eIQOX9w3hHUOcYuwc3zGDdYhl_Th_zqC62i9sN6SheFHdHXj-_m8gTuVA=="
    )


def test_v11_file_chunk():
    chunk = elements.Chunk(OWNER_ID, 1, b"roster-bytes")
    assert chunk.encode().hex() == "46001041414543417751464267634943516f4c01726f737465722d6279746573"
    assert elements.parse_element(chunk.encode()) == chunk


@pytest.mark.parametrize(
    "data, plain",
    [
        ("5801301c7b226576656e74223a22782e6f6b222c22706172616d73223a7b7d7d", b'{"event":"x.ok","params":{}}'),
        ("580131001328b52ffd6090004d000010616101008b2ac002", b"a" * 400),
    ],
)
def test_v12_compressed_bodies(data, plain):
    assert elements.decompress(bytes.fromhex(data)) == plain


def test_der_has_44_bytes():
    assert len(der(ROOT.public)) == 44
