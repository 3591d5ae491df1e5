#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Power cuts of the whole system under load, on filesystems on a disk that records.

The load runs for some seconds; then the power is cut at many places of what was recorded.
Whatever the cut left is mounted and recovered by the whole system, which must deliver
everything that it had answered 250 for. Some recoveries are cut again.

A cut that goes wrong leaves its folder below --keep: "image" as the cut left it, "recording"
with the disk's log, the node's log. --again FOLDER recovers that image again, with --at and
--seed another cut of that recording.
"""
import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../e2e/support"), os.path.join(HERE, "..")]
from disk import image_directory  # noqa: E402
from judge import judge_chain  # noqa: E402
from load import Cut, Recording, record_load  # noqa: E402
from recording import BUILD, MAKE, SIZE, VARIANTS, copy  # noqa: E402
from recovery import recover  # noqa: E402
from stagepost import install_programs, is_root  # noqa: E402
from tally import Tally, VariantTally  # noqa: E402
from variants import EXT4  # noqa: E402

STRATEGIES = ("auto", "filesystem", "files")  # by turns
# What a mutant forgets: the disk its flushes; the programs some of their syncs (no_sync.c),
# and the strategy that needs those. Mail must be seen to be lost.
MUTANTS = {"flushes": None, "files": "files", "directories": "files",
           "filesystems": "filesystem", "ranges": "ordered", "all": "auto"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--filesystem", action="append", choices=MAKE,
                        help="one of them (default: each)")
    parser.add_argument("--variant", choices=["all", *EXT4],
                        help="instead: one kind of ext4 that auto takes as ordered, or each")
    parser.add_argument("--cuts", type=int, default=300, help="for each filesystem or variant")
    parser.add_argument("--each", type=int, default=40, help="cuts of one recording")
    parser.add_argument("--seconds", type=float, default=8, help="how long a load runs")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--sync", choices=STRATEGIES, help="queue_sync (default: by turns)")
    parser.add_argument("--nested", type=float, default=0.25,
                        help="share of recoveries that are cut again")
    parser.add_argument("--mutant", choices=MUTANTS,
                        help="what is forgotten: mail must be seen to be lost")
    parser.add_argument("--keep", default=os.path.join(BUILD, "power-failures"))
    parser.add_argument("--again", metavar="FOLDER", help="a cut that went wrong")
    parser.add_argument("--at", type=int, help="with --again: another place")
    options = parser.parse_args()
    if options.variant:
        options.filesystem, options.sync = ["ext4"], "auto"
    return options


def note(text):
    print(text, flush=True)


def keep(cut, seed, folder):
    """What is needed to see it again."""
    place = os.path.join(folder, f"{cut.recording.filesystem}-{seed}-{cut.number}")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    copy(cut.image, os.path.join(place, "image"))
    cut.save(os.path.join(place, "chain"))
    for name in os.listdir(cut.folder):
        log = os.path.join(cut.folder, name, "node", "log")
        if os.path.exists(log):
            shutil.copy(log, os.path.join(place, name + ".log"))
    recording = os.path.join(place, "recording")
    os.makedirs(recording)
    for name in ("made", "log", "ledger", "settings"):
        copy(os.path.join(cut.recording.folder, name), os.path.join(recording, name))
    return place


class Campaign:
    """On one filesystem. TALLY counts; VARIANTS: (options of mkfs, options of mount), by turns."""

    def __init__(self, options, base, filesystem, variants, tally):
        self.options = options
        self.base = base
        self.filesystem = filesystem
        self.variants = variants
        self.programs = os.path.join(base, "programs")
        self.tally = tally

    def run(self):
        recorded = 0
        while not self._is_over():
            self._run_recording(recorded)
            recorded += 1

    def _settings(self, turn):
        mutant = self.options.mutant
        sync = self.options.sync or MUTANTS.get(mutant) or STRATEGIES[turn % len(STRATEGIES)]
        mkfs, mount = self.variants[turn % len(self.variants)]
        preload = {"LD_PRELOAD": os.path.join(self.programs, "no_sync.so"), "NO_SYNC": mutant}
        return {"filesystem": self.filesystem, "mkfs": mkfs, "mount": mount, "sync": sync,
                "seconds": self.options.seconds, "nested": self.options.nested,
                "seed": self.options.seed + 1000 * turn, "forgetful": mutant == "flushes",
                "environment": preload if mutant not in (None, "flushes") else {}}

    def _run_recording(self, turn):
        folder = os.path.join(self.base, f"recording{turn}")
        settings = self._settings(turn)
        record_load(self.programs, folder, settings)
        recording = Recording(self.programs, folder)
        note(f"{self.filesystem}: {recording.history.count} records, syncs by "
             f"{recording.settings['sync_in_force']}, seed {settings['seed']}, "
             f"{' '.join([*settings['mkfs'], '-o', settings['mount']])}")
        self.tally.note_sync(recording.settings["sync_in_force"])
        wanted = min(self.options.each, self.options.cuts - self.tally.cuts)
        for i, number in enumerate(recording.choose_cuts(wanted)):
            seed = settings["seed"] + i
            self._do(Cut(recording, number, seed, os.path.join(folder, f"cut{i}")), seed)
            if self._is_over():
                break
        recording.close()

    def _is_over(self):
        return self.tally.cuts >= self.options.cuts or (
            self.options.mutant is not None and self.tally.has_lost())

    def _do(self, cut, seed):
        cut.run()
        problems = list(cut.problems())
        self.tally.add(cut)
        note(self.tally.progress())
        if problems and self.options.mutant is None:
            note(f"  {self.filesystem} at {cut.number}, seed {seed}, kept in "
                 f"{keep(cut, seed, self.options.keep)}:")
            for line in problems[:10]:
                note("  " + line[:1000])
        shutil.rmtree(cut.folder)


def do_again(options, base):
    recording_folder = os.path.join(base, "recording")
    shutil.copytree(os.path.join(options.again, "recording"), recording_folder)
    recording = Recording(os.path.join(base, "programs"), recording_folder)
    folder = os.path.join(base, "cut")
    if options.at is not None:
        cut = Cut(recording, options.at, options.seed, folder).run()
        for depth, verdict in cut.results:
            note(f"depth {depth}: {verdict}")
        problems = list(cut.problems())
    else:
        os.makedirs(folder)
        image = os.path.join(folder, "image")
        copy(os.path.join(options.again, "image"), image)
        cut = Cut.load(recording, os.path.join(options.again, "chain"))
        level, box, _ = recover(recording, image, folder, cut.entries, False)
        verdict = judge_chain([*cut.levels, level], box)
        note(str(verdict))
        problems = verdict.lost + verdict.corrupt + verdict.unexcused + verdict.wrong
    for line in problems:
        note(line)
    return 1 if problems else 0


def run_variants(options, base):
    """One after the other; a tally for all of them, and one for each."""
    names = list(EXT4) if options.variant == "all" else [options.variant]
    total = VariantTally(options)
    for name in names:
        tally = Tally(name, options, wanted_sync="ordered")
        Campaign(options, base, "ext4", [EXT4[name]], tally).run()
        note(tally.line())
        total.add(tally)
    return total


def run_filesystem(options, base, filesystem):
    tally = Tally(filesystem, options)
    Campaign(options, base, filesystem, VARIANTS[filesystem], tally).run()
    return tally


def work(options, filesystem):
    """In a process of its own. Its exit status is 0 when all is well."""
    base = tempfile.mkdtemp(prefix="stagepost-power-", dir=image_directory(4 * SIZE))
    os.chmod(base, 0o755)
    try:
        programs = os.path.join(base, "programs")
        os.mkdir(programs)
        install_programs(programs)
        shutil.copy(os.path.join(BUILD, "tests/power/no_sync.so"), programs)
        if options.again:
            sys.exit(do_again(options, base))
        tally = run_variants(options, base) if options.variant else \
            run_filesystem(options, base, filesystem)
        note(tally.summary())
        good = tally.has_lost() if options.mutant else tally.is_good()
        sys.exit(0 if good else 1)
    finally:
        shutil.rmtree(base)


def main():
    """The filesystems side by side: one cannot be mounted twice with the same name in it."""
    options = parse_arguments()
    if not is_root():
        sys.exit("only root mounts disks")
    chosen = ["once more"] if options.again else options.filesystem or MAKE
    workers = [multiprocessing.Process(target=work, args=(options, name)) for name in chosen]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return 1 if any(worker.exitcode for worker in workers) else 0


if __name__ == "__main__":
    sys.exit(main())
