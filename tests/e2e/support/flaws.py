# SPDX-License-Identifier: ISC
"""What the cases of published flaws share: nothing is harmed, nothing is made."""

import os
import shutil
import tempfile

import pytest
from hostile import Server
from smtp import deliver
from stagepost import Node, free_port, split_trace
from test_hostile_clients import peak_memory

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
MEMORY = 32 << 10  # KiB, of any process


@pytest.fixture
def marker():
    """A file that must not come to be. Its path fits into an address."""
    with tempfile.TemporaryDirectory(prefix="f") as directory:
        os.chmod(directory, 0o777)
        yield os.path.join(directory, "m")
        assert not os.listdir(directory)


def check(mx, pids):
    """The node works as before."""
    deliver(mx, "good@a.test", TEXT)
    split_trace(mx.maildir("good@a.test").wait()[0], TEXT.replace(b"\r\n", b"\n"))
    assert mx.pids() == pids
    assert all(peak_memory(pid) < MEMORY for pid in pids)


@pytest.fixture
def unharmed():
    """unharmed(mx) is the node, which works as before when the test is over."""
    nodes = {}
    yield lambda mx: nodes.update({mx: mx.pids()}) or mx
    for mx, pids in nodes.items():
        check(mx, pids)


@pytest.fixture(scope="module")
def shared_node(ground):
    port = free_port()
    server = Server()
    mx = Node(ground.programs, ground.directory("shared"), unsafe=ground.unsafe,
              routes=[f"b.test:127.0.0.1;{server.port}"], listen="bare_newline = reject",
              settings=f'listen smtp {{ address = "127.0.0.1:{port}" proxy = yes }}\n'
                       "proxy_timeout = 1\nmaxerrors = 10000\nmaxcommands = 10000\n")
    mx.proxy_port, mx.server = port, server
    with mx:
        yield mx
    server.close()


@pytest.fixture
def shared(shared_node):
    """One node for many tests, with a "server" for b.test and a listener for proxies at
    "proxy_port". Each begins with empty mailboxes and "since" in the log, and leaves it as it
    was."""
    pids = shared_node.pids()
    for domain in os.listdir(shared_node.mail):  # itself is what "local" may write to
        shutil.rmtree(os.path.join(shared_node.mail, domain))
    shared_node.since = shared_node.log.mark()
    yield shared_node
    shared_node.server.mend()
    check(shared_node, pids)
