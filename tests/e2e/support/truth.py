# SPDX-License-Identifier: ISC
"""What was true of each key and when, and whether an answer can be excused by it."""

import bisect
import threading
import time

ABSENT = None  # the value of a key that does not exist


class Truth:
    """Values by key. A change is true at some moment between begin() and end(): before that
    the old value, afterwards the new one. Times are time.monotonic()'s."""

    def __init__(self, first):
        now = time.monotonic()
        self._lock = threading.Lock()
        self._history = {key: [(now, now, value)] for key, value in first.items()}

    def begin(self, key, value):
        """The change is on its way; it may be true from now on."""
        with self._lock:
            self._history[key].append((time.monotonic(), float("inf"), value))

    def end(self, key, done=True):
        """It was made; or not, for certain. (One that nobody knows of is never ended.)"""
        with self._lock:
            begun, _, value = self._history[key].pop()
            if done:
                self._history[key].append((begun, time.monotonic(), value))

    def now(self, key):
        with self._lock:
            return self._history[key][-1][2]

    def keys(self):
        return list(self._history)

    def possible(self, key, since, until):
        """The values that may have been true at some moment from SINCE to UNTIL."""
        with self._lock:
            history = list(self._history[key])
        place = bisect.bisect_right([entry[0] for entry in history], until)
        found = set()
        for begun, ended, value in reversed(history[:place]):
            found.add(value)
            if ended <= since:  # it was true by then, so nothing older was
                break
        return found


class Judge:
    """Answers are excused by what was true in the last TTL seconds, and SLACK: what a
    push takes on a busy machine."""

    def __init__(self, truth, ttl, slack):
        self.truth, self.ttl, self.slack = truth, ttl, slack
        self.counts = {"answers": 0, "deferred": 0}
        self.stale = []
        self._lock = threading.Lock()

    def answered(self, key, value, asked, where):
        now = time.monotonic()
        possible = self.truth.possible(key, asked - self.ttl - self.slack, now)
        with self._lock:
            self.counts["answers"] += 1
            if value not in possible:
                self.stale.append(f"{where}: {key} is {value!r}, not one of {possible!r}")

    def existed(self, key, exists, asked, where):
        """The same, where only that is told."""
        possible = self.truth.possible(key, asked - self.ttl - self.slack, time.monotonic())
        with self._lock:
            self.counts["answers"] += 1
            if exists not in {value is not ABSENT for value in possible}:
                self.stale.append(f"{where}: {key} {'exists' if exists else 'does not exist'}, "
                                  f"among {possible!r}")

    def put_off(self):
        with self._lock:
            self.counts["deferred"] += 1
