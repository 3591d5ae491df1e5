# SPDX-License-Identifier: ISC
"""How long the sessions of users take while others guess passwords: alone, beside as many sessions
that only say NOOP, which shows what the flood takes of the processors anyway, and beside the
failing logins."""
import os
import re
import statistics
import subprocess
import time

from cases import CIPHERS
from idle import possible_sessions
from servers import DEAD_PORT, HELD, Stagepost, make_certificate
from submission import PASSWORD, USER

GOAL = 1.25  # times the 99th percentile alone
FLOOD_RATE = 1000  # sessions a second
USERS_RATE = 50
SECONDS = 10
AHEAD = 6  # seconds until as many failures end as begin
FLOODS = {"alone": None, "beside NOOPs": ("-n",),
          "beside failures": ("-x", "-u", USER, "-w", "wrong")}


def start(build, port, rate, seconds, *options):
    return subprocess.Popen(
        [os.path.join(build, "tests/bench/tls_source"), "-c", CIPHERS, "-R", str(rate), "-m",
         str(rate * seconds), *options, f"127.0.0.1:{port}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    said, errors = process.communicate(timeout=300)
    if process.returncode != 0:
        raise RuntimeError(f"{process.args}: {errors}")
    return said


def users(build, port):
    said = finish(start(build, port, USERS_RATE, SECONDS, "-u", USER, "-w", PASSWORD, "-t",
                        f"user@{HELD}", "-f", USER))
    found = re.search(r"p50 (\d+) us p99 (\d+) us", said)
    return {"p50": int(found[1]) / 1000, "p99": int(found[2]) / 1000}


def one(build, port, options):
    """The users' sessions, in milliseconds; and which part of the flood was lost or not judged."""
    if options is None:
        return users(build, port)
    flood = start(build, port, FLOOD_RATE, AHEAD + SECONDS + 1, "-r", *options)
    try:
        time.sleep(AHEAD)
        result = users(build, port)
        said = finish(flood)
    finally:
        flood.kill()
    for what, count, of in re.findall(r"(not judged|lost) (\d+) of (\d+)", said):
        result[what] = int(count) / max(int(of), 1)
    return result


def measure_logins(options, disk, note):
    possible_sessions(FLOOD_RATE * SECONDS)
    certificate = make_certificate(disk.directory("logins-certificate"))
    system = Stagepost(disk.directory("logins"), options.build, DEAD_PORT,
                       certificate=certificate, submission=True)
    runs = {name: [] for name in FLOODS}
    try:
        users(options.build, system.port)
        for number in range(options.rounds):
            for name, flood in FLOODS.items():
                result = one(options.build, system.port, flood)
                runs[name].append(result)
                note(f"round {number + 1}: users' sessions {name}: "
                     + ", ".join(f"{key} {value:.2f}" for key, value in result.items()))
    finally:
        system.stop()
    return {name: {key: statistics.median(run[key] for run in of) for key in of[0]}
            for name, of in runs.items()}
