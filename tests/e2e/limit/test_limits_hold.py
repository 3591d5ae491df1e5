# SPDX-License-Identifier: ISC
"""Limits go on to hold when the directory of the sockets is full or gone, and when a reload removes,
renames or narrows classes whose sessions stand and whose mail waits."""

import contextlib
import os
import subprocess

import pytest
from smtp import Client
from stagepost import PATIENCE, USER, is_root, wait_until
from test_limits import BY_ADDRESS, Session, counts, mx, told, wait_for_counts  # pylint: disable=unused-import
from test_limits_out import Mail, hops, sender, waits  # pylint: disable=unused-import
from test_limits_out import names  # pylint: disable=unused-import
from test_rates import deliver

RATE = "rate m { count = messages per = sender_domain limit = 2 interval = 1d }\n"


@pytest.fixture
def run_of_its_own():
    """mount(node): its directory "run" is a small disk from now on. The node does not run."""
    mounted = []

    def mount(node):
        os.makedirs(node.run, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64k,mode=700,uid={USER}", "run", node.run], check=True)
        mounted.append(node.run)

    yield mount
    for path in mounted:
        subprocess.run(["umount", "-l", path], check=False)


def fill(directory):
    with contextlib.suppress(OSError), open(os.path.join(directory, "full"), "wb", 0) as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(OSError), open(os.path.join(directory, "more"), "wb", 0) as file:
        file.write(bytes(4096))


def check_that_limits_hold(node):
    """A class of two, of which one place is taken, and a rate of two."""
    second = Session(node)
    assert second.is_in and Session(node).text.startswith("421 ")
    assert second.say("QUIT").startswith("221 ")
    with Client(node, before=b"PROXY TCP4 203.0.113.9 192.0.2.200 40000 25\r\n") as client:
        replies = [deliver(client, "lisa@c.test")[:3] for _ in range(3)]
    assert replies == ["250", "250", "450"], replies
    with Client(node, before=b"PROXY TCP4 203.0.113.9 192.0.2.200 40000 25\r\n") as client:
        assert deliver(client, "ann@c.test").startswith("450 ")


@pytest.mark.skipif(not is_root(), reason="only root mounts disks")
def test_a_full_run(mx, run_of_its_own):
    """Also for a process that begins then."""
    node = mx(BY_ADDRESS.replace('"*" { queue = 1 refuse = 1', '"*" { queue = 9 refuse = 9') + RATE + "smtpd_workers = 1\n", start=False)
    run_of_its_own(node)
    node.start()
    first = Session(node)
    assert first.is_in
    fill(node.run)
    check_that_limits_hold(node)
    assert told(node)["192.0.2.0/24"]["in"] == 1
    node.kill_and_wait("smtpd")
    wait_for_counts(node, "0+0 0+0")
    kept = []
    wait_until(lambda: is_in(node, kept), "a client is in again")
    with Client(node, before=b"PROXY TCP4 203.0.113.9 192.0.2.200 40000 25\r\n") as client:
        assert deliver(client, "ann@c.test").startswith("450 ")  # the rate has forgotten nothing
    second = Session(node)
    assert second.is_in and Session(node).text.startswith("421 ")
    os.unlink(os.path.join(node.run, "full"))


def is_in(node, kept):
    with contextlib.suppress(ConnectionError):
        kept.append(Session(node))
        return kept[-1].is_in
    return False


def test_a_run_that_vanishes(mx):
    """Nobody new can ask what the limits are, and they hold all the same."""
    node = mx(BY_ADDRESS.replace('"*" { queue = 1 refuse = 1', '"*" { queue = 9 refuse = 9') + RATE)
    first = Session(node)
    assert first.is_in
    os.rename(node.run, node.run + ".gone")
    try:
        check_that_limits_hold(node)
        with pytest.raises(AssertionError):
            told(node)
    finally:
        os.rename(node.run + ".gone", node.run)
    wait_for_counts(node, "1+0 0+0")


# --- reloads ---


def reload_with(node, classes):
    kept = [line for line in node.settings.splitlines() if not line.startswith("class ")]
    node.settings = "\n".join([*kept, classes])
    node.write_configuration()
    node.reload()


REST = 'class "*" { queue = 50 refuse = 50 }\n'


@pytest.mark.parametrize("classes, wanted, may", [
    ('class "192.0.2.0/24" { queue = 2 refuse = 2 }\n', "4+0 1+0", False),  # narrowed
    ('class "192.0.2.0/25" { queue = 5 refuse = 5 }\n', "4+0 1+0", True),  # renamed
    ('class "192.0.2.0/30" { queue = 3 refuse = 3 }\n', "3+0 2+0", False),  # and smaller
    ("", "5+0", True)], ids=["narrowed", "renamed", "smaller", "removed"])
def test_clients_that_stand(mx, classes, wanted, may):
    """They are counted in the class that they would be in now, and nobody loses a place. Then the
    process dies, and those of another one are still right."""
    node = mx('class "192.0.2.0/24" { queue = 9 refuse = 9 }\n' + REST, settings="smtpd_workers = 2\n")
    sessions = [Session(node, f"192.0.2.{number}") for number in (1, 2, 3, 77)] + [Session(node, "203.0.113.1")]
    assert all(session.is_in for session in sessions)
    wait_for_counts(node, "4+0 1+0")
    reload_with(node, classes + REST)
    wait_for_counts(node, wanted)
    newcomer = Session(node, "192.0.2.1")
    assert newcomer.is_in == may, newcomer.text
    newcomer.close()
    wait_for_counts(node, wanted)
    assert all(session.say("NOOP").startswith("250 ") for session in sessions)
    for session in sessions[:3]:
        assert session.say("QUIT").startswith("221 ")
    newcomer = Session(node, "192.0.2.1")
    assert newcomer.is_in
    newcomer.close()
    for _ in range(2):
        node.kill_and_wait("smtpd")
    wait_until(lambda: set(counts(node).split()) == {"0+0"}, "all places are free")


@pytest.mark.parametrize("classes, wanted, waiting", [
    ('class "*.customer.fr" { queue = 1 refuse = 8 }\n', "0+3 0+0", {"*.customer.fr": 4}),
    ('class "customer.fr" { queue = 2 refuse = 8 }\n', "0+0 0+7", {"customer.fr": 0}),  # the hop has another name
    ('class "127.0.1.42" { queue = 4 refuse = 8 }\n', "0+4 0+0", {"127.0.1.42/32": 3}),
    ("", "0+7", {})], ids=["narrowed", "away", "renamed", "removed"])
def test_mail_that_waits(sender, hops, classes, wanted, waiting):
    """For a class that is narrowed it goes on to wait; for one that is gone it is tried at once, and
    waits for the one that it is in now."""
    hop = hops["customer.fr"]
    node = sender('class "*.customer.fr" { queue = 3 refuse = 8 }\n' + REST, hops)
    mail = Mail(node)
    addresses = [mail.send("customer.fr") for _ in range(7)]
    wait_until(lambda: waits(node, "*.customer.fr") == 4, "four wait")
    reload_with(node, classes + REST)
    wait_for_counts(node, wanted)
    for mask, number in waiting.items():
        wait_until(lambda mask=mask, number=number: waits(node, mask) == number, f"{number} wait for {mask}")
    for count in range(1, 4):
        hop.let_go()
        wait_until(lambda count=count: len(node.log.find("delivered")) == count, f"{count} are delivered")
    hop.let_all_go()
    node.wait_empty()
    assert sorted(hop.order) == sorted(addresses)
    wait_until(lambda: set(counts(node).split()) == {"0+0"}, "all places are free")
    assert not node.trigger_files() and not node.log.find("process_error")
