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
from extent import extent
from story import PLACES, RECIPIENTS, TRY_LATER, Site, Story, message
from once_databases import Faults, MariaDB, PostgreSQL, SQLite
from stagepost import is_root, wait_until
from wires import Net

COUNT = int(os.environ.get("STORIES", "24"))
SEED = int(os.environ.get("STORIES_SEED", str(random.randrange(1 << 30))))
EACH = 400  # messages: then the database fails over; in a short form at least once

WHAT = ("Each message is for two recipients, and \"stagepost mailbox\" runs once for each, both at the "
        "same time. Each must be in both mailboxes and in the sender's Sent exactly once, as the record "
        "says, and a witness in the database (for SQLite: a lock in a file) must never see two runs in "
        "the section of one message at once. Without the lock or the row the same test finds second "
        "copies.")
NODES = ("node1", "node2")

pytestmark = pytest.mark.skipif(not is_root(), reason="makes network namespaces")


class Scenes:
    """The databases, each made once, as they take long to begin with."""

    def __init__(self, ground):
        self.ground = ground
        self.ends = []
        self.net = None
        self.made = {}

    def _network(self):
        if self.net is None:
            self.net = Net()
            self.ends.append(self.net.close)
            for name in NODES:
                self.net.add(name)
        return self.net

    def __call__(self, kind):
        """The database, emptied, and a new site that uses it."""
        if kind not in self.made:
            self.made[kind] = kind(self.ground.directory("database"), self._network(), self.ends)
        self.made[kind].empty()
        return self.made[kind], Site(self.ground.directory("site"), self.made[kind].record())

    def close(self):
        for end in reversed(self.ends):
            end()


@pytest.fixture(scope="module")
def scene(ground):
    made = Scenes(ground)
    yield made
    made.close()


def strike(story, faults):
    """Until the story is told."""
    times = max(1, COUNT // EACH)
    for number in range(1, times + 1):
        until = number * COUNT // (times + 1)
        while story.progress() < until and not story.is_over:
            time.sleep(faults.source.uniform(0.1, 0.6))
            faults.strike()
        if not story.is_over:
            faults.fail_over()
    while story.left > 0 and not story.is_over:
        time.sleep(faults.source.uniform(0.1, 0.6))
        faults.strike()


@pytest.mark.parametrize("kind", (PostgreSQL, MariaDB, SQLite))
def test_once(scene, kind, capsys):
    database, site = scene(kind)
    nodes = None if kind is SQLite else NODES
    begun = time.monotonic()
    story = Story(site, COUNT, nodes, seed=SEED)
    faults = Faults(database, scene.net, nodes, random.Random(SEED))
    story.start()
    try:
        if nodes:
            strike(story, faults)
        story.wait(3600 + COUNT)
    finally:
        story.is_over = True
    found = site.judge(COUNT, unended=story.counts["runs killed"] + story.counts["runs deferred"])
    sections = database.number("SELECT count(*) FROM once_section") if nodes else None
    overlaps = database.number("SELECT count(*) FROM once_overlap") if nodes else 0
    overlaps = max(overlaps, story.counts["overlaps"])
    counts = {"messages": COUNT, "copies": COUNT * len(PLACES),
              **{name: story.counts[name] for name in
                 ("runs", "runs killed", "runs deferred", "pauses")},
              **faults.counts, **({"sections that the witness saw": sections} if nodes else {}),
              "lost": len(found["lost"]), "twice": len(found["twice"]),
              "at odds with the record": len(found["at odds"]), "overlaps": overlaps}
    with capsys.disabled():
        print("\n  " + record(
            f"once-{database.name}", title=f"Filed once: {database.title}",
            what=f"{WHAT} {database.what}", command=f"make once STORIES={COUNT}",
            seconds=time.monotonic() - begun, counts=counts, filesystem="ext4",
            zero=("lost", "twice", "at odds with the record", "overlaps")))
    wrong = {name: keys[:5] for name, keys in found.items() if keys}
    assert not wrong and overlaps == 0, f"STORIES_SEED={SEED}: {wrong}, overlaps {overlaps}"
    assert sections is None or sections >= COUNT, "the witness has not seen every message"


# --- the test sees what it should ---


@pytest.mark.parametrize("kind", (PostgreSQL, MariaDB))
@pytest.mark.parametrize("without", ("lock", "row", "lock,row"))
def test_without_the_lock_or_the_row_there_are_two_copies(scene, kind, without):
    database, site = scene(kind)
    story = Story(site, 8, NODES, kills=0, pauses=0, ONCE_WITHOUT=without,
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
    database, site = scene(kind)
    process, go_on = begin_held(site)
    database.terminate()
    assert site.run(0, "scuba") == (0, "")
    go_on()
    assert process.wait(60) == TRY_LATER
    process.stderr.close()
    assert site.run(0, "doug") == (0, "")
    found = site.judge(1, unended=1)
    assert not any(found.values()), found


# --- every kind of error of the database, at each step ---

STEPS = (("INSERT", "message"), ("INSERT", "attempt"),  # before the copies are appended
         ("UPDATE", "filing"), ("DELETE", "attempt"))  # after that


def deferred_then_once(site, number, words):
    """While it fails, both runs are to be tried again, and no mailbox has two copies; afterwards all is
    there. A person is told WORDS, which are the database's; another mail system, which sends it on, is
    not. A generator: the failure begins before and ends after its first value."""
    for recipient, run, is_told in zip(RECIPIENTS, (site.run, site.run_at_terminal), (False, True)):
        code, said = run(number, recipient)
        assert code == TRY_LATER and "4.3.0 " in said, (code, said)
        assert (words in said) == is_told, said
    assert all(len(names) == 1 for names in site.copies().values())
    yield
    for recipient in RECIPIENTS:
        assert site.run(number, recipient) == (0, "")
    found = site.judge(number + 1, unended=len(RECIPIENTS) * number)
    assert not any(found.values()), found


@pytest.mark.parametrize("kind", (PostgreSQL, MariaDB))
def test_every_error_of_the_database(scene, kind):
    database, site = scene(kind)
    number = 0
    for recipient in RECIPIENTS:  # and makes the tables
        assert site.run(number, recipient) == (0, "")
    for place, (error, words) in enumerate(database.errors.items()):
        for action, table in extent(STEPS, STEPS[place % len(STEPS):][:1]):
            number += 1
            with database.fails(error, action, table):
                steps = deferred_then_once(site, number, words)
                next(steps)
            assert next(steps, None) is None, f"{error} at {action} of {table}"
    for state, words in database.states.items():
        number += 1
        with database.has_state(state):
            steps = deferred_then_once(site, number, words)
            next(steps)
        assert next(steps, None) is None, state
