# SPDX-License-Identifier: ISC
"""A disk, a restore or a hand has taken names from a queue: what is left of a message is delivered,
reported or kept, and nothing that was accepted is silently gone."""
import glob
import os
import re
import subprocess

import lmtp
import pytest
from smtp import Client
from stagepost import as_user, give_to_user, wait_until

MISSING = {  # by recipient: from which directories its names are taken
    "info": ["info"],
    "controls": ["info", "remote"],
    "data": ["mess"],
    "both": ["mess", "info"],
    "remote": ["remote"],
    "none": [],
}
DELIVERED = {"info", "controls", "remote", "none"}


class Host:
    """Each recipient waits until it is open."""

    def __init__(self):
        self.is_open = False
        self.server = lmtp.Server(recipient=self.answer)

    def answer(self, address):
        return "250 2.1.5 ok" if self.is_open else f"450 4.2.2 {address} is not ready"

    def received(self):
        return sorted(address.split("@")[0] for recipients, _ in self.server.messages
                      for address in recipients)


def run(mx, *words):
    done = subprocess.run(
        [*as_user(), os.path.join(mx.programs, "stagepost"), *words], check=False,
        env={**os.environ, "STAGEPOST_CONF": mx.conf}, cwd=mx.directory,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


@pytest.fixture
def host():
    host = Host()
    yield host
    host.server.close()


@pytest.fixture
def waiting(node, host):
    """A stopped node in whose queue a message to each of MISSING waits at S5, and {recipient:
    number}."""

    def waiting(sync):
        mx = node(routes=[f"b.test:{host.server.address.replace(':', ';')}"], domains=["a.test"],
                  settings=f"queue_sync = {sync}\n")
        for name in MISSING:
            with Client(mx) as client:
                reply = client.deliver("anna@a.test", [f"{name}@b.test"],
                                       f"Subject: {name}\r\n\r\nto {name}\r\n".encode())
            assert reply.startswith("250 "), reply
        mx.log.wait("deferred", count=len(MISSING))
        wait_until(lambda: len(glob.glob(mx.queue + "/info/*/*")) == len(MISSING)
                   and not glob.glob(mx.queue + "/todo/*/*/*"), "all are at S5")
        mx.stop()
        numbers = {re.search(r"^to: 1 <(\w+)@", text, re.M)[1]: number
                   for number, text in mx.control_files().items()}
        return mx, numbers

    return waiting


def take_names(mx, numbers):
    for name, places in MISSING.items():
        for place in places:
            (path,) = glob.glob(f"{mx.queue}/{place}/*/{numbers[name]}")
            os.unlink(path)


def take_owner(mx, number):
    """As if root had queued it while no daemon ran: nobody else can mark its end."""
    (path,) = glob.glob(f"{mx.queue}/mess/*/{number}")
    os.chmod(path, 0o644)
    if os.geteuid() == 0:
        os.chown(path, 0, 0)


def start_and_clean(mx):
    """Starts it, with something to clean, and waits for that: a place in the log before it."""
    path = f"{mx.queue}/intd/1/1"
    with open(path, "wb"):
        pass
    give_to_user(path)
    since = mx.log.mark()
    mx.start()
    mx.log.wait("queue_cleaned", since, path="intd/1/1")
    return since


def addressees(events):
    return sorted(event["to"].split("@")[0] for event in events)


def test_what_is_left_is_delivered_or_reported(waiting, host):
    mx, numbers = waiting("ordered")
    take_names(mx, numbers)
    take_owner(mx, numbers["none"])
    host.is_open = True
    since = mx.log.mark()
    mx.start()
    mx.log.wait("message_rebuilt", since, count=2)
    mx.log.wait("message_lost", since, count=2)
    assert addressees(mx.log.find("message_rebuilt", since)) == ["controls", "info"]
    assert addressees(mx.log.find("message_lost", since)) == ["both", "data"]
    for event in mx.log.find("message_lost", since):
        assert event["from"] == "anna@a.test" and os.path.exists(f"{mx.queue}/{event['path']}")
    run(mx, "queue", "retry", "--all", "--yes")
    reports = mx.maildir("anna@a.test").wait(2)
    for name in "both", "data":
        (report,) = [report for report in reports
                     if f"Final-Recipient: rfc822; {name}@b.test".encode() in report
                     or f"Final-Recipient: rfc822;{name}@b.test".encode() in report]
        assert b"5.3.0" in report and b"lost by damage of the disk" in report
    wait_until(lambda: set(host.received()) == DELIVERED, "the others are delivered")
    assert host.received() == sorted(DELIVERED)
    mx.wait_empty()
    assert len(os.listdir(mx.queue + "/damaged")) == 2
    assert not os.listdir(mx.queue + "/litter")
    mx.stop()
    assert "damaged/" not in run(mx, "queue", "repair")
    since = start_and_clean(mx)  # nothing is found twice, and what is in damaged/ stays
    mx.stop()
    assert not mx.log.find("message_lost", since) and not mx.log.find("message_rebuilt", since)
    assert len(os.listdir(mx.queue + "/damaged")) == 2
    assert not mx.log.find("queue_error")


def test_where_no_order_is_kept_it_is_litter(waiting, host):
    mx, numbers = waiting("files")
    take_names(mx, numbers)
    host.is_open = True
    since = mx.log.mark()
    mx.start()
    mx.log.wait("message_litter", since, count=4)
    assert addressees(mx.log.find("message_litter", since)) == ["both", "controls", "data", "info"]
    for event in mx.log.find("message_litter", since):
        assert event["from"] == "anna@a.test" and os.path.exists(f"{mx.queue}/{event['path']}")
    run(mx, "queue", "retry", "--all", "--yes")
    wait_until(lambda: host.received() == ["none", "remote"], "the others are delivered")
    mx.wait_empty()
    kept = sorted(os.listdir(mx.queue + "/litter"))
    mx.stop()
    start_and_clean(mx)
    assert sorted(os.listdir(mx.queue + "/litter")) == kept  # for 36 hours
    assert {path.partition("_")[0] + path[path.rindex("_"):] for path in kept} == {
        f"mess_{numbers['info']}", f"remote_{numbers['info']}", f"mess_{numbers['controls']}",
        f"info_{numbers['data']}", f"remote_{numbers['both']}"}
    assert not os.listdir(mx.queue + "/damaged")
    assert not mx.log.find("queue_error")
