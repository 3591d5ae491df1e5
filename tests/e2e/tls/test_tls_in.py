# SPDX-License-Identifier: ISC
"""TLS of those who hand in mail: when it is offered, demanded, or comes first; with which
certificate; and that private keys are in one process only."""

import os
import re
import shutil
import smtplib
import socket
import ssl
import subprocess
import time

import pytest
from extent import extent
from memory import has_in_memory, secret_of
from smtp import Client
from stagepost import PATIENCE, free_port, give_to_user, wait_until
from tls_in import (HOST, Certificates, ImplicitClient, context_for, implicit, raw, session_with,
                    start_tls)

MESSAGE = b"Subject: by TLS\r\n\r\nHello\r\n"
OTHER = "mail.other.test"


@pytest.fixture(scope="module")
def certificates(ground):
    return Certificates(ground.directory("certificates"), HOST, f"rsa-{HOST}", f"ed25519-{HOST}",
                        OTHER, f"soon-{HOST}", f"month-{HOST}", f"expired-{HOST}", "client.test",
                        "foreign-client.test")


@pytest.fixture
def server(node, certificates):
    """server(...) is a node with the tests' first certificate, or with those that SETTINGS
    name."""
    def make(settings=None, **options):
        return node("tls", settings=settings or certificates.section(HOST), **options)
    return make


def deliver(client, recipient="anna@a.test"):
    answer = client.deliver("sender@x.test", recipient, MESSAGE)
    assert answer.startswith("250 2.0.0"), answer


# --- when ---

@pytest.mark.parametrize("version", ("TLSv1_2", "TLSv1_3"))
def test_starttls(server, certificates, version):
    mx = server()
    context = context_for(certificates, version=getattr(ssl.TLSVersion, version))
    with session_with(mx, context) as client:
        assert not client.has_extn("starttls")
        deliver(client)
    stored = mx.maildir("anna@a.test").wait()[0]
    assert re.search(rb"Received: from client\.test [^\n]*\n(?:\s[^\n]*\n)*?\s+[^\n]*with ESMTPS",
                     stored), stored
    version = version.replace("_", ".")
    cipher = re.search(rf"\(using {version} with cipher ([\w-]+)\)".encode(), stored)
    assert mx.log.wait("message_accepted", tls=version, cipher=cipher[1].decode())


def test_mail_passes_without_it(server):
    mx = server()
    with Client(mx) as client:
        assert client.has_extn("starttls")
        deliver(client)
    assert b"with ESMTP id" in mx.maildir("anna@a.test").wait()[0]


def test_required(server, certificates):
    mx = server(listen="tls = required")
    with Client(mx) as client:
        assert client.docmd("MAIL FROM:<>") == (530, b"5.7.0 TLS is required, send STARTTLS first")
        start_tls(client, context_for(certificates))
        client.ehlo()
        deliver(client)


def test_implicit(server, certificates):
    text, port = implicit(certificates)
    mx = server(certificates.section(HOST) + text)
    with ImplicitClient(mx, context_for(certificates), port) as client:
        assert not client.has_extn("starttls")
        deliver(client)
    assert b"with ESMTPS id" in mx.maildir("anna@a.test").wait()[0]


def test_not_offered_where_it_is_off(server):
    mx = server(listen="tls = none")
    with Client(mx) as client:
        assert not client.has_extn("starttls")
        assert client.docmd("STARTTLS")[0] == 500


def test_proxy_before_tls(server, certificates):
    text, port = implicit(certificates, proxy="yes")
    mx = server(certificates.section(HOST) + 'proxy_from = { "127.0.0.1/32" }\n' + text)
    before = b"PROXY TCP4 192.0.2.77 192.0.2.1 4711 465\r\n"
    with ImplicitClient(mx, context_for(certificates), port, before=before) as client:
        assert client.deliver("sender@x.test", "anna@a.test", MESSAGE).startswith("250")
    assert b"192.0.2.77" in mx.maildir("anna@a.test").wait()[0]


def piecewise(certificates, protocols=()):
    """(a client's TLS, what it has got, what it says): the test moves the bytes."""
    context = context_for(certificates)
    if protocols:
        context.set_alpn_protocols(protocols)
    got, said = ssl.MemoryBIO(), ssl.MemoryBIO()
    return context.wrap_bio(got, said, server_hostname=HOST), got, said


def take(made, got):
    data = made.recv(65536)
    assert data, "the server has closed the connection"
    got.write(data)


def finish(made, tls, got, said):
    """Both sides' handshakes."""
    while True:
        try:
            tls.do_handshake()
            made.sendall(said.read())
            return
        except ssl.SSLWantReadError:
            made.sendall(said.read())
            take(made, got)


def read_line(made, tls, got):
    while True:
        try:
            return tls.read(65536)
        except ssl.SSLWantReadError:
            take(made, got)


def test_a_long_hello_comes_with_the_header(server, certificates):
    """In one packet, as a proxy sends on what it has: all of it counts."""
    text, port = implicit(certificates, proxy="yes")
    mx = server(certificates.section(HOST) + 'proxy_from = { "127.0.0.1/32" }\n' + text)
    tls, got, said = piecewise(certificates, [f"{number:0250d}" for number in range(5)])
    with raw(mx, port) as made:
        with pytest.raises(ssl.SSLWantReadError):
            tls.do_handshake()
        hello = said.read()
        assert len(hello) > 1250
        made.sendall(b"PROXY TCP4 192.0.2.77 192.0.2.1 4711 465\r\n" + hello)
        take(made, got)
        finish(made, tls, got, said)
        assert read_line(made, tls, got).startswith(b"220 ")


def test_who_sends_a_part_of_a_record_delays_nobody(server, certificates):
    text, port = implicit(certificates)
    mx = server(certificates.section(HOST) + "smtpd_workers = 1\n" + text)
    tls, got, said = piecewise(certificates)
    with raw(mx, port) as made:
        finish(made, tls, got, said)
        assert read_line(made, tls, got).startswith(b"220 ")
        tls.write(b"NOOP\r\n")
        record = said.read()
        made.sendall(record[:3])
        time.sleep(0.2)
        with Client(mx) as client:
            deliver(client)
        made.sendall(record[3:])
        assert read_line(made, tls, got).startswith(b"250 ")


# --- what was said before ---

def test_nothing_said_before_counts(server, certificates):
    mx = server()
    with Client(mx) as client:
        assert client.docmd("MAIL FROM:<before@x.test>")[0] == 250
        assert client.docmd("RSET")[0] == 250
        start_tls(client, context_for(certificates))
        assert client.docmd("MAIL FROM:<a@x.test>")[0] == 503  # no greeting
        client.ehlo("inside.test")
        assert client.docmd("RCPT TO:<anna@a.test>")[0] == 503
        deliver(client)
    assert b"from inside.test" in mx.maildir("anna@a.test").wait()[0]


def test_commands_behind_starttls_end_the_session(server):
    mx = server()
    with raw(mx) as client:
        assert client.recv(1000).startswith(b"220")
        client.sendall(b"EHLO x.test\r\n")
        client.recv(2000)
        client.sendall(b"STARTTLS\r\nRSET\r\nMAIL FROM:<injected@x.test>\r\n")
        said = b""
        while more := client.recv(1000):
            said += more
    assert said == b"554 5.5.0 Nothing may follow STARTTLS but TLS\r\n"


@pytest.mark.parametrize("garbage", (b"", b"EHLO x.test\r\n", b"\x16\x03\x01\xff\xff", bytes(600)),
                         ids=("nothing", "command", "long_record", "zeroes"))
def test_what_is_no_handshake_ends_the_session(server, garbage):
    mx = server()
    with raw(mx) as client:
        client.recv(1000)
        client.sendall(b"EHLO x.test\r\n")
        client.recv(2000)
        client.sendall(b"STARTTLS\r\n")
        assert client.recv(1000).startswith(b"220")
        client.sendall(garbage)
        client.shutdown(socket.SHUT_WR)
        while more := client.recv(1000):
            assert not re.match(rb"\d\d\d ", more)  # an alert at most
    mx.log.wait("tls_failed", client="127.0.0.1")
    with Client(mx) as client:
        deliver(client)


def test_a_handshake_has_its_own_time(server, certificates):
    """Who is slow costs others nothing."""
    mx = server(certificates.section(HOST) + "tls_timeout = 2\n")
    with raw(mx) as slow:
        slow.recv(1000)
        slow.sendall(b"EHLO x.test\r\n")
        slow.recv(2000)
        slow.sendall(b"STARTTLS\r\n")
        slow.recv(1000)
        slow.sendall(b"\x16\x03\x01\x02")
        with session_with(mx, context_for(certificates)) as client:
            deliver(client)
        assert slow.recv(1000) == b""
    mx.log.wait("tls_failed", text="the handshake took too long")


# --- which certificate ---

def kind_of(mx, name, sigalgs):
    """The kind of key that openssl's client was shown, and the names in the certificate."""
    shown = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{mx.port}", "-starttls", "smtp", "-sigalgs",
         sigalgs, *(["-servername", name] if name else ["-noservername"])],
        input=b"QUIT\r\n", capture_output=True, timeout=PATIENCE, check=False).stdout
    text = subprocess.run(["openssl", "x509", "-noout", "-text"], input=shown, check=True,
                          capture_output=True, timeout=PATIENCE).stdout.decode()
    return (re.search(r"Public Key Algorithm: (\S+)", text).group(1),
            re.search(r"DNS:(\S+)", text).group(1))


def test_the_certificate_follows_name_and_abilities(server, certificates):
    mx = server(certificates.section(HOST) + certificates.section(f"rsa-{HOST}", "old") +
                certificates.section(OTHER, "other"))
    ec, rsa = "ECDSA+SHA256:RSA-PSS+SHA256", "RSA-PSS+SHA256:RSA+SHA256"
    assert kind_of(mx, HOST, ec) == ("id-ecPublicKey", HOST)
    assert kind_of(mx, HOST, rsa) == ("rsaEncryption", HOST)
    assert kind_of(mx, OTHER, ec) == ("id-ecPublicKey", OTHER)
    assert kind_of(mx, OTHER.upper(), ec) == ("id-ecPublicKey", OTHER)
    assert kind_of(mx, "unknown.test", ec) == ("id-ecPublicKey", HOST)
    assert kind_of(mx, None, rsa) == ("rsaEncryption", HOST)


def test_ed25519(server, certificates):
    mx = server(certificates.section(f"ed25519-{HOST}"))
    with session_with(mx, context_for(certificates)) as client:
        deliver(client)


def serial(sock):
    return ssl.DER_cert_to_PEM_cert(sock.getpeercert(True))


def test_changed_files_are_taken_up(server, certificates):
    """Without a signal; sessions go on. When only one of the two is there, nothing changes."""
    certificates.replace("now", HOST)
    mx = server(certificates.section("now"))
    context = context_for(certificates)
    with session_with(mx, context) as old:
        before = serial(old.sock)
        mark = mx.log.mark()
        os.replace(certificates.path("now.key"), certificates.path("kept.key"))
        mx.log.wait("certificate_error", since=mark, certificate="main", timeout=20)
        with session_with(mx, context) as client:
            assert serial(client.sock) == before
        certificates.replace("now", f"rsa-{HOST}")
        mx.log.wait("certificate_loaded", since=mark, certificate="main", timeout=20)
        with session_with(mx, context) as client:
            assert serial(client.sock) != before
        deliver(old)


def test_a_link_may_lead_elsewhere(server, certificates, ground):
    """To a directory of which nobody knew at the start, as when another program takes over renewals:
    the log says where, and what is there is taken up soon. At first nobody may read it: else "keys",
    which gets another sandbox, may have it before it tries in the old one."""
    link = os.path.join(ground.directory("links"), "chain.pem")
    key = link.replace("chain", "key")
    for path, end in ((link, "pem"), (key, "key")):
        os.symlink(certificates.path(f"{HOST}.{end}"), path)
    mx = server(f'certificate main {{ chain = "{link}" key = "{key}" }}\n')
    context = context_for(certificates)
    with session_with(mx, context) as client:
        before = serial(client.sock)
    other = ground.directory("elsewhere")
    fresh = {path: f"{other}/{end}" for path, end in ((key, "key"), (link, "pem"))}
    for path, place in fresh.items():
        shutil.copy(certificates.path(f"rsa-{HOST}.{os.path.basename(place)}"), place)
        give_to_user(place)
        os.chmod(place, 0)
        os.symlink(place, path + ".new")
        os.rename(path + ".new", path)

    def is_taken():
        try:
            with session_with(mx, context) as client:
                return serial(client.sock) != before
        except (ssl.SSLError, AssertionError):
            return False  # "keys" was just started again, and so not there, or has no certificate

    found = mx.log.wait("certificate_error")
    assert found["text"].startswith("Permission denied (it leads to " + other), found
    for place in fresh.values():
        os.chmod(place, 0o600)
    wait_until(is_taken, "the certificate elsewhere")


def test_handshakes_under_way_keep_their_certificate(server, certificates, ground):
    """Whoever has said STARTTLS before it was replaced gets the one of that time."""
    own = ground.directory("own")
    paths = [shutil.copy(certificates.path(f"{HOST}.{end}"), f"{own}/mx.{end}")
             for end in ("pem", "key")]
    for path in paths:
        give_to_user(path)
    mx = server(f'certificate main {{ chain = "{paths[0]}" key = "{paths[1]}" }}\n')
    context = context_for(certificates)
    with session_with(mx, context) as client:
        before = serial(client.sock)
    with raw(mx) as waits:
        waits.recv(1000)
        waits.sendall(b"EHLO x.test\r\n")
        waits.recv(2000)
        waits.sendall(b"STARTTLS\r\n")
        waits.recv(1000)
        mark = mx.log.mark()
        for path in reversed(paths):
            end = path.rsplit(".", 1)[1]
            give_to_user(shutil.copy(certificates.path(f"rsa-{HOST}.{end}"), path + ".new"))
            os.rename(path + ".new", path)
        mx.log.wait("certificate_loaded", since=mark)
        with session_with(mx, context) as client:
            assert serial(client.sock) != before
        waits.settimeout(PATIENCE)
        with context.wrap_socket(waits, server_hostname=HOST) as old:
            assert serial(old) == before


def test_who_is_told_that_it_ends(server, certificates):
    mx = server(certificates.section(f"month-{HOST}") +
                certificates.section(f"soon-{HOST}", "soon") +
                certificates.section(f"expired-{HOST}", "past") +
                certificates.section(HOST, "later"))
    assert mx.log.wait("certificate_ends", certificate="soon")
    assert mx.log.wait("certificate_ended", certificate="past")
    assert mx.log.wait("certificate_ends", certificate="main")
    mx.log.wait("certificate_loaded", certificate="later")
    assert not mx.log.find("certificate_ends", certificate="later")


def test_without_a_certificate_that_can_be_used(node, certificates):
    """Who is to have TLS is served once it is possible; the others are meanwhile."""
    text, port = implicit(certificates)
    plain = free_port()
    mx = node("tls", start=False)
    key = os.path.join(mx.directory, "key.pem")
    shutil.copy(certificates.path(f"{OTHER}.key"), key)
    give_to_user(key)
    mx.settings = (f'certificate main {{ chain = "{certificates.path(HOST)}.pem" key = "{key}" }}\n' + text +
                   f'listen smtp {{ address = {{ "127.0.0.1:{plain}" }} tls = none }}\n')
    mx.write_configuration()
    mx.start(until="certificate_error")
    error = mx.log.wait("certificate_error", certificate="main")
    assert error["text"] == "the private key does not match the certificate"
    mx.log.wait("certificate_error", text="listen submission has no certificate that can be used")
    with raw(mx) as client:
        assert client.recv(100).startswith(b"421 ")
    with raw(mx, port) as client:
        assert client.recv(100) == b""
    assert mx.log.wait("tls_failed")["text"] == "no certificate can be used now"
    with smtplib.SMTP(mx.address, plain, local_hostname="client.test") as client:
        assert not client.sendmail("sender@x.test", "anna@a.test", MESSAGE)
    assert not mx.log.find("serve_ready")
    shutil.copy(certificates.path(f"{HOST}.key"), key)
    mx.log.wait("serve_ready")
    with session_with(mx, context_for(certificates)) as client:
        deliver(client)


# --- whose certificate gives leave ---

@pytest.mark.parametrize("listen", ("names", "fingerprints"))
def test_a_client_relays_by_its_certificate(server, certificates, listen):
    rights = {"names": f'client_authority = "{certificates.authority}" '
                       'client_names = { "client.test" }',
              "fingerprints": 'client_fingerprints = { "%s" }'
                              % certificates.fingerprint("client.test")}[listen]
    mx = server(listen=f"client_certificates = yes {rights}", relay_from=())
    with session_with(mx, context_for(certificates)) as stranger:
        assert "relay" in stranger.deliver("a@a.test", "b@elsewhere.test", MESSAGE).lower()
    for client, may in (("foreign-client.test", False), (OTHER, False), ("client.test", True)):
        with session_with(mx, context_for(certificates, client=client)) as session:
            assert session.docmd("MAIL FROM:<a@a.test>")[0] == 250
            code = session.docmd("RCPT TO:<b@elsewhere.test>")[0]
            assert (code == 250) == may, (client, code)


@pytest.mark.parametrize("names_it", ("before", "after"))
def test_a_proxys_certificate_is_not_its_clients(server, certificates, names_it):
    mx = server(certificates.section(HOST) + 'xclient_from = { "127.0.0.1/32" }\n',
                listen=f'client_certificates = yes client_authority = "{certificates.authority}" '
                       'client_names = { "client.test" }', relay_from=())
    with Client(mx) as proxy:
        for moment in ("before", "TLS", "after"):
            if moment == "TLS":
                start_tls(proxy, context_for(certificates, client="client.test"))
            elif moment == names_it:
                assert proxy.docmd("XCLIENT", "ADDR=198.51.100.7")[0] == 220
            proxy.ehlo()
        assert proxy.docmd("MAIL FROM:<a@a.test>")[0] == 250
        assert proxy.docmd("RCPT TO:<b@elsewhere.test>")[0] == 550


def test_a_damaged_authority_changes_nothing(server, certificates):
    path = certificates.path("changing-authority.pem")

    def write(text):
        with open(f"{path}.new", "w", encoding="ascii") as target:
            target.write(text)
        os.chmod(f"{path}.new", 0o644)
        os.rename(f"{path}.new", path)

    def may_relay():
        with session_with(mx, context_for(certificates, client="client.test")) as session:
            assert session.docmd("MAIL FROM:<a@a.test>")[0] == 250
            return session.docmd("RCPT TO:<b@elsewhere.test>")[0] == 250

    with open(certificates.authority, encoding="ascii") as source:
        good = source.read()
    write(good)
    mx = server(listen=f'client_certificates = yes client_authority = "{path}" '
                       'client_names = { "client.test" }', relay_from=())
    assert may_relay()
    write("nothing\n")
    assert "no certificate" in mx.log.wait("certificate_error", file=path, timeout=20)["text"]
    assert may_relay()
    ended = subprocess.run([f"{mx.programs}/stagepost", "check", "-c", mx.conf], check=False,
                           capture_output=True, text=True, timeout=PATIENCE)
    assert f"{path}: authorities: it holds no certificate" in ended.stdout + ended.stderr


# --- sessions are resumed ---

@pytest.mark.parametrize("version", ("TLSv1_2", "TLSv1_3"))
def test_sessions_are_resumed_by_any_worker(server, certificates, version):
    """And after "keys" was started again, which forgets the keys of tickets, anew."""
    mx = server(certificates.section(HOST) + "smtpd_workers = 3\n")
    context = context_for(certificates, version=getattr(ssl.TLSVersion, version))
    with session_with(mx, context) as client:
        deliver(client)
        session = client.sock.session
    resumed = []
    for _ in range(20):
        with session_with(mx, context, session=session) as client:
            client.noop()
            resumed.append(client.sock.session_reused)
            if version == "TLSv1_3":
                session = client.sock.session
    assert all(resumed)
    mark = mx.log.mark()
    mx.kill_and_wait("keys")
    mx.log.wait("certificate_loaded", since=mark)

    def is_new():
        with session_with(mx, context, session=session) as client:
            deliver(client)
            return not client.sock.session_reused

    wait_until(is_new, "tickets of before mean nothing")


# --- where the keys are ---

@pytest.mark.parametrize("kind", ("", "rsa-"))
def test_the_key_is_in_no_other_process(server, certificates, kind):
    """After many handshakes, as well by those that failed. That "keys" is seen to have it
    shows that the search finds it."""
    name = f"{kind}{HOST}"
    mx = server(certificates.section(name))
    context = context_for(certificates)
    context.options |= ssl.OP_NO_TICKET
    strict = ssl.create_default_context()  # trusts others
    for number in range(extent(1000, 200)):
        with Client(mx, timeout=PATIENCE) as client:
            if number % 10:
                start_tls(client, context)
                client.noop()
                continue
            with pytest.raises(ssl.SSLError):
                start_tls(client, strict)
            client.close()
    needles = secret_of(certificates.path(f"{name}.key"))
    assert has_in_memory(mx.pids("keys")[0], needles)
    for program in ("smtpd", "queue", "send", "remote"):
        for pid in mx.pids(program):
            assert not has_in_memory(pid, needles), program


def test_signatures_wait_for_the_process(server, certificates):
    """When "keys" stands still nobody else does; a handshake goes on when it does."""
    mx = server()
    keys = mx.pids("keys")[0]
    os.kill(keys, 19)
    try:
        with raw(mx) as waits:
            waits.recv(1000)
            waits.sendall(b"EHLO x.test\r\n")
            waits.recv(2000)
            waits.sendall(b"STARTTLS\r\n")
            waits.recv(1000)
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            shake = context_for(certificates).wrap_bio(incoming, outgoing, server_hostname=HOST)
            with pytest.raises(ssl.SSLWantReadError):
                shake.do_handshake()
            waits.sendall(outgoing.read())
            with Client(mx) as client:
                deliver(client)
            time.sleep(0.2)
            os.kill(keys, 18)
            while True:
                incoming.write(waits.recv(10000))
                try:
                    shake.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    continue
            assert shake.version() == "TLSv1.3"
    finally:
        os.kill(keys, 18)


def test_keys_is_lost_during_handshakes(server, certificates):
    """They fail at once, and the next ones do not."""
    mx = server()
    context = context_for(certificates)
    for _ in range(5):
        mark = mx.log.mark()
        mx.kill("keys")
        mx.log.wait("process_started", since=mark, program="keys")

        def passes():
            try:
                with session_with(mx, context) as client:
                    deliver(client)
                    return True
            except (ssl.SSLError, OSError, smtplib.SMTPException):
                return False

        wait_until(passes, "the keys are there again")
