# SPDX-License-Identifier: ISC
"""Services of kind mailbox: each message recorded, and filed once for each recipient and once for
its sender (source: one run for each recipient of one message, both at the same time)."""

from once import DOUG, LISA, MESSAGE, SCUBA, site  # noqa: F401
from smtp import Client


def test_one_message_for_two_by_two_deliveries(site):
    """The story: the MTA gives the message once for each recipient, and both runs look for the
    sender's copy."""
    own = site(more="sent = all")
    for recipient in (SCUBA, DOUG):
        with Client(own.mx) as client:
            assert client.deliver(LISA, [recipient], MESSAGE).startswith("250 ")
    own.mx.wait_empty()
    assert len(own.copies(SCUBA)) == 1
    assert len(own.copies(DOUG)) == 1
    assert len(own.copies(LISA, "Sent")) == 1
    assert len(own.mx.log.find("message_recorded")) == 1
