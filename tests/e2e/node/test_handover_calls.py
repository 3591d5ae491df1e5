# SPDX-License-Identifier: ISC
"""At every system call that changes a file, makes it durable or talks, each process that has a part in a hand-over,
at both nodes, is killed, or the call fails once: what was answered 250 is stored, and only once ("make kill": at all
of them)."""

import os
import random
import time

import pytest
import strace
from cluster import Cluster
from smtp import Client
from stagepost import POLL, is_root, wait_until
from common.record import record

SEED = int(os.environ.get("KILL_SEED", str(random.randrange(1 << 30))))
SAMPLE = int(os.environ.get("KILL_CALLS", "2"))  # of each process; 0: every one
LATE = 0.8  # seconds; by then what was told later is durable, too
PARTS = [("core", "queue"), ("core", "send"), ("core", "handover"),
         ("box", "noded"), ("box", "queue"), ("box", "send")]
ERRORS = {"fsync": "EIO", "fdatasync": "EIO", "syncfs": "EIO", "sync_file_range": "EIO", "sendmsg": "EPIPE",
          "sendto": "EPIPE", "recvmsg": "ECONNRESET", "recvfrom": "ECONNRESET", "accept4": "EMFILE",
          "connect": "ECONNREFUSED", "openat": "EMFILE"}  # of others: no space
MAY_DOUBLE = [("box", "send")]  # it has yet to record what "local" has told it
RECIPIENTS = ["ann@a.test", "bob@a.test"]

pytestmark = pytest.mark.skipif(not is_root(), reason="only root traces other users' processes")


class Campaign:
    def __init__(self, cluster, most):
        """MOST: copies that a recipient may get."""
        self.cluster = cluster
        self.most = most
        self.number = 0
        self.answered = 0
        self.kills = {}
        self.wrong = []

    def send(self):
        """(subject, whether it was answered for); a process that dies may refuse it, or answer nothing."""
        self.number += 1
        subject = f"message-{self.number}"
        try:
            with Client(self.cluster["core"]) as client:
                reply = client.deliver("eve@x.test", RECIPIENTS, f"Subject: {subject}\r\n\r\nHello.\r\n".encode())
        except OSError:
            return subject, False
        assert reply[:1] in "24", f"a kill made it refuse good mail: {reply}"
        return subject, reply.startswith("250")

    def copies(self, subject):
        return [sum(f"Subject: {subject}\n".encode() in text
                    for text in self.cluster["box"].maildir(recipient).messages()) for recipient in RECIPIENTS]

    def settle(self, subject, is_answered, what):
        if is_answered:
            self.answered += 1
            wait_until(lambda: min(self.copies(subject)) > 0, f"{what}: it is stored", 60)
        for name in ("core", "box"):
            self.cluster[name].wait_empty(60)
        self.cluster.wait_settled("core", "box")
        if max(self.copies(subject)) > self.most:
            self.wrong.append(f"{what}: {self.copies(subject)} copies")
        for name in ("core", "box"):
            if self.cluster[name].log.strange:
                self.wrong.append(f"{what}: {self.cluster[name].log.strange[:5]}")

    def start_again(self):
        """The supervisor starts what was killed at once then."""
        for name in ("core", "box"):
            mark = self.cluster[name].log.mark()
            self.cluster[name].restart()
        self.cluster["core"].log.wait("node_ready", node="box.test", since=0)
        self.cluster["box"].log.wait("node_connected", since=mark, direction="in", node="core.test")


def learn(campaign, name, program, folder, words):
    """[(number of the thread, names of the call, N)] of that process while a message goes by."""
    pid = campaign.cluster[name].pids(program)[0]
    path = os.path.join(folder, f"{name}.{program}")
    tracer = strace.Strace(pid, f"--trace={strace.ALL}", follow=True, output=path)
    subject, is_answered = campaign.send()
    campaign.settle(subject, is_answered, f"{name}: {program} is traced")
    time.sleep(LATE)
    tracer.end()
    order = {thread: i for i, thread in enumerate(strace.threads(pid))}
    return [(order[thread], names, n + 1) for (thread, names), often in sorted(strace.count(path).items())
            if thread in order for n in range(often)
            if words is strace.death or names != ("write",)]  # these wake other threads, and never fail


def failure(names, number):
    """The words for the NUMBERth of those calls to fail."""
    calls = ",".join(names)
    return [f"--trace={calls}", f"--inject={calls}:error={ERRORS.get(names[-1], 'ENOSPC')}:when={number}"]


def disturb(campaign, name, program, point, words, output):
    """Whether the process got to that call: strace writes to OUTPUT what it has done."""
    made = campaign.cluster[name]
    thread, names, number = point
    mark = made.log.mark()
    pid = made.pids(program)[0]
    tracer = strace.at_thread(pid, thread, words(names, number), output)
    what = f"{name}: {program} {point}"
    try:
        subject, is_answered = campaign.send()
        end = time.monotonic() + LATE
        while not tracer.has_ended() and time.monotonic() < end:
            time.sleep(POLL / 2)
    finally:
        killed = tracer.has_ended()
        tracer.end()
    if killed:
        made.log.wait("process_ended", since=mark, program=program)
    campaign.settle(subject, is_answered, what)
    with open(output, encoding="latin-1") as file:
        return killed or "(INJECTED)" in file.read()


@pytest.mark.parametrize("words", [strace.death, failure], ids=["dies", "fails"])
@pytest.mark.parametrize("name,program", PARTS)
def test_at_each_call(node, ground, name, program, words):
    cluster = Cluster(node, ground, {"core": "core out", "box": "box"}, stages={"maildir": "box"})
    cluster.wait_ready("core", "box")
    campaign = Campaign(cluster, 2 if (name, program) in MAY_DOUBLE else 1)
    begun = time.monotonic()
    for _ in range(2):  # so that connections and mailboxes exist
        campaign.settle(*campaign.send(), "first")
    campaign.start_again()
    folder = ground.directory("traces")
    points = learn(campaign, name, program, folder, words)
    assert points
    chosen = points if SAMPLE == 0 else random.Random(SEED).sample(points, min(len(points), SAMPLE))
    for point in chosen:
        campaign.start_again()
        campaign.kills[point] = disturb(campaign, name, program, point, words,
                                         os.path.join(folder, "disturbed"))
    assert not campaign.wrong, (SEED, campaign.wrong[:10])
    if SAMPLE == 0:  # of a few, none may come again
        assert sum(campaign.kills.values()) > 0, "nothing was disturbed"
    print("\n  " + record(
        f"handover-{words.__name__}-{name}-{program}",
        title=f"{words.__name__} at every system call of {program} during a hand-over",
        what=__doc__.replace("\n", " "), command="make kill",
        counts={"calls": len(points), "tried": len(chosen), "disturbed": sum(campaign.kills.values()),
                "messages answered 250": campaign.answered, "not stored once": len(campaign.wrong)},
        seconds=time.monotonic() - begun, filesystem="ext4", zero=("not stored once",)))
