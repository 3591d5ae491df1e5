# SPDX-License-Identifier: ISC
"""The mail of the campaign of freezes: to every kind of recipient, each line with the number of its
message; and the directory, in which addresses come and go meanwhile."""

import random
import threading

from records import Records, Refused
from scene import SENDERS
from common.ledger import Generator, make_named_message

SIZES = (*[100, 2000, 3000, 3000, 4000, 8000, 8000] * 3, 0, 40000, 300000)
BOXES = 30
MEMBERS = ("member0@d.test", "member1@d.test", "member2@d.test")


def some_recipients(number, source):
    """The envelope's. Whoever gets mail for one message only can tell whose it is."""
    box = source.randrange(BOXES)
    ways = [f"box{box}@a.test", f"u{number}@b.test", f"u{number}@l.test", f"u{number}@p.test",
            f"u{number}@m.test"]
    return list(source.choice((
        *([way] for way in ways), [ways[1]], [ways[1]], ways, [ways[1], f"v{number}@b.test"],
        [f"bad{number}@b.test"], [ways[0], f"bad{number}@b.test"], [f"bad{number}@l.test", ways[3]],
        [f"later{number}@b.test", ways[2]], ["list@d.test"], [f"come{box}@d.test"],
        [f"fwd{box}@d.test"], [f"fwd{box}@d.test", "list@d.test", ways[1]])))


def expanded(recipients):
    """Those that copies are judged by."""
    return [name for to in recipients for name in (MEMBERS if to == "list@d.test" else [to])]


def known_as(mailbox):
    """The recipient whose copy is in it: that of a forward is in either of its targets."""
    local, _, domain = mailbox.partition("@")
    return f"{local.partition('.')[0]}@{domain}" if domain == "d.test" else mailbox


def sender_of(number):
    return f"s{number}@{SENDERS}"


class Load(Generator):
    """Messages of which each line says whose it is, from senders of their own."""

    def _send(self, client, source):
        number = self.next_number()
        text, sha256 = make_named_message(number, source, SIZES)
        recipients = some_recipients(number, source)
        self.ledger.write("begun", number, sha256=sha256, recipients=expanded(recipients))
        if source.random() < 0.03:
            client.break_off(sender_of(number), recipients, text)
        try:
            self.send_whole(client, number, sender_of(number), recipients, text)
        except AssertionError:
            if not recipients[0].startswith("come"):  # it is not there now
                raise


class Addresses:
    """Those of d.test: come and go, or lead elsewhere, until stop(). What a frozen or dead server
    does not answer is asked again."""

    def __init__(self, mx, seed):
        self.mx = mx
        self.source = random.Random(seed)
        self.changes = 0
        self._stop = threading.Event()
        with Records(mx) as records:
            records.put("domain", "d.test", "kind local", "service maildir")
            for member in (*MEMBERS, "owner@d.test"):
                records.put("address", member, "kind mailbox")
            records.list("list@d.test", MEMBERS, "owner@d.test")
            for box in range(BOXES):
                for target in "a", "b":
                    records.put("address", f"fwd{box}.{target}@d.test", "kind mailbox")
                records.put("address", f"fwd{box}@d.test", "kind forward",
                            f"target fwd{box}.a@d.test")
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def stop(self):
        self._stop.set()
        self._thread.join()

    def _work(self):
        while not self._stop.is_set():
            try:
                with Records(self.mx, as_user=False) as records:
                    records.socket.settimeout(2)
                    while not self._stop.wait(self.source.uniform(0, 0.2)):
                        self._change(records)
            except (OSError, AssertionError, Refused):
                self._stop.wait(0.1)

    def _change(self, records):
        box = self.source.randrange(BOXES)
        what = self.source.random()
        if what < 0.5:
            target = self.source.choice("ab")
            records.put("address", f"fwd{box}@d.test", "kind forward",
                        f"target fwd{box}.{target}@d.test")
        elif what < 0.8:
            records.put("address", f"come{box}@d.test", "kind mailbox")
        else:
            records.remove("address", f"come{box}@d.test")
        self.changes += 1
