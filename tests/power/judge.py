# SPDX-License-Identifier: ISC
"""The judge of a chain of power cuts: the load that was cut, the recovery that was cut, ...,
the recovery that came to its end.

A recipient may have a message twice only if the queue, as the cut left it on the disk and
before anything recovered, still said that it was to be delivered, though it had been; and
only if that was less than WINDOW seconds before the cut, so that a mark that never becomes
durable is seen. A failure may be reported twice if the queue held the message and the report,
or one of them though the report had been delivered. Everything else that comes twice is not
excused."""

from collections import Counter
from dataclasses import dataclass, field

from common.ledger import Verdict, gather_entries, read_message

WINDOW = 3.0  # seconds from the receiver's 250 to a durable mark


@dataclass
class Box:
    """What all Maildirs hold: {(number, recipient): times of its copies}."""
    copies: dict = field(default_factory=dict)
    problems: list = field(default_factory=list)


@dataclass
class Level:
    """What happened from one start of the system to the next cut or to the end."""
    events: list
    cut: int = None  # the number of the last record before the cut; None: none came
    times: list = None  # of the disk's records, where it recorded
    pending: Counter = field(default_factory=Counter)  # (number, recipient) at the start
    box: Box = field(default_factory=Box)  # at the start
    wrong: str = ""  # beside what became of messages

    def time_of(self, number):
        return self.times[max(number, 1) - 1]

    def happened(self):
        return [event for event in self.events
                if self.cut is None or event["disk"] <= self.cut]


class PowerVerdict(Verdict):
    def __init__(self):
        super().__init__()
        self.unexcused = []
        self.wrong = []
        self.oldest = 0.0  # seconds from a 250 to the cut, of the excused


class Chain:
    """What became of each (number, recipient), level by level."""

    def __init__(self, levels, box):
        self.levels = levels
        self.entries = gather_entries(levels[0].happened())
        self.verdict = PowerVerdict()
        self.sent = Counter()  # by SMTP and LMTP
        self.reported = Counter()
        self.latest = {}  # (number, recipient): time
        self.allowed = Counter()  # duplicates
        for before, level in zip([None, *levels], levels):
            if before is not None:
                self._begin(level, before)
            self._follow(level)
        self._end(box)
        self.verdict.wrong = [level.wrong for level in levels if level.wrong]

    def _begin(self, level, before):
        """What is queued though it was delivered is allowed to come again, unless the mark of
        a delivery that BEFORE had made was due at its cut."""
        for key, count in level.pending.items():
            copies = level.box.copies.get(key, ())
            done = self.sent[key] + self.reported[key] + len(copies)
            latest = max([*copies, self.latest.get(key, 0)])
            if latest >= before.times[0]:
                age = before.time_of(before.cut) - latest
                if age > WINDOW:
                    continue
                self.verdict.oldest = max(self.verdict.oldest, age)
            self.allowed[key] = max(self.allowed[key], done + count - 1)

    def _follow(self, level):
        for event in level.happened():
            number = event["number"]
            if event["what"] not in ("delivered", "bounced"):
                continue
            if event["problem"]:
                self.verdict.corrupt.append(f"message {number}: {event['problem']}")
                continue
            names = [event["to"]] if event["what"] == "delivered" else event["recipients"]
            for name in names:
                self._came_out(event, (number, name), level)

    def _came_out(self, event, key, level):
        number, name = key
        if event["what"] == "bounced":
            if not name.startswith("fail-") or name not in self.entries[number]["recipients"]:
                self.verdict.corrupt.append(f"{name}, message {number}: reported for nothing")
            self.reported[key] += 1
        else:
            self.sent[key] += 1
        if level.times is not None:
            self.latest[key] = level.time_of(event["disk"])

    def _end(self, box):
        verdict = self.verdict
        verdict.corrupt += box.problems
        for number, entry in self.entries.items():
            verdict.accepted += entry["accepted"]
            for name in entry["recipients"]:
                key = (number, name)
                delivered = self.sent[key] + len(box.copies.get(key, ()))
                reported = self.reported[key]
                if entry["accepted"]:
                    verdict.delivered += delivered > 0
                    verdict.bounced += reported > 0 and not delivered
                    if not delivered and not reported:
                        verdict.lost.append(f"{name}, message {number}")
                if delivered + reported > 1:
                    self._count_duplicates(key, delivered + reported - 1)

    def _count_duplicates(self, key, count):
        self.verdict.duplicates += count
        if count > self.allowed[key]:
            self.verdict.unexcused.append(f"{key[1]}, message {key[0]}: "
                                          f"{count} too many, {self.allowed[key]} excused")


def judge_chain(levels, box):
    """LEVELS: the load's first; BOX: at the end."""
    return Chain(levels, box).verdict


def read_boxes(stored, entries):
    """STORED: (recipient, text, time) of all that is in Maildirs."""
    box = Box()
    for recipient, text, when in stored:
        number, problem = read_message(text, entries)
        if problem is None and recipient not in entries[number]["recipients"]:
            problem = "somebody else's"
        if problem is None:
            box.copies.setdefault((number, recipient), []).append(when)
        else:
            box.problems.append(f"{recipient}, message {number}: {problem}")
    return box
