# SPDX-License-Identifier: ISC
"""Who clients are, where others know: Dovecot, LDAP servers, and issuers of tokens."""

import base64
import contextlib
import json
import os
import shutil
import signal

import pytest
import slapd
from auth_client import (ACCEPTED, CHALLENGE, FAILED, MALFORMED, REFUSED, TEMPORARY, UNKNOWN, Client,
                         elsewhere)
from dovecot import PASSWORD as DOVECOT_PASSWORD
from dovecot import Dovecot
from lying_dns import Answer, LyingServer, a
from directory_tls import make_certificates
from slapd import BASE, START, Slapd, person
from stagepost import PATIENCE, give_to_user, is_root, wait_until
from test_auth import PASSWORD, add_user
from test_check_running import findings
from test_directory_ldap import SETTINGS
from tokens import AUDIENCE, ISSUER, Issuer, claims, token, url64

# --- Dovecot ---

DOVECOT = """
auth_mechanisms = plain login scram-sha-1 scram-sha-256 xoauth2
auth_failure_delay = 0
service auth {
  unix_listener %s {
    mode = 0666
  }
}
"""


def start_dovecot(path):
    return Dovecot(["ann@example.org", "bob"], settings=DOVECOT % path)


@pytest.fixture(name="socket_path")
def fixture_socket_path(ground):
    return os.path.join(ground.directory("d"), "auth")


@pytest.fixture(name="dovecot")
def fixture_dovecot(socket_path):
    server = start_dovecot(socket_path)
    yield server
    server.close()


def test_dovecot_knows_the_users(node, dovecot, socket_path):
    mx = node("mx", settings=f'auth {{ users = dovecot socket = "{socket_path}" }}\n')
    with Client(mx) as client:
        client.wait_for_offer("SCRAM-SHA-256")
        assert set(client.offer) == {"SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN", "LOGIN", "XOAUTH2"}
        assert client.plain("Ann@Example.org", DOVECOT_PASSWORD).user == "ann@example.org"
        assert client.login("bob", DOVECOT_PASSWORD).user == "bob"
        # its own SCRAM, with the challenges passed through
        assert client.scram("bob", DOVECOT_PASSWORD).user == "bob"
        assert client.scram("bob", DOVECOT_PASSWORD, "SCRAM-SHA-1").user == "bob"
        assert client.scram("bob", "wrong").refusal == FAILED
        answer = client.plain("bob", "wrong", address="2001:db8::1")
        assert (answer.outcome, answer.refusal) == (REFUSED, FAILED)
        event = mx.log.wait("auth_failed", client="2001:db8::1")
        assert (event["user"], event["reason"]) == ("bob", "Dovecot says no")
        assert client.ask("SCRAM-SHA-256-PLUS", b"p=tls-exporter,,n=bob,r=x")[1].refusal == UNKNOWN
        # the right password of somebody who may not log in
        with open(os.path.join(dovecot.base, "users"), "a", encoding="ascii") as file:
            file.write(f"eve:{{PLAIN}}{DOVECOT_PASSWORD}:nobody:nogroup::{dovecot.base}::nologin=y\n")
        assert client.plain("eve", DOVECOT_PASSWORD).refusal == FAILED
        # many at once, one of them cancelled
        tags = [client.begin("PLAIN", f"\0bob\0{DOVECOT_PASSWORD}".encode(),
                             address=f"198.51.100.{n}") for n in range(100)]
        client.send(4, tags.pop())
        assert {client.answer(tag).outcome for tag in tags} == {ACCEPTED}


def test_without_dovecot_nobody_has_failed(node, dovecot, socket_path):
    mx = node("mx", settings=f'auth {{ users = dovecot socket = "{socket_path}" }}\n')
    with Client(mx) as client:
        client.wait_for_offer("PLAIN")
        tag, answer = client.ask("LOGIN")
        assert answer.outcome == CHALLENGE
        own = children(dovecot.process.pid)
        dovecot.process.terminate()
        for pid in own:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        dovecot.process.wait(PATIENCE)
        mx.log.wait("auth_service_lost")
        answer = client.respond(tag, b"bob")
        assert (answer.outcome, answer.refusal) == (REFUSED, TEMPORARY)
        answer = client.plain("bob", DOVECOT_PASSWORD)  # still offered: mail programs take its absence for good
        assert (answer.outcome, answer.refusal) == (REFUSED, TEMPORARY)
        assert not mx.log.find("auth_failed")
        again = start_dovecot(socket_path)
        try:
            wait_until(lambda: client.plain("bob", DOVECOT_PASSWORD).outcome == ACCEPTED, "Dovecot is found again")
        finally:
            again.close()


def test_nobody_notices_that_dovecot_ends_a_connection(node, dovecot, socket_path):
    """As its master does to each process for authentication, a minute after a reload: who logs in just then waits for
    the next connection, or is asked for again."""
    mx = node("mx", settings=f'auth {{ users = dovecot socket = "{socket_path}" }}\n')
    with Client(mx) as client:
        client.wait_for_offer("PLAIN")
        def begin(count):
            return [client.begin("PLAIN", f"\0bob\0{DOVECOT_PASSWORD}".encode(), address=f"198.51.100.{n}")
                    for n in range(count)]
        for _ in range(5):
            tags = begin(50)
            mark = mx.log.mark()
            for pid in children(dovecot.process.pid):
                with open(f"/proc/{pid}/comm", encoding="ascii") as file, contextlib.suppress(ProcessLookupError):
                    if file.read() == "auth\n":
                        os.kill(pid, signal.SIGTERM)
            tags += begin(50)
            assert [client.answer(tag).outcome for tag in tags] == [ACCEPTED] * 100
            mx.log.wait("auth_service_lost", since=mark)
            tags = begin(20)
            assert [client.answer(tag).outcome for tag in tags] == [ACCEPTED] * 20
        assert not mx.log.find("auth_unavailable") and not mx.log.find("auth_failed")
        # one that has begun is another's
        tag, answer = client.ask("LOGIN")
        assert answer.outcome == CHALLENGE
        dovecot.stop()
        mx.log.wait("auth_service_lost", since=mx.log.mark() - 1)
        assert client.respond(tag, b"bob").refusal == TEMPORARY
        tags = begin(10)
        dovecot.start()
        assert [client.answer(tag).outcome for tag in tags] == [ACCEPTED] * 10


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


# --- LDAP ---


@pytest.fixture(name="ldap")
def fixture_ldap(ground):
    path = ground.directory("slapd")
    people = START + person("ann", more=f"userPassword: {PASSWORD}\n") + person(
        "a*b", more=f"userPassword: {PASSWORD}\n") + person("none")
    one = Slapd(os.path.join(path, "one")).load(people).start()
    yield one
    one.stop()
    shutil.rmtree(path, ignore_errors=True)


def is_stopped(pid):
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii") as stat:
            if stat.read().rpartition(")")[2].split()[0] != "T":
                return False
    return True


def test_ldap_servers_are_asked_to_bind(node, ldap):
    mx = node("mx", start=False, domains=())
    password = os.path.join(mx.directory, "password")
    with open(password, "w", encoding="ascii") as file:
        file.write(slapd.PASSWORD + "\n")
    give_to_user(password)
    mx.settings = SETTINGS.format(
        path=mx.directory, base=BASE, reader=slapd.READER, password=password, ttl="1h",
        urls=f'"{ldap.url.replace("127.0.0.1", "localhost")}"') + 'auth { users = ldap }\ndefault_domain = "a.test"\n'
    mx.write_configuration()
    mx.start()
    mx.log.wait("ldap_followed")
    with Client(mx) as client:
        assert set(client.offer) == {"PLAIN", "LOGIN"}
        wait_until(lambda: client.plain("ann", PASSWORD).outcome == ACCEPTED, "ann is known")
        for user, wrong in (("ann", "wrong"), ("none", PASSWORD), ("nobody", PASSWORD), ("*", PASSWORD),
                            ("ann)(uid=*", PASSWORD)):
            answer = client.plain(user, wrong, address=elsewhere())
            assert (answer.outcome, answer.refusal) == (REFUSED, FAILED), user
        # an empty password would be an anonymous bind, which succeeds
        assert client.plain("ann", "").refusal == MALFORMED
        assert client.plain("a*b", PASSWORD).user == "a*b"
        failed = len(mx.log.find("auth_failed"))
        ldap.freeze()
        wait_until(lambda: is_stopped(ldap.process.pid), "every thread of slapd has stopped")
        try:
            answer = client.plain("ann", PASSWORD)
            assert (answer.outcome, answer.refusal) == (REFUSED, TEMPORARY)
        finally:
            ldap.thaw()
        assert len(mx.log.find("auth_failed")) == failed
        assert client.plain("ann", PASSWORD).outcome == ACCEPTED
    pid, = mx.pids("auth")
    assert os.readlink(f"/proc/{pid}/exe").endswith("/auth-ldap")
    if is_root():
        assert findings(mx) == []


# --- tokens ---

ALGORITHMS = {"rsa-a.test": "RS256", "b.test": "ES256", "ed25519-c.test": "EdDSA"}


@pytest.fixture(name="keys", scope="module")
def fixture_keys(ground):
    return make_certificates(ground.directory("keys"), *ALGORITHMS, "issuer.test")


@pytest.fixture(name="issuer")
def fixture_issuer(keys):
    with LyingServer({("issuer.test", 1): Answer(a("127.0.0.1"))}) as names:
        with Issuer(f"{keys}/issuer.test.pem", f"{keys}/issuer.test.key") as server:
            server.names = names
            yield server


def start_with_tokens(node, words, more=""):
    mx = node("mx", start=False, domains=())
    mx.settings = (f'directory {{ path = "{mx.directory}/data/directory.db" }}\n{more}'
                   f'auth {{ {words} }}\n')
    mx.write_configuration()
    mx.start()
    add_user(mx, "ann@example.org", PASSWORD, "yescrypt")
    return mx


def test_signed_tokens(node, keys, tmp_path):
    files = ", ".join(f'"{keys}/{name}.pem"' for name in ALGORITHMS)
    mx = start_with_tokens(node, f'token_keys = {{ {files} }} token_issuer = "{ISSUER}" '
                                 f'token_audience = "{AUDIENCE}" failure_limit = 0')
    with Client(mx) as client:
        assert {"OAUTHBEARER", "XOAUTH2"} < set(client.offer)
        for name, algorithm in ALGORITHMS.items():
            good = token(f"{keys}/{name}.key", algorithm, claims(), tmp_path)
            assert client.bearer(good).user == "ann@example.org"
            assert client.bearer(good, user="Ann@example.org").user == "ann@example.org"
            assert client.bearer(good, user="bob@example.org",
                                 address=elsewhere()).refusal == FAILED
            answer = client.ask("XOAUTH2", f"user=ann@example.org\1auth=Bearer {good}\1\1".encode())[1]
            assert answer.user == "ann@example.org"
        key, good = f"{keys}/b.test.key", claims()
        tokens = {
            "the token has expired": token(key, "ES256", claims(exp=good["iat"] - 61), tmp_path),
            "no key has signed the token": token(f"{keys}/issuer.test.key", "ES256", good, tmp_path),
            "the token is for another audience": token(key, "ES256", claims(aud="web"), tmp_path),
            "no such user": token(key, "ES256", claims(email="eve@example.org"), tmp_path),
            "not a signed token":
                url64(b'{"alg":"none"}') + "." + url64(json.dumps(good).encode()) + ".",
            "the token's header or algorithm is not allowed":
                url64(b'{"alg":"HS256"}') + "." + url64(json.dumps(good).encode()) + ".AAAA",
        }
        for reason, wrong in tokens.items():
            mark = mx.log.mark()
            assert client.bearer(wrong, address=elsewhere()).refusal == FAILED, reason
            assert mx.log.wait("auth_failed", since=mark)["reason"] == reason
            assert len(mx.log.find("auth_failed", since=mark)) == 1, "it counts twice"
        # the answer says why, and the client ends the exchange (RFC 7628 section 3.2.3), or leaves
        mark = mx.log.mark()
        answer = client.ask("OAUTHBEARER", b"n,,\1auth=Bearer x.y.z\1\1")[1]
        assert json.loads(answer.message) == {"status": "invalid_token"}
        assert mx.log.wait("auth_failed", since=mark)["client"] == "192.0.2.1"


def test_introspected_tokens(node, keys, issuer):
    secret = os.path.join(keys, "secret")
    with open(secret, "w", encoding="ascii") as file:
        file.write("s3cr:et\n")
    give_to_user(secret)
    mx = start_with_tokens(
        node, f'introspection_url = "https://issuer.test:{issuer.port}/introspect?x=1" '
              f'introspection_user = "stage post" introspection_secret_file = "{secret}" '
              'token_claim = "username" failure_limit = 0',
        f'dns_server = "{issuer.names.dns_server}"\ntls_authorities = "{keys}/authority.pem"\n')
    issuer.tokens.update({"good+/=": {"active": True, "username": "ann@example.org"},
                          "other": {"active": True, "username": "eve@example.org"},
                          "nobody": {"active": True}, "text": "no JSON"})
    with Client(mx) as client:
        assert "OAUTHBEARER" in client.offer
        assert client.bearer("good+/=").user == "ann@example.org"
        path, authorization, form = issuer.asked[0]
        assert path == "/introspect?x=1" and form["token"] == ["good+/="]
        assert base64.b64decode(authorization.split()[1]) == b"stage%20post:s3cr%3Aet"
        assert client.bearer("good+/=").user == "ann@example.org"
        assert len(issuer.asked) == 1, "the answer was not kept"
        for wrong in ("unknown", "other", "nobody", "text"):
            assert client.bearer(wrong, address=elsewhere()).refusal == FAILED, wrong
        issuer.status = 500
        answer = client.bearer("another")
        assert (answer.outcome, answer.refusal) == (REFUSED, TEMPORARY)
        with open(mx.log.path, encoding="ascii") as log:
            text = log.read()
        assert "s3cr" not in text and "good+" not in text
