# SPDX-License-Identifier: ISC
"""Power cuts of the whole system under load, the short form of the campaign (tests/power),
and whether its parts see what they are there to see."""

import os
import random
import subprocess
import sys

import pytest
from stagepost import ROOT, give_to_user, is_root

POWER = os.path.join(ROOT, "tests", "power")
sys.path.append(POWER)
from history import ALL, FLUSH, HEADER, NEWEST, NONE, PREFIX, SOME, WRITE, History, Platter  # noqa: E402
from judge import Box, Level, judge_chain, read_boxes  # noqa: E402
from recording import RecordingMount, make_filesystem  # noqa: E402
from variants import EXT4  # noqa: E402
from common.ledger import make_message  # noqa: E402

SEED = os.environ.get("POWER_SEED", str(random.randrange(1 << 30)))

needs_root = pytest.mark.skipif(not is_root(), reason="only root mounts disks")


def campaign(capsys, *words):
    done = subprocess.run(
        [sys.executable, "-B", os.path.join(POWER, "campaign.py"), "--seed", SEED, *words],
        capture_output=True, text=True, check=False, timeout=300)
    with capsys.disabled():
        for line in done.stdout.splitlines():
            if line.startswith("Power cuts") or "mutant" in line:
                print(f"\n  {line}", end="")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_root
def test_power_cuts(capsys):
    campaign(capsys, "--cuts", "3", "--each", "3", "--seconds", "2", "--nested", "0.4")


@needs_root
def test_power_cuts_on_a_variant_of_ext4(capsys):
    """One of those that are taken as ordered, by the seed; "make crash" takes them all."""
    variant = list(EXT4)[int(SEED) % len(EXT4)]
    campaign(capsys, "--variant", variant, "--cuts", "3", "--each", "3", "--seconds", "3")


@needs_root
@pytest.mark.parametrize("mutant", ["flushes", "all"])
def test_what_is_forgotten_is_seen(capsys, mutant):
    """A disk that forgets its flushes, programs that forget their syncs. It ends with the first
    loss; Btrfs, which does not even come back from many cuts, can take ten to that."""
    campaign(capsys, "--mutant", mutant, "--cuts", "40", "--seconds", "2")


@needs_root
@pytest.mark.parametrize("options, strategy", [
    ("rw", "ordered"), ("barrier=0", "files"), ("data=writeback", "files"),
    ("data=journal", "files")])
def test_order_is_assumed_where_it_is_kept(node, ground, options, strategy):
    folder = ground.directory("power")
    image = os.path.join(folder, "image")
    make_filesystem("ext4", image)
    disk = RecordingMount("ext4", image, folder, os.path.join(folder, "mounted"), options)
    try:
        give_to_user(disk.mount.path)
        mx = node(queue=os.path.join(disk.mount.path, "queue"))
        assert mx.log.find("queue_opened")[-1]["sync"] == strategy
        mx.stop()
    finally:
        disk.close()


# --- what a cut leaves ---

def write_log(path, records):
    """(offset, bytes) or FLUSH."""
    with open(path, "wb") as file:
        for record in records:
            offset, data = (0, b"") if record == FLUSH else record
            kind = FLUSH if record == FLUSH else WRITE
            file.write(HEADER.pack(kind, 0, offset, len(data), 0) + data)


@pytest.mark.parametrize("kind, possible", [
    (NONE, {b"A.."}), (ALL, {b"ABC"}), (PREFIX, {b"A..", b"AB.", b"ABC"}),
    (NEWEST, {b"A.C", b"ABC"}), (SOME, {b"A..", b"AB.", b"A.C", b"ABC"})])
def test_what_was_flushed_is_left(tmp_path, kind, possible):
    log = tmp_path / "log"
    write_log(log, [(0, b"A" * 512), FLUSH, (512, b"B" * 512), (1024, b"C" * 512),
                    (0, b"x" * 512)])
    found = set()
    for seed in range(60):
        image = tmp_path / "image"
        image.write_bytes(b"." * 1536)
        history = History(str(log))
        platter = Platter(history, str(image))
        platter.advance(4)
        platter.close()
        with open(image, "r+b") as file:
            assert history.scatter(file.fileno(), 4, kind, random.Random(seed)) == 2
        found.add(image.read_bytes()[::512])
    assert found <= possible and len(found) >= min(2, len(possible)), found


def test_a_write_is_torn_into_sectors(tmp_path):
    for place, count in (4096, 16), (0, 2):  # but for the superblock
        log = tmp_path / f"log{place}"
        write_log(log, [(place, b"A" * 2048)])
        found = set()
        for seed in range(100):
            image = tmp_path / "image"
            image.write_bytes(b"." * (place + 2048))
            with open(image, "r+b") as file:
                History(str(log)).scatter(file.fileno(), 1, PREFIX, random.Random(seed))
            found.add(image.read_bytes()[place::512])
        assert len(found) == count


# --- the judge ---

def event(what, number, disk, **fields):
    return {"what": what, "number": number, "disk": disk, "problem": None, **fields}


def chain_of(spoil):
    """A message to a Maildir, an SMTP server and one that refuses it. The power is cut at 10,
    and the recovery delivers what the queue still has. In SPOIL something is wrong."""
    text, sha256 = make_message(1, random.Random(1))
    names = ["box@a.test", "u@r.test", "fail-1@r.test"]
    load = [event("begun", 1, 1, sha256=sha256, recipients=names), event("dot", 1, 2),
            event("accepted", 1, 5), event("delivered", 1, 6, to="u@r.test"),
            event("bounced", 1, 12, recipients=["fail-1@r.test"])]
    after = [event("bounced", 1, 0, recipients=["fail-1@r.test"])]
    pending = {(1, "box@a.test"): 1, (1, "fail-1@r.test"): 1}
    stored = text.replace(b"\r\n", b"\n")
    times = [100.0] * 20
    if spoil == "too late":
        load[2]["disk"] = 11
    if spoil == "not reported":
        after.clear()
    if spoil in ("twice", "excused", "old"):
        after.append(event("delivered", 1, 0, to="u@r.test"))
    if spoil in ("excused", "old"):
        pending[1, "u@r.test"] = 1
    if spoil == "old":
        times[9] = 200.0
    if spoil == "not sent":
        load[1]["disk"] = 11
    if spoil == "for nothing":
        after.append(event("bounced", 1, 0, recipients=["box@a.test"]))
    levels = [Level(load, 10, times), Level(after, pending=pending)]
    entries = {1: {"dot": spoil != "not sent", "accepted": True, "sha256": sha256,
                   "recipients": names}}
    box = Box() if spoil == "no copy" else read_boxes(
        [("box@a.test", stored[:-1] if spoil == "cut" else stored, 100.0)], entries)
    return levels, box


@pytest.mark.parametrize("spoil, counts", [
    (None, (1, 0, 0, 0, 0)), ("no copy", (1, 1, 0, 0, 0)), ("not reported", (1, 1, 0, 0, 0)),
    ("cut", (1, 1, 1, 0, 0)), ("twice", (1, 0, 0, 1, 1)), ("excused", (1, 0, 0, 1, 0)),
    ("old", (1, 0, 0, 1, 1)), ("too late", (0, 0, 0, 0, 0)), ("not sent", (1, 1, 1, 0, 0)),
    ("for nothing", (1, 0, 1, 1, 1))])
def test_judge_sees_it(spoil, counts):
    verdict = judge_chain(*chain_of(spoil))
    assert (verdict.accepted, len(verdict.lost), len(verdict.corrupt), verdict.duplicates,
            len(verdict.unexcused)) == counts
