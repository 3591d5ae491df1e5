# SPDX-License-Identifier: ISC
"""A disk with a cache that forgets: an ext4 filesystem on a loop device on a file that we
serve ourselves (FUSE, spoken by hand). What was written since the last flush is in the
cache; cut() makes an image of what a power cut leaves, any pieces of that."""

import ctypes
import multiprocessing
import os
import random
import select
import shutil
import struct
import subprocess
import tempfile

from disk import Unavailable, image_directory
from stagepost import give_to_user, is_root, wait_until

PIECE = 4096
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE = 1, 2, 3, 4, 14, 15, 16
RELEASE, FSYNC, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 18, 20, 25, 26, 36, 42
MAX_WRITE = 128 << 10
DIRECT_IO = 1
ENOENT, ENOSYS = 2, 38
ROOT, FILE = 1, 2


class Platter:
    def __init__(self, image):
        self.image = bytearray(image)
        self.cache = []  # (offset, bytes), oldest first, all of it in IMAGE as well
        self.durable = bytearray(image)

    def write(self, offset, data):
        self.image[offset:offset + len(data)] = data
        self.cache.append((offset, data))

    def flush(self):
        for offset, data in self.cache:
            self.durable[offset:offset + len(data)] = data
        self.cache.clear()

    def cut(self, path, seed, chance):
        """The durable bytes, and each piece of the others with that CHANCE."""
        source = random.Random(seed)
        left = bytearray(self.durable)
        pieces = 0
        for offset, data in self.cache:
            for start in range(0, len(data), PIECE):
                pieces += 1
                if source.random() < chance:
                    piece = data[start:start + PIECE]
                    left[offset + start:offset + start + len(piece)] = piece
        with open(path, "wb") as file:
            file.write(left)
        return pieces

    def attributes(self, node):
        mode, size = (0o040755, 0) if node == ROOT else (0o100600, len(self.image))
        return struct.pack("<6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0,
                           PIECE, 0)

    def answer(self, operation, node, body):
        """The reply's bytes, or a number: the error."""
        if operation == INIT:
            major, _, readahead, _ = struct.unpack_from("<4I", body)
            return struct.pack("<4I2H2I2H8I", major, 31, readahead, 0, 64, 48, MAX_WRITE, 1,
                               0, 0, *[0] * 8)
        if operation == LOOKUP:
            if body.rstrip(b"\0") != b"image":
                return ENOENT
            return struct.pack("<4Q2I", FILE, 0, 3600, 3600, 0, 0) + self.attributes(FILE)
        if operation in (GETATTR, SETATTR):
            return struct.pack("<Q2I", 3600, 0, 0) + self.attributes(node)
        if operation == OPEN:
            return struct.pack("<Q2I", 0, DIRECT_IO, 0)
        if operation == READ:
            _, offset, size = struct.unpack_from("<2QI", body)
            return bytes(self.image[offset:offset + size])
        if operation == WRITE:
            _, offset, size = struct.unpack_from("<2QI", body)
            self.write(offset, body[40:40 + size])
            return struct.pack("<2I", size, 0)
        if operation == FSYNC:
            self.flush()
            return b""
        return b"" if operation in (RELEASE, FLUSH) else ENOSYS


def serve(device, image, commands):
    platter = Platter(image)
    wanted, writes = None, 0
    while True:
        ready, _, _ = select.select([device, commands], [], [], 0.5)
        if commands in ready:
            writes, *wanted = commands.recv()
        if wanted and (writes <= 0 or not ready):  # nobody writes: now or never
            commands.send(platter.cut(*wanted))
            wanted = None
        if device not in ready:
            continue
        try:
            request = os.read(device, MAX_WRITE + 4096)
        except OSError:  # unmounted
            return
        _, operation, unique, node = struct.unpack_from("<2I2Q", request)
        if operation in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        reply = platter.answer(operation, node, request[40:])
        writes -= operation == WRITE
        error, data = (-reply, b"") if isinstance(reply, int) else (0, reply)
        os.write(device, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


class VolatileDisk:
    """Mounted at PATH until close()."""

    def __init__(self, path, size, options="rw"):
        if not is_root():
            raise Unavailable("only root mounts disks")
        self.path = path
        self.base = tempfile.mkdtemp(prefix="stagepost-e2e-", dir=image_directory(4 * size))
        self.copies = 0
        self.folder = os.path.join(self.base, "fuse")
        made = os.path.join(self.base, "made")
        for folder in (self.folder, path):
            os.makedirs(folder)
        with open(made, "wb") as file:
            file.truncate(size)
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0",
            made)
        with open(made, "rb") as file:
            self._serve(file.read())
        os.unlink(made)
        # the device goes with the mount, also when the tests are killed
        run("mount", "-t", "ext4", "-o", "loop," + options, os.path.join(self.folder, "image"),
            path)
        give_to_user(path)

    def _serve(self, image):
        device = os.open("/dev/fuse", os.O_RDWR)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"volatile", self.folder.encode(), b"fuse", 0,
                      b"fd=%d,rootmode=40000,user_id=0,group_id=0" % device) != 0:
            raise Unavailable("mount of fuse: " + os.strerror(ctypes.get_errno()))
        self.commands, theirs = multiprocessing.Pipe()
        self.server = multiprocessing.get_context("fork").Process(
            target=serve, args=(device, image, theirs), daemon=True)
        self.server.start()
        os.close(device)

    def cut(self, writes, seed, chance):
        """An image of what the power leaves after so many WRITES more; how many pieces
        were undecided."""
        self.copies += 1
        path = os.path.join(self.base, f"cut{self.copies}")
        self.commands.send((writes, path, seed, chance))
        return path, self.commands.recv()

    def close(self):
        wait_until(lambda: subprocess.run(["umount", self.path], capture_output=True,
                                          check=False).returncode == 0,
                   f"{self.path} can be unmounted")
        run("umount", "-l", self.folder)
        self.server.join(5)
        self.server.kill()
        shutil.rmtree(self.base)
