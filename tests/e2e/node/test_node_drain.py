# SPDX-License-Identifier: ISC
"""A node that is drained has nothing left, and the others go on where it was."""

import json
import os
import signal
import smtplib
import subprocess
import time

import pytest
from cluster import Cluster
from smtp import Client
from stagepost import PATIENCE, as_user, free_port, wait_until

TEXT = b"From: <ann@x.test>\r\nSubject: one\r\n\r\nHello.\r\n"
GROUPS = {"edge": "core", "one": "out", "two": "out"}


def send(made, recipients):
    with Client(made) as client:
        return client.deliver("ann@x.test", recipients, TEXT)


def make_cluster(node, ground, settings=""):
    """Only "one" runs of the two that send; no mail gets anywhere."""
    port = free_port()
    cluster = Cluster(node, ground, GROUPS, stages={"remote": "out"},
                      settings=f'smtproutes = {{ ":[127.0.0.1];{port}" }}\n{settings}')
    cluster.wait_ready("edge", "one")
    cluster.wait_ready("edge", "two")
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


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def drain(cluster, name, *options, **how):
    """The command on that machine."""
    made = cluster[name]
    return subprocess.Popen([*as_user(), os.path.join(made.programs, "stagepost"), "node", "drain", *options,
                             f"{name}.test", "-c", made.conf], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, **how)


def end_of(command):
    out, errors = command.communicate(timeout=2 * PATIENCE)
    return command.returncode, out, errors


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
    assert not cluster.run("queue", "list", "--held", "--json", at="two")




def test_it_is_shown_what_is_left(node, ground):
    """While it waits, at its end, when it is interrupted, and when it is repeated."""
    cluster = make_cluster(node, ground)
    assert end_of(drain(cluster, "one")) == (0, "one.test: nothing is left\n", "")
    cluster.run("node", "activate", "one.test")
    assert send(cluster["edge"], "user@domain.test").startswith("250")
    wait_until(lambda: any(map(is_tried, states(cluster, "one").values())), "it was tried")
    status, out, errors = end_of(drain(cluster, "one", "--timeout", "0s"))
    assert status == 4 and out.startswith("one.test: 1 message"), (out, errors)
    assert '"stagepost queue list" says why' in out
    with drain(cluster, "one") as command:
        assert command.stderr.readline().startswith("1 message")
        command.send_signal(signal.SIGINT)
    assert "nodes.out" in cluster.run("trigger", "list", at="one")  # and that for which it waits
    command = drain(cluster, "one", "--json")
    start_two(cluster)
    status, out, errors = end_of(command)
    assert (status, json.loads(out), errors) == (0, {"messages": 0, "packages": 0, "peers": 0}, "")
    assert states(cluster, "two")["user@domain.test"]["attempts"] == 1
    status, out, errors = end_of(drain(cluster, "one", "--timeout", "soon"))
    assert status == 2 and "--timeout" in errors


def test_kills_in_the_middle_lose_nothing(node, ground):
    """Of each process that has a part in it, at both nodes; all is somewhere once, as it was."""
    cluster = make_cluster(node, ground)
    addresses = [f"user@domain{number}.test" for number in range(300)]
    for first in range(0, len(addresses), 10):
        assert send(cluster["edge"], addresses[first:first + 10]).startswith("250")
    wait_until(lambda: len(states(cluster, "one")) == len(addresses)
               and all(map(is_tried, states(cluster, "one").values())), "each was tried")
    start_two(cluster)
    cluster.run("node", "drain", "--timeout", "0s", "one.test")  # from another machine
    for name, process in (("one", "handover"), ("two", "noded"), ("one", "send"), ("two", "queue")):
        for pid in cluster[name].pids(process):
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    wait_until(lambda: not cluster.queue("one"), "nothing is left", 2 * PATIENCE)
    cluster.wait_settled("one", "two")
    found = [delivery["address"] for message in cluster.queue("two") for delivery in message["deliveries"]]
    assert sorted(found) == sorted(addresses)
    assert end_of(drain(cluster, "one"))[0] == 0


def test_the_time_of_release_is_kept(node, ground):
    """What its sender has put off (FUTURERELEASE) goes to the other node as well, and waits there."""
    port = free_port()

    def make(name, **settings):
        made = node(name, **settings)
        write = made.write_configuration

        def write_with_submission():
            write()
            if name == "one":
                with open(made.conf, "a", encoding="utf-8") as conf:
                    conf.write(f'listen submission {{ address = "127.0.0.1:{port}" }}\n')

        made.write_configuration = write_with_submission
        return made

    cluster = make_cluster(make, ground)
    with smtplib.SMTP("127.0.0.1", port, timeout=PATIENCE) as client:
        client.ehlo("client.test")
        assert client.docmd("MAIL FROM:<ann@x.test> HOLDFOR=3600")[0] == 250
        assert client.docmd("RCPT TO:<user@domain.test>")[0] == 250
        assert client.data(TEXT)[0] == 250
    wait_until(lambda: states(cluster, "one"), "it is put off")
    before = states(cluster, "one")["user@domain.test"]
    start_two(cluster)
    cluster.run("node", "drain", "one.test")
    wait_until(lambda: not cluster.queue("one"), "nothing is left")
    wait_until(lambda: states(cluster, "two"), "it is put off there")
    after = states(cluster, "two")["user@domain.test"]
    assert (after["attempts"], after["until"]) == (0, before["until"]), after


@pytest.mark.parametrize("drained,away", [("edge", "core"), ("core", "box")])
def test_what_was_held_before_it_was_tried_is_released_once(node, ground, drained, away):
    """Mail that is to be looked up at the other node, and mail that was."""
    cluster = Cluster(node, ground, {"dir": "", "edge": "", "core": "core", "box": "box"},
                      stages={"arrive": "core", "maildir": "box"})
    cluster.wait_ready("edge", "core")
    cluster.wait_ready("core", "box")
    mark = cluster[drained].log.mark()
    cluster[away].stop()
    cluster[drained].log.wait("node_lost", since=mark, node=f"{away}.test")
    assert send(cluster["edge"], "bob@a.test").startswith("250")
    cluster[drained].log.wait("trigger_set", trigger=f"nodes.{away}")
    (message,) = cluster.queue(drained)
    cluster.run("queue", "hold", message["id"], at=drained)
    cluster.run("node", "drain", f"{drained}.test")
    cluster[away].start()
    wait_until(lambda: not cluster.queue(drained) and cluster.queue(away), "the other has it")
    assert len(json_lines(cluster.run("queue", "list", "--held", "--json", at=away))) == 1
    cluster.run("node", "activate", f"{drained}.test")
    cluster.run("queue", "release", "--all", at=away)
    cluster["box"].maildir("bob@a.test").wait(1)
    for name in ("core", "box"):
        cluster[name].wait_empty()
