# SPDX-License-Identifier: ISC
"""XFORWARD by our client: a content filter behind us, Postfix, learns which client a message came
from; who is not listed does not."""

import re

import pytest
from peers import Postfix
from smtp import Client, deliver
from stagepost import free_port, is_root, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
BOB = "bob@postfix.test"
TRUSTS = "smtpd_authorized_xforward_hosts = 127.0.0.0/8\n"
MORE = 'xclient_from = { 127.0.0.1/32 }\n'

pytestmark = pytest.mark.skipif(not is_root(), reason="Postfix starts only as root")


@pytest.fixture
def filter_behind(node, ground):
    """filter_behind(settings) is (a node, Postfix as its next hop)."""
    made = []

    def make(settings, more=TRUSTS):
        made.append(Postfix(ground.directory("filter"), more=more))
        port = made[-1].port
        return node(routes=[f"postfix.test:127.0.0.1;{port}"],
                    settings=MORE + settings.format(port=port)), made[-1]

    yield make
    for one in made:
        one.stop()


def origins(postfix):
    """What its log says of each message: client, orig_queue_id and orig_client."""
    return re.findall(r"smtpd\[\d+\]: \w+: client=(.*)", postfix.log())


def told(postfix, count=1):
    wait_until(lambda: len(origins(postfix)) >= count, "the messages are in its log")
    return origins(postfix)


def send_as(mx, address, port, name, helo, text=TEXT):
    """By a proxy, for a client at that ADDRESS."""
    with Client(mx) as client:
        code, said = client.docmd("XCLIENT", f"ADDR={address} PORT={port} NAME={name}")
        assert code == 220, said
        client.docmd("EHLO", helo)
        for command in ("MAIL FROM:<s@client.test>", f"RCPT TO:<{BOB}>"):
            assert client.docmd(command)[0] == 250
        code, said = client.data(text)
        assert code == 250
        return said.decode().split()[-1]


def test_a_filter_learns_of_the_client(filter_behind):
    """Several messages in one session: each has its own client."""
    mx, postfix = filter_behind('xforward_to = {{ "[127.0.0.1]" }}\n')
    mx.relay_from += ["198.51.100.0/24"]
    mx.write_configuration()
    mx.reload()
    first = send_as(mx, "198.51.100.7", 53112, "mail.client.test", "helo.client.test")
    second = send_as(mx, "198.51.100.8", 4711, "[UNAVAILABLE]", "other.client.test")
    postfix.maildir(BOB).wait(2)
    said = told(postfix, 2)
    assert any(f"orig_queue_id={first}, orig_client=mail.client.test[198.51.100.7]" in line
               for line in said), said
    assert any(f"orig_queue_id={second}, orig_client=unknown[198.51.100.8]" in line
               for line in said), said


@pytest.mark.parametrize("name, helo", [
    ("-x.client.test", "-"), ("192.0.2.1", "[IPv6:::1"), (f"{'x' * 63}." * 3 + "x" * 61, "x" * 255)],
    ids=["hyphen", "number", "long"])
def test_no_name_hides_an_address(filter_behind, name, helo):
    """Otherwise the filter would take the message for one of ours."""
    mx, postfix = filter_behind('xforward_to = {{ "[127.0.0.1]" }}\n')
    mx.relay_from += ["198.51.100.0/24"]
    mx.write_configuration()
    mx.reload()
    message = send_as(mx, "198.51.100.7", 53112, name, helo)
    (said,) = told(postfix)
    assert f"orig_queue_id={message}," in said and "[198.51.100.7]" in said, said


@pytest.mark.parametrize("xforward", ["yes", "no"])
def test_an_lmtp_service(node, xforward):
    """By its setting, to another node, whose log shows the client and our identifier."""
    port = free_port()
    box = node("box", settings=f'xforward_from = {{ 127.0.0.0/8 }}\nlisten lmtp {{ address = "127.0.0.1:{port}" }}\n')
    mx = node("mx", domains=['domain "a.test" { service = box }'], settings=(
        f'service box {{ kind = lmtp address = "127.0.0.1:{port}" xforward = {xforward} }}\n'))
    reply = deliver(mx, "anna@a.test", TEXT, source="127.0.0.9")
    event = box.log.wait("message_accepted")
    assert event["client"] == "127.0.0.1"
    assert (event.get("forwarded_for"), event.get("ident")) == (
        ("127.0.0.9", reply.split()[-1]) if xforward == "yes" else (None, None))


@pytest.mark.parametrize("settings, more", [
    ("", TRUSTS), ('xforward_to = {{ "filter.test", "127.0.0.1" }}\n', TRUSTS),
    ('xforward_to = {{ "[127.0.0.1]" }}\n', "")])
def test_who_is_not_told(filter_behind, settings, more):
    """Who is not listed, and who does not offer it."""
    mx, postfix = filter_behind(settings, more)
    deliver(mx, BOB, TEXT)
    postfix.maildir(BOB).wait()
    assert "orig_" not in told(postfix)[0]
