# SPDX-License-Identifier: ISC
"""A reload that moves a listener to an address that covers the one before, or is covered by it."""
import contextlib
import itertools
import socket
import threading
import time

import pytest
from stagepost import PATIENCE

PLACES = ("127.0.0.1", "127.0.0.2", "0.0.0.0", "[::1]", "[::]")
REACHED = {"0.0.0.0": ("127.0.0.1", "127.0.0.2"), "[::]": ("[::1]",)}
# All that may be moved to each other: also two, of which one stays
SETS = [(place,) for place in PLACES] + [("127.0.0.1", "[::1]"), ("0.0.0.0", "[::]"), ("127.0.0.1", "127.0.0.2")]


def reached(places):
    return {at for place in places for at in REACHED.get(place, (place,))}


def listen_at(node, places, kind="smtp"):
    text = open(node.conf, encoding="utf-8").read()
    before, rest = text.split("address = {", 1)
    addresses = ", ".join(f'"{place}:{node.port}"' for place in places)
    text = before + "address = { " + addresses + " }" + rest.split("}", 1)[1]
    with open(node.conf, "w", encoding="utf-8") as file:
        file.write(text.replace("listen smtp {", f"listen {kind} {{") if kind != "smtp" else text)


def greets(node, place):
    with socket.create_connection((place.strip("[]"), node.port), PATIENCE) as client:
        return client.recv(4) == b"220 "


class Callers:
    """Connect to these places all the time. A connection that waits at a socket when that goes may be reset; none is
    refused."""

    def __init__(self, node, places):
        self.node, self.places = node, places
        self.refused, self.greeted, self.is_over = [], 0, threading.Event()
        self.thread = threading.Thread(target=self.call)
        self.thread.start()

    def call(self):
        while not self.is_over.is_set():
            for place in self.places:
                try:
                    with contextlib.suppress(ConnectionResetError):
                        self.greeted += greets(self.node, place)
                except OSError as why:
                    self.refused.append((place, repr(why)))
            time.sleep(0.001)

    def stop(self):
        self.is_over.set()
        self.thread.join()
        assert not self.refused, self.refused[:3]
        assert self.greeted >= len(self.places)


def test_all_pairs(node):
    """Of places that cover each other, and of others; who is reached before and afterwards is never refused."""
    mx = node("mx")
    listen_at(mx, SETS[0])
    mx.reload()
    now = SETS[0]
    for before, after in itertools.permutations(SETS, 2):
        for places in before, after:
            if now == places:
                continue
            callers = Callers(mx, reached(now) & reached(places)) if reached(now) & reached(places) else None
            listen_at(mx, places)
            mx.reload()
            if callers is not None:
                callers.stop()
            assert all(greets(mx, at) for at in reached(places)), (now, places)
            for at in reached(PLACES) - reached(places):
                with pytest.raises(ConnectionRefusedError):
                    greets(mx, at)
            now = places


def test_another_protocol_at_the_same_address(node):
    mx = node("mx")
    listen_at(mx, ["127.0.0.1"], "qmtp")
    mx.reload()
    with socket.create_connection(("127.0.0.1", mx.port), PATIENCE) as client:
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)  # it does not greet


def test_what_cannot_be(node):
    """The answer says which, why and what is allowed, and all goes on as before."""
    mx = node("mx")
    def is_refused(places, reason):
        listen_at(mx, places)
        problem = mx.reload("config_refused")["problem"]
        assert problem.startswith(f"{mx.conf}: a listening socket cannot be bound: listen "), problem
        assert problem.endswith(reason), problem
        assert greets(mx, "127.0.0.1")
        with pytest.raises(ConnectionRefusedError):
            greets(mx, "127.0.0.2")
    is_refused(["192.0.2.1"], f"192.0.2.1:{mx.port}: this machine does not have the address")
    with socket.create_server(("127.0.0.3", mx.port)):
        is_refused(["0.0.0.0"], f"0.0.0.0:{mx.port}: another program listens there")
    listen_at(mx, ["0.0.0.0"])
    mx.reload()
    assert greets(mx, "127.0.0.2")
