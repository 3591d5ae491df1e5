# SPDX-License-Identifier: ISC
"""A message that is queued, and not mapped yet, has its envelope only once: where a disk has changed that, the
file leaves the queue, the log says what is left of sender and recipients, and the sender is told if the checksum
proves who he is. In the sandboxes that the processes have everywhere."""

import glob
import os
import subprocess

import pytest
from stagepost import as_user, wait_until

TEXT = b"Subject: damage\n\nA line.\n"
TO = ("bob@a.test", "carl@a.test")


@pytest.fixture
def run(ground):
    def run(node, *words, **settings):
        ended = subprocess.run(
            [*as_user(), f"{ground.programs}/stagepost", *words], check=False, timeout=60, capture_output=True,
            env={**os.environ, "STAGEPOST_CONF": node.conf}, **{"stdin": subprocess.DEVNULL, **settings})
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.decode()

    return run


@pytest.fixture
def queued(node, run):
    """A stopped node, and the file of a message at S4 there."""
    def queued(settings=""):
        mx = node(domains=["a.test"], settings=settings)
        mx.stop()
        run(mx, "sendmail", "-f", "anna@a.test", *TO, input=TEXT, stdin=None)
        (path,) = glob.glob(mx.queue + "/todo/*/*/*")
        return mx, path

    return queued


def change(path, old, new):
    """The last place, which is in the envelope."""
    with open(path, "r+b") as file:
        at = file.read().rindex(old)
        file.seek(at)
        file.write(new)


def start_and_lose(mx, path, recipients):
    """Starts the node, and sees that the file is moved, and who is named."""
    with open(path, "rb") as file:
        damaged = file.read()
    mark = mx.log.mark()
    mx.start()
    lost = mx.log.wait("message_lost", since=mark, count=max(len(recipients), 2))
    wait_until(lambda: not os.path.exists(path), "it has left todo/")
    (kept,) = os.listdir(mx.queue + "/damaged")
    assert kept == os.path.relpath(path, mx.queue).replace("/", "_")
    with open(f"{mx.queue}/damaged/{kept}", "rb") as file:
        assert file.read() == damaged
    assert sorted(event["to"] for event in lost) == sorted(recipients)
    for event in lost:
        assert event["path"] == "damaged/" + kept and event["reason"] == "its envelope is damaged"
    assert not mx.log.find("queue_error", since=mark)
    return lost, mark


def nobody_has_it(mx):
    return not any(mx.maildir(address).files() for address in TO)


def test_nothing_but_what_was_sent_is_told_and_only_an_operator_hurries_it(queued, run):
    mx, path = queued()
    change(path, b"<anna@", b"<anoa@")  # a bit of it
    lost, mark = start_and_lose(mx, path, TO)
    assert {event["from"] for event in lost} == {"anna@a.test"}
    mx.log.wait("deferred", since=mark, count=2, status="4.3.0")
    assert "damaged the message" in run(mx, "queue", "list")
    run(mx, "queue", "retry", "--all", "--yes")
    run(mx, "queue", "release", "--damaged", "--all", "--yes")
    run(mx, "queue", "requeue", "--all", "--yes")
    mx.restart()
    assert nobody_has_it(mx) and not mx.is_empty()
    run(mx, "queue", "bounce", "--all", "--yes")
    (report,) = mx.maildir("anna@a.test").wait()
    assert all(address.encode() in report for address in TO)
    mx.wait_empty()
    assert nobody_has_it(mx) and len(os.listdir(mx.queue + "/damaged")) == 1


def test_the_sender_is_told_when_it_is_too_old(queued):
    mx, path = queued("queuelifetime = 3\n")
    change(path, b"at: 0", b"at: 1")  # where the envelope begins
    start_and_lose(mx, path, TO)
    (report,) = mx.maildir("anna@a.test").wait()
    assert b"5.3.0" in report and all(address.encode() in report for address in TO)
    assert b"A line." not in report
    mx.wait_empty()
    assert nobody_has_it(mx)


def test_an_operator_may_remove_it(queued, run):
    mx, path = queued()
    change(path, b"received: ", b"received; ")
    start_and_lose(mx, path, TO)
    run(mx, "queue", "remove", "--all", "--yes")
    mx.wait_empty()
    mx.stop()
    assert nobody_has_it(mx) and not mx.maildir("anna@a.test").files()


def test_who_cannot_be_proven_is_told_nothing(queued):
    """Of more than a bit nobody knows where it belongs: the log has what can be read."""
    mx, path = queued()
    change(path, b"<anna@", b"<zzzz@")
    lost, _ = start_and_lose(mx, path, TO)
    assert {event["from"] for event in lost} == {"zzzz@a.test"}
    mx.wait_empty()
    mark = mx.log.mark()
    mx.restart()  # nothing is found twice
    mx.stop()
    assert not mx.log.find("message_lost", since=mark) and nobody_has_it(mx)
    assert not any(glob.glob(mx.mail + "/*/*/new/*"))


def test_nothing_is_left(queued):
    mx, path = queued()
    with open(path, "r+b") as file:
        size = len(file.read())
        file.seek(0)
        file.write(bytes(size))
    mark = mx.log.mark()
    mx.start()
    lost = mx.log.wait("message_lost", since=mark)
    assert lost["number"] == os.path.basename(path) and "from" not in lost
    wait_until(lambda: os.listdir(mx.queue + "/damaged") and not os.path.exists(path), "it is in damaged/")
    mx.wait_empty()
