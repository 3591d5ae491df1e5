# SPDX-License-Identifier: ISC
"""A queue whose filesystem is full: root's test, on an image of its own."""

import os
import shutil

import pytest
from disk import Image, QuotaImage
from scene import Scene
from smtp import Client, Wire, deliver
from stagepost import give_to_user, split_trace, wait_until

SIZE = 48 << 20
MESSAGE = b"Subject: filler\r\n\r\n" + (b"x" * 70 + b"\r\n") * 14000
SMALL = b"Subject: x\r\n"
STORED = MESSAGE.replace(b"\r\n", b"\n")


@pytest.fixture
def small_disk(ground):
    image = Image(os.path.join(ground.base, "small"), SIZE)
    yield image
    image.close()


def send_until_refused(mx, text, mailboxes=200, limit=600):
    """To "u0@a.test" and so on, in turn: how many were taken, and the reply to the first that
    was not."""
    with Client(mx) as client:
        for count in range(limit):
            reply = client.deliver("s@client.test", f"u{count % mailboxes}@a.test", text)
            if not reply.startswith("250 "):
                return count, reply
    raise AssertionError("there was always room")


def test_a_client_does_not_fill_the_log(small_disk, node):
    """Who tries again at once, and again, while there is no room for a message."""
    mx = node(queue=os.path.join(small_disk.path, "queue"), settings=f"maxsize = {SIZE}\n")
    with Wire(mx) as wire:
        wire.begin(with_data=False)
        assert wire.ask(b"RCPT TO:<anna@a.test>").startswith("250 ")
        for _ in range(1000):
            assert wire.ask(b"DATA").startswith("452 4.3.1 ")
    assert 0 < len(mx.log.find("queue_error", operation="open")) < 200


def is_taken(mx):
    """The files of finished messages free their room a moment later."""
    with Client(mx) as client:
        return client.deliver("s@client.test", "anna@a.test", MESSAGE).startswith("250 ")


def test_queue_fills_up(small_disk, node):
    queue = os.path.join(small_disk.path, "queue")
    mx = node(queue=queue, settings="maxsize = 4M\ntransport maildir { paused = yes }")
    pids = mx.pids()
    count, reply = send_until_refused(mx, MESSAGE)
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


# --- inodes, quotas, and who else writes ---


@pytest.fixture
def few_inodes(ground, request):
    image = Image(os.path.join(ground.base, "inodes"), SIZE,
                  inodes=getattr(request, "param", 400))
    yield image
    image.close()


@pytest.fixture
def quota(ground):
    image = QuotaImage(os.path.join(ground.base, "quota"), 8 << 20)
    yield image
    image.close()


def goes_on(mx, count, settings):
    """The node has room again as soon as it delivers."""
    mx.settings = settings
    mx.write_configuration()
    mx.reload()
    for _ in range(40):  # more than were opened before
        wait_until(lambda: is_taken(mx), "mail is taken again")
    mx.wait_empty(timeout=60)
    stored = sum(len(mx.maildir(f"u{number}@a.test").files()) for number in range(20))
    assert stored == count


def test_queue_without_inodes(few_inodes, node):
    mx = node(queue=os.path.join(few_inodes.path, "queue"),
              settings="maxsize = 4M\nsplit = 23\ntransport maildir { paused = yes }")
    pids = mx.pids()
    count, reply = send_until_refused(mx, SMALL, mailboxes=20)
    assert count > 20 and reply.startswith("452 4.3.1 "), (count, reply)
    mx.log.wait("queue_full")
    goes_on(mx, count, "maxsize = 4M")
    assert mx.pids() == pids


def test_queue_over_its_quota(quota, node):
    mx = node(queue=os.path.join(quota.path, "queue"), unsafe=True,
              settings="maxsize = 4M\ntransport maildir { paused = yes }")
    pids = mx.pids()
    count, reply = send_until_refused(mx, MESSAGE, mailboxes=20)
    assert count > 3 and reply.startswith("452 4.3.1 "), (count, reply)
    goes_on(mx, count, "maxsize = 4M")
    assert mx.pids() == pids


def test_the_last_block_is_over_the_quota(quota, node):
    """The message is whole, but as much of it as fits in one block is not written yet."""
    mx = node(queue=os.path.join(quota.path, "queue"), unsafe=True,
              settings="maxsize = 4M\ntransport maildir { paused = yes }")
    pids = mx.pids()
    with Client(mx) as client:
        while client.deliver("s@client.test", "u@a.test", MESSAGE).startswith("250 "):
            pass
        while client.deliver("s@client.test", "u@a.test", b"x" * 70 + b"\r\n").startswith("250 "):
            pass
        for size in range(64_000, 66_000, 20):
            text = b"Subject: x\r\n\r\n" + (b"x" * 70 + b"\r\n") * (size // 72)
            reply = client.deliver("s@client.test", "u@a.test", text)
            assert reply.startswith("452 4.3.1 "), reply
    assert mx.pids() == pids


@pytest.mark.parametrize("disk, status", [("few_inodes", "4.3.1"), ("quota", "4.2.2")])
def test_mailboxes_without_room(request, node, disk, status):
    mail = os.path.join(request.getfixturevalue(disk).path, "mail")
    os.makedirs(mail, exist_ok=True)
    give_to_user(mail)
    mx = node(mail=mail)
    with Client(mx) as client:
        for number in range(120):
            text = MESSAGE if disk == "quota" else SMALL
            reply = client.deliver("s@client.test", f"u{number}@a.test", text)
            assert reply.startswith("250 ")
            if mx.log.find("deferred"):
                break
    assert mx.log.wait("deferred")["status"] == status
    for event in mx.log.find("delivered"):
        assert len(mx.maildir(event["to"]).files()) == 1


def fill_up(path):
    """The name of a file that leaves nothing free, not even an inode."""
    filler = os.path.join(path, "filler")
    os.makedirs(filler)
    for number in range(100000):
        try:
            with open(os.path.join(filler, str(number)), "wb") as file:
                for size in (1 << 20, 4096, 1) if number == 0 else ():
                    try:
                        while True:
                            file.write(b"\0" * size)
                            file.flush()
                    except OSError:
                        continue
        except OSError:
            return filler
    raise AssertionError("inodes without end")


@pytest.mark.parametrize("few_inodes", [2000], indirect=True)
def test_nothing_is_left_for_anybody(few_inodes, node):
    """Messages that wait, fail and are reported, and programs that queue: each says that it
    cannot now, and comes through when there is room."""
    scene = Scene(node, "maxsize = 4M\n", queue=os.path.join(few_inodes.path, "queue"),
                  mail=os.path.join(few_inodes.path, "mail"))
    give_to_user(scene.mx.mail)
    pids = scene.mx.pids()
    for way in "later", "bounce", "mixed":
        assert scene.send(way).startswith("250 ")
    scene.mx.log.wait("deferred")
    filler = fill_up(few_inodes.path)
    for way in "local", "bounce", "later", "mixed", "pipe":
        assert scene.send(way)[:4] in ("250 ", "452 "), way
    assert scene.send("command").startswith("4 exit 53")
    scene.retry()
    shutil.rmtree(filler)
    wait_until(lambda: scene.send("mixed").startswith("250 "), "mail is taken again")
    scene.settle(timeout=40)
    verdict = scene.judge()
    assert (verdict.lost, verdict.corrupt, verdict.twice) == ([], [], {})
    assert scene.mx.pids() == pids
    scene.mx.stop()
    scene.close()
