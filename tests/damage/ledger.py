# SPDX-License-Identifier: ISC
"""Who has sent what to whom, and what became of it: a next hop and the judge of it."""

import re
import threading

TOKEN = re.compile(rb"^X-Token: (\w+)\r$", re.M)
FINAL = re.compile(rb"^Final-Recipient: rfc822; ?(\S+?)\r$", re.M)


class Sent:
    """A message that was answered with 250."""

    def __init__(self, token, recipients, text):
        self.token = token
        self.sender = f"s-{token}@b.test"
        self.recipients = set(recipients)
        self.text = text
        self.delivered = set()
        self.reported = set()  # recipients that the sender was told of


class Ledger:
    """ANSWERS RCPT at the hop: "d-..." has its mail at once, "n-..." is nobody, and any other one has it once the
    hop is open; "s-..." are senders, who get reports."""

    def __init__(self):
        self.is_open = False
        self.sent = {}
        self.earlier = {}  # of the round before: what is put back may be delivered again
        self.again = 0
        self.wrong = []  # what should never come
        self.count = 0
        self._lock = threading.Lock()

    def add(self, token, recipients, text):
        sent = Sent(token, recipients, text)
        with self._lock:
            self.sent[token] = sent
        return sent

    def answer(self, address):
        kind = address[:2]
        if kind == "n-":
            return "550 5.1.1 nobody"
        return "250 2.1.5 ok" if self.is_open or kind in ("d-", "s-") else "450 4.2.2 not yet"

    def taken(self, recipients, text):
        with self._lock:
            self.count += 1
            if all(address.startswith("s-") for address in recipients):
                self._take_report(recipients, text)
            else:
                self._take_message(set(recipients), text)
        return None

    def _take_report(self, recipients, text):
        for address in recipients:
            token = address[2:].partition("@")[0]
            sent = self.sent.get(token, self.earlier.get(token))
            told = {final.decode("ascii", "replace") for final in FINAL.findall(text)}
            if sent is None:
                self.wrong.append(f"a report to {address}, who has sent nothing: {sorted(told)}")
            elif not told <= sent.recipients:
                self.wrong.append(f"{address} is told of {sorted(told - sent.recipients)}")
            else:
                sent.reported |= told

    def _take_message(self, recipients, text):
        found = TOKEN.search(text)
        token = found.group(1).decode() if found else None
        sent = self.sent.get(token, self.earlier.get(token))
        self.again += token in self.earlier
        if sent is None or not text.endswith(sent.text):
            self.wrong.append(f"damaged, to {sorted(recipients)}: {text[-300:]!r}")
        elif not recipients <= sent.recipients:
            self.wrong.append(f"{sent.token} to {sorted(recipients - sent.recipients)}, whom it was not sent to")
        else:
            sent.delivered |= recipients

    def missing(self, sent):
        """Who neither has it, nor is one of whom the sender was told."""
        with self._lock:
            return sent.recipients - sent.delivered - sent.reported
