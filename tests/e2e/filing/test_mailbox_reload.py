# SPDX-License-Identifier: ISC
"""A reload that takes a service of kind mailbox away while it files, and brings another one: what the
services of the process share is that of the new configuration."""

import os
import sqlite3
import time

from once import LISA, SCUBA, message, site  # noqa: F401
from smtp import deliver
from stagepost import PATIENCE

NEIGHBOUR = "ann@next.test"


def wait_for_lock(path):
    """Somebody waits for the database behind the lock of who writes next."""
    inode = f":{os.stat(path).st_ino} "
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with open("/proc/locks", encoding="ascii") as locks:
            if any(inode in line for line in locks):
                return
        time.sleep(0.01)
    raise AssertionError("nothing is being filed")


def test_a_service_comes_while_another_goes(site):  # noqa: F811
    """The sender's domain is ours by the new configuration only."""
    box = site()
    deliver(box.mx, [SCUBA], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done")
    other = sqlite3.connect(box.record, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    deliver(box.mx, [SCUBA], message("<2@gmail.test>"), sender=LISA)
    wait_for_lock(f"{box.record}-lock")
    box.mx.settings = box.mx.settings.replace("service once {", "service again {")
    box.mx.domains = ["domain mail.test { service = again }", "domain next.test { service = again }"]
    box.mx.write_configuration()
    box.mx.reload()
    deliver(box.mx, [SCUBA], message("<3@gmail.test>", sender=NEIGHBOUR), sender=NEIGHBOUR)
    other.execute("ROLLBACK")
    other.close()
    box.mx.log.wait("message_done", count=3)
    copies = b"".join(box.copies(SCUBA).values())
    assert all(copies.count(b"<%d@gmail.test>" % number) == 1 for number in (1, 2, 3))
    assert list(box.copies(NEIGHBOUR, "Sent").values())[0].count(b"<3@gmail.test>") == 1
