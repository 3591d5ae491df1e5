# SPDX-License-Identifier: ISC
"""kill -9 of everything at random, under load, on every way of a message. What was answered
250 is delivered, bounced or still queued, byte for byte. It may come twice where who was to
tell that it had come was killed before the mark of that was durable; all else is counted."""

import collections
import contextlib
import datetime
import os
import random
import re
import signal
import tempfile
import time

import pytest
from scene import SENDERS, Scene, stored_in
from smtp import Client
from stagepost import is_alive, wait_until
from common.holdings import all_queued
from common.ledger import MARK, Generator, Ledger, judge, make_message
from common.record import record

SECONDS = float(os.environ.get("KILL_SECONDS", "45"))
SEED = int(os.environ.get("KILL_SEED", str(random.randrange(1 << 30))))
PROGRAMS = ("queue", "send", "smtpd", "resolve", "remote", "lmtp", "local", "pipe")
MAILBOXES = 40
ALL = "all at once"


@pytest.fixture
def ledger():
    with tempfile.TemporaryDirectory(prefix="stagepost-ledger-") as directory:
        made = Ledger(os.path.join(directory, "ledger"))
        yield made
        made.close()


# --- the judge ---

@pytest.mark.parametrize("spoil, counts", [
    (None, (2, 0, 0, 0)), ("lose", (1, 0, 1, 0)), ("change", (1, 0, 1, 1)),
    ("cut", (1, 0, 1, 1)), ("double", (2, 1, 0, 0)), ("misplace", (1, 0, 1, 1)),
    ("unsent", (2, 0, 0, 1))])
def test_judge_sees_it(ledger, spoil, counts):
    source = random.Random(1)
    texts = []
    for number in 1, 2, 3:
        text, sha256 = make_message(number, source)
        texts.append(b"Received: by us\n" + text.replace(b"\r\n", b"\n"))
        ledger.write("begun", number, sha256=sha256, recipients=[f"u{number}@a.test"])
        if number < 3:
            ledger.write("dot", number)
            ledger.write("accepted", number)
    first, second = ("u1@a.test", texts[0]), ("u2@a.test", texts[1])
    found = {None: [first, second], "lose": [first], "double": [first, first, second],
             "change": [first, (second[0], second[1].replace(b"number", b"numbeR"))],
             "cut": [first, (second[0], second[1][:-1])],
             "misplace": [first, ("u1@a.test", texts[1])],
             "unsent": [first, second, ("u3@a.test", texts[2])]}[spoil]
    verdict = judge(ledger, found, [])
    assert (verdict.delivered, verdict.duplicates, len(verdict.lost),
            len(verdict.corrupt)) == counts


# --- the campaign ---

RECORDED = 1.0  # seconds; after that an outcome that was logged is on the disk
RESTARTED = 12.0  # and then the longest wait until "queue" runs again
# Seconds after a helper's death in which what it began may still be written. "pipe" has started a
# program: that is another process, which has the message in its pipe and goes on when its
# parent is killed. "remote" has handed the message to the kernel: bytes in a socket are sent
# though the process is gone, and the next host, which has the final dot, queues and writes
# it. For the others it is only what two clocks, of a kill and of a file, differ by: "local" makes
# the file itself, and the LMTP server is ours and notes at once what has come.
OUTLIVES = {"pipe": 0.5, "remote": 0.5}
HELPERS = {"a.test": "local", "p.test": "pipe", "l.test": "lmtp", "b.test": "remote"}


def some_recipients(source):
    box = f"box{source.randrange(MAILBOXES)}"
    every = [f"{box}@a.test", f"{box}@b.test", f"{box}@l.test", f"{box}@p.test"]
    return source.choice((*([to] for to in every), [f"nobody{box}@b.test"], every,
                          [f"{box}@a.test", f"other-{box}@a.test", f"nobody{box}@b.test"]))


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
        return self.killer.between(begin, end, "mx", (helper, "send"))


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


def stamp(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def settle(mx, rounds=4):
    """Lets deliveries end. Interrupted ones wait for their turn: it is made come."""
    for _ in range(rounds):
        try:
            mx.wait_empty(timeout=8)
            return
        except AssertionError:
            mx.stop()
            mx.make_due()
            mx.start()


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


TAKEN = 1795190517.0
RECEIVED = "Received: from c ([127.0.0.1])\n\tby {} with ESMTP\n\tid 7-{:x}; then\n"


def copy_of(seconds, *hosts):
    """A copy that came after so many SECONDS, and its trace: (host, seconds) of each."""
    trace = "".join(RECEIVED.format(host, int((TAKEN + taken) * 1e6))
                    for host, taken in (*hosts, ("mx", 0)))
    return trace.encode(), TAKEN + seconds


@pytest.mark.parametrize("recipient, copies, kills, excused", [
    ("u@a.test", (copy_of(1), copy_of(9)), [], False),
    ("u@a.test", (copy_of(1), copy_of(9)), [(2, "mx", "local")], True),
    ("u@a.test", (copy_of(1), copy_of(9)), [(2, "mx", "send")], True),
    ("u@a.test", (copy_of(1), copy_of(9)), [(2, "mx", ALL)], True),
    ("u@a.test", (copy_of(1), copy_of(9)), [(2, "mx", "smtpd"), (2, "mx", "lmtp"),
                                            (2, "mx", "queue"), (2, "other", "local")], False),
    ("u@a.test", (copy_of(1), copy_of(9)), [(0.5, "mx", "local"), (9.1, "mx", "local")], False),
    *((f"u@{domain}.test", (copy_of(1), copy_of(9)), [(1 - before, "mx", program)], excused)
      for domain, program, before, excused in (
          ("p", "pipe", 0.4, True), ("p", "pipe", 0.6, False), ("p", "local", 0.4, False),
          ("a", "local", 0.04, True), ("a", "local", 0.06, False), ("a", "local", 0.4, False),
          ("l", "lmtp", 0.4, False))),
    *(("u@b.test", (copy_of(3, ("other", 3)), copy_of(9, ("other", 8))),
       [(3 - before, "mx", "remote")], excused) for before, excused in ((0.4, True), (0.6, False))),
    ("u@a.test", (copy_of(1), copy_of(9)), [(0.5, "mx", ALL, 0.6)], True),  # it lasted
    ("u@a.test", (copy_of(1), copy_of(9)), [(0.5, "mx", ALL, 0.4)], False),
    ("told@a.test", (copy_of(1), copy_of(9)), [(2.5, "mx", "send")], True),
    ("told@a.test", (copy_of(1), copy_of(9)), [(4, "mx", "send")], False),
    ("u@b.test", (copy_of(3, ("other", 1)), copy_of(9, ("other", 8))),
     [(2, "other", "queue")], True),
    ("u@b.test", (copy_of(3, ("other", 1)), copy_of(9, ("other", 1))),
     [(2, "other", "queue"), (4, "mx", "send")], False),
    ("u@b.test", (copy_of(3, ("other", 1)), copy_of(9, ("other", 1))),
     [(4, "other", "local")], True),
])
def test_excuses(recipient, copies, kills, excused):
    killer = Killer({}, None)
    killer.kills = [Kill(TAKEN + when, TAKEN + when + sum(lasting), name, program)
                    for when, name, program, *lasting in kills]
    said = datetime.datetime.fromtimestamp(TAKEN + 2, datetime.timezone.utc).isoformat()
    excuses = Excuses(killer, "mx", "other", [
        {"id": f"7-{int(TAKEN * 1e6):x}", "to": "told@a.test", "time": said}])
    assert excuses.excuse(recipient, *copies) == excused


@pytest.fixture
def scene(node):
    made = Scene(node, start=False)
    yield made
    made.close()


def test_kill_campaign(node, scene, ledger, capsys):
    source = random.Random(SEED)
    mx = scene.mx
    addresses = ", ".join(f'"box{i}"' for i in range(MAILBOXES))
    other = node("other", hostname="other.stagepost.test", domains=[
        f'domain "b.test" {{ service = maildir addresses = {{ {addresses} }} }}'])
    mx.routes = [f"b.test:127.0.0.1;{other.port}"]
    mx.write_configuration()
    mx.start()
    killer = Killer({"mx": mx, "other": other}, source)
    generator = Generator(ledger, lambda: Client(mx, timeout=20), some_recipients, seed=SEED,
                          sender=f"s@{SENDERS}")
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            next_kill = time.monotonic() + source.uniform(0.05, 0.9)
            wait_until(lambda: time.monotonic() > next_kill, "the next kill")
            killer.next()
    finally:
        generator.stop()
    settle(mx)
    settle(other)
    settle(mx)
    copies = [*scene.copies(), *stored_in(other)]
    verdict = judge(ledger, [copy[:2] for copy in copies], all_queued(mx, other),
                    scene.reports())
    assert all(queued_at(text, mx.hostname) for _, text, _ in copies)
    bad = without_excuse(copies, verdict.twice, Excuses(
        killer, mx.hostname, other.hostname, mx.log.find("delivered")))
    counts = collections.Counter(kill.program for kill in killer.kills)
    line = record(
        "kill-random", title="kill -9 at random", what=__doc__.replace("\n", " "),
        command="make kill", seconds=SECONDS, filesystem="ext4", counts={
            "kills": len(killer.kills),
            **{f"of {name}": count for name, count in sorted(counts.items())},
            "messages answered 250": verdict.accepted,
            "recipients delivered": verdict.delivered, "recipients bounced": verdict.bounced,
            "recipients queued at the end": verdict.queued,
            "lost": len(verdict.lost), "corrupt": len(verdict.corrupt),
            "duplicates, excused": verdict.duplicates - len(bad), "not excused": len(bad),
        }, zero=("lost", "corrupt", "not excused", "recipients queued at the end"))
    with capsys.disabled():
        print(f"\n  KILL_SEED={SEED} {line}")
    assert verdict.accepted > SECONDS, "the load was too small to mean anything"
    assert not verdict.lost, verdict.lost[:20]
    assert not verdict.corrupt, verdict.corrupt[:20]
    assert not bad, "\n".join(bad)
    for owner in mx, other:
        assert not owner.log.find("message_damaged")
    assert verdict.queued == 0, "nothing prevents these deliveries"
