# SPDX-License-Identifier: ISC
"""What came where in the campaign of freezes: whose bytes, and why something came twice."""

import os

from freeze import TIMEOUT
from freeze_mail import MEMBERS, known_as, sender_of
from kills import HELPERS, ONCE, OUTLIVES, RECORDED, RESTARTED, Excuses, queued_at
from common.ledger import find_leaks

SPARES = 200  # files of finished messages that the queue may keep
STOCK = 150  # and others that are no message's: handed out, or until the next commit
LONGEST = 2 * TIMEOUT + 2.0
CATCHES_UP = 2.0  # seconds in which who stood still does what it was given before and meanwhile


class FreezeExcuses(Excuses):
    """As of kills; and who stands still may take a reply for one that did not come in time, and
    tells later what it has done."""

    def __init__(self, faults, mx, delivered):
        super().__init__(self, mx.hostname, "", delivered)
        self.kills = faults.kills
        self.pauses = faults.pauses

    def between(self, begin, end, _, programs):
        return self._any(self.kills, begin, end, (*programs, "supervisor"))

    @staticmethod
    def _any(found, begin, end, programs):
        return any(begin <= one.over and one.when <= end and one.program in programs
                   for one in found)

    def mark(self, text, recipient):
        told = self.told.get((queued_at(text, self.mx), recipient))
        if told is None:
            return float("inf")
        late = self._any((*self.kills, *self.pauses), told - RESTARTED, told + RECORDED,
                         ("queue", "send", "supervisor"))
        return told + (RESTARTED + LONGEST if late else RECORDED)

    def excuse(self, recipient, first, second):
        if recipient.endswith(f"@{ONCE}"):
            return False
        domain = recipient.partition("@")[2]
        helpers = {"b.test": ("remote", "lmtp"), "d.test": ("local", "list"),
                   "p.test": ("pipe", "launch")}.get(
            domain, (HELPERS.get(domain),))
        begin = first[1] - max(OUTLIVES.get(helper, 0.05) for helper in helpers)
        end = min(second[1], self.mark(first[0], recipient), self.mark(second[0], recipient))
        if recipient in MEMBERS:  # it may have been made twice, before any copy came: "list" does
            begin = min(begin, queued_at(first[0], self.mx))  # not hear of a commit from the dead
            helpers = (*helpers, "queue")
        begin = min([begin, *(pause.when for pause in self.pauses
                              if pause.program in helpers and pause.over + CATCHES_UP >= begin
                              and pause.when <= end)])
        return (self.between(begin, end, "mx", (*helpers, "send"))
                or self._any(self.pauses, begin, end, helpers))


def kept_files(mx):
    """How many files the queue has that are no message's."""
    return len(os.listdir(os.path.join(mx.queue, "pid")))


class Seen:
    """Everything that came anywhere, whole or not, since it was made."""

    def __init__(self, scene):
        self.scene = scene
        self.transactions = []
        for name, server in ("SMTP", scene.far), ("LMTP", scene.box):
            self._watch(name, server)

    def _watch(self, name, server):
        keep = server.taken

        def taken(recipients, text):
            self.transactions.append((name, list(recipients), text))
            return keep(recipients, text)

        server.taken = taken

    def all(self):
        """(where, recipients, text)"""
        yield from self.transactions
        for name, server in ("SMTP", self.scene.far), ("LMTP", self.scene.box):
            for recipients, text in server.broken:
                yield f"{name}, broken off", recipients, text
        for folder, _, names in os.walk(self.scene.mx.mail):
            for name in names:
                box, kind = os.path.split(folder)
                if kind in ("new", "tmp"):
                    domain, local = box.split(os.sep)[-2:]
                    with open(os.path.join(folder, name), "rb") as file:
                        yield f"Maildir, {kind}", [known_as(f"{local}@{domain}")], file.read()
        for name in os.listdir(self.scene.folder):
            with open(os.path.join(self.scene.folder, name), "rb") as file:
                recipient, _, text = file.read().partition(b"\n")
            yield "pipe", [recipient.decode()], text

    def leaks(self, entries):
        def may_see(recipient, number):
            return recipient == sender_of(number) or recipient in entries.get(
                number, {"recipients": ()})["recipients"]

        return find_leaks(self.all(), may_see)
