# SPDX-License-Identifier: ISC
"""A service of kind imap: messages recorded and filed once on a real IMAP server."""

import email
import os

import pytest
from dovecot import PASSWORD, Dovecot
from once import DOUG, LISA, MESSAGE, SCUBA, Site, message
from smtp import deliver
from stagepost import give_to_user
from test_mailbox_service import BINARY, BYTES, send_binary


class ImapSite(Site):
    """Whose service "once" is Dovecot's."""

    def __init__(self, node, dovecot, more):
        super().__init__(node, start=False)
        self.dovecot = dovecot
        password = os.path.join(self.mx.directory, "password")
        with open(password, "w", encoding="ascii") as file:
            file.write(PASSWORD + "\n")
        give_to_user(password)
        os.chmod(password, 0o600)
        self.mx.settings = (
            f'service once {{ kind = imap address = "127.0.0.1:{dovecot.port}" security = plain login = "%a" '
            f'password_file = "{password}" {more} }}\n'
            f'record {{ path = "{self.record}" }}\nbinarymime = yes\n')
        self.mx.write_configuration()
        self.mx.start()

    def messages(self, address, folder="INBOX"):
        session = self.dovecot.imap(address)
        try:
            if session.select(folder)[0] != "OK":
                return []
            _, parts = session.fetch("1:*", "(FLAGS BODY.PEEK[])")
            return [part for part in parts if isinstance(part, tuple)]
        finally:
            session.logout()

    def append(self, address, text, folder="INBOX"):
        session = self.dovecot.imap(address)
        assert session.append(folder, "", None, text)[0] == "OK"
        session.logout()

    def remove_all(self, address):
        session = self.dovecot.imap(address)
        session.select("INBOX")
        session.store("1:*", "+FLAGS", "(\\Deleted)")
        session.expunge()
        session.logout()


@pytest.fixture
def box(node):
    dovecot = Dovecot([SCUBA, DOUG, LISA])
    try:
        yield ImapSite(node, dovecot, "sent = all")
    finally:
        dovecot.close()


def test_one_message_for_two(box):
    for recipient in (SCUBA, DOUG, SCUBA):
        deliver(box.mx, [recipient], MESSAGE, sender=LISA)
    box.mx.log.wait("message_done", count=3)
    for place in ((SCUBA,), (DOUG,), (LISA, "Sent")):
        ((head, text),) = box.messages(*place)
        assert text.endswith(MESSAGE)
        assert (b"\\Seen" in head) == (place[0] == LISA)
    box.file(MESSAGE)  # the command shares the record
    assert len(box.messages(SCUBA)) == 1


def test_binary_messages_are_encoded_and_found_again_in_doubt(box):
    send_binary(box, SCUBA, BINARY + BYTES)
    box.mx.log.wait("message_done")
    box.database("UPDATE filing SET state = 'filing', copy = '', filed_us = 0")
    box.database("INSERT INTO attempt SELECT number, randomblob(16), opened_us - 3600000000 FROM filing")
    send_binary(box, SCUBA, BINARY + BYTES)
    box.mx.log.wait("filing_found", mailbox=SCUBA)
    ((_, text),) = box.messages(SCUBA)
    assert email.message_from_bytes(text).get_payload(decode=True) == BYTES


def test_repair(box):
    """Missing, surplus and unmarked copies; none is appended."""
    for number in range(4):
        box.file(message(f"<{number}@gmail.test>", f"body {number}"))
    assert box.look("repair") == [{**box.look("repair")[0], "compared": 8, "left": 0}]
    box.remove_all(SCUBA)
    box.append(SCUBA, message("<1@gmail.test>", "body 1"))
    for _ in range(2):
        box.append(SCUBA, message("<2@gmail.test>", "body 2"))
    box.database("UPDATE filing SET state = 'filing', copy = '' WHERE message IN (SELECT number FROM message "
                 "WHERE message_id IN ('<2@gmail.test>', '<3@gmail.test>'))")
    wanted = {("missing", "<0@gmail.test>"), ("renamed", "<1@gmail.test>"), ("unmarked", "<2@gmail.test>"),
              ("surplus", "<2@gmail.test>"), ("abandoned", "<3@gmail.test>"), ("unmarked", "<3@gmail.test>")}
    *found, _ = box.look("repair", status=1)
    assert {(one["difference"], one["message_id"]) for one in found} == wanted
    *found, counts = box.look("repair", "--apply", status=1)
    assert {(one["difference"], one["message_id"]) for one in found} == wanted and counts["left"] == 1
    assert len(box.messages(SCUBA)) == 2
    *found, counts = box.look("repair", status=1)
    assert [(one["difference"], one["message_id"]) for one in found] == [("missing", "<0@gmail.test>")]


def test_a_server_that_is_not_there(box):
    box.dovecot.close()
    assert "4.3.0" in box.file(MESSAGE, status=75)
    *found, _ = box.look("repair", status=1)
    assert {one["difference"] for one in found} == {"failed"}
