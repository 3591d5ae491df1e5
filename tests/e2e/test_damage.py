# SPDX-License-Identifier: ISC
"""A disk that gives back other bytes than it was given: what is damaged is never delivered as if it
were whole, nothing goes silently, and an operator is told, and decides."""

import glob
import re
import subprocess

import checksums
import pytest
from smtp import deliver
from stagepost import as_user, free_port, wait_until

TEXT = b"Subject: damage\r\n\r\nA line that the disk will change.\r\n"
LARGE = TEXT + b"0123456789abcdef" * 6 * 2000 + b"\r\n"


@pytest.fixture
def run(ground):
    def run(node, *words):
        return subprocess.run([*as_user(), f"{ground.programs}/stagepost", *words, "-c", node.conf],
                              check=False, timeout=60, capture_output=True, stdin=subprocess.DEVNULL)

    return run


def change(path, old, new):
    """As a disk does: the same file, other bytes."""
    assert len(old) == len(new)
    with open(path, "r+b") as file:
        at = file.read().index(old)
        file.seek(at)
        file.write(new)


def info_file(mx):
    (path,) = glob.glob(mx.queue + "/info/*/*")
    return path


@pytest.fixture
def waiting(node):
    """A node with a message that waits for a host that is down, stopped; the port of that host."""
    def waiting(text, recipients=("bob@b.test",), settings=""):
        port = free_port()
        mx = node(routes=[f"b.test:127.0.0.1;{port}"], settings="probe_delay = 1\n" + settings)
        deliver(mx, list(recipients), text)
        mx.log.wait("deferred", to="bob@b.test")
        wait_until(lambda: glob.glob(mx.queue + "/info/*/*"), "it is at S5")
        wait_until(lambda: "\nwait: " in "".join(mx.control_files().values()), "it is recorded")
        mx.stop()
        return mx, port

    return waiting


@pytest.mark.parametrize("text", [TEXT, LARGE], ids=["small", "large"])
def test_damaged_data_wait_for_an_operator(waiting, node, run, text):
    mx, port = waiting(text)
    (number,) = mx.data_files()
    change(mx.data_files()[number], b"will change", b"has changed")
    mx.make_due()
    mark = mx.log.mark()
    hop = node("hop", domains=["b.test"], port=port)
    mx.start()
    damaged = mx.log.wait("data_damaged", since=mark)
    assert damaged["from"] == "sender@client.test" and damaged["recipients"] == "1"
    assert mx.log.wait("deferred", since=mark, to="bob@b.test")["status"] == "4.3.0"
    assert b"damaged the message" in run(mx, "queue", "list").stdout
    # to try it again delivers nothing
    run(mx, "queue", "retry", "--all", "--yes")
    mx.log.wait("data_damaged", since=mark, count=2)
    assert not hop.maildir("bob@b.test").files()
    released = run(mx, "queue", "release", "--damaged", "--all", "--yes")
    assert released.returncode == 0, released.stderr
    (mail,) = hop.maildir("bob@b.test").wait()
    assert b"the disk has changed" in mail
    mx.log.wait("data_accepted", since=mark)
    mx.wait_empty()


def test_the_sender_of_damaged_data_is_told_in_the_end(waiting, node):
    """When it is as old as mail may get; the damaged text is not returned as his."""
    mx, port = waiting(TEXT, settings="queuelifetime = 20\n")
    (number,) = mx.data_files()
    change(mx.data_files()[number], b"will change", b"has changed")
    mx.make_due()
    hop = node("hop", domains=["b.test"], port=port)
    mark = mx.log.mark()
    mx.start()
    failed = mx.log.wait("failed", since=mark, to="bob@b.test", timeout=60)
    assert failed["status"] == "5.3.0" and "damaged" in failed["text"]
    assert mx.log.wait("bounced", since=mark)["to"] == "sender@client.test"
    assert not hop.maildir("bob@b.test").files()


def test_a_damaged_record_is_tried_again_with_a_word(waiting, node):
    """Two of three recipients had the message: the one whose record is damaged gets it again rather
    than not at all, the other one does not."""
    mx, port = waiting(TEXT, recipients=("bob@b.test", "anna@a.test", "carl@a.test"))
    assert len(mx.maildir("anna@a.test").wait()) == 1
    path = info_file(mx)
    with open(path, "rb") as file:
        text = file.read()
    checksums.check(text)
    done = re.search(rb"^done: 2 .*\n", text, re.M).group()
    assert not text.endswith(done), "a torn end is no damage"
    change(path, done[:10], done[:8] + b"?" + done[9:10])
    mx.make_due()
    hop = node("hop", domains=["b.test"], port=port)
    mark = mx.log.mark()
    mx.start()
    damaged = mx.log.wait("records_damaged", since=mark)
    assert damaged["records"] == "1" and damaged["from"] == "sender@client.test"
    hop.maildir("bob@b.test").wait()
    assert len(mx.maildir("anna@a.test").wait(2)) == 2
    mx.wait_empty()
    assert len(hop.maildir("bob@b.test").files()) == len(mx.maildir("carl@a.test").files()) == 1


def test_a_damaged_envelope_is_taken_from_behind_the_data(waiting, node):
    mx, port = waiting(TEXT)
    change(info_file(mx), b"from: <sender@", b"from: <sendez@")
    mx.make_due()
    hop = node("hop", domains=["b.test"], port=port)
    mark = mx.log.mark()
    mx.start()
    mx.log.wait("records_damaged", since=mark)
    (mail,) = hop.maildir("bob@b.test").wait()
    assert b"Return-Path: <sender@client.test>" in mail
    mx.wait_empty()
