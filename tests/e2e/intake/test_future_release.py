# SPDX-License-Identifier: ISC
"""A user's program says when its message is to be delivered (FUTURERELEASE, RFC 4865)."""

import json
import os
import smtplib
import subprocess
import time

import pytest
from smtp import Client
from stagepost import PATIENCE, as_user, free_port

TEXT = b"Subject: later\r\n\r\nHello.\r\n"
ANNA, BOB, FAR = "anna@a.test", "bob@a.test", "x@far.test"


class Desk:
    def __init__(self, node, settings="", **more):
        self.port = free_port()
        self.mx = node(settings=f'listen submission {{ address = "127.0.0.1:{self.port}" }}\n' + settings,
                       **more)

    def client(self):
        made = smtplib.SMTP("127.0.0.1", self.port, timeout=PATIENCE)
        made.ehlo("client.test")
        return made

    def send(self, parameter, to=(BOB,)):
        """Returns the message's id."""
        mark = self.mx.log.mark()
        with self.client() as client:
            assert client.docmd(f"MAIL FROM:<{ANNA}> {parameter}")[0] == 250
            for address in to:
                assert client.docmd(f"RCPT TO:<{address}>")[0] == 250
            assert client.data(TEXT)[0] == 250
        return self.mx.log.wait("message_accepted", since=mark)["id"]

    def command(self, *words):
        return subprocess.run([*as_user(), os.path.join(self.mx.programs, "stagepost"), *words[:2], "-c",
                               self.mx.conf, *words[2:]], capture_output=True, text=True, check=True,
                              timeout=PATIENCE).stdout


@pytest.fixture
def desk(node):
    return Desk(node)


def test_who_is_offered_it(desk):
    with desk.client() as client:
        seconds, latest = client.esmtp_features["futurerelease"].split()
        assert int(seconds) == 30 * 86400 and latest.endswith("Z")
        assert client.docmd(f"MAIL FROM:<{ANNA}> HOLDFOR={int(seconds) + 1}")[0] == 501
    with Client(desk.mx) as client:
        assert not client.has_extn("futurerelease")
        assert client.docmd(f"MAIL FROM:<{ANNA}> HOLDFOR=60")[0] == 555


def test_it_can_be_turned_off(node):
    with Desk(node, "future_release_max = 0\n").client() as client:
        assert not client.has_extn("futurerelease")


def test_it_comes_at_its_time_and_not_before(desk):
    """Shown meanwhile by the queue's list and the trace."""
    before = time.time()
    message = desk.send("HOLDFOR=4", (BOB, ANNA))
    event = desk.mx.log.wait("postponed", id=message, to=BOB)
    listed = desk.command("queue", "list")
    assert listed.count(f"(held until {event['until']}, as its sender has asked)") == 2
    (entry,) = [json.loads(line) for line in desk.command("queue", "list", "--json").splitlines()]
    assert entry["release"][:19] == event["until"][:19]
    assert not desk.mx.maildir(BOB).messages()
    desk.mx.log.wait("delivered", count=2)
    assert time.time() >= before + 4
    assert len(desk.mx.log.find("postponed")) == 2
    story = subprocess.run([*as_user(), os.path.join(desk.mx.programs, "stagepost"), "trace", message,
                            desk.mx.log.path], capture_output=True, text=True,
                           timeout=PATIENCE, check=False).stdout
    assert f"waiting: <{BOB}> until {event['until']}, as its sender has asked" in story
    desk.mx.wait_empty()


def test_it_survives_restarts_and_kills(desk):
    """250 is a promise for the whole time."""
    until = time.time() + 8
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(until))
    message = desk.send(f"HOLDUNTIL={stamp}")
    desk.mx.log.wait("postponed", id=message)
    desk.mx.restart()
    mark = desk.mx.log.mark()
    for program in ("queue", "send"):
        desk.mx.kill_and_wait(program)
    assert not desk.mx.log.find("delivered")
    event = desk.mx.log.wait("delivered", since=mark, id=message)
    assert time.time() >= int(until) and event["to"] == BOB
    assert len(desk.mx.maildir(BOB).wait()) == 1


def test_an_operator_releases_it_by_its_id_only(desk):
    message = desk.send("HOLDFOR=86400")
    desk.mx.log.wait("postponed", id=message)
    desk.command("queue", "retry", "--all", "--yes")
    later = desk.send("HOLDFOR=86400")  # the order before it was carried out
    desk.mx.log.wait("postponed", id=later)
    assert not desk.mx.log.find("delivered")
    desk.command("queue", "retry", "--yes", message)
    desk.mx.log.wait("hurried", id=message, to=BOB)
    desk.mx.log.wait("delivered", id=message)
    desk.command("queue", "remove", "--yes", later)
    desk.mx.wait_empty()
    assert len(desk.mx.maildir(BOB).messages()) == 1


def test_the_next_hop_is_not_asked_to_hold_it(node):
    """Although it would."""
    relay = Desk(node, domains=["far.test"])
    desk = Desk(node, routes=[f"far.test:127.0.0.1;{relay.port}"])
    message = desk.send("HOLDFOR=2", (FAR,))
    desk.mx.log.wait("delivered", id=message)
    relay.mx.log.wait("delivered", to=FAR)
    assert not relay.mx.log.find("postponed")


def test_a_report_has_what_was_asked_for(node):
    """The lifetime, here none, counts from the release: it is tried once all the same."""
    desk = Desk(node, "queuelifetime = 0\n", routes=[f"far.test:127.0.0.1;{free_port()}"])
    message = desk.send("HOLDFOR=2", (FAR,))
    until = desk.mx.log.wait("postponed", id=message)["until"]
    desk.mx.log.wait("failed", id=message)
    (report,) = desk.mx.maildir(ANNA).wait()
    assert b"\nFuture-Release-Request: until;" + until.encode() in report
