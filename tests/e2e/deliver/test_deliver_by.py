# SPDX-License-Identifier: ISC
"""A message is delivered by the time that its sender has set, or returned, or its sender is told (DELIVERBY,
RFC 2852)."""

import json
import os
import re
import subprocess
import time

import pytest
from records import Records
from smtp import Client
from stagepost import PATIENCE, as_user, free_port

TEXT = b"Subject: urgent\r\n\r\nHello.\r\n"
ANNA, BOB, FAR = "anna@a.test", "bob@a.test", "x@far.test"


def listed(mx, *words):
    return subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), "queue", "list", "-c", mx.conf,
                           *words], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout


def send(mx, parameter, to=(FAR,), sender=ANNA):
    """Returns the message's id."""
    mark = mx.log.mark()
    with Client(mx) as client:
        assert client.has_extn("deliverby")
        assert client.docmd(f"MAIL FROM:<{sender}> {parameter}")[0] == 250
        for address in to:
            assert client.docmd(f"RCPT TO:<{address}>")[0] == 250
        assert client.data(TEXT)[0] == 250
    return mx.log.wait("message_accepted", since=mark)["id"]


def report_to_anna(mx):
    (report,) = mx.maildir(ANNA).wait()
    return report.decode()


def received_by(mx):
    """The words that the message came with, as the control file has them."""
    (control,) = mx.control_files().values()
    return re.search(r" by=\S+", control)[0]


def test_what_cannot_be_met_is_refused(node):
    with Client(node(settings="deliver_by_min = 1m\n")) as client:
        assert client.esmtp_features["deliverby"].strip() == "60"
        assert client.docmd(f"MAIL FROM:<{ANNA}> BY=59;R")[0] == 555
        assert client.docmd(f"MAIL FROM:<{ANNA}> BY=0;R")[0] == 501
        assert client.docmd(f"MAIL FROM:<{ANNA}> BY=60;R")[0] == 250


def test_it_can_be_turned_off(node):
    with Client(node(settings="deliver_by_min = 0\n")) as client:
        assert not client.has_extn("deliverby")
        assert client.docmd(f"MAIL FROM:<{ANNA}> BY=60;R")[0] == 555


def test_what_is_in_time_is_delivered(node):
    mx = node()
    send(mx, "BY=60;RT", to=(BOB,))
    mx.log.wait("delivered", to=BOB)
    mx.wait_empty()
    assert not mx.maildir(ANNA).messages()


def test_what_is_late_is_returned_at_its_time(node):
    """Also after a restart and kills; shown meanwhile."""
    mx = node(routes=[f"far.test:127.0.0.1;{free_port()}"])
    before = time.time()
    message = send(mx, "BY=6;R")
    mx.log.wait("deferred", id=message)
    (entry,) = [json.loads(line) for line in listed(mx, "--json").splitlines()]
    assert entry["late"] == "return"
    assert f"(to be delivered by {entry['deadline'][:19]}Z, or returned to its sender)" in listed(mx)
    mx.restart()
    for program in ("queue", "send"):
        mx.kill_and_wait(program)
    event = mx.log.wait("failed", id=message)
    assert event["status"] == "5.4.7" and time.time() >= before + 6
    report = report_to_anna(mx)
    assert "\nDeliver-By-Date: " in report and "\nStatus: 5.4.7\n" in report
    assert "You have asked that it be delivered by " in report
    mx.wait_empty()


@pytest.mark.parametrize("ends", [[], ["send"]], ids=["running", "killed"])
def test_what_an_operator_holds_is_returned_at_its_time(node, ends):
    """And is not held any more afterwards."""
    mx = node(routes=[f"far.test:127.0.0.1;{free_port()}"])
    before = time.time()
    message = send(mx, "BY=5;R")
    mx.log.wait("deferred", id=message)
    subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), "queue", "hold", "-c", mx.conf, message],
                   check=True, timeout=PATIENCE)
    assert f"hold.{message}" in mx.trigger_files()
    for program in ends:
        mx.kill_and_wait(program)
    assert mx.log.wait("failed", id=message)["status"] == "5.4.7" and time.time() >= before + 5
    assert "\nStatus: 5.4.7\n" in report_to_anna(mx)
    mx.wait_empty()
    assert f"hold.{message}" not in mx.trigger_files()


def test_what_an_alias_leads_to_has_the_deadline(node, ground):
    """Another host gets the rest of the time; who is late is returned to the sender, not to the alias."""
    last = node(routes=[f"far.test:127.0.0.1;{free_port()}"])
    first = node(routes=[f"far.test:127.0.0.1;{last.port}", f"dead.test:127.0.0.1;{free_port()}"],
                 settings=f'directory {{ path = "{ground.directory("directory")}/directory.db" }}\n')
    with Records(first) as records:
        records.put("domain", "d.test", "kind local", "service maildir")
        records.put("address", "far@d.test", "kind alias", f"target {FAR}")
        records.put("address", "dead@d.test", "kind alias", "target x@dead.test")
    message = send(first, "BY=8;R", to=("far@d.test", "dead@d.test"))
    first.log.wait("delivered", id=message)
    last.log.wait("deferred", to=FAR)
    assert received_by(last).endswith(";r")
    assert first.log.wait("failed", id=message)["to"] == "x@dead.test"
    (report,) = first.maildir(ANNA).wait()
    assert b"<dead@d.test>:\n" in report and b"\nStatus: 5.4.7\n" in report and b"far@d.test" not in report
    first.wait_empty()
    last.log.wait("failed", to=FAR)


def test_a_report_has_no_deadline(node):
    """It would be lost where nobody is told of that."""
    mx = node(routes=[f"far.test:127.0.0.1;{free_port()}", f"client.test:127.0.0.1;{free_port()}"])
    send(mx, "BY=1;R", sender="a@client.test")
    mx.log.wait("deferred", to="a@client.test")
    (control,) = mx.control_files().values()
    assert "from: <>" in control and " by=" not in control


@pytest.fixture
def chain(node):
    """Two hosts; what the second has sleeps there."""
    last = node(routes=[f"far.test:127.0.0.1;{free_port()}"])
    return node(routes=[f"far.test:127.0.0.1;{last.port}"]), last


def test_the_rest_of_the_time_is_passed_on(chain):
    first, last = chain
    before = time.time()
    send(first, "BY=1000;R")
    last.log.wait("deferred", to=FAR)
    until = re.match(r" by=(\S+)Z;r", received_by(last))[1]
    left = time.mktime(time.strptime(until, "%Y-%m-%dT%H:%M:%S")) - time.timezone - before
    assert 990 < left <= 1003
    first.wait_empty()
    assert not first.maildir(ANNA).messages()


def test_a_trace_is_a_report_from_each_host(chain):
    first, last = chain
    send(first, "BY=1000;NT")
    last.log.wait("deferred", to=FAR)
    assert received_by(last).endswith(";nt")
    report = report_to_anna(first)
    assert "\nAction: relayed\n" in report and "Your message was handed on to other hosts" in report
    assert "\nRemote-MTA: dns; 127.0.0.1\n" in report or "\nDiagnostic-Code: " in report


def test_a_time_that_has_passed_is_told_once(chain):
    """By the first host; the second is told that it need not."""
    first, last = chain
    first.routes = [f"far.test:127.0.0.1;{free_port()}"]
    first.write_configuration()
    first.restart()
    message = send(first, "BY=2;N")
    report = report_to_anna(first)
    assert "\nAction: delayed\n" in report and "\nDeliver-By-Date: " in report
    first.routes = [f"far.test:127.0.0.1;{last.port}"]
    first.write_configuration()
    first.restart()
    subprocess.run([*as_user(), os.path.join(first.programs, "stagepost"), "queue", "retry", "-c", first.conf,
                    "--all", "--yes"], check=True, timeout=PATIENCE)
    first.log.wait("delivered", id=message)
    last.log.wait("deferred", to=FAR)
    assert received_by(last).endswith(";nd")
    assert len(first.maildir(ANNA).messages()) == 1


@pytest.fixture
def simple(node):
    """A host that offers no DELIVERBY, and one that sends to it."""
    last = node(settings="deliver_by_min = 0\n", domains=["far.test"])
    return node(routes=[f"far.test:127.0.0.1;{last.port}"]), last


def test_what_is_to_be_returned_goes_to_no_host_that_would_not(simple):
    first, last = simple
    message = send(first, "BY=1000;R")
    event = first.log.wait("failed", id=message)
    assert event["status"] == "5.4.7" and "does not offer DELIVERBY" in event["text"]
    assert "\nStatus: 5.4.7\n" in report_to_anna(first)
    assert not last.log.find("message_accepted")


def test_who_wants_to_know_is_told_that_the_next_host_will_not_tell(simple):
    first, last = simple
    send(first, "BY=1000;N")
    last.log.wait("delivered", to=FAR)
    report = report_to_anna(first)
    assert "\nAction: relayed\n" in report
    assert "do not know by when it is to be delivered" in report
