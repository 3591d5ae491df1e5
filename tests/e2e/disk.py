# SPDX-License-Identifier: ISC
"""Filesystems for tests: an ext4 image behind a loop device, mounted by root."""

import os
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


class Image:
    """An ext4 filesystem of SIZE bytes, mounted at PATH until close()."""

    def __init__(self, path, size, inodes=None):
        if not is_root():
            raise Unavailable("only root mounts images")
        self.path = path
        handle, self.file = tempfile.mkstemp(prefix="stagepost-e2e-", suffix=".ext4",
                                             dir=image_directory(size))
        os.ftruncate(handle, size)
        os.close(handle)
        os.makedirs(path, exist_ok=True)
        try:
            self._run("mkfs.ext4", "-q", "-F", "-m", "0",
                      *(["-N", str(inodes)] if inodes else []), self.file)
            self._run("mount", "-t", "ext4", "-o", "loop", self.file, path)
        finally:
            os.unlink(self.file)  # the mount keeps it: nothing is left even when we are killed
        give_to_user(path)

    @staticmethod
    def _run(*command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"{command[0]}: {done.stderr.strip()}")

    def close(self):
        wait_until(lambda: subprocess.run(["umount", self.path], capture_output=True,
                                          check=False).returncode == 0,
                   f"{self.path} can be unmounted")
