# SPDX-License-Identifier: ISC
"""Processes that stand still, and whatever may happen to the others meanwhile. What falls when is
a plan, made of a seed before anything runs, so that it can be repeated."""

import collections
import contextlib
import heapq
import os
import random
import resource
import signal
import subprocess
import time

from kills import RECORDED, Kill
from stagepost import as_user, is_alive, wait_until

PROGRAMS = ("queue", "send", "smtpd", "qmtpd", "resolve", "names", "remote", "lmtp", "local", "pipe",
            "launch", "list", "directory", "keys", "policy", "auth", "mailbox", "decode")
HELD = ("remote", "remote", "remote", "lmtp", "pipe", "local", "list", "smtpd")  # a message's file
NEIGHBOURS = ("send", "send", "send", "queue", "supervisor")
HOLDERS = ("queue", "send", "directory", "supervisor", "smtpd")
GRACE = 3.0  # seconds; as a service manager gives, but shorter
FLOWS = 0.8  # seconds after which mail goes where a reload has sent it
TIMEOUT = 4  # seconds, of the node's connections: some freezes are longer
SETTINGS = """
spares = {spares}
remote_timeout = {timeout}
remote_connect_timeout = {timeout}
smtp_timeout = {twice}
directory {{ path = "{base}/directory.db" }}
"""

# AT: seconds from the beginning; PICK: which of the program's processes; LENGTH: of what ends
Step = collections.namedtuple("Step", "at kind program pick length")


def some_length(source):
    return source.uniform(0.05, 1) if source.random() < 0.6 else source.uniform(1, 2 * TIMEOUT)


def add_replacement(source, add):
    """Who holds a message stands still, its neighbour is killed, and the message goes another way
    before the first goes on. How many seconds of this nothing else should disturb."""
    helper = source.choice(HELD)
    ways = ("LMTP", "SMTP") if helper == "lmtp" else ("SMTP", "LMTP")
    length = source.uniform(2, 2 * TIMEOUT)
    add(0, "turn", ways[0])
    add(FLOWS, "freeze", helper, length)
    add(FLOWS + source.uniform(-0.1, 0.4), "turn", ways[1])
    add(FLOWS + source.uniform(0.1, 1), "kill", source.choice(NEIGHBOURS))
    return FLOWS + length * source.uniform(0.3, 1)


def make_plan(seed, seconds):
    """Steps in the order of their times."""
    source = random.Random(seed)
    steps = []
    at = 1.0

    def add(after, kind, program="", length=0.0):
        steps.append(Step(at + after, kind, program, source.randrange(1 << 16), length))

    while at < seconds:
        chance = source.random()
        if chance < 0.3:
            add(0, "freeze", source.choice((*PROGRAMS, "supervisor")), some_length(source))
        elif chance < 0.6:
            at += add_replacement(source, add)
        elif chance < 0.7:
            add(0, "kill", source.choice((*PROGRAMS, "supervisor")))
        elif chance < 0.75:
            add(0, *source.choice((("reload",), ("turn", "SMTP"), ("turn", "LMTP"))))
        elif chance < 0.87:
            add(0, "descriptors", source.choice((*PROGRAMS, *["queue", "send"] * 4)),
                some_length(source))
        elif chance < 0.93:
            add(0, "memory", source.choice(PROGRAMS), some_length(source))
        else:
            add(0, "disk", "", source.uniform(0.3, 3))
        at += source.uniform(0.2, 1.6)
    return sorted(step for step in steps if step.at < seconds)


class Faults:
    """Carries a plan out. kills: from and until when each process was killed or lacked what it
    needs; pauses: stood still, or could not write. DISK: where the queue is, to be filled."""

    def __init__(self, scene, plan, disk):
        self.mx = scene.mx
        self.disk = disk
        self.plan = plan
        self.kills = []
        self.pauses = []
        self.fallen = collections.Counter()
        self._frozen = {}  # by pid
        self._ends = []  # (when, order, what to do)
        self._begun = 0
        self._routes = (list(self.mx.routes), list(self.mx.domains))

    def run(self):
        begin = time.monotonic()
        for step in self.plan:
            self._wait(begin + step.at)
            getattr(self, "_" + step.kind)(step)
            self.fallen[step.kind] += 1

    def do(self, kind, program, pick=0, length=0.0):
        """One step, now."""
        getattr(self, "_" + kind)(Step(0, kind, program, pick, length))

    def make_peace(self):
        """Everybody goes on, no limit is left, and mail goes where it went at first."""
        while self._ends:
            heapq.heappop(self._ends)[2]()
        self._send_by("SMTP")
        if self.mx.process is None:
            self._start()

    def _wait(self, until):
        """What has begun ends meanwhile when it is its time."""
        while self._ends and self._ends[0][0] <= until:
            time.sleep(max(0, self._ends[0][0] - time.monotonic()))
            self._end_what_is_over()
        time.sleep(max(0, until - time.monotonic()))

    def _end_what_is_over(self):
        while self._ends and self._ends[0][0] <= time.monotonic():
            heapq.heappop(self._ends)[2]()

    def _later(self, length, end):
        self._begun += 1
        heapq.heappush(self._ends, (time.monotonic() + length, self._begun, end))

    def _choose(self, step):
        """A process of the program, or None."""
        if step.program == "supervisor":
            return self.mx.process and self.mx.process.pid
        pids = self.mx.pids(step.program)
        return pids[step.pick % len(pids)] if pids else None

    def _freeze(self, step):
        pid = self._choose(step)
        if pid is None or pid in self._frozen:
            return
        begin = time.time()
        self._signal(pid, signal.SIGSTOP)
        self._frozen[pid] = (step.program, begin)
        self._later(step.length, lambda: self._thaw(pid))

    def _thaw(self, pid):
        if pid in self._frozen:
            program, begin = self._frozen.pop(pid)
            self._signal(pid, signal.SIGCONT)
            self.pauses.append(Kill(begin, time.time(), "mx", program))

    @staticmethod
    def _signal(pid, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def _kill(self, step):
        """Not one that is frozen: the others are meant to go on without it."""
        if step.program == "supervisor":
            self._kill_supervisor(with_others=step.pick % 3 != 0)
            return
        pids = [pid for pid in self.mx.pids(step.program) if pid not in self._frozen]
        if not pids:
            return
        begin = time.time()
        pid = pids[step.pick % len(pids)]
        self._signal(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid), "it is dead")
        self.kills.append(Kill(begin, time.time(), "mx", step.program))

    def _kill_supervisor(self, with_others):
        """The others are killed as well, or end by themselves, if they do in time; but for those
        that stand still. Of these, who holds a lock or an address goes on: nothing could be
        started beside it."""
        for pid, (program, _) in list(self._frozen.items()):
            if program in HOLDERS:
                self._thaw(pid)
        begin = time.time()
        pids = self.mx.pids()
        self.mx.process.kill()
        self.mx.process.wait()
        self.mx.process = None
        patience = time.monotonic() + (0 if with_others else GRACE)

        def others_are_dead():
            self._end_what_is_over()
            left = [pid for pid in pids if pid not in self._frozen and is_alive(pid)]
            for pid in left if time.monotonic() >= patience else ():
                self._signal(pid, signal.SIGKILL)
            return not left

        wait_until(others_are_dead, "what was killed is dead")
        self.kills.append(Kill(begin, time.time(), "mx", "supervisor"))
        self._start()

    def _start(self, attempts=20):
        """As a service manager does: again, when it failed."""
        for left in reversed(range(attempts)):
            try:
                self.mx.start()
                return
            except AssertionError:
                if left == 0:
                    raise
                self._wait(time.monotonic() + 0.5)

    def _reload(self, _):
        if self.mx.process is not None:
            self.mx.process.send_signal(signal.SIGHUP)

    def _turn(self, step):
        self._send_by(step.program)

    def _send_by(self, way):
        """What goes to b.test goes there by SMTP, or by LMTP."""
        routes, domains = self._routes
        self.mx.routes = routes if way == "SMTP" else []
        self.mx.domains = domains + ['domain "b.test" { service = box }'] * (way == "LMTP")
        self.mx.write_configuration()
        self._reload(None)

    def _descriptors(self, step):
        """It has what it has, and at most three more."""
        pid = self._choose(step)
        if pid is not None:
            with contextlib.suppress(OSError):
                used = set(map(int, os.listdir(f"/proc/{pid}/fd")))
                free = [number for number in range(len(used) + 4) if number not in used]
                self._limit(step, pid, "nofile", free[step.pick % 4])

    def _memory(self, step):
        """What it has, and a little. Who gets none may end: that is a kill."""
        pid = self._choose(step)
        if pid is not None:
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
                    size = int(statm.read().split()[0]) * resource.getpagesize()
                begin = time.time()
                self._limit(step, pid, "as", size + (step.pick % 8 << 16))
                self.kills.append(Kill(begin, begin + step.length + RECORDED, "mx", step.program))

    def _limit(self, step, pid, which, value):
        """The soft one, for a while."""
        begin = time.time()
        before = self._set_limit(pid, which, value)

        def lift():
            self._set_limit(pid, which, before)
            self.pauses.append(Kill(begin, time.time(), "mx", step.program))

        self._later(step.length, lift)

    @staticmethod
    def _set_limit(pid, which, value):
        """As the process's user, who may without a capability. What it was."""
        command = [*as_user(), "prlimit", "--pid", str(pid)]
        shown = subprocess.run([*command, f"--{which}", "--raw", "--noheadings", "--output=SOFT"],
                               capture_output=True, text=True, check=False)
        done = subprocess.run([*command, f"--{which}={value}:"], capture_output=True, text=True,
                              check=False)
        assert not is_alive(pid) or done.returncode == 0, done.stderr
        return shown.stdout.strip()

    def _disk(self, step):
        filler = os.path.join(self.disk, "filler")
        begin = time.time()
        with contextlib.suppress(OSError), open(filler, "xb") as file:
            room = os.statvfs(self.disk)
            os.posix_fallocate(file.fileno(), 0, max(1, room.f_bfree * room.f_frsize))
            self._fill_rest(file)

        def free():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(filler)
            self.pauses.append(Kill(begin, time.time(), "mx", "queue"))

        self._later(step.length, free)

    @staticmethod
    def _fill_rest(file):
        file.seek(0, os.SEEK_END)
        with contextlib.suppress(OSError):
            while file.write(b"\0" * 4096):
                file.flush()
