# SPDX-License-Identifier: ISC
"""Clients that open sessions and drop them as fast as a machine can, and try passwords meanwhile: what
they may is limited by classes and rates, nothing leaks, and a good client hardly notices."""

import json
import os
import subprocess
import threading
import time

from smtp import Client
from stagepost import BUILD, PATIENCE, is_alive, wait_until
from test_limits import told, wait_for_counts
from test_submission_auth import BOB, Site
from common.record import record

SECONDS = float(os.environ.get("FLOOD_SECONDS", "4"))
AT_ONCE, ADDRESSES = 200, 400
GOOD = "127.0.0.1"  # whom no rate knows
BOUND = float(os.environ.get("FLOOD_BOUND", "10"))  # seconds for a message of a good client
LEAVING = 5 * PATIENCE  # passwords of strangers are judged with what others leave of the processors
SETTINGS = """client_names = no
smtpd_workers = 2
log_level = info
class "127.66.0.0/16" { queue = 50 refuse = 50 }
class "*" { queue = 50 refuse = 50 }
rate fast { count = connections class = "127.66.0.0/16" limit = 20 interval = 1m answer = close }
rate all { count = connections per = class class = "127.66.0.0/16" limit = 100K interval = 1m answer = close }
rate guess { count = failed_logins class = "127.66.0.0/16" limit = 3 interval = 1h answer = close }
"""
TEXT = b"Subject: x\r\n\r\nText.\r\n"
FLOOD = os.path.join(BUILD, "tests/e2e/session_flood")


def resources(node):
    """{pid: (descriptors, KiB of memory of its own)} of who talks to clients, and whom it asks about them."""
    found = {}
    for program in "smtpd", "auth", "directory":
        for pid in node.pids(program):
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
                memory = sum(int(line.split()[1]) for line in rollup if line.startswith("Private_"))
            found[pid] = (len(os.listdir(f"/proc/{pid}/fd")), memory)
    return found


def seconds_used(node):
    """Of the processors, by those that talk to clients."""
    total = 0
    for pid in node.pids("smtpd"):
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            total += sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def grown(before, after):
    """Whose memory, which was there BEFORE."""
    return [pid for pid, (_, memory) in before.items() if pid in after and after[pid][1] > memory + 1024]


def flood(port, seconds):
    ended = subprocess.run([FLOOD, str(port), str(seconds), str(AT_ONCE), str(ADDRESSES)], check=True,
                           capture_output=True, timeout=seconds + PATIENCE)
    return json.loads(ended.stdout)


def test_sessions_that_are_opened_and_dropped(node, ground, monkeypatch):
    # what AddressSanitizer keeps of memory that was freed would be growth
    monkeypatch.setenv("ASAN_OPTIONS", f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=1"
                                       ":thread_local_quarantine_size_kb=64")
    site = Site(node, ground, submission="auth_without_tls = yes", more=SETTINGS)
    mx = site.mx
    flood(site.port, 1)  # so that all memory that stays is there
    wait_for_counts(mx, "0+0 0+0", LEAVING)
    before, used = resources(mx), seconds_used(mx)
    made = {}
    thread = threading.Thread(target=lambda: made.update(flood(site.port, SECONDS)))
    thread.start()
    times, most = [], 0
    begun = time.monotonic()
    while thread.is_alive() or not times:
        since = time.monotonic()
        with Client(mx, source=GOOD, timeout=BOUND) as client:
            assert client.deliver("lisa@b.test", [BOB], TEXT).startswith("250 ")
        times.append(time.monotonic() - since)
        most = max(most, told(mx)["127.66.0.0/16"]["in"])
    thread.join()
    took, used = time.monotonic() - begun, seconds_used(mx) - used
    wait_for_counts(mx, "0+0 0+0", LEAVING)
    mx.maildir(BOB).wait(len(times))
    logged = {event: len(mx.log.find(event)) for event in ("session_refused", "rate_exceeded")}
    after = resources(mx)
    for _ in range(2):  # the first flood may have had one process most of the time: what leaks grows every time
        if not grown(before, after):
            break
        before = after
        flood(site.port, SECONDS)
        wait_for_counts(mx, "0+0 0+0", LEAVING)
        after = resources(mx)
    print("\n  " + record(
        "session-flood", title="Sessions that are opened and dropped",
        what=f"{AT_ONCE} connections at a time, from {ADDRESSES} addresses, are opened and reset: at once, after "
        "the greeting, or after a wrong password; the addresses are in a class with 50 places, and "
        "three rates (connections of an address and of the class, failed logins) count them. A good client of another "
        "class sends one message after the other meanwhile.",
        command="make hostile",
        counts={"sessions opened": made["opened"], "a second": round(made["opened"] / SECONDS),
                "microseconds of processor time of smtpd for each": round(used / made["opened"] * 1e6),
                "refused by closed listeners": made["refused"], "greeted": made["greeted"],
                "turned away": made["turned_away"], "wrong passwords that were judged": made["failed"],
                "messages of the good client": len(times),
                "its slowest message, ms": round(max(times) * 1000),
                "descriptors more afterwards": sum(after[pid][0] - before[pid][0] for pid in before),
                "KiB more afterwards": sum(after[pid][1] - before[pid][1] for pid in before),
                "places lost": sum(line["in"] for line in told(mx).values())},
        seconds=took, zero=("descriptors more afterwards", "places lost")))
    assert max(times) < BOUND, times
    assert most <= 50 + 2, most  # and one in each process that is just looking
    assert made["opened"] > 100 * SECONDS, made
    assert made["turned_away"] > 0 and made["failed"] <= ADDRESSES * 3 + AT_ONCE, made
    assert before.keys() == after.keys() and all(is_alive(pid) for pid in mx.pids())
    for pid, (descriptors, _) in before.items():
        assert after[pid][0] <= descriptors, (pid, before, after)
    assert not grown(before, after), (before, after)
    for event, count in logged.items():  # rated
        assert count < 100 * (SECONDS + 5), event
    # of who is turned away the log has that, and not the reply too
    assert not mx.log.find("command_refused", text="You connect too often, try again later")
    wait_until(lambda: all(line["in"] == 0 for line in told(mx).values()), "no place is lost")
