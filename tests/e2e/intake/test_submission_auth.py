# SPDX-License-Identifier: ISC
"""Users who submit mail: AUTH over SMTP with every mechanism and with the programs that people use,
as whom they may send, and where their secrets must not be."""

import base64
import functools
import hashlib
import hmac
import json
import os
import smtplib
import socket
import ssl
import statistics
import subprocess
import time

import pytest
from dovecot import PASSWORD as dovecot_password
from dovecot import Dovecot
from passwords import SUBMITTER as PASSWORD
from passwords import WRONG
from stagepost import PATIENCE, as_user, free_port, wait_until
from test_transcript import Watch
from tls_in import Certificates
from users import add_user

ANN, BOB, FAR = "ann@a.test", "bob@a.test", "far@b.test"
MESSAGE = "From: {sender}\r\nTo: bob@a.test\r\nSubject: hello\r\n\r\nbody\r\n"
NAME = "mx.stagepost.test"


def run(node, *words, stdin="", check=True):
    ended = subprocess.run(
        as_user() + [os.path.join(node.programs, "stagepost"), *words[:2], "-c", node.conf,
                     *words[2:]],
        check=False, capture_output=True, text=True, timeout=PATIENCE, input=stdin)
    assert not check or ended.returncode == 0, ended.stderr
    return ended


@functools.cache
def certificates_of_site(ground):
    """Which no test changes."""
    return Certificates(ground.directory("certificates"), NAME)


class Site:
    """A node whose directory has the users ann, and bob@a.test; nobody is trusted by his address."""

    def __init__(self, node, ground, submission="", smtp="", more=""):
        self.certificates = certificates_of_site(ground)
        self.port, self.implicit_port = free_port(), free_port()
        self.mx = node("mx", start=False, domains=(), relay_from=("192.0.2.0/24",), listen=smtp,
                       routes=["b.test:127.0.0.1;1"])
        self.more = more
        self.configure(submission)
        self.mx.start()
        self.add_users()

    def configure(self, submission):
        self.mx.settings = (
            f'directory {{ path = "{self.mx.directory}/data/directory.db" }}\n'
            + self.certificates.section(NAME) +
            f'listen submission {{ address = "127.0.0.1:{self.port}" {submission} }}\n'
            f'listen submission {{ address = "127.0.0.1:{self.implicit_port}" tls = implicit '
            f"{submission} }}\n" + self.more)
        self.mx.write_configuration()

    def put(self, table, key, *fields):
        run(self.mx, "directory", "put", "--replace", "--table", table, key, *fields)

    def add_users(self):
        self.put("domain", "a.test", "kind=local", "service=maildir")
        for user in ("ann", BOB):
            add_user(self.mx, user, PASSWORD, "yescrypt,scram-sha-256,scram-sha-1")
        self.put("address", ANN, "kind=mailbox", "user=ann")
        self.put("address", BOB, "kind=mailbox")
        self.put("address", "alias@a.test", "kind=alias", f"target={ANN}")
        self.put("address", "team@a.test", "kind=forward", f"target={ANN}", f"target={BOB}")
        self.put("address", "shared@a.test", "kind=mailbox")

    def grant(self, user, senders):
        records = run(self.mx, "directory", "export", "--table", "user").stdout.splitlines()
        record, = [one for one in map(json.loads, records) if one["key"] == user]
        self.put("user", user, *(f"password={p}" for p in record["password"]),
                 f"send_as={senders}")

    def context(self, **settings):
        made = ssl.create_default_context(cafile=self.certificates.authority)
        for name, value in settings.items():
            setattr(made, name, value)
        return made

    def client(self, tls=True, port=None, context=None):
        made = smtplib.SMTP("127.0.0.1", port or self.port, local_hostname="client.test",
                            timeout=PATIENCE)
        made._host = NAME  # pylint: disable=protected-access  # for the certificate
        if tls:
            made.starttls(context=context or self.context())
        made.ehlo()
        return made

    def login(self, user="ann", password=PASSWORD, **options):
        client = self.client(**options)
        client.login(user, password)
        return client

    def files(self):
        """All that the node has written: its log, its queue, its directory, but not its mailboxes."""
        for base, _, names in os.walk(self.mx.directory):
            if base.startswith(self.mx.mail):
                continue
            for name in names:
                path = os.path.join(base, name)
                if os.path.isfile(path):  # no socket and no pipe
                    with open(path, "rb") as file:
                        yield path, file.read()


@pytest.fixture
def site(node, ground):
    return Site(node, ground)


@pytest.fixture(name="bound")
def fixture_bound(node, ground):
    """A site that offers -PLUS, too."""
    return Site(node, ground, "auth_binding = yes")


def b64(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def scram(client, mechanism, user, password, flag="n,,", bound=b""):
    """The reply to the last line, as (code, text). FLAG and BOUND: of the channel binding."""
    kind = "sha256" if "256" in mechanism else "sha1"
    mine = f"n={user},r=" + b64(os.urandom(12))
    code, said = client.docmd("AUTH", f"{mechanism} {b64(flag + mine)}")
    if code != 334:
        return code, said
    first = base64.b64decode(said).decode()
    fields = dict(part.split("=", 1) for part in first.split(","))
    salted = hashlib.pbkdf2_hmac(kind, password.encode(), base64.b64decode(fields["s"]),
                                 int(fields["i"]))
    digest = lambda key, text: hmac.new(key, text, kind).digest()
    final = f"c={b64(flag.encode() + bound)},r={fields['r']}"
    signed = f"{mine},{first},{final}".encode()
    key = digest(salted, b"Client Key")
    proof = bytes(a ^ b for a, b in zip(key, digest(hashlib.new(kind, key).digest(), signed)))
    code, said = client.docmd(b64(f"{final},p={b64(proof)}"))
    if code != 334:
        return code, said
    assert base64.b64decode(said) == b"v=" + b64(digest(digest(salted, b"Server Key"),
                                                        signed)).encode()
    return client.docmd("")


def end_point(client):
    """The node's certificate is signed with SHA-256 (RFC 5929 section 4.1)."""
    return hashlib.sha256(client.sock.getpeercert(True)).digest()


def send(client, sender=ANN, to=BOB, author=None):
    """The last reply, and all before must be good."""
    for command in (f"MAIL FROM:<{sender}>", f"RCPT TO:<{to}>"):
        code, said = client.docmd(command)
        if code != 250:
            client.docmd("RSET")
            return code, said
    return client.data(MESSAGE.format(sender=author or sender))


# --- mechanisms ---


def test_what_is_offered_where(site):
    with site.client(tls=False) as client:
        assert "auth" not in client.esmtp_features and "starttls" in client.esmtp_features
        code, said = client.docmd("AUTH", "PLAIN " + b64(f"\0ann\0{PASSWORD}"))
        assert (code, said) == (538, b"5.7.11 Send STARTTLS first")
    with site.client() as client:
        assert client.esmtp_features["auth"].split() == ["SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN", "LOGIN"]
        assert client.docmd("AUTH", "SCRAM-SHA-256-PLUS")[0] == 504
        assert scram(client, "SCRAM-SHA-256", "ann", PASSWORD, "y,,")[0] == 235  # it could, and may not
    with site.client() as client:
        assert send(client)[0] == 530
        assert client.docmd("AUTH", "CRAM-MD5")[0] == 504
    with smtplib.SMTP("127.0.0.1", site.mx.port, timeout=PATIENCE) as client:
        client.ehlo()
        assert "auth" not in client.esmtp_features  # port 25 is not for users


MECHANISMS = {
    "PLAIN": lambda client, password: client.docmd("AUTH", "PLAIN " + b64(f"\0ann\0{password}")),
    "plain": lambda client, password: client.docmd("AUTH", "PLAIN") and client.docmd(
        b64(f"\0ann\0{password}")),
    "LOGIN": lambda client, password: client.docmd("AUTH", "LOGIN") and client.docmd(
        b64("ann")) and client.docmd(b64(password)),
    "SCRAM-SHA-1": lambda client, password: scram(client, "SCRAM-SHA-1", "ann", password),
    "SCRAM-SHA-256": lambda client, password: scram(client, "SCRAM-SHA-256", "ann", password),
    "SCRAM-SHA-256-PLUS": lambda client, password: scram(
        client, "SCRAM-SHA-256-PLUS", "ann", password, "p=tls-server-end-point,,",
        end_point(client)),
    "SCRAM-SHA-1-PLUS": lambda client, password: scram(
        client, "SCRAM-SHA-1-PLUS", "ann", password, "p=tls-server-end-point,,",
        end_point(client)),
}


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_every_mechanism(bound, version):
    site = bound
    with site.client() as client:
        assert client.esmtp_features["auth"].split() == [
            "SCRAM-SHA-256-PLUS", "SCRAM-SHA-1-PLUS", "SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN", "LOGIN"]
    context = site.context(maximum_version=ssl.TLSVersion[version])
    for number, (name, how) in enumerate(MECHANISMS.items(), 1):
        with site.client(context=context) as client:
            code, said = how(client, PASSWORD)
            assert (code, said[:5]) == (235, b"2.7.0"), (name, code, said)
            assert client.docmd("AUTH", "PLAIN")[0] == 503
            assert send(client)[0] == 250, name
        site.mx.log.wait("message_accepted", count=number)
        assert {event["user"] for event in site.mx.log.find("message_accepted")} == {"ann"}
        for stored in site.mx.maildir(BOB).wait(number):
            trace = stored.split(b"From:", 1)[0]
            assert b" with ESMTPSA id " in trace
            assert b"ann" not in trace.replace(b"Return-Path: <ann@a.test>\n", b"")
        with site.client(context=context) as client:
            code, said = how(client, PASSWORD + "x")
            assert (code, said[:5]) == (535, b"5.7.8"), (name, code, said)
            assert send(client)[0] == 530


def test_somebody_between_is_noticed(bound):
    """His connection has another certificate, or he has taken -PLUS out of what is offered."""
    with bound.client() as client:
        for flag, bound in (("p=tls-server-end-point,,", b"x" * 32), ("p=tls-exporter,,", b"x" * 32),
                            ("p=tls-unique,,", b"x" * 12)):
            assert scram(client, "SCRAM-SHA-256-PLUS", "ann", PASSWORD, flag, bound)[0] in (501, 535)
        assert scram(client, "SCRAM-SHA-256", "ann", PASSWORD, "y,,")[0] in (501, 535)
        assert scram(client, "SCRAM-SHA-256", "ann", PASSWORD)[0] == 235


def test_a_client_that_falls_back_has_not_failed(site):
    """As many do: SCRAM first, then "*", then PLAIN. Who does not go on has."""
    first = b64("n,,n=ann,r=abc")
    with site.client() as client:
        assert client.docmd("AUTH", f"SCRAM-SHA-256 {first}")[0] == 334
        assert client.docmd("*")[0] == 501
        event = site.mx.log.wait("auth_cancelled")
        assert (event["user"], event["mechanism"]) == ("ann", "SCRAM-SHA-256")
        client.login("ann", PASSWORD)
    with site.client() as client:
        client.docmd("AUTH", f"SCRAM-SHA-256 {first}")
        assert not site.mx.log.find("auth_failed")
        client.docmd("*")
    assert site.mx.log.wait("auth_failed")["reason"] == "cancelled"


def test_a_client_certificate(node, ground):
    certificates = Certificates(ground.directory("clients"), "ann@a.test", "other.test")
    site = Site(node, ground, "client_certificates = yes client_authority = "
                f'"{certificates.authority}"')
    for name, wanted in (("ann@a.test", 235), ("other.test", 535)):
        context = site.context()
        path = certificates.path(name)
        context.load_cert_chain(path + ".pem", path + ".key")
        site.put("user", "ann@a.test", "name=Ann")
        with site.client(context=context) as client:
            assert "EXTERNAL" in client.esmtp_features["auth"].split()
            code, said = client.docmd("AUTH", "EXTERNAL =")
            assert code == wanted, said


def test_a_proxys_certificate_is_not_its_clients(node, ground):
    """Nor is its connection: what a client binds to its own would never fit."""
    certificates = Certificates(ground.directory("clients"), "ann@a.test")
    site = Site(node, ground, "auth_binding = yes client_certificates = yes client_authority = "
                f'"{certificates.authority}"', more='xclient_from = { "127.0.0.1/32" }\n')
    site.put("user", ANN, "name=Ann")
    context = site.context()
    context.load_cert_chain(certificates.path(ANN) + ".pem", certificates.path(ANN) + ".key")
    with site.client(context=context) as proxy:
        assert "EXTERNAL" in proxy.esmtp_features["auth"].split()
        assert proxy.docmd("XCLIENT", "ADDR=198.51.100.7")[0] == 220
        proxy.ehlo()
        offered = proxy.esmtp_features["auth"].split()
        assert "SCRAM-SHA-256" in offered and "SCRAM-SHA-256-PLUS" not in offered, offered
        assert "EXTERNAL" not in offered
        assert proxy.docmd("AUTH", "EXTERNAL =")[0] == 504
        assert scram(proxy, "SCRAM-SHA-256", "ann", PASSWORD, "y,,")[0] == 235


def test_who_is_authenticated_may_relay(site):
    with site.login() as client:
        assert client.docmd(f"MAIL FROM:<{ANN}>")[0] == 250
        assert client.docmd(f"RCPT TO:<{FAR}>")[0] == 250
        code, said = client.docmd("RCPT TO:<nobody@a.test>")
        assert (code, said[:5]) == (550, b"5.1.1")


def test_trusted_networks_need_no_auth(node, ground):
    site = Site(node, ground)
    site.mx.relay_from = ["127.0.0.0/8"]
    site.mx.write_configuration()
    site.mx.reload()
    with site.client(tls=False) as client:
        assert send(client, to=FAR)[0] == 250


def test_implicit_tls(site):
    raw = socket.create_connection(("127.0.0.1", site.implicit_port), timeout=PATIENCE)
    with site.context().wrap_socket(raw, server_hostname=NAME) as sock:
        client = smtplib.SMTP(local_hostname="client.test", timeout=PATIENCE)
        client.sock = sock
        assert client.getreply()[0] == 220
        client.ehlo()
        client.login("ann", PASSWORD)
        assert send(client)[0] == 250


def test_the_name_in_received(node, ground):
    site = Site(node, ground, "received_user = yes")
    with site.login() as client:
        assert send(client)[0] == 250
    assert b"\n\t(authenticated as ann)\n" in site.mx.maildir(BOB).wait()[0]


def test_the_client_is_not_in_received(node, ground):
    site = Site(node, ground, "received_client = no")
    with site.login() as client:
        assert send(client)[0] == 250
    trace = site.mx.maildir(BOB).wait()[0].split(b"From:", 1)[0]
    assert b"127.0.0.1" not in trace and b"client.test" not in trace
    assert trace.count(b"Received: (using TLSv1") == 1 and b" with ESMTPSA id " in trace
    event = site.mx.log.wait("message_accepted")
    assert (event["client"], event["helo"]) == ("127.0.0.1", "client.test")


def test_without_tls_by_the_setting(node, ground):
    site = Site(node, ground, "auth_without_tls = local")
    with site.client(tls=False) as client:
        assert "PLAIN" in client.esmtp_features["auth"].split()
        client.login("ann", PASSWORD)
        assert send(client)[0] == 250
        # the handshake comes later: nothing is left of who it was
        client.starttls(context=site.context())
        client.ehlo()
        assert send(client)[0] == 530


# --- a session follows its user ---


def change_password(site):
    run(site.mx, "directory", "passwd", "ann", stdin="another one\n")


def disable(site):
    site.put("user", "ann", "state=disabled")


def delete(site):
    run(site.mx, "directory", "del", "--table", "user", "ann")


@pytest.mark.parametrize("change", [change_password, disable, delete])
def test_a_session_ends_when_its_user_may_not_log_in(site, change):
    """An idle one at once; one amid a message, too; and one whose message is being decided after that."""
    with site.login() as idle, site.login() as amid, site.login(BOB) as other:
        assert send(idle)[0] == 250
        for command in (f"MAIL FROM:<{ANN}>", f"RCPT TO:<{BOB}>"):
            assert amid.docmd(command)[0] == 250
        assert amid.docmd("DATA")[0] == 354
        change(site)
        for client in (idle, amid):
            code, said = client.getreply()
            assert code == 421 and b"not valid any more" in said, said
        assert send(other, BOB, to=BOB)[0] == 250
        assert {event["user"] for event in site.mx.log.wait("login_ended", count=2)} == {"ann"}
    with site.client() as client:
        assert client.docmd("AUTH", "PLAIN " + b64(f"\0ann\0{PASSWORD}"))[0] == 535


def test_sessions_end_within_a_second(site):
    """Of the change, which is what the client of the directory waits for: the median of nine."""
    took = []
    for number in range(9):
        with site.login() as client:
            run(site.mx, "directory", "set", "--table", "user", "ann", "state=disabled")
            begun = time.monotonic()
            assert client.getreply()[0] == 421
            took.append(time.monotonic() - begun)
        run(site.mx, "directory", "set", "--table", "user", "ann", "state=")
        wait_until(lambda: site.mx.log.find("login_ended")[number:], f"end {number} is in the log")
    assert statistics.median(took) < 1.0, took


def test_what_does_not_concern_the_login_does_not_end_it(site):
    with site.login() as client:
        site.grant("ann", "shared@a.test")
        site.mx.kill_and_wait("auth")
        wait_until(lambda: send(client)[0] == 250, "auth is told again of the session")
        site.mx.kill_and_wait("directory")
        wait_until(lambda: send(client)[0] == 250, "the directory is back")
        assert not site.mx.log.find("login_ended")
        change_password(site)
        assert client.getreply()[0] == 421


def test_a_user_with_two_passwords_loses_one(node, ground):
    """The session that used the other goes on."""
    site = Site(node, ground)
    records = [json.loads(line) for line in
               run(site.mx, "directory", "export", "--table", "user").stdout.splitlines()]
    old = [record for record in records if record["key"] == "ann"][0]["password"]
    run(site.mx, "directory", "passwd", "ann", stdin="another one\n")
    records = [json.loads(line) for line in
               run(site.mx, "directory", "export", "--table", "user").stdout.splitlines()]
    new = [record for record in records if record["key"] == "ann"][0]["password"]
    site.put("user", "ann", *(f"password={one}" for one in old + new))
    with site.client() as first, site.client() as second:
        first.docmd("AUTH", "PLAIN " + b64(f"\0ann\0{PASSWORD}"))
        assert second.docmd("AUTH", "PLAIN " + b64("\0ann\0another one"))[0] == 235
        site.put("user", "ann", *(f"password={one}" for one in new))
        assert first.getreply()[0] == 421
        assert send(second)[0] == 250


# --- as whom ---


@pytest.mark.parametrize("user, sender, code", [
    ("ann", ANN, 250), ("ann", "Ann+tag@A.test", 250), ("ann", "alias@a.test", 250),
    ("ann", "team@a.test", 250), ("ann", BOB, 550), ("ann", "shared@a.test", 550),
    ("ann", FAR, 550), (BOB, BOB, 250), (BOB, "team@a.test", 250), (BOB, ANN, 550)])
def test_as_whom_a_user_may_send(site, user, sender, code):
    with site.login(user) as client:
        own = ANN if user == "ann" else BOB
        assert send(client, sender)[0] == code
        assert send(client, own, author=sender)[0] == code
        assert send(client, own, author=f"{own}, {sender}")[0] == code
        assert send(client, "", author=sender)[0] == code
        assert send(client, own)[0] == 250


def test_a_catch_all_is_its_users(site):
    """What has no record of its own is the mailbox of the user of the catch-all."""
    site.put("address", "@a.test", "kind=mailbox", "user=ann")
    with site.login() as client, site.login(BOB) as other:
        for sender, code in (("anything@a.test", 250), ("anything+x@a.test", 250), (BOB, 550),
                             ("shared@a.test", 550)):
            assert send(client, sender)[0] == code, sender
        assert send(other, "anything@a.test")[0] == 550


def test_grants(site):
    with site.login() as client:
        assert send(client, "shared@a.test")[1].startswith(b"5.7.1")
        site.grant("ann", "shared@a.test @b.test")
        wait_until(lambda: send(client, "shared@a.test")[0] == 250, "the grant is known")
        assert send(client, "shared+x@a.test")[0] == 250
        assert send(client, FAR)[0] == 250
        assert send(client, BOB)[0] == 550


def test_the_sender_field_counts_too(site):
    with site.login() as client:
        for header, code in ((f"From: {ANN}\r\nSender: {BOB}", 550),
                             (f"From: {ANN}\r\nSender: alias@a.test", 250),
                             (f"From: {ANN}\r\nFrom: {ANN}", 550), ("From: nobody at all", 550),
                             ("Subject: no author", 250)):
            assert client.docmd(f"MAIL FROM:<{ANN}>")[0] == 250
            assert client.docmd(f"RCPT TO:<{BOB}>")[0] == 250
            assert client.data(header + "\r\n\r\nbody\r\n")[0] == code, header
    assert any(b"\nFrom: ann@a.test\n" in stored and b"no author" in stored
               for stored in site.mx.maildir(BOB).wait(2))


@pytest.mark.parametrize("field, left", [
    ("ann@a.test <ann@a.test>", '"ann@a.test" <ann@a.test>'),
    ("Scanner [2nd floor] <ann@a.test>", '"Scanner [2nd floor]" <ann@a.test>'),
    ("Scanner: 2nd floor <ann@a.test>", '"Scanner: 2nd floor" <ann@a.test>'),
    ("Ann <ann@a.test>;", "Ann <ann@a.test>"),
    ("Last, First <ann@a.test>", '"Last, First" <ann@a.test>'),
    ("ann@a.test; alias@a.test", "ann@a.test, alias@a.test")])
def test_an_author_as_programs_write_it(site, field, left):
    with site.login() as client:
        assert client.docmd(f"MAIL FROM:<{ANN}>")[0] == 250
        assert client.docmd(f"RCPT TO:<{BOB}>")[0] == 250
        assert client.data(f"From: {field}\r\nSubject: x\r\n\r\nbody\r\n")[0] == 250
    (stored,) = site.mx.maildir(BOB).wait()
    assert f"\nFrom: {left}\n".encode() in stored, stored


@pytest.mark.parametrize("field, said, address", [
    (f"From: {BOB} <{ANN}>", f"5.7.1 Field From: You may not send as {BOB}", BOB),
    (f"From: {ANN} <{BOB}>", f"5.7.1 Field From: You may not send as {BOB}", BOB),
    (f"From: {ANN}\r\nSender: Bob ({BOB}) [x] <{ANN}>",
     f"5.7.1 Field Sender: You may not send as {BOB}", BOB),
    (f"From: {ANN}, {BOB}", f"5.7.1 Field From: You may not send as {BOB}", BOB),
    (f"From: {ANN}, Bob Lee", "5.6.0 The field From has something that is not an address: Bob Lee", "Bob Lee")])
def test_a_refusal_says_which_address_it_is(site, field, said, address):
    with site.login() as client:
        assert client.docmd(f"MAIL FROM:<{ANN}>")[0] == 250
        assert client.docmd(f"RCPT TO:<{BOB}>")[0] == 250
        assert client.data(f"{field}\r\n\r\nbody\r\n") == (550, said.encode())
        line = site.mx.log.wait("message_refused", **{"from": ANN})
        assert (line["user"], line["status"] + " " + line["text"]) == ("ann", said)
        assert (line["field"], line["address"]) == (field.splitlines()[-1].partition(":")[0], address)
        code, reply = client.docmd(f"MAIL FROM:<{BOB}>")
        assert (code, reply.decode()) == (550, f"5.7.1 You may not send as {BOB}")
        refused = site.mx.log.wait("command_refused", code="550")
        assert refused["user"] == "ann"
        # each line about a session has its mark, also those of "auth"; and where the client is
        for other in (refused, site.mx.log.find("auth_accepted")[-1]):
            assert (other["session"], other["client_port"]) == (line["session"], line["client_port"])
        assert int(line["client_port"]) == client.sock.getsockname()[1]


@pytest.mark.parametrize("rule, envelope, author", [("envelope", 550, 250), ("off", 250, 250)])
def test_looser_rules(node, ground, rule, envelope, author):
    site = Site(node, ground, f"sender_login = {rule}")
    with site.login() as client:
        assert send(client, BOB)[0] == envelope
        assert send(client, ANN, author=BOB)[0] == author


def test_mail_waits_while_nobody_knows(site):
    with site.login() as client:
        site.mx.kill("directory")
        codes = {send(client, "alias@a.test")[0] for _ in range(3)}
        assert codes <= {451, 250}
        wait_until(lambda: send(client, "alias@a.test")[0] == 250, "the directory is back")
        assert send(client, BOB)[0] == 550


# --- Dovecot ---

AUTH_SOCKET = """auth_mechanisms = plain login scram-sha-256
service auth {
  unix_listener auth-client {
    mode = 0666
  }
}
"""


def test_dovecot_knows_the_users(node, ground):
    dovecot = Dovecot([ANN], settings=AUTH_SOCKET)
    try:
        site = Site(node, ground,
                    more=f'auth {{ users = dovecot socket = "{dovecot.base}/run/auth-client" }}\n')
        for how in (lambda client: client.login(ANN, dovecot_password),
                    lambda client: scram(client, "SCRAM-SHA-256", ANN, dovecot_password)):
            with site.client() as client:
                assert how(client)[0] == 235
                assert send(client)[0] == 250
                assert send(client, BOB)[0] == 550
        with site.client() as client:
            assert scram(client, "SCRAM-SHA-256", ANN, PASSWORD)[0] == 535
        assert {event["user"] for event in site.mx.log.find("message_accepted")} == {ANN}
    finally:
        dovecot.close()


# --- what fails ---


def test_without_the_process_there_is_no_auth(site):
    with site.client() as client, site.client() as other:
        other.docmd("AUTH", "LOGIN")
        site.mx.kill("auth")
        assert other.docmd(b64("ann"))[0] == 454
        wait_until(lambda: client.docmd("AUTH", "PLAIN " + b64(f"\0ann\0{PASSWORD}"))[0] == 235,
                   "the process is back")
        assert send(client)[0] == 250
        assert other.docmd("AUTH", "LOGIN")[0] == 334
        assert other.docmd("*")[0] == 501  # QUIT would be a response


def test_mail_waits_while_nobody_can_authenticate(node, ground):
    """Programs go on where AUTH is not offered: their mail must not come back to its senders."""
    site = Site(node, ground, more='auth { users = dovecot socket = "%s/auth-client" }\n'
                % ground.directory("nobody"))
    with site.client() as client:
        assert not client.has_extn("auth")
        assert client.docmd("AUTH", "PLAIN " + b64(f"\0ann\0{PASSWORD}"))[0] == 454
        assert client.docmd(f"MAIL FROM:<{ANN}>") == (
            454, b"4.7.0 Authentication is required, and not possible now")


HOSTILE = (b"AUTH", b"AUTH ", b"AUTH PLAIN", b"AUTH LOGIN", b"AUTH PLAIN =", b"AUTH PLAIN *",
           b"AUTH X" * 10, b"*", b"=", b"", b"AUTH PLAIN " + b"A" * 12000, b"A" * 12280,
           b"A" * 200_000, b"AUTH SCRAM-SHA-256 biws", b"Yz1iaXdz", b"\0" * 100, b"\xff\xfe",
           b"AUTH XOAUTH2 dXNlcj0BYXV0aD1CZWFyZXIgAQE=", b"AUTH PLAIN AA==", b"QUIT IS BASE64!")


def test_hostile_clients(site):
    """Each line has an answer, or the session ends with one; and good clients go on."""
    for number, first in enumerate(HOSTILE):
        client = site.client()
        try:
            for line in (first, HOSTILE[(number * 7 + 3) % len(HOSTILE)], b"*", b"*"):
                client.sock.sendall(line + b"\r\n")
                code, _ = client.getreply()
                assert code == 334 or 421 <= code < 600, (first, code)
                if code == 421:
                    break
        finally:
            client.close()
    for lines in (b"AUTH LOGIN\r\n" * 2000, b"AUTH PLAIN AA==\r\n" * 100):
        client = site.client()
        client.sock.sendall(lines)
        client.sock.settimeout(PATIENCE)
        try:
            while client.sock.recv(65536):
                pass
        except ConnectionError:
            pass
        client.close()
    with site.login() as client:
        assert send(client)[0] == 250


def test_half_sessions_leave_nothing(site):
    for _ in range(30):
        client = site.client()
        client.docmd("AUTH", "LOGIN")
        client.sock.sendall(b64("ann").encode() + b"\r\n" + b"c2Vj")
        client.close()
    with site.login() as client:
        assert send(client)[0] == 250


# --- secrets ---


def test_secrets_stay_secret(site, ground):
    """In no log, transcript, queue file or directory: neither what is right nor what is wrong, in
    clear or as it was sent."""
    watch = Watch(ground, site.mx, "--peer", "127.0.0.1")
    with site.client(tls=False) as client:
        client.docmd("NOOP", "it is heard")
    watch.wait("it is heard")
    for password in (PASSWORD, WRONG):
        for how in MECHANISMS.values():
            with site.client() as client:
                how(client, password)
                client.docmd("AUTH", "PLAIN " + b64(f"\0ann\0{password}") + "=")
                client.docmd(b64(password))  # after a refusal
                send(client, to=FAR)
        with site.client(tls=False) as client:
            client.docmd("AUTH", "PLAIN " + b64(f"\0ann\0{password}"))
            client.docmd("auth", "login")
            client.docmd(b64(password))
            client.docmd("NOOP", "the last word")
    site.mx.log.wait("message_accepted")
    wait_until(lambda: sum("the last word" in line for line in watch.lines) == 2, "all is told")
    watch.end()
    told = "\n".join(watch.lines).encode()
    assert b"334 (not shown)" in told and told.count(b"(not shown)") > 50
    sought = {word for password in (PASSWORD, WRONG) for word in (
        password.encode(), b64(password).encode()[:12], b64(f"\0ann\0{password}").encode()[8:20])}
    seen = 0
    for path, text in [*site.files(), ("the transcript", told)]:
        seen += len(text)
        for word in sought:
            assert word not in text, f"{word} is in {path}"
    assert seen > 10_000
    assert site.mx.log.find("command_refused", command="(not shown)")


# --- programs that people use ---


def mail_of(site, subject):
    (stored,) = site.mx.maildir(BOB).wait()
    assert f"Subject: {subject}\n".encode() in stored and b" with ESMTPSA id " in stored
    assert site.mx.log.wait("message_accepted")["user"] == "ann"


def tool(site, *command, text="", environment=()):
    home = site.mx.directory
    ended = subprocess.run(
        [*as_user(), *command], input=text, capture_output=True, text=True, timeout=PATIENCE,
        check=False, cwd=home,
        env={"PATH": "/usr/bin:/bin", "HOME": home, "LC_ALL": "C.UTF-8", "USER": "ann",
             "TMPDIR": os.environ["TMPDIR"], **dict(environment)})
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def write(site, name, content):
    path = os.path.join(site.mx.directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    os.chmod(path, 0o600)
    subprocess.run(["chown", "nobody", path], check=False)
    return path


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
def test_swaks(site, mechanism):
    tool(site, "swaks", "--server", f"127.0.0.1:{site.port}", "--tls", "--auth", mechanism,
         "--auth-user", "ann", "--auth-password", PASSWORD, "--from", ANN, "--to", BOB,
         "--header", "Subject: swaks", "--ehlo", "client.test")
    mail_of(site, "swaks")


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_curl(site, mechanism, scheme):
    mail = write(site, "message", f"From: {ANN}\nTo: {BOB}\nSubject: curl\n\nbody\n")
    port = site.port if scheme == "smtp" else site.implicit_port
    tool(site, "curl", "--silent", "--show-error", "--ssl-reqd", "--cacert",
         site.certificates.authority, "--resolve", f"{NAME}:{port}:127.0.0.1",
         "--login-options", f"AUTH={mechanism}", "--user", f"ann:{PASSWORD}", "--url",
         f"{scheme}://{NAME}:{port}/client.test", "--mail-from", ANN, "--mail-rcpt", BOB,
         "--upload-file", mail)
    mail_of(site, "curl")


@pytest.mark.parametrize("mechanism", ["plain", "login", "scram-sha-1", "scram-sha-256"])
@pytest.mark.parametrize("is_implicit", [False, True])
def test_msmtp(site, mechanism, is_implicit):
    """It checks the certificate, and that a server that it logs in to by SCRAM knows the password."""
    port = site.implicit_port if is_implicit else site.port
    rc = write(site, "msmtprc", f'account default\nhost 127.0.0.1\nport {port}\nfrom {ANN}\n'
               f'domain client.test\nauth {mechanism}\nuser ann\npassword "{PASSWORD}"\ntls on\n'
               f'tls_starttls {"off" if is_implicit else "on"}\n'
               f'tls_trust_file {site.certificates.authority}\ntls_host_override {NAME}\n')
    tool(site, "msmtp", "--file", rc, "--read-recipients",
         text=f"From: {ANN}\nTo: {BOB}\nSubject: msmtp\n\nbody\n")
    mail_of(site, "msmtp")


def test_s_nail(site):
    tool(site, "s-nail", "-:/", "-S", "v15-compat", "-S",
         f"mta=smtp://ann:{PASSWORD.replace(' ', '%20').replace('&', '%26')}@127.0.0.1:{site.port}",
         "-S", "smtp-use-starttls", "-S", "tls-verify=ignore", "-S",
         "sendwait", "-S", "hostname=client.test", "-r", ANN, "-s", "s-nail", BOB, text="body\n")
    mail_of(site, "s-nail")


def test_mutt(site):
    rc = write(site, "muttrc", f'set smtp_url="smtp://ann@127.0.0.1:{site.port}/"\n'
                               f'set smtp_pass="{PASSWORD}"\nset ssl_force_tls=yes\n'
                               f'set certificate_file="{site.certificates.authority}"\n'
                               "set ssl_verify_host=no\nset ssl_verify_dates=no\n"
                               f'set ssl_ca_certificates_file="{site.certificates.authority}"\n'
                               f'set from="{ANN}"\nset copy=no\nset use_envelope_from=yes\n')
    tool(site, "mutt", "-n", "-F", rc, "-s", "mutt", "--", BOB, text="body\n")
    mail_of(site, "mutt")
