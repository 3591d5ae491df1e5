# SPDX-License-Identifier: ISC
"""Tests that failed beside others are repeated alone."""
from testing import reports
from testing.commands import Failed, run

REPEATS = 3  # passed alone: unsteady, not failed
UNSTEADY_MAX = 40  # of some 4,400 tests; more failures are not repeated: something is broken


class Again:
    """What is to be repeated, and what came of it. REPEATERS says by kind who runs a list of tests, and
    gives those of them that failed."""

    def __init__(self, repeaters):
        self.repeaters = repeaters
        self.waiting = []  # (kind, class, name); no name: all of the files that class names
        self.unsteady = []  # names
        self.failed = []

    def add(self, kind, passed, failed):
        """What FAILED names is tried again when all else has ended: (passed, failed) until then."""
        if passed == 0 and failed:
            raise Failed("nothing passed: "
                         + ", ".join(" ".join(filter(None, name)) for name in failed[:UNSTEADY_MAX]))
        self.waiting.extend(dict.fromkeys((kind, *name) for name in failed))
        return passed, 0

    def run(self):
        """Alone, those of a kind in one run; who passes three times has passed."""
        left = self.waiting if len(self.waiting) <= UNSTEADY_MAX else []
        for _ in range(REPEATS):
            wrong = [one for kind, repeater in self.repeaters.items()
                     for one in repeat([one for one in left if one[0] == kind], repeater)]
            left = [one for one in left if one not in wrong]
        self.unsteady = [label(one) for one in left]
        self.failed = [label(one) for one in self.waiting if one not in left]
        return len(left), len(self.failed)


def label(one):
    return " ".join(filter(None, one[1:]))


def repeat(tests, repeater):
    """Those of TESTS that failed. If all did, one of them may have kept the others from running."""
    wrong = repeater(tests)
    return [one for alone in tests for one in repeater([alone])] if len(wrong) == len(tests) > 1 else wrong


def repeated(tests, command, report, environment):
    """Runs COMMAND, which tries TESTS and writes REPORT; those of them that failed, or did not run."""
    if not tests:
        return []
    report.unlink(missing_ok=True)
    status = run(*command, environment=environment)
    if not report.exists():
        return tests
    failed = reports.count_junit(report)[1]
    ran = {reports.name_of(case) for case in reports.cases(report)}
    wrong = [one for one in tests if not are_fine(ran_of(one, ran), failed)]
    return wrong or (tests if status != 0 else [])


def ran_of(one, ran):
    """Of what RAN, for each that ONE means a set of names."""
    _, files, name = one
    if name is not None:
        return [{(files, name)} & ran]
    return [{who for who in ran if file in who[0].split(".")} for file in files.split()]


def are_fine(sets, failed):
    return all(names and names.isdisjoint(failed) for names in sets)
