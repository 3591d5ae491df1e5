# SPDX-License-Identifier: ISC
"""Each process of a node, every one with a user of its own, is taken over in turn by somebody who
knows all our protocols and has its user, groups, sandbox and descriptors (taken.py). He says what
is of a wrong size, order or identity, replays and floods, keeps descriptors, signals, and spoils
what he shares, while honest mail flows through the others. Nothing that he has no part in is lost
or changed, he sees no byte of it, the others go on within bounds, and the log says who it was."""

import contextlib
import json
import os
import pwd
import random
import shutil
import tempfile
import time

import pytest
from freeze_mail import MEMBERS, expanded, sender_of
from inside import NEEDS, OWNER, PROCESSES, USERS
from records import Records
from scene import SENDERS, Scene
from smtp import Client
from stagepost import is_alive, wait_until
from taken import Taken
from test_check_running import check
from common.holdings import all_queued
from common.ledger import Generator, Ledger, find_leaks, judge, make_named_message
from common.record import record

SECONDS = float(os.environ.get("INSIDE_SECONDS", "5"))  # for each process
SEED = int(os.environ.get("INSIDE_SEED", str(random.randrange(1 << 30))))
PROGRAMS = os.environ.get("INSIDE_PROGRAMS", "smtpd remote lmtp local pipe list resolve directory "
                          "send queue").split()
# Whose mail he has in his hands: it may be lost with him, or be his to read.
OWN = {"smtpd": (), "remote": ("b.test",), "lmtp": ("l.test",), "local": ("a.test", "d.test", SENDERS),
       "pipe": ("p.test",), "list": ("d.test",), "directory": ()}  # the others: all
SIZES = (100, 2000, 3000, 8000, 40000, 150000)
MEMORY = 256 << 10  # KiB, of any other process
DESCRIPTORS = 20000  # the same, at any time
SPARES = 40  # files that "queue" keeps between messages, three times
MORE = 3 * SPARES + 80  # descriptors that may be left when he is gone: these, and honest mail's
COMPLAINTS = ("ipc_refused", "helper_lost", "connect_refused", "helper_refused", "queue_refused",
              "directory_refused", "directory_lost", "directory_strange")
COMPLAINTS_A_SECOND = 40
PEACE = 60  # seconds after his end: mail flows
SERVICES = {"local": ("maildir",), "lmtp": ("box",), "pipe": ("run",)}
OPEN = 20  # messages that a client may have begun to bring him when he was taken over
LEAST = 10  # acts, that he be worth his time
QUIET = 15  # and what can be delivered is

pytestmark = NEEDS


class Load(Generator):
    """Honest mail to each kind of recipient."""

    def __init__(self, scene, ledger, seed):
        super().__init__(ledger, lambda: Client(scene.mx, timeout=5), None, connections=4,
                         pause=0.02, seed=seed)

    def _send(self, client, source):
        number = self.next_number()
        message, sha256 = make_named_message(number, source, SIZES)
        ways = [f"box{number}@a.test", f"u{number}@b.test", f"u{number}@l.test",
                f"u{number}@p.test", "list@d.test"]
        recipients = source.choice((*([way] for way in ways), ways[:3]))
        self.ledger.write("begun", number, sha256=sha256, recipients=expanded(recipients))
        self.send_whole(client, number, sender_of(number), recipients, message)


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


@pytest.fixture
def scene(node, ground):
    data = ground.directory("data")
    shutil.chown(data, USERS["directory"])
    made = Scene(node, PROCESSES + f'directory {{ path = "{data}/directory.db" }}\n', start=False,
                 switch_user=True)
    mx = made.mx
    mx.settings = mx.settings.replace("smtpd_workers = 1", f"smtpd_workers = 2\nspares = {SPARES}").replace(
        "service run { kind = pipe", 'service run { kind = pipe user = "sys"')
    mx.write_configuration()
    shutil.chown(mx.mail, USERS["local"])
    mx.start()
    with Records(mx) as records:
        records.put("domain", "d.test", "kind local", "service maildir")
        for member in (*MEMBERS, "owner@d.test"):
            records.put("address", member, "kind mailbox")
        records.list("list@d.test", MEMBERS, "owner@d.test")
    yield made
    made.close()


@pytest.fixture
def ledger():
    with tempfile.TemporaryDirectory(prefix="stagepost-ledger-") as directory:
        made = Ledger(os.path.join(directory, "ledger"))
        yield made
        made.close()


class Watch:
    """The bounds on all others."""

    def __init__(self, mx, without):
        self.pids = [pid for pid in mx.pids() if pid != without] + [mx.process.pid]
        self.names = {pid: name for name in ("smtpd", "queue", "send", "resolve", "remote", "lmtp",
                                             "local", "pipe", "list", "directory")
                      for pid in mx.pids(name)}
        self.before = {pid: descriptors(pid) for pid in self.pids}
        self.most = dict(self.before)

    def look(self):
        for pid in self.pids:
            self.most[pid] = max(self.most[pid], descriptors(pid))

    def is_over(self, pid):
        return descriptors(pid) > self.before[pid] + MORE

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


def leaks(program, taken, entries, since):
    """Bytes that he came by, of messages that are not his to deliver."""
    may = lambda _, number: (program == "smtpd" and since - OPEN < number <= since) or any(
        is_his(program, recipient) for recipient in entries.get(number, {"recipients": ()})[
            "recipients"])
    found = []
    for heard in taken.heard:
        found += [leak for leak in find_leaks([(program, [program], heard)], may)
                  if "of them []" not in leak]
    return found


def hold(mx, program, seed, end):
    """One process from its start to its end, or until END: who took it over, what he did."""
    (pid, *_) = mx.pids(program)
    mark = mx.log.mark()
    taken = Taken(mx, program, pid, seed)
    watch = Watch(mx, pid)
    try:
        while time.monotonic() < end and taken.act():
            taken.acts += 1
            if taken.acts % 20 == 0:
                watch.look()
    finally:
        taken.release()
    # he may have asked for a successor before
    wait_until(lambda: mx.log.find("process_ended", since=mark, pid=pid) or
               mx.log.find("process_stopped", since=mark, pid=pid), f"{program} has ended")
    wait_until(lambda: mx.log.find("process_started", since=mark, program=program) and
               pid not in mx.pids(program) and mx.pids(program), f"{program} runs again")
    return taken, watch


def names(complaint, taken):
    """Whether it says who: his process, his program, his user, his socket or his service."""
    uid = 0 if taken.is_root else pwd.getpwnam(USERS.get(taken.program, OWNER)).pw_uid
    return any(complaint.get(field) in his for field, his in (
        ("pid", (str(taken.pid),)), ("program", (taken.program,)), ("uid", (str(uid),)),
        ("service", SERVICES.get(taken.program, (taken.program,))),
        ("server", (f"unix:{taken.mx.run}/{taken.program}",)),
        ("peer", (f"uid:{uid}", f"uid {uid}", f"{taken.mx.run}/{taken.program}",
                  *SERVICES.get(taken.program, (taken.program,))))))


def take_over(scene, ledger, program, seed):
    """What went wrong. Who ends at once what he has taken over is let have the next one."""
    mx = scene.mx
    mark = mx.log.mark()
    since = max(ledger.known, default=0)
    end = time.monotonic() + SECONDS
    lives, watch = [], None
    while not lives or time.monotonic() < end:
        taken, watch = hold(mx, program, f"{seed} {len(lives)}", end)
        lives.append(taken)
    until = max(ledger.known, default=0)
    complaints = [event for event in mx.log.read()[mark:] if event["event"] in COMPLAINTS]
    acts = sum(taken.acts for taken in lives)
    problems = [f"{len(complaints)} complaints in {SECONDS} s"] if (
        len(complaints) > 50 + COMPLAINTS_A_SECOND * SECONDS) else []
    if not any(names(complaint, taken) for complaint in complaints for taken in lives):
        problems.append(f"nobody says who misbehaved in {acts} acts: {complaints[:5]}")
    if acts < LEAST:
        problems.append(f"only {acts} acts: {[taken.acts for taken in lives]}")
    problems += [leak for taken in lives for leak in leaks(program, taken, ledger.known, since)]
    return lives, watch, acts, problems, (since, until), complaints


def settle(scene):
    deadline = time.monotonic() + PEACE
    while True:
        with contextlib.suppress(OSError):
            with Client(scene.mx, timeout=5) as client:
                if client.deliver("", "probe@a.test", b"Subject: probe\r\n\r\n").startswith("250 "):
                    break
        assert time.monotonic() < deadline, "no mail is taken"
        time.sleep(0.1)
    # What a helper has deferred while he had it is due in minutes: the ledger finds it queued.
    with contextlib.suppress(AssertionError):
        scene.mx.wait_empty(QUIET)


def reports(scene):
    folder = os.path.join(scene.mx.mail, SENDERS)
    for box in os.listdir(folder) if os.path.isdir(folder) else ():
        yield from scene.mx.maildir(f"{box}@{SENDERS}").messages()


def lost_wrongly(verdict, spans):
    """What no process that was taken over had in its hands. SPANS: {program: (since, until)}"""
    for line in verdict.lost:
        recipient, _, number = line.partition(", message ")
        if not any(is_his(program, recipient) and since - 50 <= int(number) <= until
                   for program, (since, until) in spans.items()):
            yield line


def test_each_process_in_turn(scene, ledger, capsys):
    mx = scene.mx
    begun = time.monotonic()
    load = Load(scene, ledger, SEED)
    counts = {"processes taken over": 0, "calls": 0, "acts": 0, "complaints in the log": 0}
    problems, spans = [], {}
    try:
        wait_until(lambda: mx.log.find("delivered"), "mail flows")
        for place, program in enumerate(PROGRAMS):
            lives, watch, acts, wrong, span, complaints = take_over(scene, ledger, program,
                                                                   SEED + place)
            spans[program] = span
            settled = len(ledger.known)
            wait_until(lambda: len(ledger.known) > settled + 10, "mail flows again", PEACE)
            problems += [f"{program}: {one}" for one in (*wrong, *watch.problems())]
            print(f"{program}: {[taken.acts for taken in lives]} acts, {len(complaints)} complaints, {wrong}, at "
                  f"{time.monotonic() - begun:.0f} s", flush=True)
            counts["processes taken over"] += len(lives)
            counts["acts"] += acts
            counts["calls"] += sum(sum(taken.counts.values()) for taken in lives)
            counts["complaints in the log"] += len(complaints)
    finally:
        load.stop()
    settle(scene)
    status, out, errors = check(mx, "--json")
    problems += [f"check --running: {line}" for line in out.splitlines()]
    copies = [(to, text) for to, text, _ in scene.copies() if to.partition("@")[0] not in ("probe", "thief", "anna")]
    verdict = judge(ledger, copies, all_queued(mx), reports(scene))
    lost = list(lost_wrongly(verdict, spans))
    line = record(
        "inside", title="Processes that are taken over", what=__doc__.replace("\n", " "),
        command="make inside", seconds=time.monotonic() - begun, filesystem="ext4", counts={
            **counts, "messages answered 250": verdict.accepted,
            "recipients delivered": verdict.delivered, "recipients that wait": verdict.queued,
            "lost by who had them": len(verdict.lost) - len(lost), "lost": len(lost),
            "corrupt": len(verdict.corrupt), "bounds, leaks and silences": len(problems)},
        zero=("lost", "corrupt", "bounds, leaks and silences"))
    with capsys.disabled():
        print(f"\n  INSIDE_SEED={SEED} {line}")
    assert verdict.accepted > SECONDS * len(PROGRAMS), "the load was too small to mean anything"
    assert not problems, "\n".join(problems)
    assert not verdict.corrupt, verdict.corrupt[:20]
    assert not lost, lost[:20]
    assert (status, errors) == (0, "")
