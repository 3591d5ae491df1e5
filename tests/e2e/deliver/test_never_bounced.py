# SPDX-License-Identifier: ISC
"""What can be refused at RCPT is never bounced: a bounce goes to whoever the client has named. Local parts
and extensions that cannot be names of users, mailboxes, folders and arguments, for each kind of service:
5xx at RCPT, or delivered."""

import os
import signal
import subprocess

import pytest
from dovecot import PASSWORD, Dovecot
from smtp import Client, deliver
from stagepost import ALL_USERS, PATIENCE, give_to_user, is_root, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"

USERS = ["a/b", "/", "/etc", ".", "..", "..x", ".x", "a..b", "a b", " ", "a@b", "%", "%u", "*", "a*b", "a\\b", 'a"b', "-x", "--",
         "~", "~root", "$HOME", "`id`", ";", "|x", "ü", "ü/x", "a\u202eb", "\u0301a", "\ufb01", "\U0001f600", "new",
         "cur", "root/..", "x" * 64, "x" * 65, "x" * 200, "x" * 250, "x" * 255, "ü" * 120, "x" * 256, "\t", "\x01", "\x7f",
         "\x1b[31m", "a\tb", ""]
EXTENSIONS = ["", "/", "..", "../x", "../../x", "a/b", "a//b", "/a", "a/", ".", "a.b", ".a", "a.", "..a", "ü", "%", "*",
              "a*", "~", "#", "&", "&-", "a&b", "\\", '"', "(", "{5}", "x" * 100, "x" * 200, "x" * 240, "x" * 250, "ü" * 100,
              "x/" * 20 + "x", "INBOX", "inbox", "inbox/x", "INBOX.x", "new", "cur", "tmp", "-x", " ", " x", "x ", "a@b",
              "a+b", "+", "\t", "\x01", "\x7f", "\U0001f600", "a\u202eb", "Sent", "sent", "Trash/.."]


def quoted(local):
    return '"' + local.replace("\\", "\\\\").replace('"', '\\"') + '"'


def reply(mx, recipient):
    """To RCPT."""
    with Client(mx) as client:
        client.docmd("MAIL FROM:<sender@client.test>")
        code, text = client.docmd(f"RCPT TO:<{recipient}>")
        return f"{code} {text.decode()}"


def deliver_all(mx, domain, locals_, sender="sender@client.test"):
    """{local part: (reply to RCPT, what became of it)}."""
    found, waiting = {}, {}
    for local in locals_:
        with Client(mx) as client:  # another one for each: who is refused often is turned away
            client.ehlo_or_helo_if_needed()
            client.command_encoding = "utf-8"
            assert client.docmd(f"MAIL FROM:<{sender}>", "SMTPUTF8")[0] == 250
            code, text = client.docmd(f"RCPT TO:<{quoted(local)}@{domain}>")
            found[local] = f"{code} {text.decode(errors='replace')}", None
            if code == 250:
                code, text = client.data(TEXT)
                assert code == 250, (local, text)
                waiting[text.decode().rpartition(" ")[2]] = local

    def are_decided():
        for event in mx.log.read():
            if event["event"] in ("delivered", "deferred", "failed") and event.get("id") in waiting:
                local = waiting.pop(event["id"])
                found[local] = found[local][0], event
        return not waiting

    wait_until(are_decided, "all are decided", 3 * PATIENCE)
    return found


def check(found):
    """The refusals."""
    bad = {local: (reply, event) for local, (reply, event) in found.items()
           if not (event["event"] == "delivered" if event else reply[0] == "5")}
    assert not bad, bad
    return {local for local, (_, event) in found.items() if event is None}


def pipe(name, mx, *arguments):
    words = ", ".join(f'"{word}"' for word in ("/bin/sh", "-c", f"cat >> {mx.directory}/{name}", *arguments))
    return f'service {name} {{ kind = pipe command = {{ {words} }} }}\ndomain "{name}.test" {{ service = {name} }}\n'


SERVICES = {
    "maildir": lambda mx: f'service box {{ kind = maildir path = "{mx.mail}/%d/%u" }}\n',
    "maildir_with_text": lambda mx: f'service box {{ kind = maildir path = "{mx.mail}/m.%u@%d.m" }}\n',
    "mailbox": lambda mx: (f'service box {{ kind = mailbox path = "{mx.mail}/%d/%u" detail_folders = yes }}\n'
                           f'record {{ path = "{mx.directory}/record.db" }}\n'),
    "pipe": lambda mx: f'service box {{ kind = pipe command = {{ "/bin/sh", "-c", "exec cat >> {mx.directory}/out" }} }}\n',
    "pipe_with_arguments": lambda mx: (
        f'service box {{ kind = pipe command = {{ "/bin/sh", "-c", "exec cat >> {mx.directory}/out", '
        '"sh", "%a", "%d", "--user=%u", "%u", "%x" } }\n'),
}


@pytest.fixture(name="node_with")
def fixture_node_with(node):
    """node_with(service): a node with the domain box.test, and one whose directory has ann in box.test."""
    def make(service, **more):
        made = node("mx", start=False, domains=['domain "box.test" { service = box }'], **more)
        made.settings = SERVICES.get(service, service)(made)
        made.write_configuration()
        made.start()
        return made

    return make


@pytest.mark.parametrize("service", SERVICES)
def test_local_parts(node_with, service):
    refused = check(deliver_all(node_with(service), "box.test", USERS))
    assert {"a/b", ".."} <= refused or service == "pipe"
    assert not {"%", "x" * 64, "ü"} & refused


@pytest.mark.parametrize("service", SERVICES)
def test_extensions(node_with, service):
    refused = check(deliver_all(node_with(service), "box.test", [f"ann+{extension}" for extension in EXTENSIONS]))
    assert not {"ann+ü", "ann+a+b", "ann+INBOX"} & refused


@pytest.mark.parametrize("kind", ["imap", "lmtp"])
def test_extensions_at_a_server(node, kind):
    dovecot = Dovecot(["ann@box.test"])
    try:
        mx = node("mx", start=False, domains=['domain "box.test" { service = box }'])
        password = os.path.join(mx.directory, "password")
        with open(password, "w", encoding="ascii") as file:
            file.write(PASSWORD + "\n")
        give_to_user(password)
        os.chmod(password, 0o600)
        mx.settings = f'service box {{ kind = lmtp address = "unix:{dovecot.path}" }}\n' if kind == "lmtp" else (
            f'service box {{ kind = imap address = "127.0.0.1:{dovecot.port}" security = plain login = "%a" '
            f'password_file = "{password}" detail_folders = yes }}\nrecord {{ path = "{mx.directory}/record.db" }}\n')
        mx.write_configuration()
        mx.start()
        # an LMTP server without SMTPUTF8 refuses what is not ASCII, as it may refuse anybody: only it knows
        check(deliver_all(mx, "box.test", [f"ann+{extension}" for extension in EXTENSIONS
                                           if kind == "imap" or extension.isascii()]))
    finally:
        dovecot.close()


# --- users of the machine ---

root_only = pytest.mark.skipif(not is_root(), reason="only root delivers as others")
NOBODYS = ["root", "no-such-user", "no-such-user+x", *USERS]


def users_of(mx, kind):
    place = f'kind = maildir path = "{mx.mail}/users/%u"' if kind == "maildir" else 'kind = pipe command = { "/bin/true" }'
    os.makedirs(f"{mx.mail}/users", exist_ok=True)
    os.chmod(f"{mx.mail}/users", 0o1777)
    return ALL_USERS + f'service box {{ {place} user = "%u" }}\ndomain "box.test" {{ service = box }}\n'


@root_only
@pytest.mark.parametrize("kind", ["maildir", "pipe"])
def test_users_of_the_machine(node, kind):
    """Those who are none, and root, are refused; the node has no more rights than before."""
    mx = node("mx", start=False, switch_user=True)
    mx.settings = users_of(mx, kind)
    mx.write_configuration()
    mx.start()
    refused = check(deliver_all(mx, "box.test", ["daemon", "daemon+x", *NOBODYS]))
    assert refused == set(NOBODYS)
    checked = subprocess.run([f"{mx.programs}/stagepost", "check", "-c", mx.conf, "--running"], check=False,
                             capture_output=True, text=True, timeout=PATIENCE)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@root_only
def test_their_postmaster(node):
    """He is accepted though there is no such user, and his mail goes to the node's."""
    mx = node("mx", start=False, switch_user=True)
    mx.settings = users_of(mx, "maildir")
    mx.write_configuration()
    mx.start()
    deliver(mx, "Postmaster@box.test", TEXT)
    mx.maildir("postmaster@a.test").wait()
    mx.log.wait("postmaster_missing", status="5.1.1")


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [int(word) for word in children.read().split()]


@root_only
def test_while_nobody_can_be_looked_up(node):
    """As if a server of the system's users did not answer: others are served, and they are for later."""
    mx = node("mx", start=False, switch_user=True)
    mx.settings = users_of(mx, "maildir") + "smtpd_workers = 1\n"
    mx.write_configuration()
    mx.start()
    (smtpd,) = [pid for pid in mx.pids("smtpd") if children_of(pid)]
    (helper,) = children_of(smtpd)
    os.kill(helper, signal.SIGSTOP)
    try:
        with Client(mx) as waiting:
            waiting.docmd("MAIL FROM:<sender@client.test>")
            waiting.putcmd("RCPT TO:<daemon@box.test>")
            assert reply(mx, "ann@a.test").startswith("250")
            assert waiting.getreply()[0] == 451
    finally:
        os.kill(helper, signal.SIGCONT)
    assert reply(mx, "daemon@box.test").startswith("250")
    assert reply(mx, "no-such-user@box.test").startswith("550 5.1.1")
