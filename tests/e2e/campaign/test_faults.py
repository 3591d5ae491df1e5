# SPDX-License-Identifier: ISC
"""smtp-sink as a next hop with faults: what Stagepost then retries, passes by, returns.
Never is mail lost, nor sent again to a server that has taken it."""

import contextlib
import email
import itertools
import re

import pytest
from dns import NameServer
from peers import Lan, Sink
from smtp import Client, deliver
from stagepost import split_trace

TEXT = b"Subject: hello\r\nMessage-ID: <1@client.test>\r\n\r\nA line.\r\n..dots\r\n"
RECIPIENTS = ["x@sink.test", "y@sink.test"]
SERVICE = 'service box {{ kind = lmtp address = "127.0.0.1:{port}" {more} }}\n'


@pytest.fixture(params=["smtp", "lmtp"])
def way(request, node, ground):
    """way(*switches, text=TEXT, timeout=None, settings="") -> (mx, sink) sends TEXT to the
    RECIPIENTS by way of an smtp-sink with these switches."""
    sinks = []

    def start(*switches, timeout=None, text=TEXT, settings=""):
        is_lmtp = request.param == "lmtp"
        sinks.append(Sink(ground.directory("sink"), *["-L"] * is_lmtp, *switches))
        port = sinks[-1].port
        if is_lmtp:
            more = f"timeout = {timeout}" if timeout else ""
            words = {"domains": ["a.test", 'domain "sink.test" { service = box }'],
                     "settings": SERVICE.format(port=port, more=more)}
        else:
            words = {"routes": [f"sink.test:127.0.0.1;{port}"],
                     "settings": f"remote_timeout = {timeout}" if timeout else ""}
        words["settings"] += settings
        mx = node(**words)
        deliver(mx, RECIPIENTS, text, sender="anna@a.test")
        return mx, sinks[-1]

    start.is_lmtp = request.param == "lmtp"
    yield start
    for sink in sinks:
        sink.stop()


def try_again(mx, sink, ground):
    """The same server without its faults takes what was left; its messages."""
    mx.stop()
    mx.make_due()
    sink.stop()
    lmtp = ["-L"] * ("kind = lmtp" in mx.settings)
    with Sink(ground.directory("mended"), *lmtp, port=sink.port) as mended:
        mx.start()
        mx.log.wait("delivered", count=len(RECIPIENTS))
        mx.wait_empty()
        return mended.transactions()


def outcomes(mx, event):
    """Statuses by recipient, each of whom has exactly one such EVENT."""
    found = mx.log.wait(event, count=len(RECIPIENTS))
    assert sorted(one["to"] for one in found) == RECIPIENTS
    return {one["status"] for one in found}


def check_taken(transactions, text=TEXT):
    """Each recipient once, the message as it was."""
    assert sorted(to for recipients, _ in transactions for to in recipients) == RECIPIENTS
    for _, stored in transactions:
        split_trace(stored, text.replace(b"\r\n", b"\n"))


def check_returned(mx):
    """One report on all, and nothing is left."""
    (bounce,) = mx.maildir("anna@a.test").wait()
    assert sorted(re.findall(rb"^Final-Recipient: rfc822; ?(\S+)", bounce, re.M)) == \
        [to.encode() for to in RECIPIENTS]
    mx.wait_empty()
    assert not mx.log.find("deferred")
    assert [one["to"] for one in mx.log.find("delivered")] == ["anna@a.test"]


@pytest.mark.parametrize("command", ["CONNECT", "EHLO,HELO,LHLO", "MAIL", "RCPT", "DATA", "."])
@pytest.mark.parametrize("switch, status", [("-q", "4.4.2"), ("-Q", "4.0.0"), ("-r", "4.3.0")])
def test_tried_again(way, ground, switch, status, command):
    """Disconnected (-q), after a 421 (-Q), or refused for now (-r)."""
    mx, sink = way(switch, command)
    assert outcomes(mx, "deferred") == {status}
    assert not mx.log.find("delivered") and not mx.log.find("failed")
    check_taken(try_again(mx, sink, ground))
    assert not mx.maildir("anna@a.test").files()


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA", "."])
def test_returned(way, command):
    mx, _ = way("-f", command)
    assert outcomes(mx, "failed") == {"5.3.0"}
    check_returned(mx)


def test_a_hard_refusal_to_greet_is_for_now(way, ground):
    mx, sink = way("-f", "CONNECT")
    assert outcomes(mx, "deferred") == {"4.3.0"}
    check_taken(try_again(mx, sink, ground))


def test_hello_is_refused_for_good(way, ground):
    """HELO is tried after EHLO; LMTP has no other word, and a local server that does not know it
    is a mistake of ours: mail waits."""
    mx, sink = way("-f", "EHLO,LHLO")
    if way.is_lmtp:
        assert outcomes(mx, "deferred") == {"4.3.0"}
        check_taken(try_again(mx, sink, ground))
    else:
        outcomes(mx, "delivered")
        mx.wait_empty()
        check_taken(sink.transactions())


@pytest.mark.parametrize("switches", [
    ["-q", "QUIT"], ["-r", "QUIT"], ["-f", "QUIT"], ["-e"], ["-p"], ["-E"], ["-N"], ["-P"],
    ["-W", "CONNECT:1"], ["-p", "-W", "MAIL:1"], ["-W", ".:1"], ["-w", "1"], ["-H", "1"]],
    ids=" ".join)
def test_taken_all_the_same(way, switches):
    """By a server that is slow, or offers little, or ends badly."""
    mx, sink = way(*switches)
    outcomes(mx, "delivered")
    mx.wait_empty()
    check_taken(sink.transactions())
    assert not mx.log.find("deferred") and not mx.log.find("failed")


@pytest.mark.parametrize("command", ["CONNECT", "RCPT", "."])
def test_too_slow(way, ground, command):
    mx, sink = way("-p", "-W", f"{command}:30", timeout=1)
    assert outcomes(mx, "deferred") == {"4.4.2"}
    check_taken(try_again(mx, sink, ground))


def test_reads_late(way):
    """The message is larger than what fits between the two."""
    text = TEXT + (b"x" * 500 + b"\r\n") * 10_000
    mx, sink = way("-H", "1", "-T", "4096", text=text)
    outcomes(mx, "delivered")
    mx.wait_empty()
    check_taken(sink.transactions(), text)
    assert not mx.log.find("deferred")


@pytest.mark.parametrize("converts", ("yes", "no"))
def test_eight_bits(way, converts):
    """For a server that does not say that it takes them: converted, or sent where that is wanted."""
    text = TEXT + bytes(range(0x80, 0x100)) + b"\r\n"
    mx, sink = way("-8", text=text, settings=f"\nconvert_8bit = {converts}\n")
    outcomes(mx, "delivered")
    mx.wait_empty()
    if converts == "no":
        check_taken(sink.transactions(), text)
    else:
        for _, stored in sink.transactions():
            assert stored.isascii() and b"Content-Transfer-Encoding: " in stored
            assert email.message_from_bytes(stored).get_payload(decode=True).endswith(
                bytes(range(0x80, 0x100)) + b"\n")


def test_the_text_is_refused_unread(way):
    """A 550 while the message is on its way, and the connection is closed."""
    mx, _ = way("-A", "0", text=TEXT + (b"x" * 500 + b"\r\n") * 10_000)
    assert outcomes(mx, "failed") == {"5.0.0"}
    check_returned(mx)


def test_sessions_cannot_be_used_again(node, ground):
    """RSET comes before what follows a refusal: when it fails, so does the connection only."""
    for switch in "-q", "-Q", "-r", "-f":
        with Sink(ground.directory("sink"), "-f", "RCPT", switch, "RSET") as sink:
            mx = node(routes=[f"sink.test:127.0.0.1;{sink.port}"])
            with Client(mx) as client:
                for _ in range(10):
                    assert client.deliver("", "x@sink.test", TEXT).startswith("250 ")
            mx.log.wait("failed", count=10)
            mx.wait_empty()
            assert not mx.log.find("deferred")


def numbers_of(sink):
    """Of the messages that it has whole."""
    whole = re.compile(rb"^Subject: (\d+)\n.*\nA line\.\n\.\.dots\n\Z", re.M | re.S)
    found = [whole.search(text) for text in sink.messages()]
    return [int(match.group(1)) for match in found if match]


def test_a_server_that_dies_under_load(node, ground):
    """What it took is not sent again, but for what it had not confirmed."""
    count, at_once = 300, 10
    with Sink(ground.directory("mortal"), "-M", str(count // 3)) as mortal:
        mx = node(routes=[f"sink.test:127.0.0.1;{mortal.port}"],
                  settings=f"probe_delay = 1\ntransport remote {{ concurrency = {at_once} }}")
        with Client(mx) as client:
            for i in range(count):
                text = TEXT.replace(b"hello", b"%d" % i)
                assert client.deliver("", "x@sink.test", text).startswith("250 ")
        mortal.process.wait(20)
        taken = numbers_of(mortal)
        assert len(taken) >= count // 3
        mx.log.wait("deferred")
        with Sink(ground.directory("heir"), port=mortal.port) as heir:
            mx.stop()
            mx.make_due()
            mx.start()
            mx.log.wait("delivered", count=count)
            mx.wait_empty()
            taken += numbers_of(heir)
    assert set(taken) == set(range(count))
    assert len(taken) <= count + at_once
    assert len(mx.log.find("delivered")) == count


# --- other hosts take what one does not ---

ZONE = {"two.test": "@ MX 10 first\n@ MX 20 second\n"
                    "first A 198.18.0.10\nsecond A 198.18.0.11\n"}


@pytest.fixture
def two(node, ground):
    """two(SWITCH, COMMAND) is (mx, first, second): a node, and two exchangers of which the
    first has this fault."""
    with Lan() as lan, NameServer(ZONE) as names, contextlib.ExitStack() as open_ones:

        def two(switch, command):
            sinks = [open_ones.enter_context(lan.sink(ground.directory(name), *words))
                     for name, *words in (("first", 10, switch, command), ("second", 11))]
            return node(settings=f'dns_server = "{names.dns_server}"\ndane = no'), *sinks

        yield two


@pytest.mark.parametrize("switch, command", [
    *itertools.product(["-q", "-Q", "-r", "-f"], ["CONNECT", "EHLO,HELO"]),
    *itertools.product(["-q", "-Q"], ["MAIL", "RCPT", "DATA"])])
def test_the_next_exchanger_is_tried(two, switch, command):
    """When the first does not even greet, or breaks off before it was sent the message."""
    mx, first, second = two(switch, command)
    for _ in range(3):
        deliver(mx, "x@two.test", TEXT)
    mx.log.wait("delivered", count=3)
    mx.wait_empty()
    assert not first.files() and len(second.files()) == 3
    assert not mx.log.find("deferred") and not mx.log.find("failed")


@pytest.mark.parametrize("switch, command", [("-q", "."), ("-f", "RCPT")])
def test_the_next_exchanger_is_not_tried(two, switch, command):
    """When the first may have the message, or has answered for the recipient."""
    mx, _, second = two(switch, command)
    deliver(mx, "x@two.test", TEXT)
    mx.log.wait("failed" if switch == "-f" else "deferred")
    assert not mx.log.find("delivered") and not second.files()
