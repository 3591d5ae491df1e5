# SPDX-License-Identifier: ISC
"""One message for two recipients, which "stagepost mailbox" files by two runs at the same time:
into both mailboxes once, and into the sender's Sent once, though eight workers on two machines are
killed and paused, their connections with the database are ended, reset and cut off, and the database
fails over. The database agrees with the mailboxes. A witness in the database sees for certain
whether two were in the section of one message at once ("make once": 10,000 times)."""

import os
import random
import time

import pytest
from common.record import record
from once import PLACES, TRY_LATER, Site, Story, message
from once_databases import Faults, MariaDB, PostgreSQL, SQLite
from stagepost import is_root, wait_until
from wires import Net

COUNT = int(os.environ.get("ONCE", "24"))
SEED = int(os.environ.get("ONCE_SEED", str(random.randrange(1 << 30))))
EACH = 400  # messages: then the database fails over; in a short form at least once

pytestmark = pytest.mark.skipif(not is_root(), reason="makes network namespaces")


@pytest.fixture
def scene(ground):
    """scene(DATABASE): the database, a site that uses it, the network and its two nodes."""
    ends = []

    def make(kind):
        net = None
        if kind is not SQLite:
            net = Net()
            ends.append(net.close)
            for name in ("node1", "node2"):
                net.add(name)
        database = kind(ground.directory("database"), net, ends)
        return database, Site(ground.directory("site"), database.record()), net

    yield make
    for end in reversed(ends):
        end()


def strike(story, faults):
    """Until the story is told."""
    for number in range(1, max(1, COUNT // EACH) + 1 if faults.database.failovers else 1):
        until = number * COUNT // (max(1, COUNT // EACH) + 1)
        while story.progress() < until and not story.is_over:
            time.sleep(faults.source.uniform(0.1, 0.6))
            faults.strike()
        faults.fail_over()
    while story.left > 0 and not story.is_over:
        time.sleep(faults.source.uniform(0.1, 0.6))
        faults.strike()


@pytest.mark.parametrize("kind", (PostgreSQL, MariaDB, SQLite))
def test_once(scene, kind, capsys):
    database, site, net = scene(kind)
    nodes = ("node1", "node2") if net else None
    begun = time.monotonic()
    story = Story(site, COUNT, nodes, seed=SEED)
    faults = Faults(database, net, nodes, random.Random(SEED), 1)
    story.start()
    try:
        if net:
            strike(story, faults)
        story.wait(3600 + COUNT)
    finally:
        story.is_over = True
    found = site.judge(COUNT)
    sections = database.number("SELECT count(*) FROM once_section") if net else None
    overlaps = database.number("SELECT count(*) FROM once_overlap") if net else 0
    overlaps = max(overlaps, story.counts["overlaps"])
    counts = {"messages": COUNT, "copies": COUNT * len(PLACES),
              **{name: story.counts[name] for name in
                 ("runs", "runs killed", "runs deferred", "pauses")},
              **faults.counts, **({"sections that the witness saw": sections} if net else {}),
              "lost": len(found["lost"]), "twice": len(found["twice"]),
              "at odds with the record": len(found["at odds"]), "overlaps": overlaps}
    with capsys.disabled():
        print("\n  " + record(
            f"once-{database.name}", title=f"Filed once: {database.title}",
            what=__doc__.replace("\n", " "), command="make once",
            seconds=time.monotonic() - begun, counts=counts, filesystem="ext4",
            zero=("lost", "twice", "at odds with the record", "overlaps")))
    wrong = {name: keys[:5] for name, keys in found.items() if keys}
    assert not wrong and overlaps == 0, f"ONCE_SEED={SEED}: {wrong}, overlaps {overlaps}"
    assert sections is None or sections >= COUNT, "the witness has not seen every message"


# --- the test sees what it should ---


@pytest.mark.parametrize("kind", (PostgreSQL, MariaDB))
@pytest.mark.parametrize("without", ("lock", "row", "lock,row"))
def test_without_the_lock_or_the_row_there_are_two_copies(scene, kind, without):
    database, site, net = scene(kind)
    story = Story(site, 8, ("node1", "node2"), kills=0, pauses=0, ONCE_WITHOUT=without,
                  ONCE_PAUSE="300")
    story.start()
    story.wait(300)
    assert site.judge(8)["twice"], "nobody would notice"
    overlaps = database.number("SELECT count(*) FROM once_overlap")
    assert (overlaps > 0) == ("lock" in without), "the witness sees the lock's absence, and only that"


# --- what cannot be left to chance ---


def begin_held(site, **environment):
    """A run for scuba that holds still right before it appends. It, and how it goes on."""
    place = os.path.join(site.directory, "held")
    process = site.begin(ONCE_HOLD=place, **environment)
    process.stdin.write(message(0, "scuba"))
    process.stdin.close()
    wait_until(lambda: os.path.exists(place), "it holds still")
    return process, lambda: os.remove(place)


@pytest.mark.parametrize("kind", (PostgreSQL, MariaDB))
def test_who_has_lost_the_turn_appends_nothing(scene, kind):
    """Its connection is terminated after it has asked whether it is there."""
    database, site, _ = scene(kind)
    process, go_on = begin_held(site)
    database.terminate()
    assert site.run(0, "scuba") == (0, "")
    go_on()
    assert process.wait(60) == TRY_LATER
    process.stderr.close()
    assert site.run(0, "doug") == (0, "")
    assert not any(site.judge(1).values()), site.judge(1)
