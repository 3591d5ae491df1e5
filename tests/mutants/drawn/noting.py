# SPDX-License-Identifier: ISC
"""A plugin of pytest, for end-to-end tests of a build with slips: notes what became of each test, how long it took,
and upon which slips its processes came."""
import json
import os
import re
import resource
import signal
import time

import pytest

SLIPS = "/var/tmp/slips"  # of slips.h
NOTED = "/var/tmp/noted"
SLIPS_MAX = 65536
FILE_MAX = 1 << 28  # bytes, of a node's files, also of those in memory
# said by AddressSanitizer where TLS runs on a stack of its own, which is right
NOISE = re.compile(r"__asan_handle_no_return|False positive error reports may follow|sanitizers/issues/189")
SECONDS = float(os.environ.get("NOTING_SECONDS", "0"))  # that a test may take; 0: as long as it likes


class Late(Exception):
    pass


def note(entry):
    with open(NOTED, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def processor():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def interrupt(_number, _frame):
    raise Late(f"this takes longer than {SECONDS} s")


def within_limit():
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


def with_file_limit(start):
    def start_with_limit(*arguments, **options):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MAX, hard))
        try:
            return start(*arguments, **options)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return start_with_limit


def without_noise(read):
    def read_without_noise(log):
        events = read(log)
        log.strange = [line for line in log.strange if not NOISE.search(line)]
        return events
    return read_without_noise


def pytest_sessionstart():
    import stagepost  # of the tests, once their folder is known
    stagepost.Node.start = with_file_limit(stagepost.Node.start)
    stagepost.Log.read = without_noise(stagepost.Log.read)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup():
    yield from within_limit()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call():
    yield from within_limit()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if not report.passed and getattr(item, "noted", "passed") == "passed":
        item.noted = report.outcome
        item.noted_text = str(report.longrepr)[-400:]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    with open(SLIPS, "r+b") as slips:
        slips.write(bytes(SLIPS_MAX))
    begin, spent = time.monotonic(), processor()
    yield
    with open(SLIPS, "rb") as slips:
        reached = [match.start() for match in re.finditer(rb"[^\0]", slips.read(SLIPS_MAX))]
    note({"test": item.nodeid, "outcome": getattr(item, "noted", "passed"), "said": getattr(item, "noted_text", ""),
          "seconds": time.monotonic() - begin, "processor": processor() - spent, "reached": reached})


def pytest_collection_finish(session):
    if session.config.option.collectonly:
        for item in session.items:
            note({"test": item.nodeid})
