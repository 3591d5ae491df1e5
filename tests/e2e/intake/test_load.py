# SPDX-License-Identifier: ISC
"""The load of a campaign: what ends one of its threads too early fails the campaign."""

import threading

import pytest
from common.ledger import Generator


class Clients:
    """Connect one after the other; what comes instead of the first is FAILURE."""

    def __init__(self, failure):
        self.failures = [failure]
        self.later = threading.Event()  # a client has come after that

    def connect(self):
        if self.failures:
            raise self.failures.pop()
        self.later.set()
        raise ConnectionError("nobody is there")


def load(failure, connections):
    clients = Clients(failure)
    return clients, Generator(None, clients.connect, None, connections=connections, pause=0.001)


@pytest.mark.parametrize("failure", [ValueError("no reply"), AssertionError("refused for ever")])
def test_what_ends_a_thread_is_raised(failure):
    clients, generator = load(failure, connections=2)
    assert clients.later.wait(10)
    with pytest.raises(AssertionError, match="1 of 2 threads") as raised:
        generator.stop()
    assert raised.value.__cause__ is failure


def test_a_broken_connection_ends_none():
    clients, generator = load(ConnectionResetError(), connections=1)
    assert clients.later.wait(10)
    generator.stop()
