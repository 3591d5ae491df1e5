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
FILE_MAX = 1 << 28  # bytes, of a node's; that of the filesystem for all of them is there already
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


def pytest_sessionstart():
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MAX, FILE_MAX))


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
