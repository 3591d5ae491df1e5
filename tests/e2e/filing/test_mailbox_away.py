# SPDX-License-Identifier: ISC
"""While the record or the IMAP server of a service is away, its mail waits for the service's trigger:
one message at a time tries, and when what was away is back, all of it is delivered at once."""

import os
import signal
import time

import pytest
from filed import Boxes, Imap, Postgresql, Sqlite, lacking, message, tell
from smtp import Client
from stagepost import wait_until
from test_mailbox_servers import BOTH, SERVERS, Site, keep  # noqa: F401 (a fixture)

COUNT = 200
FEW = 60  # tries: those that were under way when it was found out, and the probes
SOON = 20  # seconds: the longest that a probe is apart from the next one by then, and all the mail
PROBE = "probe_delay = 1\n"


def flood(own):
    """COUNT messages, while nothing can be filed. Their names."""
    names = [f"one{i}" for i in range(COUNT)]
    with Client(own.mx) as client:
        for name in names:
            assert client.deliver("lisa@gmail.test", BOTH, message(name)).startswith("250 ")
    return names


def tries(own):
    """How often a recipient was tried and could not have it."""
    return len(own.mx.log.find("deferred"))


def is_back(own, names):
    """All is delivered soon, and once; hardly anything was tried in vain."""
    begun = time.monotonic()
    own.mx.wait_empty(SOON)
    took = time.monotonic() - begun
    own.is_told_once(["before", *names])
    assert tries(own) <= FEW, "messages were tried one by one"
    assert not own.mx.trigger_files()
    assert not own.mx.log.find("process_ended")
    return took


def waits(own):
    own.mx.log.wait("trigger_set", trigger="service.once", timeout=60)
    wait_until(lambda: list(own.mx.trigger_files()) == ["service.once"], "its trigger is there")


@pytest.mark.parametrize("record", SERVERS)
def test_a_record_that_was_killed(node, ground, keep, record):  # noqa: F811
    database = keep(SERVERS[record](ground))
    own = Site(node, database, keep(Boxes(ground)), settings=PROBE,
               domains=["domain a.test { service = maildir }"])
    own.story("before")
    database.kill()
    names = flood(own)
    waits(own)
    tell(own.mx, ["ann@a.test"], message("other"))  # another service's goes on
    own.mx.maildir("ann@a.test").wait()
    database.start()
    is_back(own, names)


def test_a_record_that_hangs(node, ground, keep):  # noqa: F811
    """Its connections are there, and nothing answers."""
    database = keep(Postgresql(ground))
    own = Site(node, database, keep(Boxes(ground)), settings=PROBE, record_more="connections = 1")
    own.story("before")
    pids = database.server.pids()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    names = flood(own)
    waits(own)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    is_back(own, names)


def test_an_imap_server_that_was_stopped(node, ground, keep):  # noqa: F811
    imap = keep(Imap(ground))
    own = Site(node, keep(Sqlite(ground)), imap, settings=PROBE)
    own.story("before")
    imap.server.stop()
    names = flood(own)
    waits(own)
    imap.server.start()
    is_back(own, names)


def test_one_user_whose_login_is_refused_holds_up_nobody(node, ground, keep):  # noqa: F811
    imap = keep(Imap(ground))
    settings = imap.settings
    imap.settings = lambda more="": settings(login="%a", more=more)
    own = Site(node, keep(Sqlite(ground)), imap, more="", settings=PROBE)
    imap.refuse("doug@mail.test")
    tell(own.mx, BOTH, message("before"))
    own.mx.log.wait("deferred")
    wait_until(lambda: lacking(imap, BOTH[0], ["before"]) == {}, "the other has his")
    assert not own.mx.log.find("trigger_set")
