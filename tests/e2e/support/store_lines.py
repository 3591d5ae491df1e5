# SPDX-License-Identifier: ISC
"""A store that is driven by lines (store_lines.h)."""

import contextlib
import itertools
import os
import queue
import subprocess
import threading
import time

from stagepost import BUILD, PATIENCE, Log

COUNT = itertools.count(1)


class Answer:
    def __init__(self, line):
        _, self.error, version, *self.records = line.split("\t")
        self.version = int(version)

    def __repr__(self):
        return f"{self.error} {self.version} {self.records}"


class Store:
    """PROGRAM is one of tests/e2e, and WORDS are its arguments. What the store tells is in
    events, each (when, word, words...), in order."""

    def __init__(self, directory, program, *words, wait=True):
        program = os.path.join(BUILD, "tests", "e2e", program)
        self.ids = itertools.count(1)
        self.answers = {}
        self.events = []
        self.order = []  # of all lines: their first two words
        self.condition = threading.Condition()
        path = os.path.join(directory, f"store-{next(COUNT)}.log")
        with open(path, "wb") as log:
            self.process = subprocess.Popen([program, *words], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=log, text=True,
                                            bufsize=1)
        self.log = Log(path)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        if wait:
            self.wait_event("up")

    def _read(self):
        for line in self.process.stdout:
            now = time.monotonic()
            words = line.rstrip("\n").split("\t")
            with self.condition:
                self.order.append(words[:3])
                if words[0] == "*":
                    self.events.append((now, *words[1:]))
                else:
                    self.answers.setdefault(words[0], queue.Queue()).put(line.rstrip("\n"))
                self.condition.notify_all()

    def send(self, *words):
        """The id by which receive() waits for the answer."""
        name = str(next(self.ids))
        with self.condition:
            self.answers[name] = queue.Queue()
            self.process.stdin.write("\t".join([name, *map(str, words)]) + "\n")
            self.process.stdin.flush()
        return name

    def receive(self, name, timeout=PATIENCE):
        return self.answers[name].get(timeout=timeout)

    def ask(self, *words, timeout=PATIENCE):
        return Answer(self.receive(self.send(*words), timeout))

    def get(self, table, *keys):
        return self.ask("get", table, *keys)

    def record(self, table, key):
        """Its text, "-" when there is none."""
        answer = self.get(table, key)
        assert answer.error == "0", answer
        return answer.records[0]

    def put(self, table, *records):
        return self.ask("put", table, *records)

    def state(self):
        """up or down, identity, version, microseconds since the data were fresh."""
        return self.receive(self.send("state")).split("\t")[1:]

    def accept(self):
        self.receive(self.send("accept"))

    def bench(self, table, pattern, keys, seconds, depth):
        return int(self.receive(self.send("bench", table, pattern, keys, seconds, depth),
                                seconds + PATIENCE).split("\t")[1])

    def mark(self):
        with self.condition:
            return len(self.events)

    def wait_event(self, word, *words, since=0, timeout=PATIENCE):
        """The first event after SINCE that begins with these words (None: any)."""
        wanted = (word, *words)

        def matches(event):
            return all(w is None or w == e for w, e in zip(wanted, event[1:]))

        deadline = time.monotonic() + timeout
        with self.condition:
            while True:
                for event in self.events[since:]:
                    if matches(event):
                        return event
                left = deadline - time.monotonic()
                assert left > 0, f"no {wanted} within {timeout} s: {self.events[-5:]}\n" \
                    f"{self.log.tail()}"
                self.condition.wait(left)

    def versions(self):
        return [int(event[2]) for event in self.events if event[1] == "changed"]

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(PATIENCE)
        self.thread.join(PATIENCE)
        self.process.stdout.close()
        assert self.process.returncode == 0, self.log.tail()


@contextlib.contextmanager
def closing(request):
    """A list of the stores of REQUEST's test: closed at the end, which has to be clean."""
    made = []
    yield made
    for one in made:
        if not getattr(request.node, "was_successful", True):
            print(f"--- {one.log.path}\n{one.log.tail(60)}")
        one.close()
