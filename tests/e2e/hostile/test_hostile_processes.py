# SPDX-License-Identifier: ISC
"""A process of the node itself that says what it must not: each of them reads what strangers
send, and may be made to. What is malformed ends that connection, with an event, never the
process that it was sent to; and the message is delivered by those who behave."""

import contextlib
import errno
import mmap
import os
import pwd
import random
import re
import shutil
import signal
import socket
import struct
import time

import pytest
from inside import PROCESSES, USERS
from smtp import Client, deliver
from stagepost import is_root, split_trace, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")
U32_MAX = 2**32 - 1

HELLO, START, REPORT, FINISH, RESOLVE, RESOLVED, AWAIT, BACK = range(1, 9)  # src/ipc/job.h
MORE, AWAY = 1, 2  # flags of RESOLVED
(OPEN, OPENED, REFUSED, SHARE, SHARED, DATA, ENVELOPE, COMMIT, COMMITTED, ABANDON,
 MANAGE) = range(33, 44)  # src/queue/client/protocol.h
OLD_MANAGE = 8  # of a "send" that handed out every file
REMOVE = 46  # the same


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def text(value):
    return u32(len(value)) + value


def find_token(pid, program):
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, \
            open(f"/proc/{pid}/mem", "rb") as content:
        for line in maps:
            place, rights = line.split()[:2]
            begin, end = (int(number, 16) for number in place.split("-"))
            if not rights.startswith("rw") or "[v" in line:
                continue
            content.seek(begin)
            try:
                memory = content.read(end - begin)
            except OSError:
                return None  # it has just begun: its memory changes
            found = re.search(program.encode() + rb"-[0-9a-f]{32}", memory)
            if found:
                return found.group()
    return None


def token(mx, program):
    """By what PROGRAM shows who it is (src/ipc/token.h): whoever has taken it over has it, and
    nobody else."""
    (pid,) = mx.pids(program)
    return wait_until(lambda: find_token(pid, program), f"{program} has a token")


def hello(mx, program, service, places=1):
    """The body of a HELLO by whoever has taken PROGRAM over."""
    return text(service) + u32(places) + text(token(mx, program))


class Peer:
    """A connection to the socket NAME of MX, on which anything can be said: as the user of
    its processes, or nobody would listen."""

    def __init__(self, mx, name, user=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(30)
        user = pwd.getpwnam(user).pw_uid if user else os.stat(mx.queue).st_uid
        before = os.geteuid(), os.getegid()
        os.setegid(os.stat(mx.run).st_gid)
        os.seteuid(user)
        try:
            self.socket.connect(f"{mx.run}/{name}")
        finally:
            os.seteuid(before[0])
            os.setegid(before[1])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.socket.close()

    def say(self, kind, body=b"", tag=0, version=1):
        self.socket.send(struct.pack("<HHI", version, kind, tag) + body)

    def hear(self, kind):
        """The next message of that KIND: its tag and body."""
        while True:
            packet, ancillary, *_ = self.socket.recvmsg(65536, socket.CMSG_SPACE(16 * 4))
            for _, _, data in ancillary:
                for descriptor in struct.unpack(f"{len(data) // 4}i", data):
                    socket.close(descriptor)
            assert packet, "the connection was ended"
            _, heard, tag = struct.unpack("<HHI", packet[:8])
            if heard == kind:
                return tag, packet[8:]

    def is_ended(self):
        """Reads what is still to come; whether the end is behind it."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return True


def processes(mx, *programs):
    return {program: mx.pids(program) for program in programs}


def judge(mx, pids, mailbox="anna@a.test", messages=1):
    """Every process is the one it was, but for what the test ended, and the mail is there."""
    assert processes(mx, *pids) == pids
    for stored in mx.maildir(mailbox).wait(messages):
        split_trace(stored, STORED)
    mx.wait_empty()
    assert not mx.log.strange, mx.log.strange


def target(recipient=1, route=0, service=b"maildir", address=b"anna@a.test", status=b"", words=b"",
           server=b""):
    return (u32(recipient) + u32(route) + text(service) + text(server) + text(address) +
            text(status) + text(words))


ANSWERS = {
    "address that fills the packet": (1, target(address=b"x" * (60 * 1024 - 51 - 7) + b"@a.test")),
    "address over its bound": (1, target(address=b"x" * 400 + b"@a.test")),
    "address of two lines": (1, target(address=b"anna@a.test>\ndone: 1")),
    "address that ends early": (1, target(address=b"anna>@a.test")),
    "no address": (1, target(address=b"")),
    "service of two lines": (1, target(service=b"mail\ndir")),
    "service of none": (1, target(service=b"")),
    "service of a remote one": (1, target(route=1)),
    "unknown route": (1, target(route=7)),
    "unknown recipient": (1, target(recipient=2)),
    "no delivery": (0, b""),
    "decided without a status": (1, target(route=2, service=b"")),
    "status that is none": (1, target(route=2, service=b"", status=b"5")),
    "status of something to be attempted": (1, target(status=b"5.1.1")),
    "text of two lines": (1, target(route=2, service=b"", status=b"5.1.1", words=b"a\nb")),
    "text over its bound": (1, target(route=2, service=b"", status=b"5.1.1", words=b"x" * 9000)),
    "fewer than it says": (2, target()),
    "many fewer than it says": (U32_MAX, target()),
    "cut short": (1, target()[:-1]),
    "more than it says": (1, target() + b"x"),
    "unknown flags": (1, target(), 4),
}


@contextlib.contextmanager
def in_place_of_resolve(mx):
    """The peer that "send" takes for resolve, a mark of the log, and the first question."""
    with Peer(mx, "send") as peer:
        peer.say(HELLO, hello(mx, "resolve", b"resolve"))
        mark = mx.log.mark()
        mx.kill("resolve")
        mx.log.wait("helper_lost", since=mark, service="resolve")
        deliver(mx, "anna@a.test", TEXT)
        _, question = peer.hear(RESOLVE)
        yield peer, mark, question


@pytest.mark.parametrize("name", ANSWERS)
def test_resolve_lies(node, name):
    count, targets, flags = (*ANSWERS[name], 0)[:3]
    mx = node()
    pids = processes(mx, "send", "queue", "local", "smtpd")
    with in_place_of_resolve(mx) as (peer, mark, question):
        peer.say(RESOLVED, question[:12] + u32(flags) + u64(1) + u32(count) + targets)
        mx.log.wait("ipc_refused", since=mark)
        assert peer.is_ended()
    judge(mx, pids)


def memory(pid):
    """Bytes that the process PID has at most held."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        (line,) = [line for line in status if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def test_resolve_never_ends(node):
    """An answer in more and more parts fills no memory: the recipient fails. What answers
    questions that nobody asked counts for nothing."""
    mx = node()
    pids = processes(mx, "send", "queue", "local", "smtpd")
    with in_place_of_resolve(mx) as (peer, mark, question):
        head = question[:12]
        peer.say(RESOLVED, head[:8] + u32(7777) + u32(0) + u64(1) + u32(1) + target())
        part = target(route=1, service=b"") * 1000
        for _ in range(300):
            peer.say(RESOLVED, head + u32(MORE) + u64(1) + u32(1000) + part)
        peer.say(RESOLVED, head + u32(0) + u64(1) + u32(1) + target())
        mx.log.wait("failed", since=mark, status="5.4.6")
        assert memory(mx.pids("send")[0]) < 200 << 20
    assert not mx.log.find("ipc_refused", since=mark)
    assert processes(mx, "send", "queue", "local", "smtpd") == pids


def test_directory_is_said_to_be_away(node):
    """The trigger stands until it is said to be back; and asked for, once."""
    mx = node()
    with in_place_of_resolve(mx) as (peer, mark, question):
        away = target(route=2, service=b"", status=b"4.4.3", words=b"it is away")
        peer.say(RESOLVED, question[:12] + u32(AWAY) + u64(1) + u32(1) + away)
        peer.hear(AWAIT)
        mx.log.wait("trigger_set", since=mark, trigger="directory")
        assert list(mx.trigger_files()) == ["directory"]
        deliver(mx, "anna@a.test", TEXT)
        _, question = peer.hear(RESOLVE)
        peer.say(RESOLVED, question[:12] + u32(AWAY) + u64(1) + u32(1) + away)
        peer.say(BACK)
        mx.log.wait("trigger_released", since=mark, trigger="directory", messages=2)
        asked = b""
        while asked.count(b"anna@a.test") < 2:
            asked += peer.hear(RESOLVE)[1]
        for question in asked[:len(asked) // 2], asked[len(asked) // 2:]:
            peer.say(RESOLVED, question[:12] + u32(0) + u64(1) + u32(1) + target())
        mx.maildir("anna@a.test").wait(2)
        assert not mx.trigger_files()


def report(number=1, flags=0, status=b"2.0.0", words=b"stored", trigger=b""):
    return u32(number) + u32(flags) + text(status) + text(words) + text(trigger)


REPORTS = {
    "text of two lines": report(words=b"a\nb"),
    "text over its bound": report(words=b"x" * 50000),
    "status that is none": report(status=b"2"),
    "status of two lines": report(status=b"2.0.0\n"),
    "trigger of two lines": report(status=b"4.4.1", trigger=b"host.x\ny"),
    "trigger of another helper's": report(status=b"4.4.1", trigger=b"host.x"),
    "trigger that holds": report(status=b"4.4.1", trigger=b"hold.1-1"),
    "trigger of all mail": report(status=b"4.4.1", trigger=b"directory"),
    "trigger of an operator's": report(status=b"4.4.1", trigger=b"x"),
    "unknown flags": report(flags=U32_MAX),
    "unknown delivery": report(number=7),
    "cut short": report()[:-1],
    "length that lies": report()[:-4] + u32(U32_MAX),
}


def test_helper_lies(node):
    """Each lie to a job of its own; what was interrupted is done by the helper that behaves, which
    stands still meanwhile and has not said HELLO to this "send"."""
    mx = node()
    (helper,) = mx.pids("local")
    os.kill(helper, signal.SIGSTOP)
    mx.kill_and_wait("send")
    pids = processes(mx, "send", "queue", "local", "smtpd", "resolve")
    for name, body in REPORTS.items():
        for kind in REPORT, FINISH:
            with Peer(mx, "send") as peer:
                peer.say(HELLO, hello(mx, "local", b"maildir", U32_MAX))
                deliver(mx, "anna@a.test", TEXT)
                tag, _ = peer.hear(START)
                mark = mx.log.mark()
                peer.say(kind, body, tag)
                assert peer.is_ended() and mx.log.wait("ipc_refused", since=mark), name
    assert not mx.trigger_files()
    os.kill(helper, signal.SIGCONT)
    judge(mx, pids, messages=2 * len(REPORTS))


def test_a_helper_has_no_more_places_than_the_service(node):
    """Whatever it says: it is not given what another has as many places for."""
    mx = node(settings="transport maildir { concurrency = 3 destination_concurrency = 3 }\n")
    deliver(mx, ["eve@a.test"], TEXT)
    mx.log.wait("message_done")  # by the true helper, who has all its places again
    with Peer(mx, "send") as peer:
        peer.say(HELLO, hello(mx, "local", b"maildir", U32_MAX))
        for done, mailbox in enumerate(("anna@a.test", "bob@a.test"), 2):
            deliver(mx, [mailbox], TEXT)
            mx.log.wait("message_done", count=done)
        peer.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            peer.socket.recv(65536)


def test_nobody_is_a_helper_without_its_token(node):
    """Not with the user of one, nor with the token of another."""
    mx = node()
    others = token(mx, "remote"), token(mx, "resolve"), token(mx, "local")[:-1], b"", b"local-" + b"0" * 32
    for said in others:
        mark = mx.log.mark()
        with Peer(mx, "send") as peer:
            peer.say(HELLO, text(b"maildir") + u32(9) + text(said))
            assert peer.is_ended()
        assert mx.log.wait("ipc_refused", since=mark)["process"].startswith("send")
    old = token(mx, "local")
    mx.kill_and_wait("local")  # the next one has another
    assert token(mx, "local") != old
    with Peer(mx, "send") as peer:
        peer.say(HELLO, text(b"maildir") + u32(9) + text(old))
        assert peer.is_ended()
    with Peer(mx, "queue") as peer:
        peer.say(MANAGE, text(token(mx, "local")))
        assert peer.is_ended()
    mx.kill_and_wait("send")  # helpers come back to the next one
    mx.kill_and_wait("queue")
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()


def test_who_says_nothing_is_not_waited_for(node):
    """However many there are, those who work are let in."""
    mx = node()
    peers = [Peer(mx, "send") for _ in range(300)]
    mx.kill_and_wait("local")
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()
    assert all(peer.is_ended() for peer in peers)
    assert mx.log.find("ipc_refused", reason="it says nothing")
    for peer in peers:
        peer.socket.close()


SENTENCES = {
    "send": [
        (HELLO, b""), (HELLO, text(b"maildir")), (HELLO, text(b"nobody") + u32(1)),
        (HELLO, text(b"maildir") + u32(1) + text(b"x")), (HELLO, text(b"maildir") + u32(1)),
        (START, b""), (REPORT, report()),
        (FINISH, b""), (RESOLVE, b""), (RESOLVED, b""), (AWAIT, b""), (BACK, b""), (99, b"")],
    "queue": [
        (OPEN, b""), (OPEN, u32(1) + b"x"), (OPENED, b""), (ENVELOPE, u64(1) + text(b"x")),
        (COMMIT, u64(1) + text(b"x") + text(b"")), (COMMIT, b""), (COMMITTED, b""),
        (DATA, u64(1) + text(b"x")), (SHARE, u64(1)), (SHARED, b""), (OLD_MANAGE, b""),
        (ABANDON, u64(1)), (ABANDON, b""), (REMOVE, u32(0) + u32(0) + u64(1)), (MANAGE, b"x"), (99, b"")],
}


@pytest.mark.parametrize("name", SENTENCES)
def test_first_word_is_wrong(node, name):
    mx = node()
    pids = processes(mx, "send", "queue", "smtpd", "resolve")
    for kind, body in SENTENCES[name]:
        mark = mx.log.mark()
        with Peer(mx, name) as peer:
            peer.say(kind, body)
            mx.log.wait("ipc_refused", since=mark)
            assert peer.is_ended(), (kind, body)
    deliver(mx, "anna@a.test", TEXT)
    judge(mx, pids)


def test_envelope_is_none(node):
    """What is committed with it is refused; a smaller number of bytes than it says is no
    envelope either."""
    mx = node()
    pids = processes(mx, "send", "queue", "smtpd", "resolve")
    with Peer(mx, "queue") as peer:
        peer.say(OPEN, u32(1))
        number = peer.hear(OPENED)[1][:8]
        peer.say(COMMIT, number + text(b"stagepost 1\nid: 1-1\nend:\n") + text(b""))
        answer = peer.hear(COMMITTED)[1]
        assert answer[:8] == number and answer[8:] != u32(0)
    deliver(mx, "anna@a.test", TEXT)
    judge(mx, pids)


# --- too much of it ---

def try_to_say(peer, kind, body):
    try:
        peer.say(kind, body)
    except OSError:
        return False  # it was ended
    return True


def numbers_of(peer, count):
    """As many as it is given of COUNT."""
    found = []
    while len(found) < count:
        peer.say(OPEN, u32(16))
        packet = peer.socket.recv(65536)
        if struct.unpack("<HHI", packet[:8])[1] != OPENED:
            break
        found += [packet[place:place + 8] for place in range(8, len(packet), 8)]
    return found


def envelope(number, recipients):
    lines = "".join(f"to: {index} <u{index}@a.test>\n" for index in range(1, recipients + 1))
    (inode,) = struct.unpack("<Q", number)
    return (f"stagepost 1\nid: {inode}-660b1182f1e21\nstage: arrive\n"
            "born: 2026-11-20T08:33:11.482913Z\nfrom: <s@client.test>\nsize: 6\n"
            f"{lines}end:\n").encode()


def test_queue_is_filled(node):
    """Memory, descriptors and connections: one client has its part, whatever it does, and the
    others theirs."""
    mx = node(settings="maxsessions = 200\nspares = 10\n")
    (queue,) = mx.pids("queue")
    pids = processes(mx, "send", "queue", "local", "smtpd", "resolve")
    part = b"x" * 32768
    for _ in range(5):
        with Peer(mx, "queue") as peer:
            numbers = numbers_of(peer, 10000)
            assert len(numbers) <= 8192
            for number in numbers[:64]:
                for _ in range(100):
                    if not try_to_say(peer, ENVELOPE, number + text(part)):
                        break
    assert memory(queue) < 200 << 20
    peers = [Peer(mx, "queue") for _ in range(500)]
    assert len(os.listdir(f"/proc/{queue}/fd")) < 200
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()
    for peer in peers:
        peer.socket.close()
    judge(mx, pids)


def test_more_recipients_than_allowed(node):
    """smtpd refuses them; a message of one that does not is refused by the queue."""
    mx = node(settings="maxrecipients = 5\n")
    pids = processes(mx, "send", "queue", "smtpd")
    with Peer(mx, "queue") as peer:
        for recipients, error in (1000, 0), (1001, errno.E2BIG):  # 1,000: a list's
            (number,) = numbers_of(peer, 1)[:1]
            peer.say(COMMIT, number + text(envelope(number, recipients)) + text(b"data\r\n"))
            assert peer.hear(COMMITTED)[1] == number + u32(error)
        numbers = numbers_of(peer, 1)
        sent = envelope(numbers[0], 300000)
        for place in range(0, len(sent), 32768):
            if not try_to_say(peer, ENVELOPE, numbers[0] + text(sent[place:place + 32768])):
                break
        assert peer.is_ended()
    assert processes(mx, *pids) == pids
    mx.maildir("u1000@a.test").wait()


def with_own_users(node, more=""):
    """A node each of whose processes has a user of its own, with few sessions."""
    mx = node(switch_user=True, start=False, settings=PROCESSES +
              "maxsessions = 200\nmaxrecipients = 5\nspares = 10\n" + more)
    shutil.chown(mx.mail, USERS["local"])
    mx.start()
    return mx


@pytest.fixture
def own_users(node):
    return with_own_users(node)


@pytest.mark.skipif(not is_root(), reason="only root can become others")
def test_smtpd_takes_more_than_its_part(own_users):
    """What it may have follows from the configuration, and is its own: the other one works on."""
    mx = own_users
    pids = processes(mx, "send", "queue", "local", "smtpd")
    os.chmod(mx.run, 0o755)  # seteuid() takes no group along
    os.chmod(f"{mx.run}/queue", 0o666)
    with Peer(mx, "queue", USERS["smtpd"]) as peer:
        numbers = numbers_of(peer, 10000)
        assert 200 <= len(numbers) <= 2 * 100 + 64
        for recipients, error in (5, 0), (6, errno.E2BIG):
            number = numbers.pop()
            peer.say(COMMIT, number + text(envelope(number, recipients)) + text(b"data\r\n"))
            assert peer.hear(COMMITTED)[1] == number + u32(error)
        deliver(mx, "anna@a.test", TEXT)
        mx.maildir("anna@a.test").wait()
        peer.say(MANAGE, text(b""))
        assert peer.is_ended()
    assert processes(mx, *pids) == pids


@pytest.mark.skipif(not is_root(), reason="only root can become others")
def test_all_sessions_have_room(node):
    """As many as may be there, each with a message that is too large to go by value. One process has all the
    places: of two, one may get more connections than its half."""
    mx = with_own_users(node, "smtpd_workers = 1\n")
    clients = [Client(mx) for _ in range(200)]
    body = TEXT + b"A line of a long message.\r\n" * 4000
    for number, client in enumerate(clients):
        assert client.docmd("MAIL FROM:<s@c.test>")[0] == 250
        assert client.docmd(f"RCPT TO:<u{number}@a.test>")[0] == 250
        assert client.docmd("DATA")[0] == 354
        client.sock.sendall(body)
    for client in clients:
        client.sock.sendall(b".\r\n")
    for client in clients:
        assert client.getreply()[0] == 250
        client.close()
    for number in range(200):
        mx.maildir(f"u{number}@a.test").wait()
    mx.wait_empty()
    assert not mx.log.find("queue_error") and not mx.log.find("ipc_refused")


@pytest.mark.parametrize("name", ["send", "queue"])
def test_a_flood_of_refusals_does_not_fill_the_log(node, name):
    mx = node()
    size = os.path.getsize(mx.log.path)
    begin = time.monotonic()
    for _ in range(3000):  # who has not been heard yet makes room for the next one
        with Peer(mx, name) as peer:
            try_to_say(peer, 99, b"")
    for _ in range(3000):  # each is heard
        with Peer(mx, name) as peer:
            assert try_to_say(peer, 99, b"") and peer.is_ended()
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()
    mx.stop()
    most = 50 + time.monotonic() - begin  # LOG_RATE_BURST, and one a second
    assert os.path.getsize(mx.log.path) - size < 20000 + 400 * most
    told = len(mx.log.find("ipc_refused"))
    withheld = sum(int(event["lines"]) for event in mx.log.find("log_withheld", of="ipc_refused"))
    assert 50 <= told <= most and told + withheld >= 3000


# --- descriptors that are kept ---

def share(peer, number):
    """The file of a message, which stays open."""
    peer.say(SHARE, number)
    while True:
        packet, ancillary, *_ = peer.socket.recvmsg(65536, socket.CMSG_SPACE(4))
        if struct.unpack("<HHI", packet[:8])[1] == SHARED:
            ((_, _, data),) = ancillary
            return struct.unpack("i", data)[0]


def large(number):
    return TEXT + b"This is line %d of somebody's mail.\r\n" % number * 3000


@pytest.mark.parametrize("asked", [False, True])
def test_files_that_were_given_back_are_kept(node, asked):
    """128 files, abandoned or with the connection gone: what others send later is never in one
    of them, and what is written to them is in nobody's mail."""
    mx = node(settings="spares = 300\n")
    pids = processes(mx, "send", "queue", "local", "smtpd", "resolve")
    deliver(mx, [f"before{number}@a.test" for number in range(100)], TEXT)
    mx.wait_empty()
    with Peer(mx, "queue") as peer:
        numbers = numbers_of(peer, 128)
        kept = [share(peer, number) for number in numbers]
        for number in numbers if asked else ():
            peer.say(ABANDON, number)
        if asked:
            numbers_of(peer, 1)  # answered after the others
    for number in range(60):
        deliver(mx, f"u{number}@a.test", large(number) if number % 3 == 0 else TEXT)
        for file in kept:
            os.pwrite(file, b"to: 1 <eve@a.test>\n" * 8, 0)
    mx.kill_and_wait("send")
    for file in kept:
        seen = os.pread(file, 1 << 20, 0)
        assert seen == b"to: 1 <eve@a.test>\n" * 8
        os.close(file)
    for number in range(60):
        text_sent = large(number) if number % 3 == 0 else TEXT
        for stored in mx.maildir(f"u{number}@a.test").wait():  # twice: "send" was killed
            split_trace(stored, text_sent.replace(b"\r\n", b"\n"))
    mx.wait_empty()
    assert not mx.maildir("eve@a.test").files()
    assert processes(mx, "queue", "smtpd") == {name: pids[name] for name in ("queue", "smtpd")}


@pytest.mark.parametrize("how", ["kept", "mapped", "sent"])
def test_what_was_answered_cannot_be_changed(node, how):
    """A message whose file somebody can still write to is refused: of what is queued neither the
    text nor the recipients change, though both stand in that file."""
    mx = node()
    body = b"Subject: mine\r\n\r\nx\r\n"
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with Peer(mx, "queue") as peer:
        first, second = numbers_of(peer, 2)[:2]
        for number in first, second:
            file = share(peer, number)
            os.pwrite(file, body, 0)
            held = mmap.mmap(file, 0) if how == "mapped" and number == first else None
            if how == "sent" and number == first:
                socket.send_fds(ends[0], [b"x"], [file])
            if how != "kept" or number == second:
                os.close(file)
            if number == first:
                kept = held, file
            lines = envelope(number, 1).replace(b"size: 6", b"size: %d" % len(body))
            peer.say(COMMIT, number + text(lines) + text(b""))
            error = errno.ETXTBSY if number == first else 0
            assert peer.hear(COMMITTED)[1] == number + u32(error)
    mx.maildir("u1@a.test").wait()
    mx.wait_empty()
    assert len(mx.maildir("u1@a.test").files()) == 1
    if how == "mapped":
        kept[0].close()
    if how == "kept":
        os.close(kept[1])
    for end in ends:
        end.close()


def mutate(rng, packet):
    packet = bytearray(packet)
    for _ in range(rng.randint(0, 4)):
        place = rng.randrange(len(packet))
        choice = rng.random()
        if choice < 0.5:
            packet[place] = rng.choice((0, 1, 10, 127, 128, 255, rng.randrange(256)))
        elif choice < 0.7:
            del packet[place:]
            packet = packet or bytearray(b"\0")
        else:
            packet[place:place] = rng.randbytes(rng.choice((1, 4, 60)))
    return bytes(packet)


@pytest.mark.parametrize("name", SENTENCES)
def test_any_bytes(node, name):
    """Packets that were right, mutated: whatever comes of them, the process lives on."""
    mx = node()
    pids = processes(mx, "send", "queue", "smtpd", "resolve")
    rng = random.Random(name)
    right = [(1, HELLO, text(b"resolve") + u32(9)), (1, RESOLVED, u64(7) + u32(1) + u32(0) + u64(1) + u32(1) + target()),
             (1, HELLO, text(b"remote") + u32(0)), (1, REPORT, report()), (1, ENVELOPE, u64(1) + text(b"x")),
             (1, OPEN, u32(3)), (1, DATA, u64(1) + text(b"x")),
             (1, SHARE, u64(1)), (1, COMMIT, u64(1) + text(b"stagepost 1\n") + text(b"x")), (1, ABANDON, u64(1))]
    if name == "send":  # to the queue it would be MANAGE
        right += [(1, AWAIT, b""), (1, BACK, b"")]
    for _ in range(600):
        with Peer(mx, name) as peer:
            try:
                for _ in range(rng.randint(1, 4)):
                    version, kind, body = rng.choice(right)
                    peer.socket.send(mutate(rng, struct.pack("<HHI", version, kind, 1) + body))
            except OSError:
                pass  # ended already
    wait_until(lambda: mx.log.find("ipc_refused"), "something was refused")
    deliver(mx, "anna@a.test", TEXT)
    judge(mx, pids)
