"""The texts of c, g and r links (channel.md, "Links")."""

from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from .bytesio import WireError, b64, unb64

DEFAULT_PORT = 5280
RELAY_ADDRESS_TITLE = "Relay address"
RELAY_ADDRESS_TEXT = "This is a chat relay address, it cannot be used to connect."
KINDS = {"c": "channel", "g": "relay's channel link", "r": "relay address"}


@dataclass
class Link:
    """`ports` and `identities` run parallel to `hosts`: one item for all of them, or one each."""

    kind: str
    key: bytes
    hosts: list = field(default_factory=list)
    ports: list = field(default_factory=list)
    identities: list = field(default_factory=list)
    scheme: str = "antenna:"

    def endpoints(self):
        """(host without brackets, port, identity or None) of each host, in order."""
        found = []
        for i, host in enumerate(self.hosts):
            port = _item(self.ports, i, DEFAULT_PORT)
            identity = self.key if self.kind == "r" else _item(self.identities, i, None)
            found.append((host.strip("[]"), port, identity))
        return found

    def __str__(self):
        hosts = list(self.hosts)
        if self.scheme == "https:":
            authority = "https://" + hosts.pop(0)
        else:
            authority = self.scheme
        parts = []
        for name, items in (
            ("h", hosts),
            ("p", [str(p) for p in self.ports]),
            ("c", [b64(i, padded=False) for i in self.identities]),
        ):
            if items:
                parts.append(f"{name}={quote(','.join(items), safe='[]:')}")
        query = "?" + "&".join(parts) if parts else ""
        return f"{authority}/{self.kind}#{b64(self.key, padded=False)}{query}"


def _item(items, index, default):
    if not items:
        return default
    return items[0] if len(items) == 1 else items[index]


def parse(text):
    for scheme in ("antenna:", "simplex:", "https://"):
        if text.startswith(scheme):
            rest = text[len(scheme) :]
            break
    else:
        raise WireError(f"no known scheme: {text[:30]!r}")
    head, mark, fragment = rest.partition("#")
    host, slash, letter = head.rstrip("/").rpartition("/")
    kind = letter.lower()
    if not mark or not slash or kind not in KINDS or bool(host) != (scheme == "https://") or "/" in host:
        raise WireError("not a link of this grammar")
    key_part, _, query = fragment.partition("?")
    key = unb64(key_part)
    if len(key) != 32:
        raise WireError("the key of a link has 32 bytes")
    link = Link(kind, key, scheme="https:" if host else "antenna:")
    if host:
        link.hosts.append(host)
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        items = [item for item in unquote(value).split(",") if item]
        if name == "h":
            link.hosts += items
        elif name == "p":
            if not all(item.isascii() and item.isdigit() and 0 < int(item) < 65536 for item in items):
                raise WireError("a port that is none")
            link.ports = [int(item) for item in items]
        elif name == "c":
            link.identities = [unb64(item) for item in items]
    _check(link)
    return link


def _check(link):
    for items in (link.ports, link.identities):
        if len(items) > 1 and len(items) != len(link.hosts):
            raise WireError("a list that is not one item a host")
    if any(len(identity) != 32 for identity in link.identities):
        raise WireError("an identity key has 32 bytes")
    if link.kind == "r" and link.identities:
        raise WireError("an r link has no c")
    if link.kind == "g" and len(link.identities) != 1:
        raise WireError("a g link has exactly one c")
    if not link.hosts:
        raise WireError("a link without a host")


def relay(host, port, identity):
    return Link("r", identity, [bracketed(host)], [port])


def channel(channel_id, relays):
    """A c link over up to three (host, port, identity)."""
    relays = relays[:3]
    return Link(
        "c", channel_id, [bracketed(r[0]) for r in relays], [r[1] for r in relays], [r[2] for r in relays]
    )


def bracketed(host):
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class RelayAddressGiven(Exception):
    """An r link came where a channel is wanted: nothing is opened."""

    def __init__(self):
        super().__init__(RELAY_ADDRESS_TEXT)
        self.title = RELAY_ADDRESS_TITLE


def channel_to_open(text):
    link = parse(text)
    if link.kind == "r":
        raise RelayAddressGiven()
    if link.kind != "c":
        raise WireError("not a channel link")
    return link
