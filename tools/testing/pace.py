# SPDX-License-Identifier: ISC
"""How fast this machine is now. Limits of time are meant for an idle one of two processors; what is shared
with strangers may be ten times slower for an hour, and fails tests that wait, though nothing is wrong."""
import os
import subprocess
import time

TURNS = 500_000
PROGRAMS = 5  # that begin and end
IDLE = 0.06  # seconds of one try on the machine for which the limits are meant
TRIES = 5
SLOWNESS_MAX = 8

VARIABLE = "TEST_SLOWNESS"  # read by tests/common/net.py


def one_try():
    begin = time.monotonic()
    total = 0
    for turn in range(TURNS):
        total += turn
    for _ in range(PROGRAMS):
        subprocess.run(["true"], check=True)
    return time.monotonic() - begin


def slowness():
    """How many times longer than IDLE something takes, at least 1; what the environment says goes first."""
    if VARIABLE in os.environ:
        return float(os.environ[VARIABLE])
    took = sorted(one_try() for _ in range(TRIES))[TRIES // 2]
    return round(min(max(took / IDLE, 1), SLOWNESS_MAX), 1)
