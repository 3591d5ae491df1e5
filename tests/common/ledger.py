# SPDX-License-Identifier: ISC
"""A ledger of what servers answered for, and the judge who compares it with what
became of it. The ledger is outside of any queue and synced line by line."""

import hashlib
import json
import os
import random
import re
import threading

MARK = b"X-Ledger: "


class Ledger:
    """POSITION(), if given, is read for each line: how far a disk was when it was written.
    KNOWN: the entries that another ledger began."""

    def __init__(self, path, position=None, known=None):
        self.path = path
        self.position = position
        self.known = {} if known is None else known
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self._lock = threading.Lock()

    def write(self, what, number, **fields):
        """WHAT: begun (with sha256 and recipients), dot (about to be sent), accepted
        or refused; or what a campaign adds to these."""
        if self.position is not None:
            fields["disk"] = self.position()
        event = {"what": what, "number": number, **fields}
        line = json.dumps(event) + "\n"
        with self._lock:
            note_event(self.known, event)
            os.write(self._file, line.encode())
            os.fdatasync(self._file)

    def close(self):
        os.close(self._file)

    def events(self):
        """Every line, in order."""
        with open(self.path, encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)

    def entries(self):
        return gather_entries(self.events())


def note_event(entries, event):
    number, what = event["number"], event["what"]
    if what == "begun":
        entries[number] = {"dot": False, "accepted": False, "sha256": event["sha256"],
                           "recipients": event["recipients"]}
    elif what in ("dot", "accepted"):
        entries[number][what] = True


def gather_entries(events):
    """{number: {"sha256", "recipients", "dot", "accepted"}}"""
    found = {}
    for event in events:
        note_event(found, event)
    return found


SIZES = (0, 100, 3000, 8000, 40000, 300000)
LINE = 60
LETTERS = bytes(b"....abcdefgh ijkl"[byte % 17] for byte in range(256))


def make_message(number, source, sizes=SIZES):
    """A message that can be recognised, with CRLF lines, and the digest of it with LF."""
    letters = source.randbytes(source.choice(sizes) // LINE * LINE).translate(LETTERS)
    body = b"".join(letters[i:i + LINE] + b"\r\n" for i in range(0, len(letters), LINE))
    text = MARK + b"%d\r\nSubject: number %d\r\n\r\n" % (number, number) + body
    return text, digest(text.replace(b"\r\n", b"\n"))


NAME = b"m%07d."  # what each line of such a message consists of
NAMED = re.compile(rb"m(\d{7})\.")
NAMES = 7  # in a line
SESSION = 40  # messages at most that a client sends before it comes again


def make_named_message(number, source, sizes=SIZES):
    """As make_message(), and wherever it is cut, each line says whose it is."""
    name = NAME % number
    line = name * NAMES + b"\r\n"
    count = source.choice(sizes) // len(line)
    body = b"".join(b"." + line if i % 7 == 3 else line for i in range(count))
    text = MARK + b"%d\r\nSubject: %s\r\nX-Name: %s\r\n" % (number, name, name * 5) + b"\r\n" + body
    return text, digest(text.replace(b"\r\n", b"\n"))


def numbers_in(text):
    """Of the messages that any part of TEXT is of, if all have names."""
    return {int(name) for name in set(NAMED.findall(text))}


def find_leaks(seen, may_see):
    """SEEN: (where, recipients, text) of everything that came anywhere, whole or not. A line for
    each that has bytes of a message which one of its recipients may not see, or of several
    messages. MAY_SEE(recipient, number) says who may."""
    leaks = []
    for where, recipients, text in seen:
        numbers = numbers_in(text)
        wrong = {number for number in numbers
                 if not all(may_see(recipient, number) for recipient in recipients)}
        if wrong or len(numbers) > 1:
            leaks.append(f"{where}, for {sorted(recipients)}: {len(text)} bytes of messages "
                         f"{sorted(numbers)}, of them {sorted(wrong)} are others'")
    return leaks


def digest(text):
    return hashlib.sha256(text).hexdigest()


class Verdict:
    def __init__(self):
        self.accepted = 0  # messages that were answered 250
        self.delivered = 0  # recipients of those
        self.queued = 0  # recipients of those that wait, their message whole
        self.bounced = 0  # recipients of those that a report told the sender of
        self.duplicates = 0
        self.twice = {}  # of those: (number, recipient) and how often
        self.lost = []
        self.corrupt = []

    def __str__(self):
        return (f"{self.accepted} messages answered 250: {self.delivered} recipients delivered, "
                f"{self.queued} queued, {self.bounced} bounced, {len(self.lost)} lost, "
                f"{len(self.corrupt)} corrupt, {self.duplicates} duplicates")


def read_message(stored, entries):
    """(number, problem or None) of a message with LF lines and trace headers."""
    start = 0 if stored.startswith(MARK) else stored.find(b"\n" + MARK) + 1
    word = stored[start + len(MARK):].partition(b"\n")[0]
    if (start == 0 and not stored.startswith(MARK)) or not word.isdigit():
        return None, "no message of the ledger"
    number = int(word)
    entry = entries.get(number)
    if entry is None or not entry["dot"]:
        return number, "never sent to its end"
    if digest(stored[start:]) != entry["sha256"]:
        return number, "changed"
    return number, None


REPORTED = re.compile(rb"^Final-Recipient: rfc822; ?(\S+)\n(?:[A-Z][^\n]*\n)*?Action: failed$",
                      re.M)


def read_report(stored):
    """(number, recipients that failed) by a report of a failure with LF lines, or None."""
    found = re.search(rb"^" + MARK + rb"(\d+)$", stored, re.M)
    recipients = {to.decode() for to in REPORTED.findall(stored)}
    return (int(found.group(1)), recipients) if found and recipients else None


def describe(stored):
    """What somebody who asks how it came to be corrupt looks for first."""
    return (f"{len(stored)} bytes, with lines of {sorted(numbers_in(stored))[:9]}: "
            f"{stored[:400]!r} ... {stored[-100:]!r}")


def judge(ledger, delivered, queued, reports=()):
    """DELIVERED: (recipient, stored text) of everything in any mailbox. QUEUED: (set of
    recipients that wait, text) of every message in a queue. REPORTS: the stored texts of
    all in the mailboxes of senders."""
    entries = ledger.entries()
    verdict = Verdict()
    found = {}
    waiting = set()
    for recipient, stored in delivered:
        number, problem = read_message(stored, entries)
        if problem is None and recipient not in entries[number]["recipients"]:
            problem = "somebody else's"
        if problem is not None:
            verdict.corrupt.append(f"{recipient}, message {number}: {problem}, {describe(stored)}")
            continue
        found[number, recipient] = found.get((number, recipient), 0) + 1
    bounced = set()
    reports = list(reports)
    for recipients, stored in queued:
        if read_report(stored) is not None:
            reports.append(stored)
            continue
        number, problem = read_message(stored, entries)
        if problem is not None:
            verdict.corrupt.append(f"in the queue, message {number}: {problem}, for "
                                   f"{sorted(recipients)}, {describe(stored)}")
            continue
        waiting |= {(number, recipient) for recipient in recipients}
    for stored in reports:
        number, recipients = read_report(stored) or (None, ())
        if number not in entries:
            verdict.corrupt.append(f"in a sender's mailbox: {stored[:200]!r}")
            continue
        bounced |= {(number, recipient) for recipient in recipients}
    for number, entry in entries.items():
        if not entry["accepted"]:
            continue
        verdict.accepted += 1
        for recipient in entry["recipients"]:
            if (number, recipient) in found:
                verdict.delivered += 1
            elif (number, recipient) in waiting:
                verdict.queued += 1
            elif (number, recipient) in bounced:
                verdict.bounced += 1
            else:
                verdict.lost.append(f"{recipient}, message {number}")
    verdict.twice = {what: count for what, count in found.items() if count > 1}
    verdict.duplicates = sum(count - 1 for count in verdict.twice.values())
    return verdict


class Generator:
    """Sends messages over a few connections until stop(), whatever happens to them.
    CONNECT() returns a new smtp.Client; RECIPIENTS(source) some recipients."""

    def __init__(self, ledger, connect, recipients, *, connections=4, pause=0.05, seed=0,
                 sender="s@client.test"):
        self.ledger = ledger
        self.connect = connect
        self.recipients = recipients
        self.pause = pause
        self.sender = sender
        self._numbers = iter(range(1, 1 << 60))
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(seed + i,))
                         for i in range(connections)]
        for thread in self._threads:
            thread.start()

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self, seed):
        source = random.Random(seed)
        while not self._stop.is_set():
            try:
                with self.connect() as client:
                    for _ in range(source.randint(1, SESSION)):
                        if self._stop.wait(source.random() * 2 * self.pause):
                            break
                        self._send(client, source)
            except OSError:  # smtplib's exceptions are OSErrors, too
                self._stop.wait(self.pause)

    def next_number(self):
        with self._lock:
            return next(self._numbers)

    def _send(self, client, source):
        number = self.next_number()
        text, sha256 = make_message(number, source)
        recipients = self.recipients(source)
        self.ledger.write("begun", number, sha256=sha256, recipients=recipients)
        self.send_whole(client, number, self.sender, recipients, text)

    def send_whole(self, client, number, sender, recipients, text):
        """The message NUMBER has begun."""
        reply = client.deliver(sender, recipients, text,
                               before_dot=lambda: self.ledger.write("dot", number))
        if reply.startswith("250 "):
            self.ledger.write("accepted", number, reply=reply)
        else:
            self.ledger.write("refused", number, reply=reply)
            if not reply.startswith("4"):
                raise AssertionError(f"refused for ever: {reply}")
            client.quit()
            raise ConnectionError(reply)
