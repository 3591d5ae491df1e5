# SPDX-License-Identifier: ISC
"""A server that takes nobody's first attempt."""

import os
import re
import time

import checksums
import pytest
from lmtp import Server
from smtp import deliver

RECIPIENTS = [f"user{i}@d.test" for i in range(20)]
TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
AGO = 1000  # seconds: when they were tried


@pytest.fixture
def server():
    seen = set()

    def reply(address):
        if address in seen:
            return "250 2.1.5 ok"
        seen.add(address)
        return "450 4.7.1 greylisted, come again"

    made = Server(recipient=reply)
    yield made
    made.close()


def at(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def set_dues(mx, seconds_of):
    """Delivery N, which was tried long ago, becomes due in so many seconds. The node is stopped."""
    count = 0
    for folder, _, names in os.walk(os.path.join(mx.queue, "info")):
        for name in names:
            with open(os.path.join(folder, name), "r+b") as file:
                text = file.read()
                waiting = set(re.findall(rb"^wait: (\d+) ", text, re.M))
                for number in sorted(map(int, waiting)):
                    file.write(checksums.with_checksum(
                        text, f"wait: {number} {at(-AGO)} until={at(seconds_of(number))} "
                        "4.7.1 greylisted".encode()))
            count += len(waiting)
    return count


def test_recipients_that_wait_come_again_together(node, server):
    """One is due, the others within a tenth of their wait: each retry has its own time."""
    mx = node(routes=[f"d.test:{server.address.replace(':', ';')}"])
    deliver(mx, RECIPIENTS, TEXT)
    mx.log.wait("message_preprocessed")
    assert not server.messages
    mx.stop()
    assert set_dues(mx, lambda number: -1 if number == 7 else 60 + 3 * number) == len(RECIPIENTS)
    first = len(server.commands)
    mx.start()
    mx.log.wait("delivered", count=len(RECIPIENTS))
    assert len(server.commands) - first <= 2
    assert sorted(to for recipients, _ in server.messages for to in recipients) == sorted(RECIPIENTS)
    mx.wait_empty()


def test_who_was_just_put_off_does_not_come_along(node, server):
    """One is due, the others only after a quarter of their wait."""
    mx = node(routes=[f"d.test:{server.address.replace(':', ';')}"])
    deliver(mx, RECIPIENTS, TEXT)
    mx.log.wait("message_preprocessed")
    mx.stop()
    set_dues(mx, lambda number: -1 if number == 7 else AGO / 3)
    mx.start()
    mx.log.wait("delivered")
    assert [len(recipients) for recipients, _ in server.messages] == [1]
