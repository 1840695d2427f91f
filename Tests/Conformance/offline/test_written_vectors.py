"""What docs/protocol/link-vectors.md says is what this client computes, and reads."""

import pathlib

import pytest

from antenna import link_vectors, record
from antenna.keys import channel_id
from antenna.noise_link import check_certificate

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs" / "protocol"


def written(path):
    """{name: bytes} of all `name = hex` lines in a page's code blocks, continued lines joined."""
    found, name, inside = {}, None, False
    for line in path.read_text().splitlines():
        if line.startswith("```"):
            inside, name = not inside, None
        elif inside and " = " in line and not line.startswith(" "):
            name, _, text = line.partition(" = ")
            found[name] = text
        elif inside and name and line.startswith("  "):
            found[name] += line.strip()
    return {name: bytes.fromhex(text) for name, text in found.items()}


WRITTEN = written(DOCS / "link-vectors.md")
COMPUTED = dict(link_vectors.everything())


def test_no_vector_is_missing():
    assert WRITTEN.keys() == COMPUTED.keys()


@pytest.mark.parametrize("name", COMPUTED)
def test_a_vector_is_what_the_client_computes(name):
    assert WRITTEN[name] == COMPUTED[name]


def test_the_written_records_and_certificate_verify():
    channel = channel_id(link_vectors.ROOT.public)
    for name in ("record-by-root", "record-by-owner"):
        assert record.read(WRITTEN[name], channel).version == 7
    now = link_vectors.NOT_BEFORE + 1
    assert check_certificate(WRITTEN["certificate"], WRITTEN["static-public"], None, now) == WRITTEN["identity-public"]
