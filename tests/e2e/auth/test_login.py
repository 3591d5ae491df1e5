# SPDX-License-Identifier: ISC
"""Logins to relays: with the mechanisms of other mail systems, never where a password could be seen,
and what an operator learns of one that is refused."""

import base64
import contextlib
import glob
import os
import subprocess

import dovecot as dovecot_module
import pytest
from dns import NameServer
from dovecot import Dovecot
from exim import Exim
from passwords import RELAY as PASSWORD
from peers import Postfix
from smtp import deliver
from stagepost import PATIENCE, as_user, give_to_user
from test_transcript import Watch
from tls_hop import Certificates, Hop, Session

TEXT = b"Subject: by the relay\r\n\r\nHello.\r\n"
ZONES = {"relay.test": "@ A 127.0.0.1\nother A 127.0.0.1\n"}

DOVECOT = """
auth_mechanisms = {mechanisms}
service auth {{
  unix_listener sasl {{
    mode = 0666
  }}
}}
"""
EXIM = """
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${if and{{eq{$auth2}{ann}}{eq{$auth3}{%s}}}}
  server_set_id = $auth2
login:
  driver = plaintext
  public_name = LOGIN
  server_prompts = <| Username: | Password:
  server_condition = ${if and{{eq{$auth1}{ann}}{eq{$auth2}{%s}}}}
  server_set_id = $auth1
"""


@pytest.fixture
def run(ground):
    """run(node, word, ...) runs a command: how it ended."""
    def run(mx, *words):
        return subprocess.run([*as_user(), os.path.join(ground.programs, "stagepost"), *words],
                              env={**os.environ, "STAGEPOST_CONF": mx.conf}, text=True,
                              capture_output=True, check=False, timeout=PATIENCE)

    return run


@pytest.fixture(scope="module")
def certificates(ground):
    return Certificates(ground.directory("certificates"), "relay.test")


@pytest.fixture(scope="module")
def names():
    with NameServer(ZONES) as server:
        yield server


class LoginSession(Session):
    """Of a relay that wants a login by PLAIN."""

    user = None

    def more_offers(self):
        return ["AUTH PLAIN"] if self.hop.offers_login else []

    def take_other(self, line):
        verb = line[:4].upper()
        if verb == b"AUTH":
            self.log_in(line.decode().strip())
        elif verb == b"MAIL" and self.user is None:
            self.say("530 5.7.0 log in first")
        else:
            self.hop.senders.append((self.user, self.number))
            self.say("250 2.0.0 ok")

    def log_in(self, line):
        _, user, password = base64.b64decode(line.split()[2]).decode().split("\0")
        self.hop.logins.append((user, self.is_secured))
        if self.hop.answer:
            self.say(self.hop.answer.format(line=line, password=password))
        elif self.hop.passwords.get(user) == password:
            self.user = user
            self.say("235 2.7.0 ok")
        else:
            self.say("535 5.7.8 bad credentials")


class LoginHop(Hop):
    session_class = LoginSession

    def __init__(self, context, behaviour="good", passwords=None, *, offers_login=True, answer=None):
        self.passwords = passwords or {"ann": PASSWORD}
        self.offers_login = offers_login
        self.answer = answer  # in place of 235 or 535
        self.logins = []  # (user, whether by TLS)
        self.senders = []  # (user, connection) of each command without another meaning
        super().__init__(context, behaviour)


@pytest.fixture
def place(node, ground, certificates, names):
    """place(port, ...) makes a node that logs in as ann to relay.test at that port: (node, path of
    the passwords). LINES are its content."""

    def make(port, *, more="", routes=None, lines=None, mode=0o600):
        directory = ground.directory("passwords")
        path = os.path.join(directory, "passwords")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# of our relays\n\n" + "".join(
                f"{line}\n" for line in lines or [f"relay.test;{port}|ann|{PASSWORD}"]))
        os.chmod(path, mode)
        give_to_user(directory)
        give_to_user(path)
        return node(
            routes=routes or [f"far.test:relay.test;{port}|ann"],
            settings=f'dns_server = "{names.dns_server}"\n' + f'relay_passwords = "{path}"\ntls_timeout = 5s\n'
            f'probe_delay = 1s\ntls_authorities = "{certificates.authority}"\n{more}'), path

    return make


def assert_hidden(mx, *more):
    """No file of the node has the password, in clear or as it was sent."""
    forms = [PASSWORD.encode(), base64.b64encode(f"\0ann\0{PASSWORD}".encode())]
    for path in glob.glob(os.path.join(mx.directory, "**"), recursive=True):
        if os.path.isfile(path) and not path.endswith((".conf", "passwords")):
            with open(path, "rb") as file:
                content = file.read()
            assert not any(form in content for form in forms), path
    for text in more:
        assert not any(form in text.encode() for form in forms)


MECHANISMS = ["plain", "login", "scram-sha-1", "scram-sha-256", "plain login scram-sha-1 scram-sha-256"]


@pytest.mark.parametrize("mechanisms", MECHANISMS)
def test_postfix_with_dovecot(place, ground, certificates, mechanisms):
    with contextlib.ExitStack() as stack:
        dovecot = Dovecot(["ann"], settings=DOVECOT.format(mechanisms=mechanisms))
        stack.callback(dovecot.close)
        relay = stack.enter_context(Postfix(
            ground.directory("postfix"), domain="far.test",
            certificate=certificates.path("relay.test")[:-len(".pem")],
            more="smtpd_sasl_auth_enable = yes\nsmtpd_sasl_type = dovecot\n"
            f"smtpd_sasl_path = {dovecot.base}/run/sasl\nsmtpd_tls_auth_only = yes\n"
            "smtpd_sasl_authenticated_header = yes\nsmtpd_sasl_security_options = noanonymous\n"
            "smtpd_relay_restrictions = permit_sasl_authenticated, reject\n"
            "smtpd_recipient_restrictions = permit_sasl_authenticated, reject\n"))
        mx, _ = place(relay.port, lines=[f"Relay.Test;{relay.port}|ann|{dovecot_module.PASSWORD}"])
        deliver(mx, "bob@far.test", TEXT)
        event = mx.log.wait("delivered", to="bob@far.test")
        assert event["tls"] == "TLSv1.3" and event["policy"] == "encrypt"
        (message,) = relay.maildir("bob@far.test").wait()
        assert b"(Authenticated sender: ann)" in message


@pytest.mark.parametrize("mechanism", ["plain", "login"])
def test_exim(place, ground, certificates, mechanism):
    password = "sesame 7"
    sections = {name: text for name, text in zip(("plain", "login"), (EXIM % (password, password)).split("login:\n"))}
    text = sections["plain"] if mechanism == "plain" else "login:\n" + sections["login"]
    with Exim(ground.directory("exim"), domain="far.test",
              certificate=certificates.path("relay.test")[:-len(".pem")], authenticators=text) as relay:
        mx, _ = place(relay.port, lines=[f"relay.test;{relay.port}|ann|{password}"],
                      more='tls "relay.test" { level = verify }\n')
        deliver(mx, "bob@far.test", TEXT)
        assert mx.log.wait("delivered", to="bob@far.test")["verified"] == "authority"
        (message,) = relay.maildir("bob@far.test").wait()
        assert b"esmtpsa" in message


def test_a_password_in_the_routes_is_seen_by_nobody(place, run, certificates):
    """As s/qmail writes them. Other processes get a configuration without it."""
    with LoginHop(certificates.context("relay.test")) as hop:
        mx, _ = place(hop.port, routes=[f"far.test:relay.test;{hop.port}|ann|{PASSWORD}"])
        deliver(mx, "bob@far.test", TEXT)
        mx.log.wait("delivered", to="bob@far.test")
        assert hop.logins == [("ann", True)]
        assert_hidden(mx, run(mx, "config").stdout, run(mx, "config", "smtproutes").stdout,
                      run(mx, "config", "--changed").stdout)
        assert "|ann|hidden" in run(mx, "config").stdout
        for program in ("smtpd", "send", "queue", "resolve", "remote", "local"):
            for pid in mx.pids(program):
                assert not has_in_memory(pid, PASSWORD.encode()), program
        assert any(has_in_memory(pid, PASSWORD.encode()) for pid in mx.pids("keys"))


def has_in_memory(pid, words):
    """Whether WORDS are in writable memory of the process."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, \
            open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            place, rights = line.split()[:2]
            begin, end = (int(number, 16) for number in place.split("-"))
            if "w" not in rights or "[v" in line:
                continue
            memory.seek(begin)
            try:
                if words in memory.read(end - begin):
                    return True
            except OSError:
                pass
    return False


REFUSED = [
    # what the relay does, status, what the reports say
    ({"passwords": {"ann": "another"}}, "4.7.8", "said: 535 5.7.8 bad credentials"),
    ({"offers_login": False}, "4.7.0", "does not offer AUTH"),
    ({"answer": "535 5.7.8 no user with {password}"}, "4.7.8", "said: 535"),
    ({"answer": "501 5.5.4 Syntax: {line}"}, "4.5.4", "said: 501"),
    ({"answer": "421 4.7.0 {line}"}, "4.3.2", "said: 421"),
]


@pytest.mark.parametrize("options, status, text", REFUSED)
def test_refused(place, certificates, options, status, text):
    with LoginHop(certificates.context("relay.test"), **options) as hop:
        mx, _ = place(hop.port)
        deliver(mx, "bob@far.test", TEXT)
        if "421" in text:  # it has too much to do, which is no refusal
            mx.log.wait("host_throttled", host="relay.test", port=hop.port)
        else:
            event = mx.log.wait("deferred", to="bob@far.test")
            assert event["status"] == status and text in event["text"]
            refused = mx.log.wait("login_refused")
            assert refused["user"] == "ann" and text in refused["text"]
            assert refused["host"] == f"relay.test[127.0.0.1]:{hop.port}"
        assert not hop.messages
        assert_hidden(mx)


@pytest.mark.parametrize("more, text", [
    ("login_weakest = PLAIN\n", None),
    ("login_weakest = SCRAM-SHA-1\n", 'it offers "PLAIN", and login_weakest is SCRAM-SHA-1'),
    ("login_weakest = SCRAM-SHA-1-PLUS\nlogin_binding = no\n",
     'it offers "PLAIN", and login_weakest is SCRAM-SHA-1-PLUS, for which login_binding must be yes'),
], ids=["allowed", "too weak", "never"])
def test_the_weakest_mechanism_that_is_allowed(place, certificates, more, text):
    """A relay that offers only weaker ones does not get the password."""
    with LoginHop(certificates.context("relay.test")) as hop:
        mx, _ = place(hop.port, more=more)
        deliver(mx, "bob@far.test", TEXT)
        if text is None:
            mx.log.wait("delivered", to="bob@far.test")
            return
        event = mx.log.wait("deferred", to="bob@far.test")
        assert event["status"] == "4.7.0" and event["text"].endswith(text)
        assert not hop.logins and not hop.messages


@pytest.mark.parametrize("behaviour", ["none", "refuse", "ehlo", "close"])
@pytest.mark.parametrize("more", ["", "remote_tls = none\n", 'tls "relay.test" { level = may }\n'])
def test_never_without_tls(place, certificates, behaviour, more):
    with LoginHop(certificates.context("relay.test"), behaviour) as hop:
        mx, _ = place(hop.port, more=more)
        deliver(mx, "bob@far.test", TEXT)
        assert mx.log.wait("deferred", to="bob@far.test")["status"].startswith("4.")
        assert not hop.logins and not hop.mail_in_plain_text()


def test_without_tls_where_that_is_allowed(place):
    with LoginHop(None) as hop:
        mx, _ = place(hop.port, more="login_without_tls = yes\n")
        deliver(mx, "bob@far.test", TEXT)
        mx.log.wait("delivered", to="bob@far.test")
        assert hop.logins == [("ann", False)]


def test_mail_goes_when_the_password_is_right_again(place, certificates):
    """Nothing has to be reloaded; until then one message at a time asks the relay."""
    with LoginHop(certificates.context("relay.test"), passwords={"ann": "new"}) as hop:
        mx, path = place(hop.port)
        for number in range(5):
            deliver(mx, f"bob{number}@far.test", TEXT)
        mx.log.wait("deferred", to="bob0@far.test")
        mx.log.wait("login_refused", count=2)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"relay.test;{hop.port}|ann|new\n")
        for number in range(5):
            mx.log.wait("delivered", to=f"bob{number}@far.test")


def test_users_do_not_share_connections(place, certificates):
    passwords = {"ann": PASSWORD, "eve": "other"}
    with LoginHop(certificates.context("relay.test"), passwords=passwords) as hop:
        mx, _ = place(
            hop.port, lines=[f"relay.test;{hop.port}|ann|{PASSWORD}", f"relay.test;{hop.port}|eve|other"],
            routes=[f"far.test:relay.test;{hop.port}|ann", f"other.test:relay.test;{hop.port}|eve",
                    f"third.test:relay.test;{hop.port}"])
        for number in range(2):
            for domain in ("far", "other"):
                deliver(mx, f"bob{number}@{domain}.test", TEXT, sender=f"{domain}@client.test")
                mx.log.wait("delivered", to=f"bob{number}@{domain}.test")
        deliver(mx, "bob@third.test", TEXT)
        assert "530" in mx.log.wait("failed", to="bob@third.test")["text"]
        assert sorted(user for user, _ in hop.logins) == ["ann", "eve"]


BAD_FILES = [
    # mode, lines, what is said
    (0o604, None, "users other than its owner and group have access to it"),
    (0o602, None, "users other than its owner and group have access to it"),
    (0o600, ["relay.test|ann|x", "relay.test;{port}|eve|x", "other.test;{port}|ann|x", "nonsense"],
     "it has no line for this relay, port and user"),
    (0o600, ["relay.test;{port}|ann|"], "the password is empty"),
]


@pytest.mark.parametrize("mode, lines, text", BAD_FILES)
def test_files_that_cannot_be_used(place, run, certificates, mode, lines, text):
    with LoginHop(certificates.context("relay.test")) as hop:
        lines = lines and [line.format(port=hop.port) for line in lines]
        mx, path = place(hop.port, mode=mode, lines=lines)
        deliver(mx, "bob@far.test", TEXT)
        deferred = mx.log.wait("deferred", to="bob@far.test")
        assert "the password cannot be used" in deferred["text"]
        event = mx.log.wait("login_impossible")
        assert text in event["text"] and event["user"] == "ann" and event["relay"] == "relay.test"
        checked = run(mx, "check")
        assert checked.returncode == 1 and f"relay_passwords: {path}: ann at relay.test: " in checked.stderr + checked.stdout
        assert text in checked.stderr + checked.stdout
        assert_hidden(mx, checked.stderr, checked.stdout)
        os.chmod(path, 0o640)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"relay.test;{hop.port}|ann|{PASSWORD}\n")
        assert run(mx, "check").returncode == 0
        mx.log.wait("delivered", to="bob@far.test")


def test_what_a_transcript_shows(place, ground, certificates):
    """The login, without what was said in it."""
    with LoginHop(certificates.context("relay.test")) as hop:
        mx, _ = place(hop.port)
        watch = Watch(ground, mx, "--json", "--domain", "far.test")
        deliver(mx, "bob@far.test", TEXT)
        mx.log.wait("delivered", to="bob@far.test")
        watch.wait("AUTH PLAIN (credentials)")
        watch.wait("QUIT")
        watch.end()
        assert_hidden(mx, "\n".join(watch.lines))
