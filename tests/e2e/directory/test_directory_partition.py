# SPDX-License-Identifier: ISC
"""Directory servers, their databases and the mail machines that query them are partitioned,
delayed, stopped and cut off in the middle of answers at random, while addresses change. No answer
is older than its TTL, no existing address is refused, and once everything is repaired every
machine has the current data ("make partition": 200 times)."""

import os
import random
import time

import pytest
from partition import (COMING, DOMAIN, MOVING, STEADY, TTL, Asker, Cluster, Faults, Load,
                       settle, value_of)
from stagepost import is_root, wait_until
from truth import ABSENT, Judge, Truth
from common.record import record

ROUNDS = int(os.environ.get("PARTITIONS", "4"))
SEED = int(os.environ.get("PARTITION_SEED", str(random.randrange(1 << 30))))
SLACK = 1.5  # seconds beyond the TTL: what an answer takes on a busy machine

pytestmark = pytest.mark.skipif(not is_root(), reason="makes network namespaces")


@pytest.fixture
def cluster(node, ground):
    made = Cluster(node, ground.directory("certificates"),
                   [ground.directory("db1"), ground.directory("db2")])
    yield made
    made.close()


def fill(cluster):
    """What is there at first."""
    wait_until(lambda: cluster.db1.sql("SELECT count(*) FROM meta") == "1", "there is a schema")
    addresses = ", ".join(f"('{key}', 'mailbox', 'maildir')" for key in STEADY + MOVING)
    cluster.db1.sql(f"INSERT INTO domain (name, kind) VALUES ('{DOMAIN}', 'local'); "
                    f"INSERT INTO address (address, kind, service) VALUES {addresses}")
    return Truth({**{key: f"local maildir {key}" for key in STEADY + MOVING},
                  **{key: ABSENT for key in COMING}})


def test_partition(cluster, capsys):
    truth = fill(cluster)
    settle(cluster, truth)
    judge = Judge(truth, TTL, SLACK)
    faults = Faults(cluster, SEED)
    load = Load(cluster, truth, judge, SEED)
    begun, longest = time.monotonic(), 0
    try:
        for number in range(ROUNDS):
            names = faults.some()
            time.sleep(faults.source.uniform(0.3, 3 * TTL))
            faults.mend()
            longest = max(longest, time_until_known(cluster))
            load.resolve_doubts()
            assert not load.errors, load.errors
            assert not judge.stale, f"{names}: " + "\n".join(judge.stale[:20])
            with capsys.disabled():
                print(f"\n  {number + 1} of {ROUNDS} (PARTITION_SEED={SEED}): {', '.join(names)}; "
                      f"{judge.counts}", end="", flush=True)
    finally:
        load.stop()
    took = settle(cluster, truth)
    assert judge.counts["answers"] > 50 * ROUNDS and load.changes > 2 * ROUNDS, \
        "the load was too small to mean anything"
    with capsys.disabled():
        print("\n  " + record(
            "partition", title="Partitions of the directory", what=__doc__.replace("\n", " "),
            command="make partition", seconds=time.monotonic() - begun,
            counts={"times": ROUNDS, **faults.counts, **judge.counts, "changes": load.changes,
                    "changes without an answer": load.unknown,
                    "stale or invented answers": len(judge.stale),
                    "seconds until all were in sync, at most": round(max(longest, took), 1)},
            filesystem="ext4", zero=("stale or invented answers",)))


def time_until_known(cluster):
    """All is mended: how long until a new change is known everywhere."""
    begun = time.monotonic()
    key = f"marker{begun}@{DOMAIN}"
    cluster.db1.sql(f"INSERT INTO address (address, kind, service) "
                    f"VALUES ('{key}', 'mailbox', 'maildir')")
    settle(cluster, Truth({key: f"local maildir {key}"}))
    return time.monotonic() - begun


def test_standby_that_hears_nothing(cluster):
    """Its connection to the primary stands, and is silent: who reads from it must not take
    what is there for the truth."""
    truth = fill(cluster)
    settle(cluster, truth)
    judge = Judge(truth, TTL, SLACK)
    asker = Asker(cluster.directories[1])
    key = MOVING[0]
    cluster.wires["db2 to db1"].is_held = True
    value = f"local maildir elsewhere@{DOMAIN}"
    truth.begin(key, value)
    cluster.db1.sql(f"UPDATE address SET mailbox = 'elsewhere@{DOMAIN}' WHERE address = '{key}'")
    truth.end(key)
    deadline = time.monotonic() + 20
    found = None
    while found != value and time.monotonic() < deadline:
        asked = time.monotonic()
        is_answer, found = value_of(asker.ask("get", "route", key))
        if is_answer:
            judge.answered(key, found, asked, "dir2")
        time.sleep(0.05)
    assert not judge.stale, judge.stale[:5]
    assert found == value, "it goes to the primary instead"
