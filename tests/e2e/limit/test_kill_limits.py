# SPDX-License-Identifier: ISC
"""kill -9 at every system call of every process that counts sessions of classes, or rates. No place is
lost or given twice: a second after the process is gone what "stagepost limits" tells is what the kernel
has, never more than the limits; and no client gets more from a rate than it may."""

import contextlib
import os
import random
import smtplib
import subprocess
import threading
import time

import pytest
import qmtp
import strace
from limits_judge import networks, open_sessions
from smtp import Client
from stagepost import PATIENCE, POLL, as_user, free_port, is_root, stamp, wait_until
from test_limits import told
from test_limits_out import Hop
from common.record import record

SEED = int(os.environ.get("KILL_SEED", str(random.randrange(1 << 30))))
SAMPLE = int(os.environ.get("KILL_CALLS", "3"))  # of all (call, N) of a process; 0: every one
COUNTING = ("smtpd", "qmtpd", "remote", "lmtp", "send")
RIGHT = 1.0  # seconds after its end, what a process had counted is gone
HOP, BOX, CLIENTS = "127.0.1.81/32", "127.0.1.82/32", "127.0.0.0/24"
CLASSES = networks(HOP, BOX, CLIENTS, "*")
MOST = {HOP: (9, 2), BOX: (9, 1), CLIENTS: (5, 9), "*": (50, 50)}  # clients, servers
SENDS = 3  # messages that a domain may
SETTINGS = f"""client_names = no
smtpd_workers = 1
probe_delay = 1
class "127.0.1.81" {{{{ queue = 2 refuse = 9 count = all }}}}
class "127.0.1.82" {{{{ queue = 1 refuse = 9 count = all }}}}
class "{CLIENTS}" {{{{ queue = 9 refuse = 5 }}}}
class "*" {{{{ queue = 50 refuse = 50 }}}}
rate m {{{{ count = messages per = sender_domain limit = {SENDS} interval = 1d }}}}
rate c {{{{ count = connections limit = 100K interval = 1d }}}}
rate r {{{{ count = recipients per = class limit = 100K interval = 1d }}}}
listen qmtp {{{{ address = "127.0.0.1:{{port}}" }}}}
service box {{{{ kind = lmtp address = "{{box}}" }}}}
"""
TEXT = b"Subject: x\r\n\r\nText.\r\n"

pytestmark = pytest.mark.skipif(not is_root(), reason="only root traces other users' processes")


class Campaign:
    """What was counted, and what went wrong."""

    def __init__(self):
        self.begun = time.monotonic()
        self.points = self.looks = self.accepted = 0
        self.kills = dict.fromkeys(COUNTING, 0)
        self.wrong = []

    def counts(self):
        count = lambda what: sum(what in line for line in self.wrong)
        return {"calls and their numbers": self.points, "kills": sum(self.kills.values()),
                **{f"of {name}": number for name, number in self.kills.items()},
                "looks at the counts": self.looks, "messages answered 250": self.accepted,
                "places lost": count(": lost "), "places given twice": count(": twice "),
                "rates exceeded": count(": rate "), "messages lost": count(": message ")}


@pytest.fixture(scope="module")
def campaign():
    made = Campaign()
    yield made
    print(f"\n  KILL_SEED={SEED} KILL_CALLS={SAMPLE}\n  " + record(
        "kill-limits", title="kill -9 of who counts sessions and rates",
        what="smtpd, qmtpd, remote, lmtp and send are killed before their Nth call of a kind, for each call that "
        "changes a file or communicates, and each N, while clients and servers have the places of small classes, "
        "mail waits for places, and clients send as much as a rate allows. After each kill what `stagepost limits` "
        "tells is compared with the TCP connections that the kernel has: when one looks a second later they are "
        "the same, at no time are there more than a class allows, and no sender gets more than its rate.",
        command="make kill", counts=made.counts(), seconds=time.monotonic() - made.begun,
        zero=("places lost", "places given twice", "rates exceeded", "messages lost")))


class Round:
    """Mail through a node whose places are few, and clients that stay."""

    number = 0

    def __init__(self, scene):
        Round.number += 1
        self.scene = scene
        self.domain = f"d{Round.number}.test"
        self.tries = 0
        self.accepted = []  # recipients
        self.stay = contextlib.ExitStack()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def is_sending(self):
        return self.thread.is_alive()

    def end(self):
        """Its clients leave, and its mail may go."""
        self.thread.join()
        self.stay.close()
        self.scene.let_go()

    def _run(self):
        for source in "127.0.0.5", "127.0.0.6":
            with contextlib.suppress(OSError, smtplib.SMTPException):
                self.stay.callback(Client(self.scene.node, source=source, timeout=PATIENCE).close)
        self._speak_qmtp()
        end = time.monotonic() + 3 * PATIENCE
        while not self._have_sent() and time.monotonic() < end:
            time.sleep(POLL)

    def _speak_qmtp(self):
        with contextlib.suppress(OSError, EOFError):
            wire = qmtp.Wire(self.scene.port, source="127.0.0.7")
            self.stay.callback(wire.socket.close)
            to = f"q{self.domain}@n.h.test"
            if wire.deliver(TEXT, f"q@q{self.domain}", [to])[0].startswith("K"):
                self.accepted.append(to)

    def _have_sent(self):
        """All that a sender may, and one more; a connection that breaks is made again."""
        try:
            with Client(self.scene.node, source="127.0.0.8", timeout=PATIENCE) as client:
                while True:
                    self.tries += 1
                    place = "l.test" if self.tries % 2 else f"n{self.tries}.h.test"
                    to = f"u{self.domain}-{self.tries}@{place}"
                    reply = client.deliver(f"s@{self.domain}", [to], TEXT)
                    if reply.startswith("450 4.7.1"):
                        return True
                    if reply.startswith("250 "):
                        self.accepted.append(to)
        except (OSError, smtplib.SMTPException):
            return False


class Scene:
    def __init__(self, node):
        self.hop, self.box = Hop("127.0.1.81"), Hop("127.0.1.82")
        self.port = free_port()
        self.node = node(domains=["a.test", 'domain "l.test" { service = box }'],
                         routes=[f".h.test:{self.hop.host};{self.hop.port}"],
                         settings=SETTINGS.format(port=self.port, box=f"{self.box.host}:{self.box.port}"))
        self.hold()

    def hold(self):
        for hop in self.hop, self.box:
            hop.turns = threading.Semaphore(0)
            hop.is_held = True

    def let_go(self):
        self.hop.let_all_go()
        self.box.let_all_go()

    def settle(self):
        """What waits is tried again, as an operator would."""
        end = time.monotonic() + 60
        while self.node.control_files() or self.node.control_files():
            assert time.monotonic() < end, self.node.log.tail()
            since = time.monotonic()
            while time.monotonic() - since < 1 and self.node.control_files():
                time.sleep(POLL)
            if self.node.control_files():
                subprocess.run([*as_user(), os.path.join(self.node.programs, "stagepost"), "queue", "retry", "--all",
                                "--yes", "-c", self.node.conf], check=False, capture_output=True, timeout=PATIENCE)

    def close(self):
        self.let_go()
        for hop in self.hop, self.box:
            hop.server.shutdown()
            hop.server.server_close()


@pytest.fixture
def scene(node):
    made = Scene(node)
    yield made
    made.close()


def look(scene, campaign, what):
    """Whether the counts are what the kernel has; and nobody has more places than there are."""
    campaign.looks += 1
    before = open_sessions(scene.node, CLASSES)
    lines = told(scene.node)
    after = open_sessions(scene.node, CLASSES)
    counted = {mask: (lines[mask]["in"], lines[mask]["out"]) for mask in CLASSES}
    for mask, most in MOST.items():
        for number, (has, limit) in enumerate(zip(counted[mask], most)):
            if has > limit or before[mask][number] > limit and after[mask][number] > limit:
                campaign.wrong.append(f"{what}: twice {mask} {counted[mask]} {before[mask]} {after[mask]}")
    return counted in (before, after)


def wait_until_right(scene, campaign, what, ended):
    """A look that began a second after it ENDED, by the log, must agree."""
    while True:
        begun = time.time()
        if look(scene, campaign, what):
            return
        if begun - ended > RIGHT:
            # clients and servers go on: once more, before it counts
            if not look(scene, campaign, what):
                campaign.wrong.append(f"{what}: lost {told(scene.node)} {open_sessions(scene.node, CLASSES)}")
            return


def wait_restarted(node, since):
    wait_until(lambda: len(node.log.find("process_started", since=since)) >= len(
        node.log.find("process_ended", since=since)), "what was killed is started again")


def wait_for(tracer, goes_on):
    """Whether it has killed while that went on."""
    while not tracer.has_ended() and goes_on():
        time.sleep(POLL / 2)
    return tracer.has_ended()


def try_point(scene, campaign, program, names, number):
    """Kills it there, if the round gets so far."""
    what = f"{program} {names} {number}"
    node, mark = scene.node, scene.node.log.mark()
    tracer = strace.Strace(node.pids(program)[0], *strace.death(names, number), output="/dev/null")
    try:
        made = Round(scene)
        is_judged = wait_for(tracer, made.is_sending)
        if is_judged:
            wait_right_after(scene, campaign, what, program, mark)
        made.end()
        end = time.monotonic() + 2
        if wait_for(tracer, lambda: node.control_files() and time.monotonic() < end) and not is_judged:
            wait_right_after(scene, campaign, what, program, mark)
    finally:
        killed = tracer.has_ended()
        tracer.end()
    if killed:
        campaign.kills[program] += 1
        wait_restarted(node, mark)
    scene.settle()
    wait_until(lambda: look(scene, campaign, what), f"the counts are right after {what}")
    judge(scene, campaign, made, what, killed)
    scene.hold()


def wait_right_after(scene, campaign, what, program, mark):
    event = scene.node.log.wait("process_ended", since=mark, program=program, status="signal 9")
    wait_until_right(scene, campaign, what, stamp(event["time"]))


def judge(scene, campaign, made, what, killed):
    campaign.accepted += len(made.accepted)
    sent = sum(to.startswith("u") for to in made.accepted)
    if not SENDS - killed <= sent <= SENDS:
        campaign.wrong.append(f"{what}: rate {sent} messages")
    there = {*scene.hop.order, *scene.box.order}
    campaign.wrong += [f"{what}: message to {to}" for to in made.accepted if to not in there]


def learn(scene, program, folder):
    """[(names of the call, N)] of a round."""
    path = os.path.join(folder, program)
    tracer = strace.Strace(scene.node.pids(program)[0], f"--trace={strace.ALL}", output=path, follow=True)
    Round(scene).end()
    scene.settle()
    tracer.end()
    scene.hold()
    return [(names, n + 1) for (_, names), often in sorted(strace.count(path).items()) for n in range(often)]


def some(points, source, is_enough):
    """All, or a sample, and more until IS_ENOUGH(): not every call comes again."""
    for tried, point in enumerate(points if SAMPLE == 0 else source.sample(points, len(points))):
        if 0 < SAMPLE <= tried and is_enough():
            return
        yield point


@pytest.mark.parametrize("program", COUNTING)
def test_kill_who_counts(scene, campaign, ground, program):
    Round(scene).end()  # so that connections exist
    scene.settle()
    scene.hold()
    points = learn(scene, program, ground.directory("traces"))
    assert len(points) > 5, points
    for names, number in some(points, random.Random(SEED), lambda: campaign.kills[program] > 0):
        campaign.points += 1
        try_point(scene, campaign, program, names, number)
    assert not campaign.wrong, "\n".join(campaign.wrong[:20])
    assert campaign.kills[program] > 0
    wait_until(lambda: all(line["in"] == line["out"] == line["waiting"] == 0 for line in told(scene.node).values()),
               "all places are free")
    # "send" looks at classes fifty times a second
    wait_until(lambda: not scene.node.trigger_files(), "no trigger is left", 2)
