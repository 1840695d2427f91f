"""What docs/protocol/link-vectors.md says is what this client computes, and reads."""

import pytest

from antenna import link_vectors, record
from antenna.keys import channel_id
from antenna.noise_link import check_certificate
from vectors_page import written

WRITTEN = written("link-vectors.md")
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
    assert (
        check_certificate(WRITTEN["certificate"], WRITTEN["static-public"], None, now)
        == WRITTEN["identity-public"]
    )
