# SPDX-License-Identifier: ISC
"""Nodes each of whose processes has a user of its own, and what these can do from inside:
tests/sandbox/inside.c stops a process and makes it call the system."""

import os
import platform
import subprocess

import pytest
from stagepost import BUILD, PATIENCE, is_root

INSIDE = os.path.join(BUILD, "tests/sandbox/inside")
WITHOUT = os.path.join(BUILD, "tests/sandbox/without")
# The versions of Landlock that are tried: the kernel's own; that of Linux 6.1, which knows no
# network, signals or abstract sockets; none.
LANDLOCKS = [None, 2, 0]
# Who plays whom: users whom the system has anyway, or with the name servers that tests ask. "nobody" owns the queue.
USERS = {"smtpd": "games", "qmtpd": "bin", "resolve": "daemon", "names": "sync", "policy": "proxy", "decode": "sys", "keys": "irc", "auth": "list", "remote": "man", "lmtp": "lp", "local": "mail", "mailbox": "_apt",
         "pipe": "news", "list": "uucp", "directory": "backup", "handover": "unbound", "noded": "nsd"}
OWNER = "nobody"
PROCESSES = "".join(f"process {name} {{ user = {user} }}\n" for name, user in USERS.items())

NEEDS = [
    pytest.mark.skipif(not is_root(), reason="only root can become others, and trace them"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="inside.c knows one machine")]


def inside(pid, call, *arguments):
    """What the CALL returns to the process: a number, or "-EPERM"."""
    ended = subprocess.run([INSIDE, str(pid), call, *map(str, arguments)], check=False,
                           capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, f"{call} in {pid}: {ended.stderr}"
    return ended.stdout.strip()


def with_landlock(version):
    """The start of a command line for a kernel with that VERSION of Landlock."""
    return [] if version is None else [WITHOUT, "--landlock", str(version)]


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return {name: value.split() for name, _, value in
                (line.partition(":") for line in status)}
