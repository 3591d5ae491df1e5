# SPDX-License-Identifier: ISC
"""The load, once, on a disk that records; and the cuts of it."""

import json
import os
import pickle
import random
import shutil
import time

from history import KINDS, History, Platter, untorn_mark
from judge import WINDOW, Level, judge_chain
from recording import RecordingMount, copy, make_filesystem
from recovery import recover
from world import Load, Sinks, make_node
from common.ledger import Ledger, gather_entries

CONNECTIONS = 8
PAUSE = 0.01  # seconds, about, between a client's messages
NEAR_ANSWER, AT_REST = 0.5, 0.1  # the shares of cuts right after an answer, and at the end
DEPTH = 3


def record_load(programs, folder, settings):
    """SETTINGS: filesystem, mkfs and mount (options), sync, seconds, seed, nested (a share),
    forgetful (the disk is), environment (of the node). FOLDER gets "settings", "made" (the
    disk before), "log" (the disk's) and "ledger"."""
    os.makedirs(folder)
    made = os.path.join(folder, "made")
    make_filesystem(settings["filesystem"], made, settings["mkfs"])
    image = os.path.join(folder, "image")
    copy(made, image)
    disk = RecordingMount(settings["filesystem"], image, folder, os.path.join(folder, "disk"),
                          settings["mount"], settings["forgetful"])
    ends = {"first": disk.position()}
    try:
        ends |= run_load(programs, folder, disk, settings)
    finally:
        disk.close()
        os.unlink(image)
    with open(os.path.join(folder, "settings"), "w", encoding="utf-8") as file:
        json.dump(settings | ends, file)


def run_load(programs, folder, disk, settings):
    ledger = Ledger(os.path.join(folder, "ledger"), disk.position)
    sinks = Sinks(folder, ledger)
    node = make_node(programs, os.path.join(folder, "node"), disk.mount.path, sinks,
                     settings["sync"])
    node.prefix = ["env", *(f"{name}={value}" for name, value in settings["environment"].items())]
    try:
        node.start()
        load = Load(node, ledger, CONNECTIONS, PAUSE, settings["seed"])
        time.sleep(settings["seconds"])  # the load's length, nothing is waited for
        load.stop()
        time.sleep(WINDOW + 1)  # what was delivered must be marked by then
        last = disk.position()
        node.stop()
    finally:
        node.abandon()
        sinks.close()
        ledger.close()
    return {"last": last, "sync_in_force": node.log.find("queue_opened")[-1]["sync"]}


class Recording:
    """What record_load() left in FOLDER."""

    def __init__(self, programs, folder):
        self.programs = programs
        self.folder = folder
        with open(os.path.join(folder, "settings"), encoding="utf-8") as file:
            self.settings = json.load(file)
        self.filesystem = self.settings["filesystem"]
        self.mount_options = self.settings["mount"]
        self.sync = self.settings["sync"]
        self.source = random.Random(self.settings["seed"])
        self.first, self.last = self.settings["first"], self.settings["last"]
        with open(os.path.join(folder, "ledger"), encoding="utf-8") as file:
            self.events = [json.loads(line) for line in file]
        self.mark = untorn_mark(self.filesystem, os.path.join(folder, "made"))
        self.history = History(os.path.join(folder, "log"), self.mark)
        platter = os.path.join(folder, "platter")
        copy(os.path.join(folder, "made"), platter)
        self.platter = Platter(self.history, platter)

    def choose_cuts(self, count):
        """COUNT numbers of records, ascending."""
        answers = [event["disk"] for event in self.events
                   if event["what"] in ("accepted", "delivered", "bounced")]
        return sorted(self._choose(self.source.random(), answers) for _ in range(count))

    def _choose(self, chance, answers):
        if chance < AT_REST:
            return self.last
        if chance < AT_REST + NEAR_ANSWER:
            return self.source.choice(answers)
        return self.source.randint(self.first, self.last)

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
    the exception) of each recovery; image: what the last cut left."""

    def __init__(self, recording, number, seed, folder):
        self.recording = recording
        self.number = number
        self.source = random.Random(seed)
        self.folder = folder
        self.results = []
        self.image = os.path.join(folder, "image1")
        os.makedirs(folder)
        recording.cut_at(number, self.image, self.source.choice(KINDS), self.source)
        self.levels = [Level(recording.events, number, recording.history.times)]
        self.entries = gather_entries(self.levels[0].happened())

    def save(self, path):
        with open(path, "wb") as file:
            pickle.dump((self.number, self.levels, self.entries), file)

    @classmethod
    def load(cls, recording, path):
        """As save() left it: levels and entries."""
        cut = cls.__new__(cls)
        cut.recording = recording
        with open(path, "rb") as file:
            cut.number, cut.levels, cut.entries = pickle.load(file)
        return cut

    def run(self):
        depth = 1
        while self._recover(depth):
            depth += 1
        return self

    def _recover(self, depth):
        """Whether it is cut again."""
        again = depth < DEPTH and self.source.random() < self.recording.settings["nested"]
        folder = os.path.join(self.folder, f"level{depth}")
        os.makedirs(folder)
        changed = os.path.join(folder, "image")
        copy(self.image, changed)
        try:
            level, box, history = recover(self.recording, changed, folder, self.entries, again)
            verdict = judge_chain([*self.levels, level], box)
        except Exception as problem:  # whatever it is, it is told, and the image is kept
            verdict = problem
        self.results.append((depth, verdict))
        os.unlink(changed)
        if not again or list(self.problems()):
            return False
        level.cut = self.source.randint(0, history.count)
        self.levels.append(level)
        platter = Platter(history, self.image)
        platter.advance(level.cut)
        platter.close()
        scatter(history, level.cut, self.image, self.source.choice(KINDS), self.source)
        shutil.rmtree(folder)
        return True

    def problems(self):
        """A line for each."""
        for depth, verdict in self.results:
            if isinstance(verdict, Exception):
                yield f"depth {depth}: {type(verdict).__name__}: {verdict}"
                continue
            for what in ("lost", "corrupt", "unexcused", "wrong"):
                for line in getattr(verdict, what):
                    yield f"depth {depth}: {what}: {line}"
