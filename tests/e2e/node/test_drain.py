# SPDX-License-Identifier: ISC
"""A node that is drained has nothing left, and the others go on where it was."""

import json

from cluster import Cluster
from smtp import Client
from stagepost import free_port, wait_until

TEXT = b"From: <ann@x.test>\r\nSubject: one\r\n\r\nHello.\r\n"
GROUPS = {"edge": "core", "one": "out", "two": "out"}


def send(made, recipients, options=b""):
    with Client(made) as client:
        return client.deliver("ann@x.test", recipients, TEXT, options) if options \
            else client.deliver("ann@x.test", recipients, TEXT)


def make_cluster(node, ground, settings=""):
    """Only "one" runs of the two that send; no mail gets anywhere."""
    port = free_port()
    cluster = Cluster(node, ground, GROUPS, stages={"remote": "out"},
                      settings=f'smtproutes = {{ ":[127.0.0.1];{port}" }}\n{settings}')
    cluster.wait_ready("edge", "one")
    mark = cluster["edge"].log.mark()
    cluster["two"].stop()
    cluster["edge"].log.wait("node_lost", since=mark, node="two.test")
    return cluster


def start_two(cluster):
    mark = cluster["one"].log.mark()
    cluster["two"].start()
    cluster["one"].log.wait("node_ready", since=mark, node="two.test")


def states(cluster, name):
    """{address: its delivery} of all that waits at a node."""
    return {delivery["address"]: delivery for message in cluster.queue(name)
            for delivery in message.get("deliveries", ())}


def is_tried(delivery):
    return delivery.get("attempts", 0) > 0


def test_attempts_are_counted_on(node, ground):
    cluster = make_cluster(node, ground)
    addresses = [f"user@domain{number}.test" for number in range(5)]
    assert send(cluster["edge"], addresses).startswith("250")
    wait_until(lambda: len(states(cluster, "one")) == 5
               and all(map(is_tried, states(cluster, "one").values())), "each was tried")
    cluster.run("queue", "retry", "--all", at="one")
    wait_until(lambda: all(delivery["attempts"] == 2 for delivery in states(cluster, "one").values()),
               "each was tried twice")
    before = states(cluster, "one")
    mark = cluster["two"].log.mark()
    start_two(cluster)
    cluster.run("node", "drain", "one.test")
    wait_until(lambda: not cluster.queue("one"), "nothing is left")
    wait_until(lambda: len(states(cluster, "two")) == 5, "the other has all")
    after = states(cluster, "two")
    for address in addresses:
        assert after[address]["attempts"] == 2, after[address]
        assert after[address]["until"] == before[address]["until"]
        assert after[address]["text"] == before[address]["text"]
    assert not cluster["two"].log.find("deferred", since=mark)  # none is tried before its time
    cluster["two"].restart()
    assert states(cluster, "two") == after


def test_what_is_held_stays_held(node, ground):
    cluster = make_cluster(node, ground)
    assert send(cluster["edge"], "user@domain.test").startswith("250")
    wait_until(lambda: any(map(is_tried, states(cluster, "one").values())), "it was tried")
    (message,) = cluster.queue("one")
    cluster.run("queue", "hold", message["id"], at="one")
    start_two(cluster)
    cluster.run("node", "drain", "one.test")
    wait_until(lambda: not cluster.queue("one"), "nothing is left")
    wait_until(lambda: cluster.queue("two"), "the other has it")
    assert len(json_lines(cluster.run("queue", "list", "--held", "--json", at="two"))) == 1
    assert cluster.run("trigger", "list", at="one") == "Nothing is waited for\n"
    mark = cluster["two"].log.mark()
    cluster.run("queue", "release", "--all", at="two")
    cluster["two"].log.wait("deferred", since=mark)
    assert not cluster.run("queue", "list", "--held", at="two")


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]
