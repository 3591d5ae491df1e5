# SPDX-License-Identifier: ISC
"""As test_hostile_processes.py, to the processes of TLS: to "keys" by whoever has taken "lmtp" over,
to "policy" by whoever has "remote"."""

import contextlib
import os
import random
import shutil
import signal
import struct

import pytest
from inside import PROCESSES, USERS
from stagepost import free_port, is_alive, is_root, wait_until
from test_hostile_processes import TEXT, Peer, judge, mutate, processes, text, u32
from tls_in import HOST, Certificates, context_for, session_with

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can become others")


@pytest.fixture(scope="module")
def certificates(ground):
    return Certificates(ground.directory("certificates"), HOST)


# who is asked by whom, and sentences as they should be
TLS_SENTENCES = {
    "keys": ("lmtp", [(1, 3, text(b"k" * 32) + u32(3) + u32(1) + text(b"d" * 32)),
                      (1, 1, b"x" * 100), (1, 2, b""), (1, 4, text(b"s" * 70))]),
    "policy": ("remote", [(1, 1, text(b"b.test")), (1, 1, text(b"a.b.c.d.test")), (1, 3, bytes(28)),
                          (1, 2, text(b"b.test") + u32(1) + text(b"") + u32(0) + 4 * text(b"mx.b.test"))]),
}


@pytest.mark.parametrize("name", TLS_SENTENCES)
def test_any_bytes_to_the_processes_of_tls(node, ground, certificates, name):
    """As to the others; and who is none of their clients is not heard at all."""
    mx = tls_node(node, ground, certificates)
    pids = processes(mx, "keys", "policy", "smtpd", "remote")
    client, right = TLS_SENTENCES[name]
    source = random.Random(name)
    for _ in range(300):
        with Peer(mx, name, USERS[client]) as peer:
            with contextlib.suppress(OSError):  # ended already
                for _ in range(source.randint(1, 4)):
                    version, kind, body = source.choice(right)
                    peer.socket.send(mutate(source, struct.pack("<HHI", version, kind, 1) + body))
    with Peer(mx, name, USERS[client]) as peer:  # of who leaves at once nothing may be read
        peer.say(0xffff)
        mx.log.wait("ipc_refused")
    for stranger in "local", "names":
        with Peer(mx, name, USERS[stranger]) as peer:
            assert peer.is_ended()
    with session_with(mx, context_for(certificates)) as client:
        assert client.deliver("", "anna@a.test", TEXT).startswith("250 ")
    judge(mx, pids)


def tls_node(node, ground, certificates):
    """With a user for each process."""
    policies = ground.directory("policies")
    shutil.chown(policies, USERS["policy"])
    mx = node(switch_user=True, start=False, settings=PROCESSES + certificates.section(HOST) +
              f'mta_sts = yes\ndns_server = "127.0.0.1@{free_port()}"\npolicy_path = "{policies}"\n')
    shutil.chown(mx.mail, USERS["local"])
    return mx.start()


def test_nobody_takes_all_places_at_keys(node, ground, certificates):
    """Whoever has taken "lmtp" over connects as often as he can: those who need certificates then
    still get them."""
    mx = tls_node(node, ground, certificates)
    with contextlib.ExitStack() as stack:
        connect = lambda: stack.enter_context(Peer(mx, "keys", USERS["lmtp"]))
        for _ in range(600):
            connect()
        mx.log.wait("ipc_refused")
        mark = mx.log.mark()
        os.kill(mx.process.pid, signal.SIGSTOP)
        killed = [mx.kill("smtpd", number) for number in range(len(mx.pids("smtpd")))]
        wait_until(lambda: not any(map(is_alive, killed)), "their places are free")
        for _ in range(10):
            connect()
        os.kill(mx.process.pid, signal.SIGCONT)
        mx.log.wait("process_started", since=mark, program="smtpd", count=len(killed))
        with session_with(mx, context_for(certificates)) as client:
            assert client.deliver("", "anna@a.test", TEXT).startswith("250 ")
    mx.maildir("anna@a.test").wait()
