# SPDX-License-Identifier: ISC
"""Mail for postmasters ends with somebody (RFC 5321 section 4.5.1): where the service behind has no such
mailbox, with the postmaster of the node; and what says beforehand that it will."""

import os
import signal
import subprocess
import tempfile

import pytest
from lmtp import Server
from records import Records
from smtp import deliver
from stagepost import PATIENCE, as_user, split_trace

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")
BOX = 'domain "box.test" { service = box }'
GONE = "550 5.1.1 no such user"


@pytest.fixture
def lmtp():
    """lmtp({address: reply to RCPT}) makes a server, and the setting of its service."""
    servers = []
    with tempfile.TemporaryDirectory(prefix="lmtp-") as directory:
        os.chmod(directory, 0o755)

        def make(replies, final=None):
            server = Server(os.path.join(directory, "socket"), final=final,
                            recipient=lambda address: replies.get(address, "250 2.1.5 ok"))
            servers.append(server)
            return server, f'service box {{ kind = lmtp address = "{server.address}" }}\n'

        yield make
        for made in servers:
            made.close()


@pytest.mark.parametrize("reply, status", [(GONE, "5.1.1"), ("550 no such user", "5.1.1"), ("553 bad name", "5.1.3"),
                                           ("550 5.1.10 null MX", "5.1.10")])
def test_the_nodes_postmaster_gets_his_mail(node, lmtp, reply, status):
    server, service = lmtp({"postmaster@box.test": reply})
    mx = node(domains=["a.test", BOX], settings=service)
    deliver(mx, ["ann@box.test", "postmaster@box.test"], TEXT, sender="sender@a.test")
    (stored,) = mx.maildir("postmaster@a.test").wait()
    split_trace(stored, STORED)
    event = mx.log.wait("postmaster_missing", to="postmaster@box.test")
    assert event["status"] == status and "said: 55" in event["text"]
    assert mx.log.wait("delivered", to="postmaster@a.test")["original"] == "postmaster@box.test"
    mx.wait_empty()
    assert [recipients for recipients, _ in server.messages] == [["ann@box.test"]]
    assert not mx.maildir("sender@a.test").files() and not mx.log.find("failed")


def test_so_it_does_by_other_names(node, lmtp):
    """An alias of his, a forward to him, and his extensions."""
    _, service = lmtp({address: GONE for address in (
        "postmaster@box.test", "hugo@box.test", "Postmaster+x@box.test")})
    mx = node(start=False, domains=["a.test"])
    mx.settings = f'directory {{ path = "{mx.directory}/directory.db" }}\ndefault_domain = "d.test"\n' + service
    mx.write_configuration()
    mx.start()
    with Records(mx) as records:
        records.put("domain", "d.test", "kind local", "service maildir")
        records.put("domain", "box.test", "kind local", "service box")
        records.put("domain", "other.test", "kind local", "service box")
        records.put("address", "info@box.test", "kind forward", "target postmaster@box.test", "target ann@a.test")
        records.put("address", "postmaster@other.test", "kind alias", "target hugo@box.test")
        records.put("address", "hugo@box.test", "kind mailbox")
    for count, recipient in enumerate(("info@box.test", "postmaster@other.test", "Postmaster+x@box.test"), start=1):
        deliver(mx, recipient, TEXT, sender="sender@a.test")
        mx.maildir("postmaster@d.test").wait(count)
    mx.maildir("ann@a.test").wait()
    mx.wait_empty()
    assert len(mx.maildir("postmaster@d.test").files()) == 3 and len(mx.maildir("ann@a.test").files()) == 1
    deliver(mx, "hugo@box.test", TEXT, sender="sender@a.test")  # for himself
    mx.log.wait("failed", to="hugo@box.test")
    mx.maildir("sender@a.test").wait()


def test_the_nodes_postmaster_has_no_mailbox_either(node, lmtp):
    """Its sender is told what the service has said; it is not tried again and again."""
    server, service = lmtp({"postmaster@box.test": GONE})
    mx = node(domains=[BOX, "a.test"], settings=service)
    deliver(mx, "postmaster@box.test", TEXT, sender="sender@a.test")
    (bounce,) = mx.maildir("sender@a.test").wait()
    assert b"no such user" in bounce and b"Status: 5.1.1" in bounce
    mx.wait_empty()
    assert len(server.commands) == 1
    assert mx.log.find("failed", to="postmaster@box.test")


def test_what_is_refused_for_its_content_is_bounced(node, lmtp):
    _, service = lmtp({}, final=lambda address: "550 5.7.1 this is spam")
    mx = node(domains=["a.test", BOX], settings=service)
    deliver(mx, "postmaster@box.test", TEXT, sender="sender@a.test")
    mx.log.wait("failed", to="postmaster@box.test", status="5.7.1")
    mx.maildir("sender@a.test").wait()


def test_it_waits_for_the_directory(node, lmtp):
    """The step is in the control file: a death does not lose it."""
    stopped = []

    class Replies(dict):
        def get(self, key, default=None):
            if key != "postmaster@box.test":
                return default
            if not stopped:
                stopped.extend(mx.pids("directory"))
                os.kill(stopped[0], signal.SIGSTOP)
            return GONE

    _, service = lmtp(Replies())
    mx = node(start=False, domains=[])
    mx.settings = f'directory {{ path = "{mx.directory}/directory.db" }}\ndefault_domain = "d.test"\n' + service
    mx.write_configuration()
    mx.start()
    with Records(mx) as records:
        records.put("domain", "d.test", "kind local", "service maildir")
        records.put("domain", "box.test", "kind local", "service box")
    deliver(mx, "postmaster@box.test", TEXT)
    mx.log.wait("postmaster_missing")
    mx.kill_and_wait("send")
    os.kill(stopped[0], signal.SIGCONT)
    mx.maildir("postmaster@d.test").wait()
    mx.wait_empty()


# --- what says so ---


def run(node, *words):
    ended = subprocess.run([*as_user(), os.path.join(node.programs, "stagepost"), *words, "-c", node.conf], check=False,
                           capture_output=True, text=True, timeout=PATIENCE)
    return ended.returncode, ended.stdout.splitlines(), ended.stderr


def test_directory_check_says_so(node):
    mx = node(start=False, domains=[])
    settings = (f'directory {{ path = "{mx.directory}/directory.db" }}\n'
                f'service users {{ kind = maildir path = "{mx.mail}/users/%u" user = "%u" }}\n')
    mx.settings = settings
    mx.write_configuration()
    mx.start()
    assert run(mx, "directory", "check") == (0, [], "")
    with Records(mx) as records:
        records.put("domain", "d.test", "kind local", "service maildir")
    assert run(mx, "directory", "check") == (1, [
        "address postmaster: this node has none: default_domain is not a domain of ours"], "")
    mx.settings = 'default_domain = "d.test"\n' + settings
    mx.write_configuration()
    mx.reload()
    assert run(mx, "directory", "check") == (0, [], "")
    with Records(mx) as records:
        records.put("domain", "u.test", "kind local", "service users")
        records.put("address", "root@u.test", "kind mailbox")
        records.put("address", "nobody-at-all@u.test", "kind mailbox")
    assert run(mx, "directory", "check") == (1, [
        "domain u.test: postmaster@u.test: service users cannot deliver it: No user is called postmaster",
        "address nobody-at-all@u.test: service users cannot deliver it: No user is called nobody-at-all",
        "address root@u.test: service users cannot deliver it: "
        "root is an account of the system, which has no mail of its own"], "")


def test_a_server_without_him_is_told_of(node, lmtp):
    """By both checks, which ask it; but not if it says something else, or nothing."""
    replies = {"postmaster@box.test": GONE}
    server, service = lmtp(replies)
    mx = node(start=False, domains=["a.test", BOX])
    mx.settings = service + f'directory {{ path = "{mx.directory}/directory.db" }}\n'
    mx.write_configuration()
    mx.start()
    with Records(mx) as records:
        records.put("domain", "d.test", "kind local", "service box")
    _, _, errors = run(mx, "check")
    assert (f"warning: domain box.test.service: service box has no mailbox for its postmaster ({GONE}), "
            "whose mail goes to the postmaster of this node") in errors, errors
    replies["postmaster@d.test"] = "550 5.1.1 \u202enobody"
    assert run(mx, "directory", "check") == (1, [
        "domain d.test: postmaster@d.test: service box cannot deliver it: 550 5.1.1 ?nobody"], "")
    for other in ("450 4.2.0 later", "550 5.7.1 not you", "250 2.1.5 ok"):
        replies["postmaster@d.test"] = replies["postmaster@box.test"] = other
        assert run(mx, "directory", "check") == (0, [], "") and "postmaster" not in run(mx, "check")[2]
    server.close()
    assert run(mx, "directory", "check") == (0, [], "")
    assert not server.messages
