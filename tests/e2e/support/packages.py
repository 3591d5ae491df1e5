# SPDX-License-Identifier: ISC
"""Our Debian packages, and a machine on which they are installed as an administrator would."""

import fcntl
import functools
import glob
import hashlib
import os
import pathlib
import shutil
import subprocess

from machine import BareMachine
from stagepost import PATIENCE, ROOT

PACKAGES = ("stagepost", "stagepost-ldap", "stagepost-mariadb", "stagepost-postgresql")
VERSION = "0.1.0"
NEXT = "0.1.1"
INSTALLING = 10 * PATIENCE
FOLDER = "/root/packages"


def state_of_tree():
    """Changes with each file that is in the packages, or that they are built from."""
    state = hashlib.sha256()
    for part in ("debian", "dist", "doc", "src", "tools"):
        for base, name in sorted((base, name) for base, _, names in os.walk(os.path.join(ROOT, part))
                                 for name in names if "__pycache__" not in base):
            found = os.stat(os.path.join(base, name), follow_symlinks=False)
            state.update(repr((base, name, found.st_size, found.st_mtime_ns)).encode())
    return state.hexdigest()


@functools.cache
def built(version):
    """The folder of the packages, built from the tree as it is, as VERSION. Whoever comes while another test builds
    them waits, and has the same."""
    folder = os.path.join(ROOT, "build-deb", version)
    state = f"{folder}.state"
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_old = os.environ.get("PACKAGES") == "old" and glob.glob(f"{folder}/*.deb")
        now = state_of_tree()
        if not is_old and (not os.path.exists(state) or pathlib.Path(state).read_text("ascii") != now):
            pathlib.Path(state).unlink(missing_ok=True)
            subprocess.run([os.path.join(ROOT, "tools/deb"), "--version", version, folder], check=True,
                           env=os.environ | {"DEB_BUILD_OPTIONS": "noautodbgsym"})
            pathlib.Path(state).write_text(now, "ascii")
    return folder


class Site(BareMachine):
    """Users, cron, mail readers and packages to come, but no mail system yet."""

    def make(self):
        super().make()
        self.write("/etc/hosts", "127.0.0.1 localhost\n127.0.1.1 mx.example.org mx\n")
        self.write("/etc/hostname", "mx\n")

    def bring(self, version):
        """The packages of VERSION, in a folder of the machine."""
        place = f"{FOLDER}/{version}"
        shutil.copytree(built(version), self.root + place, ignore=lambda folder, names: [
            name for name in names if not name.endswith(".deb")], dirs_exist_ok=True)
        return place

    def file(self, version, package="stagepost"):
        [found] = glob.glob(f"{self.root}{self.bring(version)}/{package}_*.deb")
        return found[len(self.root):]

    def answer(self, **answers):
        kinds = {"mailer_type": "select", "purge_mail": "boolean"}
        self.run("debconf-set-selections", data="".join(
            f"stagepost stagepost/{name} {kinds.get(name, 'string')} {value}\n" for name, value in answers.items()))

    def apt(self, *words, check=True):
        return self.run("env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get", "-q", "-y", "--no-install-recommends", *words,
                        check=check, timeout=INSTALLING)

    def is_installed(self, package="stagepost"):
        status = self.run("dpkg-query", "-W", "-f", "${db:Status-Status}", package, check=False)
        return status.stdout == "installed"

    def version(self):
        return self.run("dpkg-query", "-W", "-f", "${Version}", "stagepost").stdout

    def has_mail(self, user, text):
        return self.run("grep", "-qrsF", text, f"/var/mail/{user}", check=False).returncode == 0


if __name__ == "__main__":
    for each in VERSION, NEXT:
        built(each)
