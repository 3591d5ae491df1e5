# SPDX-License-Identifier: ISC
"""Mail for the users of the machine, in files like /var/mail/USER: whose they are, what locks them,
and what is refused there."""

import contextlib
import fcntl
import grp
import mailbox
import os
import pwd
import re
import stat
import subprocess
import threading

import pytest
from smtp import Client, deliver
from stagepost import Node, is_root, wait_until

pytestmark = pytest.mark.skipif(not is_root(), reason="mail is delivered as its owner by root only")

TEXT = b"Subject: hello\r\n\r\nA line.\r\nFrom here on it is quoted.\r\n>From here, too.\r\n"
OWNER, OTHER, SYSTEM = "games", "lp", "daemon"  # the last one's number is below uid_min
LOCK_TIMEOUT = 3  # seconds
SOON = 10


class World:
    """A node that delivers to files in a directory like /var/mail."""

    def __init__(self, ground):
        self.spool = ground.directory("spool")
        os.chown(self.spool, 0, grp.getgrnam("mail").gr_gid)
        os.chmod(self.spool, 0o2775)
        self.mx = Node(
            ground.programs, ground.directory("mbox"), switch_user=True, unsafe=ground.unsafe,
            domains=['domain "own.test" { service = system }'], settings=(
                f'uid_min = {pwd.getpwnam(SYSTEM).pw_uid + 1}\n'
                f'service system {{ kind = mbox path = "{self.spool}/%u" user = "%u" lock_timeout = {LOCK_TIMEOUT} }}\n'
                'transport system { concurrency = 20 }\n'))

    def path(self, user=OWNER):
        return os.path.join(self.spool, user)

    def clear(self):
        for name in os.listdir(self.spool):
            path = os.path.join(self.spool, name)
            (os.rmdir if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)

    def write(self, user=OWNER, text=TEXT):
        """Mail for USER; the place in the log before it."""
        since = self.mx.log.mark()
        deliver(self.mx, f"{user}@own.test", text)
        return since

    def give(self, path, user=OWNER):
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, grp.getgrnam("mail").gr_gid, follow_symlinks=False)

    def put(self, user=OWNER, text=b""):
        """A mailbox that is there before."""
        with open(self.path(user), "wb") as file:
            file.write(text)
        os.chmod(self.path(user), 0o600)
        self.give(self.path(user), user)

    def retry(self):
        subprocess.run([os.path.join(self.mx.programs, "stagepost"), "queue", "retry", "-c", self.mx.conf,
                        "--all", "--yes"], check=True, capture_output=True)


def messages_in(path):
    """As readers find them, without the lines between them."""
    with open(path, "rb") as file:
        text = file.read()
    assert text == b"" or text.startswith(b"From "), text[:100]
    return [part for part in re.split(rb"(?:\A|(?<=\n\n))From [^\n]+\n", text) if part]


@pytest.fixture(name="shared", scope="module")
def fixture_shared(ground):
    world = World(ground)
    with world.mx:
        yield world


@pytest.fixture(name="world")
def fixture_world(shared):
    yield shared
    shared.clear()
    shared.retry()
    shared.mx.wait_empty()
    shared.clear()


def arrived(world, count=1, user=OWNER, timeout=SOON):
    path = world.path(user)
    wait_until(lambda: os.path.exists(path) and len(messages_in(path)) >= count,
               f"{count} messages of {user}", timeout)
    wait_until(lambda: not os.path.exists(path + ".lock"), "the lock file is gone", timeout)
    return messages_in(path)


def test_a_new_mailbox(world):
    """It is the user's, nobody else may read it, and no line in it begins another message."""
    world.write()
    message, = arrived(world)
    status = os.stat(world.path())
    assert status.st_uid == pwd.getpwnam(OWNER).pw_uid
    assert status.st_gid == grp.getgrnam("mail").gr_gid
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert message.startswith(b"Return-Path: <sender@client.test>\nDelivered-To: games@own.test\n")
    assert message.endswith(b"A line.\n>From here on it is quoted.\n>>From here, too.\n\n")
    world.mx.wait_empty()
    assert os.listdir(world.spool) == [OWNER]  # no lock is left


def test_a_mailbox_that_is_there(world):
    """What is in it stays, and its mode."""
    world.put(text=b"From x@y.test Mon Nov 17 10:00:00 2025\nSubject: old\n\nold")
    os.chmod(world.path(), 0o660)
    world.write()
    old, new = arrived(world, 2)
    assert old == b"Subject: old\n\nold\n\n" and b"A line." in new
    assert stat.S_IMODE(os.stat(world.path()).st_mode) == 0o660


@pytest.mark.parametrize("local, code", [
    (OWNER, 250), (OWNER + "+list", 250), (OWNER.upper(), 250), ("nobody-here", 550), (SYSTEM, 550), ("root", 550),
    ("nobody", 550), ("../games", 550), ("postmaster", 250)])
def test_who_has_mail(world, local, code):
    """Users between uid_min and uid_max, by any spelling; and nobody else."""
    with Client(world.mx) as client:
        client.docmd("MAIL FROM:<>")
        said, text = client.docmd(f"RCPT TO:<{local}@own.test>")
        assert said == code, text
        client.docmd("RSET")


def test_a_queued_message_for_nobody_comes_back(world):
    """One that was queued without the question at RCPT."""
    since = world.mx.log.mark()
    subprocess.run([os.path.join(world.mx.programs, "stagepost"), "sendmail", "-C", world.mx.conf, "-f",
                    f"{OWNER}@own.test", f"{SYSTEM}@own.test"], input=TEXT, check=True)
    failed = world.mx.log.wait("failed", since, to=f"{SYSTEM}@own.test")
    assert failed["status"] == "5.1.1" and "account of the system" in failed["text"]
    report, = arrived(world)
    assert b"Final-Recipient: rfc822; daemon@own.test" in report


# --- locks ---

@contextlib.contextmanager
def locked_by_fcntl(path):
    with open(path, "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def locked_by_file(path):
    """By the program of Debian's library for that, as its mail readers do."""
    subprocess.run(["dotlockfile", "-l", path + ".lock"], check=True)
    yield
    subprocess.run(["dotlockfile", "-u", path + ".lock"], check=True)


LOCKS = {"fcntl": locked_by_fcntl, "file": locked_by_file}


@pytest.mark.parametrize("kind", LOCKS)
def test_a_lock_is_waited_for(world, kind):
    """The message comes as soon as it is free, without a deferral, and others do not wait."""
    world.put()
    since = world.mx.log.mark()
    with LOCKS[kind](world.path()):
        world.write()
        world.write(OTHER)
        arrived(world, user=OTHER, timeout=LOCK_TIMEOUT / 2)
        assert os.path.getsize(world.path()) == 0
    arrived(world)
    world.mx.wait_empty()
    assert not world.mx.log.find("deferred", since)


@pytest.mark.parametrize("kind", LOCKS)
def test_a_lock_that_stays(world, kind):
    """The message is deferred, with the reason."""
    world.put()
    since = world.mx.log.mark()
    with LOCKS[kind](world.path()):
        world.write()
        deferred = world.mx.log.wait("deferred", since, timeout=LOCK_TIMEOUT + SOON)
        assert deferred["status"] == "4.2.0" and "locked" in deferred["text"]
        assert world.mx.log.wait("mailbox_locked", since)["path"] == world.path()
        assert os.path.getsize(world.path()) == 0
    world.retry()
    arrived(world)


def test_many_messages_for_one_that_is_locked(world):
    """More than the service has places: others get their mail."""
    world.put()
    with locked_by_fcntl(world.path()):
        for _ in range(40):
            world.write()
        world.write(OTHER)
        arrived(world, user=OTHER, timeout=LOCK_TIMEOUT)
    world.mx.log.wait("mailbox_locked")
    world.retry()
    arrived(world, 40)
    world.mx.wait_empty()
    assert len(messages_in(world.path())) == 40


# --- what is no mailbox ---

def link_to_secret(world, path):
    os.symlink(os.path.join(world.mx.directory, "stagepost.conf"), path)


def link_to_nothing(world, path):
    os.symlink("/nowhere", path)


def link_hard(world, path):
    world.put(OTHER)
    world.give(world.path(OTHER))
    os.link(world.path(OTHER), path)


def make_others(world, path):
    world.put()
    world.give(path, OTHER)


UNFIT = {
    "symlink": (link_to_secret, "symbolic link"),
    "dangling": (link_to_nothing, "symbolic link"),
    "hard_link": (link_hard, "more than one name"),
    "folder": (lambda world, path: os.mkdir(path), "it is a directory"),
    "pipe": (lambda world, path: os.mkfifo(path), "no regular file"),
    "device": (lambda world, path: os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3)), "no regular file"),
    "others": (make_others, "another user"),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_what_is_no_mailbox(world, kind):
    """It is left alone, and its mail waits; the log says why."""
    make, reason = UNFIT[kind]
    make(world, world.path())
    before = os.lstat(world.path())
    since = world.write()
    refused = world.mx.log.wait("mailbox_refused", since)
    assert refused["path"] == world.path() and reason in refused["reason"]
    deferred = world.mx.log.wait("deferred", since)
    assert deferred["status"] == "4.3.0" and reason in deferred["text"]
    after = os.lstat(world.path())
    assert (before.st_ino, before.st_size, before.st_mtime) == (after.st_ino, after.st_size, after.st_mtime)
    world.write(OTHER) if kind != "hard_link" else None
    world.clear()
    world.retry()
    arrived(world)


def test_a_directory_that_nobody_may_write_to(world):
    """The reason names what could not be made, and mail waits."""
    os.chmod(world.spool, 0o755)
    try:
        since = world.write()
        deferred = world.mx.log.wait("deferred", since)
        assert deferred["status"] == "4.3.0" and deferred["text"] == "Cannot open the mailbox: Permission denied"
    finally:
        os.chmod(world.spool, 0o2775)


# --- beside other programs ---

def numbered(number):
    """A message that cannot be cut or mixed with another unnoticed."""
    lines = "".join(f"line {line} of {number}\r\n" for line in range(1 + number % 40))
    return f"Subject: message {number}\r\n\r\nbegin {number}\r\n{lines}From all of us\r\nend {number}\r\n".encode()


def stored(number):
    return numbered(number).replace(b"\r\n", b"\n").replace(b"From all", b">From all")


def numbers_in(path):
    """Of the messages, each of which is whole; in any order, with what readers add to headers."""
    found = []
    for message in messages_in(path):
        header, _, body = message.partition(b"\n\n")
        number = int(re.search(rb"^Subject: message (\d+)$", header, re.M).group(1))
        assert body.rstrip(b"\n") == stored(number).partition(b"\n\n")[2].rstrip(b"\n"), body
        found.append(number)
    return found


class Reader:
    """A program of the user's that moves messages from the mailbox to another file, again and again."""

    def __init__(self, world, command, saved):
        self.saved = saved
        self.is_over = threading.Event()
        self.failures = []
        self.runs = 0
        self.world = world
        self.command = command
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def run(self):
        return subprocess.run(["setpriv", f"--reuid={OWNER}", "--regid=mail", "--clear-groups", "--",
                               "sh", "-c", self.command], capture_output=True, text=True, check=False)

    def work(self):
        while not self.is_over.wait(0.02):
            ended = self.run()
            self.runs += 1
            if ended.returncode != 0:
                self.failures.append(ended.stdout + ended.stderr)

    def end(self):
        self.is_over.set()
        self.thread.join()
        self.run()


READERS = {
    # mail(1), with the mailbox as that of the system, which it locks when it writes it back
    "mail": "printf 's * {saved}\\nq\\n' | MAIL={box} HOME={home} bsd-mailx -n >/dev/null 2>&1; test -e {box}",
    # liblockfile's program, around what a script does
    "dotlockfile": "dotlockfile -l -r 100 -i 1 {box}.lock && cat {box} >>{saved} && : >{box}; dotlockfile -u {box}.lock",
    # both locks, and a new file in place of the old one
    "python": """/usr/bin/python3 -c '
import mailbox
box = mailbox.mbox("{box}", create=False)
saved = open("{saved}", "ab")
try:
    box.lock()
except mailbox.ExternalClashError:
    raise SystemExit
for key in box.keys():
    saved.write(box.get_bytes(key, from_=True) + b"\\n")
    saved.flush()
    box.remove(key)
box.flush()
box.unlock()
'""",
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_and_deliveries_lose_nothing(world, ground, reader):
    """While messages come, a reader takes them out of the mailbox: each is in one of both places, whole."""
    count = 150
    home = ground.directory("home-" + reader)
    os.chown(home, pwd.getpwnam(OWNER).pw_uid, -1)
    saved = os.path.join(home, "saved")
    world.put()
    peer = Reader(world, READERS[reader].format(box=world.path(), saved=saved, home=home), saved)
    try:
        with Client(world.mx) as client:
            for number in range(count):
                assert client.deliver("s@client.test", f"{OWNER}@own.test", numbered(number)).startswith("250")
        world.mx.wait_empty(120)
        wait_until(lambda: peer.runs > 2, "it is read three times", 120)
    finally:
        peer.end()
    assert not peer.failures, peer.failures[:3]
    found = sorted(numbers_in(saved) + numbers_in(world.path()))
    assert found == list(range(count)), [n for n in range(count) if found.count(n) != 1]


def test_killed_while_it_writes(world):
    """Each message is there, whole; those that were not reported may be there twice."""
    count = 300
    since = world.mx.log.mark()
    with Client(world.mx) as client:
        for number in range(count):
            assert client.deliver("s@client.test", f"{OWNER}@own.test", numbered(number)).startswith("250")
            if number % 30 == 29:
                world.mx.kill("local")
                world.mx.log.wait("process_started", since, program="local")
                since = world.mx.log.mark()
    world.retry()
    world.mx.wait_empty(120)
    found = numbers_in(world.path())
    assert set(found) == set(range(count))
    assert not os.path.exists(world.path() + ".lock")


def test_mail_reads_it(world, ground):
    home = ground.directory("home")
    for number in range(3):
        world.write(text=numbered(number))
    arrived(world, 3)
    shown = subprocess.run(["bsd-mailx", "-n", "-N", "-f", world.path()], input="h\np 2\nx\n", capture_output=True, text=True,
                           check=True, env=os.environ | {"HOME": home}).stdout
    assert "message 0" in shown and "message 2" in shown and "begin 1" in shown
