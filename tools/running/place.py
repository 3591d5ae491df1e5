# SPDX-License-Identifier: ISC
"""Who the servers run as, where their programs and files are, and which ports they have."""
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile

from running.failed import Failed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = ("stagepost", "queue", "send", "resolve", "names", "remote", "lmtp", "local", "pipe", "launch",
            "smtpd", "keys", "list", "directory", "auth", "handover", "noded")
RUN_PATH_MAX = 90  # of the setting "run": the path of a UNIX socket has 107 bytes
CERTIFICATES_PATIENCE = 60  # seconds


class Account:
    """Who the servers run as."""

    def __init__(self):
        self.is_root = os.geteuid() == 0
        self.entry = self.choose() if self.is_root else None
        # for the commands: called by root they become this user, too
        self.name = self.entry.pw_name if self.is_root else ""

    @staticmethod
    def choose():
        for name in (os.environ.get("SUDO_USER"), "nobody"):
            try:
                entry = pwd.getpwnam(name) if name else None
            except KeyError:
                continue
            if entry and entry.pw_uid != 0:
                return entry
        raise Failed("there is no user \"nobody\" to run as")

    def popen_options(self):
        if not self.is_root:
            return {}
        return {"user": self.entry.pw_uid, "group": self.entry.pw_gid, "extra_groups": []}

    def own(self, path):
        """Makes PATH and all in it the account's."""
        if not self.is_root:
            return
        for folder, _, files in os.walk(path):
            for entry in [folder] + [os.path.join(folder, file) for file in files]:
                os.chown(entry, self.entry.pw_uid, self.entry.pw_gid, follow_symlinks=False)

    def can(self, flag, path):
        """Whether the account may do what test(1) calls FLAG with PATH."""
        return subprocess.call(["/usr/bin/test", flag, path], **self.popen_options()) == 0


class Place:
    """Where the programs and the instances' files are."""

    def __init__(self, account):
        self.account = account
        self.build = ROOT / "build"
        self.var = ROOT / "var"
        self.temporary = []
        if not all((self.build / program).exists() for program in PROGRAMS):
            raise Failed(f"{self.build} is not built: run \"make\"")
        self.var.mkdir(exist_ok=True)
        account.own(self.var)
        if not (account.can("-x", self.build / "stagepost") and account.can("-w", self.var)):
            self.move()

    def make_temporary(self):
        path = pathlib.Path(tempfile.mkdtemp(prefix="stagepost-"))
        self.temporary.append(path)
        return path

    def move(self):
        if not self.account.is_root:
            raise Failed(f"{self.var} is not writable (left by another user?): remove it")
        path = self.make_temporary()
        print(f"The user {self.account.entry.pw_name} cannot reach {ROOT}: running in {path}.")
        shutil.copytree(self.build, path / "build", ignore=lambda folder, names: [
            name for name in names if name not in PROGRAMS])
        self.build = path / "build"
        self.var = path / "var"
        self.var.mkdir()
        path.chmod(0o755)
        self.account.own(path)

    def make_certificates(self, hostnames):
        """Anew each time, with the address of loopback in each."""
        folder = self.certificates
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        subprocess.run([ROOT / "tests/common/make-certificates", folder,
                        *(f"loopback-{hostname}" for hostname in hostnames)],
                       check=True, timeout=CERTIFICATES_PATIENCE)
        self.account.own(folder)

    @property
    def certificates(self):
        return self.var / "certificates"

    @property
    def authority(self):
        return self.certificates / "authority.pem"

    def certificate(self, hostname):
        """The files of its chain and of its key."""
        path = self.certificates / f"loopback-{hostname}"
        return f"{path}.pem", f"{path}.key"

    def run_directory(self, base):
        if len(str(base / "run")) <= RUN_PATH_MAX:
            return base / "run"
        path = self.make_temporary()
        self.account.own(path)
        print(f"{base}/run is too long for the path of a socket: using {path}.")
        return path

    def clear(self):
        for path in self.temporary:
            shutil.rmtree(path, ignore_errors=True)


def free_ports(first, count):
    """COUNT loopback ports that nobody has, from FIRST on."""
    ports = []
    for port in range(first, 65536):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise Failed("no free ports")
