# SPDX-License-Identifier: ISC
"""What is said to one message, recipient, sender or session holds up no other mail for the host; what changes how
mail goes is told with the server's words."""
import json

import pytest
from smtp import Client
from stagepost import wait_until
from throttling import TEXT, Quota, Server, check_never_deferred, pauses, send, stagepost, throttled


class Told(Quota):
    """At VERB whoever sends from or to WHO is told COMPLAINT, each time."""

    def __init__(self, verb, who, complaint):
        super().__init__(verb, None, None, complaint)
        self.who = who
        self.senders = {}

    def judge(self, session, verb, argument):
        if verb == "MAIL":
            self.senders[session] = argument
        if verb != self.verb or self.who not in (self.senders.get(session), argument, *session.recipients):
            return None
        self.refused.append(session)
        return self.complaint


class Served(Quota):
    """So many messages of a session, then COMPLAINT at VERB; the session stays open."""

    def __init__(self, verb, most, complaint):
        super().__init__(verb, most, None, complaint)
        self.served = {}

    def judge(self, session, verb, _):
        with self.lock:
            if verb == self.verb and self.served.get(session, 0) >= self.most:
                self.refused.append(session)
                return self.complaint
            self.served[session] = self.served.get(session, 0) + (verb == "END")
        return None


ONE_OF_ALL = {
    "message": Told("END", "s0@client.test", "421 4.7.0 This message is suspicious due to the nature of its content"),
    "message of a recipient": Told("END", "u0@large.test", '451 4.7.1 Ratelimit "to" exceeded'),
    "recipient": Told("RCPT", "u0@large.test", "450 4.7.1 <u0@large.test>: recipient rate limit exceeded"),
    "sender": Told("MAIL", "s0@client.test", "450 4.7.1 <s0@client.test>: sending rate too high"),
}


@pytest.mark.parametrize("what", ONE_OF_ALL)
def test_one_of_many_is_told_so(node, what):
    """Four hundred others go as fast as ever, and it waits by its own schedule."""
    with Server(ONE_OF_ALL[what]) as hop:
        mx = node(routes=[hop.route("large.test")])
        addresses = send(mx, "large.test", 400)
        wait_until(lambda: len(hop.messages) == 399, "all others have theirs")
        assert set(addresses) - set(hop.delivered) == {"u0@large.test"}
        event = mx.log.wait("deferred", to="u0@large.test")
        assert hop.allows.complaint.split(" ", 2)[2] in event["text"]
        assert not throttled(mx, hop.port) and not pauses(mx)
        assert len(mx.control_files()) == 1


def said(mx):
    """{what: the last that a server said so}, as "queue stats" has it, after a look at its table."""
    made = stagepost(mx, "queue", "stats", "--json")
    assert made.returncode == 0, made.stderr
    words = json.loads(made.stdout)["said"]
    lines = stagepost(mx, "queue", "stats").stdout.splitlines()
    for word in words:
        assert any(word["text"] in line and word["id"] in line and word["to"] in line for line in lines), lines
    return {word["what"]: word for word in words}


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "END"])
def test_all_are_told_so(node, verb):
    """Then it is the host, and its words are shown with the message of which it said them."""
    with Server(Quota(verb, 0, 1, "450 4.7.1 Rate limit exceeded for this host")) as hop:
        mx = node(routes=[hop.route("large.test")])
        send(mx, "large.test", 4)
        event = mx.log.wait("host_throttled", port=hop.port)
        assert event["status"] == "4.7.1" and "Rate limit exceeded for this host" in event["text"]
        assert event["to"].endswith("@large.test") and event["id"]
        wait_until(lambda: "large.test" in pauses(mx), "it is paused")
        assert "Rate limit exceeded for this host" in pauses(mx)["large.test"]["reason"]
        shown = said(mx)["slower"]
        assert {name: shown[name] for name in ("id", "to", "status", "text")} == \
            {name: event[name] for name in ("id", "to", "status", "text")}
        assert shown["host"] == "127.0.0.1" and shown["port"] == hop.port


@pytest.mark.parametrize("verb,complaint", [
    ("DATA", "452 4.4.5 Maximum number of messages per session exceeded"),
    ("MAIL", "452 4.5.3 Error: Too many messages sent"), ("MAIL", "550 5.7.1 Enough"), ("MAIL", "554 Enough"),
    ("MAIL", "503 5.5.1 Enough"), ("RCPT", "451 4.7.1 Rate limit of the session")])
def test_a_session_has_served_enough(node, verb, complaint):
    """A new one is asked at once; the number is learnt, and then nothing is refused any more."""
    with Server(Served(verb, 10, complaint)) as hop:
        mx = node(routes=[hop.route("ten.test")], settings="transport remote { destination_concurrency = 2 }")
        addresses = send(mx, "ten.test", 40)
        mx.wait_empty()
        assert sorted(hop.delivered) == sorted(addresses)
        event = mx.log.wait("host_limit_learnt", port=hop.port)
        assert event["messages"] == "10" and complaint.split(" ", 1)[1].split(" ", 1)[-1] in event["text"]
        assert mx.log.find("session_renewed")
        shown = said(mx)
        assert shown["messages"]["amount"] == 10 and shown["messages"]["text"] == event["text"]
        assert shown["renewed"]["status"] == shown["messages"]["status"]
        assert len(hop.allows.refused) <= 2  # the connections at that time
        refused = len(hop.allows.refused)
        send(mx, "ten.test", 40, name="v")
        mx.wait_empty()
        assert len(hop.allows.refused) == refused
        assert not throttled(mx, hop.port)
    check_never_deferred(mx)


def test_the_setting_of_a_session(node):
    with Server(Served("MAIL", 4, "550 5.7.1 Enough")) as hop:
        mx = node(routes=[hop.route("four.test")], settings='destination "four.test" { session_messages = 4 }')
        send(mx, "four.test", 20)
        mx.wait_empty()
        assert not hop.allows.refused and len(hop.messages) == 20
        assert len(hop.sessions) >= 5
    check_never_deferred(mx)


class Few(Quota):
    """So many recipients of a transaction."""

    def judge(self, session, verb, _):
        if verb != "RCPT" or len(session.recipients) < self.most:
            return None
        self.refused.append(session)
        return self.complaint


@pytest.mark.parametrize("complaint", ["552 5.5.3 Too many recipients", "550 5.5.3 Too many recipients",
                                       "554 5.5.3 Too many recipients", "452 4.5.3 Too many recipients"])
def test_too_many_recipients(node, complaint):
    with Server(Few("RCPT", 10, None, complaint)) as hop:
        mx = node(routes=[hop.route("ten.test")])
        addresses = [f"u{number}@ten.test" for number in range(35)]
        for _ in range(2):
            with Client(mx) as client:
                assert client.deliver("s@client.test", addresses, TEXT).startswith("250 ")
            mx.wait_empty()
        assert sorted(hop.delivered) == sorted(2 * addresses)
        assert len(hop.messages) == 8
        assert len(hop.allows.refused) == 25  # of the first transaction
        assert mx.log.wait("host_limit_learnt", port=hop.port)["recipients"] == "10"
        assert said(mx)["recipients"]["amount"] == 10
    check_never_deferred(mx)
