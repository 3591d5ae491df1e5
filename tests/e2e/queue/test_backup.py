# SPDX-License-Identifier: ISC
"""stagepost-backup(7): what each way to copy a queue gives, under load, when its disk is lost as soon as the copy is
made. What a way promises is never lost; no way gives anybody a changed message, or an old one without a word.
What is restored from a copy of yesterday: test_restore.py."""

import glob
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time

import lmtp
import pytest
import recipes
from disk import Image
from smtp import Client
from stagepost import PATIENCE, as_user, free_port, is_root, wait_until
from common.holdings import all_delivered
from common.ledger import Generator, Ledger, judge

pytestmark = pytest.mark.skipif(not is_root(), reason="a restore gives files to their owner")

SEED = int(os.environ.get("BACKUP_SEED", str(random.randrange(1 << 30))))
MANY = 150  # messages that are accepted before a copy begins
RSYNC = ("rsync", "-a", "--delete", "--modify-window=-1")
SPEED = 4 << 20  # bytes a second, of copies while mail moves
VANISHED = 24  # rsync's exit status when files have ended meanwhile


@pytest.fixture
def run(ground):
    def run(node, *words, text=b""):
        return subprocess.run([*as_user(), os.path.join(ground.programs, "stagepost"), *words],
                              input=text, capture_output=True, check=False, timeout=PATIENCE,
                              env=os.environ | {"STAGEPOST_CONF": node.conf})

    return run


@pytest.fixture
def ledger():
    with tempfile.TemporaryDirectory(prefix="stagepost-ledger-") as directory:
        made = Ledger(os.path.join(directory, "ledger"))
        yield made
        made.close()


# --- ways to copy a queue ---

def call(*words, may=(0,)):
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert ended.returncode in may, (words, ended)


def stopped(mx, target):
    mx.stop()
    call("cp", "-a", mx.queue, target)


def rsync_twice(mx, target):
    call(*RSYNC, mx.queue + "/", target, may=(0, VANISHED))
    mx.stop()
    call(*RSYNC, mx.queue + "/", target)


def running_tar(mx, target):
    """Not faster than a tape."""
    os.mkdir(target)
    with (subprocess.Popen(["tar", "-C", mx.queue, "-cf", "-", "."], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL) as tar,  # it says that files have changed or have gone
          subprocess.Popen(["tar", "-C", target, "-xf", "-"], stdin=subprocess.PIPE) as untar):
        while piece := tar.stdout.read(SPEED // 50):
            untar.stdin.write(piece)
            time.sleep(0.02)
        untar.stdin.close()
        assert untar.wait(PATIENCE) == 0


def running_rsync(mx, target):
    call(*RSYNC, f"--bwlimit={SPEED}", mx.queue + "/", target, may=(0, VANISHED))


def running_cp(mx, target):
    call("cp", "-a", mx.queue, target, may=(0, 1))


# --- what is restored from it ---

CLOSED = "c.test"  # whose host does not answer before the restore


class Outage:
    """A node under load whose disk is lost as soon as the copy of its queue is made, and what is restored from that.
    b.test takes no mail for whom it has not refused once; everything is tried again and again."""

    def __init__(self, node, run, ledger):
        self.node = node
        self.run = run
        self.ledger = ledger
        self.closed_port = free_port()
        self.refused = set()
        self.far = lmtp.Server(recipient=self.answer)
        self.mx = None
        self.restored = None

    def answer(self, address):
        is_first = address not in self.refused
        self.refused.add(address)
        return "451 4.3.0 later" if is_first else "250 2.1.5 ok"

    def make(self, name, **settings):
        routes = [f"b.test:{self.far.address.replace(':', ';')}", f"{CLOSED}:127.0.0.1;{self.closed_port}"]
        return self.node(name, start=False, routes=routes, settings="probe_delay = 10m\n", **settings)

    @staticmethod
    def recipients(source):
        near, far, closed = (f"box{source.randrange(20)}@a.test", f"box{source.randrange(1 << 40)}@b.test",
                             f"box@{CLOSED}")
        return source.choice(([near], [far], [far], [near, far], [closed], [near, far, closed]))

    def retry(self, over):
        while not over.wait(0.1):
            self.run(self.mx, "queue", "retry", "--all")

    def lose(self, copy, target, **settings):
        """COPY(node, TARGET) under load, and then there is nothing else: the numbers of what was answered before."""
        self.mx = self.make("mx", **settings).start()
        load = Generator(self.ledger, lambda: Client(self.mx, timeout=20), self.recipients, connections=3,
                         pause=0.004, seed=SEED)
        over = threading.Event()
        load.start(self.retry, over)
        try:
            wait_until(lambda: self.count_accepted() >= MANY, "there is mail")
            before = {number for number, entry in self.accepted()}
            copy(self.mx, target)
        finally:
            self.mx.abandon()
            over.set()
            load.stop()
        return before

    def accepted(self):
        return [(number, entry) for number, entry in list(self.ledger.known.items()) if entry["accepted"]]

    def count_accepted(self):
        return len(self.accepted())

    def restore(self, queue, *options):
        """Another node begins with QUEUE, after "queue repair": what that said."""
        self.restored = self.make("restored", queue=queue)
        ended = self.run(self.restored, "queue", "repair", "--restored", *options)
        assert ended.returncode in (0, 1), ended
        with open(self.restored.log.path, "ab") as log:
            log.write(ended.stderr)
        return ended

    def deliver_all(self):
        """What was on its way, and all that is restored but what is held because it was changed."""
        closed = self.node("closed", domains=[CLOSED], port=self.closed_port)
        self.restored.start()
        log = self.restored.log

        def is_over():
            self.run(self.restored, "queue", "retry", "--all")
            return {number for number in self.restored.control_files()} <= {
                int(event["id"].partition("-")[0]) for event in log.find("data_damaged")}

        wait_until(is_over, "all that is whole leaves")
        closed.wait_empty()
        yield from all_delivered(self.mx, self.restored, closed)
        for recipients, text in list(self.far.messages):
            for recipient in recipients:
                yield recipient, text.replace(b"\r\n", b"\n")

    def judge(self, before):
        """The verdict on those messages; and that there was a word for each that the restored node has delivered."""
        delivered = list(self.deliver_all())
        log = self.restored.log
        told = {event.get("message") or event["id"] for event in log.find("message_restored")}
        silent = [event for event in log.find("delivered") if event["id"] not in told]
        assert told and not silent, silent[:3]
        verdict = judge(self.ledger, delivered, [])
        assert not verdict.corrupt, verdict.corrupt[:3]
        verdict.lost = [one for one in verdict.lost if int(one.rpartition(" ")[2]) in before]
        print(f"seed {SEED}: {verdict}; {len(told)} restored")
        return verdict


@pytest.fixture
def outage(node, run, ledger):
    made = Outage(node, run, ledger)
    yield made
    made.far.close()


def place(ground, name):
    return os.path.join(ground.directory(name), "queue")


@pytest.mark.parametrize("way", [stopped, rsync_twice])
def test_a_copy_that_ends_while_nothing_runs(outage, ground, way):
    queue = place(ground, "copy")
    before = outage.lose(way, queue)
    ended = outage.restore(queue)
    assert ended.returncode == 0, ended
    assert not outage.judge(before).lost


def test_a_name_that_is_used_again_within_a_second(tmp_path):
    """Why the manual has rsync compare times to the nanosecond: under the name of one message there may be another
    of the same size."""
    assert recipes.blocks()["stagepost-backup.7/0"].text.count(" ".join(RSYNC)) == 2
    queue = tmp_path / "queue"
    queue.mkdir()
    for nanosecond, message in enumerate(("first", "other")):
        (queue / "457").write_text(message)
        os.utime(queue / "457", ns=(10**18, 10**18 + nanosecond))
        call("rsync", "-a", f"{queue}/", f"{tmp_path}/seconds")
        call(*RSYNC, f"{queue}/", f"{tmp_path}/nanoseconds")
    assert (tmp_path / "seconds" / "457").read_text() == "first"
    assert (tmp_path / "nanoseconds" / "457").read_text() == "other"


@pytest.mark.parametrize("way", [running_tar, running_rsync, running_cp])
def test_a_copy_of_a_running_queue(outage, ground, way):
    """It may lack mail; how often is a matter of luck."""
    queue = place(ground, "copy")
    before = outage.lose(way, queue)
    ended = outage.restore(queue)
    verdict = outage.judge(before)
    print(f"of {len(before)} messages before it {len(verdict.lost)} recipients are lost; "
          f"{ended.stdout.count(b'is now in damaged/')} files were set aside")


def test_a_copy_of_a_running_queue_may_lack_mail(node, run, ground):
    """Why: it is read folder by folder, and a message moves from one that is not read yet to one that was."""
    mx = node(routes=[f"b.test:127.0.0.1;{free_port()}"])
    mx.stop()
    assert run(mx, "sendmail", "bob@b.test", text=b"\n").returncode == 0
    (before,) = mx.data_files()
    queue = place(ground, "copy")
    shutil.copytree(mx.queue, queue, ignore=lambda folder, names: {"todo", "trigger"} & set(names))
    mx.start()
    wait_until(lambda: glob.glob(mx.queue + "/info/*/*") and not glob.glob(mx.queue + "/todo/*/*/*"), "it moves")
    shutil.copytree(mx.queue + "/todo", queue + "/todo")
    call("chown", "-R", "--reference", mx.queue, queue)
    restored = node("restored", start=False, queue=queue)
    assert b"0 restored" in run(restored, "queue", "repair", "--restored").stdout
    assert before in mx.data_files() and not restored.data_files()


# --- snapshots ---

@pytest.fixture
def volume(ground):
    """make(kind) is where a new filesystem is mounted."""
    images = []

    def make(kind="ext4", options=(), size=512 << 20):
        class Volume(Image):
            def make(self, inodes):
                self._run(f"mkfs.{kind}", *options, self.file)

        Volume.kind = kind
        path = ground.directory("volume")
        images.append(Volume(path, size))
        return path

    yield make
    for image in images:
        image.close()


def device_of(path):
    return subprocess.check_output(["findmnt", "-n", "-o", "SOURCE", path], text=True).strip()


def test_a_snapshot_of_the_volume(outage, ground, volume):
    """As a volume manager makes one: the filesystem stands still meanwhile, and nothing else does. The numbers stay."""
    path = volume()
    again = ground.directory("again")
    image = again + ".image"

    def snapshot(mx, target):
        call("fsfreeze", "--freeze", path)
        try:
            call("dd", f"if={device_of(path)}", f"of={target}", "bs=1M", "iflag=direct", "conv=sparse")
        finally:
            call("fsfreeze", "--unfreeze", path)

    before = outage.lose(snapshot, image, queue=path + "/queue")
    call("mount", "-o", "loop", image, again)
    try:
        ended = outage.restore(f"{again}/queue")
        assert ended.returncode == 0 and b"0 renumbered" in ended.stdout, ended
        assert not outage.judge(before).lost
        outage.restored.stop()
    finally:
        call("umount", again)


# --- restores ---

@pytest.mark.parametrize("kind, options", [("ext4", ("-q", "-F", "-N", "5000")), ("xfs", ("-q",)),
                                           ("btrfs", ("-q", "-f"))])
def test_another_filesystem(outage, ground, volume, kind, options):
    """With other inode numbers, and other promises of order."""
    path = volume(kind, options)
    queue = place(ground, "copy")
    before = outage.lose(stopped, queue)
    call(*RSYNC, queue + "/", path + "/queue")
    ended = outage.restore(path + "/queue")
    assert ended.returncode == 0 and b" 0 set aside" in ended.stdout, ended
    assert b"\n0 renumbered" not in ended.stdout
    assert not outage.judge(before).lost
    outage.restored.stop()
