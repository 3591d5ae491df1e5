# SPDX-License-Identifier: ISC
"""All nodes in one picture: what each says of itself, why one says nothing, and in what they differ."""

import json
import os
import re
import signal
import subprocess

import pytest
import recipes
from cluster import Cluster
from smtp import Client
from stagepost import PATIENCE, as_user, wait_until

TEXT = b"From: <ann@x.test>\r\nSubject: one\r\n\r\nHello.\r\n"


def nodes(cluster, *words, at):
    """The exit status of "nodes", what it prints and what it says is wrong."""
    made = cluster[at]
    ended = subprocess.run([*as_user(), os.path.join(made.programs, "stagepost"), "nodes", "-c", made.conf, *words],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    return ended.returncode, ended.stdout, ended.stderr


def picture(cluster, at):
    """{node: status, or the reason why there is none}, and the differences."""
    _, out, errors = nodes(cluster, "--json", at=at)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines, errors
    return ({line["node"]: line.get("status") or line["reason"] for line in lines if "differs_in" not in line},
            [line for line in lines if "differs_in" in line])


def send(made, recipients):
    with Client(made) as client:
        assert client.deliver("ann@x.test", recipients, TEXT).startswith("250")


def agree(cluster, at):
    """Nothing is different but where each has its mailboxes, as soon as all have the directory's last change."""
    wait_until(lambda: {line.get("sections") for line in picture(cluster, at)[1]} == {"service"},
               "the nodes do not differ")


@pytest.fixture
def cluster(node, ground):
    made = Cluster(node, ground, {"core": "core out", "edge": "", "box": "box"})
    made.wait_ready("edge", "core")
    made.wait_ready("core", "box")
    return made


def test_each_node_says_how_it_is(cluster):
    """Also asked at one that hands nothing over, or is asked by one that gets nothing from it."""
    send(cluster["edge"], ["bob@a.test", "carl@a.test"])
    for address in ("bob@a.test", "carl@a.test"):
        cluster["box"].maildir(address).wait()
    cluster["box"].wait_empty()
    for at in cluster.names:
        agree(cluster, at)
        shown, _ = picture(cluster, at)
        assert sorted(shown) == [f"{name}.test" for name in sorted(cluster.names)]
        for status in shown.values():
            assert status["queue"]["messages"] == 0
            assert status["directory"]["answers"] is True
        edge, core, box = (shown[f"{name}.test"]["queue"]["since_start"] for name in ("edge", "core", "box"))
        assert (edge["taken"], edge["handed_over"], edge["delivered"]) == (1, 2, 0)
        assert (core["taken"], core["handed_over"]) == (1, 2)
        assert (box["taken"], box["delivered"], box["handed_over"]) == (1, 2, 0)
        assert shown["box.test"]["record"] == {"state": "active", "weight": 1, "groups": ["box"]}
    status, out, errors = nodes(cluster, at="box")
    assert (status, errors) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["node", "box.test", "core.test", "edge.test",
                                                              "core.test:", "edge.test:"]


def test_who_is_away_drained_or_different_is_named(cluster):
    cluster.run("node", "drain", "box.test")
    with open(cluster["core"].conf, "a", encoding="utf-8") as conf:
        conf.write("maxhops = 77\n")
    cluster["core"].reload()
    send(cluster["edge"], "bob@a.test")
    cluster["core"].log.wait("trigger_set", trigger="nodes.box")
    wait_until(lambda: picture(cluster, "box")[0]["core.test"]["queue"].get("triggers") ==
               [{"name": "nodes.box", "messages": 1}], "core says for what its mail waits")
    shown, _ = picture(cluster, "box")
    assert shown["box.test"]["record"]["state"] == "draining"
    queue = shown["core.test"]["queue"]
    assert (queue["messages"], queue["bytes"] > 0) == (1, True)
    assert {"name": "local maildir", "messages": 1} in queue["places"] and "oldest" in queue
    wait_until(lambda: [(line["node"], line["differs_in"], line.get("sections"))
                        for line in picture(cluster, "box")[1]] ==
               [("core.test", "configuration", "settings service"), ("edge.test", "configuration", "service")],
               "the other configuration is named, and its sections")
    cluster["edge"].kill_supervisor()
    status, out, errors = nodes(cluster, at="box")
    assert (status, errors) == (1, "")
    assert "\nedge.test " in out and "Connection refused" in out.partition("\nedge.test ")[2].partition("\n")[0]
    assert "core.test: configuration " in out and "(in: settings service)" in out
    assert "waits for nodes.box" in out
    # as the manual shows it, but for names and numbers
    shape = lambda text: [re.sub(r"\S*\d\S*|\b[\w.]+(\.test|\.org)|maildir|store", "X", " ".join(line.split()))
                          for line in text.splitlines()]
    printed = shape(recipes.blocks()["stagepost-nodes.8/0"].text)
    assert printed[0].endswith("stagepost nodes")
    assert shape(out)[0] == printed[1]
    assert {shape(out)[number] for number in (1, 2, 3, 4, 5)} >= {*printed[2:3], *printed[4:]}
    # who is not named does not count
    assert nodes(cluster, "core.test", "box.test", at="box")[0] == 0
    status, _, errors = nodes(cluster, "nobody.test", at="box")
    assert (status, errors) == (1, "stagepost nodes: there is no node nobody.test\n")


def test_a_node_whose_manager_stands_still_says_so(cluster):
    agree(cluster, "core")
    (pid,) = cluster["box"].pids("send")
    os.kill(pid, signal.SIGSTOP)
    try:
        shown, _ = picture(cluster, "core")
        assert shown["box.test"]["problem"] == 'its process "send" does not answer'
        assert nodes(cluster, at="core")[0] == 1
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: "queue" in picture(cluster, "core")[0]["box.test"], "it answers again")


def test_without_nodes_there_is_nobody_to_ask(node):
    made = node("alone")
    ended = subprocess.run([*as_user(), os.path.join(made.programs, "stagepost"), "nodes", "-c", made.conf],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1
    assert "no process of this node speaks with others" in ended.stderr


def trace(cluster, number, at):
    """The exit status of "trace --nodes", and its lines: (node, event)."""
    made = cluster[at]
    _, program, command, _, *options = recipes.blocks()["stagepost-trace.8/1"].text.split()
    ended = subprocess.run([*as_user(), os.path.join(made.programs, program), command, number, *options, "--json", "-c",
                            made.conf],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    return ended.returncode, [(line.get("at"), line["event"]) for line in map(json.loads, ended.stdout.splitlines())], \
        ended.stderr


def test_all_nodes_tell_the_story_of_a_message(cluster):
    """By its id at any node, also after it has gone, and from any node."""
    with Client(cluster["edge"]) as client:
        number = client.deliver("ann@x.test", "bob@a.test", TEXT).split()[-1]
    cluster["box"].maildir("bob@a.test").wait()
    cluster["box"].wait_empty()
    cluster["edge"].wait_empty()
    cluster["core"].wait_empty()
    numbers = [number, *(event["id"] for name in ("core", "box") for event in cluster[name].log.find("node_took"))]
    assert len(set(numbers)) == 3
    for at in cluster.names:
        for wanted in numbers:
            status, lines, errors = trace(cluster, wanted, at)
            assert (status, errors) == (0, "")
            story = [(node, event) for node, event in lines if event in ("node_took", "delivered")]
            # in the order of clocks: who took it may have gone on before the answer has come
            assert sorted(story) == [("box.test", "delivered"), ("box.test", "node_took"), ("core.test", "delivered"),
                                     ("core.test", "node_took"), ("edge.test", "delivered")]


def test_where_a_message_waits_is_found(cluster):
    """Also by a manager that has not tried it itself: what is on its disk says it."""
    cluster["box"].stop()
    with Client(cluster["edge"]) as client:
        number = client.deliver("ann@x.test", "bob@a.test", TEXT).split()[-1]
    cluster["core"].log.wait("deferred")
    cluster["core"].kill_and_wait("send")
    wait_until(lambda: trace(cluster, number, "edge")[1][-1:] == [("core.test", "deferred")], "where it waits is known")
    status, lines, errors = trace(cluster, number, "edge")
    assert status == 1
    assert re.fullmatch(r"stagepost trace: box\.test: .*Connection refused\n", errors)
    assert ("core.test", "node_took") in lines
    assert trace(cluster, "1-1", "edge")[0] == 1
