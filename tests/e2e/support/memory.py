# SPDX-License-Identifier: ISC
"""Looks for private keys in the memory of processes."""

import re
import subprocess

from stagepost import PATIENCE


def secret_of(path):
    """The number that the private key at PATH is, in the order in which OpenSSL keeps it."""
    text = subprocess.run(["openssl", "pkey", "-in", path, "-noout", "-text"], check=True,
                          capture_output=True, timeout=PATIENCE).stdout.decode()
    digits = re.search(r"(?:priv|prime1):((?:\s+[0-9a-f:]+)+)", text).group(1)
    number = bytes.fromhex(re.sub(r"[\s:]", "", digits)).lstrip(b"\0")
    return number, number[::-1]


def memory_of(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, \
            open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if "r" not in rights or "[v" in line:
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            memory.seek(start)
            try:
                yield memory.read(end - start)
            except OSError:
                continue


def has_in_memory(pid, needles):
    return any(needle in part for part in memory_of(pid) for needle in needles)
