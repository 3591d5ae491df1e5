# SPDX-License-Identifier: ISC
"""What a recording disk was told (disk_log.h), and the images that a power cut may leave."""

import bisect
import mmap
import os
import struct

WRITE, ZERO, FLUSH = 1, 2, 3
HEADER = struct.Struct("=IIQQQ")
SECTOR, BLOCK, HEAD = 512, 4096, 72
# ext4's superblock is not used with a wrong checksum: seen once, at a cut of a journal's replay
SUPERBLOCK_END = 2048

# how much of what was not flushed survives
NONE, ALL, PREFIX, NEWEST, SOME = "none", "all", "prefix", "newest", "some"
KINDS = (SOME, NONE, SOME, ALL, PREFIX, SOME, NEWEST)


def untorn_mark(filesystem, image):
    """What the blocks have in their heads that a filesystem does not survive torn, whatever is
    on it. XFS's metadata (its UUID): where log recovery was cut itself, the next one takes a
    torn block for replayed by the LSN beside that; 12 of 59 could not be mounted. And btrfs's
    superblock: of its copies the kernel takes the first only. (ext4's is known by its place.)"""
    if filesystem == "btrfs":
        return b"_BHRfS_M"
    if filesystem != "xfs":
        return None
    with open(image, "rb") as file:
        return os.pread(file.fileno(), 16, 32)


class History:
    """Records have the numbers 1 to COUNT."""

    def __init__(self, path, mark=None):
        """MARK: of blocks that are not torn, see untorn_mark()."""
        self.mark = mark
        self.records = []  # (kind, offset, length, where in the log)
        self.times = []  # seconds since the epoch
        self.flushes = [0]  # numbers
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            self._log = mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) if size else b""
        at = 0
        while at + HEADER.size <= size:
            kind, _, offset, length, time = HEADER.unpack_from(self._log, at)
            at += HEADER.size
            self.records.append((kind, offset, length, at))
            self.times.append(time / 1e9)
            if kind == FLUSH:
                self.flushes.append(len(self.records))
            at += length if kind == WRITE else 0
        self.count = len(self.records)

    def last_flush(self, number):
        """The last one up to NUMBER; 0: none."""
        return self.flushes[bisect.bisect_right(self.flushes, number) - 1]

    def apply(self, image, number, first=0, last=None):
        """Bytes FIRST to LAST of a record into the open file IMAGE."""
        kind, offset, length, at = self.records[number - 1]
        last = length if last is None else min(last, length)
        if kind == WRITE:
            os.pwrite(image, self._log[at + first:at + last], offset + first)
        elif kind == ZERO:
            step = 1 << 20
            for start in range(first, last, step):
                os.pwrite(image, bytes(min(step, last - start)), offset + start)

    def _tear(self, image, number, source):
        """Any sectors of a write; the beginning of a discard."""
        kind, offset, length, at = self.records[number - 1]
        if kind == ZERO:
            self.apply(image, number, 0, source.randrange(length // SECTOR + 1) * SECTOR)
            return
        for start in range(0, length, BLOCK):
            head = self._log[at + start:at + start + HEAD]
            is_superblock = offset + start < SUPERBLOCK_END
            step = BLOCK if is_superblock or self.mark and self.mark in head else SECTOR
            for piece in range(start, min(start + BLOCK, length), step):
                if source.random() < 0.5:
                    self.apply(image, number, piece, piece + step)

    def scatter(self, image, number, kind, source):
        """What a cut right after record NUMBER leaves of what was not flushed, in one of
        KINDS. How many records that was."""
        undecided = [i for i in range(self.last_flush(number) + 1, number + 1)]
        count = len(undecided)
        if kind == NONE or not undecided:
            return count
        whole, torn = undecided, []
        if kind == PREFIX:
            whole = undecided[:source.randrange(count)]
            torn = [undecided[len(whole)]]
        elif kind == NEWEST:
            whole = undecided[count - 1 - source.randrange(min(4, count)):]
        elif kind == SOME:
            chance, tear = source.choice((0.1, 0.5, 0.9)), source.choice((0, 0.2))
            whole = [i for i in undecided if source.random() < chance]
            torn = [i for i in whole if source.random() < tear]
        for i in whole if kind != PREFIX else whole + torn:
            if i in torn:
                self._tear(image, i, source)
            else:
                self.apply(image, i)
        return count


class Platter:
    """The durable bytes of a disk, which only go forward: asked for ascending cuts."""

    def __init__(self, history, path):
        """PATH: an image of the disk before record 1; it is changed."""
        self.history = history
        self.path = path
        self._file = os.open(path, os.O_RDWR)
        self._done = 0

    def advance(self, number):
        """To the last flush up to NUMBER."""
        flushed = self.history.last_flush(number)
        for i in range(self._done + 1, flushed + 1):
            self.history.apply(self._file, i)
        self._done = max(self._done, flushed)

    def close(self):
        os.close(self._file)
