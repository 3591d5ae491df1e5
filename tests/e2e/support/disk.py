# SPDX-License-Identifier: ISC
"""Filesystems for tests: an ext4 image behind a loop device, mounted by root."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from stagepost import give_to_user, is_root, wait_until


class Unavailable(Exception):
    """No loop devices, or no right to use them."""


def image_directory(size):
    """Where an image of that SIZE is fast: in memory, if there is plenty."""
    try:
        if shutil.disk_usage("/dev/shm").free > 2 * size:
            return "/dev/shm"
    except OSError:
        pass
    return tempfile.gettempdir()


def users_of(path):
    """The processes that have something open there, or are there."""
    found = []
    for links in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            places = [os.readlink(link) for link in [links / "cwd", links / "exe", *(links / "fd").iterdir()]]
            if any(place.startswith(path) for place in places):
                found.append(f"{links.name} {(links / 'comm').read_text().strip()}")
    return found


class Image:
    """An ext4 filesystem of SIZE bytes, mounted at PATH until close()."""

    kind = "ext4"
    options = "loop"

    def __init__(self, path, size, inodes=None):
        if not is_root():
            raise Unavailable("only root mounts images")
        self.path = path
        handle, self.file = tempfile.mkstemp(prefix="stagepost-e2e-", suffix="." + self.kind,
                                             dir=image_directory(size))
        os.ftruncate(handle, size)
        os.close(handle)
        os.makedirs(path, exist_ok=True)
        try:
            self.make(inodes)
            self._run("mount", "-t", self.kind, "-o", self.options, self.file, path)
        finally:
            os.unlink(self.file)  # the mount keeps it: nothing is left even when we are killed
        give_to_user(path)

    def make(self, inodes):
        self._run("mkfs.ext4", "-q", "-F", "-m", "0",
                  *(["-N", str(inodes)] if inodes else []), self.file)

    @staticmethod
    def _run(*command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"{command[0]}: {done.stderr.strip()}")

    def close(self):
        try:
            wait_until(lambda: self._unmount() == 0, f"{self.path} can be unmounted")
        except AssertionError as why:
            # the kernel alone may still have it, such as descriptors that nobody has received
            if (users := users_of(self.path)) or self._unmount("--lazy") != 0:
                raise AssertionError(f"{why}: {', '.join(users)}") from why

    def _unmount(self, *options):
        return subprocess.run(["umount", *options, self.path], capture_output=True, check=False).returncode


class QuotaImage(Image):
    """A subvolume of a btrfs that lets it hold SIZE bytes: quotas that no kernel of today
    comes without, unlike ext4's."""

    kind = "btrfs"
    options = "loop,commit=1"  # what was removed counts until then, and that is 30 s by default

    def __init__(self, path, size):
        self.top = path + ".top"
        super().__init__(self.top, 160 << 20)
        self.path = os.path.join(self.top, "limited")
        self._run("btrfs", "quota", "enable", self.top)
        self._run("btrfs", "subvolume", "create", self.path)
        self._run("btrfs", "qgroup", "limit", str(size), self.path)
        give_to_user(self.path)

    def make(self, inodes):
        self._run("mkfs.btrfs", "-q", "-f", "--mixed", self.file)

    def close(self):
        self.path = self.top
        super().close()
