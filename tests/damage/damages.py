# SPDX-License-Identifier: ISC
"""What a disk, a restore or a careless hand does to the files of a queue."""

import os

BLOCKS = (1, 16, 64, 512, 4096)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    """In place, as a disk does: the same inode, and all its names."""
    with open(path, "r+b") as file:
        file.write(data)
        file.truncate()


class Damager:
    """CHANCE decides. Each way takes a file, what is in it, and the others of its kind. YESTERDAY: {path: what was
    there before}."""

    def __init__(self, chance, yesterday):
        self.chance = chance
        self.yesterday = yesterday
        self.ways = (self.flip, self.flip, self.zero, self.zero, self.exchange, self.truncate, self.restore)
        self.counts = {}
        self.restored = set()  # paths

    def damage(self, path, others):
        """One way; it counts if it has changed anything."""
        way = self.chance.choice(self.ways)
        before = read(path)
        way(path, before, others)
        if read(path) != before:
            self.count(way.__name__)

    def count(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def flip(self, path, data, _others):
        """Some bits, most often one."""
        data = bytearray(data)
        for _ in range(self.chance.choice((1, 1, 1, 2, 8)) if data else 0):
            data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
        write(path, data)

    def _block(self, length):
        size = self.chance.choice(BLOCKS)
        begin = self.chance.randrange(max(length, 1)) // size * size
        return slice(begin, min(begin + size, length))

    def zero(self, path, data, _others):
        """A block of it."""
        block = self._block(len(data))
        write(path, data[:block.start] + bytes(block.stop - block.start) + data[block.stop:])

    def exchange(self, path, data, others):
        """A block of it, or all, and of another one."""
        other = self.chance.choice(others)
        theirs = read(other)
        if other == path or not theirs or not data:
            return
        block = slice(0, max(len(data), len(theirs)))
        if self.chance.random() < 0.7:
            block = self._block(min(len(data), len(theirs)))
        write(path, data[:block.start] + theirs[block] + data[block.stop:])
        write(other, theirs[:block.start] + data[block] + theirs[block.stop:])

    def truncate(self, path, data, _others):
        write(path, data[:self.chance.randrange(max(len(data), 1))])

    def restore(self, path, _data, _others):
        """What was there yesterday."""
        if path in self.yesterday:
            write(path, self.yesterday[path])
            self.restored.add(path)

    def unlink(self, paths):
        """Some of these names."""
        for path in paths:
            os.unlink(path)
            self.count("unlink")
