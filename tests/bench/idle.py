# SPDX-License-Identifier: ISC
"""Thousands of sessions that wait after their EHLO, without TLS and with it: what they take of
memory."""
import os
import resource
import socket
import subprocess

import measure

EACH_ADDRESS = 1000  # sessions; a pair of addresses has about 28,000 ports
SPARE_DESCRIPTORS = 200
GOAL_SESSIONS = 10000
GOAL_MIB = 60  # of all processes together, with that many
GOAL_TLS_MIB = 250  # of those that have TLS, with that many
TLS_PROCESSES = ("smtpd", "keys")


def possible_sessions(wanted):
    """As many as descriptors allow to this process and to its children."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(wanted, hard - SPARE_DESCRIPTORS)


def open_session(port, number):
    source = f"127.0.0.{2 + number // EACH_ADDRESS}"
    connection = socket.create_connection(("127.0.0.1", port), 30, (source, 0))
    connection.recv(512)
    connection.sendall(b"EHLO client.example\r\n")
    if not connection.recv(4096).startswith(b"250"):
        raise RuntimeError("EHLO was refused")
    return connection


def idle_memory(system, wanted):
    """PSS of all processes before and with that many sessions."""
    sessions = possible_sessions(wanted)
    before = measure.pss_bytes(system.pid)
    connections = []
    try:
        for number in range(sessions):
            connections.append(open_session(system.port, number))
        total = measure.pss_bytes(system.pid)
        return {"sessions": sessions, "wanted": wanted, "before": before, "total": total,
                "each": (total - before) / sessions}
    finally:
        for connection in connections:
            connection.close()


def tls_bytes(root):
    return sum(measure.pss_of(pid) for pid in measure.tree(root)
               if measure.name_of(pid) in TLS_PROCESSES)


def idle_tls_memory(system, wanted, build):
    """PSS of the processes that have TLS, before and with that many sessions."""
    sessions = possible_sessions(wanted)
    before = tls_bytes(system.pid)
    source = subprocess.Popen(
        [os.path.join(build, "tests/bench/tls_source"), "-i", str(sessions),
         f"127.0.0.1:{system.port}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        said = source.stdout.readline()
        if said != f"ready {sessions} handshakes 0 resumed\n":
            raise RuntimeError(f"tls_source did not get ready: {said!r}")
        total = tls_bytes(system.pid)
        return {"sessions": sessions, "wanted": wanted, "before": before, "total": total,
                "each": (total - before) / sessions}
    finally:
        source.stdin.close()
        source.wait(60)
