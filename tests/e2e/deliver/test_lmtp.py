# SPDX-License-Identifier: ISC
"""Delivery to LMTP servers: Dovecot, and one with faults."""

import os
import tempfile
import time

import pytest
from dovecot import Dovecot
from lmtp import Cut, Server
from smtp import Client, deliver
from stagepost import split_trace

TEXT = b"Subject: hello\r\n\r\nA line.\r\n.dots\r\n..\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")
DOMAIN = 'domain "box.test" { service = box }'


def service(address, more=""):
    return f'service box {{ kind = lmtp address = "{address}" {more} }}\n'


@pytest.fixture
def socket_path():
    """Not on the disk of the node: a connection that is open would keep that mounted."""
    with tempfile.TemporaryDirectory(prefix="lmtp-") as directory:
        os.chmod(directory, 0o755)
        yield os.path.join(directory, "socket")


@pytest.fixture
def server(socket_path):
    """server(tcp=False, ...) makes a Server."""
    servers = []

    def make(tcp=False, **behaviour):
        servers.append(Server(None if tcp else socket_path, **behaviour))
        return servers[-1]

    yield make
    for made in servers:
        made.close()


@pytest.fixture
def dovecot():
    made = Dovecot(["anna@box.test", "bob@box.test"])
    yield made
    made.close()


def outcomes(mx, count):
    """{address: (event, status)} of the first COUNT outcomes."""
    found = {}

    def collect():
        for event in mx.log.read():
            if event["event"] in ("delivered", "deferred", "failed"):
                found.setdefault(event["to"], (event["event"], event["status"]))
        return len(found) >= count

    deadline = time.monotonic() + 20
    while not collect():
        assert time.monotonic() < deadline, (found, mx.log.tail())
        time.sleep(0.01)
    return found


def test_dovecot_stores(node, dovecot):
    mx = node(domains=["a.test", DOMAIN], settings=service(f"unix:{dovecot.path}"))
    deliver(mx, ["anna@box.test", "nobody@box.test", "bob+tag@box.test"], TEXT,
            sender="sender@a.test")
    for user in ("anna@box.test", "bob@box.test"):
        (stored,) = dovecot.maildir(user).wait()
        split_trace(stored.replace(b"\r\n", b"\n"), STORED)
    failed = mx.log.wait("failed", to="nobody@box.test")
    assert failed["status"] == "5.1.1" and "dovecot" in failed["text"]
    (bounce,) = mx.maildir("sender@a.test").wait()
    assert b"nobody@box.test" in bounce and b"anna@box.test" not in bounce
    mx.wait_empty()


def test_dovecot_takes_many_over_few_connections(node, dovecot):
    mx = node(domains=[DOMAIN],
              settings=service(f"unix:{dovecot.path}") + "transport box { concurrency = 5 }\n")
    with Client(mx) as client:
        for _ in range(100):
            assert client.deliver("s@client.test", "anna@box.test", TEXT).startswith("250 ")
    dovecot.maildir("anna@box.test").wait(100)
    mx.wait_empty()
    assert dovecot.log().count(": Connect from local") <= 5


@pytest.mark.parametrize("tcp", [False, True])
def test_cut_between_the_replies(node, server, tcp):
    broken = [True]

    def final(address):
        if broken and address == "b@box.test":
            broken.clear()
            raise Cut
        return "250 2.0.0 ok"

    lmtp = server(tcp, final=final)
    mx = node(domains=[DOMAIN], settings=service(lmtp.address))
    deliver(mx, ["a@box.test", "b@box.test", "c@box.test"], TEXT)
    assert outcomes(mx, 3) == {"a@box.test": ("delivered", "2.0.0"),
                               "b@box.test": ("deferred", "4.4.2"),
                               "c@box.test": ("deferred", "4.4.2")}
    mx.stop()
    mx.make_due()
    mx.start()
    mx.wait_empty()
    assert [answered for answered, _ in lmtp.messages] == [
        ["a@box.test"], ["b@box.test", "c@box.test"]]
    assert lmtp.greetings[0] == "LHLO mx.stagepost.test"
    assert all(split_trace(text.replace(b"\r\n", b"\n"), STORED) for _, text in lmtp.messages)


def test_every_recipient_has_its_own_reply(node, server):
    final = {"b": "451 4.2.0 locked", "c": "550 5.2.1 disabled", "d": "552 5.2.2 full"}
    recipient = {"e": "450 4.2.1 later", "f": "550 5.1.1 unknown"}
    lmtp = server(recipient=lambda address: recipient.get(address[0], "250 ok"),
                  final=lambda address: final.get(address[0], "250 2.0.0 ok"))
    mx = node(domains=[DOMAIN], settings=service(lmtp.address))
    deliver(mx, [f"{letter}@box.test" for letter in "abcdefg"], TEXT, sender="")
    assert outcomes(mx, 7) == {
        "a@box.test": ("delivered", "2.0.0"), "b@box.test": ("deferred", "4.2.0"),
        "c@box.test": ("failed", "5.2.1"), "d@box.test": ("failed", "5.2.2"),
        "e@box.test": ("deferred", "4.2.1"), "f@box.test": ("failed", "5.1.1"),
        "g@box.test": ("delivered", "2.0.0")}


def test_a_server_that_refuses_all_is_asked_for_more(node, server):
    lmtp = server(recipient=lambda address: "550 5.1.1 no" if address[0] == "n" else "250 ok")
    mx = node(domains=[DOMAIN], settings=service(lmtp.address))
    for address in ("n@box.test", "y@box.test", "n@box.test", "y@box.test"):
        deliver(mx, address, TEXT, sender="")
    mx.log.wait("delivered", to="y@box.test", count=2)
    mx.log.wait("failed", to="n@box.test", count=2)
    stored = [answered for answered, _ in lmtp.messages if answered != ["postmaster@box.test"]]
    assert stored == [["y@box.test"]] * 2


def test_a_slow_reply_is_waited_for_and_not_for_ever(node, server):
    def final(address):
        time.sleep({"a": 0.5, "b": 60}[address[0]])
        return "250 2.0.0 ok"

    lmtp = server(final=final)
    mx = node(domains=[DOMAIN], settings=service(lmtp.address, "timeout = 1"))
    deliver(mx, ["a@box.test", "b@box.test"], TEXT)
    assert outcomes(mx, 2) == {"a@box.test": ("delivered", "2.0.0"),
                               "b@box.test": ("deferred", "4.4.2")}


def test_a_server_that_is_not_there_is_waited_for(node, socket_path):
    mx = node(domains=[DOMAIN], settings=service(f"unix:{socket_path}"))
    deliver(mx, ["a@box.test"], TEXT)
    assert outcomes(mx, 1) == {"a@box.test": ("deferred", "4.4.1")}
    assert f"unix:{socket_path}" in mx.log.find("deferred")[0]["text"]
    mx.stop()
    assert "trigger=service.box" in "".join(mx.control_files().values())
    late = Server(socket_path)
    mx.make_due()
    mx.start()
    mx.wait_empty()
    late.close()
    assert [answered for answered, _ in late.messages] == [["a@box.test"]]


def test_a_server_that_comes_back_is_found(node, socket_path):
    """Without an operator, and one message tries for all."""
    mx = node(domains=[DOMAIN], settings=service(f"unix:{socket_path}") + "\nprobe_delay = 1\n")
    for name in "a", "b", "c":
        deliver(mx, [f"{name}@box.test"], TEXT)
    mx.log.wait("trigger_set", trigger="service.box")
    outcomes(mx, 3)
    mark = mx.log.mark()
    mx.log.wait("deferred", since=mark)
    late = Server(socket_path)
    mx.wait_empty()
    late.close()
    assert not mx.trigger_files()
    assert sorted(answered for answered, _ in late.messages) == [
        ["a@box.test"], ["b@box.test"], ["c@box.test"]]


def test_those_behind_a_server_that_is_not_there_wait_for_it(node, server, socket_path):
    """One delivery at a time: the others stand in memory when it is found out."""
    mx = node(domains=[DOMAIN], settings=service(f"unix:{socket_path}") +
              "transport box { concurrency = 1 paused = yes }\nprobe_delay = 1\n")
    names = [f"m{i}@box.test" for i in range(20)]
    for name in names:
        deliver(mx, name, TEXT)
    mx.settings = mx.settings.replace("paused = yes", "")
    mx.write_configuration()
    mx.reload()
    assert set(outcomes(mx, 1).values()) == {("deferred", "4.4.1")}
    mx.log.wait("trigger_set", trigger="service.box")
    late = Server(socket_path)
    mx.wait_empty()
    late.close()
    assert len(mx.log.find("deferred")) <= 3, "each was tried"  # the first, and a probe or two
    assert sorted(answered for answered, _ in late.messages) == sorted([name] for name in names)


def test_a_reload_changes_the_server(node, server):
    first, second = server(), server(tcp=True)
    mx = node(domains=[DOMAIN], settings=service(first.address))
    deliver(mx, "a@box.test", TEXT)
    mx.log.wait("delivered", to="a@box.test")
    mx.settings = service(second.address)
    mx.write_configuration()
    mx.reload()
    deliver(mx, "b@box.test", TEXT)
    mx.log.wait("delivered", to="b@box.test")
    assert len(first.messages) == len(second.messages) == 1
