# SPDX-License-Identifier: ISC
"""Whether what processes have counted in classes of hosts is what the kernel says: a place for each TCP
connection of theirs, of the class that the other side's address is in."""

import collections
import ipaddress
import os
import struct

LISTENS = "0A"
LISTENERS = ("smtpd", "qmtpd")
HELPERS = ("remote", "lmtp")


def address_of(text):
    """Of a line of /proc/net/tcp or tcp6."""
    raw = bytes.fromhex(text.partition(":")[0])
    words = struct.unpack(f"={len(raw) // 4}I", raw)
    packed = b"".join(struct.pack(">I", word) for word in words)
    if len(packed) == 4:
        return ipaddress.IPv4Address(packed)
    return ipaddress.IPv6Address(packed).ipv4_mapped or ipaddress.IPv6Address(packed)


def connections():
    """{number of the socket: the other side's address} of all TCP connections."""
    found = {}
    for name in "tcp", "tcp6":
        with open(f"/proc/net/{name}", encoding="ascii") as table:
            for line in list(table)[1:]:
                words = line.split()
                if words[3] != LISTENS and words[9] != "0":
                    found[int(words[9])] = address_of(words[2])
    return found


def sockets(pid):
    found = set()
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            link = os.readlink(f"/proc/{pid}/fd/{name}")
            if link.startswith("socket:["):
                found.add(int(link[8:-1]))
    except OSError:
        pass  # it ends
    return found


def open_sessions(node, classes):
    """{mask: [with clients, with servers]}. CLASSES: {mask: network}, the first that fits counts."""
    found = collections.defaultdict(lambda: [0, 0])
    for index, programs in enumerate((LISTENERS, HELPERS)):
        for program in programs:
            for pid in node.pids(program):
                mine = sockets(pid)
                for number, address in connections().items():
                    if number in mine:
                        mask = next(mask for mask, network in classes.items() if address in network)
                        found[mask][index] += 1
    return {mask: tuple(found[mask]) for mask in classes}


def networks(*masks):
    """For open_sessions(): the masks are addresses, networks and "*"."""
    return {mask: ipaddress.ip_network("0.0.0.0/0" if mask == "*" else mask) for mask in masks}
