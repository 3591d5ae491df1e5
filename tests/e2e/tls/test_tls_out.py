# SPDX-License-Identifier: ISC
"""TLS with next hops: every policy with right and wrong servers, what is sent in plain text, and
what "stagepost tls" says of it."""

import contextlib
import json
import os
import re
import shutil
import signal
import ssl
import subprocess

import pytest
from dns import NameServer
from exim import Exim
from peers import Postfix
from signed_dns import SignedNameServer, Zone
from smtp import deliver
from stagepost import PATIENCE, as_user, give_to_user, wait_until
from tls_hop import Certificates, Hop

TEXT = b"Subject: secret\r\n\r\nNobody else reads this.\r\n"
HOSTS = ("mx.right.test", "common-mx.right.test", "expired-mx.right.test", "foreign-mx.right.test", "wrong.test",
         "many-right.test", "loopback-other.test")
ZONES = {f"{name}.test": "mx A 127.0.0.1\n" for name in ("right", "plain")}


@pytest.fixture(scope="module")
def certificates(ground):
    return Certificates(ground.directory("certificates"), *HOSTS)


@pytest.fixture
def place(node, certificates):
    """place(section, certificate, behaviour, ...) makes a node that relays mail for right.test to
    mx.right.test by the section "tls" with this content, and the hop: (node, hop)."""
    with contextlib.ExitStack() as stack:
        # for level "dane": a root that proves that nothing is signed
        names = stack.enter_context(SignedNameServer(
            {name: Zone(text, signed=False) for name, text in ZONES.items()}))

        def make(section, certificate="mx.right.test", behaviour="good", *, settings="",
                 start=True):
            context = certificates.context(certificate) if certificate else None
            hop = stack.enter_context(Hop(context, behaviour))
            section = section and f'tls "right.test" {{ {section} }}\n'
            made = node(
                start=start, routes=[f"right.test:mx.right.test;{hop.port}"],
                settings=names.settings() + "tls_timeout = 1s\n"
                f'tls_authorities = "{certificates.authority}"\n{section}{settings}')
            return made, hop

        yield make


def run_tls(mx, *words):
    """stagepost tls."""
    return subprocess.run(
        [*as_user(), os.path.join(mx.programs, "stagepost"), "tls", "-c", mx.conf, *words],
        capture_output=True, text=True, check=False, timeout=PATIENCE)


def try_tls(mx, destination="right.test"):
    """(exit status, what it says of the one host)"""
    ended = run_tls(mx, "--json", destination)
    assert ended.stderr == ""
    (line,) = ended.stdout.splitlines()
    return ended.returncode, json.loads(line)


def fill(section, certificates):
    """SECTION with the files and fingerprints that it names."""
    known = {"FOREIGN": certificates.path("foreign"), "ZERO": "00" * 32,
             "FINGERPRINT": certificates.fingerprint("mx.right.test"),
             "EXPIRED": certificates.fingerprint("expired-mx.right.test"),
             "KEY": certificates.key_fingerprint("mx.right.test")}
    for name, value in known.items():
        section = section.replace(name, value)
    return section


RIGHT = [
    # section, certificate, how it is verified
    ("level = may", "mx.right.test", "no"),
    ("level = may", "expired-mx.right.test", "no"),
    ("level = may", "foreign-mx.right.test", "no"),
    ("level = encrypt", "wrong.test", "no"),
    ("level = encrypt", "foreign-mx.right.test", "no"),
    ("level = dane", "foreign-mx.right.test", "no"),
    ("level = verify", "mx.right.test", "authority"),
    ('level = verify match = { "wrong.test" }', "wrong.test", "authority"),
    ('level = verify match = { ".right.test" }', "mx.right.test", "authority"),
    ('level = verify match = { "nexthop", "hostname" }', "mx.right.test", "authority"),
    ('level = verify authority = "FOREIGN"', "foreign-mx.right.test", "authority"),
    ("level = secure", "mx.right.test", "authority"),
    ('level = secure match = { "a.right.test" }', "many-right.test", "authority"),
    ('level = fingerprint fingerprints = { "FINGERPRINT" }', "mx.right.test", "fingerprint"),
    ('level = fingerprint fingerprints = { "ZERO", "KEY" }', "mx.right.test", "fingerprint"),
    ('level = fingerprint fingerprints = { "EXPIRED" }', "expired-mx.right.test", "fingerprint"),
]


@pytest.mark.parametrize("section, certificate, verified", RIGHT)
def test_right_servers_get_mail_by_tls(place, certificates, section, certificate, verified):
    mx, hop = place(fill(section, certificates), certificate)
    deliver(mx, "bob@right.test", TEXT)
    event = mx.log.wait("delivered", to="bob@right.test")
    assert event["tls"] == "TLSv1.3" and event["cipher"].startswith("TLS_")
    assert event["verified"] == verified
    assert event["policy"] == section.split()[2].replace("dane", "may")
    assert [secured for _, _, secured in hop.messages] == [True]
    assert not hop.mail_in_plain_text()
    assert hop.names == ["mx.right.test"]
    status, said = try_tls(mx)
    assert (status, said["result"], said["verified"]) == (0, "secured", verified)
    assert said["origin"] == 'tls "right.test"' and said["source"] == "setting"


WRONG = [
    # section, certificate, behaviour, status, why
    ("level = verify", "wrong.test", "good", "4.7.5", "hostname mismatch"),
    ("level = verify", "expired-mx.right.test", "good", "4.7.5", "certificate has expired"),
    ("level = verify", "common-mx.right.test", "good", "4.7.5", "hostname mismatch"),
    ("level = verify", "foreign-mx.right.test", "good", "4.7.5",
     "unable to get local issuer certificate"),
    ('level = verify match = { "nexthop" }', "wrong.test", "good", "4.7.5", "hostname mismatch"),
    ("level = secure", "wrong.test", "good", "4.7.5", "hostname mismatch"),
    ('level = secure match = { "right.test" }', "mx.right.test", "good", "4.7.5",
     "hostname mismatch"),
    ("level = secure", "foreign-mx.right.test", "good", "4.7.5",
     "unable to get local issuer certificate"),
    ('level = fingerprint fingerprints = { "FINGERPRINT" }', "foreign-mx.right.test", "good",
     "4.7.5", "DANE"),
    ('level = verify authority = "/nonexistent"', "mx.right.test", "good", "4.3.5",
     "/nonexistent: No such file"),
    ("level = dane-only", "mx.right.test", "good", "4.7.5", "are not signed"),
    ("level = encrypt", None, "none", "4.7.4", "does not offer STARTTLS"),
    ("level = encrypt", "mx.right.test", "ehlo", "4.7.4", "knows no EHLO"),
    ("level = encrypt", "mx.right.test", "refuse", "4.7.4", "TLS not available"),
    ("level = encrypt", "mx.right.test", "stall", "4.4.2", "took too long: the handshake of TLS"),
    ("level = encrypt", "mx.right.test", "garbage", "4.7.5", "wrong version number"),
    ("level = encrypt", "mx.right.test", "close", "4.7.5",
     "closed the connection|Broken pipe|reset by peer"),
    ("level = encrypt", "mx.right.test", "inject", "4.5.0", "plain text after the reply"),
    ("level = verify", "mx.right.test", "inject", "4.5.0", "plain text after the reply"),
    ("level = may", "mx.right.test", "inject", "4.5.0", "plain text after the reply"),
    ("level = secure", None, "none", "4.7.4", "does not offer STARTTLS"),
    ('level = fingerprint fingerprints = { "FINGERPRINT" }', None, "none", "4.7.4",
     "does not offer STARTTLS"),
]


@pytest.mark.parametrize("section, certificate, behaviour, status, why",
                         WRONG)
def test_wrong_servers_get_nothing(place, certificates, section, certificate, behaviour, status,
                                   why):
    """The mail waits, says why, and no line of it was sent in plain text."""
    mx, hop = place(fill(section, certificates), certificate, behaviour)
    deliver(mx, "bob@right.test", TEXT)
    event = mx.log.wait("deferred", to="bob@right.test")
    assert event["status"] == status and re.search(why, event["text"]), event
    assert not hop.messages and not hop.mail_in_plain_text()
    exit_status, said = try_tls(mx)
    assert (exit_status, said["result"]) == (1, "waits")
    assert re.search(why, said["reason"])
    assert "verified" not in said
    assert not hop.messages and not hop.mail_in_plain_text()
    assert not mx.log.find("tls_plain")


@pytest.mark.parametrize("behaviour, is_remembered", [
    ("none", False), ("ehlo", False), ("refuse", False),
    ("busy", True), ("stall", True), ("garbage", True), ("close", True)])
def test_may_be_plain_text(place, behaviour, is_remembered):
    """In the same attempt. A server whose handshake fails is not asked for TLS again."""
    mx, hop = place("level = may", behaviour=behaviour)
    deliver(mx, "bob@right.test", TEXT)
    event = mx.log.wait("delivered", to="bob@right.test")
    assert "tls" not in event and not mx.log.find("deferred")
    assert [secured for _, _, secured in hop.messages] == [False]
    assert len(mx.log.find("tls_plain")) == is_remembered
    assert len(mx.log.find("tls_withdrawn")) == (behaviour == "refuse")
    assert hop.connections == 1 + is_remembered
    status, said = try_tls(mx)
    assert (status, said["result"]) == (3, "plain")
    hop.plain.clear()
    deliver(mx, "eve@right.test", TEXT)
    mx.log.wait("delivered", to="eve@right.test")
    assert len(hop.messages) == 2
    assert not is_remembered or b"STARTTLS\r\n" not in hop.plain


BREAKS = ("break at MAIL", "break at DATA")


def send_and_wait(mx, local):
    """The event of what became of a message."""
    deliver(mx, f"{local}@right.test", TEXT)
    wait_until(lambda: mx.log.find("delivered", to=f"{local}@right.test") or mx.log.find("deferred", to=f"{local}@right.test"),
               "it was tried")
    return (mx.log.find("delivered", to=f"{local}@right.test") + mx.log.find("deferred", to=f"{local}@right.test"))[0]


@pytest.mark.parametrize("behaviour", BREAKS)
def test_tls_that_breaks_after_its_handshake(place, behaviour):
    """Twice in a row, before the message was sent: then it is left out for a while."""
    mx, hop = place("level = may", behaviour=behaviour)
    for local in "ann", "bob":
        assert send_and_wait(mx, local)["status"] == "4.4.2"
    assert not hop.messages and not hop.mail_in_plain_text()
    assert "break" not in mx.log.wait("tls_breaks")["text"]
    for local in "cat", "dan":
        hop.plain.clear()
        event = send_and_wait(mx, local)
        assert event["event"] == "delivered" and "tls" not in event and b"STARTTLS\r\n" not in hop.plain
    assert len(mx.log.find("tls_breaks")) == 1


@pytest.mark.parametrize("behaviour", BREAKS)
def test_tls_that_breaks_where_it_is_demanded(place, behaviour):
    mx, hop = place("level = encrypt", behaviour=behaviour)
    for local in "ann", "bob", "cat", "dan":
        assert send_and_wait(mx, local)["status"] == "4.4.2"
    assert not hop.messages and not hop.mail_in_plain_text() and not mx.log.find("tls_breaks")


def test_breaks_between_which_mail_goes_are_none_in_a_row(place):
    mx, hop = place("level = may")
    for number in range(3):
        hop.behaviour = "break at DATA"
        assert send_and_wait(mx, f"ann{number}")["event"] == "deferred"
        hop.behaviour = "good"
        assert send_and_wait(mx, f"bob{number}")["tls"]
    assert not mx.log.find("tls_breaks") and not hop.mail_in_plain_text()


@pytest.mark.parametrize("behaviour", ["cut", "break in the data"])
def test_tls_that_breaks_when_the_message_was_sent(place, behaviour):
    """The server may have it: that is no reason to send it again in plain text."""
    mx, hop = place("level = may", behaviour=behaviour)
    for local in "ann", "bob", "cat":
        assert send_and_wait(mx, local)["status"] == "4.4.2"
    assert len(hop.broken) == (3 if behaviour == "cut" else 0) and not hop.mail_in_plain_text() and not mx.log.find("tls_breaks")


def test_tls_that_is_not_offered_any_more(place):
    """By a server whose TLS has worked: mail goes in plain text, where that will do, and it is logged."""
    mx, hop = place("level = may")
    for number, behaviour in enumerate(("good", "none", "good")):
        hop.behaviour = behaviour
        deliver(mx, f"bob{number}@right.test", TEXT)
        assert ("tls" in mx.log.wait("delivered", to=f"bob{number}@right.test")) == (behaviour == "good")
        mx.reload()  # closes idle connections
    (event,) = mx.log.find("tls_withdrawn")
    assert event["host"].startswith("mx.right.test[") and "not offered any more" in event["text"]


def test_a_policy_of_none_asks_for_no_tls(place):
    mx, hop = place("level = none")
    deliver(mx, "bob@right.test", TEXT)
    assert "tls" not in mx.log.wait("delivered", to="bob@right.test")
    assert b"STARTTLS\r\n" not in hop.plain
    status, said = try_tls(mx)
    assert (status, said["result"], said["reason"]) == (3, "plain", "the policy is none")


@pytest.mark.parametrize("settings, verified, status", [
    ("", "no", "delivered"), ("remote_tls = encrypt\n", "no", "delivered"),
    ("remote_tls = verify\n", "authority", "delivered")])
def test_without_a_section_the_default_holds(place, settings, verified, status):
    mx, hop = place("", settings=settings)
    deliver(mx, "bob@right.test", TEXT)
    assert mx.log.wait(status, to="bob@right.test")["verified"] == verified
    assert hop.messages[0][2]
    assert try_tls(mx)[1]["origin"] == "remote_tls"


def test_an_end_without_close_notify_is_no_reply(place):
    """The message was sent, and the connection cut: nobody knows, so it waits."""
    mx, hop = place("level = encrypt", behaviour="cut")
    deliver(mx, "bob@right.test", TEXT)
    event = mx.log.wait("deferred", to="bob@right.test")
    assert event["status"] == "4.4.2" and "the reply to the message" in event["text"]
    assert hop.broken and not hop.messages
    assert event["tls"] == "TLSv1.3"
    assert not mx.log.find("delivered")


def test_sessions_are_resumed(place):
    """By a new connection to the same server."""
    mx, hop = place("level = verify")
    for number in range(3):
        deliver(mx, f"bob{number}@right.test", TEXT)
        event = mx.log.wait("delivered", to=f"bob{number}@right.test")
        assert event["verified"] == "authority"
        mx.reload()  # closes idle connections
    assert hop.connections == 3 and hop.resumed == 2


def test_connections_are_shared_only_by_equal_policies(place):
    """Mail for two domains by the same relay, of which one has a policy of its own."""
    mx, hop = place("level = verify", settings='tls "plain.test" { level = none }\n')
    # the section "right.test" covers right.test; the relay has none of its own
    mx.routes.append(f"plain.test:mx.right.test;{hop.port}")
    mx.write_configuration()
    mx.reload()
    for turn in (1, 2):
        for domain in ("right.test", "plain.test"):
            deliver(mx, f"bob@{domain}", TEXT)
            mx.log.wait("delivered", to=f"bob@{domain}", count=turn)
    wait_until(lambda: len(hop.messages) == 4, "four messages")
    assert [secured for _, _, secured in hop.messages] == [True, False, True, False]
    assert hop.connections == 2


@pytest.mark.parametrize("behaviour", ["good", "stall", "none"])
def test_another_host_may_do(place, certificates, behaviour):
    """One address is that of an impostor, or its TLS does not work; the other one takes the mail."""
    mx, bad = place("level = verify", "foreign-mx.right.test", behaviour, start=False)
    with (Hop(certificates.context("mx.right.test"), address="127.0.0.2", port=bad.port) as good,
          NameServer({"right.test": "mx A 127.0.0.1\nmx A 127.0.0.2\n"}) as names):
        mx.settings = re.sub("dns_server = .*", f"dns_server = {names.dns_server}",
                             mx.settings.replace("dane = yes", "dane = no"))
        mx.write_configuration()
        mx.start()
        for number in range(20):  # which address comes first is up to the resolver
            deliver(mx, f"bob{number}@right.test", TEXT)
            mx.log.wait("delivered", to=f"bob{number}@right.test")
            mx.reload()
            if number >= 2 and bad.connections > 0:
                break
        assert bad.connections > 0
        assert len(good.messages) == number + 1
        assert all(secured for _, _, secured in good.messages)
        assert not bad.messages and not bad.mail_in_plain_text()
        assert not bad.messages and not bad.mail_in_plain_text()
        assert not mx.log.find("deferred")
        ended = run_tls(mx, "--json", "right.test")
        assert ended.returncode == 1
        results = {line["address"].partition(":")[0]: line["result"]
                   for line in map(json.loads, ended.stdout.splitlines())}
        assert results == {"127.0.0.1": "waits", "127.0.0.2": "secured"}


def test_authorities_that_a_reload_names(place, certificates):
    """Their file is read by a new process."""
    mx, hop = place("level = encrypt")
    mx.settings = mx.settings.replace("level = encrypt", "level = verify")
    mx.write_configuration()
    mark = mx.log.mark()
    mx.reload()
    mx.log.wait("process_renewed", since=mark)
    deliver(mx, "bob@right.test", TEXT)
    assert mx.log.wait("delivered", to="bob@right.test")["verified"] == "authority"
    assert len(hop.messages) == 1


# --- other mail systems ---

PEERS = ("mx.right.test", "expired-mx.right.test", "foreign-mx.right.test", "wrong.test")


@contextlib.contextmanager
def peer_system(ground, kind, certificates, name):
    certificate = certificates.path(name).removesuffix(".pem")
    with kind(ground.directory("peer"), domain="right.test", hostname="mx.right.test",
              certificate=certificate) as peer:
        yield peer


@pytest.mark.parametrize("kind", [Postfix, Exim])
@pytest.mark.parametrize("name, good", [("mx.right.test", True), ("expired-mx.right.test", False),
                                        ("wrong.test", False)])
def test_other_mail_systems(ground, node, certificates, kind, name, good):
    """Are asked for TLS 1.3, and say in Received that they had it."""
    with peer_system(ground, kind, certificates, name) as peer, NameServer(ZONES) as names:
        mx = node(routes=[f"right.test:mx.right.test;{peer.port}"], settings=(
            f"dns_server = {names.dns_server}\ndane = no\n"
            f'tls_authorities = "{certificates.authority}"\n'
            'tls "right.test" { level = verify }\n'))
        deliver(mx, "bob@right.test", TEXT)
        event = mx.log.wait("delivered" if good else "deferred", to="bob@right.test")
        if good:
            assert (event["tls"], event["verified"]) == ("TLSv1.3", "authority")
            (stored,) = peer.maildir("bob@right.test").wait()
            assert b"TLS1.3" in stored or b"TLSv1.3" in stored
        else:
            assert event["status"] == "4.7.5"
            assert not peer.maildir("bob@right.test").files()


def finger(certificates, level, port, *words):
    """What posttls-finger says of mx.right.test."""
    directory = certificates.directory
    with open(os.path.join(directory, "main.cf"), "w", encoding="ascii") as conf:
        conf.write("compatibility_level = 3.6\n")
    ended = subprocess.run(
        ["posttls-finger", "-c", "-t", "5", "-o", "smtp_host_lookup=native", "-F", certificates.authority, "-l", level, "-L", "summary,certmatch,verbose",
         f"[127.0.0.1]:{port}", *words],
        env=os.environ | {"MAIL_CONFIG": directory}, capture_output=True, text=True, check=False,
        timeout=PATIENCE)
    return ended.stdout + ended.stderr


@pytest.mark.parametrize("level, section, words", [
    ("encrypt", "level = encrypt", ()),
    ("verify", "level = verify", ("mx.right.test",)),
    ("secure", "level = secure", (".right.test", "right.test")),
    ("fingerprint", 'level = fingerprint fingerprints = { "FINGERPRINT" }', ("FINGERPRINT",)),
])
@pytest.mark.parametrize("name", PEERS)
def test_posttls_finger_agrees(ground, place, certificates, level, section, words, name):
    """Of each certificate, whether it is verified by each policy."""
    mx, hop = place(fill(section, certificates), name, start=False)
    said = finger(certificates, level, hop.port,
                  *(fill(word, certificates) for word in words))
    theirs = re.search(r"(Verified|Trusted|Untrusted|Anonymous) TLS connection established", said)
    assert theirs, said
    status, ours = try_tls(mx)
    is_demanded = level != "encrypt"
    assert (ours["result"] == "secured") == (theirs[1] == "Verified" or not is_demanded), said
    assert status == (0 if ours["result"] == "secured" else 1)
    if ours["result"] == "secured":
        assert (ours["verified"] != "no") == (theirs[1] == "Verified"), said


# --- our own certificate ---

def certificate_of(certificates, name):
    return (f'certificate us {{ chain = "{certificates.path(name)}" '
            f'key = "{certificates.path(name, "key")}" }}\n')


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("presented", ["mx.right.test", "foreign-mx.right.test", None])
def test_a_server_that_demands_a_certificate(node, certificates, version, presented):
    """Gets it from the first attempt on, signed by "keys"; a wrong one, or none, is rejected."""
    context = certificates.context("mx.right.test", asks_clients=True)
    context.minimum_version = context.maximum_version = version
    with Hop(context) as hop, NameServer(ZONES) as names:
        own = 'certificate = "us"' if presented else ""
        mx = node(routes=[f"right.test:mx.right.test;{hop.port}"], settings=(
            f"dns_server = {names.dns_server}\ndane = no\n"
            f'tls_authorities = "{certificates.authority}"\n'
            f'tls "right.test" {{ level = verify {own} }}\n'
            + certificate_of(certificates, presented or "mx.right.test")))
        deliver(mx, "bob@right.test", TEXT)
        if presented == "mx.right.test":
            mx.log.wait("delivered", to="bob@right.test")
            assert hop.presented == ["mx.right.test"]
        else:
            event = mx.log.wait("deferred", to="bob@right.test")
            assert event["status"] in ("4.7.5", "4.4.2")
            assert not hop.messages and not hop.mail_in_plain_text()
        if presented:
            # whoever asks without the mail system cannot sign
            assert try_tls(mx)[0] == 1


def retry_until_delivered(mx, count):
    def is_delivered():
        subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), "queue", "retry",
                        "--all", "--yes", "-c", mx.conf], check=True, capture_output=True,
                       timeout=PATIENCE)
        return len(mx.log.find("delivered")) == count

    wait_until(is_delivered, "all are delivered")


def test_without_keys_mail_waits(node, certificates):
    """And is delivered when there is a signature again."""
    with (Hop(certificates.context("mx.right.test", asks_clients=True)) as hop,
          NameServer(ZONES) as names):
        mx = node(routes=[f"right.test:mx.right.test;{hop.port}"], settings=(
            f"dns_server = {names.dns_server}\ndane = no\ntls_timeout = 1s\n"
            f'tls_authorities = "{certificates.authority}"\n'
            'tls "right.test" { level = encrypt certificate = "other" }\n'
            'certificate other { chain = "/nonexistent" }\n'
            + certificate_of(certificates, "mx.right.test")))
        deliver(mx, "bob@right.test", TEXT)
        event = mx.log.wait("deferred", to="bob@right.test")
        assert event["status"] == "4.7.5" and "our certificate cannot be used now" in event["text"]
        mx.settings = mx.settings.replace('"other" }', '"us" }')
        mx.write_configuration()
        mx.reload()
        mx.log.wait("certificate_loaded", certificate="us")
        keys = mx.pids("keys")[0]
        os.kill(keys, signal.SIGSTOP)
        try:
            deliver(mx, "eve@right.test", TEXT)
            assert mx.log.wait("deferred", to="eve@right.test")["status"][0] == "4"
            assert hop.connections > 0 and not hop.messages
        finally:
            os.kill(keys, signal.SIGCONT)

        retry_until_delivered(mx, 2)
        assert [secured for _, _, secured in hop.messages] == [True, True]
        assert set(hop.presented) == {"mx.right.test"}
        assert not hop.mail_in_plain_text()


def test_without_our_certificate_it_is_still_tls(node, certificates):
    """Where plain text would do, one that cannot be used is left out; one that cannot be signed
    with now makes mail wait. It is never a reason for plain text."""
    with (Hop(certificates.context("mx.right.test", asks_clients=True)) as strict,
          Hop(certificates.context("mx.right.test")) as hop,
          NameServer(ZONES | {"strict.test": "mx A 127.0.0.1\n"}) as names):
        mx = node(routes=[f"right.test:mx.right.test;{hop.port}",
                          f"strict.test:mx.strict.test;{strict.port}"], settings=(
            f"dns_server = {names.dns_server}\ndane = no\ntls_timeout = 1s\n"
            'tls "right.test" { level = may certificate = "other" }\n'
            'tls "strict.test" { level = may certificate = "us" }\n'
            'certificate other { chain = "/nonexistent" }\n'
            + certificate_of(certificates, "mx.right.test")))
        deliver(mx, "bob@right.test", TEXT)
        assert mx.log.wait("delivered", to="bob@right.test")["tls"] == "TLSv1.3"
        assert hop.presented == [None]
        (keys,) = mx.pids("keys")
        os.kill(keys, signal.SIGSTOP)
        try:
            deliver(mx, "bob@strict.test", TEXT)
            mx.log.wait("deferred", to="bob@strict.test")
        finally:
            os.kill(keys, signal.SIGCONT)
        assert not strict.messages and not strict.mail_in_plain_text()
        assert not mx.log.find("tls_plain")


def test_changed_authorities_are_taken_up(node, certificates, ground):
    """Without a signal, and soon: mail that waits for the right one goes."""
    authority = os.path.join(ground.directory("authorities"), "all.pem")
    give_to_user(shutil.copy(certificates.path("foreign"), authority))
    with (Hop(certificates.context("mx.right.test")) as hop, NameServer(ZONES) as names):
        mx = node(routes=[f"right.test:mx.right.test;{hop.port}"], settings=(
            f"dns_server = {names.dns_server}\ndane = no\n"
            f'tls "right.test" {{ level = verify authority = "{authority}" }}\n'))
        deliver(mx, "bob@right.test", TEXT)
        assert mx.log.wait("deferred", to="bob@right.test")["status"] == "4.7.5"
        mark = mx.log.mark()
        # what else happens in that directory is nothing to it
        give_to_user(shutil.copy(certificates.authority, authority + ".new"))
        os.rename(authority + ".new", authority)
        mx.log.wait("process_started", since=mark, program="remote")
        assert len(mx.log.find("tls_authority_changed", since=mark)) == 1
        retry_until_delivered(mx, 1)
        assert [secured for _, _, secured in hop.messages] == [True]


# --- LMTP ---

@pytest.mark.parametrize("tls, name, good", [
    ("verify", "loopback-other.test", True), ("verify", "mx.right.test", False),
    ("encrypt", "foreign-mx.right.test", True), ("may", None, True), ("encrypt", None, False)])
def test_lmtp_services(node, certificates, tls, name, good):
    """On TCP, by the address of the server."""
    with Hop(certificates.context(name) if name else None) as hop:
        mx = node(domains=['domain "box.test" { service = box }'], settings=(
            f'tls_authorities = "{certificates.authority}"\n'
            f'service box {{ kind = lmtp address = "127.0.0.1:{hop.port}" tls = {tls} }}\n'))
        deliver(mx, "bob@box.test", TEXT)
        event = mx.log.wait("delivered" if good else "deferred", to="bob@box.test")
        if good:
            assert hop.messages[0][2] == bool(name)
            assert event.get("verified") == ("authority" if tls == "verify" else
                                             "no" if name else None)
        else:
            assert event["status"] in ("4.7.4", "4.7.5")
            assert not hop.messages and not hop.mail_in_plain_text()
