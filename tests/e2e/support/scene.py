# SPDX-License-Identifier: ISC
"""A node with every way out, for campaigns that break something in it: mail goes in, a
fault falls, and the ledger says whether what was answered 250 came out."""

import glob
import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time

import lmtp
from listeners import Listeners, Misjudged
from policies import Asker
from secure_way import DOMAIN, IMPOSTOR, IMPOSTOR_AT, RIGHT, RIGHT_AT
from smtp import Client
from stagepost import POLL, Maildir, as_user, give_to_user, wait_until
from common.ledger import Ledger, judge, make_message

SENDERS = "from.test"
DOMAINS = ["a.test", SENDERS, 'domain "l.test" { service = box }',
           'domain "p.test" { service = run }', 'domain "m.test" { service = once }']
SETTINGS = """smtpd_workers = 1
probe_delay = 1
service box {{ kind = lmtp address = "unix:{socket}" }}
service run {{ kind = pipe command = {{ "{program}", "{folder}" }} }}
service once {{ kind = mailbox path = "{filed}/mail/%d/%u" sent = none }}
record {{ path = "{filed}/record/record.db" }}
{more}"""
PROGRAM = """#!/bin/sh
# a file for each message, its first line the recipient
{ echo "$RECIPIENT" && cat; } > "$1/new.$$" && mv "$1/new.$$" "$1/$QUEUE_ID.$(date +%s%N)"
"""

# what a message is sent to, for each way through the node
WAYS = {
    "local": ["u@a.test"],
    "remote": ["u@b.test"],
    "lmtp": ["u@l.test"],
    "pipe": ["u@p.test"],
    "filed": ["u@m.test", "v@m.test"],
    "mixed": ["u@a.test", "v@a.test", "u@b.test", "u@l.test", "u@p.test"],
    "bounce": ["bad@b.test", "u@a.test"],
    "later": ["later@b.test", "later@l.test", "u@a.test"],
    "command": ["u@a.test"],
    "qmtp": ["u@a.test", "v@a.test"],
    "lmtp_in": ["u@a.test", "v@a.test"],
    "submit": ["u@a.test", "u@b.test"],
    "secure": ["u@b.test", "u@a.test"],
    "first": ["u@b.test"],
}
SECURE_WAYS = ("secure", "first")  # with TLS; before the second, the domain's policy is forgotten
LOGIN_WAYS = ("submit",)  # need users; each time with a wrong password first


# of the source of a message: all of one size are the same but for their number
SMALL, LARGE = 7, 19


def stored_below(mail):
    """(recipient, text, when it was written) of everything in the Maildirs there."""
    for domain in os.listdir(mail):
        for box in os.listdir(os.path.join(mail, domain)):
            for path in Maildir(os.path.join(mail, domain, box)).files():
                with open(path, "rb") as file:
                    yield f"{box}@{domain}", file.read(), os.fstat(file.fileno()).st_mtime


def stored_in(node):
    return stored_below(node.mail)


class Refused(Exception):
    """A reply that good mail must not get."""


def answer(refusals):
    """Of a server, by how the address begins: "bad" for good, "later" the first REFUSALS() times: who is refused in
    a session that has taken mail asks again in a new one."""
    refused = {}

    def recipient(address):
        if address.startswith("bad"):
            return "550 5.1.1 nobody"
        if address.startswith("later") and refused.get(address, 0) < refusals():
            refused[address] = refused.get(address, 0) + 1
            return "451 4.3.0 later"
        refused.pop(address, None)
        return "250 2.1.5 ok"

    return recipient


class Scene:
    """NODE is the fixture; OPTIONS those of the node; what it runs is in SHIM's hands, if
    there is one. SECURE: a SecureWay, by which b.test is reached then; None: by a relay without
    TLS. LOGINS: it has a user, who submits mail."""

    def __init__(self, node, more="", shim=None, start=True, secure=None, logins=False, **options):
        self.secure = secure
        self.base = tempfile.mkdtemp(prefix="stagepost-scene-")
        os.chmod(self.base, 0o755)
        self.folder = os.path.join(self.base, "piped")
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o777)
        self.traces = os.path.join(self.base, "traces")
        os.mkdir(self.traces)
        os.chmod(self.traces, 0o777)
        program = os.path.join(self.base, "program")
        with open(program, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        os.chmod(program, 0o755)
        self.policies = os.path.join(self.base, "policies")
        os.mkdir(self.policies)
        give_to_user(self.policies)
        self.filed = os.path.join(self.base, "filed")
        for path in self.filed, f"{self.filed}/mail", f"{self.filed}/record":
            os.mkdir(path)
            give_to_user(path)
        self.impostor = None
        self.refusals = 1
        self.far = self._make_far()
        path = os.path.join(self.base, "lmtp")
        self.listeners = Listeners(self.base, logins, more)
        self.box = lmtp.Server(path, recipient=answer(lambda: self.refusals))
        routes = [] if secure else [f"b.test:{self.far.address.replace(':', ';')}"]
        more += self.listeners.settings() + (secure.settings(self.policies) if secure else "")
        self.mx = node("scene", start=False, domains=DOMAINS, routes=routes,
                       settings=SETTINGS.format(socket=path, program=program, folder=self.folder,
                                                filed=self.filed, more=more), **options)
        self.numbers = 0
        self.clients = 0
        self.size = SMALL
        self.environment = shim.environment if shim else {}  # of commands
        self.mx.prefix = shim.prefix if shim else []
        self.ledger = None
        self.forget()
        if start:
            self.mx.start()

    def _make_far(self):
        """Who takes what is for b.test; and who would like to."""
        if self.secure is None:
            return lmtp.Server(recipient=answer(lambda: self.refusals))
        self.secure.set_hosts(IMPOSTOR, RIGHT)
        self.impostor = lmtp.Server(listening=self.secure.listen(IMPOSTOR_AT),
                                    context=self.secure.context(f"foreign-{IMPOSTOR}"))
        return lmtp.Server(listening=self.secure.listen(RIGHT_AT),
                           context=self.secure.context(RIGHT), recipient=answer(lambda: self.refusals))

    def close(self):
        self.far.close()
        self.box.close()
        if self.impostor is not None:
            self.impostor.close()
        self.ledger.close()
        shutil.rmtree(self.base, ignore_errors=True)  # the node still makes files there; the ground's end takes them

    # --- mail in ---

    def send(self, way, timeout=20):
        """By SMTP, or by the command: the reply, "" where the connection broke. Raises
        Refused at a reply that tells the client never to come again."""
        number, text, recipients = self.begin(way)
        if way == "command":
            return self.enqueue(number, text, recipients)
        try:
            with self.client_of(way, timeout) as client:
                client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                reply = client.deliver(f"s@{SENDERS}", recipients, text,
                                       before_dot=lambda: self.ledger.write("dot", number))
        except Misjudged as wrong:
            raise Refused(str(wrong)) from None
        except OSError:
            return ""
        if reply.startswith("250 "):
            self.ledger.write("accepted", number, reply=reply)
        elif not reply.startswith("4"):
            raise Refused(reply)
        return reply

    def client_of(self, way, timeout):
        """Who sends mail of that WAY."""
        made = {"qmtp": self.listeners.qmtp, "lmtp_in": self.listeners.lmtp,
                "submit": lambda **options: self.listeners.submission(tries=1, **options)}
        return made.get(way, self.client)(timeout=timeout)

    def client(self, **options):
        """By STARTTLS, where the scene has that."""
        return self.secure.client(self.mx, **options) if self.secure else Client(self.mx, **options)

    def any_client(self, **options):
        """By each listener in turn: half of the sessions are of SMTP, and half of these use STARTTLS. One
        login in four begins with a wrong password."""
        self.clients += 1
        turn = self.clients % 12
        if turn % 2 == 0:
            return self.client(**options) if turn % 4 else Client(self.mx, **options)
        if turn % 6 == 1:
            return self.listeners.qmtp(**options)
        if turn % 6 == 3 or not self.listeners.has_logins:
            return self.listeners.lmtp(**options)
        return self.listeners.submission(context=self.secure and self.secure.client_context,
                                     tries=self.clients % 24 == 5, **options)

    def begin(self, way):
        self.numbers += 1
        text, sha256 = make_message(self.numbers, random.Random(self.size))
        recipients = [f"{word.partition('@')[0]}{self.numbers}@{word.partition('@')[2]}"
                      for word in WAYS[way]]
        self.ledger.write("begun", self.numbers, sha256=sha256, recipients=recipients)
        return self.numbers, text, recipients

    def command(self, *words, prefix=(), **options):
        """With PREFIX before it, it is what that runs."""
        return subprocess.run(
            [*as_user(), *prefix, os.path.join(self.mx.programs, "stagepost"), *words],
            env={**os.environ, "STAGEPOST_CONF": self.mx.conf}, cwd=self.mx.directory,
            capture_output=True, timeout=60, check=False, **options)

    def enqueue(self, number, text, recipients, prefix=()):
        """The message from standard input, the envelope from descriptor 1: so the
        command's output is a file."""
        envelope = f"Fs@{SENDERS}\0" + "".join(f"T{to}\0" for to in recipients) + "\0"
        self.ledger.write("dot", number)
        with tempfile.TemporaryFile() as file:
            file.write(envelope.encode())
            file.seek(0)
            command = [os.path.join(self.mx.programs, "stagepost"), "enqueue"]
            done = subprocess.run(
                [*as_user(), *prefix, *command], input=text.replace(b"\r\n", b"\n"),
                stdout=file, stderr=subprocess.PIPE, timeout=60, check=False, cwd=self.base,
                env={**os.environ, "STAGEPOST_CONF": self.mx.conf, **self.environment})
        if done.returncode == 0:
            self.ledger.write("accepted", number, reply="exit 0")
            return "250 exit 0"
        # as qmail reads the statuses of qmail-queue: 11 to 40 are for good; and not its usage, 81
        if done.returncode < 0 or done.returncode in (51, 52, 53, 54, 55, 62, 71, 91, 137):
            return f"4 exit {done.returncode}: {done.stderr.decode()}"
        raise Refused(f"exit {done.returncode}: {done.stderr.decode()}")

    # --- mail out ---

    def retry(self):
        """Has all that waits tried now, as an operator would."""
        self.command("queue", "retry", "--all", "--yes")

    def settle(self, timeout=20, patience=0.3, idle=None, mark=0):
        """Until the queue is empty: what waits is retried, when nothing has gone for
        PATIENCE; for IDLE, if there is one, when nothing was deferred since that MARK of the log:
        then it is only slow. How often that was."""
        end = time.monotonic() + timeout
        retries = 0
        waiting, since = None, time.monotonic()
        while True:
            now = self.mx.control_files()
            if not now and not self.mx.control_files():
                return retries
            if now != waiting:
                waiting, since = now, time.monotonic()
            elif time.monotonic() - since > (
                    patience if idle is None or self.mx.log.find("deferred", mark) else idle):
                retries += 1
                self.retry()
                waiting, since = None, time.monotonic()
            if time.monotonic() > end:
                raise AssertionError(f"the queue does not get empty: {now}\n{self.mx.log.tail()}")
            time.sleep(POLL / 2)

    def copies(self):
        """(recipient, text, when it came) of all that came out, but for reports."""
        yield from stored_below(f"{self.filed}/mail")
        for copy in stored_in(self.mx):
            if not copy[0].endswith("@" + SENDERS):
                yield copy
        for server in self.far, self.box:
            for (recipients, text), when in zip(server.messages, server.times):
                for recipient in recipients:
                    yield recipient, text.replace(b"\r\n", b"\n"), when
        for name in os.listdir(self.folder):
            if not name.startswith("new."):
                with open(os.path.join(self.folder, name), "rb") as file:
                    recipient, _, text = file.read().partition(b"\n")
                yield recipient.decode(), text, int(name.rpartition(".")[2]) / 1e9

    # --- what must be secret ---

    def prepare(self):
        """The node runs, and gets its user, and the policy of others."""
        self.listeners.add_user(self.mx, SENDERS)
        self.learn_policy()

    def learn_policy(self):
        """From then on there is no excuse for mail that goes to others or in plain text, whatever
        fails. The node runs."""
        if self.secure is None:
            return
        with Asker(self.mx) as asker:
            assert asker.ask(DOMAIN).mode == "enforce"
        wait_until(lambda: self._kept_policies(), "the policy is on the disk")

    def start_again(self, way):
        """For mail of that WAY. Of the way "first", mail goes as without a policy when it cannot be
        fetched: then there is no impostor."""
        self.mx.stop()
        if way == "first":
            for path in self._kept_policies():
                os.unlink(path)
            self.secure.set_hosts(RIGHT)
        self.mx.start()

    def _kept_policies(self):
        return glob.glob(f"{self.policies}/mta-sts/{DOMAIN}*")

    def open_mail(self):
        """What others than the right server may have read."""
        if self.secure is None:
            return []
        return [*self.far.plain, *self.impostor.plain,
                *(str(recipients) for recipients, _ in self.impostor.messages + self.impostor.broken)]

    def forget_open_mail(self):
        self.far.plain.clear()
        for kept in self.impostor.plain, self.impostor.messages, self.impostor.broken:
            kept.clear()

    def reports(self):
        return self.mx.maildir(f"s@{SENDERS}").messages()

    def judge(self, queued=()):
        return judge(self.ledger, [copy[:2] for copy in self.copies()], queued, self.reports())

    def forget(self):
        """What came out, and what was to come: the next message begins anew."""
        if self.ledger is not None:
            self.ledger.close()
        handle, path = tempfile.mkstemp(prefix="ledger", dir=self.base)
        os.close(handle)
        self.ledger = Ledger(path)
        for mail in self.mx.mail, f"{self.filed}/mail":
            for domain in os.listdir(mail):
                shutil.rmtree(os.path.join(mail, domain))
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        for server in self.far, self.box:
            server.messages.clear()
            server.times.clear()
        if self.impostor is not None:
            self.forget_open_mail()

    def listing(self):
        """What "queue list" tells."""
        done = self.command("queue", "list", "--json")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def wait_ready(self, since):
        """Until all that ended since that mark of the log was started again."""
        def ready():
            ended = self.mx.log.find("process_ended", since=since)
            started = self.mx.log.find("process_started", since=since)
            return len(started) >= len(ended)

        wait_until(ready, "what was killed is started again")
