# SPDX-License-Identifier: ISC
"""The story, many times: lisa@gmail.test writes one message to scuba and doug, and "stagepost
mailbox" runs once for each of them, both at the same time, on two machines whose Maildirs are
shared. The program is the command itself with a witness (tests/once): see Site."""

import collections
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time

from partition import enter
from stagepost import BUILD

RECIPIENTS = ("scuba", "doug")
KILLED = -signal.SIGKILL
TRY_LATER = 75
PLACES = ("mail.test/scuba", "mail.test/doug", "gmail.test/lisa/.Sent")


def message(number, recipient):
    """What the mail system gives the command: it has noted its own run, and for whom it is."""
    return (f"Received: by mx for {recipient}; run\nDelivered-To: {recipient}@mail.test\n"
            f"From: Lisa <lisa@gmail.test>\nTo: scuba@mail.test, doug@mail.test\n"
            f"Subject: s{number}\nMessage-ID: <{number}@mail.gmail.test>\n\nHey guys {number}!\n"
            ).encode()


class Site:
    """The programs, the mailboxes, and the configuration with the section record RECORD."""

    def __init__(self, directory, record):
        self.directory = directory
        self.boxes = os.path.join(directory, "boxes")
        self.file = os.path.join(directory, "configuration")
        self.program = os.path.join(directory, "once")
        backend = re.search(r"backend = (postgresql|mariadb)\b", record)
        kind = "-" + backend[1] if backend else ""
        for name, path in (("once", "tests/once/once" + kind), ("decode", "decode"), ("send", "send"),
                           ("mailbox-command", "mailbox-command" + kind)):
            shutil.copy2(os.path.join(BUILD, path), os.path.join(directory, name))
        with open(self.file, "w", encoding="ascii") as file:
            file.write(f'hostname = mx.mail.test\nqueue = {directory}/queue\nrun = {directory}/run\n'
                       f'user = ""\nservice box {{ kind = mailbox sent = all '
                       f'path = "{self.boxes}/%d/%u" }}\nrecord {{ {record} }}\n')

    def begin(self, **environment):
        return subprocess.Popen([self.program, "-c", self.file], stdin=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, **environment})

    def run(self, number, recipient, **environment):
        """Its exit status and what it said."""
        process = self.begin(**environment)
        _, said = process.communicate(message(number, recipient), timeout=120)
        return process.returncode, said.decode()

    def run_at_terminal(self, number, recipient):
        """Likewise, by a person."""
        ours, theirs = os.openpty()
        process = subprocess.Popen([self.program, "-c", self.file], stdin=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        process.communicate(message(number, recipient), timeout=120)
        said = b""
        with contextlib.suppress(OSError):  # EIO: it is all
            while piece := os.read(ours, 4096):
                said += piece
        os.close(ours)
        return process.returncode, said.decode()

    # --- what is there ---

    def copies(self):
        """{(place, subject): [names]} of all files in new/ and cur/."""
        found = collections.defaultdict(list)
        for place in PLACES:
            for part in ("new", "cur"):
                path = os.path.join(self.boxes, place, part)
                for name in os.listdir(path) if os.path.isdir(path) else []:
                    with open(os.path.join(path, name), encoding="ascii") as file:
                        lines = file.read().split("\n")
                    subject = next(line for line in lines if line.startswith("Subject: "))
                    assert sum(line.startswith("Delivered-To: ") for line in lines) == 1, lines
                    found[place, subject[len("Subject: "):]].append(name.split(":")[0])
        return found

    def recorded(self):
        """{(place, subject): (state, copy, attempts)}, as the command lists them."""
        ended = subprocess.run(
            [os.path.join(self.directory, "mailbox-command"), "list", "--json", "-c", self.file],
            capture_output=True, text=True, check=False, timeout=300)
        assert ended.returncode == 0, ended.stderr
        found = {}
        for line in ended.stdout.splitlines():
            listed = json.loads(line)
            for box in listed["mailboxes"]:
                local, _, domain = box["user"].partition("@")
                place = f"{domain}/{local}" + ("/.Sent" if box["folder"] == "Sent" else "")
                key = place, listed["subject"]
                assert key not in found, f"recorded twice: {key}"
                found[key] = box["state"], box.get("copy"), box["attempts"]
        return found

    def judge(self, count, unended=0):
        """What is wrong after COUNT messages, by kind: lost, twice, at odds; attempts that are noted
        still, if they are more than those of UNENDED runs can be, one for each of its two copies: these
        stay for a day."""
        copies, recorded = self.copies(), self.recorded()
        expected = {(place, f"s{number}") for place in PLACES for number in range(count)}
        return {
            "lost": sorted(expected - copies.keys()),
            "twice": sorted(key for key, names in copies.items() if len(names) > 1),
            "at odds": sorted(
                key for key in expected | copies.keys() | recorded.keys()
                if recorded.get(key, ())[:2] not in [("filed", name) for name in copies.get(key, [])]),
            "attempts": sorted(key for key, row in recorded.items() if row[2] > 0)
                        if sum(row[2] for row in recorded.values()) > 2 * unended else [],
        }


class Story:
    """COUNT messages, eight workers. NODES: two network namespaces; None: all are here."""

    def __init__(self, site, count, nodes=None, seed=0, kills=0.25, pauses=0.05, **environment):
        self.site, self.count, self.environment = site, count, environment
        self.kills, self.pauses = kills, pauses
        self.source = random.Random(seed)
        self.jobs = [collections.deque(), collections.deque()]
        for number in range(count):
            for place, recipient in enumerate(RECIPIENTS):
                self.jobs[(number + place) % 2].append((number, recipient))
        self.left = 2 * count
        self.typical = 0.05  # seconds that a run takes
        self.counts = collections.Counter()
        self.wrong = []
        self.change = threading.Condition()
        self.is_over = False
        self.threads = [threading.Thread(target=self._work, args=(place, nodes and nodes[place]))
                        for place in (0, 1) for _ in range(4)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def progress(self):
        return self.count - self.left // 2

    def wait(self, timeout):
        for thread in self.threads:
            thread.join(timeout)
            assert not thread.is_alive(), f"{self.left} runs are left: {self.counts}"
        assert not self.wrong, self.wrong[:5]

    def _take(self, place):
        with self.change:
            while self.left > 0 and not self.is_over:
                for jobs in (self.jobs[place], self.jobs[1 - place]):
                    if jobs:
                        return jobs.popleft()
                self.change.wait(0.2)
        return None

    def _ended(self, job, code):
        with self.change:
            if code == 0:
                self.left -= 1
            else:
                self.source.choice(self.jobs).append(job)
            self.change.notify_all()

    def _work(self, place, node):
        try:
            if node:
                enter(node)
            while (job := self._take(place)) is not None:
                self._ended(job, self._run(*job))
        except BaseException as why:
            self.wrong.append(repr(why))
            self.is_over = True
            raise

    def _strike(self, process):
        """kill -9, or a pause. Whether it was killed."""
        if self.source.random() * (self.kills + self.pauses) < self.kills:
            process.kill()
            return True
        process.send_signal(signal.SIGSTOP)
        self.counts["pauses"] += 1
        time.sleep(self.source.choice((0.05, 0.3, 1)))
        process.send_signal(signal.SIGCONT)
        return False

    def _run(self, number, recipient):
        process = self.site.begin(**self.environment)
        is_struck = self.source.random() < self.kills + self.pauses
        begun = time.monotonic()
        is_killed = False
        text = message(number, recipient)
        try:
            _, said = process.communicate(
                text, timeout=self.source.uniform(0, 1.3 * self.typical) if is_struck else 120)
        except subprocess.TimeoutExpired:
            is_killed = is_struck and self._strike(process)
            _, said = process.communicate(timeout=120)
        if not is_struck and process.returncode == 0:
            self.typical = 0.9 * self.typical + 0.1 * (time.monotonic() - begun)
        self._count(process.returncode, is_killed, said.decode())
        return process.returncode

    def _count(self, code, is_killed, said):
        self.counts["runs"] += 1
        self.counts["overlaps"] += said.count("overlap: ")
        if code == KILLED and is_killed:
            self.counts["runs killed"] += 1
        elif code == TRY_LATER:
            self.counts["runs deferred"] += 1
        elif code != 0:
            self.wrong.append((code, said))
            self.is_over = True
