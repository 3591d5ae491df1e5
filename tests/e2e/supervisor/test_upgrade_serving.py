# SPDX-License-Identifier: ISC
"""Another version takes over while mail flows: no connection is refused, nothing is lost; and a version that
does not become ready changes nothing."""

import os
import random

import pytest
from extent import some
from smtp import deliver
from stagepost import PATIENCE, files_below, wait_until
from upgrades import Scene, subreaper

UPGRADES = int(os.environ.get("UPGRADES", "3"))
SEED = int(os.environ.get("UPGRADE_SEED", "0")) or random.randrange(1, 10**6)
VERSIONS = (b"0.1.0", b"0.1.1", b"0.0.9")
QUICK = "upgrade_timeout = 2s\n"
SHELL = "#!/bin/sh\n"
# a successor that keeps to the protocol until it is its turn, and then does not
TURNS_BAD = """#!/usr/bin/python3
import os, signal, socket, struct, sys, time
{before}
if "--successor" in sys.argv:
    node = socket.socket(fileno=3)
    node.setblocking(True)
    node.send(struct.pack("=HHI", 1, 1, 0))
    while struct.unpack("=HHI", node.recv(65536)[:8])[1] != 6:
        pass
    {then}
"""
SPOILT = {
    "ends at once": ("stagepost", SHELL + "exit 7\n", "the new version has ended: exit 7"),
    "is no program": ("stagepost", "nothing", "the new version has ended: exit 127"),
    "hangs at once": ("stagepost", SHELL + "exec sleep 1000\n", "has not begun in time (setting upgrade_timeout)"),
    "hangs in its turn": ("stagepost", TURNS_BAD.format(
        before="signal.signal(signal.SIGTERM, signal.SIG_IGN)", then="time.sleep(1000)"),
        "was not ready in time (setting upgrade_timeout)"),
    "dies in its turn": ("stagepost", TURNS_BAD.format(before="", then="os.kill(os.getpid(), 11)"),
                         "the new version has ended: signal 11"),
    "breaks the protocol": ("stagepost", TURNS_BAD.format(before="", then="node.send(b'what'); time.sleep(1000)"), ""),
    "cannot open the queue": ("queue", SHELL + "exit 1\n", "was not ready in time (setting upgrade_timeout)"),
    "has mute processes": ("smtpd", SHELL + "exec sleep 1000\n", "was not ready in time (setting upgrade_timeout)"),
    "lacks a program": ("send", None, "was not ready in time (setting upgrade_timeout)"),
}


@pytest.fixture
def scene(node, ground):
    def make(**more):
        return Scene(node, ground.directory("scene"), **more)

    with subreaper():
        yield make


def test_under_load(scene):
    chance = random.Random(SEED)
    made = scene()
    with made.load() as ledger:
        for _ in range(UPGRADES):
            version = chance.choice(VERSIONS)
            made.installed.install(version)
            assert made.installed.upgrade() == (0, "")
            assert made.installed.version() == version.decode()
    print(f"seed {SEED}: {UPGRADES} upgrades, {ledger.connections} connections, {len(ledger.accepted)} messages, "
          f"{ledger.turned_away} told to come back, the slowest first byte after {ledger.slowest:.2f} s")


@pytest.mark.parametrize("fault", some(SPOILT, 2))
def test_a_version_that_cannot_begin_changes_nothing(scene, fault):
    """The old one goes on, from files that are not there any more; the next version that can takes over."""
    name, script, reason = SPOILT[fault]
    made = scene(settings=QUICK)
    pid = made.mx.process.pid
    with made.load() as ledger:
        made.installed.install(b"0.1.1")
        if script is None:
            os.unlink(os.path.join(made.mx.programs, name))
        else:
            made.installed.spoil(name, script)
        status, said = made.installed.upgrade(os.path.join(made.installed.built, "stagepost"))
        assert status == 1 and "refused, the version that ran before goes on" in said and reason in said, said
        assert made.mx.log.find("upgrade_failed")[-1]["reason"]
        assert made.mx.process.pid == pid and made.mx.process.poll() is None
        before = len(ledger.accepted)
        wait_until(lambda: len(ledger.accepted) > before + 20, "mail flows again", 2 * PATIENCE)
        assert made.installed.version() == "0.1.0"
        made.installed.install(b"0.1.1")
        assert made.installed.upgrade() == (0, "")
        assert made.installed.version() == "0.1.1"


DIRECTORY = 'directory {{ backend = sqlite path = "{path}" }}\n'


def set_schema(path, number):
    """The file's user_version, where every version of the program finds it."""
    with open(path, "r+b") as file:
        file.seek(60)
        file.write(number.to_bytes(4, "big"))


@pytest.mark.parametrize("number,status,words", [
    (8, 1, ["directory.db: the directory has format 8", "reads up to 7"]),
    (6, 4, ["directory.db: the directory has format 6", "changes it to 7", "stagepost-backup(7)"])])
def test_what_there_is_no_way_back_from_is_said_first(scene, ground, number, status, words):
    path = os.path.join(ground.directory("data"), "directory.db")
    made = scene(settings=DIRECTORY.format(path=path))
    with open(path, "rb") as file:
        kept = file.read(100)[60:64]
    set_schema(path, number)
    for arguments in ["--check"], []:
        ended = made.installed.run("upgrade", *arguments)
        assert ended.returncode == status and all(word in ended.stderr for word in words), ended
    assert not made.mx.log.find("upgrade_begun")
    set_schema(path, int.from_bytes(kept, "big"))
    assert made.installed.run("upgrade", "--check").returncode == 0
    assert made.installed.upgrade() == (0, "")


def test_a_queue_of_a_newer_version_is_not_taken_over(scene):
    made = scene()
    made.hop.stop()
    deliver(made.mx, "u1@b.test", b"Subject: x\r\n\r\nx\r\n")
    made.mx.log.wait("deferred", to="u1@b.test")
    ((_, path),) = info_files(made.mx).items()
    with open(path, "r+b") as file:
        assert file.read(12) == b"stagepost 2\n"
        file.seek(10)
        file.write(b"3")
    ended = made.installed.run("upgrade")
    assert ended.returncode == 1 and f"{path}: the queue has format 3" in ended.stderr, ended
    assert not made.mx.log.find("upgrade_begun")
    with open(path, "r+b") as file:
        file.seek(10)
        file.write(b"2")


def test_nothing_runs(scene):
    made = scene()
    made.mx.stop()
    assert made.installed.run("upgrade").returncode == 3


def test_a_version_that_knows_no_upgrade_is_left_alone(scene):
    """It would be ended by the signal."""
    made = scene()
    os.unlink(os.path.join(made.mx.run, "stagepost.upgrade"))
    ended = made.installed.run("upgrade")
    assert ended.returncode == 3 and "start it again" in ended.stderr
    assert made.mx.process.poll() is None
    assert made.installed.run("reload").returncode == 0


def info_files(mx):
    return {entry.name: entry.path for entry in files_below(os.path.join(mx.queue, "info"))}
