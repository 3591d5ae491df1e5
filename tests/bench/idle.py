# SPDX-License-Identifier: ISC
"""Thousands of sessions that wait after their EHLO: what they take of memory."""
import resource
import socket

import measure

EACH_ADDRESS = 1000  # sessions; a pair of addresses has about 28,000 ports
SPARE_DESCRIPTORS = 200
GOAL_SESSIONS = 10000
GOAL_MIB = 60  # of all processes together, with that many


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
