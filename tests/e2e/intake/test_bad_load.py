# SPDX-License-Identifier: ISC
"""Good clients are served as ever while thousands of bad ones are connected."""

import contextlib
import os
import subprocess
import sys
import threading
import time

import pytest
from smtp import Client, Wire, deliver
from stagepost import HERE, PATIENCE

TEXT = b"Subject: good\r\n\r\n" + b"A line of some length in it.\r\n" * 40
FLOOR = 0.05  # seconds; less than that is noise on a shared machine
GOOD_THREADS = 4
GOOD_SESSIONS = 100  # of each thread


@contextlib.contextmanager
def bad_clients(node, count, addresses=500, seconds=15):
    command = [sys.executable, os.path.join(HERE, "bad_clients.py"), str(node.port), str(count),
               str(addresses), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield process, int(line)
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def session(node, source):
    begin = time.monotonic()
    with Client(node, source=source) as client:
        reply = client.deliver("sender@client.test", "anna@a.test", TEXT)
    assert reply.startswith("250 "), reply
    return time.monotonic() - begin


def good_sessions(node, count=GOOD_SESSIONS):
    """How long each of them took, sorted."""
    taken, errors = [], []

    def run(source):
        try:
            for _ in range(count):
                taken.append(session(node, source))
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=run, args=(f"127.2.0.{number + 1}",))
               for number in range(GOOD_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    return sorted(taken)


def p99(sorted_times):
    return sorted_times[len(sorted_times) * 99 // 100 - 1]


@pytest.mark.parametrize("places", [10000, 2000], ids=["room", "full"])
def test_good_sessions_under_5000_bad_ones(node, places):
    mx = node(settings=f"maxsessions = {places}", relay_from=[])
    good_sessions(mx, 5)
    normal = p99(good_sessions(mx))
    with bad_clients(mx, 5000) as (bad, held):
        loaded = p99(good_sessions(mx))
        if loaded > 2 * max(normal, FLOOR):  # something else kept the machine busy
            loaded = p99(good_sessions(mx))
        assert bad.poll() is None, "the bad clients ended before the good ones did"
    assert held == min(5000, places)
    print(f"p99 of a good session: {normal * 1000:.1f} ms alone, {loaded * 1000:.1f} ms among "
          "5,000 bad ones")
    assert loaded <= 2 * max(normal, FLOOR)
    mx.maildir("anna@a.test").wait(GOOD_THREADS * (2 * GOOD_SESSIONS + 5))


def test_one_host_gets_its_share(node):
    mx = node(settings="maxsessions_client = 2\nsmtpd_workers = 1", relay_from=["127.0.0.9"])
    with Wire(mx) as first, Wire(mx) as second:
        assert first.reply().startswith("220 ") and second.reply().startswith("220 ")
        with Wire(mx) as third:
            assert third.reply().startswith("421 mx.stagepost.test ") and third.reply() == ""
        deliver(mx, "anna@a.test", TEXT, source="127.0.0.2")
        wires = [Wire(mx, source="127.0.0.9") for _ in range(4)]  # it may relay: no limit
        assert [wire.reply()[:3] for wire in wires] == ["220"] * 4
        for wire in wires:
            wire.close()
        assert first.ask(b"QUIT").startswith("221 ") and first.reply() == ""
        with Wire(mx) as fourth:
            assert fourth.reply().startswith("220 ")


def test_those_who_did_nothing_go_first(node):
    """The table is full: the one who did nothing for longest is told so and closed."""
    mx = node(settings="maxsessions = 2\nsmtpd_workers = 1")
    with Client(mx) as useful, Wire(mx) as idle:
        assert idle.reply().startswith("220 ")
        assert useful.deliver("s@client.test", "anna@a.test", TEXT).startswith("250 ")
        deliver(mx, "anna@a.test", TEXT)  # it waits until somebody was idle for long enough
        assert idle.reply().startswith("421 4.3.2 ") and idle.reply() == ""
        assert useful.noop()[0] == 250
