# SPDX-License-Identifier: ISC
"""What stagepost-backup(7) prints is run here as it is printed: a backup, and a restore after the mail of it was
delivered."""

import os

import pytest
import recipes
from smtp import deliver
from stagepost import free_port, give_to_user, is_root, wait_until

pytestmark = pytest.mark.skipif(not is_root(), reason="a machine of its own has root alone")

BACKUP, RESTORE, RELEASE = (recipes.blocks()[f"stagepost-backup.7/{number}"] for number in range(3))
VANISHED = 24  # rsync's exit status when files have ended meanwhile

# A service manager that has one service. "start" ends when it is ready.
SYSTEMCTL = """#!/bin/sh
[ "$2" = stagepost ] || exit 5
[ "$1" = stop ] && exec stagepost stop
[ "$1" = start ] || exit 2
ready() { grep -c event=serve_ready "$NODE_LOG"; }
before=$(ready)
setsid stagepost serve </dev/null >>"$NODE_LOG" 2>&1 &
until [ "$(ready)" -gt "$before" ]; do
	kill -0 $! || exit 1
	sleep 0.1
done
"""


class Machine:
    """Where the node's queue is /var/spool/stagepost, and a disk for backups /mnt."""

    def __init__(self, node, port):
        self.mx = node("mx", start=False, switch_user=True, routes=[f"b.test:127.0.0.1;{port}"])
        self.mx.queue = "/var/spool/stagepost"
        self.mx.write_configuration()
        self.spool = f"{self.mx.directory}/machine/var/spool"
        os.makedirs(f"{self.spool}/stagepost")
        give_to_user(f"{self.spool}/stagepost")
        os.mkdir(f"{self.mx.directory}/bin")
        with open(f"{self.mx.directory}/bin/systemctl", "w", encoding="ascii") as program:
            program.write(SYSTEMCTL)
        os.chmod(program.name, 0o755)

    def run(self, command):
        mx = self.mx
        return recipes.run(command, mx.directory, "mkdir -p machine/mnt; mount --bind machine/mnt /mnt",
                           STAGEPOST_CONF=mx.conf, NODE_LOG=mx.log.path,
                           PATH=f"{mx.directory}/bin:{mx.programs}:{os.environ['PATH']}")

    def run_all(self, block, may=(0,)):
        """Each command of it: what they were."""
        ended = [self.run(command) for command, _, _ in recipes.sessions(block.text)]
        assert all(one.returncode in may for one in ended), ended
        return ended


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def machine(node, port):
    made = Machine(node, port)
    assert made.run("systemctl start stagepost").returncode == 0, made.mx.log.tail()
    yield made
    ended = made.run("systemctl stop stagepost")
    assert ended.returncode == 0, ended


def test_backup_and_restore(machine, node, port):
    mx = machine.mx
    for name in "bob", "carl":
        assert deliver(mx, f"{name}@b.test", b"Subject: before\r\n\r\n").startswith("250 ")
    mx.log.wait("deferred")
    machine.run_all(BACKUP, may=(0, VANISHED))
    hop = node("hop", domains=["b.test"], port=port)
    assert machine.run("stagepost queue retry --all").returncode == 0
    for name in "bob", "carl":
        hop.maildir(f"{name}@b.test").wait()
    assert deliver(mx, "dora@b.test", b"Subject: since\r\n\r\n").startswith("250 ")
    hop.maildir("dora@b.test").wait()
    since = mx.log.mark()
    *_, repaired, _ = machine.run_all(RESTORE)
    assert "2 restored, and held\n" in repaired.stdout and "0 set aside" in repaired.stdout
    assert repaired.stderr.count("event=message_restored") == 2, repaired.stderr
    listed = machine.run("stagepost queue list")
    assert listed.stdout.count("held by the operator") == 2, listed
    assert deliver(mx, "dora@b.test", b"Subject: after\r\n\r\n").startswith("250 ")
    hop.maildir("dora@b.test").wait(2)
    assert not mx.log.find("delivered", since, to="bob@b.test")
    machine.run_all(RELEASE)
    for name in "bob", "carl":
        hop.maildir(f"{name}@b.test").wait(2)
    wait_until(lambda: "Mail queue is empty" in machine.run("stagepost queue list").stdout, "nothing is left")
    assert os.path.exists(f"{machine.spool}/stagepost.old/format")
