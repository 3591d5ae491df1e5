# SPDX-License-Identifier: ISC
"""What the owner of a mailbox can do with it, to harm others: links, pipes and other things in
place of its folders, renames during the delivery, full and standing disks. Nothing may be
written where he has no rights, nobody else's mail waits for him, his own is not lost, and
the log says whose mailbox it was and why."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time

import pytest
from disk import Image
from smtp import deliver
from stagepost import ALL_USERS, Maildir, Node, is_root, wait_until

pytestmark = pytest.mark.skipif(not is_root(), reason="mail is delivered as its owner by root only")

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
OWNER, OTHER, THIRD = "games", "daemon", "lp"
SOON = 5  # seconds: nobody else's mail takes longer
FOLDERS = ("new", "cur", "tmp")


class World:
    """A node that delivers as the owners of homes, each of them below "homes"."""

    def __init__(self, ground):
        self.homes = ground.directory("homes")
        os.chown(self.homes, 0, 0)
        self.secret = ground.directory("secret")
        os.chown(self.secret, 0, 0)
        os.chmod(self.secret, 0o700)
        self.mx = Node(
            ground.programs, ground.directory("owners"), switch_user=True, unsafe=ground.unsafe,
            domains=['domain "own.test" { service = own }'], settings=(
                ALL_USERS + f'service own {{ kind = maildir path = "{self.homes}/%u/Maildir" user = "%u" }}\n'))

    def home(self, user):
        return os.path.join(self.homes, user)

    def path(self, *names, user=OWNER):
        return os.path.join(self.home(user), "Maildir", *names)

    def clear(self):
        """A home for each, with a Maildir, and nothing in it."""
        for user in OWNER, OTHER, THIRD:
            wait_until(lambda u=user: self.is_removed(u), "nothing is made in the home any more")
            for folder in "", "Maildir", *(f"Maildir/{name}" for name in FOLDERS):
                os.mkdir(os.path.join(self.home(user), folder), 0o700)
                self.give(os.path.join(self.home(user), folder), user)

    def is_removed(self, user):
        """A delivery that is under way may make a folder anew meanwhile."""
        shutil.rmtree(self.home(user), ignore_errors=True)
        return not os.path.lexists(self.home(user))

    @staticmethod
    def give(path, user=OWNER):
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, entry.pw_gid, follow_symlinks=False)

    def arrived(self, user, count=1, timeout=SOON):
        return Maildir(self.path(user=user)).wait(count, timeout)

    def write(self, user, count=1):
        """Mail for USER; the place in the log before it."""
        since = self.mx.log.mark()
        for _ in range(count):
            deliver(self.mx, f"{user}@own.test", TEXT)
        return since

    def others_get_mail(self):
        """They do, as many as they were sent, in a short time."""
        have = len(Maildir(self.path(user=OTHER)).files())
        self.write(OTHER)
        self.arrived(OTHER, have + 1)

    def run(self, *words):
        done = subprocess.run([os.path.join(self.mx.programs, "stagepost"), *words, "-c", self.mx.conf],
                              capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 0, done.stderr

    def try_again(self):
        self.run("queue", "retry", "--all")

    def deliver_all(self):
        """Also what was being tried, and failed, after an order to try again."""
        def is_empty():
            self.try_again()
            return not self.mx.control_files()
        wait_until(is_empty, "all mail is delivered", 20)
        self.mx.wait_empty()


@pytest.fixture(scope="module")
def running(ground):
    world = World(ground)
    world.clear()
    with world.mx:
        yield world


@pytest.fixture
def world(running):
    running.clear()
    running.pids = running.mx.pids()
    yield running
    running.mx.wait_empty()
    assert running.mx.pids() == running.pids, "a process has ended"
    assert os.listdir(running.secret) == []
    assert not any(Maildir(running.path(user=THIRD)).files())


# --- other things where folders are expected ---

def put_file(world, path):
    with open(path, "wb"):
        pass


def put_pipe(world, path):
    os.mkfifo(path)


def put_socket(world, path):
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(os.path.dirname(path), os.O_PATH)
        listener.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
        os.close(folder)


def put_device(world, path):
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))


def put_link_to_secret(world, path):
    os.symlink(world.secret, path)


def put_link_to_another(world, path):
    os.symlink(os.path.join(world.home(THIRD), "Maildir"), path)


def put_link_to_itself(world, path):
    os.symlink(path, path)


def put_link_to_nothing(world, path):
    os.symlink(os.path.join(world.secret, "nothing"), path)


def put_closed(world, path):
    os.mkdir(path, 0)


def put_link_to_proc(world, path):
    os.symlink("/proc/self/fd", path)


PUTS = (put_file, put_pipe, put_socket, put_device, put_link_to_secret, put_link_to_another,
        put_link_to_itself, put_link_to_nothing, put_closed, put_link_to_proc)


@pytest.mark.parametrize("place", ["tmp", "new", ""], ids=["tmp", "new", "itself"])
@pytest.mark.parametrize("put", PUTS, ids=lambda put: put.__name__[4:])
def test_no_folder_where_one_is_expected(world, put, place):
    path = world.path(place).rstrip("/")
    shutil.rmtree(path)
    put(world, path)
    world.give(path)
    since = world.write(OWNER)
    event = world.mx.log.wait("deferred", since=since, to=f"{OWNER}@own.test")
    assert event["status"] == "4.3.0" and event["text"].startswith("Cannot "), event
    world.others_get_mail()
    (os.rmdir if stat.S_ISDIR(os.lstat(path).st_mode) else os.unlink)(path)
    for folder in ([path] if place else []):
        os.mkdir(folder, 0o700)
        world.give(folder)
    world.try_again()
    world.arrived(OWNER)


def test_a_folder_that_cannot_be_changed(world):
    subprocess.run(["chattr", "+i", world.path("tmp")], check=True)
    try:
        since = world.write(OWNER)
        event = world.mx.log.wait("deferred", since=since, to=f"{OWNER}@own.test")
        assert event["text"] == "Cannot open a file in the mailbox: Operation not permitted"
        world.others_get_mail()
    finally:
        subprocess.run(["chattr", "-i", world.path("tmp")], check=True)
    world.try_again()
    world.arrived(OWNER)


# --- what changes while mail is delivered ---

def as_owner(world, script):
    """A shell of the owner's that runs until it is killed."""
    entry = pwd.getpwnam(OWNER)
    return subprocess.Popen(["/bin/sh", "-c", script], user=entry.pw_uid, group=entry.pw_gid,
                            extra_groups=[], cwd=world.path(), stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)


RACES = {
    "new and a link": "mv new real; while :; do ln -sfn {secret} new; rm new; ln -s {third} new; "
                      "rm new; mv real new; mv new real; done",
    "tmp and a link": "mv tmp real; while :; do ln -sfn {secret} tmp; rm tmp; ln -s {third} tmp; "
                      "rm tmp; mv real tmp; mv tmp real; done",
    "the mailbox and a link": "cd ..; while :; do mv Maildir real; ln -s {secret} Maildir; "
                              "rm Maildir; mv real Maildir; done",
    "the message and a link": "while :; do for f in tmp/*; do ln -sfn {secret}/x $f; "
                              "done; done",
    "the message and a pipe": "while :; do for f in tmp/*; do rm $f; mkfifo $f; done; done",
    "the message is a name of another": "while :; do for f in tmp/*; do ln -f $f keep; "
                                        "mv $f new/seen; done; done",
}


@pytest.mark.parametrize("race", RACES, ids=lambda name: name.replace(" ", "_"))
def test_what_changes_during_the_delivery(world, race):
    """Whatever comes of his own mail: that of others comes, and nothing is elsewhere."""
    script = RACES[race].format(secret=world.secret, third=os.path.join(world.home(THIRD), "Maildir/new"))
    process = as_owner(world, script)
    try:
        for _ in range(15):
            world.write(OWNER, 4)
            world.others_get_mail()
        assert process.poll() is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # what it runs at the moment, too
        process.wait()
    world.clear()
    world.deliver_all()


# --- disks and size ---

@contextlib.contextmanager
def own_disk(world, size=64 << 20):
    """The owner's home is a filesystem of its own."""
    image = Image(world.home(OWNER), size)
    try:
        world.give(image.path)
        for folder in "", *FOLDERS:
            os.mkdir(world.path(folder), 0o700)
            world.give(world.path(folder))
        yield image
    finally:
        image.close()


def test_a_full_disk_of_one_owner(world):
    with own_disk(world, 16 << 20):
        with open(world.path("fill"), "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 512):
                pass
        since = world.write(OWNER)
        event = world.mx.log.wait("deferred", since=since, to=f"{OWNER}@own.test")
        assert event["status"] == "4.3.1"
        world.others_get_mail()
        os.unlink(world.path("fill"))
        world.try_again()
        world.arrived(OWNER)


def test_a_disk_that_stands_still(world):
    """A filesystem that answers nothing holds the owner's mail, and nobody else's."""
    with own_disk(world):
        world.write(OWNER)
        world.arrived(OWNER)
        subprocess.run(["fsfreeze", "-f", world.home(OWNER)], check=True)
        try:
            since = world.write(OWNER)
            begin = time.monotonic()
            world.write(OTHER)
            world.arrived(OTHER, 1, 20)
            assert time.monotonic() - begin < 15
            stuck = world.mx.log.wait("mailbox_stuck", since=since)
            assert stuck["path"] == world.path() and stuck["level"] == "warning"
            for _ in range(3):
                world.others_get_mail()
            later = world.write(OWNER, 3)  # not one place each for what cannot be delivered
            world.mx.log.wait("deferred", since=later, count=3, to=f"{OWNER}@own.test",
                              status="4.3.0")
        finally:
            subprocess.run(["fsfreeze", "-u", world.home(OWNER)], check=True)
        world.mx.log.wait("mailbox_back", since=since)
        world.try_again()
        assert len(world.arrived(OWNER, 5)) == 5  # none is lost, none comes twice
        world.mx.wait_empty()


def test_a_filesystem_with_many_owners_that_stands_still(world):
    """Those whose mail was there last are not tried once some of them stand: the threads, and the
    others' mail, are not for who comes first."""
    owners = [entry for entry in pwd.getpwall() if entry.pw_uid not in (0, *(
        pwd.getpwnam(name).pw_uid for name in (OWNER, OTHER, THIRD)))][:9]
    with own_disk(world, 64 << 20) as image:
        for entry in owners:
            for folder in "", "Maildir", *(f"Maildir/{name}" for name in FOLDERS):
                path = os.path.join(image.path, entry.pw_name, folder)
                os.mkdir(path, 0o700)
                world.give(path, entry.pw_name)
            os.symlink(os.path.join(image.path, entry.pw_name), world.home(entry.pw_name))
        os.chmod(image.path, 0o755)
        world.give(image.path, "root")
        try:
            for entry in owners:
                world.write(entry.pw_name)
                world.arrived(entry.pw_name)
            subprocess.run(["fsfreeze", "-f", image.path], check=True)
            try:
                since = world.mx.log.mark()
                for entry in owners:
                    world.write(entry.pw_name)
                world.mx.log.wait("mailbox_stuck", since=since, count=4, timeout=30)
                world.mx.log.wait("deferred", since=since, count=len(owners) - 4, timeout=30,
                                  status="4.3.0")
                for _ in range(3):
                    world.others_get_mail()
                assert [event["event"] for event in world.mx.log.read()[since:]].count(
                    "mailbox_stuck") == 4
            finally:
                subprocess.run(["fsfreeze", "-u", image.path], check=True)
            world.mx.log.wait("mailbox_back", since=since, count=4)
            world.deliver_all()
            for entry in owners:
                assert len(world.arrived(entry.pw_name, 2)) == 2
        finally:
            for entry in owners:
                os.unlink(world.home(entry.pw_name))


STRANGERS_MAX = 16  # deliver/local/local.c: UNKNOWN_MAX


def test_strangers_after_a_restart(world):
    """Whose mail was where is forgotten then. Those who stand on one filesystem do not keep the strangers
    of another: what is mounted where is known without asking any."""
    owners = [entry.pw_name for entry in pwd.getpwall() if entry.pw_uid not in (0, *(
        pwd.getpwnam(name).pw_uid for name in (OWNER, OTHER, THIRD)))][:STRANGERS_MAX + 1]
    assert len(owners) == STRANGERS_MAX + 1
    with own_disk(world, 64 << 20) as image, contextlib.ExitStack() as ends:
        os.chmod(image.path, 0o755)
        for name in owners:
            for folder in "", "Maildir", *(f"Maildir/{name}" for name in FOLDERS):
                os.mkdir(os.path.join(image.path, name, folder), 0o700)
                world.give(os.path.join(image.path, name, folder), name)
            os.mkdir(world.home(name))
            ends.callback(os.rmdir, world.home(name))
            subprocess.run(["mount", "--bind", os.path.join(image.path, name), world.home(name)], check=True)
            ends.callback(subprocess.run, ["umount", "--lazy", world.home(name)], check=True)
        world.mx.kill_and_wait("local")
        world.pids = world.mx.pids()
        subprocess.run(["fsfreeze", "-f", image.path], check=True)
        try:
            since = world.mx.log.mark()
            for name in owners:
                world.write(name)
            world.mx.log.wait("mailbox_stuck", since=since, count=STRANGERS_MAX, timeout=120)
            world.mx.log.wait("deferred", since=since, status="4.3.0", timeout=60)
            for _ in range(3):
                world.others_get_mail()
        finally:
            subprocess.run(["fsfreeze", "-u", image.path], check=True)
        world.mx.log.wait("mailbox_back", since=since, count=STRANGERS_MAX)
        world.deliver_all()
        for name in owners:
            assert len(world.arrived(name)) == 1


def test_a_message_for_one_that_stands_and_others(world):
    """Who can be served is, and is reported at once."""
    with own_disk(world):
        subprocess.run(["fsfreeze", "-f", world.home(OWNER)], check=True)
        try:
            since = world.mx.log.mark()
            deliver(world.mx, [f"{user}@own.test" for user in (OWNER, OTHER)], TEXT)
            world.arrived(OTHER, 1, 20)
            world.mx.log.wait("delivered", since=since, to=f"{OTHER}@own.test")
        finally:
            subprocess.run(["fsfreeze", "-u", world.home(OWNER)], check=True)
        world.arrived(OWNER)
        world.mx.wait_empty()
        assert len(Maildir(world.path(user=OTHER)).files()) == 1


def test_many_old_files_to_clean(world):
    """The price of a large tmp/ is bounded, and paid in parts."""
    world.mx.restart()  # each mailbox is cleaned at its first delivery
    world.pids = world.mx.pids()
    old = time.time() - 40 * 3600
    for number in range(20000):
        path = world.path("tmp", str(number))
        with open(path, "wb"):
            pass
        os.utime(path, (old, old))
        world.give(path)
    world.write(OWNER)
    world.arrived(OWNER)
    world.others_get_mail()
    assert len(os.listdir(world.path("tmp"))) in range(20000 - 1001, 20000)
    for count in range(2, 23):
        world.write(OWNER)
        world.arrived(OWNER, count)
    assert os.listdir(world.path("tmp")) == []
