"""channel.md, "Channel record": what is signed, and every check in its place."""

import pytest

from antenna import elements, record
from antenna.bytesio import Reader, WireError
from antenna.keys import KeyPair, channel_id, der, new_id

ROOT, OWNER, SECOND, STRANGER = (KeyPair(bytes([i]) * 32) for i in (1, 2, 3, 4))
CHANNEL = channel_id(ROOT.public)
FIRST_ID, SECOND_ID = new_id(bytes(range(12))), new_id(bytes(range(12, 24)))
auth = record.OwnerAuth.make


def make(**changes):
    fields = dict(
        root=ROOT.public,
        version=7,
        owners=[auth(FIRST_ID, OWNER.public, ROOT), auth(SECOND_ID, SECOND.public, OWNER)],
        relays=[record.RelayEntry(b"relay-member-id-", STRANGER.public, SECOND.public, "antenna:/g#x")],
        roster_version=3,
        roster_digest=elements.sha512(b"\0\0"),
        member_count=12,
        profile=record.group_profile("news", CHANNEL, "antenna:/c#x"),
    )
    return record.Record(**{**fields, **changes})


@pytest.mark.parametrize("key, signer", [(ROOT, b""), (OWNER, FIRST_ID), (SECOND, SECOND_ID)])
def test_a_record_of_the_root_key_or_any_owner_reads_back(key, signer):
    made = make()
    data = made.sign(key, signer)
    read = record.read(data, CHANNEL)
    assert read == made and read.sign(key, signer) == data


def test_trailing_bytes_are_ignored_but_signed():
    data = make(tail=b"of a later version").sign(ROOT)
    assert record.read(data, CHANNEL).version == 7
    with pytest.raises(WireError):
        record.read(data[:-1], CHANNEL)


def refused(data, channel=CHANNEL):
    with pytest.raises(WireError) as problem:
        record.read(data, channel)
    assert problem.value.code == 24


@pytest.mark.parametrize(
    "changes",
    [
        dict(version=0),
        dict(version=-1),
        dict(roster_digest=b"x" * 63),
        dict(owners=[]),
        dict(owners=[auth(b"%d" % i, KeyPair().public, ROOT) for i in range(17)]),
        dict(relays=[record.RelayEntry(b"r", OWNER.public, OWNER.public, "") for _ in range(17)]),
        dict(owners=[auth(FIRST_ID, ROOT.public, ROOT)]),
        dict(owners=[auth(FIRST_ID, OWNER.public, STRANGER)]),
        dict(owners=[auth(FIRST_ID, OWNER.public, ROOT), auth(FIRST_ID, SECOND.public, ROOT)]),
        dict(owners=[auth(FIRST_ID, OWNER.public, ROOT), auth(SECOND_ID, OWNER.public, ROOT)]),
        dict(owners=[auth(FIRST_ID, OWNER.public, SECOND), auth(SECOND_ID, SECOND.public, ROOT)]),
        dict(profile=record.group_profile("news", channel_id(OWNER.public), "antenna:/c#x")),
        dict(profile={}),
        dict(profile=[]),
        dict(tail=b"x" * record.MAX_RECORD),
    ],
    ids=lambda changes: ",".join(changes),
)
def test_a_record_that_fails_a_check_is_invalid(changes):
    refused(make(**changes).sign(ROOT))


def test_a_record_of_another_channel_is_invalid():
    refused(make().sign(ROOT), channel_id(OWNER.public))


@pytest.mark.parametrize(
    "key, signer", [(OWNER, b""), (ROOT, FIRST_ID), (STRANGER, FIRST_ID), (OWNER, b"nobody")]
)
def test_a_record_signed_by_the_wrong_key_is_invalid(key, signer):
    refused(make().sign(key, signer))


def test_every_cut_and_every_flipped_bit_is_invalid():
    data = make().sign(ROOT)
    for at in range(len(data)):
        refused(data[:at])
        refused(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_the_owner_signature_covers_id_and_der_without_lengths():
    entry = auth(FIRST_ID, OWNER.public, ROOT)
    assert entry.signature == ROOT.sign(FIRST_ID + der(OWNER.public))
    assert Reader(entry.encode()).len8() == FIRST_ID
