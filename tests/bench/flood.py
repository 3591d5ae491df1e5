# SPDX-License-Identifier: ISC
"""Sessions that are opened and dropped as fast as a machine can: how many a second, beside a server
that only accepts and closes, what each costs, and how long a good client's sessions take meanwhile."""
import json
import os
import socket
import statistics
import subprocess
import time

import measure
from servers import DEAD_PORT, HELD, Stagepost

SECONDS = 4
AT_ONCE, ADDRESSES, SLOWLY = 200, 400, 1000
WORKERS = 2
SETTINGS = f"""client_names = no
smtpd_workers = {WORKERS}
log_level = info
class "127.66.0.0/16" {{ queue = 50 refuse = 50 }}
class "*" {{ queue = 50 refuse = 50 }}
rate fast {{ count = connections class = "127.66.0.0/16" limit = 20 interval = 1m answer = close }}
"""
FLOODS = {"alone": None, f"beside {SLOWLY} a second": SLOWLY, "beside as many as can be": 0}
DIALOGUE = (None, b"EHLO good.example\r\n", b"MAIL FROM:<a@good.example>\r\n",
            f"RCPT TO:<user@{HELD}>\r\n".encode(), b"DATA\r\n", b"Subject: x\r\n\r\nText.\r\n.\r\n", b"QUIT\r\n")


class AcceptOnly:
    def __init__(self, build):
        self.process = subprocess.Popen([os.path.join(build, "tests/bench/accept_only"), str(WORKERS)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def servers(self):
        return measure.tree(self.process.pid)

    def stop(self):
        self.process.communicate(timeout=10)


class Node(Stagepost):
    def servers(self):
        return [pid for pid in measure.tree(self.pid) if measure.name_of(pid) == "smtpd"]


def microseconds(pids):
    """That the processors spent on them, to the nanosecond."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0]) / 1000
    return total


def start(build, port, seconds, rate=0):
    return subprocess.Popen(
        [os.path.join(build, "tests/e2e/session_flood"), "-p", "2", "-r", str(rate), str(port), str(seconds),
         str(AT_ONCE), str(ADDRESSES)], stdout=subprocess.PIPE, text=True)


def finish(process):
    said = process.communicate(timeout=SECONDS + 60)[0]
    if process.returncode != 0:
        raise RuntimeError(f"{process.args} failed")
    return json.loads(said)


def drop_sessions(build, server):
    """How many a second, and what each cost the server."""
    before = microseconds(server.servers())
    opened = finish(start(build, server.port, SECONDS))["opened"]
    return {"rate": opened / SECONDS, "each": (microseconds(server.servers()) - before) / opened}


def deliver(port):
    """One message in a session; the milliseconds that took."""
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        replies = connection.makefile("rb")
        for line in DIALOGUE:
            if line is not None:
                connection.sendall(line)
            while (reply := replies.readline())[3:4] == b"-":
                continue
            if reply[:1] not in b"23" or not reply:
                raise RuntimeError(f"a good client was told {reply}")
    return (time.monotonic() - begun) * 1000


def good_sessions(build, node, rate):
    """Of one client that sends one message after the other, while others drop RATE sessions a second (0: all
    they can; None: there are no others)."""
    flood = start(build, node.port, SECONDS, rate) if rate is not None else None
    times, until = [], time.monotonic() + SECONDS - 0.5
    try:
        while time.monotonic() < until:
            times.append(deliver(node.port))
    finally:
        opened = finish(flood)["opened"] if flood else 0
    times.sort()
    return {"p50": times[len(times) // 2], "p99": times[int(len(times) * 0.99)], "opened": opened / SECONDS}


def medians(runs):
    return {name: {key: statistics.median(run[key] for run in of) for key in of[0]}
            for name, of in runs.items()}


def measure_flood(options, disk, note):
    bare = AcceptOnly(options.build)
    node = Node(disk.directory("flood"), options.build, DEAD_PORT, extra=SETTINGS)
    dropped = {"bare server": [], "stagepost": []}
    good = {name: [] for name in FLOODS}
    try:
        finish(start(options.build, node.port, 1))
        for number in range(options.rounds):
            for name, server in (("bare server", bare), ("stagepost", node)):
                dropped[name].append(drop_sessions(options.build, server))
            for name, rate in FLOODS.items():
                good[name].append(good_sessions(options.build, node, rate))
            note(f"round {number + 1}: " + ", ".join(
                f"{name} {of[-1]['rate']:.0f}/s" for name, of in dropped.items())
                + "; p99 " + ", ".join(f"{of[-1]['p99']:.1f} {name}" for name, of in good.items()))
    finally:
        node.stop()
        bare.stop()
    return {"dropped": medians(dropped), "good": medians(good)}


def print_flood(result):
    if not result:
        return
    bare = result["dropped"]["bare server"]
    print("\nsessions opened and dropped       a second   of the bare server  us of a processor each")
    for name, of in result["dropped"].items():
        print(f"{name:32}{of['rate']:10.0f}{of['rate'] / bare['rate']:21.2f}{of['each']:24.1f}")
    print("\na good client's sessions, ms             p50       p99  others a second")
    for name, of in result["good"].items():
        print(f"{name:32}{of['p50']:12.2f}{of['p99']:10.2f}{of['opened']:17.0f}")
