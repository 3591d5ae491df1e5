# SPDX-License-Identifier: ISC
"""Mail is handed over to a booted machine, and by it, under the unit and the users of the package: the other
node runs beside it, on the machine's loopback."""

import os
import subprocess
import sys

import pytest

from directory_tls import make_certificates, settings_of
from stagepost import PATIENCE, free_port, is_root, wait_until
from test_machine import fixture_booted, fixture_machine, start  # noqa: F401 # pylint: disable=unused-import

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can boot a machine")

NAME, OTHER = "mx.example.org", "edge.test"
TLS = "/etc/stagepost/tls"
TEXT = b"From: <eve@example.net>\r\nSubject: %s\r\n\r\nA line.\r\n"
KILL = 'for p in /proc/[0-9]*; do [ "$(cat $p/comm)" != "$1" ] || kill -KILL "${p#/proc/}"; done'
USERS = "".join(f'process {process} {{ user = "stagepost-{process}" }}\n'
                for process in ("keys", "directory", "handover", "noded"))


class Pair:
    """The machine looks up what comes in at "edge", stores it, and has "edge" send to other hosts."""

    def __init__(self, machine, node, ground):
        self.machine = machine
        self.ports = {name: free_port() for name in (NAME, OTHER, "directory")}
        keys = make_certificates(ground.directory("certificates"), f"loopback-{NAME}", f"loopback-{OTHER}")
        for name in (f"loopback-{NAME}.pem", f"loopback-{NAME}.key", "authority.pem"):
            with open(os.path.join(keys, name), encoding="ascii") as file:
                machine.write(f"{TLS}/{name}", file.read(), 0o640 if name.endswith(".key") else 0o644)
        machine.run("chgrp", "stagepost-keys", f"{TLS}/loopback-{NAME}.key")
        machine.configure(lambda text: text + USERS + self.settings(
            NAME, settings_of(TLS, f"loopback-{NAME}"),
            f'path = "/var/lib/stagepost/directory.db" readers = {{ "{OTHER}" }} '
            f'listen = {{ "127.0.0.1:{self.ports["directory"]}" }}'))
        self.edge = node("edge", start=False, hostname=OTHER)
        self.edge.prefix = ["nsenter", "-t", machine.leader, "-n"]
        self.edge.settings = self.settings(
            OTHER, settings_of(keys, f"loopback-{OTHER}"),
            f'backend = servers servers = {{ "127.0.0.1:{self.ports["directory"]}" }}')
        self.edge.write_configuration()

    def settings(self, name, keys, directory):
        return f"""node {{ name = "{name}" listen = {{ "127.0.0.1:{self.ports[name]}" }} {keys} }}
stage arrive {{ nodes = core }}
transport remote {{ nodes = out }}
directory {{ {directory} {keys} }}
"""

    def start(self):
        start(self.machine)
        for name, group in ((NAME, "core"), (OTHER, "out")):
            self.machine.run("stagepost", "node", "put", name, f"address=127.0.0.1:{self.ports[name]}",
                             f"group={group}")
        self.edge.start()
        self.edge.log.wait("node_ready", node=NAME)

    def send(self, recipient, subject):
        """By a client of the machine's network."""
        script = (f'import smtplib\nwith smtplib.SMTP("127.0.0.1", {self.edge.port}) as client:\n'
                  f'    client.sendmail("eve@example.net", ["{recipient}"], {TEXT % subject!r})\n')
        subprocess.run([*self.edge.prefix, sys.executable, "-c", script], check=True, timeout=PATIENCE)

    def stored(self, user, count):
        folder = f"{self.machine.root}/var/mail/example.org/{user}/new"
        wait_until(lambda: os.path.isdir(folder) and len(os.listdir(folder)) >= count, f"{count} for {user}", 60)
        assert len(os.listdir(folder)) == count

    def unsettled(self):
        return self.machine.run("find", "/var/spool/stagepost/handed", "-mindepth", "2", "-not", "-name",
                                "run.*").stdout


@pytest.fixture(name="pair")
def fixture_pair(machine, node, ground):
    made = Pair(machine, node, ground)
    made.start()
    yield made
    made.edge.stop()
    machine.run("sh", "-c", f"rm -rf {TLS} /var/lib/stagepost/directory.db* /var/mail/example.org")


def test_mail_goes_both_ways(pair):
    """The machine stores what is its own, and gives back what is for other hosts; nothing is left unsettled."""
    pair.send("bob@example.org", b"in")
    pair.stored("bob", 1)
    pair.send("far@far.test", b"out")
    pair.edge.log.wait("node_took", node=NAME)
    wait_until(lambda: not pair.unsettled(), "nothing is unsettled")
    journal = pair.machine.journal()
    assert "process_error" not in journal and "panic" not in journal, journal[-3000:]
    assert "event=node_took" in journal


def test_it_comes_back_in_the_middle(pair):
    """Processes are killed, the unit is killed, reloaded and started again, while mail comes."""
    machine = pair.machine
    for number, command in enumerate((
            ("sh", "-c", KILL, "kill", "noded"), ("systemctl", "reload", "stagepost"),
            ("sh", "-c", KILL, "kill", "handover"), ("systemctl", "restart", "stagepost"),
            ("systemctl", "kill", "-s", "KILL", "--kill-who=main", "stagepost"))):
        for recipient in (f"user{number}@example.org", "all@example.org"):
            pair.send(recipient, b"%d" % number)
        machine.run(*command, timeout=60)
        pair.send(f"user{number}@example.org", b"after")
    for number in range(5):
        pair.stored(f"user{number}", 2)
    pair.stored("all", 5)
    wait_until(lambda: not pair.unsettled(), "nothing is unsettled", 60)


def test_its_node_is_drained(pair):
    """By root of that machine, within the paths of the unit."""
    machine = pair.machine
    ended = machine.run("stagepost", "node", "drain", NAME, timeout=60)
    assert ended.stdout == f"{NAME}: nothing is left\n"
    pair.send("bob@example.org", b"waits")
    pair.edge.log.wait("trigger_set", trigger="nodes.core")
    machine.run("stagepost", "node", "activate", NAME)
    pair.stored("bob", 1)
