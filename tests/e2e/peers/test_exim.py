# SPDX-License-Identifier: ISC
"""Exim as the next hop, where it differs from Postfix, and as a client."""

import pytest
from exim import Exim
from smtp import Client, deliver
from stagepost import split_trace, wait_until

TEXT = b"Subject: hello\r\nMessage-ID: <1@client.test>\r\n\r\nA line.\r\n..dots\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")
SIZE = 20_000
UNSAID_SIZE = 18_000


@pytest.fixture(scope="module")
def exim_server(ground):
    with Exim(ground.directory("exim"), size=SIZE, unsaid_size=UNSAID_SIZE) as peer:
        yield peer


@pytest.fixture
def exim(exim_server):
    exim_server.forget()
    yield exim_server
    print(exim_server.log())


@pytest.fixture
def mx(node, exim):
    return node(routes=[f"exim.test:127.0.0.1;{exim.port}"])


def test_it_offers_what_these_tests_are_about(exim):
    with Client(exim) as client:
        offered = client.esmtp_features
    assert {"pipelining", "chunking", "8bitmime", "dsn", "smtputf8"} <= set(offered)
    assert offered["size"] == str(SIZE)


@pytest.mark.parametrize("size, status", [(SIZE + 1000, "5.3.4"), (SIZE - 1000, "5.2.3")])
def test_a_message_over_its_size(mx, exim, size, status):
    """Is returned at once, by what its EHLO said or by its reply to MAIL. A smaller one is
    taken by the same connection."""
    line = b"x" * 70 + b"\r\n"
    too_large, large = (TEXT + line * (n // len(line)) for n in (size, UNSAID_SIZE - 1000))
    for text in (too_large, large):
        deliver(mx, "bob@exim.test", text, sender="anna@a.test")
    assert mx.log.wait("failed", to="bob@exim.test")["status"] == status
    mx.log.wait("delivered", to="bob@exim.test")
    mx.wait_empty()
    (stored,) = exim.maildir("bob@exim.test").wait()
    split_trace(stored, large.replace(b"\r\n", b"\n"))
    (bounce,) = mx.maildir("anna@a.test").messages()
    assert b"\nStatus: %s\n" % status.encode() in bounce
    assert not mx.log.find("deferred")


def test_of_many_recipients_some_are_refused(mx, exim):
    """All RCPT stand in one packet, and DATA after them."""
    refused = {f"none{number}@exim.test": ("failed", "5.1.1") for number in range(20)}
    deferred = {f"later{number}@exim.test": ("deferred", "4.2.0") for number in range(20)}
    wanted = refused | deferred | {"bob@exim.test": ("delivered", "2.0.0")}
    deliver(mx, sorted(wanted), TEXT, sender="anna@a.test")
    split_trace(exim.maildir("bob@exim.test").wait()[0], STORED)
    mx.log.wait("deferred", count=len(deferred))
    mx.log.wait("failed", count=len(refused))
    found = {event["to"]: (event["event"], event["status"]) for event in mx.log.read()
             if event["event"] in ("delivered", "deferred", "failed")}
    assert found == wanted
    assert len(exim.maildir("bob@exim.test").files()) == 1
    assert len(mx.control_files()) == 1


def test_all_recipients_are_refused(mx, exim):
    """DATA after them is refused, too; the connection is of use afterwards."""
    with Client(mx) as client:
        for _ in range(5):
            for to in (["none@exim.test", "none-too@exim.test"], ["bob@exim.test"]):
                assert client.deliver("", to, TEXT).startswith("250 ")
    mx.log.wait("delivered", to="bob@exim.test", count=5)
    assert len(mx.log.wait("failed", count=10)) == 10
    mx.wait_empty()
    assert len(exim.maildir("bob@exim.test").wait(5)) == 5
    assert {event["status"] for event in mx.log.find("failed")} == {"5.1.1"}
    assert "synchronization error" not in exim.log()


@pytest.mark.parametrize("subject, event, status", [
    (b"refuse this", "failed", "5.7.1"), (b"defer this", "deferred", "4.7.1")])
def test_the_text_is_refused(mx, exim, subject, event, status):
    deliver(mx, ["bob@exim.test"], TEXT.replace(b"hello", subject), sender="anna@a.test")
    assert mx.log.wait(event, to="bob@exim.test")["status"] == status
    if event == "failed":
        mx.maildir("anna@a.test").wait()
        mx.wait_empty()
    else:
        # the log comes before the record
        wait_until(lambda: "\nwait: 1 " in "".join(mx.control_files().values()), "it is recorded")
    assert not exim.maildir("bob@exim.test").files()


@pytest.mark.parametrize("chunking", [True, False])
def test_exim_sends(node, ground, chunking):
    """By BDAT and by DATA, to recipients of whom some are refused."""
    mx = node(domains=['domain "a.test" { service = maildir addresses = { "anna" } }'])
    with Exim(ground.directory("exim"), next_port=mx.port, chunking=chunking) as exim:
        with Client(exim) as client:
            reply = client.deliver("bob@exim.test", ["anna@a.test", "none@a.test"], TEXT)
        assert reply.startswith("250 "), reply
        split_trace(mx.maildir("anna@a.test").wait()[0], STORED)
        (bounce,) = exim.maildir("bob@exim.test").wait()
        assert b"none@a.test" in bounce and b"550" in bounce
        assert (" K " in exim.log()) == chunking  # how it logs BDAT
    mx.wait_empty()
    assert len(mx.maildir("anna@a.test").files()) == 1
