"""Valid messages with something wrong about them: every field of channel.md's "Elements", by a seed.

A mutation names the field, holds the bytes, and the errors with which a relay may refuse them (errors.md). Those of an
element stand for themselves; those of a body are about how elements are put together; those of a delivery are about what
a relay puts around an author's element, and nobody but a relay can make them.
"""

import json
import random
from dataclasses import dataclass

from . import elements
from .bytesio import WireError, b64, i64, len8, len16, u8
from .keys import KeyPair, channel_id, new_id

BAD_FRAME, TOO_LARGE = 3, 4
BAD_SIGNATURE, WRONG_BINDING, SIGNATURE_REQUIRED, NOT_PERMITTED, MISSING_ID = 40, 41, 42, 43, 44
MALFORMED, UNSUPPORTED = 47, 48
# The order of the group that Ed25519 signatures are taken modulo.
ORDER = 2**252 + 27742317777372353535851937790883648493


@dataclass
class Mutation:
    field: str
    bytes: bytes
    codes: frozenset

    def __repr__(self):
        return f"{self.field}: {self.bytes!r:.200}"


class Mutator:
    """Makes mutations of fresh messages of one author; `target` is the id of a message that is there."""

    def __init__(self, seed, author, profile, target):
        self.random = random.Random(seed)
        self.author = author
        self.profile = profile
        self.target = target
        self.stranger = KeyPair()

    # What is mutated

    def json(self, of_themselves=True):
        """The JSON of a valid event; each would show if it were taken. `of_themselves`: also an author's new name."""
        shown = {"type": "text", "text": "this must not be seen"}
        events = [
            ("x.msg.new", {"content": shown}),
            ("x.msg.new", {"content": shown, "asGroup": True}),
            ("x.msg.update", {"msgId": b64(self.target), "content": shown}),
            ("x.msg.del", {"msgId": b64(self.target)}),
            ("x.grp.info", {"groupProfile": {**self.profile, "displayName": "taken over"}}),
            ("x.grp.prefs", {"groupPreferences": {"signMessages": {"enable": "off"}}}),
            ("x.info", {"profile": {"displayName": "somebody else", "fullName": ""}}),
        ]
        tag, params = self.random.choice(events if of_themselves else events[:-1])
        return elements.event(tag, params, new_id())

    def sign(self, json_bytes, channel=None, member=None, key=None):
        author = self.author
        return elements.sign(
            json_bytes, channel or author.channel, member or author.member_id, key or author.key
        )

    def signed(self):
        return self.sign(self.json())

    # One mutation a call

    def element(self):
        """A mutated element."""
        field = self.random.choice(ELEMENT_FIELDS)
        data, codes = getattr(self, field)()
        return Mutation(field, data, frozenset(codes))

    def body(self):
        """A mutated body."""
        while True:
            field = self.random.choice(BODY_FIELDS)
            data, codes = getattr(self, field)()
            if data is not None:
                return Mutation(field, data, frozenset(codes))

    def delivery(self):
        """A body of DELIVER or HISTORY that no honest relay writes: around a mutated element, or around a valid one."""
        if self.random.random() < 0.7:
            mutation = self.element()
            return Mutation(mutation.field, elements.batch([self.forward(mutation.bytes)]), mutation.codes)
        while True:
            field = self.random.choice(DELIVERY_FIELDS)
            data = getattr(self, field)()
            if data is not None:
                return Mutation(field, data, frozenset())

    def forward(self, inner, sender=None, time=1_700_000_000):
        author = self.author
        if sender is None:
            sender = b"M" + len8(author.member_id) + len8(author.name.encode())
        return b">" + sender + i64(time) + inner

    def other(self, byte):
        return self.random.choice([n for n in range(256) if n != byte])

    def replaced(self, data, at, byte=None):
        return data[:at] + u8(self.other(data[at]) if byte is None else byte) + data[at + 1 :]

    # The header of a signed element

    def kind(self):
        return self.replaced(self.signed().encode(), 0), {MALFORMED, UNSUPPORTED}

    def binding_letter(self):
        letter = self.random.choice(b"DC")
        return self.replaced(self.signed().encode(), 1, letter), {WRONG_BINDING}

    def binding_byte(self):
        byte = self.random.choice([n for n in range(256) if n not in b"GDC"])
        return self.replaced(self.signed().encode(), 1, byte), {MALFORMED}

    def signature_count(self):
        return self.replaced(self.signed().encode(), 2), {MALFORMED}

    def key_reference(self):
        return self.replaced(self.signed().encode(), 3), {MALFORMED}

    def signature_length(self):
        return self.replaced(self.signed().encode(), 4), {MALFORMED}

    def header_truncated(self):
        return self.signed().encode()[: self.random.randrange(1, 69)], {MALFORMED}

    # The signature

    def signature_bit(self):
        data = self.signed().encode()
        at = self.random.randrange(5, 69)
        return self.replaced(data, at, data[at] ^ 1 << self.random.randrange(8)), {BAD_SIGNATURE}

    def signature_shorter(self):
        signed = self.signed()
        cut = self.random.randrange(1, 64)
        data = b"/G\1M" + u8(64 - cut) + signed.signatures[0][:-cut] + signed.json
        return data, {MALFORMED}

    def signature_missing_bytes(self):
        data, cut = self.signed().encode(), self.random.randrange(1, 64)
        return data[:5] + data[5 + cut :], {BAD_SIGNATURE, MALFORMED}

    def signature_of_something_else(self):
        author, json_bytes = self.author, self.json()
        made = self.random.choice(
            [
                lambda: bytes(64),
                lambda: self.random.randbytes(64),
                lambda: self.signed().signatures[0],
                lambda: author.key.sign(json_bytes),
                lambda: author.key.sign(b"G" + json_bytes),
                lambda: author.key.sign(elements.signature_input(author.channel, author.member_id, b"{}")),
                lambda: self.sign(json_bytes, key=self.stranger).signatures[0],
                lambda: self.sign(json_bytes, channel=channel_id(self.stranger.public)).signatures[0],
                lambda: self.sign(json_bytes, member=new_id()).signatures[0],
                lambda: self.malleated(self.sign(json_bytes).signatures[0]),
            ]
        )()
        return elements.Signed(b"G", [made], json_bytes).encode(), {BAD_SIGNATURE}

    @staticmethod
    def malleated(signature):
        """Another number that is the same modulo the order of the group."""
        s = int.from_bytes(signature[32:], "little") + ORDER
        return signature[:32] + s.to_bytes(32, "little")

    def another_signature_beside(self):
        signed = self.signed()
        wrong = self.sign(signed.json, key=self.stranger).signatures[0]
        signatures = [signed.signatures[0], wrong]
        self.random.shuffle(signatures)
        return elements.Signed(b"G", signatures, signed.json).encode(), {BAD_SIGNATURE}

    def signature_taken_off(self):
        return self.json_that_must_be_signed(), {SIGNATURE_REQUIRED}

    def forged_without_signature(self):
        return self.json_that_must_be_signed().replace(b"must not", b"will not"), {SIGNATURE_REQUIRED}

    json_that_must_be_signed = json

    # What was signed

    def json_bit(self):
        data = self.signed().encode()
        # The first byte says that it is JSON.
        at = self.random.randrange(70, len(data))
        return self.replaced(data, at, data[at] ^ 1 << self.random.randrange(8)), {BAD_SIGNATURE}

    def json_byte(self):
        signed = self.signed()
        data = signed.encode()
        at = self.random.randrange(70, len(data) + 1)
        change = self.random.choice(["in", "out", "twice"])
        piece = {
            "in": self.random.randbytes(1) + data[at : at + 1],
            "out": b"",
            "twice": data[at : at + 1] * 2,
        }
        if at == len(data):
            return data + self.random.randbytes(self.random.randrange(1, 20)), {BAD_SIGNATURE}
        return data[:at] + piece[change] + data[at + 1 :], {BAD_SIGNATURE}

    def json_truncated(self):
        data = self.signed().encode()
        return data[: self.random.randrange(70, len(data))], {BAD_SIGNATURE}

    def json_rewritten(self):
        """The same meaning in other bytes."""
        signed = self.signed()
        value = json.loads(signed.json)
        text = self.random.choice(
            [
                json.dumps(value),
                json.dumps(dict(reversed(value.items())), separators=(",", ":")),
                signed.json.decode() + " ",
                "{ " + signed.json.decode()[1:],
                json.dumps(value, separators=(",", ":")).replace("e", "\\u0065", 1),
            ]
        )
        return elements.Signed(b"G", signed.signatures, text.encode()).encode(), {BAD_SIGNATURE}

    def event_field(self):
        """A field of the container or of the params has another value, or is gone."""
        signed = self.signed()
        value = json.loads(signed.json)
        holder = self.random.choice([value, value["params"]])
        field = self.random.choice(sorted(holder))
        change = self.random.choice(["gone", "other", "null", "doubled"])
        text = None
        if change == "gone":
            del holder[field]
        elif change == "null":
            holder[field] = None
        elif change == "other":
            other = {
                "v": "9-99",
                "msgId": b64(new_id()),
                "event": "x.grp.del",
                "params": {},
                "content": {"type": "text", "text": "another"},
                "asGroup": False,
            }
            holder[field] = other.get(field, {"displayName": "another"})
        else:
            text = signed.json[:-1] + b',"event":"x.grp.del"}'
        text = text or json.dumps(value, separators=(",", ":")).encode()
        return elements.Signed(b"G", signed.signatures, text).encode(), {BAD_SIGNATURE}

    # Signed as it should be, but what no relay may store

    def well_signed_nonsense(self):
        content = {"type": "text", "text": "this must not be seen"}
        good = {"v": "9", "msgId": b64(new_id()), "event": "x.msg.new", "params": {"content": content}}
        stranger = channel_id(self.stranger.public)
        other_group = {**self.profile["publicGroup"], "publicGroupId": b64(stranger)}
        foreign = {"groupProfile": {**self.profile, "publicGroup": other_group}}
        long_id = b64(b"i" * 256)
        made, codes = self.random.choice(
            [
                ({k: v for k, v in good.items() if k != "msgId"}, {MISSING_ID}),
                ({**good, "msgId": None}, {MISSING_ID}),
                ({**good, "msgId": ""}, {MALFORMED, MISSING_ID}),
                ({**good, "msgId": long_id}, {MALFORMED}),
                ({**good, "msgId": 7}, {MALFORMED}),
                ({**good, "params": []}, {MALFORMED}),
                ({**good, "params": {}}, {MALFORMED}),
                ({**good, "params": {"content": "text"}}, {MALFORMED}),
                ({**good, "params": {"content": content, "scope": {"member": "me"}}}, {UNSUPPORTED}),
                ({**good, "event": ["x.msg.new"]}, {MALFORMED}),
                ({**good, "event": "x.msg.deleted"}, {UNSUPPORTED}),
                ({**good, "event": "x.grp.mem.role", "params": {}}, {MALFORMED, UNSUPPORTED}),
                ({**good, "event": "x.msg.update"}, {MALFORMED}),
                ({**good, "event": "x.grp.info", "params": foreign}, {MALFORMED, NOT_PERMITTED}),
                ({**good, "event": "x.info", "params": {"profile": {"displayName": "a\nb"}}}, {MALFORMED}),
                ({**good, "event": "x.grp.leave", "params": {}}, {NOT_PERMITTED}),
                (
                    {**good, "event": "x.grp.mem.del", "params": {"memberId": b64(self.author.member_id)}},
                    {NOT_PERMITTED},
                ),
            ]
        )
        return self.sign(json.dumps(made, separators=(",", ":")).encode()).encode(), codes

    def well_signed_no_json(self):
        data = self.random.choice(
            [b"{", b"{}", b"{\xff}", b'{"a":' * 200, self.json()[:-1], self.json() + b"}"]
        )
        return self.sign(data).encode(), {MALFORMED}

    # How elements are put together

    def batch_count(self):
        pieces = [self.signed().encode() for _ in range(self.random.randrange(1, 4))]
        data = elements.batch(pieces)
        return self.replaced(data, 1), {BAD_FRAME}

    def batch_length(self):
        pieces = [self.signed().encode() for _ in range(self.random.randrange(1, 3))]
        data = elements.batch(pieces)
        # The length of the last one: what stands before it is spoiled with it.
        at = len(data) - len(pieces[-1]) - 2
        return self.replaced(data, at + self.random.randrange(2)), {BAD_FRAME}

    def batch_truncated(self):
        data = elements.batch([self.signed().encode()])
        return data[: self.random.randrange(1, len(data))], {BAD_FRAME}

    def batch_tail(self):
        return elements.batch([self.signed().encode()]) + self.random.randbytes(3), {BAD_FRAME}

    def batch_in_batch(self):
        inner = elements.batch([self.signed().encode()])
        return elements.batch([inner]), {MALFORMED}

    def element_in_forward(self):
        """Only a relay writes these."""
        author = self.author
        inner = elements.Forward(author.member_id, author.name, 1, self.signed()).encode()
        return inner, {UNSUPPORTED, MALFORMED}

    def compressed_byte(self):
        import zstandard

        whole = elements.batch([self.signed().encode()])
        frame = zstandard.ZstdCompressor().compress(whole)
        data = b"X\1" + b"1" + len16(frame)
        at = self.random.randrange(1, len(data))
        changed = self.replaced(data, at)
        try:
            # A zstd frame has bits without a meaning.
            if elements.split_body(changed) == elements.split_body(data):
                return None, None
        except (WireError, zstandard.ZstdError):
            pass
        return changed, {BAD_FRAME, TOO_LARGE, BAD_SIGNATURE, MALFORMED, UNSUPPORTED, WRONG_BINDING}

    def compressed_twice(self):
        import zstandard

        compress = zstandard.ZstdCompressor().compress
        inner = b"X\1" + b"1" + len16(compress(self.signed().encode()))
        return b"X\1" + b"1" + len16(compress(inner)), {BAD_FRAME}

    # What a relay puts around a valid element

    def forward_kind(self):
        return elements.batch([self.replaced(self.forward(self.signed().encode()), 0)])

    def forward_sender(self):
        """As if somebody else had written it. Of a name by somebody unknown nobody can tell, and nobody sees it."""
        member = self.random.choice([new_id(), b"", self.stranger.public, b"i" * 255, self.author.channel])
        sender = b"M" + len8(member) + len8(self.author.name.encode())
        element = self.sign(self.json(of_themselves=False))
        return elements.batch([self.forward(element.encode(), sender)])

    def forward_as_channel(self):
        """A signature names its author; without one the channel is not believed to have written."""
        inner = self.signed().encode()
        return elements.batch([self.forward(self.random.choice([inner, self.json()]), b"C")])

    def forward_letter(self):
        data = self.forward(self.signed().encode())
        return elements.batch([self.replaced(data, 1)])

    def forward_name(self):
        """Not a text, or longer than what is there."""
        member = b"M" + len8(self.author.member_id)
        name = self.random.choice([len8(b"\xff\xfe"), len8(b"a\xc3"), u8(255) + b"short"])
        return elements.batch([self.forward(self.signed().encode(), member + name)])

    def forward_truncated(self):
        data = self.forward(self.signed().encode())
        return elements.batch([data[: self.random.randrange(1, len(data))]])

    def forward_in_forward(self):
        return elements.batch([self.forward(self.forward(self.signed().encode()))])

    def two_in_one(self):
        """One sequence is one message."""
        return elements.batch(
            [self.forward(self.signed().encode()) for _ in range(self.random.randrange(2, 4))]
        )

    def element_alone(self):
        """Nobody is said to have written it."""
        return self.random.choice([elements.batch([self.signed().encode()]), self.signed().encode()])

    def delivery_framing(self):
        data = elements.batch([self.forward(self.signed().encode())])
        return self.random.choice(
            [
                lambda: self.replaced(data, 1),
                lambda: self.replaced(data, 2 + self.random.randrange(2)),
                lambda: data[: self.random.randrange(1, len(data))],
                lambda: data + self.random.randbytes(2),
                lambda: elements.batch([data]),
                lambda: b"",
                lambda: self.random.randbytes(40),
            ]
        )()

    def delivery_compressed(self):
        import zstandard

        whole = elements.batch([self.forward(self.signed().encode())])
        frame = zstandard.ZstdCompressor().compress(whole)
        data = b"X\1" + b"1" + len16(frame)
        changed = self.replaced(data, self.random.randrange(1, len(data)))
        try:
            if elements.split_body(changed) == [whole]:
                return None
        except (WireError, zstandard.ZstdError):
            return changed
        return None


ELEMENT_FIELDS = """kind binding_letter binding_byte signature_count key_reference signature_length header_truncated
    signature_bit signature_shorter signature_missing_bytes signature_of_something_else another_signature_beside
    signature_taken_off forged_without_signature json_bit json_byte json_truncated json_rewritten event_field
    well_signed_nonsense well_signed_no_json""".split()
BODY_FIELDS = """batch_count batch_length batch_truncated batch_tail batch_in_batch element_in_forward compressed_byte
    compressed_twice""".split()
DELIVERY_FIELDS = """forward_kind forward_sender forward_as_channel forward_letter forward_name forward_truncated
    forward_in_forward two_in_one element_alone delivery_framing delivery_compressed""".split()
