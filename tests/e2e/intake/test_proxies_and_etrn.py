# SPDX-License-Identifier: ISC
"""What some clients may do beside delivering mail: ETRN by hosts that are not always connected,
XCLIENT and XFORWARD by trusted proxies."""

import contextlib
import smtplib

import pytest
import qmtp
from peers import Postfix, Sink
from smtp import Client
from stagepost import free_port, wait_until

TEXT = b"Subject: kept\r\n\r\nHello.\r\n"


def wait_for_trigger(mx, name):
    wait_until(lambda: name in mx.trigger_files(), f"{name} is set")


def test_etrn(node, ground):
    """The relay of the domain's route was away, and is probed once an hour at most."""
    port = free_port()
    mx = node(routes=[f"away.test:127.0.0.1;{port}", f"other.test:127.0.0.1;{free_port()}"],
              settings='probe_delay = 1h\netrn_from = { "127.0.0.1/32" }\n')
    with Client(mx) as client:
        assert b"ETRN" in client.ehlo("gw.away.test")[1].split(b"\n")
        client.deliver("sender@client.test", ["bob@away.test"], TEXT)
        wait_for_trigger(mx, f"host.127.0.0.1:{port}")
        with Sink(ground.directory("sink"), port=port) as sink:
            since = mx.log.mark()
            assert client.docmd("ETRN", "nowhere.test") == (
                250, b"2.0.0 Queuing for node nowhere.test started")
            mx.log.wait("mail_requested", domain="nowhere.test", client="127.0.0.1")
            assert f"host.127.0.0.1:{port}" in mx.trigger_files()
            assert client.docmd("ETRN", "away.test") == (
                250, b"2.0.0 Queuing for node away.test started")
            mx.log.wait("delivered", since=since, to="bob@away.test")
            assert len(sink.messages()) == 1


def test_etrn_of_a_domain_reached_by_qmtp(node):
    port = free_port()
    mx = node(settings=f'qmtproutes = {{ "away.test:127.0.0.1;{port}" }}\nprobe_delay = 1h\n'
              'etrn_from = { "127.0.0.1/32" }\n')
    with Client(mx) as client:
        client.ehlo("gw.away.test")
        client.deliver("sender@client.test", ["bob@away.test"], TEXT)
        wait_for_trigger(mx, f"host.127.0.0.1:{port}")
        server = qmtp.Server(port=port)
        try:
            since = mx.log.mark()
            assert client.docmd("ETRN", "away.test")[0] == 250
            mx.log.wait("delivered", since=since, to="bob@away.test")
            assert len(server.packages) == 1
        finally:
            server.close()


def test_etrn_of_a_domain_reached_by_the_relay_of_a_sender(node, ground):
    port = free_port()
    mx = node(settings=f'senderroutes = {{ "a.test:127.0.0.1;{port}" }}\n'
                       f'smtproutes = {{ "routed.test:127.0.0.2;{port}" }}\n'
                       'probe_delay = 1h\netrn_from = { "127.0.0.1/32" }\n')
    with Client(mx) as client:
        client.ehlo("gw.away.test")
        client.deliver("ann@a.test", ["bob@away.test"], TEXT)
        wait_for_trigger(mx, f"host.127.0.0.1:{port}")
        with Sink(ground.directory("sink"), port=port) as sink:
            since = mx.log.mark()
            assert client.docmd("ETRN", "routed.test")[0] == 250
            mx.log.wait("mail_requested", domain="routed.test", client="127.0.0.1")
            assert f"host.127.0.0.1:{port}" in mx.trigger_files()
            assert client.docmd("ETRN", "away.test")[0] == 250
            mx.log.wait("delivered", since=since, to="bob@away.test")
            assert len(sink.messages()) == 1


@pytest.mark.parametrize("is_restarted", [False, True])
def test_etrn_of_a_domain_whose_host_is_in_another(node, ground, is_restarted):
    """Here the relay for all mail. Mail for another domain waits for it, too, and goes with it."""
    port = free_port()
    mx = node(routes=[f":127.0.0.1;{port}"],
              settings='probe_delay = 1h\netrn_from = { "127.0.0.1/32" }\nmaxcommands = 100000\n')
    with Client(mx) as client:
        for domain in ("Away.test", "far.test"):
            client.deliver("sender@client.test", [f"bob@{domain}"], TEXT)
    mx.log.wait("deferred", to="bob@far.test")
    if is_restarted:
        mx.restart()
    with Client(mx) as client, Sink(ground.directory("sink"), port=port) as sink:
        since = mx.log.mark()
        assert client.docmd("ETRN", "nowhere.test")[0] == 250
        mx.log.wait("mail_requested", domain="nowhere.test")
        assert f"host.127.0.0.1:{port}" in mx.trigger_files()
        # after a restart it takes a moment until it is known for what they wait
        wait_until(lambda: client.docmd("ETRN", "away.TEST")[0] == 250 and
                   len(mx.log.find("delivered", since=since)) == 2, "both are delivered")
        assert len(sink.messages()) == 2


def test_etrn_of_others(node):
    mx = node(settings='etrn_from = { "192.0.2.0/24" }\n')
    with Client(mx) as client:
        assert b"ETRN" not in client.ehlo("gw.away.test")[1]
        assert client.docmd("ETRN", "away.test")[0] == 459


def test_etrn_is_unknown_without_the_setting(node):
    with Client(node()) as client:
        client.ehlo("gw.away.test")
        assert client.docmd("ETRN", "away.test")[0] == 500


PROXY = 'xclient_from = { "127.0.0.1/32" }\nxforward_from = { "127.0.0.1/32" }\n'


def test_xclient_gives_the_rights_of_the_client(node):
    """The proxy may relay, its client may not, another one may."""
    mx = node(routes=[f"far.test:127.0.0.1;{free_port()}"], relay_from=["127.0.0.1/32", "192.0.2.0/24"],
              settings=PROXY)
    with Client(mx) as client:
        client.ehlo("proxy.test")
        client.mail("a@client.test")
        assert client.rcpt("bob@far.test")[0] == 250
        client.rset()
        code, text = client.docmd("XCLIENT", "NAME=spike.test ADDR=198.51.100.7 PORT=4711")
        assert code == 220 and b"ESMTP" in text
        client.ehlo("spike.test")
        client.mail("a@client.test")
        assert client.rcpt("bob@far.test")[0] >= 500
        client.rset()
        client.docmd("XCLIENT", "ADDR=192.0.2.9 NAME=[UNAVAILABLE]")
        client.ehlo("ours.test")
        client.deliver("a@client.test", ["bob@far.test"], TEXT)
        event = mx.log.wait("message_accepted")
        assert event["client"] == "192.0.2.9" and event["helo"] == "ours.test"


def test_xclient_login_is_a_user(node):
    """He may send as himself, to anybody; without him, the client may not."""
    mx = node(routes=[f"far.test:127.0.0.1;{free_port()}"], relay_from=["192.0.2.0/24"],
              settings=PROXY)
    with Client(mx) as client:
        client.ehlo("proxy.test")
        client.docmd("XCLIENT", "ADDR=198.51.100.7 LOGIN=anna@a.test")
        client.ehlo("spike.test")
        client.mail("anna@a.test")
        assert client.rcpt("bob@far.test") == (250, b"2.1.5 Recipient ok")
    with Client(mx) as client:
        client.ehlo("proxy.test")
        client.docmd("XCLIENT", "ADDR=198.51.100.7")
        client.ehlo("spike.test")
        client.mail("anna@a.test")
        assert client.rcpt("bob@far.test")[0] >= 500


def test_a_client_without_an_address_has_no_rights(node):
    mx = node(routes=[f"far.test:127.0.0.1;{free_port()}"], relay_from=["127.0.0.1/32"], settings=PROXY)
    with Client(mx) as client:
        client.ehlo("proxy.test")
        client.docmd("XCLIENT", "ADDR=[UNAVAILABLE]")
        client.ehlo("unknown.test")
        client.mail("a@client.test")
        assert client.rcpt("bob@far.test")[0] >= 500


def test_a_client_without_an_address_is_not_the_one_before(node):
    mx = node(settings=PROXY)
    with Client(mx) as client:
        client.ehlo("proxy.test")
        for said, shown in (("198.51.100.7", "198.51.100.7"), ("[UNAVAILABLE]", "127.0.0.1")):
            since = mx.log.mark()
            assert client.docmd("XCLIENT", f"ADDR={said}")[0] == 220
            client.ehlo("x.test")
            client.deliver("sender@client.test", ["anna@a.test"], TEXT)
            assert mx.log.wait("message_accepted", since=since)["client"] == shown


def test_xclient_of_a_stranger(node):
    """Neither the rights of the proxy, which does not know the client's address, nor the login of
    the client before it."""
    mx = node(routes=[f"far.test:127.0.0.1;{free_port()}"], relay_from=["127.0.0.1/32"],
              settings=PROXY)
    with Client(mx) as client:
        client.ehlo("proxy.test")
        client.docmd("XCLIENT", "ADDR=[UNAVAILABLE] LOGIN=anna@a.test")
        client.ehlo("x.test")
        client.mail("anna@a.test")
        assert client.rcpt("bob@far.test") == (250, b"2.1.5 Recipient ok")
        client.rset()
        client.docmd("XCLIENT", "NAME=x.test")
        client.ehlo("x.test")
        client.mail("anna@a.test")
        assert client.rcpt("bob@far.test")[0] >= 500
        client.rset()
        client.docmd("XCLIENT", "ADDR=127.0.0.1")
        client.ehlo("x.test")
        client.mail("anna@a.test")
        assert client.rcpt("bob@far.test")[0] == 250


def test_sessions_count_for_whom_the_proxy_names(node):
    """Not for the proxy, whose clients would have them all."""
    mx = node(relay_from=[], settings=PROXY + "maxsessions_client = 2\nsmtpd_workers = 1\n")
    with contextlib.ExitStack() as sessions:
        for address in ("198.51.100.1", "198.51.100.2", "198.51.100.2", "198.51.100.3"):
            client = sessions.enter_context(Client(mx))
            assert client.docmd("XCLIENT", f"ADDR={address}")[0] == 220
        with Client(mx) as client:
            assert client.docmd("XCLIENT", "ADDR=198.51.100.2") == (
                421, b"4.7.0 You have too many connections to this server")
        with Client(mx) as client:
            assert client.docmd("XCLIENT", "ADDR=198.51.100.4")[0] == 220
            assert client.docmd("XCLIENT", "ADDR=198.51.100.1")[0] == 220
            assert client.docmd("XCLIENT", "ADDR=198.51.100.1")[0] == 220


def test_xforward_by_postfix(node, ground):
    """Postfix says who its client was, in the form that it uses for filters."""
    mx = node(settings=PROXY)
    mx.maildir("anna@a.test")
    with Postfix(ground.directory("postfix"), next_port=mx.port,
                 more="smtp_send_xforward_command = yes\n") as filter_:
        with smtplib.SMTP("127.0.0.1", filter_.port, "client.of.filter.test") as client:
            client.sendmail("sender@client.test", ["anna@a.test"], TEXT)
        event = mx.log.wait("message_accepted")
        assert event["forwarded_for"] == "127.0.0.1" and event["ident"]


def test_xforward_is_for_one_message(node):
    mx = node(settings=PROXY)
    with Client(mx) as client:
        client.ehlo("proxy.test")
        for said, ident in (("ADDR=198.51.100.7 IDENT=abc", "abc"), ("ADDR=198.51.100.8", None)):
            since = mx.log.mark()
            assert client.docmd("XFORWARD", said)[0] == 250
            client.deliver("sender@client.test", ["anna@a.test"], TEXT)
            event = mx.log.wait("message_accepted", since=since)
            assert event["forwarded_for"] == said.split()[0][5:] and event.get("ident") == ident


def test_strangers_have_neither(node):
    with Client(node(settings='xclient_from = { "192.0.2.1/32" }\n')) as client:
        assert b"XCLIENT" not in client.ehlo("x.test")[1]
        assert client.docmd("XCLIENT", "ADDR=192.0.2.1")[0] == 500
        assert client.docmd("XFORWARD", "ADDR=192.0.2.1")[0] == 500
