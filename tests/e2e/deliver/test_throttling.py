# SPDX-License-Identifier: ISC
"""Servers that say that they get too much mail: they get less, and all of it in the end; other mail goes on
as fast as before."""
import json
import time

import pytest
from exim import Exim
from peers import Postfix
from smtp import Client
from stagepost import SLOWNESS, is_root, wait_until
from throttling import (IN_FLIGHT, TEXT, AtOnce, InTurn, Quota, Recipients, Server, Slow, Transaction,
                        check_calmed_down, check_few_deferred, check_never_deferred, pauses, send, stagepost,
                        throttled, wait_empty)

MANY = 66  # messages; some more than is allowed at first
ALLOWED = 60
SECONDS = 2

# In the form of what large providers say, and where they say it
PROVIDERS = {
    "unusual rate, after the message": Quota(
        "END", ALLOWED, SECONDS, "421-4.7.28 [127.0.0.1] An unusual rate of mail comes from this address.\r\n"
        "421-4.7.28 For the time being it is limited.\r\n421 4.7.28 See https://hop.test/limits - hop7si123"),
    "unexpected volume": Quota(
        "MAIL", ALLOWED, SECONDS, "421 4.7.0 [TS04] Mail of 127.0.0.1 is held up because of unexpected volume"),
    "try again later": Quota("MAIL", ALLOWED, SECONDS, "421 4.7.0 Try again later, closing connection. (MAIL)"),
    "server busy": Quota(
        "RCPT", ALLOWED, SECONDS, "451 4.7.500 Server busy. Please try again later from [127.0.0.1]. (S777)"),
    "rate limited by reputation": Quota(
        "CONNECT", 4, SECONDS, "421 4.7.650 The mail server [127.0.0.1] has been rate limited for now"),
    "connection rate": Quota("CONNECT", 4, SECONDS, "421 4.3.2 Connection rate limit exceeded."),
    "too many connections": AtOnce(2, "421 4.7.0 Too many connections from your address, hop.test closes this"),
    "too fast, without a number": Quota("MAIL", ALLOWED, SECONDS, "450 Rate limit: slow down, client"),
}


# --- all arrives, and not faster than they said ---


def test_what_large_providers_say(node):
    """All of them at once: each is a server of its own, and one is no throttled one."""
    hops = {f"t{number}.test": Server(allows, takes=0.05) for number, allows in enumerate(PROVIDERS.values())}
    with Server() as other:
        mx = node(routes=[hop.route(domain) for domain, hop in hops.items()] + [other.route("fast.test")],
                  settings="transport remote { concurrency = 400 }")
        sent = {domain: send(mx, domain, MANY) for domain in hops}
        for hop in hops.values():
            mx.log.wait("host_throttled", port=hop.port)
        send(mx, "fast.test", 20)
        wait_until(lambda: len(other.messages) == 20, "the other gets its mail")
        wait_empty(mx, timeout=240 * SLOWNESS)
        for name, (domain, hop) in zip(PROVIDERS, hops.items()):
            assert sorted(hop.delivered) == sorted(sent[domain]), name
            check_calmed_down(name, hop.allows, throttled(mx, hop.port))
            hop.server_close()
        assert not throttled(mx, other.port)
    check_few_deferred(mx, 3 * len(PROVIDERS))


def test_a_server_that_says_for_how_long(node):
    with Server(Quota("MAIL", 1000, 1, "451 4.7.1 rate limited, try again in 5 seconds")) as hop:
        mx = node(routes=[hop.route("slow.test")])
        send(mx, "slow.test", 10)
        mx.wait_empty()
        hop.allows.most = 0
        hop.allows.taken.clear()
        send(mx, "slow.test", 2)
        mx.log.wait("host_throttled")
        refused = hop.allows.refused[-1]
        hop.allows.most = 1000
        wait_empty(mx)
        assert hop.messages[10] - refused >= 4.9
        assert len(hop.allows.refused) <= 4  # each once more in a new session
    check_few_deferred(mx, 1)


def test_who_is_on_the_way_turns_back(node):
    """In one session the server says for how long it wants nothing, and only then greets the other: no message is
    begun in it, and both wait."""
    with Server(Slow("421 4.7.0 rate limited, try again in 30 minutes")) as hop:
        mx = node(routes=[hop.route("slow.test")])
        send(mx, "slow.test", 2)
        mx.log.wait("host_throttled", port=hop.port)
        hop.allows.is_noticed.set()
        wait_until(lambda: pauses(mx).get("slow.test", {}).get("messages") == 2, "both are paused")
        for line in stagepost(mx, "queue", "list", "--json").stdout.splitlines():
            assert json.loads(line)["pause"]["destination"] == "slow.test", line
        wait_until(lambda: len(hop.sessions) == 2 and hop.open == 0, "both sessions are over")
        assert len(hop.mails) == len(hop.allows.refused) == 1
    check_never_deferred(mx)


def test_too_many_recipients_of_a_message(node):
    """The rest comes in the next transaction, at once."""
    with Server(Transaction(10, "452 4.5.3 Too many recipients in this one")) as hop:
        mx = node(routes=[hop.route("ten.test")])
        addresses = [f"u{number}@ten.test" for number in range(35)]
        with Client(mx) as client:
            assert client.deliver("s@client.test", addresses, TEXT).startswith("250 ")
        mx.wait_empty()
        assert sorted(hop.delivered) == sorted(addresses)
        assert len(hop.messages) == 4
        assert hop.messages[-1] - hop.messages[0] < 2
        assert not mx.log.find("host_throttled")
    check_never_deferred(mx)


@pytest.mark.parametrize("complaint", [
    "450 4.2.1 This mailbox gets mail too fast; please send to it again later",
    "451 4.7.1 Greylisted, please come back in a while", "450 4.2.0 Greylisting in action: try again in 60 seconds"])
def test_what_is_said_of_a_mailbox(node, complaint):
    """It is deferred as always, and the server gets other mail as fast as before."""
    with Server(Recipients(["busy"], complaint)) as hop:
        mx = node(routes=[hop.route("boxes.test")])
        send(mx, "boxes.test", 1, name="busy")
        hop.allows.names.add("busy0")
        send(mx, "boxes.test", 1, name="busy")
        mx.log.wait("deferred", to="busy0@boxes.test")
        begin = time.monotonic()
        send(mx, "boxes.test", 50)
        wait_until(lambda: len(hop.messages) == 51, "others get their mail")
        assert hop.messages[-1] - begin < 5
        assert stagepost(mx, "queue", "retry", "--all", "--yes").returncode == 0
        mx.wait_empty()
        wait_until(lambda: len(hop.messages) == 52, "the server has counted it")
        assert not mx.log.find("host_throttled")


def test_a_limit_of_recipients(node):
    """Postfix's smtpd_client_recipient_rate_limit: whoever is told so, one after another, and nothing is taken in
    between: that is about the host, at RCPT, too."""
    allows = InTurn(30, SECONDS, "450 4.7.1 Error: too many recipients from localhost[127.0.0.1]")
    with Server(allows) as hop:
        mx = node(routes=[hop.route("anvil.test")])
        addresses = send(mx, "anvil.test", 36)
        event = mx.log.wait("host_throttled", port=hop.port)
        assert allows.complaint in event["text"] and "in reply to RCPT" in event["text"], event
        wait_empty(mx, timeout=240 * SLOWNESS)
        assert sorted(hop.delivered) == sorted(addresses)
        assert len(allows.refused) < IN_FLIGHT
    check_few_deferred(mx, 3)


# --- nobody else is slower ---


def rate_of(hop, count):
    assert len(hop.messages) == count
    return (count - 1) / (hop.messages[-1] - hop.messages[0])


EACH = 40


def rates_beside(node, slow):
    """Of mail for five domains whose servers take so much time, two messages at once, that it does not matter
    what else this machine does; SLOW is a server whose queue is full."""
    hops = [Server(takes=0.4) for _ in range(5)]
    mx = node(routes=[hop.route(f"d{number}.test") for number, hop in enumerate(hops)] +
              ([slow.route("slow.test")] if slow else []),
              settings='destination ".test" { concurrency = 2 }\ntransport remote { concurrency = 20 }')
    if slow:
        send(mx, "slow.test", 200)
        mx.log.wait("host_throttled", port=slow.port)
    for number in range(len(hops)):
        send(mx, f"d{number}.test", EACH)
    for hop in hops:
        wait_until(lambda hop=hop: len(hop.messages) == EACH, "it gets its mail", timeout=60)
    if slow:
        assert pauses(mx)["slow.test"]["messages"] > 50
    mx.stop()
    for hop in hops:
        hop.server_close()
    return [rate_of(hop, EACH) for hop in hops]


def test_others_keep_their_rate(node):
    """Nine tenths at least."""
    alone = rates_beside(node, None)
    with Server(Quota("MAIL", 20, 3600, "421 4.7.0 rate limited")) as slow:
        beside = rates_beside(node, slow)
    print("messages a second alone", alone, "beside", beside)
    assert sum(beside) >= 0.9 * sum(alone)
    assert min(beside) >= 0.9 * min(alone)


# --- what operators see, and can do ---


def test_pauses_are_shown(node):
    with Server(Quota("MAIL", 0, 1, "421 4.7.0 rate limited, come back in 30 minutes")) as hop, Server() as shaped:
        mx = node(routes=[hop.route("slow.test"), shaped.route("few.test")],
                  settings='destination "few.test" { per = host messages = 2 interval = 1h }')
        send(mx, "slow.test", 3)
        send(mx, "few.test", 6)
        wait_until(lambda: len(shaped.messages) == 2, "what may go has gone")
        wait_until(lambda: set(pauses(mx)) == {"slow.test", "few.test"}, "both are paused")
        paused = pauses(mx)
        slow, few = paused["slow.test"], paused["few.test"]
        assert slow["messages"] == 3 and few["messages"] == 4
        assert slow["reason"].startswith("127.0.0.1 says that it gets too much: ")
        assert few["reason"] == "127.0.0.1: 2 messages in 3600s"
        for pause, seconds in (slow, 1800), (few, 3660):
            left = pause["milliseconds"] / 1000
            assert seconds - 70 < left <= seconds
            until = time.mktime(time.strptime(pause["until"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
            assert abs(until - time.time() - left) < 5
        lines = stagepost(mx, "queue", "stats").stdout.splitlines()
        table = lines[next(i for i, line in enumerate(lines) if line.startswith("paused destination")):]
        assert table[0].split() == ["paused", "destination", "messages", "until", "reason"]
        assert {tuple(line.split()[:2]) for line in table[1:3]} == {("slow.test", "3"), ("few.test", "4")}
        assert table[3].split()[0] == "server" and len(table) == 5  # who has said that it gets too much
        assert all("Z  127.0.0.1" in line for line in table[1:3])
    check_never_deferred(mx)


def submit(mx, to, parameter=""):
    """Returns the message's id."""
    mark = mx.log.mark()
    with Client(mx) as client:
        assert client.docmd(f"MAIL FROM:<anna@a.test> {parameter}")[0] == 250
        assert client.docmd(f"RCPT TO:<{to}>")[0] == 250
        assert client.data(TEXT)[0] == 250
    return mx.log.wait("message_accepted", since=mark)["id"]


def test_orders_and_deadlines_do_not_wait(node):
    """Messages of a domain that is paused for an hour."""
    with Server() as hop:
        mx = node(routes=[hop.route("few.test")], domains=["a.test"],
                  settings='destination "few.test" { messages = 1 interval = 1h }\ndeliver_by_min = 1s\n')
        submit(mx, "first@few.test")
        wait_until(lambda: len(hop.messages) == 1, "the first has gone")
        ids = [submit(mx, f"{name}@few.test") for name in ("removed", "bounced", "held", "stays")]
        wait_until(lambda: pauses(mx).get("few.test", {}).get("messages") == 4, "all wait")
        late = submit(mx, "late@few.test", "BY=3;R")
        assert mx.log.wait("failed", id=late)["status"] == "5.4.7"
        mx.maildir("anna@a.test").wait(1)
        for command, number in ("remove", 0), ("bounce", 1), ("hold", 2):
            made = stagepost(mx, "queue", command, *(["--yes"] if command != "hold" else []), ids[number])
            assert made.returncode == 0, (command, made.stderr)
        mx.maildir("anna@a.test").wait(2)  # of what was late, and of what was bounced
        wait_until(lambda: len(mx.control_files()) == 2, "only what is held and what stays is left")
        assert pauses(mx)["few.test"]["messages"] == 1
        assert stagepost(mx, "queue", "remove", "--yes", ids[2], ids[3]).returncode == 0
        mx.wait_empty()
        assert len(hop.messages) == 1


# --- real servers ---


LIMIT_S = round(5 * SLOWNESS)  # a slow machine, too, must be able to send more than the limit in it


def check_all_arrives(node, peer, domain, count, is_of_host=True):
    """At first all at once, from as many senders to two users. What is told at RCPT may be about each of these,
    unless nothing was taken in between."""
    mx = node(routes=[f"{domain}:127.0.0.1;{peer.port}"], settings="transport remote { paused = yes }\n")
    with Client(mx) as client:
        for number in range(count):
            to = ("bob", "eve")[number % 2]
            assert client.deliver(f"s{number}@client.test", f"{to}@{domain}", TEXT).startswith("250 ")
    mx.settings = ""
    mx.write_configuration()
    mx.reload()
    mx.log.wait("host_throttled" if is_of_host else "deferred")
    end = time.monotonic() + (0 if is_of_host else LIMIT_S + 1)
    wait_until(lambda: time.monotonic() > end, "the limit's time is over")
    wait_empty(mx, timeout=240 * SLOWNESS)
    for user in ("bob", "eve"):
        assert len(peer.maildir(user).wait(count // 2)) == count // 2
    check_few_deferred(mx, count // 4)


@pytest.mark.skipif(not is_root(), reason="Postfix starts only as root")
@pytest.mark.parametrize("limit", ["smtpd_client_message_rate_limit = 30", "smtpd_client_connection_rate_limit = 4",
                                   "smtpd_client_connection_count_limit = 3", "smtpd_client_recipient_rate_limit = 30"])
def test_postfix(node, ground, limit):
    """Its anvil counts what a client does."""
    with Postfix(ground.directory("postfix"), users=("bob", "eve"), more=(
            f"{limit}\nanvil_rate_time_unit = {LIMIT_S}s\nsmtpd_client_event_limit_exceptions =\n")) as hop:
        check_all_arrives(node, hop, "postfix.test", 36, "recipient" not in limit)


EXIM_LIMITS = {
    "rate": {"mail": "  defer message = 451 4.7.1 sending rate over $sender_rate_limit in $sender_rate_period\n"
                     f"        ratelimit = 20 / {LIMIT_S}s / strict"},
    "connections": {"more": "smtp_accept_max_per_host = 3"},
}


@pytest.mark.parametrize("limit", EXIM_LIMITS)
def test_exim(node, ground, limit):
    with Exim(ground.directory("exim"), users=("bob", "eve"), **EXIM_LIMITS[limit]) as hop:
        check_all_arrives(node, hop, "exim.test", 36)
