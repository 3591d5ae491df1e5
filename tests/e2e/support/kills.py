# SPDX-License-Identifier: ISC
"""Processes that are killed at random, and which of the messages that came twice that excuses."""

import collections
import contextlib
import os
import re
import signal
import time

from stagepost import is_alive, stamp, wait_until
from common.ledger import MARK

PROGRAMS = ("queue", "send", "smtpd", "qmtpd", "resolve", "names", "remote", "lmtp", "local", "pipe",
            "launch", "keys", "policy", "auth", "mailbox", "decode")
ALL = "all at once"
RECORDED = 1.0  # seconds; after that an outcome that was logged is on the disk
RESTARTED = 12.0  # and then the longest wait until "queue" runs again
# Seconds after a helper's death in which what it began may still be written. "pipe" has had a
# program started: that is another process, which has the message in its pipe and goes on until
# "launch" kills it. "remote" has handed the message to the kernel: bytes in a socket are sent
# though the process is gone, and the next host, which has the final dot, queues and writes
# it. For the others it is only what two clocks, of a kill and of a file, differ by: "local" makes
# the file itself, and the LMTP server is ours and notes at once what has come.
OUTLIVES = {"pipe": 0.5, "remote": 0.5}
STARTERS = {"pipe": ("launch",)}  # whose death ends what the helper began
HELPERS = {"a.test": "local", "p.test": "pipe", "l.test": "lmtp", "b.test": "remote"}
ONCE = "m.test"  # there a message comes once, whoever is killed

Kill = collections.namedtuple("Kill", "when over name program")  # from and until when it died


class Killer:
    """Kills processes of the NODES, by name, and remembers when it did."""

    def __init__(self, nodes, source):
        self.nodes = nodes
        self.source = source
        self.kills = []

    @contextlib.contextmanager
    def noted(self, name, program):
        """What is done in it kills. On a busy machine the last of all that were killed goes on
        for a while after the first is dead."""
        begin = time.time()
        yield
        self.kills.append(Kill(begin, time.time(), name, program))

    def one(self, name, program):
        pids = self.nodes[name].pids(program)
        if pids:  # it may have been killed a moment ago
            pid = self.source.choice(pids)
            with self.noted(name, program):
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda: not is_alive(pid), "it is dead")

    def every(self, name):
        """With the supervisor, as near together as it goes."""
        node = self.nodes[name]
        pids = node.pids()
        with self.noted(name, ALL):
            for pid in (*pids, node.process.pid):
                os.kill(pid, signal.SIGKILL)
            node.process.wait(20)
            node.process = None
            wait_until(lambda: not any(is_alive(pid) for pid in pids), "their sockets are closed")
        node.start()

    def supervisor(self, name):
        """The others end with it, by themselves."""
        with self.noted(name, "supervisor"):
            self.nodes[name].kill_supervisor()
        self.nodes[name].start()

    def next(self):
        name = "mx" if self.source.random() < 0.8 else "other"
        turn = len(self.kills) % 20
        if turn == 10:
            self.supervisor(name)
        elif turn in (5, 15):
            self.every(name)
        else:
            self.one(name, self.source.choice(PROGRAMS))

    def between(self, begin, end, name, programs):
        return any(begin <= kill.over and kill.when <= end and kill.name == name
                   and kill.program in (*programs, ALL, "supervisor") for kill in self.kills)


def queued_at(text, hostname):
    """When the node of that name began to take it, by the id in its Received line."""
    found = re.search(rb"by " + hostname.encode() + rb" [^;]*?\sid \d+-([0-9a-f]+)", text)
    return int(found.group(1), 16) / 1e6 if found else None


class Excuses:
    """Why something came twice."""

    def __init__(self, killer, mx, other, delivered):
        """MX and OTHER: host names; DELIVERED: the events of the first."""
        self.killer = killer
        self.mx = mx
        self.other = other
        self.told = {}  # {(when it was taken, recipient): when it was said to be delivered}
        for event in delivered:
            when = int(event["id"].partition("-")[2], 16) / 1e6
            self.told[when, event["to"]] = stamp(event["time"])

    def mark(self, text, recipient):
        """When the outcome was on the disk at the latest."""
        told = self.told.get((queued_at(text, self.mx), recipient))
        if told is None:
            return float("inf")
        late = self.killer.between(told - RESTARTED, told + RECORDED, "mx", ("queue",))
        return told + (RESTARTED if late else RECORDED)

    def excuse(self, recipient, first, second):
        """FIRST and SECOND: (text, when) of two copies, one after the other."""
        if recipient.endswith(f"@{ONCE}"):
            return False
        helper = HELPERS[recipient.partition("@")[2]]
        begin = first[1] - OUTLIVES.get(helper, 0.05)
        if helper == "remote":
            theirs = [queued_at(text, self.other) for text, _ in (first, second)]
            if theirs[0] == theirs[1]:  # it took it once, and delivered it twice
                return self.killer.between(begin, second[1], "other", ("local", "send"))
            begin = min(begin, theirs[0])
            if self.killer.between(begin, second[1], "other", PROGRAMS):
                return True
        end = min(second[1], self.mark(second[0], recipient))
        return self.killer.between(begin, end, "mx", (helper, *STARTERS.get(helper, ()), "send"))


    def tell(self, recipient, first, second):
        """What there is to know of two copies without an excuse; seconds from the first."""
        begin = first[1]
        told = self.told.get((queued_at(first[0], self.mx), recipient))
        kills = [f"{kill.when - begin:+.3f} to {kill.over - begin:+.3f} {kill.name} "
                 f"{kill.program}"
                 for kill in self.killer.kills if begin - 2 < kill.when < second[1] + 2]
        taken = [f"{host} {queued_at(text, host) - begin:+.3f}" for text, _ in (first, second)
                 for host in (self.mx, self.other) if queued_at(text, host)]
        return (f"{recipient}: at {begin:.3f} and {second[1] - begin:+.3f}, taken {taken}, "
                f"told {told and f'{told - begin:+.3f}'}, kills {kills}")


def number_of(text):
    return int(re.search(rb"^" + MARK + rb"(\d+)$", text, re.M).group(1))


def without_excuse(copies, twice, excuses):
    """Of those that came twice or more often, which ones no kill explains."""
    found = collections.defaultdict(list)
    for recipient, text, when in copies:
        if any(to == recipient for _, to in twice):
            found[number_of(text), recipient].append((text, when))
    bad = []
    for what in twice:
        ordered = sorted(found[what], key=lambda copy: copy[1])
        bad += [excuses.tell(what[1], *pair) for pair in zip(ordered, ordered[1:])
                if not excuses.excuse(what[1], *pair)]
    return bad
