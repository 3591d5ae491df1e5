# SPDX-License-Identifier: ISC
"""A Debian machine of its own, with systemd as its first process: a container of systemd-nspawn
on a disk of ours, without a network but its own loopback."""

import os
import shutil
import subprocess
import time

from inside import status_of
from stagepost import PATIENCE, ROOT

PACKAGES = os.path.join(ROOT, "build-packages")
NSPAWN = os.path.join(PACKAGES, "systemd-container/usr/bin/systemd-nspawn")
DISK = 3 << 30

CONFIG = """\
hostname = "mx.example.org"
user = "stagepost"
process smtpd { user = "stagepost-smtpd" }
process resolve { user = "stagepost-resolve" }
process names { user = "stagepost-names" }
process policy { user = "stagepost-policy" }
process auth { user = "stagepost-auth" }
process remote { user = "stagepost-remote" }
process local { user = "stagepost-local" }
process pipe { user = "stagepost-pipe" }
listen smtp { address = { "127.0.0.1:25" } }
service maildir { kind = maildir path = "/var/mail/%d/%u" }
domain "example.org" { service = maildir }
relay_from = { "127.0.0.0/8" }
"""


def is_first(pid):
    """Whether it is process 1 of another namespace."""
    try:
        return status_of(pid)["NSpid"][1:][-1:] == ["1"]
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return False


class BareMachine:
    """Boots a Debian of the packages of tools/packages-machine-NAME.txt."""

    name = "bare"

    def __init__(self, folder):
        self.image = os.path.join(folder, "disk")
        self.root = os.path.join(folder, "root")
        self.process = None
        self.leader = None

    def make(self):
        subprocess.run([os.path.join(ROOT, "tools/unpack-package"), "systemd-container",
                        os.path.join(PACKAGES, "systemd-container")], check=True)
        subprocess.run([os.path.join(ROOT, "tools/make-debian"), "--machine", self.name], check=True)
        os.mkdir(self.root)
        with open(self.image, "wb") as file:
            file.truncate(DISK)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True)
        subprocess.run(["mount", "-o", "loop", self.image, self.root], check=True)
        subprocess.run(["tar", "-C", self.root, "-xf", os.path.join(PACKAGES, f"debian-{self.name}.tar")], check=True)

    def boot(self):
        self.process = subprocess.Popen(
            [NSPAWN, "--quiet", "--register=no", "--keep-unit", "--private-network",
             # newer than what this systemd lets a container call
             "--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self",
             "--console=pipe", "--machine=stagepost", "--boot", "--directory", self.root],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait(self.find_leader, "the machine's first process")
        self.wait(lambda: self.run("systemctl", "is-system-running", "--wait", check=False)
                  .stdout.strip() in ("running", "degraded"), "a booted system", 12 * PATIENCE)

    def find_leader(self):
        """The child that is process 1 of a namespace: there is another one for a moment, which makes it."""
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(children, encoding="ascii") as file:
            words = file.read().split()
        self.leader = next(filter(is_first, words), None)
        return self.leader is not None

    def wait(self, is_so, what, seconds=PATIENCE):
        """There is no event to wait for: systemd tells a change to none but D-Bus."""
        deadline = time.monotonic() + seconds
        while not is_so():
            assert self.process.poll() is None, "the machine has ended"
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            time.sleep(0.1)

    def run(self, *command, check=True, data=None, timeout=PATIENCE):
        ended = subprocess.run(
            ["nsenter", "-t", self.leader, "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w",
             "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
             *command], input=data, check=False, capture_output=True, text=True, timeout=timeout)
        assert not check or ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
        return ended

    def write(self, path, text, mode=0o644):
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def unit(self, *names):
        """Properties of the unit, as systemctl shows them."""
        text = self.run("systemctl", "show", "stagepost", "-p", ",".join(names)).stdout
        return dict(line.split("=", 1) for line in text.splitlines())

    def status(self):
        self.run("journalctl", "--sync")  # it takes lines in when it gets to it
        return self.run("systemctl", "status", "stagepost", "--no-pager", "--full",
                        check=False).stdout

    def journal(self):
        return self.run("journalctl", "-u", "stagepost", "-o", "cat", "--no-pager").stdout

    def end(self):
        if self.process is not None:
            self.process.terminate()  # nspawn ends what is in the machine
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        subprocess.run(["umount", "--lazy", self.root], check=False)
        shutil.rmtree(os.path.dirname(self.image), ignore_errors=True)


class Machine(BareMachine):
    """Boots with what "make install" has put there."""

    name = "whole"

    def make(self):
        super().make()
        subprocess.run(["meson", "install", "-C", os.path.join(ROOT, "build"), "--no-rebuild",
                        "--quiet", "--destdir", self.root], check=True,
                       env=os.environ | {"DESTDIR": ""})
        self.configure()

    def boot(self):
        super().boot()
        self.run("systemd-tmpfiles", "--create", "/usr/local/lib/tmpfiles.d/stagepost.conf")

    def configure(self, change=lambda text: text):
        self.write("/etc/stagepost/stagepost.conf", change(CONFIG))
