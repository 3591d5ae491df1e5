# SPDX-License-Identifier: ISC
"""Mail that nodes hand over to each other: taken in here, mapped there, stored elsewhere."""

import collections
import contextlib
import os
import random
import re
import signal
import time

import pytest
from cluster import Cluster
from smtp import Client
from stagepost import free_port, wait_until

TEXT = b"From: <ann@x.test>\r\nSubject: %s\r\n\r\nHello.\r\n"
LARGE = TEXT % b"large" + b"0123456789abcdef0123456789abcdef\r\n" * 10000
GROUPS = {"core": "core out", "edge": "", "box": "box"}


@pytest.fixture
def cluster(node, ground):
    made = Cluster(node, ground, GROUPS)
    made.wait_ready("edge", "core")
    made.wait_ready("core", "box")
    return made


def stored(message):
    return message.replace(b"\r\n", b"\n")


def is_over(cluster):
    """Nothing is left anywhere, nor remembered."""
    for name in cluster.names:
        cluster[name].wait_empty()
    cluster.wait_settled()


def send(made, recipients, message=TEXT % b"one"):
    with Client(made) as client:
        return client.deliver("ann@x.test", recipients, message)


@pytest.mark.parametrize("message", [TEXT % b"one", LARGE], ids=["small", "large"])
def test_a_message_goes_from_node_to_node(cluster, message):
    reply = send(cluster["edge"], ["bob@a.test", "carl@a.test"], message)
    assert reply.startswith("250")
    for address in ("bob@a.test", "carl@a.test"):
        assert stored(message) in cluster["box"].maildir(address).wait()[0]
    is_over(cluster)
    # it has kept its birth, and its name of the first node is known
    born = reply.split()[-1].partition("-")[2]
    taken = cluster["box"].log.find("node_took")
    assert [event["id"].partition("-")[2] for event in taken] == [born]


def test_a_message_of_many_recipients_goes_in_parts(cluster):
    recipients = [f"user{number}@a.test" for number in range(250)]
    assert send(cluster["edge"], recipients).startswith("250")
    for recipient in recipients:
        cluster["box"].maildir(recipient).wait()
    is_over(cluster)
    for recipient in recipients:
        assert len(cluster["box"].maildir(recipient).messages()) == 1, recipient
    # parts have the same birth, and perhaps the same number one after the other: their packages are named by deliveries
    names = [event["package"] for event in cluster["box"].log.find("node_took")]
    assert len(names) > 1 and all("." in name for name in names), names
    assert len({name.partition(".")[2] for name in names}) == len(names), names


def test_mail_waits_for_a_node(cluster):
    cluster["box"].stop()
    assert send(cluster["edge"], "bob@a.test").startswith("250")
    cluster["core"].log.wait("trigger_set", trigger="nodes.box")
    wait_until(lambda: cluster.queue("core"), "it waits")
    assert "box.test" in str(cluster.queue("core"))
    cluster["box"].start()
    cluster["box"].maildir("bob@a.test").wait()
    is_over(cluster)


def test_mail_that_comes_before_the_node_knows_its_groups(cluster):
    """After a start of "send" the helper has not said yet in which groups this node is: mail waits for that, and then
    all of it goes."""
    edge = cluster["edge"]
    (helper,) = edge.pids("handover")
    os.kill(helper, signal.SIGSTOP)
    try:
        edge.kill("send")
        wait_until(lambda: edge.pids("send"), "send runs again")
        for _ in range(3):
            assert send(edge, "bob@a.test").startswith("250")
        wait_until(lambda: len(waiting := cluster.queue("edge")) == 3 and "does not answer" not in str(waiting),
                   "it has all of them")
    finally:
        os.kill(helper, signal.SIGCONT)
    cluster["box"].maildir("bob@a.test").wait(3)
    is_over(cluster)


KILLED = ("handover", "noded", "queue", "send")


def send_many(cluster, chance, kills, sent):
    """While processes are killed; the subjects of what was acknowledged are added to SENT. Who is killed often is
    started again later each time, so there are not many kills."""
    for _ in range(kills):
        for _ in range(chance.randrange(1, 12)):
            subject = b"%d" % len(sent)
            with contextlib.suppress(OSError):
                if send(cluster["edge"], "bob@a.test", TEXT % subject).startswith("250"):
                    sent.append(subject)
        made = cluster[chance.choice(cluster.names)]
        program = chance.choice(("noded", "queue") if made is cluster["box"] else KILLED)
        if made.pids(program):
            made.kill(program)
        time.sleep(chance.random() / 2)


@pytest.mark.parametrize("groups", [GROUPS, {"one": "core", "two": "core", "edge": "", "box": "box out"}],
                         ids=["one that maps", "two that map"])
def test_kills_lose_nothing_and_double_nothing(node, ground, groups):
    """Any process on the way is killed at any time: each message comes once."""
    cluster = Cluster(node, ground, groups)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    sent = []
    send_many(cluster, random.Random(seed), 16, sent)
    print(f"{len(sent)} messages")
    assert len(sent) > 20
    box = cluster["box"].maildir("bob@a.test")
    try:
        wait_until(lambda: len(box.files()) >= len(sent), "all have come", 60)
    except AssertionError:
        for name in cluster.names:
            print(name, cluster.queue(name), cluster.handed(name))
        raise
    is_over(cluster)
    counts = collections.Counter(re.search(rb"^Subject: (\d+)$", message, re.M).group(1)
                                 for message in box.messages())
    assert set(sent) <= set(counts), "lost"
    assert [subject for subject, count in counts.items() if count > 1] == []


def test_mail_is_spread_over_the_nodes_of_a_group(node, ground):
    cluster = Cluster(node, ground, {"box": "box out", "edge": "", "one": "core", "two": "core"})
    for name in ("one", "two"):
        cluster.wait_ready("edge", name)
    with Client(cluster["edge"]) as client:
        for _ in range(100):
            assert client.deliver("ann@x.test", "bob@a.test", TEXT % b"one").startswith("250")
    cluster["box"].maildir("bob@a.test").wait(100)
    is_over(cluster)
    shares = [len(cluster[name].log.find("node_took")) for name in ("one", "two")]
    assert sum(shares) == 100
    assert min(shares) > 20, shares


def test_a_node_is_known_by_its_own_name(cluster):
    """Not by where it is: another one at its address gets nothing."""
    cluster.put("box", address=f"127.0.0.1:{cluster.ports['edge']}")
    cluster["core"].log.wait("node_unreached", node="box.test")
    cluster["core"].kill("handover")
    event = cluster["core"].log.wait("node_unreached", node="box.test", count=2)[-1]
    assert "box.test" in event["reason"] or "match" in event["reason"], event


def test_a_node_that_may_have_it_is_asked(cluster):
    """Core's queue stands still while it has a package: only core gets it, once, when it goes on."""
    with stopped(cluster["core"], "queue"):
        assert send(cluster["edge"], "bob@a.test").startswith("250")
        time.sleep(1)  # it is there by now, and not answered
        cluster["edge"].kill_and_wait("handover")
        cluster["edge"].log.wait("trigger_set", trigger="node.core.test")
        [waiting] = wait_until(lambda: cluster.queue("edge"), "it waits")
        assert "node.core.test" in str(waiting), waiting
    cluster["box"].maildir("bob@a.test").wait()
    is_over(cluster)
    assert len(cluster["box"].maildir("bob@a.test").messages()) == 1


def stop_node(cluster, name, seen_by):
    """A change of its record would reach the nodes one after the other."""
    mark = cluster[seen_by].log.mark()
    cluster[name].stop()
    cluster[seen_by].log.wait("node_lost", since=mark, node=f"{name}.test")


@contextlib.contextmanager
def stopped(made, *programs):
    pids = [pid for program in programs for pid in made.pids(program)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_mail_that_waits_until_the_own_groups_are_known(cluster):
    """The manager begins anew and has mail for other nodes before it hears in which groups this one is."""
    edge = cluster["edge"]
    with stopped(edge, "handover"):
        edge.kill_and_wait("send")
        mark = edge.log.mark()
        for _ in range(5):
            assert send(edge, "bob@a.test").startswith("250")
        edge.log.wait("message_accepted", since=mark, count=5)
        time.sleep(1)  # they are mapped by now, and wait for their turn
    cluster["box"].maildir("bob@a.test").wait(5)
    is_over(cluster)


def test_a_node_in_doubt_is_given_up_after_a_while(node, ground):
    """Of two nodes that map, one stands still with a package: the other one gets it, and what stood still
    does not take it any more."""
    cluster = Cluster(node, ground, {"box": "box out", "edge": "", "one": "core", "two": "core"}, doubt="3s")
    for name in ("one", "two"):
        cluster.wait_ready("edge", name)
    stop_node(cluster, "two", seen_by="edge")
    with stopped(cluster["one"], "queue"):
        assert send(cluster["edge"], "bob@a.test").startswith("250")
        time.sleep(1)
        cluster["two"].start()
        cluster["edge"].kill_and_wait("handover")
        cluster["box"].maildir("bob@a.test").wait()
        assert cluster["edge"].log.find("node_doubt", node="one.test")
    for name in ("edge", "two", "box", "one"):
        cluster[name].wait_empty()
    cluster.wait_settled()
    assert len(cluster["box"].maildir("bob@a.test").messages()) <= 2


def test_an_order_to_hurry_while_a_package_is_on_its_way(cluster):
    """Whoever stops the node twice does not wait for the answer."""
    edge = cluster["edge"]
    mark = edge.log.mark()
    with stopped(cluster["core"], "queue"):
        assert send(edge, "bob@a.test").startswith("250")
        time.sleep(1)  # it is there by now, and not answered
        edge.process.send_signal(signal.SIGTERM)
        edge.log.wait("serve_stopping", since=mark)
        edge.process.send_signal(signal.SIGTERM)
        edge.process.wait(30)
    [ended] = edge.log.find("process_stopped", since=mark, program="handover")
    assert ended["status"] == "exit 0"
    edge.start()
    cluster["box"].maildir("bob@a.test").wait()
    is_over(cluster)
    assert len(cluster["box"].maildir("bob@a.test").messages()) == 1


def test_a_node_that_has_nothing_is_forgotten(cluster):
    """After a restart only those are asked that may have something."""
    peers = os.path.join(cluster["core"].queue, "peers")
    assert send(cluster["edge"], "bob@a.test").startswith("250")
    cluster["box"].maildir("bob@a.test").wait()
    assert "box.test" in os.listdir(peers)
    wait_until(lambda: "box.test" not in os.listdir(peers), "it is forgotten")
    assert send(cluster["edge"], "bob@a.test").startswith("250")
    cluster["box"].maildir("bob@a.test").wait(2)
    assert "box.test" in os.listdir(peers)
    is_over(cluster)


def test_a_node_that_was_given_up_and_has_nothing_is_forgotten(node, ground):
    """It is not there when it is asked, and comes back after nobody waits for its answer any more."""
    cluster = Cluster(node, ground, GROUPS, doubt="3s")
    cluster.wait_ready("edge", "core")
    peers = os.path.join(cluster["edge"].queue, "peers")
    assert send(cluster["edge"], "bob@a.test").startswith("250")
    cluster["box"].maildir("bob@a.test").wait()
    cluster.wait_settled("core")
    stop_node(cluster, "core", seen_by="edge")
    assert "core.test" in os.listdir(peers)
    cluster["edge"].kill_and_wait("handover")
    cluster["edge"].log.wait("node_doubt", node="core.test")
    time.sleep(1)  # whoever counts how long it is away has looked again
    cluster["core"].start()
    wait_until(lambda: "core.test" not in os.listdir(peers), "it is forgotten", 30)
    is_over(cluster)


def test_a_draining_node_hands_all_over(node, ground):
    """What waits for a dead host goes to the other node of its group, and is bounced or tried there."""
    port = free_port()
    cluster = Cluster(node, ground, {"edge": "core", "one": "out", "two": "out"},
                      stages={"remote": "out"}, settings=f'smtproutes = {{ ":[127.0.0.1];{port}" }}\n')
    cluster.wait_ready("edge", "one")
    cluster.wait_ready("edge", "two")
    stop_node(cluster, "two", seen_by="edge")
    for number in range(30):
        assert send(cluster["edge"], f"user@domain{number}.test").startswith("250")
    wait_until(lambda: len(cluster.queue("one")) == 30, "all wait")
    mark = cluster["one"].log.mark()
    cluster["two"].start()
    cluster["one"].log.wait("node_ready", since=mark, node="two.test")
    cluster.run("node", "drain", "one.test")
    cluster["one"].wait_empty()
    cluster.wait_settled("one", "two")
    assert len(cluster.queue("two")) == 30


def test_one_configuration_stands_on_all_nodes(node, ground):
    """Also where the mailboxes cannot be, because they are another node's."""
    def make(name, **settings):
        made = node(name, **settings)
        write = made.write_configuration

        def write_other():
            write()
            if name == "edge":
                with open(made.conf, encoding="utf-8") as conf:
                    text = conf.read()
                with open(made.conf, "w", encoding="utf-8") as conf:
                    conf.write(text.replace(made.mail, "/nonexistent/mail"))

        made.write_configuration = write_other
        return made

    cluster = Cluster(make, ground, GROUPS)
    cluster.wait_ready("edge", "core")
    assert send(cluster["edge"], "bob@a.test").startswith("250")
    cluster["box"].maildir("bob@a.test").wait()
    cluster.run("check", at="edge")
