# SPDX-License-Identifier: ISC
"""The listeners of a node besides SMTP, for campaigns: each as a client that delivers like smtp.Client.
Mail comes by QMTP, by LMTP, and from a user who logs in to submit it; what a login is answered is
judged, whatever is broken meanwhile."""

import base64
import hashlib
import hmac
import itertools
import os
import types

import qmtp
from records import Records
from smtp import Client, stuff
from stagepost import free_port, give_to_user
from tls_in import start_tls

USER, PASSWORD, WRONG = "ann", "tr0ub4dor", "tr0ub4dos"
SALT = b"salt of the test"
ROUNDS = 4096
HEADER = ("From: <{sender}>\r\nDate: Tue, 1 Jul 2025 10:52:37 +0200\r\n"
          "Message-ID: <{number}@client.test>\r\n")
NUMBERS = itertools.count(1)  # no two messages have one Message-ID
SETTINGS = """listen qmtp {{ address = "127.0.0.1:{qmtp}" }}
listen lmtp {{ address = "127.0.0.1:{lmtp}" }}
"""
LOGINS = """listen submission {{ address = "127.0.0.1:{submission}" auth_without_tls = local }}
auth {{ failure_limit = 0 }}
"""
DIRECTORY = 'directory {{ path = "{path}/directory.db" }}\n'


class Misjudged(ConnectionError):
    """A wrong password was believed, or a right one was called wrong."""


def b64(data):
    return base64.b64encode(data).decode()


def scram_keys(password):
    """As the directory stores them (RFC 5803)."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), SALT, ROUNDS)
    stored, server = (hmac.digest(salted, key, "sha256") for key in (b"Client Key", b"Server Key"))
    return (f"SCRAM-SHA-256${ROUNDS}:{b64(SALT)}${b64(hashlib.sha256(stored).digest())}:"
            f"{b64(server)}")


def worst_of(replies):
    """What became of a message by the codes of its recipients: it is accepted for all, or some
    must be tried again, or it is refused."""
    return next((reply for first in "45" for reply in replies if reply.startswith(first)), replies[0])


class QmtpClient(qmtp.Wire):
    """A session of QMTP. What it returns is as SMTP would say it."""

    path = None  # of a UNIX socket: none

    @property
    def sock(self):
        return self.socket

    def deliver(self, sender, recipients, message, before_dot=None):
        package = qmtp.package(message, sender, recipients, b"\r")
        self.send(package[:-1])
        if before_dot is not None:
            before_dot()
        self.send(package[-1:])
        try:
            answers = self.answers(len(recipients))
        except EOFError as end:
            raise ConnectionError(str(end)) from None
        return worst_of([{"K": "250 ", "Z": "451 ", "D": "550 "}[answer[:1]] + answer
                         for answer in answers])

    def break_off(self, sender, recipients, message):
        self.send(qmtp.package(message, sender, recipients, b"\r")[:len(message) // 2])
        self.socket.close()
        raise ConnectionError("broken off")

    def quit(self):
        self.socket.close()


class LmtpClient(Client):
    """Of LMTP (RFC 2033)."""

    def ehlo(self, name=""):
        self.ehlo_resp = b""  # smtplib asks for one otherwise
        return self.docmd("LHLO client.test")

    def deliver(self, sender, recipients, message, before_dot=None):
        for command in (f"MAIL FROM:<{sender}>", *(f"RCPT TO:<{to}>" for to in recipients), "DATA"):
            code, text = self.docmd(command)
            if code not in (250, 354):
                self.docmd("RSET")
                return f"{code} {text.decode()}"
        stuffed = stuff(message)
        self.sock.sendall(stuffed[:-3])
        if before_dot is not None:
            before_dot()
        self.sock.sendall(stuffed[-3:])
        replies = [self.getreply() for _ in recipients]
        return worst_of([f"{code} {text.decode()}" for code, text in replies])


def by_scram(client, password):
    """The last reply to an exchange by SCRAM-SHA-256 (RFC 7677) without a channel binding."""
    mine = f"n={USER},r={os.urandom(12).hex()}"
    code, said = client.docmd("AUTH", "SCRAM-SHA-256 " + b64(f"n,,{mine}".encode()))
    if code != 334:
        return code, said
    first = base64.b64decode(said).decode()
    fields = dict(part.split("=", 1) for part in first.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(fields["s"]),
                                 int(fields["i"]))
    final = f"c=biws,r={fields['r']}"
    signed = f"{mine},{first},{final}".encode()
    key = hmac.digest(salted, b"Client Key", "sha256")
    mask = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
    proof = bytes(a ^ b for a, b in zip(key, mask))
    code, said = client.docmd(b64(f"{final},p={b64(proof)}".encode()))
    if code != 334:
        return code, said
    proved = b"v=" + b64(hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), signed,
                                     "sha256")).encode()
    if base64.b64decode(said) != proved:
        raise Misjudged("the server does not know the password")
    return client.docmd("")


def by_plain(client, password):
    return client.docmd("AUTH", "PLAIN " + b64(f"\0{USER}\0{password}".encode()))


def by_login(client, password):
    """The last reply to an exchange by LOGIN."""
    reply = client.docmd("AUTH", "LOGIN")
    for word in USER, password:
        if reply[0] != 334:
            break
        reply = client.docmd(b64(word.encode()))
    return reply


MECHANISMS = (by_scram, by_plain, by_login)


class UserClient(Client):
    """A user's program. CONTEXT: it uses STARTTLS. TRIES: how often the password is wrong before
    it is right; a login that cannot be judged now is a ConnectionError."""

    def __init__(self, node, mechanism, context=None, tries=0, **options):
        super().__init__(node, **options)
        try:
            self._log_in(mechanism, context, tries)
        except Misjudged:
            self.close()
            raise
        except (OSError, AssertionError) as error:  # no TLS now
            self.close()
            raise ConnectionError(str(error)) from None

    def _log_in(self, mechanism, context, tries):
        if context is not None:
            start_tls(self, context)
            self.ehlo()
        for password in (*[WRONG] * tries, PASSWORD):
            code, text = mechanism(self, password)
            if (code == 235) != (password == PASSWORD) and code in (235, 535):
                raise Misjudged(f"{code} {text.decode()} to the password {password}")
            if code not in (235, 535):
                raise ConnectionError(f"{code} {text.decode()}")

    def deliver(self, sender, recipients, message, before_dot=None):
        return super().deliver(sender, recipients, HEADER.format(sender=sender, number=next(NUMBERS)).encode() + message,
                               before_dot)


class Listeners:
    """Of one node. HAS_LOGINS: it has users, who are in a directory of its own below BASE; or in
    the one that MORE, its settings, has."""

    def __init__(self, base, has_logins=False, more=""):
        self.has_logins = has_logins
        self.ports = {name: free_port("127.0.0.1") for name in ("qmtp", "lmtp", "submission")}
        self.mechanisms = itertools.cycle(MECHANISMS)
        self.misjudged = []
        self.path = None
        if has_logins and "directory {" not in more:
            self.path = os.path.join(base, "records")
            os.mkdir(self.path)
            give_to_user(self.path)

    def settings(self):
        return (SETTINGS + LOGINS * self.has_logins + DIRECTORY * (self.path is not None)).format(
            path=self.path, **self.ports)

    def add_user(self, mx, senders):
        """Who may send as anybody of the domain SENDERS."""
        if self.has_logins:
            with Records(mx) as records:
                records.put("user", USER, f"password {scram_keys(PASSWORD)}", f"send_as @{senders}")

    def _place(self, name):
        return types.SimpleNamespace(address="127.0.0.1", port=self.ports[name])

    def qmtp(self, **options):
        return QmtpClient(self.ports["qmtp"], **options)

    def lmtp(self, **options):
        return LmtpClient(self._place("lmtp"), **options)

    def submission(self, **options):
        """By one mechanism after the other. What must not be answered is in .misjudged as well: who
        calls may be a thread."""
        try:
            return UserClient(self._place("submission"), next(self.mechanisms), **options)
        except Misjudged as wrong:
            self.misjudged.append(str(wrong))
            raise
