# SPDX-License-Identifier: ISC
"""Foreign text, as commands show it to people: nothing that a terminal would obey, that ends a line, or
that changes the order in which other text is shown. A stranger chooses his address, his Subject and the
names of his files."""

import os
import subprocess

from once import SCUBA, site  # noqa: F401
from smtp import Client, Wire
from stagepost import as_user

BIDI = [*map(chr, range(0x202a, 0x202f)), *map(chr, range(0x2066, 0x206a))]
HARMFUL = {*map(chr, (*range(9), *range(11, 32), *range(127, 160))), "\u2028", "\u2029", *BIDI}
NASTY = "\u009bm\u202e\u200f\u2066\u2028"
QUEUED = [
    ["queue", "list"], ["queue", "list", "--json"], ["mailq"], ["queue", "stats"], ["queue", "stats", "--json"],
    ["queue", "stats", "--by", "destination"], ["queue", "show", "ID"], ["queue", "show", "--json", "ID"],
    ["queue", "hold", "--json", "ID"], ["queue", "list"], ["queue", "list", "--json"], ["trigger"], ["trigger", "--json"],
    ["trigger", "list"], ["trigger", "list", "--json"], ["queue", "release", "--json", "ID"],
    ["queue", "retry", "--json", "ID"], ["trace", "ID", "LOG"], ["trace", "--json", "ID", "LOG"], ["check"],
    ["check", "--json"], ["limits"], ["limits", "--json"], ["queue", "bounce", "--json", "ID"],
]
RECORDED = [
    ["mailbox", "list"], ["mailbox", "list", "--json"], ["mailbox", "status", "<nasty@gmail.test>"],
    ["mailbox", "status", "<nasty@gmail.test>", "--json"], ["mailbox", "repair", "--check"],
    ["trace", "ID", "LOG"], ["trace", "--json", "ID", "LOG"],
]


def run(mx, words, identity):
    """What the command prints, which is checked."""
    words = [{"ID": identity, "LOG": mx.log.path}.get(word, word) for word in words]
    ended = subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), *words], check=False,
                           env={**os.environ, "STAGEPOST_CONF": mx.conf}, capture_output=True, timeout=60,
                           stdin=subprocess.DEVNULL)
    text = (ended.stdout + ended.stderr).decode("utf-8", "surrogateescape")
    assert not HARMFUL & set(text), (words, text)
    assert not any("\udc80" <= char <= "\udc9f" for char in text), (words, text)
    return text


def test_what_is_queued(node):
    mx = node(routes=["b.test:127.0.0.1;1"])
    # what senders may have in an address: the two others are refused there
    sender = "x\u202e\u2066y@client.test"
    with Wire(mx) as wire:
        wire.reply()
        wire.ask(b"EHLO client.test")
        for said, code in ((f"MAIL FROM:<{sender}> SMTPUTF8", "250"),
                           ("RCPT TO:<u\u202e\u2069@b.test>", "250"), ("DATA", "354")):
            assert wire.ask(said.encode())[:3] == code, said
        wire.send(f"Subject: {NASTY}\r\nX: \u0085\r\n\r\n{NASTY}\r\n.\r\n".encode())
        assert wire.reply()[:3] == "250"
    identity = mx.log.wait("deferred")["id"]
    texts = [run(mx, words, identity) for words in QUEUED]
    assert sum("@client.test" in text for text in texts) > 8
    assert "x\\u202e\\u2066y@client.test" in texts[1]


def test_what_is_recorded(site):  # noqa: F811
    own = site(more="sent = none")
    with Client(own.mx) as client:
        assert client.deliver("lisa@gmail.test", [SCUBA], (
            f"From: {NASTY}x <lisa@gmail.test>\r\nTo: {SCUBA}\r\nMessage-ID: <nasty@gmail.test>\r\n"
            f"Subject: {NASTY}x\r\nContent-Type: text/plain; name=\"{NASTY}x\"\r\n\r\nx\r\n").encode()).startswith("250 ")
    own.mx.wait_empty()
    identity = own.mx.log.wait("message_accepted")["id"]
    texts = [run(own.mx, words, identity) for words in RECORDED]
    assert sum("nasty@gmail.test" in text for text in texts) > 3
    assert "\\u202e" in texts[1]
