# SPDX-License-Identifier: ISC
"""What a process that was taken over may have done, and what not: to the others, to the mail, and
what is said of it."""

import contextlib
import os
from datetime import datetime

from scene import SENDERS
from stagepost import is_alive, wait_until
from common.ledger import find_leaks

# Whose mail he has in his hands: it may be lost with him, or be his to read.
OWN = {"smtpd": (), "qmtpd": (), "names": (), "remote": ("b.test",), "lmtp": ("l.test",),
       "local": ("a.test", "d.test", "example.org", SENDERS), "pipe": ("p.test",),
       "launch": ("p.test",), "mailbox": ("m.test",), "decode": (), "list": ("d.test",), "directory": (),
       "keys": (), "policy": (), "auth": (), "noded": (), "handover": ()}  # the others: all
READS = {"decode": ("m.test",)}  # likewise, but it cannot be lost
# Whose mail goes where he says: as without a policy.
MISLED = {"policy": ("b.test",)}
OPENED = ("remote", "send", "queue", *MISLED)  # by whom others may get to see what is for that domain
MEMORY = 256 << 10  # KiB, of any other process
DESCRIPTORS = 20000  # the same, at any time
SPARES = 40  # files that "queue" keeps between messages, three times
MORE = 3 * SPARES + 80  # descriptors that may be left when he is gone: these, and honest mail's
PEACE = 60  # seconds after his end: mail flows
SERVICES = {"local": ("maildir",), "lmtp": ("box",), "mailbox": ("once",), "pipe": ("run",), "launch": ("run", "pipe")}
FILED = "m.test"  # the domain of what is decoded
LONG = 2  # seconds that a message waits, at most, for a decoder that has another one in its hands
OPEN = 20  # messages before and after his taking over, of which a client may bring him one


def read_status(pid, name):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(name):
                    return int(line.split()[1])
    return 0


def descriptors(pid):
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))
    return 0


class Watch:
    """The bounds on all others."""

    def __init__(self, mx, without):
        self.pids = [pid for pid in mx.pids() if pid != without] + [mx.process.pid]
        self.names = {pid: name for name in ("smtpd", "qmtpd", "queue", "send", "resolve", "names", "remote", "lmtp",
                                             "local", "pipe", "launch", "list", "directory", "keys",
                                             "policy", "auth", "mailbox", "decode", "handover", "noded")
                      for pid in mx.pids(name)}
        self.before = {pid: descriptors(pid) for pid in self.pids}
        self.triggers = f"{mx.queue}/trigger"
        self.standing = set(os.listdir(self.triggers))  # of who was there before him
        self.named = set()
        self.most = dict(self.before)

    def look(self):
        self.named.update(set(os.listdir(self.triggers)) - self.standing)
        for pid in self.pids:
            self.most[pid] = max(self.most[pid], descriptors(pid))

    def is_over(self, pid):
        return descriptors(pid) > self.before[pid] + MORE

    def grown(self):
        """Whose descriptors became most, and by how many."""
        pid = max(self.pids, key=lambda pid: self.most[pid] - self.before[pid])
        return (f"{self.names.get(pid, 'supervisor')} had {self.most[pid]} descriptors, "
                f"{self.before[pid]} before")

    def problems(self):
        with contextlib.suppress(AssertionError):  # what waited for him comes in one burst
            wait_until(lambda: not any(map(self.is_over, self.pids)), "all is given back", PEACE)
        for pid in self.pids:
            name = self.names.get(pid, "supervisor")
            if not is_alive(pid):
                yield f"{name} has ended"
            if read_status(pid, "VmHWM") > MEMORY:
                yield f"{name} has had {read_status(pid, 'VmHWM')} KiB"
            if self.most[pid] > DESCRIPTORS:
                yield f"{name} has had {self.most[pid]} descriptors"
            if self.is_over(pid):
                yield f"{name} has kept {descriptors(pid)} descriptors, {self.before[pid]} before"


def is_his(program, recipient):
    domains = OWN.get(program)
    return domains is None or recipient.partition("@")[2] in domains


def leaks(program, taken, entries):
    """Bytes that he came by, of messages that are not his to deliver."""
    may_read = lambda recipient: is_his(program, recipient) or (
        recipient.partition("@")[2] in READS.get(program, ()))
    first, last = taken.span[0] - OPEN, taken.span[1] + OPEN
    may = lambda _, number: (program in ("smtpd", "qmtpd") and first < number <= last) or any(
        may_read(recipient) for recipient in entries.get(number, {"recipients": ()})[
            "recipients"])
    found = []
    for heard in taken.heard:
        found += [leak for leak in find_leaks([(program, [program], heard)], may)
                  if "of them []" not in leak]
    return found


def has_key(taken, number):
    """Whether he came by the private NUMBER of a key; it is in the hands of "keys" anyway."""
    return taken.program != "keys" and any(number in heard for heard in taken.heard)


def names(complaint, taken):
    """Whether it says who: his process, his program, his user, his socket or his service."""
    uid = taken.uid
    return any(complaint.get(field) in his for field, his in (
        ("pid", (str(taken.pid),)), ("program", (taken.program,)), ("uid", (str(uid),)),
        ("service", SERVICES.get(taken.program, (taken.program,))),
        ("server", (f"unix:{taken.mx.run}/{taken.program}",)),
        ("peer", (f"uid:{uid}", f"uid {uid}", f"{taken.mx.run}/{taken.program}",
                  *SERVICES.get(taken.program, (taken.program,))))))


def lost_wrongly(verdict, spans):
    """What no process that was taken over had in its hands. SPANS: {program: (since, until)}"""
    for line in verdict.lost:
        recipient, _, number = line.partition(", message ")
        domain = recipient.partition("@")[2]
        if not any((is_his(program, recipient) or domain in MISLED.get(program, ()))
                   and since - 50 <= int(number) <= until
                   for program, (since, until) in spans.items()):
            yield line


def corrupt_wrongly(verdict, spans):
    """What was changed or made up by nobody who had it in his hands. A message that nobody sent
    (number None) may be of anyone who delivers to its recipient, or hands on what is delivered."""
    for line in verdict.corrupt:
        recipient, _, rest = line.partition(", message ")
        number = rest.partition(":")[0]
        if not any(is_his(program, recipient) and
                   (number == "None" or number.isdigit() and since - 50 <= int(number) <= until)
                   for program, (since, until) in spans.items()):
            yield line


def count_long(events, is_meant):
    """How many messages that are meant took more than LONG seconds from the queue to their mailbox, and of how many."""
    queued = {event["id"]: event["time"] for event in events if event["event"] == "message_queued"}
    took = [(datetime.fromisoformat(event["time"]) - datetime.fromisoformat(queued[event["id"]])).total_seconds()
            for event in events if event["event"] == "delivered" and event["id"] in queued
            and is_meant(event.get("to", ""))]
    return sum(one > LONG for one in took), len(took)


def delayed(events, lives):
    """What "decode" has delayed besides the messages that were in its hands. On a busy machine all mail takes long."""
    count, filed = count_long(events, lambda to: to.endswith("@" + FILED))
    usual, others = count_long(events, lambda to: not to.endswith("@" + FILED))
    withheld = sum(len(taken.withheld) + taken.acts for taken in lives)  # others of his acts may take as long
    if count > withheld + filed * usual / max(others, 1):
        yield (f"{count} of {filed} messages waited for the decoder, which had {withheld} in its hands; "
               f"{usual} of {others} others as long")
