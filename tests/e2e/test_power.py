# SPDX-License-Identifier: ISC
"""Power cuts under load, on a disk whose cache forgets. What was answered 250 is in a
mailbox or in the queue, byte for byte, once the journal is replayed; nothing else is queued
but what was sent to its end. The kernel's own order is what is tested here."""

import copy
import os
import random
import tempfile

import pytest
from disk import Unavailable
from smtp import Client
from stagepost import is_root
from volatile import VolatileDisk, run
from common.holdings import all_delivered, all_queued
from common.ledger import MARK, Generator, Ledger, digest, judge

SIZE = 96 << 20
CUTS = int(os.environ.get("POWER_CUTS", "16"))
CHANCES = (0, 0.5, 0, 0.9, 0, 0.1)  # of each undecided piece, by turns
SEED = int(os.environ.get("POWER_SEED", str(random.randrange(1 << 30))))

pytestmark = pytest.mark.skipif(not is_root(), reason="only root mounts disks")


class Frozen:
    """The ledger of a cut: what was answered before it, what was sent until after it."""

    def __init__(self, before, after):
        self.found = after
        for number, entry in after.items():
            entry["accepted"] = number in before and before[number]["accepted"]

    def entries(self):
        return self.found


@pytest.fixture
def ledger():
    with tempfile.TemporaryDirectory(prefix="stagepost-ledger-", dir="/dev/shm") as directory:
        made = Ledger(os.path.join(directory, "ledger"))
        yield made
        made.close()


@pytest.fixture
def volatile_disk(ground, request):
    path = os.path.join(ground.base, f"volatile{id(request)}")
    try:
        made = VolatileDisk(path, SIZE, getattr(request, "param", "rw"))
    except Unavailable as why:
        pytest.fail(f"root cannot make the disk: {why}")
    yield made
    made.close()


def make_message(number, source):
    """As the ledger's, cheaper: the disk is to be busy, not we."""
    body = b"".join(b"%064x\r\n" % source.getrandbits(256)
                    for _ in range(source.choice((0, 2, 40, 100, 250))))
    text = MARK + b"%d\r\nSubject: number %d\r\n\r\n" % (number, number) + body
    return text, digest(text.replace(b"\r\n", b"\n"))


def verdict_of_cut(mx, disk, ledger, seed, chance):
    before = ledger.entries()
    image, pieces = disk.cut(1 + seed % 61, seed, chance)
    frozen = Frozen(before, ledger.entries())
    there = image + ".mounted"
    os.mkdir(there)
    run("mount", "-t", "ext4", "-o", "loop", image, there)
    try:
        node = copy.copy(mx)
        node.queue = os.path.join(there, os.path.relpath(mx.queue, disk.path))
        node.mail = os.path.join(there, os.path.relpath(mx.mail, disk.path))
        controls = node.control_files()
        node.control_files = lambda: controls  # nothing changes there
        return judge(frozen, all_delivered(node), all_queued(node)), pieces
    finally:
        run("umount", there)
        os.unlink(image)


def cut_under_load(disk, node, ledger, settings, cuts):
    mx = node(queue=os.path.join(disk.path, "queue"), mail=os.path.join(disk.path, "mail"),
              settings=settings)
    generator = Generator(ledger, lambda: Client(mx, timeout=20),
                          lambda source: [f"box{source.randrange(8)}@a.test"], connections=6,
                          pause=0.002, seed=SEED)
    try:
        return mx, [verdict_of_cut(mx, disk, ledger, SEED + 7 * i, CHANCES[i % len(CHANCES)])
                    for i in range(cuts)]
    finally:
        generator.stop()


@pytest.fixture(autouse=True)
def cheap_messages(monkeypatch):
    monkeypatch.setattr("common.ledger.make_message", make_message)


@pytest.mark.parametrize("settings", ["", "stage maildir { paused = yes }"],
                         ids=["delivering", "waiting"])
def test_power_cuts(volatile_disk, node, ledger, settings, capsys):
    mx, verdicts = cut_under_load(volatile_disk, node, ledger, settings, CUTS)
    assert mx.log.find("queue_opened")[-1]["sync"] == "ordered"
    with capsys.disabled():
        print(f"\n  {len(verdicts)} cuts (POWER_SEED={SEED}), undecided pieces: "
              f"{[pieces for _, pieces in verdicts]}\n  {verdicts[-1][0]}")
    assert verdicts[-1][0].accepted > 50, "the load was too small to mean anything"
    for verdict, _ in verdicts:
        assert not verdict.lost, verdict.lost[:20]
        assert not verdict.corrupt, verdict.corrupt[:20]


@pytest.mark.parametrize("volatile_disk", ["barrier=0", "data=writeback", "data=journal"],
                         indirect=True)
def test_order_is_not_assumed(volatile_disk, node):
    mx = node(queue=os.path.join(volatile_disk.path, "queue"))
    assert mx.log.find("queue_opened")[-1]["sync"] in ("filesystem", "files")


@pytest.mark.parametrize("volatile_disk", ["barrier=0"], indirect=True)
def test_a_disk_that_is_not_flushed_loses_mail(volatile_disk, node, ledger):
    """The judge sees it: on such a disk nothing can be promised."""
    _, verdicts = cut_under_load(volatile_disk, node, ledger, "queue_sync = ordered", 2)
    assert any(verdict.lost or verdict.corrupt for verdict, _ in verdicts)
