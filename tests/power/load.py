# SPDX-License-Identifier: ISC
"""The load, once, on a disk that records; and the cuts of it."""

import os
import random
import shutil
import time

from history import KINDS, History, Platter
from judge import Level, judge_chain
from recording import RecordingMount, copy, make_filesystem
from recovery import recover
from world import Load, Sinks, make_node
from common.ledger import Ledger, gather_entries

CONNECTIONS = 8
PAUSE = 0.01  # seconds, about, between a client's messages
NEAR_ANSWER = 0.5  # the share of cuts right behind an answer
NESTED = 0.25  # the share of recoveries that are cut again
DEPTH = 3


class Recording:
    """FOLDER gets the load's ledger, the disk's log and "made", the disk before it."""

    def __init__(self, programs, folder, filesystem, *, sync="auto", seconds=8, seed=0,
                 forgetful=False, environment=None):
        self.programs = programs
        self.folder = folder
        self.filesystem = filesystem
        self.sync = sync
        self.source = random.Random(seed)
        os.makedirs(folder)
        made = os.path.join(folder, "made")
        make_filesystem(filesystem, made)
        image = os.path.join(folder, "image")
        copy(made, image)
        disk = RecordingMount(filesystem, image, folder, os.path.join(folder, "disk"),
                              forgetful=forgetful)
        self.first = disk.position()
        try:
            self._load(disk, seconds, seed, environment or {})
        finally:
            disk.close()
            os.unlink(image)
        self.history = History(disk.log)
        self.platter = Platter(self.history, made)

    def _load(self, disk, seconds, seed, environment):
        ledger = Ledger(os.path.join(self.folder, "ledger"), disk.position)
        sinks = Sinks(self.folder, ledger)
        node = make_node(self.programs, os.path.join(self.folder, "node"), disk.mount.path, sinks,
                         self.sync)
        node.prefix = ["env", *(f"{name}={value}" for name, value in environment.items())]
        try:
            node.start()
            load = Load(node, ledger, CONNECTIONS, PAUSE, seed)
            time.sleep(seconds)  # the load's length, nothing is waited for
            self.last = disk.position()
            load.stop()
            node.stop()
        finally:
            node.abandon()
            sinks.close()
            ledger.close()
        self.sync_in_force = node.log.find("queue_opened")[-1]["sync"]
        self.events = list(ledger.events())

    def choose_cuts(self, count):
        """COUNT numbers of records, ascending; half of them right behind an answer."""
        answers = [event["disk"] for event in self.events
                   if event["what"] in ("accepted", "delivered", "bounced")]
        return sorted(self.source.choice(answers) if self.source.random() < NEAR_ANSWER
                      else self.source.randint(self.first, self.last) for _ in range(count))

    def cut_at(self, number, path, kind, source):
        """Makes the image PATH; numbers ascend from call to call."""
        self.platter.advance(number)
        copy(self.platter.path, path)
        scatter(self.history, number, path, kind, source)

    def close(self):
        self.platter.close()
        shutil.rmtree(self.folder)


def scatter(history, number, path, kind, source):
    image = os.open(path, os.O_RDWR)
    try:
        return history.scatter(image, number, kind, source)
    finally:
        os.close(image)


class Cut:
    """One cut of a recording, recovered, and perhaps cut again. results: (depth, verdict or
    the exception) of each recovery."""

    def __init__(self, recording, number, seed, folder, index):
        self.recording = recording
        self.number = number
        self.seed = seed
        self.source = random.Random(seed)
        self.folder = folder
        self.kind = KINDS[index % len(KINDS)]
        self.results = []
        self.image = os.path.join(folder, "image1")
        os.makedirs(folder)
        recording.cut_at(number, self.image, self.kind, self.source)
        self.levels = [Level(recording.events, number, recording.history)]
        self.entries = gather_entries(self.levels[0].happened())

    def run(self):
        for depth in range(1, DEPTH + 1):
            again = depth < DEPTH and self.source.random() < NESTED
            if not self._recover(depth, again) or not again:
                break
        return self

    def _recover(self, depth, again):
        """Whether there may be another cut."""
        folder = os.path.join(self.folder, f"level{depth}")
        os.makedirs(folder)
        if again:
            before = os.path.join(self.folder, f"image{depth + 1}")
            copy(self.image, before)
        try:
            level, box = recover(self.recording, self.image, folder, self.entries, again)
        except Exception as problem:  # whatever it is, it is told with the image kept
            self.results.append((depth, problem))
            return False
        self.levels.append(level)
        verdict = judge_chain(self.levels, box)
        self.results.append((depth, verdict))
        if not again or is_bad(verdict):
            return False
        os.unlink(self.image)
        level.cut = self.source.randint(0, level.history.count)
        platter = Platter(level.history, before)
        platter.advance(level.cut)
        platter.close()
        scatter(level.history, level.cut, before, self.source.choice(KINDS), self.source)
        self.image = before
        return True

    def problems(self):
        """A line for each."""
        for depth, verdict in self.results:
            if isinstance(verdict, Exception):
                yield f"depth {depth}: {type(verdict).__name__}: {verdict}"
                continue
            for what in ("lost", "corrupt", "unexcused"):
                for line in getattr(verdict, what):
                    yield f"depth {depth}: {what}: {line}"


def is_bad(verdict):
    return bool(verdict.lost or verdict.corrupt or verdict.unexcused)
