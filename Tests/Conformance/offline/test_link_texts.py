"""channel.md, "Links"."""

import pytest

from antenna import links
from antenna.bytesio import WireError, b64

KEY = bytes(range(32))
K = b64(KEY, padded=False)
R1, R2 = b64(b"\x09" * 32, padded=False), b64(b"\x0a" * 32, padded=False)


@pytest.mark.parametrize(
    "text",
    [
        f"antenna:/r#{K}?h=127.0.0.1&p=5281",
        f"https://relay.example.com/r#{K}",
        f"antenna:/c#{K}?h=a.example%2Cb.example&p=5280%2C5281&c={R1}%2C{R2}",
        f"https://a.example/c#{K}?h=b.example&c={R1}%2C{R2}",
        f"antenna:/g#{K}?h=[::1]&p=5281&c={R1}",
    ],
)
def test_a_link_prints_as_it_was_read(text):
    assert str(links.parse(text)) == text


def test_one_port_serves_all_hosts_and_lists_go_in_order():
    link = links.parse(f"antenna:/c#{K}?h=a%2Cb&p=77&c={R1}%2C{R2}")
    assert link.endpoints() == [("a", 77, b"\x09" * 32), ("b", 77, b"\x0a" * 32)]


def test_the_default_port_is_5280_and_the_key_of_an_r_link_is_the_identity():
    assert links.parse(f"https://a.example/r/#{K}").endpoints() == [("a.example", 5280, KEY)]


def test_simplex_scheme_padding_and_unescaped_commas_are_read():
    link = links.parse(f"simplex:/c#{b64(KEY)}?h=a,b&c={R1}")
    assert link.key == KEY and [e[2] for e in link.endpoints()] == [b"\x09" * 32] * 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://a/c#" + K,
        f"antenna:/x#{K}?h=a",
        f"antenna:/c#{K[:-2]}?h=a",
        f"antenna:/c#{K}",
        f"https:///r#{K}",
        f"antenna:/r#{K}?h=a&c={R1}",
        f"antenna:/g#{K}?h=a",
        f"antenna:/g#{K}?h=a%2Cb&c={R1}%2C{R2}",
        f"antenna:/c#{K}?h=a%2Cb%2Cd&c={R1}%2C{R2}",
        f"antenna:/c#{K}?h=a&p=0",
        f"antenna:/c#{K}?h=a&p=65536",
        f"antenna:/c#{K}?h=a&p=%D9%A3",
        f"antenna:/c?h=a#{K}x",
        f"https://a/b/c#{K}",
        f"antenna:/c#{K}?h=a&c=AAAA",
    ],
)
def test_what_is_no_link_is_refused(text):
    with pytest.raises(WireError):
        links.parse(text)


def test_a_relay_address_is_not_opened_as_a_channel():
    with pytest.raises(links.RelayAddressGiven) as refused:
        links.channel_to_open(f"antenna:/r#{K}?h=a")
    assert refused.value.title == "Relay address"
    assert str(refused.value) == "This is a chat relay address, it cannot be used to connect."
