# SPDX-License-Identifier: ISC
"""Foreign text, as commands show it to people: nothing that a terminal would obey, that ends a line, or
that changes the order in which other text is shown. A stranger chooses his address, his Subject and the
names of his files."""

import os
import select
import signal
import socket
import subprocess
import threading

from directory import HASH
from once import SCUBA, site  # noqa: F401
from records import Records
from smtp import Client, Wire
from stagepost import as_user, give_to_user, wait_until

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


def check(words, text):
    """That nothing harmful is in what the command with these WORDS has printed, which is returned."""
    text = text.decode("utf-8", "surrogateescape")
    assert not HARMFUL & set(text), (words, text)
    assert not any("\udc80" <= char <= "\udc9f" for char in text), (words, text)
    return text


def run(mx, words, identity="", said=b""):
    """What the command prints, which is checked."""
    words = [{"ID": identity, "LOG": mx.log.path}.get(word, word) for word in words]
    ended = subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), *words], check=False,
                           env={**os.environ, "STAGEPOST_CONF": mx.conf}, capture_output=True, timeout=60,
                           input=said)
    return check(words, ended.stdout + ended.stderr)


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


# --- the directory ---

BAD = "x\u202e\u2066\u200f"
USER = "ann\u202e\u2066"
ADDRESS = "u\u202e\u2066@d.test"  # as a stranger may choose who writes into the directory by another way
DIRECTORY = [
    ["get", ADDRESS], ["get", "--json", ADDRESS], ["get", "--table", "address", ADDRESS],
    ["get", "--json", "--table", "user", USER], ["get", "--table", "user", USER],
    ["get", f"missing{NASTY}@d.test"], ["get", f"{NASTY}"], ["get", "--table", NASTY, "x"],
    *([command, "--table", table, *more] for command in ("list",) for table in ("domain", "address", "member", "user", "server")
      for more in ([], ["--json"])),
    ["list", "--table", "membership", "ann@d.test"], ["check"], ["check", "--json"], ["stats"], ["status"], ["status", "--json"],
    ["put", f"x{NASTY}@d.test", f"kind={NASTY}"], ["put", "y@d.test", "kind=alias", f"target={NASTY}"],
    ["put", "z@d.test", "kind=forward", "target=gone\u202e@d.test"], ["put", "--table", "user", f"y{NASTY}", f"{NASTY}=1"],
    ["put", "--table", "user", "y", f"password={NASTY}"], ["put", NASTY], ["del", f"missing{NASTY}@d.test"],
    ["passwd", f"nobody{NASTY}"],
    ["import", "--dry-run", "FILE"], ["import", "FILE"], ["import", f"no-file{NASTY}"], ["import", "--domain", NASTY, "FILE"],
    ["export", "--table", NASTY], ["export"],
]


def fill(mx):
    """The directory, by its protocol."""
    with Records(mx) as records:
        records.put("domain", "d.test", "kind local", "service maildir")
        records.put("user", USER, f"name {BAD}", f"password {HASH}", "server gone")
        records.put("address", ADDRESS, "kind mailbox", f"user {USER}")
        records.put("address", "refused@d.test", "kind refused", f"text {BAD}")
        records.put("address", "ann@d.test", "kind list", f"owner {ADDRESS}")
        records.put("member", f"ann@d.test {ADDRESS}")


def test_what_the_directory_has(node):
    mx = node(start=False, domains=[])
    mx.settings = f'directory {{ path = "{mx.directory}/data/directory.db" }}\n'
    mx.write_configuration()
    mx.start()
    fill(mx)
    path = os.path.join(mx.directory, "aliases")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{NASTY}: {NASTY}\nbob: |{NASTY}\nx\u202e: ann@d.test\n{NASTY}\n")
    give_to_user(path)
    texts = [run(mx, ["directory", *(path if word == "FILE" else word for word in words)], said=b"a password\n")
             for words in DIRECTORY]
    assert sum("\\u202e" in text for text in texts) > 5, texts
    watch(mx, ["directory", "watch"], lambda: fill(mx), "d.test")


def watch(mx, words, act, wanted):
    """What the command prints of what ACT() does is looked at, until WANTED is there, and when it is interrupted."""
    watching = subprocess.Popen([*as_user(), os.path.join(mx.programs, "stagepost"), *words],
                                env={**os.environ, "STAGEPOST_CONF": mx.conf}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    told = b""

    def is_told():
        nonlocal told
        act()
        while select.select([watching.stdout], [], [], 0)[0] and (more := os.read(watching.stdout.fileno(), 65536)):
            told += more
        return wanted.encode() in told

    with watching:
        wait_until(is_told, "it is printed")
        watching.send_signal(signal.SIGINT)
        check(words, told + watching.stdout.read())


# --- peers, and arguments ---


class NastyHost:
    """An SMTP server all of whose replies have what a terminal would obey."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    @staticmethod
    def _talk(client):
        with client, client.makefile("rb") as lines:
            client.sendall(f"220 {NASTY}\r\n".encode())
            for line in lines:
                code = {b"EHLO": "250", b"QUIT": "221"}.get(line[:4].upper(), "550")
                client.sendall(f"{code}-{NASTY}\r\n{code} X{NASTY}\x1b[31m\r\n".encode())


def test_what_hosts_say(node):
    host = NastyHost()
    mx = node(routes=[f"b.test:127.0.0.1;{host.port}"])
    for words in (["tls", f"127.0.0.1:{host.port}"], ["tls", "--json", f"127.0.0.1:{host.port}"], ["tls", "b.test"],
                  ["tls-report", "list"]):
        run(mx, words)

    def send():
        with Wire(mx) as wire:
            wire.reply()
            wire.ask(b"EHLO client.test")
            wire.ask(f"{NASTY}\x1b".encode())
            wire.ask(f"MAIL FROM:<x{NASTY}@client.test>".encode())
            wire.ask(b"MAIL FROM:<x@client.test>")
            wire.ask(b"RCPT TO:<u@b.test>")
            if wire.ask(b"DATA").startswith("354"):
                wire.send(b"Subject: x\r\n\r\nx\r\n.\r\n")
                wire.reply()

    for words in (["transcript", "--peer", "127.0.0.0/8"], ["transcript", "--peer", "127.0.0.0/8", "--json"]):
        watch(mx, words, send, "MAIL")


SENDMAIL = [
    ["sendmail", f"x{NASTY}"], ["sendmail", f"x{NASTY}@b.test"], ["sendmail", "x\u202e@a.test"], ["sendmail", "-f", NASTY, "ann@a.test"],
    ["sendmail", "-t"], ["sendmail", "-bv", NASTY],
]


def test_what_sendmail_is_given(node):
    """By a web server, say, that passes on what its visitors write. Its own arguments, and his configuration,
    are shown to an operator as they are."""
    mx = node()
    said = (f"To: x{NASTY} <{NASTY}>, ann{NASTY}@a.test\r\nFrom: {NASTY}\r\n{NASTY}: x\r\n"
            f"HELO {NASTY}\r\nMAIL FROM:<{NASTY}>\r\n\r\n{NASTY}\r\n").encode()
    for words in SENDMAIL:
        run(mx, words, said=said)
