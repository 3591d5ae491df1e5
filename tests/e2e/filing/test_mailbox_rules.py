# SPDX-License-Identifier: ISC
"""Sections rule: in which folder, and with which flags, a copy is filed, in Maildirs and on an IMAP
server; what was decided once stays, whatever the rules say later."""

import os
import subprocess

import pytest
from filed import imap_site
from once import DOUG, LISA, SCUBA, message, site  # noqa: F401
from smtp import deliver
from stagepost import PATIENCE, as_user, give_to_user

RULES = """
rule spam { header = { "X-Spam-Flag: yes*", X-Spam-Trap } folder = "Junk" flags = { seen } sent = no }
rule kept { detail = "keep-*" folder = "Kept/%x" }
rule list { header = "List-Id: *<dev.example.org>" folder = "Lists/dev" flags = { none } }
rule reports { sender = "<>" automatic = yes folder = "Reports" }
rule meeting { header = "subject: *réunion*" recipient = { "doug@*" } folder = "Meetings" }
rule large { larger = 2K sender = { "*.example.net", "*-owner@gmail.test" } folder = "Large" flags = { flagged } }
"""
LIST = "List-Id: Developers\r\n <dev.EXAMPLE.org>\r\n"
REPORT = "Auto-Submitted: auto-replied\r\n"
# recipient, sender, more fields, subject, body: folder, Maildir flags, rule
CASES = {
    "spam": (SCUBA, LISA, "X-Spam-Flag: YES, score 9\r\nX-Spam-Flag: no\r\n" + LIST, "a", "b",
             "Junk", "S", "spam"),
    "trap": (SCUBA, LISA, "X-Spam-Trap:\r\n", "a", "b", "Junk", "S", "spam"),
    "no-spam": (SCUBA, LISA, "X-Spam-Flag: no\r\nX-Spam-Flag: yes\r\n", "a", "b", None, "F", ""),
    "kept": ("scuba+Keep-2026@mail.test", LISA, LIST, "a", "b", "Kept/Keep-2026", "F", "kept"),
    "dotted": ("scuba+keep-1.2@mail.test", LISA, "", "a", "b", None, "F", "kept"),
    "not-kept": ("scuba+other@mail.test", LISA, "", "a", "b", None, "F", ""),
    "list": (SCUBA, LISA, LIST, "a", "b", "Lists/dev", "", "list"),
    "report": (SCUBA, "", REPORT, "a", "b", "Reports", "F", "reports"),
    "no-report": (SCUBA, LISA, REPORT, "a", "b", None, "F", ""),
    "meeting": (DOUG, LISA, "", "=?iso-8859-1?q?La_R=C9union?= =?utf-8?b?IQ==?=", "b", None, "F", ""),
    "meeting2": (DOUG, LISA, "", "=?iso-8859-1?q?Une_r=E9union?= =?utf-8?b?IQ==?=", "b", "Meetings", "F",
                 "meeting"),
    "not-doug": (SCUBA, LISA, "", "=?utf-8?q?r=C3=A9union?=", "b", None, "F", ""),
    "large": (SCUBA, "ann@mx.Example.Net", "", "a", "b" * 900 + "\r\n" + "c" * 900 + "\r\n" + "d" * 900, "Large",
              "F", "large"),
    "owner": (SCUBA, "x-owner@gmail.test", "", "a", ("b" * 900 + "\r\n") * 3, "Large", "F", "large"),
    "small": (SCUBA, "ann@mx.example.net", "", "a", "b", None, "F", ""),
}


def flags_of(names):
    (name,) = names
    return name.partition(":2,")[2]


def text_of(case):
    _, sender, more, subject, body, *_ = CASES[case]
    return message(f"<{case}@gmail.test>", body, more, sender=sender or LISA, subject=subject)


@pytest.fixture
def ruled(site):  # noqa: F811
    return lambda more="sent = none", rules=RULES, **how: site(
        more=f"flags = {{ flagged }} {more}", settings=rules, **how)


def test_the_first_rule_that_matches_decides(ruled):
    box = ruled()
    for case, (recipient, sender, *_, folder, flags, rule) in CASES.items():
        mark = box.mx.log.mark()
        deliver(box.mx, [recipient], text_of(case), sender=sender)
        filed = box.mx.log.wait("message_filed", since=mark, message_id=f"<{case}@gmail.test>")
        assert (filed["folder"], filed.get("rule", "")) == (folder or "INBOX", rule), case
        box.mx.log.wait("message_done", since=mark)
        user = recipient.partition("@")[0].partition("+")[0] + "@mail.test"
        assert flags_of(box.files(user, folder)) == flags, case
        box.remove(user, folder)
    rows = dict(box.database("SELECT m.message_id, d.folder || ' ' || d.rule FROM decision d"
                             " JOIN message m ON m.number = d.message"))
    assert rows["<kept@gmail.test>"] == "Kept/Keep-2026 kept" and rows["<small@gmail.test>"] == "INBOX "


def test_a_trace_says_which_rule(ruled):
    box = ruled()
    deliver(box.mx, [SCUBA, DOUG], text_of("list"), sender=LISA)
    queued = box.mx.log.wait("message_queued")["id"]
    box.mx.log.wait("message_filed", mailbox=SCUBA, id=queued)
    told = subprocess.run([os.path.join(box.mx.programs, "stagepost"), "trace", queued, box.mx.log.path],
                          check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
    assert f"filed for <{SCUBA}> in Lists/dev, by rule list" in told, told


def test_the_command_knows_the_rules(ruled):
    box = ruled(start=False)
    box.file(text_of("list"), SCUBA)
    assert flags_of(box.files(SCUBA, "Lists/dev")) == ""
    box.file(text_of("kept"), "scuba+Keep-2026@mail.test")
    assert len(box.files(SCUBA, "Kept/Keep-2026")) == 1 and not box.files(SCUBA)


def test_a_rule_may_keep_no_sent_mail(ruled):
    """But as long as another recipient's rule keeps it, it is kept."""
    box = ruled("sent = all", 'rule quiet { recipient = "scuba@*" sent = no }\n')
    deliver(box.mx, [SCUBA], message("<1@gmail.test>"), sender=LISA)
    deliver(box.mx, [SCUBA, DOUG], message("<2@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done", count=2)
    assert [copy for copy in box.copies(LISA, "Sent").values() if b"<1@gmail.test>" in copy] == []
    assert len(box.files(LISA, "Sent")) == 1 and len(box.files(SCUBA)) == 2


def test_details_with_one_folder_have_one_copy(ruled):
    box = ruled()
    deliver(box.mx, ["scuba+a@mail.test", "scuba+b@mail.test", "scuba+keep-1@mail.test", SCUBA],
            message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done")
    assert len(box.files(SCUBA)) == 1 and len(box.files(SCUBA, "Kept/keep-1")) == 1
    assert len(box.mx.log.find("delivered")) == 4


def retry(box, told):
    subprocess.run([*as_user(), os.path.join(box.mx.programs, "stagepost"), "queue", "retry", told["id"], "-c",
                    box.mx.conf], check=True, timeout=PATIENCE)


def change(box, rules):
    box.mx.settings = box.mx.settings.replace('folder = "First"', rules)
    box.mx.write_configuration()
    box.mx.reload()


def test_what_was_decided_stays_after_a_reload(ruled):
    """The mailbox cannot be written, so that nothing is filed yet; then other rules apply."""
    box = ruled("sent = all", 'rule all { detail = "x" folder = "First" flags = { seen } }\n')
    recipient = "scuba+x@mail.test"
    obstacle = os.path.join(box.root, "mail.test")
    with open(obstacle, "wb"):
        give_to_user(obstacle)
    deliver(box.mx, [recipient], message("<1@gmail.test>"), sender=LISA)
    told = box.mx.log.wait("deferred", to=recipient)
    assert not box.files(SCUBA, "First")
    change(box, 'folder = "Second"')
    os.unlink(obstacle)
    retry(box, told)
    box.mx.log.wait("delivered", id=told["id"])
    assert flags_of(box.files(SCUBA, "First")) == "S" and not box.files(SCUBA, "Second")


def test_what_was_filed_stays_after_a_reload(ruled):
    """It comes again, and new mail follows the new rules."""
    box = ruled("sent = all", 'rule all { detail = "x" folder = "First" flags = { seen } }\n')
    recipient = "scuba+x@mail.test"
    deliver(box.mx, [recipient], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done")
    change(box, 'folder = "Second"')
    deliver(box.mx, [recipient], message("<2@gmail.test>"), sender=DOUG)
    deliver(box.mx, [recipient], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done", count=3)
    assert box.mx.log.wait("message_filed_before", mailbox=SCUBA)["rule"] == "all"
    assert flags_of(box.files(SCUBA, "First")) == "S"
    assert b"<1@gmail.test>" not in b"".join(box.copies(SCUBA, "Second").values())
    assert len(box.files(SCUBA, "Second")) == 1, "new mail follows the new rules"
    sent = b"".join(box.copies(LISA, "Sent").values())
    assert sent.count(b"<1@gmail.test>") == 1


def test_rules_in_folders_of_an_imap_server(node, ground):
    with imap_site(node, ground, "sent = none", RULES) as (mx, imap):
        for case in "spam", "list", "kept":
            recipient, sender, *_, folder, _, rule = CASES[case]
            deliver(mx, [recipient], text_of(case), sender=sender)
            filed = mx.log.wait("message_filed", message_id=f"<{case}@gmail.test>")
            assert (filed["folder"], filed["rule"]) == (folder, rule)
            assert len(imap.texts(SCUBA, folder.replace("/", "."))) == 1
