# SPDX-License-Identifier: ISC
"""Many messages of one Message-ID wait for its lock, which a session at the database has: the others
are filed as fast as without them."""

import os
import statistics
import threading
import time

import pytest
from filed import Boxes, Postgresql, lacking, message, tell
from smtp import Client
from stagepost import wait_until
from test_mailbox_servers import Site, keep, retry  # noqa: F401

WAITING = [f"waiting{i}@mail.test" for i in range(50)]
SCALE = float(os.environ.get("WAITING_SCALE", "1"))
OTHERS, CLIENTS = int(640 * SCALE), 8
LEAST = 0.8  # of the rate without them, just before and after
ROUNDS, HELD_S = int(3 + 4 * SCALE), 8  # once they wait for so long
MOST = 4 * ROUNDS  # all of these count where the first ones do not suffice: other work makes them differ


def send_others(own, round_):
    """How many others are filed in a second."""
    def send(number):
        with Client(own.mx) as client:
            for each in range(OTHERS // CLIENTS):
                text = message(f"{round_}-{number}-{each}")
                assert client.deliver("lisa@gmail.test", ["other@mail.test"], text).startswith("250 ")
    mark = own.mx.log.mark()
    begun = time.monotonic()
    clients = [threading.Thread(target=send, args=(number,)) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    own.mx.log.wait("delivered", since=mark, count=OTHERS, to="other@mail.test")
    return OTHERS / (time.monotonic() - begun)


@pytest.mark.parametrize("places, held", [(100, 50), (40, 20)])
def test_those_that_wait_for_a_lock_hold_up_no_others(node, ground, keep, places, held):  # noqa: F811
    """They have half of the transport's places at most: those beyond are deferred at once."""
    database = keep(Postgresql(ground))
    own = Site(node, database, keep(Boxes(ground)), more="sent = none", record_more="lock_timeout = 60",
               settings=f"transport once {{ concurrency = {places} }}\n")
    send_others(own, "warm")
    shares, without = [], send_others(own, "before")
    for round_ in range(MOST):
        if round_ == ROUNDS and statistics.median(shares) >= LEAST:
            break
        name = f"held{round_}"
        mark = own.mx.log.mark()
        with database.locked(name):
            tell(own.mx, WAITING, message(name))
            if held < len(WAITING):
                own.mx.log.wait("deferred", since=mark, count=len(WAITING) - held, status="4.4.5")
            if round_ == 0:
                until = time.monotonic() + HELD_S
                wait_until(lambda end=until: time.monotonic() > end, "they wait for long", 2 * HELD_S)
            with_ = send_others(own, f"with{round_}")
            waiting_found = own.mx.log.find("message_filed", since=mark, message_id=f"<{name}@mail.gmail.test>")
            assert not waiting_found
            assert len(own.mx.log.find("deferred", since=mark)) == len(WAITING) - held
        retry(own)
        for address in WAITING:
            assert lacking(own.store, address, [f"held{i}" for i in range(round_ + 1)]) == {}
        before, without = without, send_others(own, f"without{round_}")
        shares.append(2 * with_ / (before + without))
        print(f"others a second: {before:.0f}, {with_:.0f} with those that wait, {without:.0f} again")
    share = statistics.median(shares)
    print(f"shares: {' '.join(f'{one:.2f}' for one in sorted(shares))}, median {share:.2f}")
    assert share >= LEAST, shares


FLOOD = 1000


def flood(own, name, has_own_id):
    """How long that many messages take, each with other contents and one Message-ID if they do not have
    their own; and how long one more waits that comes when all are there, of another content."""
    def send(number):
        with Client(own.mx) as client:
            for each in range(number, FLOOD, CLIENTS):
                text = message(f"{name}{each if has_own_id else ''}", b"a guess %d\r\n" % each)
                assert client.deliver("lisa@gmail.test", ["other@mail.test"], text).startswith("250 ")
    mark = own.mx.log.mark()
    begun = time.monotonic()
    clients = [threading.Thread(target=send, args=(number,)) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    sent = time.monotonic()
    tell(own.mx, ["genuine@mail.test"], message(f"{name}{FLOOD - 1 if has_own_id else ''}"),
         sender="genuine@gmail.test")
    own.mx.log.wait("message_filed", since=mark, mailbox="genuine@mail.test", timeout=120)
    genuine = time.monotonic() - sent
    own.mx.log.wait("delivered", since=mark, count=FLOOD, to="other@mail.test", timeout=120)
    return time.monotonic() - begun, genuine


def test_a_guessed_message_id_holds_up_nobody(node, ground, keep):  # noqa: F811
    """Whoever sends very many messages with the Message-ID of another one does not make it wait for all
    of them; one thread files them, in place of four."""
    own = Site(node, keep(Postgresql(ground)), keep(Boxes(ground)), more="sent = none")
    flood(own, "warm", True)
    apart, first = flood(own, "apart", True)
    together, last = flood(own, "together", False)
    print(f"{FLOOD}: {apart:.1f} s apart, {together:.1f} s with one Message-ID; "
          f"another one after {first:.2f} and {last:.2f} s")
    assert together < 4 * apart and last < 2 * apart and not own.mx.log.find("deferred")
