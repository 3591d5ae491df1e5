# SPDX-License-Identifier: ISC
"""What the soak test is made of: a load of everything, faults at random, and what the
processes and the disk hold when nothing is under way."""

import os
import random
import signal
import statistics
import threading
import time

from lmtp import Cut
from smtp import Client
from stagepost import is_alive
from common.ledger import Generator

BOXES = 40
SENDER = "s@from.test"
# recipients: most mail has one
KINDS = (["{box}@a.test"], ["{box}@a.test"], ["{box}@b.test"], ["{box}@l.test"], ["{box}@p.test"], ["{box}@m.test"],
         ["{box}@a.test", "x{box}@a.test", "{box}@b.test", "{box}@l.test"],
         ["bad{box}@b.test", "{box}@a.test"], ["later{box}@b.test", "later{box}@l.test"])
WARM_UP = 90  # seconds in which a process may still grow
SLACK_KIB = 1024
SLACK_FILES = 30
GROWTH = 1.1
KIB_A_MESSAGE = 16  # that a process may keep of the highest backlog, for the next one
FILES_A_MESSAGE = 3  # in the queue at most, which become spares
REST = 6  # seconds; a connection that waits for the next message is closed after 5


def some_recipients(source):
    box = f"u{source.randrange(BOXES)}"
    return [word.format(box=box) for word in source.choice(KINDS)]


class Load(Generator):
    """As the Generator's, and one client in thirty goes in the middle of its message."""

    def _send(self, client, source):
        if source.random() < 1 / 30:
            client.break_off(SENDER, ["u1@a.test"], b"broken off " * 9)
        super()._send(client, source)


class Faults:
    """Each method is one; count() says how often each fell."""

    def __init__(self, scene, seed):
        self.scene = scene
        self.source = random.Random(seed)
        self.fallen = {}
        self.stopped = []
        self.last_kill = time.monotonic()

    def one(self):
        fault = self.source.choice((self.pause, self.reload, self.far_says_later, self.far_cuts,
                                    self.idle_clients, self.operator, self.kill))
        fault()

    def _count(self, name):
        self.fallen[name] = self.fallen.get(name, 0) + 1

    def kill(self, apart=120):
        """Rarely: what leaks is to have time for it."""
        if time.monotonic() - self.last_kill < apart:
            return
        self.last_kill = time.monotonic()
        programs = ("queue", "send", "smtpd", "resolve", "remote", "lmtp", "local", "keys",
                    "policy", "qmtpd", "auth")
        program = self.source.choice([name for name in programs if self.scene.mx.pids(name)])
        self.scene.mx.kill_and_wait(program)
        self._count("kills")

    def pause(self):
        pids = self.scene.mx.pids()
        pid = self.source.choice(pids)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.source.uniform(0.1, 1.5))
        os.kill(pid, signal.SIGCONT)
        self._count("stopped processes")

    def reload(self):
        self.scene.mx.reload()
        self._count("reloads")

    def _far(self, name, **behaviour):
        before = {key: getattr(self.scene.far, key) for key in behaviour}
        for key, value in behaviour.items():
            setattr(self.scene.far, key, value)
        time.sleep(self.source.uniform(0.2, 2))
        for key, value in before.items():
            setattr(self.scene.far, key, value)
        self._count(name)

    def far_says_later(self):
        self._far("servers that defer", recipient=lambda address: "451 4.3.0 not now")

    def far_cuts(self):
        def cut(address):
            raise Cut

        self._far("servers that hang up", final=cut)

    def idle_clients(self):
        clients = [Client(self.scene.mx, timeout=20) for _ in range(50)]
        time.sleep(self.source.uniform(0.1, 1))
        for client in clients:
            client.sock.close()
        self._count("crowds of idle clients")

    def operator(self):
        words = self.source.choice((("queue", "list"), ("queue", "stats"), ("trigger", "list"),
                                    ("queue", "retry", "--all", "--yes")))
        ended = self.scene.command(*words)
        assert ended.returncode == 0, (words, ended)
        self._count("commands")


# --- what is held ---

def anonymous_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
    raise AssertionError(f"no RssAnon of {pid}")


def held_descriptors(pid, queue):
    """How many, but for one of each data file that is no message's: "queue" keeps spares
    open, "smtpd" a stock of them, so that a message need not wait. How many that are says
    how much came at once, up to the setting "spares", and the files themselves are counted in
    the queue. A second one of the same file, or one of a file that is gone, is a leak."""
    links = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except FileNotFoundError:
            pass  # closed meanwhile
    unused = os.path.join(os.path.realpath(queue), "pid") + os.sep
    stock = {link for link in links
             if link.startswith(unused) and not link.endswith(" (deleted)")}
    return len(links) - len(stock)


class Backlog:
    """The most messages that were in the queue at once, so far."""

    EACH = 0.1  # seconds

    def __init__(self, mx):
        self.mx = mx
        self.highest = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        while not self._end.wait(self.EACH):
            now = sum(len(names) for top in ("todo", "info")
                      for _, _, names in os.walk(os.path.join(self.mx.queue, top)))
            self.highest = max(self.highest, now)

    def stop(self):
        self._end.set()
        self._thread.join()


class Holdings:
    """Of each process, whenever nothing is under way: [(age, KiB, descriptors, highest backlog)].
    What is larger later is a leak, unless the backlog had been larger meanwhile: a process keeps
    for the next one what it needed once."""

    def __init__(self, mx):
        self.mx = mx
        self.born = {}
        self.samples = {}  # by (program, pid)
        self.files = []  # (in the queue, highest backlog)

    def sample(self, highest, rest=REST):
        """After REST: until then connections are kept for mail that may come, as many as there
        were messages at once. HIGHEST: backlog so far."""
        time.sleep(rest)
        now = time.monotonic()
        for event in self.mx.log.find("process_started"):
            pid, key = int(event["pid"]), (event["program"], int(event["pid"]))
            if pid not in self.mx.pids(event["program"]) or not is_alive(pid):
                continue
            self.born.setdefault(key, now)
            self.samples.setdefault(key, []).append(
                (now - self.born[key], anonymous_kib(pid),
                 held_descriptors(pid, self.mx.queue), highest))
        self.files.append((sum(len(names) for _, _, names in os.walk(self.mx.queue)), highest))

    def growing(self):
        """Lines about what is larger at the end than at the beginning."""
        found = []
        for (program, pid), samples in self.samples.items():
            warm = [sample for sample in samples if sample[0] >= WARM_UP]
            if len(warm) < 6:
                continue
            third = len(warm) // 3
            first, last = warm[:third], warm[-third:]
            rise = last[-1][3] - first[0][3]
            for place, name, growth, slack in (
                    (1, "KiB", GROWTH, SLACK_KIB + KIB_A_MESSAGE * rise), (2, "descriptors", 1, 0)):
                early = statistics.median(sample[place] for sample in first)
                late = statistics.median(sample[place] for sample in last)
                if late > early * growth + slack:
                    found.append(f"{program} {pid}: {early} {name}, later {late}, and the highest "
                                 f"backlog {first[0][3]}, later {last[-1][3]}")
        return found + self._growing_files()

    def _growing_files(self):
        warm = self.files[len(self.files) // 3:]  # at first there come to be spares
        half = len(warm) // 2
        if half < 3:
            return []
        before, after = warm[:half], warm[half:]
        rise = FILES_A_MESSAGE * (after[-1][1] - before[0][1])
        if max(after)[0] <= max(before)[0] * GROWTH + SLACK_FILES + rise:
            return []
        return [f"files in the queue, and the highest backlog: {before}, later {after}"]

    def judged(self):
        """How many processes lived long enough to be judged."""
        return sum(sum(sample[0] >= WARM_UP for sample in samples) >= 6
                   for samples in self.samples.values())
