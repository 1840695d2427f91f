import os

import pytest

from harness import BIN, BlackHole, Person, Relay, Scratch


def pytest_configure():
    for name in ("antennad", "antennactl", "antenna"):
        if not os.access(BIN / name, os.X_OK):
            raise pytest.UsageError(f"no {name} in {BIN}; build first, or set ANTENNA_BIN")


class World:
    """Relays and people of one test; everything is stopped and removed at its end."""

    def __init__(self):
        self.scratch = Scratch()
        self.path = self.scratch.path
        self.everything = []

    def keep(self, thing):
        self.everything.append(thing)
        return thing

    def relay(self, name, **settings):
        return self.keep(Relay(self.path, name, **settings))

    def person(self, name):
        return Person(self.path, name)

    def follow(self, person, channel, *words):
        return self.keep(person.follow(channel, *words))

    def black_hole(self, port=0):
        return self.keep(BlackHole(port))

    def close(self):
        problems = []
        for thing in reversed(self.everything):
            try:
                if isinstance(thing, BlackHole):
                    thing.close()
                else:
                    thing.stop()
                if isinstance(thing, Relay):
                    for sign in ("Fatal error", "Stack dump", "Assertion failed"):
                        assert sign not in thing.log_text, thing.log_text
            except Exception as problem:
                problems.append(problem)
        self.scratch.remove()
        if problems:
            raise problems[0]


@pytest.fixture
def world():
    world = World()
    yield world
    world.close()


@pytest.fixture(scope="module")
def shared_world():
    world = World()
    yield world
    world.close()
