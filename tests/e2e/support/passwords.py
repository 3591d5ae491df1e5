# SPDX-License-Identifier: ISC
"""The passwords that tests log in with. When a test is over, nothing that its nodes have logged or
queued has one of them, neither in clear nor as SASL sends it."""

import base64
import mmap
import os

USER = "correct horse battery staple"  # of a user in the directory
SUBMITTER = "tr0ub4dor & drei"
WRONG = "a wrong passw0rd"
RELAY = "Sesam, öffne|dich 7"  # ours at a relay
DOVECOT = "Taubenschlag-4417"
LDAP = "Verzeichnis-2203"
EVERY = (USER, SUBMITTER, WRONG, RELAY, DOVECOT, LDAP)


def in_base64(text):
    """What is there of TEXT whatever is before and behind it: one form for each place in a group of
    three bytes."""
    forms = []
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + text)
        forms.append(encoded[(0, 2, 3)[before]:len(encoded) - (0, 3, 2)[(before + len(text)) % 3]
                             or None].rstrip(b"="))
    return forms


NEEDLES = {needle: password for password in EVERY
           for needle in (password.encode(), *in_base64(password.encode()))}


def found_in(path):
    """The passwords in a file."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return []
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return [password for needle, password in NEEDLES.items() if text.find(needle) >= 0]


def told_by(node):
    """["PATH has PASSWORD"] for all that NODE has logged and queued."""
    paths = [node.log.path]
    for base, _, names in os.walk(node.queue):
        paths += [os.path.join(base, name) for name in names]
    return [f"{path} has {password!r}" for path in paths if os.path.isfile(path)
            for password in found_in(path)]
