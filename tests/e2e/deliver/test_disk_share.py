# SPDX-License-Identifier: ISC
"""The queue's disk: what the unfinished messages of one client may take of it, what nobody's new mail gets, and that
accepted mail ends on a disk that others fill. Root's test, on an image of its own."""

import contextlib
import os
import shutil
import signal
import socketserver
import threading

import pytest
from disk import Image
from smtp import Client, Wire
from stagepost import PATIENCE, ThreadServer, wait_until

MIB = 1 << 20
SIZE = 96 * MIB
RESERVE = 8 * MIB
PART = (b"x" * 1022 + b"\r\n") * 1024  # one MiB of a message
STEP = 64 * 1024  # what a process writes at once
SETTINGS = f"maxsize = 20M\nqueue_reserve = {RESERVE}\nsmtpd_workers = 2\nsmtp_min_rate = 0\n"


@pytest.fixture
def disk(ground):
    image = Image(os.path.join(ground.base, "small"), SIZE)
    yield image
    image.close()


def free(disk):
    space = os.statvfs(disk.path)
    return space.f_bavail * space.f_frsize


class Sessions(contextlib.ExitStack):
    """Clients that begin messages and do not end them."""

    def __init__(self, mx):
        super().__init__()
        self.mx, self.wires = mx, []

    def begin(self, count, source="127.0.0.1"):
        made = []
        for _ in range(count):
            wire = self.enter_context(Wire(self.mx, source, timeout=PATIENCE))
            wire.begin(sender=b"s@client.test")
            made.append(wire)
            self.wires.append(wire)
        return made

    def end(self, wires):
        """The replies."""
        for wire in wires:
            wire.send(b".\r\n")
        return [wire.reply() for wire in wires]


def write(wires, mebibytes):
    """In turn; all of it has been read when this returns."""
    for _ in range(mebibytes):
        for wire in wires:
            wire.send(PART)


def settle(disk):
    """What is free once nothing is written any more."""
    seen = [free(disk)]

    def is_quiet():
        seen.append(free(disk))
        return len(seen) > 5 and len(set(seen[-5:])) == 1

    wait_until(is_quiet, "nothing is written", pause=0.05)
    return seen[-1]


def test_unfinished_messages_of_one_client(disk, node):
    """All its sessions together, in all processes, get their part; others get theirs, and what is refused is free at
    once."""
    mx = node(queue=os.path.join(disk.path, "queue"), settings=SETTINGS, relay_from=[])
    with Sessions(mx) as sessions:
        before = settle(disk)
        share = before // 10
        ours = sessions.begin(20)
        write(ours, 5)  # 100 MiB in all
        used = before - settle(disk)
        assert 4 * MIB < used < share + 2 * STEP, (used, share)  # those that are over it leave room for the last
        event = mx.log.wait("client_share_used")
        assert event["client"] == "127.0.0.1" and int(event["bytes"]) < share + 2 * STEP
        assert event["setting"] == "maxunfinished_client"
        with Client(mx) as client:  # short messages are not in files
            assert client.deliver("s@client.test", "anna@a.test", b"Subject: x\r\n").startswith("250 ")
        other = sessions.begin(1, "127.0.0.2")
        write(other, 4)
        assert sessions.end(other)[0].startswith("250 ")
        replies = sessions.end(ours)
        refused = [reply for reply in replies if not reply.startswith("250 ")]
        assert 0 < len(replies) - len(refused) <= 2  # of five MiB each
        assert set(refused) == {"452 4.3.1 You have too many unfinished messages, send them one by one"}
        assert all(wire.ask(b"NOOP").startswith("250 ") for wire in ours)
    mx.wait_empty(timeout=120)
    wait_until(lambda: free(disk) > before - MIB, "all of it is free again")
    assert not mx.log.find("queue_full")
    mx.stop()


def test_one_message_may_always_come(disk, node):
    """Of a client that has nothing else: by DATA and by BDAT. It is a larger part of the disk than its share."""
    mx = node(queue=os.path.join(disk.path, "queue"), settings=SETTINGS + "maxunfinished_client = 1\n", relay_from=[])
    with Sessions(mx) as sessions:
        one = sessions.begin(1)
        write(one, 15)
        two = sessions.begin(1)
        write(two, 1)
        assert [reply[:9] for reply in sessions.end(two + one)] == ["452 4.3.1", "250 2.0.0"]
    with Wire(mx) as first, Wire(mx) as second:
        for wire in first, second:
            wire.begin(with_data=False)
        first.send(b"BDAT %d\r\n" % len(PART) + PART)
        assert first.reply().startswith("250 ")
        second.send(b"BDAT %d\r\n" % len(PART) + PART)
        assert second.reply().startswith("452 4.3.1 ")
        assert first.ask(b"BDAT 0 LAST").startswith("250 ")
    mx.stop()


def test_those_who_may_relay_have_no_share(disk, node):
    mx = node(queue=os.path.join(disk.path, "queue"), settings=SETTINGS, relay_from=["127.0.0.1"])
    with Sessions(mx) as sessions:
        ours = sessions.begin(4)
        write(ours, 5)
        assert [reply[:3] for reply in sessions.end(ours)] == ["250"] * 4
    mx.stop()


def kill_servers(mx):
    """All at once: each has a successor."""
    mark, pids = mx.log.mark(), mx.pids("smtpd")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(mx.log.find("process_started", since=mark, program="smtpd")) == len(pids),
               "all are there again")


def test_a_killed_process_gives_back_its_part(disk, node):
    mx = node(queue=os.path.join(disk.path, "queue"), settings=SETTINGS, relay_from=[])
    with Sessions(mx) as sessions:
        before = settle(disk)
        write(sessions.begin(8), 1)
        assert before - settle(disk) > 7 * MIB  # nearly all of its part
        assert not mx.log.find("client_share_used")
        kill_servers(mx)
    wait_until(lambda: free(disk) > before - MIB, "what they had is free")
    with Sessions(mx) as sessions:
        ours = sessions.begin(7)
        write(ours, 1)
        assert [reply[:3] for reply in sessions.end(ours)] == ["250"] * 7
    mx.stop()


def test_the_number_of_sessions_is_the_machines(node):
    """Not that of each process; a process that is killed gives back what it had, and a reload changes nothing."""
    mx = node(settings="maxsessions_client = 6\nsmtpd_workers = 3\n", relay_from=[])

    def connect(stack):
        wire = stack.enter_context(Wire(mx))
        return wire if wire.reply().startswith("220 ") else None

    with contextlib.ExitStack() as stack:
        assert [bool(connect(stack)) for _ in range(9)] == [True] * 6 + [False] * 3
        other = stack.enter_context(Wire(mx, source="127.0.0.2"))
        assert other.reply().startswith("220 ")
        mx.settings += "maxcommands = 99\n"
        mx.write_configuration()
        mx.reload()
        assert connect(stack) is None
        mx.settings += "maxsessions = 50000\n"  # in rows of their own
        mx.write_configuration()
        mx.reload()
        assert connect(stack) is None
    with contextlib.ExitStack() as stack:
        wait_until(lambda: connect(stack), "they have left")
        while connect(stack):
            pass
        kill_servers(mx)
        with contextlib.ExitStack() as again:
            seen = []

            def may_connect():
                with contextlib.suppress(OSError):
                    seen.append(bool(connect(again)))
                return sum(seen) == 6

            wait_until(may_connect, "all have their places again")
            assert connect(again) is None
    mx.stop()


# --- what must end ---


class Refusing(socketserver.StreamRequestHandler):
    """The hop refuses every recipient, once it may."""

    def handle(self):
        self.wfile.write(b"220 hop.test ESMTP\r\n")
        for line in self.rfile:
            self.server.may_go.wait()
            verb = line[:4].upper()
            self.wfile.write(b"550 5.1.1 nobody\r\n" if verb == b"RCPT" else b"503 5.5.1 nobody\r\n" if verb == b"DATA"
                             else b"250 ok\r\n")
            if verb == b"QUIT":
                return


class Hop(ThreadServer):
    def __init__(self):
        super().__init__(Refusing)
        self.may_go = threading.Event()
        self.serve()

    def handle_error(self, *_):
        """The client is gone."""


BODY = b"Subject: filler\r\n\r\n" + (b"x" * 70 + b"\r\n") * 4000  # 288 KiB
PAUSED = "transport remote { paused = yes }\n"


def test_accepted_mail_ends_on_a_full_disk(disk, node):
    """Clients fill the disk with mail, and then with what they do not finish. All of it that was accepted comes to
    its end: it is returned, in what new mail does not get, and the disk is free again."""
    with Hop() as hop:
        hop.may_go.set()
        mx = node(queue=os.path.join(disk.path, "queue"), routes=[f"far.test:127.0.0.1;{hop.port}"],
                  settings=SETTINGS + PAUSED + "maxunfinished_client = 0\nspares = 0\n")
        pids = mx.pids()
        empty = free(disk)
        with Client(mx) as client:
            count = 0
            while (reply := client.deliver(f"u{count % 20}@a.test", f"b{count}@far.test", BODY)).startswith("250 "):
                count += 1
        assert reply.startswith("452 4.3.1 ") and count > 50, (count, reply)
        mx.log.wait("queue_full")
        assert free(disk) > 20 * MIB  # room for a message of maxsize, and the reserve
        with Sessions(mx) as sessions:
            # with numbers that were given out before
            for source in range(2, 8):
                with contextlib.suppress(AssertionError):
                    sessions.begin(4, f"127.0.0.{source}")
            write(sessions.wires, 6)
            assert settle(disk) > RESERVE - 2 * STEP
            mx.settings = mx.settings.replace(PAUSED, "")
            mx.write_configuration()
            mx.reload()
            wait_until(lambda: len(mx.log.find("failed")) == count, "all have failed", timeout=120)
            for number in range(20):
                wanted = len(range(number, count, 20))
                assert len(mx.maildir(f"u{number}@a.test").wait(wanted, timeout=120)) == wanted
            assert free(disk) > RESERVE
        mx.wait_empty(timeout=120)
        wait_until(lambda: free(disk) > empty - 2 * MIB, "all of it is free again")
        mx.log.wait("queue_room")
        assert mx.pids() == pids
        mx.stop()


@pytest.mark.parametrize("what", ["bytes", "inodes"])
def test_what_ends_may_use_the_last(disk, ground, node, what):
    """Nothing but the reserve is left, and then much less: bounces still come, as nobody's new mail does."""
    place = disk if what == "bytes" else Image(os.path.join(ground.base, "inodes"), SIZE, inodes=2000)
    with Hop() as hop:
        mx = node(queue=os.path.join(place.path, "queue"), routes=[f"far.test:127.0.0.1;{hop.port}"],
                  settings=SETTINGS.replace("20M", "1M"))
        with Client(mx) as client:
            for number in range(10):
                assert client.deliver("anna@a.test", f"b{number}@far.test", BODY).startswith("250 ")
        filler = os.path.join(place.path, "filler")
        if what == "bytes":
            with open(filler, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, free(place) - MIB)
        else:
            os.mkdir(filler)
            for number in range(os.statvfs(place.path).f_favail - 60):
                with open(os.path.join(filler, str(number)), "wb"):
                    pass
        wait_until(lambda: not is_taken(mx), "no new mail is taken any more")  # some had their files already
        hop.may_go.set()
        assert len(mx.maildir("anna@a.test").wait(10, timeout=120)) == 10
        mx.wait_empty(timeout=120)
        if what == "bytes":
            os.unlink(filler)
        else:
            shutil.rmtree(filler)
        wait_until(lambda: is_taken(mx), "mail is taken again")
        mx.stop()
    if place is not disk:
        place.close()


def is_taken(mx):
    with Client(mx) as client:
        return client.deliver("eve@a.test", "eve@a.test", b"Subject: x\r\n").startswith("250 ")
