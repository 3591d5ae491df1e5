# SPDX-License-Identifier: ISC
"""What a campaign on one filesystem counts."""

import time

from judge import WINDOW
from common.record import record

ZERO = ("lost", "corrupt", "unexcused duplicates", "not recovered")
WHAT = ("SMTP in, SMTP, LMTP and Maildir out, bounces and mail that waits, on {name}, on a disk "
        "that records every write and flush. The power is cut at random, half of the times right "
        "behind an answer: what was flushed is left, and any part of what was written since, in "
        "sectors of 512 bytes (but for blocks that ext4, XFS and btrfs themselves do not survive "
        "torn, their superblocks: they are left old or new). The whole system is started on that "
        "and delivers everything; a share of the recoveries is cut again (nested). A duplicate "
        "is excused if the queue on the disk still said, less than {window:.0f} s after it was "
        "delivered, that it was not.")


class Tally:
    def __init__(self, filesystem, options):
        self.filesystem = filesystem
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

    def is_good(self):
        return self.cuts > 0 and not any(self.counts[name] for name in ZERO)

    def has_lost(self):
        return self.counts["lost"] > 0

    def progress(self):
        spent = time.monotonic() - self.begin
        left = spent / max(self.cuts, 1) * max(self.options.cuts - self.cuts, 0)
        counted = ", ".join(f"{self.counts[name]} {name}" for name in ZERO)
        return (f"{self.filesystem}: {self.cuts} of {self.options.cuts} cuts, "
                f"{self.counts['nested cuts']} nested; {counted}; {left / 60:.1f} min left")

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
