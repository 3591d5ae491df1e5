# SPDX-License-Identifier: ISC
"""Every call of every process fails once, with each error that it can return, on each path of a
message (of a loop that makes the same call over and over, some of these). Nothing is lost or refused with 5yz because of it, no wrong password is
believed and no right one is called wrong, nothing panics or spins, the log says
what failed, and the next message is delivered."""

import collections
import errno
import os
import random
import re
import signal
import sys
import time
import zlib

import extent
import pytest
from scene import LARGE, LOGIN_WAYS, SECURE_WAYS, SMALL, Refused, Scene
from shim import LIE, Call, Shim, name_of
from stagepost import PROGRAMS, is_root, wait_until
from common.record import record

SEED = int(os.environ.get("FAULT_SEED", str(random.randrange(1 << 30))))
SAMPLE = int(os.environ.get("FAULTS", "6"))  # for each way; 0: all
PART, PARTS = map(int, os.environ.get("FAULTS_PART", "0/1").split("/"))  # of the calls
COMMAND = f"FAULTS={SAMPLE} tests/e2e/run tests/e2e/command/test_errors.py" if SAMPLE else "make faults"
WAYS = ["local", "remote", "lmtp", "pipe", "filed", "mixed", "large", "bounce", "later", "command", "qmtp",
        "lmtp_in", *LOGIN_WAYS, *SECURE_WAYS]
FAILING = (*PROGRAMS, "keys", "policy", "auth", "mailbox", "decode")
SEEDED = f"FAULT_SEED={SEED} FAULTS={SAMPLE}"  # the same calls again
LATE = 0.8  # seconds; by then a removal is durable and its file a spare
# What the log need not name, by the call, the call and its program, or the error: nothing
# depends on a close, what was written is durable before; a line that the log cannot take is
# counted as log_lost; a file that is not removed is found by the cleaner; clients come and
# go, at level debug; whoever hung up is named by ipc_lost; what is looked at before it is
# sent is read again; SQLite does not say why it cannot read or open a file, nor do we who look whether it is still the same; and libevent knows other ways to wait.
UNNAMED = {"close", "epoll_create1", "write file", "unlinkat", "smtpd recv", "smtpd send", "qmtpd recv", "qmtpd send", "remote pread64",
           "lmtp pread64", "mailbox pread64", "mailbox open64", "mailbox fstatat64", errno.ECONNRESET, errno.EINTR}
SAID = {errno.ENOSPC: "full", errno.EDQUOT: "quota"}  # in our own words
IDLE_LOOKS = 50  # at a node, until it has nothing to do
MANY = 24  # calls of a program that are the same
EVENTS = 200  # of the log, for one fault: more is a loop
TICKS = 50  # hundredths of a second of the processor, for one fault


class Campaign:
    def __init__(self):
        self.begun = time.monotonic()
        self.faults = collections.Counter()  # by the name of the error
        self.calls = set()
        self.restarts = collections.Counter()
        self.missed = 0
        self.unnoticed = 0  # what had another way, and is not in the log either
        self.answered = self.refused = self.retries = 0
        self.wrong = []
        self.is_stuck = False  # the node is not as the next fault needs it
        self.checked = 0

    def check(self):
        """What went wrong since the last check fails the test."""
        wrong, self.checked = self.wrong[self.checked:], len(self.wrong)
        if wrong:
            pytest.fail("\n".join((SEEDED, *wrong)), pytrace=False)

    def count(self, word):
        return sum(re.search(f": {word}[: ]", line) is not None for line in self.wrong)

    def counts(self):
        return {
            "different calls": len(self.calls), "faults": sum(self.faults.values()),
            **{f"of {name}": count for name, count in sorted(self.faults.items())},
            "messages answered 250": self.answered,
            "deferred with 4yz or disconnected": self.refused,
            "of no consequence, and not in the log": self.unnoticed,
            "processes started again": sum(self.restarts.values()),
            "lost": self.count("lost"), "corrupt": self.count("corrupt"),
            "duplicates without a reason": self.count("twice"),
            "refused for good": self.count("refused"), "panics": self.count("panic"),
            "loops": self.count("loop"), "stuck": self.count("stuck"),
            "read by others": self.count("open"),
            "errors that the log does not name": self.count("unnamed"),
        }


@pytest.fixture(scope="module")
def campaign():
    made = Campaign()
    yield made
    print(f"\n  {SEEDED}, {made.missed} calls were not reached\n  "
          + record("errors", title="Every call fails once", what=__doc__.replace("\n", " "),
                   command=COMMAND, counts=made.counts(),
                   seconds=time.monotonic() - made.begun, filesystem="ext4",
                   zero=("lost", "corrupt", "duplicates without a reason", "refused for good",
                         "panics", "loops", "stuck", "read by others", "errors that the log does not name")))
    for what, count in sorted(made.restarts.items()):
        print(f"  started again: {what} {count}")


@pytest.fixture
def shim():
    made = Shim()
    yield made
    made.close()


AUTHORITIES = Call("remote", "openat64", "")  # the first: their file


def needs_tls(params):
    """A path may, and each change, which is of all processes. What was found of changes, but for
    policy's and of the authorities, happened without TLS, and would not with it: that needs setting dns_server, with which
    "remote" does not read /etc/resolv.conf."""
    if "change" in params:
        return "call" not in params or params["call"].program == "policy" \
            or params["call"] == AUTHORITIES
    return params["way"] in SECURE_WAYS


@pytest.fixture
def scene(node, shim, secure_way, request):
    params = request.node.callspec.params
    is_secure = needs_tls(params)
    if is_secure and "way" in params and not is_root():
        pytest.skip("only root makes networks")
    made = Scene(node, shim=shim, secure=secure_way if is_secure else None,
                 logins="change" in params or params["way"] in LOGIN_WAYS)
    yield made
    made.close()


def send(scene, way):
    scene.size = LARGE if way == "large" else SMALL
    return scene.send("mixed" if way == "large" else way)


def some_of_many(count):
    """Of a call that is made so often: all, or, of a loop over the queue's directories, which makes
    the same call thousands of times, the first ones, the last one and some between."""
    if count <= MANY:
        return range(count)
    first = MANY // 2
    step = (count - 1 - first) / (MANY - first - 1)
    return [*range(first), *(first + round(i * step) for i in range(MANY - first))]


def points_of(calls):
    """[(call, N, error)], each once."""
    often = collections.Counter(calls)
    return [(call, n + 1, action) for call, count in sorted(often.items())
            for n in some_of_many(count) if zlib.crc32(f"{call} {n}".encode()) % PARTS == PART
            for action in call.actions()]


def tell(text):
    """At once, if nothing of the output is kept back (-s): a whole campaign takes an hour."""
    print(text, end="", file=sys.__stdout__, flush=True)


def some(points, capsys):
    if SAMPLE == 0:
        tell(f"\n  {len(points)} ")
        return points
    with capsys.disabled():
        print(f"\n  {SEEDED} of {len(points)} ", end="", flush=True)
    return random.Random(SEED).sample(points, min(SAMPLE, len(points)))


def ticks(pids):
    """Of the processor, that they have used."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
                words = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(words[11]) + int(words[12])
    return total


def is_of_libunbound(line):
    """Which writes to standard error, not always what the error was."""
    return " error: " in line and "libunbound" in line


class Attempt:
    """One fault, and what was seen of it."""

    def __init__(self, campaign, scene, shim, what, point):
        self.campaign, self.scene, self.shim, self.point = campaign, scene, shim, point
        call, number, action = point
        self.name = f"{what}, {call} {number} {name_of(action)}"
        self.mark = scene.mx.log.mark()
        self.is_secret = what != "first"
        self.went_on = True  # nobody was refused, nothing had to be tried again
        self.said = ""  # by a command, to who called it

    def wrong(self, what):
        self.campaign.wrong.append(f"{self.name}: {what}")
        tell(f"\n  {self.campaign.wrong[-1]}\n")

    def judge(self):
        verdict = self.scene.judge()
        self.campaign.answered += verdict.accepted
        for word in "lost", "corrupt":
            for text in getattr(verdict, word):
                self.wrong(f"{word} {text}")
        for text in self.scene.open_mail() if self.is_secret else ():
            self.wrong(f"open {text}")
        for (_, recipient), count in verdict.twice.items():
            if not self.may_double(recipient):
                self.wrong(f"twice {recipient} ({count})")

    def may_double(self, recipient):
        """Where the report of a delivery was lost, or its record."""
        call, _, _ = self.point
        if recipient.endswith("@m.test"):
            return False  # filed once, whatever fails
        return call.program in ("local", "pipe", "launch", "lmtp", "remote", "send")

    def look(self):
        """At the log, and at what runs."""
        call, _, action = self.point
        log = self.scene.mx.log
        events = log.read()[self.mark:]
        panics = [line for line in log.strange if not self.is_told(line)]
        if panics:
            self.wrong(f"panic {panics[:3]}")
        told = len(log.strange) > len(panics)
        log.strange.clear()
        for event in events:
            if event["event"] in ("message_damaged", "message_lost", "message_rebuilt"):
                self.wrong(f"corrupt {event}")
            if event["event"] == "process_ended":
                self.campaign.restarts[f"{call} {name_of(action)} {event['status']}"] += 1
        if len(events) > EVENTS:
            self.wrong(f"loop: {len(events)} events")
        if not self.shim.fired or action <= 0 or told or self.is_named(events):
            return
        if self.is_harmless(events):
            self.campaign.unnoticed += 1
        else:
            self.wrong(f"unnamed {[e for e in events if e['level'] != 'info'][:5]}")

    def words(self):
        """Either of which tells of the error."""
        action = self.point[2]
        return os.strerror(action), SAID.get(action, os.strerror(action))

    def is_told(self, line):
        """Whether a line that is no event may stand where the log stands."""
        return is_of_libunbound(line)

    def is_named(self, events):
        call, _, action = self.point
        words = self.words()
        return (UNNAMED & {call.name, f"{call.name} {call.kind}", action,
                           f"{call.program} {call.name}"}
                or any(word in value for event in events for value in event.values()
                       for word in words)
                or any(word in self.said for word in words)
                or call.name == "write" and any(event["event"] == "log_lost" for event in events))

    def is_harmless(self, events):
        """What needs no line in the log: all went on as if nothing had been."""
        return self.went_on and not any(event["event"] == "process_ended" for event in events)

    def run(self, way, late):
        """The fault falls while perform() does its part; then all has to go on."""
        tell(".")
        try:
            taken_by = self.perform(way, late)
            self.scene.wait_ready(self.mark)
            wait_until(lambda: send(self.scene, taken_by)[:1] == "2",
                       "the message is taken afterwards", timeout=5)
            self.scene.settle(patience=0.15)
        except Refused as refused:
            self.wrong(f"refused {refused}")
        except AssertionError as stuck:
            self.wrong(f"stuck {stuck}")
            self.campaign.is_stuck = True
        finally:
            self.shim.off()
        if self.shim.fired:
            self.campaign.faults[name_of(self.point[2])] += 1
            self.campaign.calls.add((way, *self.point[:2]))
        else:
            self.campaign.missed += 1
        self.judge()
        self.look()

    def stop(self):
        try:
            self.scene.mx.stop()
        except AssertionError as problem:
            self.wrong(f"stuck {problem}")

    def perform(self, way, late):
        """The way of a message that is to be taken afterwards: a command's needs lock/trigger."""
        before = ticks(self.scene.mx.pids())
        self.shim.arm(*self.point)
        reply = send(self.scene, way)
        if self.point[0].program == "stagepost":
            self.said = reply
        retries = self.scene.settle(patience=0.15, idle=2, mark=self.mark)
        self.went_on = reply[:1] == "2" and (retries == 0 or way == "later")
        if late and not self.shim.fired:
            self.shim.wait_fired(LATE)
        self.shim.off()
        self.campaign.refused += not reply.startswith("250 ")
        if ticks(self.scene.mx.pids()) - before > TICKS:
            self.wrong("loop: busy")
        return "mixed" if reply[:1] == "2" and way != "command" else way


def begin_anew(scene, way):
    """With directories and spares as they are when mail has gone that way before."""
    scene.prepare()
    assert send(scene, way).startswith("250 ")
    scene.settle()
    scene.forget()
    scene.start_again(way)


def wait_idle(shim):
    """Until what a start begins is done, such as reading all directories of the queue."""
    for _ in range(IDLE_LOOKS):
        shim.record()
        time.sleep(LATE)
        # a store that was written to of late is looked at four times a second
        calls = [call for call in shim.recorded() if call.program != "directory"]
        if not calls:
            return
    pytest.fail(f"the node never is idle: {calls[:9]}")


def learn(scene, shim, way):
    """(all calls of a message on that way, how many of them are made before it is gone)"""
    wait_idle(shim)
    mark = scene.mx.log.mark()
    shim.record()
    send(scene, way)
    scene.settle(idle=2, mark=mark)  # what is only slow makes no calls of a retry
    early = len(shim.recorded())
    time.sleep(LATE)
    shim.off()
    calls = [call for call in shim.recorded() if call.program in FAILING]
    return calls, collections.Counter(calls[:early])


def recover(scene, campaign):
    """What a fault left is none of those that come, nor are the messages that wait: the next
    ledger does not know them."""
    scene.mx.abandon()
    scene.mx.start()
    scene.settle()
    campaign.is_stuck = False


@pytest.mark.parametrize("way", WAYS)
def test_every_call_fails_once(scene, shim, campaign, capsys, way):
    begin_anew(scene, way)
    calls, early = learn(scene, shim, way)
    for point in some(points_of(calls), capsys):
        scene.forget()
        scene.mx.forget_past()
        scene.start_again(way)
        attempt = Attempt(campaign, scene, shim, way, point)
        attempt.run(way, late=point[1] > early[point[0]])
        if campaign.is_stuck:
            recover(scene, campaign)
        attempt.stop()
    campaign.check()


@pytest.mark.parametrize("way, call, number, action, seen", [
    ("large", Call("queue", "renameat2", ""), 1, LIE, "lost"),
    ("large", Call("local", "pwrite64", "file"), 2, LIE, "corrupt"),
    ("local", Call("queue", "renameat2", ""), 2, LIE, "twice")])
def test_judge_sees_it(scene, shim, way, call, number, action, seen):
    """A call that says it was made, and was not, does what no error may do."""
    begin_anew(scene, way)
    attempt = Attempt(Campaign(), scene, shim, way, (call, number, action))
    attempt.may_double = lambda recipient: False
    shim.arm(call, number, action)
    assert send(scene, way).startswith("250 ")
    wait_until(lambda: shim.fired, "the lie was told")
    wait_until(lambda: scene.mx.log.find("message_queued"), "it is queued")
    time.sleep(0.3)
    shim.off()
    scene.mx.restart()
    scene.settle()
    attempt.judge()
    assert attempt.campaign.count(seen) > 0


# --- the start ---


def restart(scene):
    """That of the supervisor itself may fail, and then has to say why and to work
    again at once. Whether it was not."""
    scene.mx.stop(may_say=is_of_libunbound)
    try:
        scene.mx.start(timeout=5)
        return True
    except AssertionError:
        scene.mx.abandon()
        return False


def reload(scene):
    """Taken over, refused, or failed; the node goes on working. False: it has ended."""
    mark = scene.mx.log.mark()
    scene.mx.process.send_signal(signal.SIGHUP)
    try:
        wait_until(lambda: scene.mx.log.find("config_reloaded", mark)
                   or scene.mx.log.find("config_refused", mark), "an answer", timeout=2)
    except AssertionError:
        if scene.mx.process.poll() is not None:
            scene.mx.abandon()
            return False
    return True


def let_wait(scene):
    """A message, at S5."""
    mark = scene.mx.log.mark()
    scene.refusals = 2
    assert send(scene, "later").startswith("250 ")
    scene.mx.log.wait("message_preprocessed", since=mark)


class Change(Attempt):
    """Of the node, a start or a reload; mail waits, and is delivered then."""

    def __init__(self, change, *rest):
        super().__init__(*rest)
        self.change = change

    def is_harmless(self, events):
        """Where all goes on there was another way, or a later time. What the child of a
        fork has met its exit status tells, 71 and so on: it has no log. Who does not start
        says why."""
        if not self.went_on:
            return False
        ended = [event for event in events if event["event"] == "process_ended"]
        return not ended or self.point[0].program == "stagepost"

    def is_told(self, line):
        """Before the log is open, it is standard error."""
        return super().is_told(line) or (
            line.startswith(("stagepost serve: ", self.scene.mx.conf))
            and any(word in line for word in self.words()))

    def perform(self, way, late):
        scene = self.scene
        let_wait(scene)
        self.mark = scene.mx.log.mark()
        self.shim.arm(*self.point)
        started = self.went_on = self.change(scene)
        self.shim.off()
        if not started and (self.point[0].program != "stagepost" or self.change is reload):
            self.wrong(f"stuck: no {way}")
        if not started:
            scene.mx.start()
        return "mixed"


@pytest.mark.parametrize("change", [restart, reload])
def test_every_call_of_a_change_fails_once(scene, shim, campaign, capsys, change):
    scene.prepare()
    let_wait(scene)
    shim.record()
    change(scene)
    time.sleep(LATE)
    shim.off()
    calls = [call for call in shim.recorded() if call.program in FAILING]
    scene.settle()
    for point in some(points_of(calls), capsys):
        scene.forget()
        scene.mx.forget_past()
        name = change.__name__
        Change(change, campaign, scene, shim, name, point).run(name, late=True)
        if campaign.is_stuck:
            recover(scene, campaign)
    campaign.check()


# What was found so, and is mended: (way, call, N, error).
FOUND = [
    ("pipe", Call("pipe", "write", "pipe"), 1, errno.EIO),
    ("large", Call("pipe", "write", "pipe"), 4, errno.EIO),
    ("pipe", Call("pipe", "epoll_ctl", "other"), 2, errno.ENOMEM),
    ("remote", Call("remote", "epoll_ctl", "other"), 1, errno.ENOSPC),
    ("lmtp", Call("smtpd", "epoll_ctl", "other"), 1, errno.ENOSPC),
    ("lmtp", Call("stagepost", "recvmsg", "packet"), 1, errno.ENOMEM),
    ("lmtp", Call("stagepost", "sendmsg", "packet"), 1, errno.ENOMEM),
    ("mixed", Call("stagepost", "recvmsg", "packet"), 1, errno.ECONNRESET),
    ("mixed", Call("queue", "write", "other"), 1, errno.EINTR),
    ("mixed", Call("queue", "renameat2", ""), 2, errno.EIO),
    ("mixed", Call("queue", "renameat2", ""), 2, errno.EDQUOT),
    ("later", Call("send", "openat64", ""), 6, errno.EMFILE),
    ("later", Call("send", "pread64", "file"), 3, errno.EIO),
    ("command", Call("send", "fstatat64", ""), 1, errno.EIO),
    ("command", Call("queue", "flock", "file"), 1, errno.ENOMEM),
    ("command", Call("send", "openat64", ""), 1, errno.EMFILE),
    ("secure", Call("policy", "epoll_ctl", "other"), 1, errno.ENOMEM),
    ("secure", Call("remote", "write", "pair"), 1, errno.ENOMEM),
    ("command", Call("stagepost", "open64", ""), 1, errno.EMFILE),
    ("command", Call("stagepost", "open64", ""), 1, errno.EINTR),
    ("command", Call("stagepost", "openat64", ""), 8, errno.EMFILE),
    ("filed", Call("mailbox", "open64", ""), 1, errno.EDQUOT),
]


@pytest.mark.parametrize("way, call, number, action", extent.some(FOUND, 11))
def test_found_before(scene, shim, campaign, way, call, number, action):
    begin_anew(scene, way)
    Attempt(campaign, scene, shim, way, (call, number, action)).run(way, late=True)
    assert shim.fired
    campaign.check()


# A signal's handler writes, the loop reads: libevent ends the process when it cannot. And who
# could not start did not say why, or something else.
CHANGES_FOUND = [
    (reload, Call("stagepost", "read", "other"), 1, errno.EIO),
    (reload, Call("stagepost", "read", "other"), 1, errno.EINTR),
    (restart, Call("policy", "write", "pair"), 1, errno.ENOMEM),
    (restart, Call("policy", "write", "pair"), 2, errno.EINTR),
    (restart, AUTHORITIES, 1, errno.EIO),
    (restart, Call("remote", "fopen", ""), 1, errno.EMFILE),
    (restart, Call("remote", "socketpair", ""), 1, errno.EMFILE),
    (restart, Call("remote", "socketpair", ""), 2, errno.ENFILE),
    (restart, Call("stagepost", "lstat64", ""), 1, errno.EIO),
    (restart, Call("stagepost", "open64", ""), 1, errno.EIO),
    (restart, Call("stagepost", "openat64", ""), 1, errno.EIO),
    (restart, Call("stagepost", "read", "file"), 1, errno.EIO),
    (restart, Call("stagepost", "read", "file"), 2, errno.EIO),
    (restart, Call("stagepost", "readlink", ""), 1, errno.EIO),
]


@pytest.mark.parametrize("change, call, number, action", extent.some(CHANGES_FOUND, 7))
def test_change_found_before(scene, shim, campaign, change, call, number, action):
    scene.prepare()
    name = change.__name__
    Change(change, campaign, scene, shim, name, (call, number, action)).run(name, late=True)
    assert shim.fired
    campaign.check()
