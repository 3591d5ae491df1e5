# SPDX-License-Identifier: ISC
"""Envelopes as they are written: what is taken, and what is refused at RCPT so that it is never
bounced to whoever the client has named."""

import pytest
from records import Records
from smtp import Client, deliver
from stagepost import split_trace

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")
LONG = "prvs=0123456789abcdef-bounces+1234567890-0a1b-john.doe=a-long-domain.example.net"


def reply(node, recipient, sender="sender@client.test"):
    """To RCPT."""
    with Client(node) as client:
        client.docmd(f"MAIL FROM:<{sender}>")
        code, text = client.docmd(f"RCPT TO:<{recipient}>")
        return f"{code} {text.decode()}"


def program(node, *arguments, name="program"):
    words = ", ".join(f'"{word}"' for word in ("/bin/sh", "-c", f"cat >> {node.directory}/{name}", *arguments))
    return f'service {name} {{ kind = pipe command = {{ {words} }} }}\ndomain "{name}.test" {{ service = {name} }}\n'


# --- long local parts ---


def test_a_long_local_part_is_somebodys_extension(node):
    mx = node()
    deliver(mx, f"ann+{LONG}@a.test", TEXT)
    (stored,) = mx.maildir("ann@a.test").wait()
    split_trace(stored, STORED)


def test_a_long_local_part_is_relayed(node):
    hop = node("hop", domains=["b.test"])
    mx = node("mx", routes=[f":127.0.0.1;{hop.port}"])
    deliver(mx, f"{LONG}@b.test", TEXT)
    hop.maildir(f"{LONG.partition('+')[0]}@b.test").wait()
    mx.wait_empty()


def test_a_long_local_part_has_a_record(node, directory_of):
    hop = node("hop", domains=["b.test"])
    mx, records = directory_of(routes=[f":127.0.0.1;{hop.port}"])
    user = "u" * 100
    records.put("address", f"{user}@d.test", "kind mailbox")
    records.put("address", "fwd@d.test", "kind forward", f"target {user}@b.test")
    deliver(mx, [f"{user}@d.test", "fwd@d.test"], TEXT)
    mx.maildir(f"{user}@d.test").wait()
    hop.maildir(f"{user}@b.test").wait()
    assert reply(mx, f"{'v' * 100}@d.test").startswith("550 5.1.1")


@pytest.fixture
def directory_of(node):
    """A node whose domain d.test is of the directory, and its records."""
    opened = []

    def make(settings="", **more):
        made = node("mx", start=False, domains=[], **more)
        made.settings = f'directory {{ path = "{made.directory}/directory.db" }}\n' + settings
        made.write_configuration()
        made.start()
        opened.append(Records(made))
        opened[-1].put("domain", "d.test", "kind local", "service maildir")
        return made, opened[-1]

    yield make
    for one in opened:
        one.__exit__(None, None, None)


# --- what a service cannot be given ---


@pytest.mark.parametrize("arguments, recipient, sender", [
    (["%a"], "-x@program.test", "sender@client.test"),
    (["%u", "%x"], "u+../../x@program.test", "sender@client.test"),
    (["%x"], "u+-x@program.test", "sender@client.test"),
    (["%s"], "u@program.test", "-x@client.test"),
])
def test_what_a_program_cannot_be_given_is_refused_at_rcpt(node, arguments, recipient, sender):
    mx = node(start=False)
    mx.settings = program(mx, *arguments)
    mx.write_configuration()
    mx.start()
    assert reply(mx, recipient, sender).startswith(("550 5.1.3", "550 5.1.7")), reply(mx, recipient, sender)
    deliver(mx, "u+x@program.test", TEXT)
    mx.log.wait("delivered", to="u+x@program.test")


def test_a_login_is_not_another_mailboxs(node):
    """The rest of the setting is the master's: what follows %u, and what stands for a domain."""
    mx = node(start=False)
    with open(f"{mx.directory}/password", "w", encoding="ascii") as file:
        file.write("secret\n")
    mx.settings = ('service once { kind = imap address = "127.0.0.1:1" security = plain '
                   f'login = "%u*master" password_file = "{mx.directory}/password" }}\n'
                   f'record {{ path = "{mx.directory}/record.db" }}\n'
                   'domain "b.test" { service = once }\n')
    mx.write_configuration()
    mx.start()
    assert reply(mx, "ann@b.test").startswith("250")
    assert reply(mx, '"victim@other.test"@b.test').startswith("550 5.1.3")
    assert reply(mx, "victim*root@b.test").startswith("550 5.1.3")
