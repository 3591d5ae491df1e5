# SPDX-License-Identifier: ISC
"""What nodes hold, as the judge of the ledger takes it."""

import os
import re


def all_delivered(*nodes):
    """(recipient, stored text) of everything in the Maildirs."""
    for owner in nodes:
        for domain in owner.domains:
            folder = os.path.join(owner.mail, domain)
            for box in os.listdir(folder) if os.path.isdir(folder) else []:
                for text in owner.maildir(f"{box}@{domain}").messages():
                    yield f"{box}@{domain}", text


def undone_recipients(control):
    """Of a message, by its envelope or control file."""
    done = set(re.findall(r"^(?:done|fail): (\d+) ", control, re.M))
    recipients = set(re.findall(r"^to: \d+ <(.*?)>", control, re.M))
    for delivery, (_, address) in enumerate(re.findall(
            r"^map: (\d+) .*<(.*?)>", control, re.M), start=1):
        if str(delivery) in done:
            recipients.discard(address)
    return recipients


def all_queued(*nodes):
    """(recipients that are not done, text with LF lines) of every message in the queues."""
    for owner in nodes:
        for control, message in owner.queued_messages():
            yield undone_recipients(control), message.replace(b"\r\n", b"\n")
