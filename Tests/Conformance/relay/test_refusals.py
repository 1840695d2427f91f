"""Refusals with their numbers: proofs of key, records, invitations, joins."""

import os

import pytest

from antenna import elements, record
from antenna.client import ATTACH_CONTEXT, Connection, RemoteError
from antenna.keys import KeyPair, channel_id, key_text, new_id
from antenna.people import Author, Owner, Rejected, Subscriber


# Proof of key


def test_a_proof_from_another_link_is_refused(channel, refused):
    subscriber, first = channel.reader()
    message = ATTACH_CONTEXT + first.link.handshake_hash + channel.id + bytes([16]) + subscriber.member_id
    replayed = subscriber.key.sign(message)
    with Connection.open(channel.relay.link) as second:
        refused(30, second.attach, channel.id, subscriber.member_id, subscriber.key, proof=replayed)
    with Connection.open(channel.relay.link) as third:
        refused(30, third.attach, channel.id, subscriber.member_id, KeyPair())


def test_a_control_proof_from_another_link_is_refused(channel, refused):
    replayed = channel.owner.proof(channel.control.link.handshake_hash)
    refused(30, channel.owner.control, channel.relay.link, proof=replayed)


@pytest.mark.parametrize("length", [0, 63, 65])
def test_a_proof_of_another_length_is_refused(channel, length):
    subscriber, _ = channel.reader()
    with Connection.open(channel.relay.link) as connection:
        with pytest.raises(RemoteError) as problem:
            connection.attach(channel.id, subscriber.member_id, subscriber.key, proof=b"p" * length)
    assert problem.value.code in (3, 30)


def test_a_stranger_who_claims_to_be_an_owner_is_refused(channel):
    thief = Owner([channel.relay.link])
    thief.channel, thief.encoded = channel.id, channel.owner.encoded
    with pytest.raises(RemoteError) as problem:
        thief.control(channel.relay.link)
    assert problem.value.code == 32


def test_who_never_joined_is_unknown(channel, refused):
    refused(31, Subscriber(str(channel.owner.link)).attach, channel.relay.link)


# Channels and records


def test_a_channel_nobody_brought_is_unknown(relay, refused):
    owner = Owner([relay.link])
    with Connection.open(relay.link) as connection:
        refused(20, connection.get_record, owner.channel)
        refused(20, connection.get_record, owner.channel)
    refused(20, owner.control, relay.link, with_record=False)
    refused(20, owner.attach, relay.link)
    with Connection.open(relay.link) as connection:
        element = Subscriber(owner.link).application(new_id())
        refused(20, connection.join, owner.channel, element)


def test_a_lower_record_is_stale_and_another_of_the_same_version_conflicts(channel, refused):
    owner, control = channel.owner, channel.control
    old = owner.encoded
    owner.put_record(control, owner.new_record())
    assert refused(25, owner.put_record, control, old).request != 0
    refused(26, owner.put_record, control, owner.new_record(version=owner.version, member_count=99))
    owner.put_record(control, owner.new_record())


def test_an_owner_who_asks_of_a_channel_that_is_not_carried_is_told_so(relay, refused):
    owner = Owner([relay.link])
    with owner.control(relay.link) as control:
        for ask in (owner.members, owner.put_record, lambda link: link.get_record(owner.channel)):
            assert refused(20, ask, control).request != 0


def spoiled(owner):
    good = owner.new_record()
    stranger = KeyPair()
    made = record.read(good, owner.channel)
    yield "flipped", good[:-3] + bytes([good[-3] ^ 1]) + good[-2:]
    yield "cut", good[:-1]
    yield "empty", b""
    yield "other form", b"\x02" + good[1:]
    yield "stranger's signature", made.sign(stranger)
    yield "unknown signer", made.sign(stranger, b"nobody")
    made.profile = record.group_profile("x", channel_id(stranger.public), owner.link)
    yield "profile of another channel", made.sign(owner.root)
    made.profile, made.tail = owner.profile, b"x" * record.MAX_RECORD
    yield "too large", made.sign(owner.root)
    other = Owner(owner.relay_links)
    yield "another channel's", other.encoded
    made.tail, made.owners = b"", owner.chain + [record.OwnerAuth.make(b"thief", stranger.public, stranger)]
    yield "owner nobody authorised", made.sign(owner.root)
    made.owners, made.version = owner.chain, 0
    yield "version 0", made.sign(owner.root)


def test_an_invalid_record_is_refused_and_changes_nothing(channel, refused):
    owner = channel.owner
    before = channel.control.get_record(owner.channel)
    for what, encoded in spoiled(owner):
        with pytest.raises(RemoteError) as problem:
            owner.put_record(channel.control, encoded or b"\0")
        assert problem.value.code == 24, what
    assert channel.control.get_record(owner.channel) == before


def test_an_invitation_with_an_invalid_record_gets_nowhere(relay):
    owner = Owner([relay.link])
    owner.encoded = owner.encoded[:-1] + b"?"
    with pytest.raises(RemoteError) as problem:
        owner.control(relay.link, inviting=True)
    assert problem.value.code == 24


# Invitations


def test_an_invitation_must_be_signed_and_fit_the_link(relay, refused):
    owner = Owner([relay.link])
    other = Owner([relay.link])
    unsigned = elements.Plain(owner.invitation(new_id()).json)
    forged = owner.invitation(new_id())
    forged.signatures = [bytes(64)]
    for element, code in ((unsigned, 42), (forged, 40)):
        with owner.control(relay.link, inviting=True) as control:
            control.direct(element)
            assert control.error().code == code
    for changes, reason in ((dict(group_link=other.link), 61), (dict(member_id=other.member_id), 61)):
        with owner.control(relay.link, inviting=True) as control:
            with pytest.raises((Rejected, RemoteError)) as problem:
                owner.invite(control, new_id(), **changes)
            answer = problem.value
            assert getattr(answer, "code", None) == reason or getattr(answer, "reason", None) in (
                "invalid_record",
                "not_owner",
            )


@pytest.mark.parametrize("name", ["", "x" * 65, "a\x1b[31mb", "a\u202eb"])
def test_an_invitation_by_an_owner_with_a_bad_name_is_refused(relay, name):
    owner = Owner([relay.link])
    owner.name = name
    with owner.control(relay.link, inviting=True) as control:
        with pytest.raises(RemoteError) as problem:
            owner.invite(control, new_id())
        assert problem.value.code == 61


# Joins


def join(channel, subscriber, element):
    with Connection.open(channel.relay.link) as connection:
        return connection.join(channel.id, element)


def test_a_join_for_another_relay_is_refused(channel, refused):
    subscriber = Subscriber(str(channel.owner.link))
    refused(34, join, channel, subscriber, subscriber.application(new_id()))


def test_a_join_must_be_signed_with_the_new_key(channel, refused):
    subscriber = Subscriber(str(channel.owner.link))
    good = subscriber.application(channel.entry.member_id)
    refused(42, join, channel, subscriber, elements.Plain(good.json))
    refused(40, join, channel, subscriber, elements.Signed(b"G", [bytes(64)], good.json))
    refused(41, join, channel, subscriber, elements.Signed(b"D", good.signatures, good.json))
    swapped = subscriber.application(channel.entry.member_id, newMemberKey=key_text(KeyPair().public))
    refused(40, join, channel, subscriber, swapped)
    foreign = Author(os.urandom(32), subscriber.member_id, subscriber.key, "x").signed(
        "x.member", elements.parse_event(good.json).params
    )
    refused(40, join, channel, subscriber, foreign)
    assert join(channel, subscriber, good)


def test_a_known_member_id_with_another_key_is_refused(channel, refused):
    subscriber, _ = channel.reader()
    thief = Subscriber(str(channel.owner.link))
    thief.member_id = subscriber.member_id
    refused(36, join, channel, thief, thief.application(channel.entry.member_id))
    thief.member_id = channel.owner.member_id
    refused(36, join, channel, thief, thief.application(channel.entry.member_id))


@pytest.mark.parametrize("name", ["", "x" * 65, "ü" * 64 + "x", "a\nb", "\x7f"])
def test_a_name_out_of_bounds_is_refused(channel, refused, name):
    subscriber = Subscriber(str(channel.owner.link))
    element = subscriber.application(channel.entry.member_id, profile={"displayName": name, "fullName": ""})
    refused(34, join, channel, subscriber, element)
