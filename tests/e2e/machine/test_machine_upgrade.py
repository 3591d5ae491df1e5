# SPDX-License-Identifier: ISC
"""Upgrades, restarts and crashes of the service on a booted Debian 12: who connects meanwhile waits, and is never
refused; "systemctl" shows the process that serves."""

import os
import re
import tempfile

import pytest
from machine import Machine
from stagepost import PATIENCE, is_root

# Connects every few milliseconds and reads the greeting, each tenth time sends a message, until the file OVER is
# there; then prints how many connections, messages and failures there were. The machine has Python without its
# modules for mail.
CLIENT = """\
#!/usr/bin/python3
import os, socket, time
counts = {"connections": 0, "accepted": 0, "broken": 0, "turned_away": 0, "slowest_ms": 0}

def dialogue(*commands):
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", 25), 60) as client:
        replies = client.makefile("r")
        counts["connections"] += 1
        line = replies.readline()
        if not line:
            raise OSError("closed without a word")
        counts["slowest_ms"] = max(counts["slowest_ms"], int(1000 * (time.monotonic() - begun)))
        for command in commands:
            if not line or line.startswith("421"):
                counts["turned_away"] += 1
                return False
            try:
                client.sendall(command.encode())
                line = replies.readline()
                while line[3:4] == "-":
                    line = replies.readline()
            except (ConnectionResetError, BrokenPipeError):
                line = ""
            if line and line[0] not in "23" and not line.startswith("421"):
                raise OSError(line)
    return line.startswith("250")

def send():
    to = f"u{counts['accepted']}-{counts['turned_away']}@example.org"
    if dialogue("HELO client.example\\r\\n", "MAIL FROM:<eve@example.net>\\r\\n", f"RCPT TO:<{to}>\\r\\n",
                "DATA\\r\\n", "Subject: hello\\r\\n\\r\\nA line.\\r\\n.\\r\\n"):
        counts["accepted"] += 1
        print("accepted", to, flush=True)

while not os.path.exists("/tmp/over"):
    try:
        send() if counts["connections"] % 10 == 0 else dialogue()
    except OSError as why:
        counts["broken"] += 1
        print("broken", repr(why), flush=True)
    time.sleep(0.005)
print("over", " ".join(f"{name}={count}" for name, count in counts.items()), flush=True)
"""

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can boot a machine")


@pytest.fixture(name="booted", scope="module")
def fixture_booted():
    machine = Machine(tempfile.mkdtemp(prefix="stagepost-machine-"))
    try:
        machine.make()
        machine.write("/usr/local/bin/mail-always", CLIENT, 0o755)
        machine.boot()
        yield machine
    finally:
        machine.end()


@pytest.fixture(name="machine")
def fixture_machine(booted):
    """With mail that flows until judge()."""
    booted.run("rm", "-f", "/tmp/over", "/tmp/said")
    booted.run("systemctl", "start", "stagepost")
    booted.run("systemd-run", "--unit=clients", "--property=StandardOutput=file:/tmp/said",
               "--property=StandardError=inherit", "/usr/local/bin/mail-always")
    try:
        booted.wait(lambda: "accepted" in booted.run("cat", "/tmp/said").stdout, "mail flows")
    except AssertionError as why:
        raise AssertionError(booted.run("cat", "/tmp/said").stdout + booted.journal()[-3000:]) from why
    yield booted
    booted.run("systemctl", "stop", "clients", "stagepost", check=False)
    booted.run("sh", "-c", "systemctl reset-failed; rm -rf /var/mail/example.org; journalctl --rotate -q; "
               "journalctl --vacuum-time=1s -q; find /var/spool/stagepost -mindepth 1 -delete")


def judge(machine):
    """Nobody was refused, and all is delivered once. What the clients say of themselves."""
    machine.run("touch", "/tmp/over")
    machine.wait(lambda: "over" in machine.run("cat", "/tmp/said").stdout, "the clients end")
    said = machine.run("cat", "/tmp/said").stdout
    assert "broken=0 " in said.splitlines()[-1], said[-2000:]
    accepted = re.findall(r"^accepted (\S+)@", said, re.M)
    assert len(accepted) > 2 and len(set(accepted)) == len(accepted)
    machine.wait(lambda: all(delivered(machine, user) == 1 for user in accepted), "each is delivered once")
    print(said.splitlines()[-1])


def delivered(machine, user):
    folder = f"{machine.root}/var/mail/example.org/{user}/new"
    return len(os.listdir(folder)) if os.path.isdir(folder) else 0


def main_pid(machine):
    return machine.unit("MainPID")["MainPID"]


def test_a_restart_refuses_nobody(machine):
    before = main_pid(machine)
    for _ in range(3):
        machine.run("systemctl", "restart", "stagepost")
    unit = machine.unit("MainPID", "ActiveState", "NFileDescriptorStore")
    assert unit["MainPID"] != before and unit["ActiveState"] == "active"
    assert int(unit["NFileDescriptorStore"]) > 5, unit
    judge(machine)


def test_a_crash_refuses_nobody(machine):
    before = main_pid(machine)
    machine.run("systemctl", "kill", "--kill-who=main", "--signal=KILL", "stagepost")
    machine.wait(lambda: machine.unit("ActiveState")["ActiveState"] == "active" and main_pid(machine) != before,
                 "it is started again", 2 * PATIENCE)
    judge(machine)


def test_an_upgrade_refuses_nobody(machine):
    """By the unit's user, as the main process; the successor is the main process then."""
    for _ in range(3):
        before = main_pid(machine)
        ended = machine.run("stagepost", "upgrade", check=False, timeout=3 * PATIENCE)
        assert ended.returncode == 0, ended.stderr + machine.status()
        machine.wait(lambda old=before: main_pid(machine) not in ("0", old), "systemd knows the main process")
        unit = machine.unit("MainPID", "ActiveState", "SubState", "StatusText", "NRestarts")
        pid = machine.run("cat", "/run/stagepost/stagepost.pid").stdout.strip()
        assert unit == {"MainPID": pid, "ActiveState": "active", "SubState": "running", "NRestarts": "0",
                        "StatusText": "All processes are ready"}, machine.status()
    ended = machine.run("stagepost", "check", "--running", check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    judge(machine)
    machine.run("systemctl", "restart", "stagepost")
    assert machine.unit("ActiveState")["ActiveState"] == "active"
