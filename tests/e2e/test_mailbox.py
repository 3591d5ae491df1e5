# SPDX-License-Identifier: ISC
"""Services of kind mailbox: each message recorded, and filed once for each recipient and once for
its sender (source: one run for each recipient of one message, both at the same time)."""

import os

import pytest
from smtp import Client
from stagepost import give_to_user

MESSAGE = (b"From: Lisa <lisa@gmail.test>\r\nTo: scuba@mail.test, doug@mail.test\r\n"
           b"Subject: Our next meeting\r\nMessage-ID: <123-abc@mail.gmail.test>\r\n"
           b"Date: Thu, 26 Nov 2026 09:00:00 +0000\r\n\r\nHey guys! Shall we meet tomorrow at 2 PM?\r\n")


class Site:
    """A node whose domain has its mailboxes in a service of kind mailbox with the settings MORE."""

    def __init__(self, node, more="", settings=""):
        self.mx = node(domains=["domain mail.test { service = once }"], start=False)
        self.root = os.path.join(self.mx.directory, "once")
        self.record = os.path.join(self.mx.directory, "record", "record.db")
        for path in (self.root, os.path.dirname(self.record)):
            os.mkdir(path)
            give_to_user(path)
        self.mx.settings = (f'service once {{ kind = mailbox path = "{self.root}/%d/%u" {more} }}\n'
                            f'record {{ path = "{self.record}" }}\n{settings}')
        self.mx.write_configuration()
        self.mx.start()

    def copies(self, address, folder=None):
        """The names and contents of a folder's messages: new and seen ones."""
        local, _, domain = address.partition("@")
        path = os.path.join(self.root, domain, local)
        path = os.path.join(path, "." + folder.replace("/", ".")) if folder else path
        found = {}
        for part in ("new", "cur"):
            names = os.listdir(os.path.join(path, part)) if os.path.isdir(path) else []
            for name in names:
                with open(os.path.join(path, part, name), "rb") as file:
                    found[f"{part}/{name}"] = file.read()
        return found


@pytest.fixture
def site(node):
    return lambda **options: Site(node, **options)


def test_one_message_for_two_by_two_deliveries(site):
    """The story: the MTA gives the message once for each recipient, and both runs look for the
    sender's copy."""
    own = site(more="sent = all")
    for recipient in ("scuba@mail.test", "doug@mail.test"):
        with Client(own.mx) as client:
            assert client.deliver("lisa@gmail.test", [recipient], MESSAGE).startswith("250 ")
    own.mx.wait_empty()
    assert len(own.copies("scuba@mail.test")) == 1
    assert len(own.copies("doug@mail.test")) == 1
    assert len(own.copies("lisa@gmail.test", "Sent")) == 1
    assert len(own.mx.log.find("message_recorded")) == 1
