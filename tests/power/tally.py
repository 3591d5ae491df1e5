# SPDX-License-Identifier: ISC
"""What a campaign on one filesystem counts."""

import time

from judge import WINDOW
from common.record import record

ZERO = ("lost", "corrupt", "unexcused duplicates", "not recovered")
UNORDERED = "variants that are not taken as ordered"
WHAT = ("SMTP in, SMTP, LMTP and Maildir out, bounces and waiting mail, on {name}, on a disk "
        "that records every write and flush. The power is cut at random, half of the time "
        "directly after an answer: what was flushed remains, with any part of what was written "
        "since, in sectors of 512 bytes (except superblocks, which ext4, XFS and btrfs themselves "
        "need untorn: these remain old or new). The whole system is started on the result and "
        "delivers everything; a share of the recoveries is cut again (nested). A duplicate is "
        "excused if the queue on the disk still said, less than {window:.0f} s after the "
        "delivery, that it was not delivered.")


class Tally:
    """Of the cuts on one filesystem; WANTED_SYNC: the strategy that must be in force."""

    def __init__(self, filesystem, options, wanted_sync=None):
        self.filesystem = filesystem
        self.wanted_sync = wanted_sync
        self.is_unwanted = False
        self.options = options
        self.begin = time.monotonic()
        self.oldest = 0.0
        names = ("cuts", "nested cuts", "messages answered 250", "recipients delivered",
                 "recipients bounced", "duplicates", *ZERO)
        self.counts = dict.fromkeys(names, 0)

    @property
    def cuts(self):
        return self.counts["cuts"]

    def add(self, cut):
        for depth, verdict in cut.results:
            counts = self.counts
            counts["cuts"] += 1
            counts["nested cuts"] += depth > 1
            if isinstance(verdict, Exception):
                counts["not recovered"] += 1
                continue
            counts["messages answered 250"] += verdict.accepted
            counts["recipients delivered"] += verdict.delivered
            counts["recipients bounced"] += verdict.bounced
            counts["duplicates"] += verdict.duplicates
            counts["lost"] += len(verdict.lost)
            counts["corrupt"] += len(verdict.corrupt)
            counts["unexcused duplicates"] += len(verdict.unexcused)
            counts["not recovered"] += len(verdict.wrong)
            self.oldest = max(self.oldest, verdict.oldest)

    def note_sync(self, in_force):
        self.is_unwanted |= self.wanted_sync not in (None, in_force)

    def is_good(self):
        return self.cuts > 0 and not self.is_unwanted and not any(self.counts[name] for name in ZERO)

    def has_lost(self):
        return self.counts["lost"] > 0

    def progress(self):
        spent = time.monotonic() - self.begin
        left = spent / max(self.cuts, 1) * max(self.options.cuts - self.cuts, 0)
        counted = ", ".join(f"{self.counts[name]} {name}" for name in ZERO)
        return (f"{self.filesystem}: {self.cuts} of {self.options.cuts} cuts, "
                f"{self.counts['nested cuts']} nested; {counted}; {left / 60:.1f} min left")

    def line(self):
        return (f"{self.filesystem}: " + ("NOT TAKEN AS ORDERED, " if self.is_unwanted else "")
                + ", ".join(f"{value} {name}" for name, value in self.counts.items())
                + f"; {time.monotonic() - self.begin:.0f} s")

    def summary(self):
        seconds = time.monotonic() - self.begin
        if self.options.mutant:
            return (f"{self.filesystem}, mutant {self.options.mutant}: "
                    + ("caught" if self.has_lost() else "NOT CAUGHT") + f" after {self.cuts} cuts: "
                    + ", ".join(f"{value} {name}" for name, value in self.counts.items()))
        counts = {name: value for name, value in self.counts.items() if name not in ZERO}
        counts |= {name: self.counts[name] for name in ZERO}
        return record(f"power-{self.filesystem}", title=f"Power cuts on {self.filesystem}",
                      what=WHAT.format(name=self.filesystem, window=WINDOW),
                      command=f"make crash (tests/power/run --filesystem {self.filesystem})",
                      counts=counts, seconds=seconds, filesystem=self.filesystem, zero=ZERO
                      ) + f" (oldest excused: {self.oldest:.1f} s; {seconds:.0f} s)"


class VariantTally:
    """Of all variants of ext4 that were tried."""

    def __init__(self, options):
        self.options = options
        self.begin = time.monotonic()
        self.tallies = []

    def add(self, tally):
        self.tallies.append(tally)

    def is_good(self):
        return all(tally.is_good() for tally in self.tallies)

    def has_lost(self):
        return any(tally.has_lost() for tally in self.tallies)

    def summary(self):
        seconds = time.monotonic() - self.begin
        total = {name: sum(tally.counts[name] for tally in self.tallies)
                 for name in self.tallies[0].counts}
        zeros = {name: total.pop(name) for name in ZERO}
        zeros[UNORDERED] = sum(tally.is_unwanted for tally in self.tallies)
        counts = {"variants": len(self.tallies), **total,
                  **{f"cuts: {tally.filesystem}": tally.cuts for tally in self.tallies}, **zeros}
        return record("power-ext4-variants", title="Power cuts on variants of ext4",
                      what=WHAT.format(name="each kind of ext4 that counts as ordered", window=WINDOW)
                      + " The queue is synced by queue_sync = auto.",
                      command=f"make crash (tests/power/run --variant {self.options.variant})",
                      counts=counts, seconds=seconds, filesystem="ext4", zero=tuple(zeros))
