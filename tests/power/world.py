# SPDX-License-Identifier: ISC
"""The whole system on a disk, its clients and the servers it delivers to. All that they see
goes into a ledger, with how far the disk was.

Addresses tell what is to happen: NAME@a.test is a Maildir, @l.test behind LMTP, @r.test
behind SMTP with TLS; fail-NAME is refused for good, later-NAME deferred unless the sinks are
merciful. Half of the clients use STARTTLS.
Message N comes from sN@s.test, where bounces are taken."""

import atexit
import functools
import itertools
import os
import random
import re
import shutil
import ssl
import subprocess
import tempfile

from lmtp import Server
from secure_way import SecureClient
from smtp import Client
from stagepost import Node, as_user, give_to_user
from tls_in import HOST, Certificates, context_for
from common.ledger import Generator, make_message, read_message, read_report

SIZES = (0, 0, 100, 3000, 3000, 8000, 8000, 20000, 40000, 300000)
SETTINGS = """
domain "l.test" {{ service = lmtp }}
service lmtp {{ kind = lmtp address = "{lmtp}" }}
queue_sync = {sync}
remote_tls = encrypt
tls_reports = yes
policy_path = "{policies}"
dns_server = "127.0.0.1@9"
{certificate}"""
SINK = "sink.test"
ENQUEUE_PAUSE = 0.1  # seconds
SENDER = re.compile(r"^s(\d+)@s\.test$")


def some_recipients(number, source):
    names = ([f"box{source.randrange(12)}@a.test"], [f"u{number}@r.test"], [f"u{number}@l.test"],
             [f"box{source.randrange(12)}@a.test", f"u{number}@r.test", f"u{number}@l.test"],
             [f"u{number}@r.test", f"v{number}@r.test"],
             [f"u{number}@l.test", f"v{number}@l.test", f"box{source.randrange(12)}@a.test"])
    chosen = list(source.choice(names))
    if source.random() < 0.06:
        chosen.append(source.choice((f"fail-{number}@r.test", f"fail-{number}@l.test")))
    if source.random() < 0.06:
        chosen.append(source.choice((f"later-{number}@r.test", f"later-{number}@l.test")))
    return chosen


@functools.cache
def certificates():
    """Of a node and of the servers, for as long as we run."""
    directory = tempfile.mkdtemp(prefix="stagepost-power-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    os.chmod(directory, 0o755)
    return Certificates(directory, HOST, SINK)


def server_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*(certificates().path(f"{SINK}.{kind}") for kind in ("pem", "key")))
    return context


class Sinks:
    """What they take is written to LEDGER: "delivered" with a recipient and what is wrong with
    the text, or "bounced" with the recipients that a report names."""

    def __init__(self, folder, ledger, merciful=False):
        self.ledger = ledger
        self.merciful = merciful
        self.smtp = Server(recipient=self._reply, taken=self._taken, context=server_context())
        path = os.path.join(folder, "lmtp")
        if os.path.exists(path):
            os.unlink(path)
        self.lmtp = Server(path, final=self._reply, taken=self._taken)

    def _reply(self, address):
        if address.startswith("fail-"):
            return "550 5.1.1 never"
        if address.startswith("later-") and not self.merciful:
            return "450 4.2.0 later"
        return "250 2.0.0 ok"

    def _taken(self, recipients, text):
        stored = text.replace(b"\r\n", b"\n")
        entries = self.ledger.known
        for recipient in recipients:
            sender = SENDER.match(recipient)
            if sender:
                self._bounced(int(sender.group(1)), stored)
            elif self._reply(recipient).startswith("2"):
                number, problem = read_message(stored, entries)
                if problem is None and recipient not in entries[number]["recipients"]:
                    problem = "somebody else's"
                self.ledger.write("delivered", number, to=recipient, problem=problem)

    def _bounced(self, number, stored):
        about, named = read_report(stored) or (None, ())
        problem = None if about == number else "a report that is not about its message"
        self.ledger.write("bounced", number, recipients=sorted(named), problem=problem)

    def close(self):
        self.smtp.close()
        self.lmtp.close()


def enqueue(mx, text, sender, recipients):
    """The command's exit status. Its descriptor 1 is the envelope."""
    envelope = b"F%s\0" % sender.encode() + b"".join(
        b"T%s\0" % name.encode() for name in recipients) + b"\0"
    with tempfile.TemporaryFile() as file:
        file.write(envelope)
        file.seek(0)
        return subprocess.run(
            [*mx.prefix, *as_user(), os.path.join(mx.programs, "stagepost"), "enqueue", "-c",
             mx.conf, "-s", "arrive"], input=text, stdout=file, check=False, timeout=60).returncode


class Load(Generator):
    """Sends messages; some end in the middle, some are refused after their final dot. One
    thread queues messages by a command."""

    def __init__(self, mx, ledger, connections, pause, seed):
        context = context_for(certificates())
        clients = itertools.cycle((lambda: Client(mx, timeout=20),
                                   lambda: SecureClient(mx, context, timeout=20)))
        super().__init__(ledger, lambda: next(clients)(), None, connections=connections,
                         pause=pause, seed=seed)
        self.start(self._enqueue_some, mx, seed)

    def _enqueue_some(self, mx, seed):
        source = random.Random(seed - 1)
        while not self._stop.wait(ENQUEUE_PAUSE):
            number = self.next_number()
            text, sha256 = make_message(number, source, SIZES)
            recipients = some_recipients(number, source)
            self.ledger.write("begun", number, sha256=sha256, recipients=recipients)
            self.ledger.write("dot", number)
            status = enqueue(mx, text, f"s{number}@s.test", recipients)
            self.ledger.write("accepted" if status == 0 else "refused", number)

    def _send(self, client, source):
        number = self.next_number()
        text, sha256 = make_message(number, source, SIZES)
        recipients = some_recipients(number, source)
        fate = source.random()
        self.ledger.write("begun", number, sha256=sha256, recipients=recipients)
        sender = f"s{number}@s.test"
        if fate < 0.03:
            self._break_off(client, sender, recipients, text)
        if fate < 0.06:
            reply = client.deliver(sender, recipients, text + b"bare\nfeed\r\n")
            assert not reply.startswith("2"), reply
            raise ConnectionError(reply)
        self.send_whole(client, number, sender, recipients, text)

    @staticmethod
    def _break_off(client, sender, recipients, text):
        client.docmd(f"MAIL FROM:<{sender}>")
        for recipient in recipients:
            client.docmd(f"RCPT TO:<{recipient}>")
        client.docmd("DATA")
        client.sock.sendall(text[:len(text) // 2])
        client.close()
        raise ConnectionError("broken off")


def make_node(programs, folder, disk, sinks, sync="auto"):
    """Not started. FOLDER: for all that is not on the DISK."""
    os.makedirs(folder, exist_ok=True)
    give_to_user(folder)
    give_to_user(disk)
    return Node(programs, folder, queue=os.path.join(disk, "queue"),
                mail=os.path.join(disk, "mail"), listen="bare_newline = reject",
                routes=[f"{domain}:127.0.0.1;{sinks.smtp.server.server_address[1]}"
                        for domain in ("r.test", "s.test")],
                settings=SETTINGS.format(
                    lmtp=sinks.lmtp.address, sync=sync, policies=os.path.join(disk, "policies"),
                    certificate=certificates().section(HOST)))
