# SPDX-License-Identifier: ISC
"""A filesystem on a disk that records what it is told, and one on the disk that a power cut
left. Filesystems: their names, how they are made, and how they are checked."""

import os
import struct
import subprocess

from stagepost import ROOT, wait_until

BUILD = os.path.abspath(os.environ.get("STAGEPOST_BUILD", os.path.join(ROOT, "build")))
LONG = 60  # seconds; for a command that hangs

# (options of mkfs, options of mount), by turns
VARIANTS = {
    "ext4": [([], "rw"), (["-O", "fast_commit"], "rw"), ([], "nodelalloc,dioread_lock"),
             (["-b", "1024"], "rw")],
    "xfs": [([], "rw"), (["-m", "bigtime=0,inobtcount=0", "-i", "sparse=0"], "rw")],
    "btrfs": [([], "rw"), (["-m", "single"], "compress")],
}
MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
}
CHECK = {
    "ext4": ["e2fsck", "-f", "-n"],
    "xfs": ["xfs_repair", "-n"],
    "btrfs": ["btrfs", "check", "--readonly"],
}
SIZE = 1 << 30  # a sparse file


class Broken(Exception):
    """The filesystem does not come back: nobody can be blamed for mail on it."""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG)
    if done.returncode != 0:
        raise Broken(f"{' '.join(command)}: {done.stdout.strip()} {done.stderr.strip()}")
    return done.stdout.strip()


def make_filesystem(filesystem, path, options=()):
    with open(path, "wb") as file:
        file.truncate(SIZE)
    run(*MAKE[filesystem], *options, path)


def copy(source, target):
    run("cp", "--sparse=always", source, target)


def check_filesystem(filesystem, path):
    """Raises Broken unless it is whole."""
    run(*CHECK[filesystem], path)


class Mount:
    """The filesystem in the file IMAGE at PATH. The loop device goes with the mount, also
    when we are killed."""

    def __init__(self, filesystem, image, path, options="rw", direct=False):
        self.path = path
        os.makedirs(path, exist_ok=True)
        device = run("losetup", "--find", "--show", *(["--direct-io=on"] if direct else []), image)
        held = os.open(device, os.O_RDONLY)
        try:
            run("losetup", "--detach", device)  # when nobody has it open any more
            run("mount", "-t", filesystem, "-o", options, device, path)
        finally:
            os.close(held)

    def close(self):
        wait_until(lambda: subprocess.run(["umount", self.path], capture_output=True,
                                          check=False).returncode == 0,
                   f"{self.path} can be unmounted")


class RecordingMount:
    """The same, on a disk that records into FOLDER/log."""

    def __init__(self, filesystem, image, folder, path, options="rw", forgetful=False):
        self.log = os.path.join(folder, "log")
        served = os.path.join(folder, "fuse")
        os.makedirs(served, exist_ok=True)
        position = os.path.join(folder, "position")
        self.served = served
        self.server = subprocess.Popen(
            [os.path.join(BUILD, "tests/power/power_disk"), image, self.log, position, served,
             *(["forgetful"] if forgetful else [])], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE)
        if self.server.stdout.readline() != b"ready\n":
            raise Broken("power_disk did not start")
        with open(position, "rb") as file:
            self._position = os.dup(file.fileno())
        try:
            self.mount = Mount(filesystem, os.path.join(served, "image"), path, options,
                               direct=True)
        except Broken:
            self._stop()
            raise

    def position(self):
        """The number of the last record."""
        return struct.unpack("Q", os.pread(self._position, 8, 0))[0]

    def close(self):
        self.mount.close()
        self._stop()

    def _stop(self):
        os.close(self._position)
        wait_until(lambda: subprocess.run(["umount", self.served], capture_output=True,
                                          check=False).returncode == 0,
                   "the loop device has left the disk")
        self.server.wait(LONG)
        self.server.stdout.close()
