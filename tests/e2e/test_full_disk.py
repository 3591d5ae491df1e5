# SPDX-License-Identifier: ISC
"""A queue whose filesystem is full: root's test, on an image of its own."""

import os

import pytest
from disk import Image
from smtp import Client, deliver
from stagepost import give_to_user, split_trace, wait_until

SIZE = 48 << 20
MESSAGE = b"Subject: filler\r\n\r\n" + (b"x" * 70 + b"\r\n") * 14000
STORED = MESSAGE.replace(b"\r\n", b"\n")


@pytest.fixture
def small_disk(ground):
    image = Image(os.path.join(ground.base, "small"), SIZE)
    yield image
    image.close()


def fill(mx, name, limit=200):
    """Sends until a message is not taken: how many were, and the reply."""
    with Client(mx) as client:
        for count in range(limit):
            reply = client.deliver("s@client.test", f"{name}{count}@a.test", MESSAGE)
            if not reply.startswith("250 "):
                return count, reply
    raise AssertionError("the disk never was full")


def is_taken(mx):
    """The files of finished messages free their room a moment later."""
    with Client(mx) as client:
        return client.deliver("s@client.test", "anna@a.test", MESSAGE).startswith("250 ")


def test_queue_fills_up(small_disk, node):
    queue = os.path.join(small_disk.path, "queue")
    mx = node(queue=queue, settings="maxsize = 4M\nstage maildir { paused = yes }")
    pids = mx.pids()
    count, reply = fill(mx, "u")
    assert reply.startswith("452 4.3.1 "), reply
    assert count > 5
    mx.log.wait("queue_full")
    with Client(mx) as client:  # and it goes on answering
        assert client.deliver("s@c.test", "anna@a.test", MESSAGE).startswith("452 4.3.1 ")
    assert mx.pids() == pids
    mx.settings = "maxsize = 4M"
    mx.write_configuration()
    mx.reload()  # delivery is not paused any more, so there will be room
    for number in range(count):
        for text in mx.maildir(f"u{number}@a.test").wait(timeout=60):
            split_trace(text, STORED)
    mx.wait_empty()
    wait_until(lambda: is_taken(mx), "mail is taken again")
    split_trace(mx.maildir("anna@a.test").wait()[0], STORED)
    mx.log.wait("queue_room")
    assert mx.pids() == pids
    mx.stop()


def test_other_files_fill_the_disk(small_disk, node):
    """The room goes while a message is being written."""
    mx = node(queue=os.path.join(small_disk.path, "queue"), settings="maxsize = 4M")
    deliver(mx, "anna@a.test", MESSAGE)
    mx.wait_empty()
    pids = mx.pids()
    filler = os.path.join(small_disk.path, "filler")
    handle = os.open(filler, os.O_CREAT | os.O_WRONLY)
    with Client(mx) as client:
        client.docmd("MAIL FROM:<s@client.test>")
        client.docmd("RCPT TO:<anna@a.test>")
        assert client.docmd("DATA")[0] == 354
        for size in 1 << 20, 4096, 1:
            try:
                while True:
                    os.write(handle, b"\0" * size)
            except OSError:
                continue
        client.sock.sendall(MESSAGE * 3 + b".\r\n")
        code, text = client.getreply()
        assert code == 452 and text.startswith(b"4.3.1"), (code, text)
    os.close(handle)
    os.unlink(filler)

    wait_until(lambda: is_taken(mx), "mail is taken again")
    for text in mx.maildir("anna@a.test").wait(2):
        split_trace(text, STORED)
    mx.wait_empty()
    assert mx.pids() == pids
    mx.stop()


def test_mailboxes_fill_up(small_disk, node):
    """Deliveries wait; the mailbox holds whole messages only."""
    mail = os.path.join(small_disk.path, "mail")
    os.makedirs(mail, exist_ok=True)
    give_to_user(mail)
    mx = node(mail=mail)
    for number in range(SIZE // len(MESSAGE) + 5):
        deliver(mx, f"u{number}@a.test", MESSAGE)
    deferred = mx.log.wait("deferred", timeout=60)
    assert deferred["status"] == "4.3.1"
    wait_until(lambda: len(mx.log.find("delivered")) + len(mx.log.find("deferred")) == number + 1,
               "all were tried", timeout=60)
    for event in mx.log.find("delivered"):
        for text in mx.maildir(event["to"]).messages():
            split_trace(text, STORED)
    assert len(mx.log.find("deferred")) == len(mx.control_files())
    mx.stop()
