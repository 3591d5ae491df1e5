# SPDX-License-Identifier: ISC
"""Large data go to who sends or files them as a file. A disk that changes them after "send" has
compared them, for each way out: nobody gets them as if they were whole."""

import contextlib
import glob
import os
import signal
import subprocess

import pytest
from dovecot import PASSWORD, Dovecot
from records import Records
from smtp import Client
from stagepost import as_user, free_port, give_to_user, wait_until

TEXT = (b"Subject: damage\r\nMessage-ID: <1@client.test>\r\n\r\n" + b"A line of the message.\r\n" * 8000 +
        b"The last line will change.\r\n")
OLD, NEW = b"will change", b"has changed"


class Way:
    """A node with one way out, its PROGRAM, and where it ends."""

    def __init__(self, node, kind):
        self.program = {"mbox": "local", "maildir": "local", "imap": "mailbox"}.get(kind, kind)
        self.mx = node("mx", start=False, domains=['domain "box.test" { service = box }'])
        self.recipient = "bob@box.test"
        self.place = f"{self.mx.mail}/box.test/bob"
        self.dovecot = None
        getattr(self, kind)(node)
        self.mx.write_configuration()
        self.mx.start()

    # --- the ways ---

    def maildir(self, _):
        self.mx.settings = f'service box {{ kind = maildir path = "{self.mx.mail}/%d/%u" }}\n'

    def mbox(self, _):
        os.makedirs(f"{self.mx.mail}/box.test")
        os.chmod(f"{self.mx.mail}/box.test", 0o777)
        self.mx.settings = f'service box {{ kind = mbox path = "{self.mx.mail}/%d/%u" }}\n'

    def mailbox(self, _):
        self.mx.settings = (f'service box {{ kind = mailbox path = "{self.mx.mail}/%d/%u" sent = none }}\n'
                            f'record {{ path = "{self.mx.directory}/record.db" }}\n')

    def imap(self, _):
        self.dovecot = Dovecot([self.recipient])
        password = f"{self.mx.directory}/password"
        with open(password, "w", encoding="ascii") as file:
            file.write(PASSWORD + "\n")
        give_to_user(password)
        os.chmod(password, 0o600)
        self.mx.settings = (f'service box {{ kind = imap address = "127.0.0.1:{self.dovecot.port}" security = plain '
                            f'login = "%a" password_file = "{password}" }}\n'
                            f'record {{ path = "{self.mx.directory}/record.db" }}\n')
        self.place = f"{self.dovecot.base}/mail"

    def pipe(self, _):
        self.mx.settings = ('service box { kind = pipe command = { "/bin/sh", "-c", '  # whole only after the end of input
                            f'"cat > {self.mx.mail}/part.$$ && mkdir -p {self.place} && mv {self.mx.mail}/part.$$ '
                            f'{self.place}/" }} }}\n')

    def _hop(self, node, listen=""):
        port = free_port()
        hop = node("hop", domains=["box.test"], settings=listen.format(port=port))
        self.place = hop.maildir("bob@box.test").path
        return port if listen else hop.port

    def lmtp(self, node):
        port = self._hop(node, 'listen lmtp {{ address = "127.0.0.1:{port}" }}\n')
        self.mx.settings = f'service box {{ kind = lmtp address = "127.0.0.1:{port}" }}\n'

    def remote(self, node):
        self.mx.domains = []
        self.mx.routes = [f"box.test:127.0.0.1;{self._hop(node)}"]

    def qmtp(self, node):
        self.program, self.mx.domains = "remote", []
        port = self._hop(node, 'listen qmtp {{ address = "127.0.0.1:{port}" }}\n')
        self.mx.settings = f'qmtproutes = {{ "box.test:[127.0.0.1];{port}" }}\n'

    def list(self, _):
        self.mx.settings = (f'service box {{ kind = maildir path = "{self.mx.mail}/%d/%u" }}\n'
                            f'directory {{ path = "{self.mx.directory}/directory.db" }}\n')
        self.recipient = "list@list.test"

    def found(self):
        """What has arrived, in files that are whole by their names."""
        texts = []
        for path in [self.place, *glob.glob(f"{self.place}/**", recursive=True)]:
            if os.path.isfile(path) and "tmp" not in path[len(self.place):].split("/"):
                with open(path, "rb") as file:
                    texts.append(file.read())
        return [text for text in texts if b"A line" in text]

    def run(self, *words):
        ended = subprocess.run([*as_user(), f"{self.mx.programs}/stagepost", "queue", *words, "--all", "--yes", "-c",
                                self.mx.conf], check=False, timeout=60, capture_output=True, stdin=subprocess.DEVNULL)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


@pytest.fixture
def way_of(node):
    ways = []

    def make(kind):
        ways.append(Way(node, kind))
        return ways[-1]

    yield make
    for way in ways:
        if way.dovecot:
            way.dovecot.close()


@contextlib.contextmanager
def stopped(mx, program):
    pids = mx.pids(program)
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def change_data(mx):
    """As a disk does: the same file, other bytes."""
    (path,) = [path for path in mx.data_files().values() if os.path.getsize(path) > len(TEXT)]
    with open(path, "r+b") as file:
        at = file.read().rindex(OLD)
        file.seek(at)
        file.write(NEW)


@pytest.mark.parametrize("kind", ["maildir", "mbox", "mailbox", "imap", "pipe", "lmtp", "remote", "qmtp", "list"])
def test_damaged_on_the_way(way_of, kind):
    way = way_of(kind)
    mx = way.mx
    if kind == "list":
        with Records(mx) as records:
            records.put("domain", "list.test", "kind local", "service box")
            records.list("list@list.test", ["bob@box.test"], "owner@box.test")
    with stopped(mx, way.program):
        with Client(mx) as client:
            assert client.deliver("sender@client.test", [way.recipient], TEXT).startswith("250")
        change_data(mx)
    tried = mx.log.wait("deferred", to=way.recipient)
    assert tried["status"] == "4.3.0" and "not those that were written" in tried["text"], tried
    assert not way.found()
    # the next time "send" compares them
    wait_until(lambda: glob.glob(mx.queue + "/info/*/*"), "it waits")
    way.run("retry")
    mx.log.wait("data_damaged")
    assert not way.found()
    # an operator wants what is there
    way.run("release", "--damaged")
    wait_until(way.found, "it arrives")
    (text,) = way.found()
    assert NEW in text and OLD not in text
    mx.wait_empty()
