# SPDX-License-Identifier: ISC
"""Six machines take in, look up, send and store mail, while machines and processes of theirs, and the
primary of their database, are killed, cut off, stopped, slowed down and drained at random: nothing that was
answered for is lost, nothing comes twice without an excuse that a log names, and nothing is left after peace ("make
machines": for ten minutes)."""

import collections
import os
import random
import time
import types

import pytest
from machines import Faults, Load, Machines, judge, wait_until_settled
from stagepost import is_root
from common.record import record

SECONDS = int(os.environ.get("MACHINES_SECONDS", "20"))
SEED = int(os.environ.get("MACHINES_SEED", str(random.randrange(1 << 30))))
PEACE = 120  # seconds until all has arrived

pytestmark = pytest.mark.skipif(not is_root(), reason="makes network namespaces")


@pytest.fixture
def machines(node, ground):
    made = Machines(node, ground)
    yield made
    made.close()


def test_machines(machines, capsys):
    faults = Faults(machines, SEED)
    load = Load(machines, SEED)
    begun = time.monotonic()
    happened = []
    try:
        while time.monotonic() - begun < SECONDS:
            happened.append(", ".join(faults.some()))
            time.sleep(faults.source.uniform(0.1, 4))
            faults.mend()
            time.sleep(faults.source.uniform(0.1, 2))
    finally:
        load.stop()
        faults.mend()
    peace = time.monotonic()
    with capsys.disabled():
        print(f"\n  MACHINES_SEED={SEED}: {len(load.accepted)} accepted; " + "; ".join(happened[-5:]), end="")
    wait_until_settled(machines, PEACE)
    took = time.monotonic() - peace
    lost, twice, excused = judge(machines, load)
    assert not lost, (SEED, len(lost), lost[:10])
    assert not twice, (SEED, len(twice), twice[:10])
    assert len(load.accepted) > 2 * SECONDS, "the load was too small to mean anything"
    with capsys.disabled():
        print("\n  " + record(
            "machines", title="Machines that hand mail over", what=__doc__.replace("\n", " "),
            command="make machines", seconds=time.monotonic() - begun,
            counts={"messages": len(load.accepted), **faults.counts, "lost": len(lost),
                    "twice without an excuse": len(twice), "twice": excused,
                    "seconds until all had arrived": round(took, 1)},
            filesystem="ext4", zero=("lost", "twice without an excuse")))


class Played:
    """What a campaign leaves, made up: copies are (node, id) of who delivered them."""

    def __init__(self, copies, doubted=()):
        self.made, self.nodes = copies, {"o1": self}
        self.events = [{"event": "node_doubt", "id": name} for name in doubted]
        self.log = self

    def copies(self):
        return collections.defaultdict(list, self.made)

    def find(self, name):
        return [event for event in self.events if event["event"] == name]


LOCALLY, FAR = ("1-1", "user1@a.test"), ("1-1", "user1@far.test")
ONE, AGAIN, OTHER = (b"b1", b"7-63f1"), (b"b1", b"9-63f1"), (b"b2", b"8-63f1")


@pytest.mark.parametrize("copies,doubted,wanted", [
    ({LOCALLY: [ONE], FAR: [ONE]}, (), (0, 0, 0)),
    ({FAR: [ONE]}, (), (1, 0, 0)),
    ({LOCALLY: [ONE, OTHER], FAR: [ONE]}, (), (0, 1, 0)),
    ({LOCALLY: [ONE, OTHER], FAR: [ONE]}, ("5-63f1",), (0, 0, 1)),
    ({LOCALLY: [ONE, OTHER], FAR: [ONE]}, ("5-63f2",), (0, 1, 0)),
    ({LOCALLY: [ONE, ONE], FAR: [ONE]}, (), (0, 1, 0)),
    ({LOCALLY: [ONE], FAR: [ONE, ONE]}, (), (0, 0, 1)),
    ({LOCALLY: [ONE], FAR: [ONE, AGAIN]}, (), (0, 1, 0)),
    ({LOCALLY: [ONE], FAR: [ONE], ("9-9", "user1@a.test"): [ONE]}, (), (0, 1, 0))],
    ids=["all is well", "one is lost", "two nodes", "two after doubt", "another was in doubt", "twice at one",
         "the next hop again", "another message there", "nobody's"])
def test_the_judge(copies, doubted, wanted):
    load = types.SimpleNamespace(accepted={"1-1": ["user1@a.test", "user1@far.test"]}, doubtful=set())
    lost, twice, excused = judge(Played(copies, doubted), load)
    assert (len(lost), len(twice), excused) == wanted
