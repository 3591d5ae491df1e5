# SPDX-License-Identifier: ISC
"""Quotas of mailboxes that are filed once: of Maildirs by the setting and by the directory, of an IMAP
server by its answers. A sender's folder without room holds up no recipient."""

import os

import filed
import pytest
import test_quota
from once import DOUG, LISA, SCUBA, message, site, site_with_directory  # noqa: F401
from records import Records
from smtp import deliver
from stagepost import wait_until

BODY = ("x" * 70 + "\r\n") * 14  # a kilobyte


def outcome(mx, number, recipient, sender=LISA, body=BODY):
    mark = mx.log.mark()
    deliver(mx, [recipient], message(f"<{number}@gmail.test>", body), sender=sender)
    wait_until(lambda: test_quota.ends(mx, recipient, mark), "an outcome")
    return test_quota.ends(mx, recipient, mark)[0]["status"]


@pytest.mark.parametrize("over, status", [("defer", "4.2.2"), ("refuse", "5.2.2")])
def test_a_maildir_without_room(site, over, status):  # noqa: F811
    box = site(more=f"sent = none quota = 3K over_quota = {over}")
    assert [outcome(box.mx, n, SCUBA) for n in range(3)] == ["2.0.0", "2.0.0", status]
    assert len(box.files(SCUBA)) == 2
    assert outcome(box.mx, "other", DOUG) == "2.0.0"
    assert outcome(box.mx, "large", DOUG, body=BODY * 4) == "5.2.3"
    box.remove(SCUBA)
    os.unlink(os.path.join(box.path(SCUBA), "maildirsize"))
    assert outcome(box.mx, "after", SCUBA) == "2.0.0"


def test_the_directory_says_another_one(site_with_directory):  # noqa: F811
    box = site_with_directory(more="sent = local quota = 100K over_quota = refuse")
    with Records(box.mx) as records:
        records.put("domain", "mail.test", "kind local", "service once")
        records.put("address", SCUBA, "kind mailbox", "quota 3K")
        records.put("address", DOUG, "kind mailbox", "quota 10M,2")
    assert [outcome(box.mx, n, SCUBA) for n in range(3)] == ["2.0.0", "2.0.0", "5.2.2"]
    assert [outcome(box.mx, f"doug{n}", DOUG) for n in range(3)] == ["2.0.0", "2.0.0", "5.2.2"]


def test_a_sender_without_room_holds_up_no_recipient(site):  # noqa: F811
    """His folder gets what it has room for; over_quota does not matter."""
    box = site(more="sent = all quota = 3K over_quota = defer")
    assert [outcome(box.mx, n, f"user{n}@mail.test") for n in range(4)] == ["2.0.0"] * 4
    assert len(box.files(LISA, "Sent")) == 2
    left_out = box.mx.log.wait("filing_failed", count=2)
    assert [(event["mailbox"], event["folder"]) for event in left_out] == [(LISA, "Sent")] * 2
    assert not box.mx.log.find("deferred") and not box.mx.log.find("failed")


def test_the_command_knows_the_setting(site):  # noqa: F811
    box = site(more="sent = all quota = 2K over_quota = refuse", start=False)
    box.file(message("<1@gmail.test>", BODY))
    assert "5.2.2" in box.file(message("<2@gmail.test>", BODY), SCUBA, status=65)
    box.file(message("<3@gmail.test>", BODY), DOUG)  # and the sender's folder has no room


@pytest.mark.parametrize("over, status", [("defer", "4.2.2"), ("refuse", "5.2.2")])
def test_an_imap_server_that_has_no_room(node, ground, monkeypatch, over, status):
    limits = test_quota.DOVECOT.replace("storage=20K:messages=6", "storage=100M:messages=2")
    monkeypatch.setattr(filed, "WAYS", filed.WAYS + limits.replace("{", "{{").replace("}", "}}"))
    with filed.imap_site(node, ground, f"sent = all over_quota = {over}") as (mx, imap):
        assert [outcome(mx, n, SCUBA) for n in range(3)] == ["2.0.0", "2.0.0", status]
        assert len(imap.texts(SCUBA)) == 2
        assert outcome(mx, "other", DOUG) == "2.0.0", "though lisa's folder is full"
        assert len(imap.texts(LISA, "Sent")) == 2
