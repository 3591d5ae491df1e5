# SPDX-License-Identifier: ISC
"""The end-to-end tests that are quick, as tests of slips: what only processes run is noticed by no other.

$SLIP goes from the test through the supervisor to its processes; who clears the environment finds the number in the
file that slips.h maps, before it has a sandbox.
"""
import collections
import concurrent.futures
import dataclasses
import itertools
import json
import os
import pathlib
import random
import sys
import time

from . import results, trial, tree

sys.path.insert(0, str(tree.ROOT / "tools"))
from testing import e2e, pace  # noqa: E402

KNOWN = tree.PLACE / "endtoend.json"  # what became of each test without a slip
QUICK = 5  # seconds that a test may take, which are more in this build and beside others
FIRST_SECONDS = 2 * QUICK
NEW_SECONDS = 1500  # for tests of which nothing is known
SHARE = 20  # tests of one run, which begins a Python and makes a filesystem
CANDIDATES = 30  # that enter a function, of which some come upon its slip
CASES = 3  # of a test with many, spread over them
AT_ONCE = 4  # runs for two processors: they wait
PATIENCE = (4, 8)  # a test may take so many times as long as at first, and some seconds
BEGIN = (20, 60)  # seconds of the processor and of the clock that a run takes beside its tests
IMAGE_BLOCKS = 1 << 23  # of 512 bytes, for a filesystem in a file
# A disk in memory; and no search for leaks, which processes in a sandbox cannot make.
INSIDE = """
mount -t tmpfs -o size=2g,mode=1777 tmpfs /tmp && mount -t tmpfs -o size=1g,mode=1777 tmpfs "$0" && exec "$@"
"""
TEMPLATES = tree.BUILD / "templates"  # where tests keep databases that they copy


@dataclasses.dataclass
class End:
    """A test, as it is without a slip."""
    name: str  # folder/test_x.py::test_y
    seconds: float
    processor: float
    reached: frozenset = frozenset()


def path_of(name):
    """Of the file of a test."""
    return f"tests/e2e/{name.partition('::')[0]}"


def compile_programs():
    packages = tree.TREE / "build-packages"  # foreign programs as peers
    if not packages.is_symlink():
        packages.symlink_to(tree.ROOT / packages.name)
    TEMPLATES.mkdir(exist_ok=True)
    programs = [os.path.relpath(file, tree.BUILD) for target in tree.described("targets")
                if target["build_by_default"] and is_needed(target) for file in target["filename"]]
    tree.run_quietly("ninja", "-C", tree.BUILD, *programs)
    tree.run_quietly("/usr/bin/python3", "-m", "compileall", "-q", tree.TREE / "tests/e2e", tree.TREE / "tests/common",
                     environment={"PYTHONPYCACHEPREFIX": str(tree.BUILD / "bytecode")})


def is_needed(target):
    """By end-to-end tests."""
    homes = (tree.TREE, *(tree.TREE / "tests" / name for name in ("e2e", "sandbox", "faults", "bench")))
    return target["type"] in ("executable", "shared module", "shared library") and pathlib.Path(target["defined_in"]).parent in homes


def run(names, number=0, seconds=FIRST_SECONDS, limits=(600, 1200), options=()):
    """The outcome of one run of these tests, of which each may take SECONDS, and what it noted of each. On a machine that is
    slow now all limits of time are longer."""
    slowness = pace.slowness()
    command = ["sh", "-c", INSIDE, str(TEMPLATES), str(tree.TREE / "tests/e2e/run"), "-p", "noting", *options,
               *[str(tree.TREE / "tests/e2e" / name) for name in names]]
    environment = {name: os.environ.get(name, value) for name, value in e2e.SHORT.items()} | {
        "STAGEPOST_BUILD": str(tree.BUILD), "NOTING_SECONDS": str(seconds * slowness),
        pace.VARIABLE: str(slowness), "ASAN_OPTIONS": trial.OPTIONS,
        "PYTHONPATH": str(tree.TREE / "tests/mutants/drawn")}
    outcome = trial.run_test({"name": " ".join(names), "command": command, "environment": environment, "blocks": IMAGE_BLOCKS},
                             number, (limits[0], limits[1] * slowness))
    noted = [json.loads(line) for line in outcome.noted.splitlines()]
    for entry in noted:
        if "seconds" in entry:
            entry["seconds"] /= slowness
    return outcome, noted


def spread(items, count):
    """As many of them, from the first to the last."""
    return items if len(items) <= count else [items[i * (len(items) - 1) // (count - 1)] for i in range(count)]


def function_of(slip):
    """As the known tests name it."""
    return f"{slip.file} {slip.function}"


class Tests:
    """The end-to-end tests, and what is known of them from earlier builds: which are of no use, as they take long or do
    not pass in the tool's namespaces, and which functions the others come upon. What is known holds while a test's file
    is the same. All are run once; then some of those that enter a function with a slip."""

    def __init__(self, entries):
        """ENTRIES: {number: where a function begins}."""
        self.functions = {number: function_of(entry) for number, entry in entries.items()}
        kept = json.loads(KNOWN.read_text()) if KNOWN.exists() else {"functions": [], "tests": {}}
        self.known = {name: entry | {"functions": {kept["functions"][i] for i in entry["functions"]}}
                      for name, entry in kept["tests"].items()}

    def save(self):
        functions = sorted(set().union(*(entry["functions"] for entry in self.known.values())))
        index = {name: i for i, name in enumerate(functions)}
        tests = {name: entry | {"functions": sorted(index[function] for function in entry["functions"])}
                 for name, entry in sorted(self.known.items())}
        KNOWN.write_text(json.dumps({"functions": functions, "tests": tests}))

    def is_known(self, name):
        return name in self.known and self.known[name]["state"] == results.text_digest(tree.ROOT / path_of(name))

    def candidates(self, function, names):
        """Of NAMES, which are known, some that enter FUNCTION: of each file first the one that enters the fewest others."""
        entering = [name for name in names
                    if self.known[name]["outcome"] == "passed" and function in self.known[name]["functions"]]
        return by_turns(entering, lambda name: (len(self.known[name]["functions"]), self.known[name]["seconds"]))[:CANDIDATES]

    def to_be_run(self, names, functions):
        """Those of NAMES that nothing is known of, and what may come upon a slip in FUNCTIONS."""
        known = [name for name in names if self.is_known(name)]
        wanted = set(names).difference(known).union(*(self.candidates(function, known) for function in functions))
        return [name for name in names if name in wanted]

    def collect(self):
        folder = tree.TREE / "tests/e2e"
        files = sorted(str(path.relative_to(folder)) for path in folder.rglob("test_*.py") if path.stem not in e2e.WITH_MACHINE)
        outcome, noted = run(files, options=["--collect-only", "-q"])
        if not noted:
            raise tree.Broken(f"no end-to-end test is found: {outcome.said}")
        cases = collections.defaultdict(list)
        for entry in noted:
            cases[entry["test"].partition("[")[0]].append(entry["test"])
        return [name for names in cases.values() for name in spread(names, CASES)]

    def keep(self, entry):
        """False if it is of no use."""
        outcome = "late" if entry["outcome"] == "passed" and entry["seconds"] > FIRST_SECONDS else entry["outcome"]
        self.known[entry["test"]] = {
            "outcome": outcome, "seconds": round(entry["seconds"], 1), "said": entry["said"],
            "state": results.text_digest(tree.TREE / path_of(entry["test"])),
            "functions": {self.functions[number] for number in entry["reached"] if number in self.functions}}
        return outcome == "passed"

    def shares(self, slips):
        """Lists of the tests to be run without a slip: first those that are known, then the others in any order."""
        names = self.to_be_run(self.collect(), {function_of(slip) for slip in slips})
        known = [name for name in names if self.is_known(name)]
        new = [name for name in names if not self.is_known(name)]
        parts = [new[first:first + SHARE] for first in range(0, len(new), SHARE)]
        random.Random(len(parts)).shuffle(parts)
        return [known[first:first + SHARE] for first in range(0, len(known), SHARE)] + parts

    def first_runs(self, slips):
        """Those that are quick, pass without a slip and come upon a function of SLIPS; and what they come upon. What is
        new is tried for NEW_SECONDS at most, and then another time."""
        shares, deadline, found = self.shares(slips), time.monotonic() + NEW_SECONDS, []

        def run_share(names):
            is_over = time.monotonic() > deadline and not self.is_known(names[0])
            return run(names)[1] if not is_over else []

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for number, noted in enumerate(pool.map(run_share, shares), start=1):
                found += [End(entry["test"], entry["seconds"], entry["processor"],
                              frozenset(entry["reached"]) - self.functions.keys()) for entry in noted if self.keep(entry)]
                if noted:
                    print(f"end-to-end tests without a slip: {number} of {len(shares)} shares: {len(noted)} ended", flush=True)
                    self.save()
        return found


def by_turns(names, rank):
    """Of each file the first by RANK(name), the files in the same order, then the second of each."""
    files = collections.defaultdict(list)
    for name in sorted(names, key=rank):
        files[path_of(name)].append(name)
    return [name for turn in itertools.zip_longest(*files.values()) for name in turn if name]


def choose(number, slip, ends, folder_of, limit):
    """Those that come upon the slip, as many as the time is enough for: of each file that with the most in that folder
    first, then the others."""
    reaching = {end.name: end for end in ends if number in end.reached}

    def concern(name):
        end = reaching[name]
        own = sum(folder_of[other] == slip.folder for other in end.reached)
        return -own / len(end.reached), end.seconds

    chosen, processor, seconds = [], 0, 0
    for end in (reaching[name] for name in by_turns(reaching, concern)):
        processor, seconds = processor + end.processor, seconds + end.seconds
        if chosen and (processor > limit or seconds > 4 * limit):
            break
        chosen.append(end)
    return chosen


def judge(number, chosen):
    """The test that notices, or None. It does so twice: the machine may have been busy."""
    rest = list(chosen)
    while rest:
        failed = first_failed(number, rest)
        if not failed:
            return None
        if first_failed(number, [failed]):
            return failed
        rest = rest[rest.index(failed) + 1:]
    return None


def first_failed(number, ends):
    allowed = PATIENCE[0] * max(end.seconds for end in ends) + PATIENCE[1]
    limits = (3 * sum(end.processor for end in ends) + BEGIN[0], 3 * sum(end.seconds for end in ends) + allowed + BEGIN[1])
    outcome, noted = run([end.name for end in ends], number, allowed, limits, ["-x"])
    said = {entry["test"]: entry["outcome"] for entry in noted}
    # a slip may have ended pytest itself, or a skip have come of it
    wrong = [end for end in ends if said.get(end.name) != "passed"]
    return wrong[0] if wrong and (outcome.status != "passed" or wrong[0].name in said) else None
