# SPDX-License-Identifier: ISC
"""Each kind of section comes, changes and goes by reloads while mail goes to another host, and while that host
keeps an answer back: the processes live on, and each message arrives once.

tests/unit/deliver/remote/test_remote_reload.c does the same at each point of a session."""

import os
import re
import subprocess
import threading

import pytest
from smtp import deliver
from stagepost import BUILD, free_port, wait_until
from test_limits_out import Hop
from tls_in import Certificates

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
ONCE = 'service once {{ kind = mailbox path = "{mail}/%d/%u" }} record {{ path = "{data}/NAME.sqlite" }}'
NODE = 'node {{ certificate = "{chain}.pem" key = "{chain}.key" authority = "{chain}.pem" }} '
# what comes, and what it becomes
SECTIONS = {
    "listen": ('listen qmtp {{ address = "127.0.0.1:{port}" }}', 'listen qmqp {{ address = "127.0.0.1:{port}" clients = 127.0.0.1 }}'),
    "service": ('service hop {{ kind = lmtp address = "127.0.0.1:9" }}', 'service hop {{ kind = lmtp address = "127.0.0.1:10" }}'),
    "domain": ('domain "more.test" {{ service = maildir }}', 'domain "more.test" {{ service = maildir addresses = ann }}'),
    "transport": ("transport remote {{ concurrency = 3 }}", "transport remote {{ destination_concurrency = 2 }}"),
    "process": ('process remote {{ user = "" }}', 'process lmtp {{ user = "" }}'),
    "certificate": ('certificate c {{ chain = "{chain}.pem" key = "{chain}.key" }}', 'certificate d {{ chain = "{chain}.pem" key = "{chain}.key" }}'),
    "tls": ('tls "[127.0.0.1]" {{ level = none }}', 'tls "[127.0.0.1]" {{ level = may }}'),
    "class": ('class 127.0.0.1 {{ queue = 9 refuse = 99 count = all }}\nclass "*" {{ queue = 9 refuse = 99 }}',
              'class "*" {{ queue = 8 refuse = 99 }}'),
    "rate": ("rate r {{ count = messages limit = 9999 interval = 1h }}", "rate q {{ count = bytes limit = 1G interval = 1h }}"),
    "source": ("source s {{ addresses = 127.0.0.1 }} source = s", "source s {{ addresses = 127.0.0.2 }} source = s"),
    "destination": ('destination "mx:127.0.0.1" {{ messages = 900 }}', 'destination "*" {{ messages = 800 concurrency = 9 }}'),
    "node": ('node {{ name = "a.test" }}', 'node {{ name = "b.test" doubt = 5s }}'),
    "stage": (NODE + "stage submit {{ nodes = one }}", NODE + "stage submit {{ nodes = other }}"),
    "directory": ('directory {{ path = "{data}/directory.sqlite" }}', 'directory {{ path = "{data}/directory.sqlite" ttl = 5s }}'),
    "auth": ('auth {{ users = dovecot socket = "{data}/one" }}', 'auth {{ users = dovecot socket = "{data}/other" }}'),
    "record": (ONCE.replace("NAME", "record"), ONCE.replace("NAME", "other")),
    "rule": (ONCE + " rule r {{ folder = A }}", ONCE + " rule q {{ folder = B }}"),
}
NEEDS_RESTART = ("directory",)


def kinds():
    """All that there are, by the manual, which is derived from the table of settings."""
    page = subprocess.run([os.path.join(BUILD, "stagepost"), "manual"], capture_output=True, text=True,
                          check=True).stdout
    return re.findall(r"^\.Ss ([a-z]+)\b.* \{ \.\.\. \}$", page, re.M)


@pytest.fixture
def hops():
    made = Hop(), Hop(is_held=False)
    yield made
    for hop in made:
        hop.let_all_go()
        hop.server.shutdown()
        hop.server.server_close()


class Load:
    """Mail for the hop that holds nothing back, one message after the other, until it is left."""

    def __init__(self, node, hop):
        self.node = node
        self.hop = hop
        self.sent = []
        self.is_over = False
        self.thread = threading.Thread(target=self._send, daemon=True)

    def _send(self):
        while not self.is_over:
            address = f"m{len(self.sent)}@free.test"
            deliver(self.node, address, TEXT)
            self.sent.append(address)
            wait_until(lambda: len(self.hop.order) + 3 >= len(self.sent), "no more than three are under way")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.is_over = True
        self.thread.join(60)


def test_each_section_comes_changes_and_goes(node, hops, ground):
    """A message waits for its answer meanwhile: that session is the oldest configuration's to the end."""
    held, free = hops
    data = ground.directory("data")
    mx = node(routes=[f"held.test:[127.0.0.1];{held.port}", f"free.test:[127.0.0.1];{free.port}"])
    where = {"mail": mx.mail, "data": data, "chain": Certificates(ground.directory("certificates"), "mx.test").path("mx.test"), "port": free_port()}
    assert kinds() == list(SECTIONS)
    with Load(mx, free) as load:
        for kind, texts in SECTIONS.items():
            deliver(mx, f"{kind}@held.test", TEXT)
            wait_until(lambda kind=kind: f"{kind}@held.test" in held.order, "its answer is kept back")
            for text in (*texts, ""):
                mx.settings = text.format(**where) + "\n"
                mx.write_configuration()
                mx.reload("config_refused" if kind in NEEDS_RESTART and text else "config_reloaded")
                count = len(load.sent)
                wait_until(lambda count=count: len(load.sent) > count + 3, "mail goes on")
            held.let_go()
            mx.log.wait("delivered", to=f"{kind}@held.test")
    mx.wait_empty()
    assert held.order == [f"{kind}@held.test" for kind in SECTIONS]
    assert sorted(free.order) == sorted(load.sent)  # each once
    ended = [event for event in mx.log.find("process_ended") if event["status"].startswith("signal")]
    assert not ended and not mx.log.find("failed"), ended
