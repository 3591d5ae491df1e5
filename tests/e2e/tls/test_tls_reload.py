# SPDX-License-Identifier: ISC
"""A reload that says more of TLS than before, while deliveries are open: which message goes by which
policy. A connection that was begun before completes the transaction that it carries, and nothing
more; all that is begun afterwards is protected as the new configuration demands."""

import contextlib
import os
import socket
import threading

import pytest
from lying_dns import TXT, Answer, LyingServer, a, mx
from peers import Lan
from policies import HttpsServer, Served, policy, published
from secure_way import listen_inside
from signed_dns import SignedNameServer, Zone
from smtp import deliver
from stagepost import PATIENCE, is_root, wait_until
from tls_hop import Certificates, Hop, Session

TEXT = b"Subject: secret\r\n\r\nNobody else reads this.\r\n"
NAMES = ("mx.right.test", "mta-sts.right.test")
ROOM, MANY = 10, 25  # recipients of a transaction and of a message: it takes three


class HeldSession(Session):
    """Waits where the hop says: at "rcpt", or at the "dot", that is before the reply to the message."""

    def hold(self, place):
        if self.hop.held_at != place:
            return
        self.hop.holding.set()
        self.hop.released.wait(PATIENCE)

    def say(self, *lines):
        if lines == ("250 2.1.5 ok",):
            self.hold("rcpt")
            if len(self.recipients) > ROOM:
                self.recipients.pop()
                lines = ("452 4.5.3 too many recipients",)
        if lines == ("250 2.0.0 taken",):
            self.hold("dot")
        super().say(*lines)


class HeldHop(Hop):
    session_class = HeldSession

    def __init__(self, context, held_at, **options):
        self.held_at = held_at
        self.holding, self.released = threading.Event(), threading.Event()
        super().__init__(context, **options)

    def release(self):
        self.held_at = None
        self.released.set()

    def secured(self):
        """Of each message, whether it came by TLS, and for how many recipients."""
        return [(secured, len(recipients)) for recipients, _, secured in self.messages]

    def __exit__(self, *exception):
        self.release()
        super().__exit__(*exception)


@pytest.fixture(scope="module")
def certificates(ground):
    return Certificates(ground.directory("certificates"), *NAMES)


def reload(node, settings):
    node.settings = settings
    node.write_configuration()
    node.reload()


def delivered(node, name, domain="right.test"):
    return node.log.wait("delivered", to=f"{name}@{domain}")


@contextlib.contextmanager
def plain_node(node, certificates, hop, section):
    """A node that may send to right.test in plain text. Its authorities are read at the start, so a
    reload needs no other process."""
    with SignedNameServer({"right.test": Zone("mx A 127.0.0.1\n")}) as names:
        yield node(routes=[f"right.test:mx.right.test;{hop.port}"], settings=(
            names.settings().replace("dane = yes", "dane = no") + "tls_timeout = 2s\n"
            f'tls_authorities = "{certificates.authority}"\n'
            f'tls "other.test" {{ level = verify }}\ntls "right.test" {{ level = {section} }}\n'))


def stricter(mx, section):
    return mx.settings.replace(f'tls "right.test" {{ level = {section} }}', 'tls "right.test" { level = verify }')


def test_a_busy_plain_connection(node, certificates):
    """Its message is taken in plain text, as it was begun; the rest of its recipients, and all other
    mail, go by another connection with TLS."""
    with (HeldHop(certificates.context("mx.right.test"), "dot") as hop,
          plain_node(node, certificates, hop, "none") as mx):
        (process,) = mx.pids("remote")
        deliver(mx, [f"bob{number}@right.test" for number in range(MANY)], TEXT)
        assert hop.holding.wait(PATIENCE)
        hop.held_at = None  # only this one waits
        reload(mx, stricter(mx, "none"))
        deliver(mx, "eve@right.test", TEXT)
        assert delivered(mx, "eve")["verified"] == "authority"
        assert hop.secured() == [(False, ROOM), (True, 1)]
        hop.release()
        mx.log.wait("delivered", count=MANY + 1)
        assert sorted(hop.secured()) == [(False, ROOM), (True, 1), (True, MANY - 2 * ROOM), (True, ROOM)]
        assert not mx.log.find("deferred")
        assert mx.pids("remote") == [process]
        deliver(mx, "kim@right.test", TEXT)
        assert delivered(mx, "kim")["verified"] == "authority"
        assert len([line for line in hop.mail_in_plain_text() if line.startswith(b"DATA")]) == 1


def test_a_handshake_that_fails_after_the_reload(node, certificates):
    """Plain text instead was allowed when the connection was begun, and is not any more."""
    with (HeldHop(certificates.context("mx.right.test"), None, behaviour="stall") as hop,
          plain_node(node, certificates, hop, "may") as mx):
        deliver(mx, "bob@right.test", TEXT)
        wait_until(lambda: b"STARTTLS\r\n" in hop.plain, "the handshake")
        reload(mx, stricter(mx, "may"))
        event = mx.log.wait("deferred", to="bob@right.test")
        assert "the handshake of TLS" in event["text"]
        assert not hop.messages and not hop.mail_in_plain_text()
        assert not mx.log.find("tls_plain")


@pytest.mark.parametrize("held_at", ["dot", "rcpt"])
def test_dane_is_turned_on(node, certificates, held_at):
    """By a new process. The message past its dot is completed by the old one, once; one before it is
    tried again by the new one, which knows that this server is not the right one."""
    with (HeldHop(certificates.context("mx.right.test"), held_at) as hop,
          SignedNameServer({"right.test": Zone(
              f"mx A 127.0.0.1\n_{hop.port}._tcp.mx TLSA 3 1 1 {32 * 'ab'}\n")}) as names):
        mx = node(routes=[f"right.test:mx.right.test;{hop.port}"], settings=(
            names.settings().replace("dane = yes", "dane = no") + "remote_tls = may\n"))
        check_turned_on(mx, hop, held_at, lambda: mx.settings.replace("dane = no", "dane = yes"), tls="TLSv1.3")


def check_turned_on(mx, hop, held_at, settings, tls=None):
    """TLS: by what the first message goes."""
    (old,) = mx.pids("remote")
    deliver(mx, "bob@right.test", TEXT)
    assert hop.holding.wait(PATIENCE)
    mark = mx.log.mark()
    reload(mx, settings())
    mx.log.wait("process_renewed", since=mark)
    if held_at == "rcpt":
        assert mx.log.wait("deferred", to="bob@right.test")["text"] == "the delivery was interrupted"
        wait_until(lambda: mx.log.find("deferred", to="bob@right.test")[-1]["status"][:3] == "4.7", "the second attempt")
        hop.release()
        assert not hop.messages
    else:
        hop.release()
        assert delivered(mx, "bob").get("tls") == tls
        assert len(hop.messages) == 1
    deliver(mx, "eve@right.test", TEXT)
    assert mx.log.wait("deferred", to="eve@right.test")["status"][:3] == "4.7"
    wait_until(lambda: old not in mx.pids("remote"), "the old process ends")
    assert len(hop.messages) == (held_at == "dot")


@pytest.mark.skipif(not is_root(), reason="only root makes networks")
def test_a_policy_that_is_asked_for(node, certificates):
    """The DNS is silent when the reload comes, and says then that the domain has none: the section
    counts that was added meanwhile, not what allowed plain text when the question was asked."""
    question = ("_mta-sts.right.test", TXT)
    with (Lan(hosts=1) as lan,
          Hop(None, "none", listening=listen_inside(lan.holder.pid, ("198.18.0.10", 25))) as hop,
          LyingServer({("right.test", 15): Answer([mx(10, "mx.right.test")]),
                       ("mx.right.test", 1): Answer(a("198.18.0.10")), question: None}) as names):
        made = node(start=False)
        made.settings = (f'dns_server = "{names.dns_server}"\nmta_sts = yes\ndane = no\n'
                         f'tls_authorities = "{certificates.authority}"\n'
                         f'policy_path = "{os.path.join(made.directory, "policies")}"\n')
        made.write_configuration()
        made.start()
        (process,) = made.pids("remote")
        deliver(made, "bob@right.test", TEXT)
        wait_until(lambda: question in names.questions, "the policy is asked for")
        reload(made, made.settings + 'tls "right.test" { level = verify }\n')
        names.answers[question] = Answer()
        event = made.log.wait("deferred", to="bob@right.test")
        assert "TLS is required" in event["text"], event
        assert made.pids("remote") == [process]
        assert not hop.messages and not hop.mail_in_plain_text()


@pytest.mark.skipif(not is_root(), reason="only root makes networks")
@pytest.mark.parametrize("held_at", ["dot", "rcpt"])
def test_mta_sts_is_turned_on(node, certificates, held_at):
    """The same with a policy of mode enforce, and a server without TLS."""
    policy_host = "mta-sts.right.test"
    files = {policy_host: (certificates.path(policy_host), certificates.path(policy_host, "key"))}
    with (Lan(hosts=1) as lan,
          HeldHop(None, held_at, listening=listen_inside(lan.holder.pid, ("198.18.0.10", 25))) as hop,
          LyingServer({("right.test", 15): Answer([mx(10, "mx.right.test")]),
                       ("mx.right.test", 1): Answer(a("198.18.0.10")), **published("right.test")}) as names,
          HttpsServer({policy_host: Served(policy("mx.right.test"))}, files)):
        made = node(start=False)
        made.settings = (f'dns_server = "{names.dns_server}"\nmta_sts = no\nhttps_private = yes\ndane = no\n'
                         f'tls_authorities = "{certificates.authority}"\n'
                         f'policy_path = "{os.path.join(made.directory, "policies")}"\n')
        made.write_configuration()
        made.start()
        check_turned_on(made, hop, held_at, lambda: made.settings.replace("mta_sts = no", "mta_sts = yes"))


def test_the_first_certificate_turns_nobody_away(node, certificates):
    """A listener that gets TLS by a reload greets again once the key can be used: until then clients wait, and none is
    told 421."""
    mx = node(start=False)
    for _ in range(3):
        mx.settings = ""
        mx.write_configuration()
        mx.start()
        replies = []
        over = threading.Event()

        def connect(replies=replies, over=over):
            while not over.is_set():
                with socket.create_connection(("127.0.0.1", mx.port), PATIENCE) as client:
                    replies.append(client.recv(3))

        client = threading.Thread(target=connect)
        client.start()
        wait_until(lambda replies=replies: len(replies) > 3, "clients are greeted")
        reload(mx, f'certificate main {{ chain = "{certificates.path("mx.right.test")}" '
                   f'key = "{certificates.path("mx.right.test", "key")}" }}\n')
        count = len(replies)
        wait_until(lambda replies=replies, count=count: len(replies) > count + 3, "they are greeted again")
        over.set()
        client.join(PATIENCE)
        mx.stop()
        assert set(replies) == {b"220"}, replies
