# SPDX-License-Identifier: ISC
"""kill -9 at every system call of every process that changes a file, makes it durable or
talks, on each way of a message. What was answered 250 comes out, byte for byte; twice only
where the process that died could not yet have told that it had delivered."""

import contextlib
import os
import random
import shutil
import sqlite3
import tempfile
import time

import extent
import pytest
import strace
from scene import LOGIN_WAYS, SECURE_WAYS, Refused, Scene
from stagepost import POLL, PROGRAMS, install_programs, is_root, wait_until
from common.record import record

SEED = int(os.environ.get("KILL_SEED", str(random.randrange(1 << 30))))
SAMPLE = int(os.environ.get("KILL_CALLS", "3"))  # of all (process, call, N); 0: every one
WAYS = ["local", "remote", "lmtp", "pipe", "filed", "bounce", "later", "command", "qmtp", "lmtp_in", *LOGIN_WAYS,
        *SECURE_WAYS]
KILLED = os.environ.get("KILL_PROGRAMS", " ".join(PROGRAMS[1:]) + " keys policy auth mailbox decode").split()
LATE = 0.8  # seconds; by then a removal is durable and its file a spare
# whose death may make a recipient get it twice: who delivers, and who records it
MAY_DOUBLE = {"a.test": ("local", "send"), "p.test": ("pipe", "launch", "send"),
              "l.test": ("lmtp", "send"), "b.test": ("remote", "send"),
              "m.test": ()}  # filed once, whoever dies
COMMAND = "stagepost enqueue"
FILER = "stagepost mailbox"
ONCE = {"filed", FILER}  # what of this is a record of its own
WRAPPER = """#!/bin/sh
if mv "$0.inject" "$0.now" 2>/dev/null; then
	exec strace -D -f -qq -o "$0.trace" $(cat "$0.now") -- "$0.real" "$@"
fi
exec "$0.real" "$@"
"""

pytestmark = pytest.mark.skipif(not is_root(), reason="only root traces other users' processes")


class Campaign:
    """What was counted, and what went wrong."""

    def __init__(self):
        self.begun = time.monotonic()
        self.ways = set()
        self.points = 0  # (process, call, N) that were tried
        self.kills = {}  # of those where the kill fell
        self.answered = self.delivered = self.bounced = 0
        self.excused = 0
        self.wrong = []

    def judge(self, scene, program, what):
        verdict = scene.judge()
        self.answered += verdict.accepted
        self.delivered += verdict.delivered
        self.bounced += verdict.bounced
        for (_, recipient), count in verdict.twice.items():
            if count == 2 and program in MAY_DOUBLE[recipient.partition("@")[2]]:
                self.excused += 1
            else:
                self.wrong.append(f"{what}: {recipient} {count} times")
        self.wrong += [f"{what}: lost: {text}" for text in verdict.lost]
        self.wrong += [f"{what}: corrupt: {text}" for text in verdict.corrupt]
        if not what.startswith("first "):
            self.wrong += [f"{what}: open: {text}" for text in scene.open_mail()]
        damage = [event for name in ("message_damaged", "message_lost", "message_rebuilt")
                  for event in scene.mx.log.find(name)]
        if damage or scene.mx.log.strange:
            self.wrong.append(f"{what}: {damage} {scene.mx.log.strange[:20]} {scene.mx.log.tail(3)}")

    def count(self, name):
        return sum(name in line for line in self.wrong)

    def counts(self):
        return {
            "processes, calls and their numbers": self.points,
            "kills": sum(self.kills.values()),
            **{f"of {name}": count for name, count in sorted(self.kills.items())},
            "messages answered 250": self.answered, "recipients delivered": self.delivered,
            "recipients bounced": self.bounced, "lost": self.count(": lost: "),
            "corrupt": self.count(": corrupt: "),
            "read by others": self.count(": open: "),
            "duplicates, excused": self.excused, "not excused": self.count(" times"),
        }


@pytest.fixture(scope="module")
def campaign():
    made = Campaign()
    yield made
    is_once = made.ways and made.ways <= ONCE
    print(f"\n  KILL_SEED={SEED} KILL_CALLS={SAMPLE}\n  " + record(
        "kill-once" if is_once else "kill-syscalls",
        title="kill -9 at every system call of who files once" if is_once
        else "kill -9 at every system call",
        what="Each process is killed before its Nth call of a kind, for each call that changes a file, "
        "makes it durable or communicates, and each N, while one message takes one of the paths "
        "through a node (mailbox, mailbox that each message is filed in once, SMTP, SMTP with TLS in and out, LMTP, program, bounce, retry, the "
        "command, QMTP in, LMTP in, submission with a wrong and a right password, a start with litter); then it is restarted as usual. \"stagepost mailbox\", and the decoder "
        "that it starts, are killed likewise, and run again as a mail system does. A duplicate is excused if the killed process had "
        "delivered, or had yet to record, the delivery.",
        command='KILL_CALLS=0 KILL_PROGRAMS="mailbox decode" tests/e2e/run '
        'tests/e2e/campaign/test_kill_syscalls.py -k "filed or mailbox or decode"' if is_once else "make kill",
        counts=made.counts(), seconds=time.monotonic() - made.begun,
        filesystem="ext4", zero=("lost", "corrupt", "read by others", "not excused")))


@pytest.fixture
def scene(node, secure_way, request):
    way = getattr(request.node, "callspec", None) and request.node.callspec.params.get("way")
    made = Scene(node, secure=secure_way if way in SECURE_WAYS else None,
                 logins=way in LOGIN_WAYS)
    yield made
    made.close()


def some(points, source, is_enough=lambda: True):
    """Those that are tried: all, or a sample, and more until IS_ENOUGH(): not every call comes again."""
    for tried, point in enumerate(points if SAMPLE == 0 else source.sample(points, len(points))):
        if 0 < SAMPLE <= tried and is_enough():
            return
        yield point


def send(scene, way):
    """The reply. What is refused for ever is a failure of the test."""
    try:
        return scene.send(way)
    except Refused as refused:
        pytest.fail(f"a kill made it refuse good mail: {refused}")


# --- processes that run ---


def learn(scene, way):
    """[(program, number of the thread, names of the call, N)] of one message on that WAY."""
    pids = {scene.mx.pids(name)[0]: name for name in KILLED if scene.mx.pids(name)}
    tracers = [strace.Strace(pid, f"--trace={strace.ALL}", follow=True,
                             output=os.path.join(scene.traces, name))
               for pid, name in pids.items()]
    send(scene, way)
    scene.settle()
    time.sleep(LATE)
    for tracer in tracers:
        tracer.end()
    points = []
    for pid, name in pids.items():
        order = {thread: i for i, thread in enumerate(strace.threads(pid))}
        counted = strace.count(os.path.join(scene.traces, name))
        for (thread, names), often in sorted(counted.items()):
            if thread in order:
                points += [(name, order[thread], names, n + 1) for n in range(often)]
    return points


def kill_at(scene, way, point):
    """Whether the process got to that call."""
    name, thread, names, number = point
    mark = scene.mx.log.mark()
    pid = scene.mx.pids(name)[0]  # of two decoders, the one that learn() has followed
    tracer = strace.at_thread(pid, thread, strace.death(names, number))
    try:
        send(scene, way)
        scene.settle()
        end = time.monotonic() + LATE
        while not tracer.has_ended() and time.monotonic() < end:
            time.sleep(POLL / 2)
    finally:
        killed = tracer.has_ended()
        tracer.end()
    if killed:
        scene.mx.log.wait("process_ended", since=mark, program=name, status="signal 9")
        scene.wait_ready(mark)
    return killed


@pytest.mark.parametrize("way", WAYS)
def test_kill_at_every_call(scene, campaign, way):
    campaign.ways.add(way)
    scene.prepare()
    send(scene, way)  # so that connections and mailboxes exist
    scene.settle()
    scene.start_again(way)
    points = learn(scene, way)
    scene.forget()
    for point in some(points, random.Random(SEED)):
        scene.start_again(way)  # no wait before a process is started again
        campaign.points += 1
        if kill_at(scene, way, point):
            campaign.kills[point[0]] = campaign.kills.get(point[0], 0) + 1
        scene.settle()
        campaign.judge(scene, point[0], f"{way} {point}")
        scene.forget()
    assert not campaign.wrong, "\n".join(campaign.wrong[:20])


# --- the command ---


def trace_words(words, output):
    return ["strace", "-f", "-qq", "-o", output, *words, "--"]


def enqueue(scene, words, output):
    number, text, recipients = scene.begin("command")
    return scene.enqueue(number, text, recipients, prefix=trace_words(words, output))


def test_kill_the_command(scene, campaign):
    """Beside a daemon, which must not see half a message."""
    output = os.path.join(scene.traces, "command")
    assert enqueue(scene, [f"--trace={strace.ALL}"], output).startswith("250 ")
    scene.settle()
    points = [(names, n + 1) for (_, names), often in sorted(strace.count(output).items())
              for n in range(often)]
    for names, number in some(points, random.Random(SEED)):
        scene.forget()
        campaign.points += 1
        reply = enqueue(scene, strace.death(names, number), "/dev/null")
        if not reply.startswith("250 "):
            assert "exit 137" in reply or "exit -9" in reply, reply
            campaign.kills[COMMAND] = campaign.kills.get(COMMAND, 0) + 1
        scene.mx.restart()  # nothing tells of what was queued when the trigger was not pulled
        scene.settle()
        campaign.judge(scene, "send", f"{COMMAND} {names} {number}")
    assert not campaign.wrong, "\n".join(campaign.wrong[:20])


# --- "stagepost mailbox", which files a message itself ---


def file_once(scene, number, text, recipients, prefix=()):
    """Each recipient's copy by a run of its own; the exit statuses. The mail system has been told
    that it has them all if these are 0."""
    ended = [scene.command("mailbox", "-r", recipient, prefix=prefix, input=text.replace(b"\r\n", b"\n"))
             for recipient in recipients]
    statuses = [one.returncode for one in ended]
    if statuses == [0] * len(ended):
        scene.ledger.write("accepted", number, reply="exit 0")
    return statuses


def begin_to_file(scene):
    number, text, recipients = scene.begin("filed")
    scene.ledger.write("dot", number)
    return number, text, recipients


def judge_filer(scene, campaign, point):
    scene.settle()
    campaign.judge(scene, FILER, f"{FILER} {point}")
    scene.forget()


def test_kill_the_mailbox_command(scene, campaign):
    """Beside a daemon that may file, too. Who runs it again files what is missing, and no more."""
    campaign.ways.add(FILER)
    output = os.path.join(scene.traces, "filer")
    number, text, recipients = begin_to_file(scene)
    assert file_once(scene, number, text, recipients[:1],
                     trace_words([f"--trace={strace.ALL}"], output)) == [0]
    scene.forget()
    points = sorted({(names, n + 1) for (_, names), often in strace.count(output).items()
                     for n in range(often)})
    for point in some(points, random.Random(SEED), lambda: campaign.kills.get(FILER, 0) > 0):
        campaign.points += 1
        number, text, recipients = begin_to_file(scene)
        statuses = file_once(scene, number, text, recipients,
                             trace_words(strace.death(*point), "/dev/null"))
        assert set(statuses) <= {0, 75, -9, 137}, statuses
        if statuses != [0, 0]:
            campaign.kills[FILER] = campaign.kills.get(FILER, 0) + 1
            assert file_once(scene, number, text, recipients) == [0, 0]
        judge_filer(scene, campaign, point)
    assert campaign.kills.get(FILER, 0) > 0
    assert not campaign.wrong, "\n".join(campaign.wrong[:20])


def undecoded(scene):
    """How many messages were filed without a decoder."""
    with contextlib.closing(sqlite3.connect(f"{scene.filed}/record/record.db")) as tables:
        return tables.execute("SELECT count(*) FROM message WHERE problem <> ''").fetchone()[0]


def test_kill_the_decoder_of_the_mailbox_command(wrapped, campaign):
    """It is filed all the same."""
    campaign.ways.add(FILER)
    path = os.path.join(wrapped.mx.programs, "decode")

    def file_with(words):
        number, text, recipients = begin_to_file(wrapped)
        with open(path + ".inject", "w", encoding="ascii") as file:
            file.write(" ".join(words))
        assert file_once(wrapped, number, text, recipients) == [0, 0]
        assert not os.path.exists(path + ".inject")

    file_with([f"--trace={strace.ALL}"])
    points = sorted({(names, n + 1) for (_, names), often in strace.count(path + ".trace").items()
                     for n in range(often)})
    wrapped.forget()
    for point in some(points, random.Random(SEED)):
        campaign.points += 1
        file_with(strace.death(*point))
        judge_filer(wrapped, campaign, point)
    campaign.kills[f"{FILER}, its decoder"] = undecoded(wrapped)
    assert undecoded(wrapped) > 0
    assert not campaign.wrong, "\n".join(campaign.wrong[:20])


# --- processes that start ---


@pytest.fixture
def wrapped(node, secure_way):
    """A scene whose programs are begun by strace when a file beside them says so."""
    directory = tempfile.mkdtemp(prefix="stagepost-wrapped-")
    os.chmod(directory, 0o777)
    install_programs(directory)
    for name in KILLED:
        path = os.path.join(directory, name)
        os.rename(path, path + ".real")
        with open(path, "w", encoding="ascii") as file:
            file.write(WRAPPER)
        os.chmod(path, 0o755)
    made = Scene(node, start=False, secure=secure_way, logins=True)
    made.mx.programs = directory
    made.mx.start()
    made.prepare()
    yield made
    made.close()
    made.mx.stop()
    shutil.rmtree(directory)


def start_with_litter(scene, name, words):
    """A start with all that a start can find: S2, S4, S5, what waits. NAME's process is
    begun with these WORDS for strace."""
    scene.refusals = 2
    # a process that was killed just before may not be there again
    wait_until(lambda: send(scene, "later").startswith("250 "), "a message is accepted")
    wait_until(lambda: [text.count(word) for text in scene.mx.control_files().values()
                        for word in ("\ndone: ", "\nwait: ")] == [1, 2],
               "a message is at S5, its outcomes recorded")
    scene.mx.kill_supervisor()
    send(scene, "command")
    path = os.path.join(scene.mx.programs, name)
    with open(path + ".inject", "w", encoding="ascii") as file:
        file.write(" ".join(words))
    mark = scene.mx.log.mark()
    scene.mx.start()
    wait_until(lambda: not os.path.exists(path + ".inject"), f"{name} is begun by strace")
    return mark


@pytest.mark.parametrize("name", extent.some(KILLED, 9))
def test_kill_at_the_start(wrapped, campaign, name):
    start_with_litter(wrapped, name, [f"--trace={strace.ALL}"])
    wrapped.settle()
    counted = strace.count(os.path.join(wrapped.mx.programs, name + ".trace"))
    points = sorted({(names, n + 1) for (_, names), often in counted.items()
                     for n in range(often)})
    for names, number in some(points, random.Random(SEED)):
        wrapped.forget()
        campaign.points += 1
        mark = start_with_litter(wrapped, name, strace.death(names, number))
        wrapped.settle()
        if wrapped.mx.log.find("process_ended", since=mark, program=name, status="signal 9"):
            campaign.kills[name] = campaign.kills.get(name, 0) + 1
        wrapped.wait_ready(mark)
        campaign.judge(wrapped, name, f"start {name} {names} {number}")
    assert not campaign.wrong, "\n".join(campaign.wrong[:20])
