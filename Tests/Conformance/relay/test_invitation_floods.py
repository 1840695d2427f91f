"""Floods of invitations from one address: others go on inviting, and little of the flood is kept (limits.md)."""

import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from antenna.client import RemoteError
from antenna.keys import new_id
from antenna.noise_link import Deadline, LinkClosed
from antenna.people import Owner
from test_attacks import HERE, LOG_MAX, MEMORY_MAX, Vitals, rows

# What one address may have; the flood asks for fifty times as much.
SHARE, FLOODERS, MEANWHILE = 40, 2, 10
FLOOD, ELSEWHERE = "127.0.0.2", "127.0.0.3"
# Of one invitation by somebody else, meanwhile: far below the patience of any client.
PROMPT = 5


class Flood:
    """Processes that invite to channels without end, all from one address."""

    def __init__(self, relay, count):
        link = str(relay.link)
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "antenna.attackers", "invitations", "60", str(count), link,
                 str(Owner([relay.link]).link), FLOOD],
                cwd=HERE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            )  # fmt: skip
            for _ in range(FLOODERS)
        ]
        for process in self.processes:
            assert process.stdout.readline() == "attacking\n"

    @property
    def goes_on(self):
        return any(process.poll() is None for process in self.processes)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()


def invite(relay, source):
    """The error that an invitation to a new channel got, or None: it was answered, or waits."""
    owner = Owner([relay.link], "flood" if source == FLOOD else "news")
    with owner.control(relay.link, inviting=True, source=source) as control:
        control.direct(owner.invitation(new_id()))
        try:
            # What is asked later is answered later.
            control.get_record(owner.channel)
        except RemoteError as problem:
            if problem.request:
                return None
            with pytest.raises(LinkClosed):
                control.link.receive(Deadline(10))
            return problem
    return None


def waiting(relay):
    with sqlite3.connect(f"file:{relay.state}/relay.db?mode=ro", uri=True) as database:
        return database.execute("SELECT count(*) FROM channels WHERE title = 'flood'").fetchone()[0]


@pytest.mark.parametrize("policy", ["open", "manual"])
def test_a_flood_from_one_address_leaves_the_others_their_room(relays, policy):
    # Twice the share: without it the flood would take all of it before anybody else comes.
    relay = relays(
        admission__policy=policy,
        limits__invitations_per_address=SHARE,
        limits__channels=2 * SHARE,
        limits__pending_invitations=2 * SHARE,
    )
    before, vitals = rows(relay), Vitals(relay)
    flood = Flood(relay, 100 * SHARE)
    try:
        while waiting(relay) < SHARE and flood.goes_on:
            time.sleep(0.05)
        taken = 0
        while taken < MEANWHILE:
            began = time.monotonic()
            assert invite(relay, ELSEWHERE) is None
            assert time.monotonic() - began < PROMPT
            taken += 1
        problem = invite(relay, FLOOD)
        worst = Vitals(relay)
    finally:
        flood.end()
    # A day's share, one after the other.
    assert problem.code == 10 and 0 < problem.retry_after_ms <= 86_400_000 / SHARE
    assert waiting(relay) == SHARE
    after = rows(relay)
    assert after["channels"] - before["channels"] == SHARE + taken
    assert after["members"] - before["members"] <= 2 * (SHARE + taken)
    assert after["invitations"] == (SHARE + taken if policy == "manual" else 0)
    assert worst.memory - vitals.memory < MEMORY_MAX and worst.log - vitals.log < LOG_MAX, (vitals, worst)


def test_who_is_put_off_is_served_later_and_what_the_relay_has_is_answered(relays, tmp_path):
    settings = tmp_path / "antennad.conf"
    settings.write_text("[limits]\ninvitations_per_address = 2\n")
    relay = relays(config=settings)
    owner, relay_id = Owner([relay.link]), new_id()
    with owner.control(relay.link, inviting=True, source=FLOOD) as control:
        link = str(owner.invite(control, relay_id))
        assert invite(relay, FLOOD) is None
        assert invite(relay, FLOOD).code == 10
        # The same invitation again, and what the operator refused, are answered as ever.
        assert str(owner.invite(control, relay_id)) == link
        assert invite(relay, ELSEWHERE) is None
    relay.operator("leave", f"#{owner.profile['displayName']}")
    with owner.control(relay.link, inviting=True, source=FLOOD) as control:
        control.direct(owner.invitation(new_id()))
        assert control.expect_direct("x.grp.relay.reject").params == {"reason": "rejoin_rejected"}
    # A reload is enough, and counts for what came before it.
    settings.write_text("[limits]\ninvitations_per_address = 86400\n")
    relay.process.send_signal(signal.SIGHUP)
    relay.operator("reload")
    problem, until = invite(relay, FLOOD), time.monotonic() + 20
    while problem is not None and time.monotonic() < until:
        assert problem.code == 10 and problem.retry_after_ms <= 1000
        time.sleep(problem.retry_after_ms / 1000)
        problem = invite(relay, FLOOD)
    assert problem is None
