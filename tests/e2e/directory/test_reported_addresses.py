# SPDX-License-Identifier: ISC
"""Reports to senders name the addresses that they wrote, wherever those lead (setting report_addresses)."""

import pytest
from hostile import Server
from records import Records
from test_dsn import Report, report_of, send

INSIDE = "tom@inside.test"  # where everything leads, and is refused
# what leads there: records, and the address that a sender writes
WAYS = {
    "alias": ({"x@d.test": ["kind alias", f"target {INSIDE}"]}, "x@d.test"),
    "forward": ({"x@d.test": ["kind forward", f"target {INSIDE}"]}, "x@d.test"),
    "forward to several": ({"x@d.test": ["kind forward", f"target {INSIDE}", "target ann@inside.test",
                                         "target here@d.test"]}, "x@d.test"),
    "chain": ({"x@d.test": ["kind alias", "target y@d.test"], "y@d.test": ["kind forward", "target z@d.test"],
               "z@d.test": ["kind alias", f"target {INSIDE}"]}, "x@d.test"),
    "catch-all": ({"@d.test": ["kind forward", f"target {INSIDE}"]}, "Any.Body@d.test"),
    "alias domain": ({"x@d.test": ["kind forward", f"target {INSIDE}"]}, "x@alias.test"),
    "extension": ({"x@d.test": ["kind forward", f"target {INSIDE}"]}, "x+more@d.test"),
}


@pytest.fixture
def inside():
    server = Server(replies={"RCPT": f"550 5.1.1 <{INSIDE.upper()}> is not {INSIDE}\r\n".encode()})
    yield server
    server.close()


@pytest.fixture
def mx(node, inside):
    def mx(records, settings=""):
        made = node("mx", start=False, domains=["a.test"], routes=[f"inside.test:127.0.0.1;{inside.port}"])
        made.settings = f'directory {{ path = "{made.directory}/directory.db" }}\n{settings}'
        made.write_configuration()
        made.start()
        with Records(made) as opened:
            opened.put("domain", "d.test", "kind local", "service maildir")
            opened.put("domain", "alias.test", "kind alias", "target d.test")
            opened.put("address", "here@d.test", "kind mailbox")
            for key, words in records.items():
                opened.put("address", key, *words)
        return made

    return mx


@pytest.mark.parametrize("way", WAYS)
def test_the_sender_reads_what_it_wrote(mx, way):
    records, written = WAYS[way]
    made = mx(records)
    send(made, {written: "NOTIFY=FAILURE ORCPT=rfc822;o@o.test"})
    (raw,) = made.maildir("anna@a.test").wait()
    report = Report(raw)
    assert report.actions() == {written: "failed"}
    assert report.fields[written]["Original-Recipient"] == "rfc822;o@o.test"
    assert report.fields[written]["Status"] == "5.1.1"
    assert f"<{written}>:" in report.text and f"<{written}> is not {written}" in report.text
    assert b"inside.test" not in raw.lower(), raw
    assert made.log.wait("failed", to=INSIDE)["original"] == written  # the site's own log says more
    made.wait_empty()


def test_success_is_reported_once(mx):
    made = mx({"x@d.test": ["kind forward", "target here@d.test", "target there@d.test"],
               "there@d.test": ["kind mailbox"]})
    send(made, {"x@d.test": "NOTIFY=SUCCESS"})
    report = report_of(made)
    assert report.actions() == {"x@d.test": "delivered"} and report.text.count("x@d.test") == 1
    made.wait_empty()


def test_a_restart_forgets_nothing(mx, inside):
    """What waits at S5 has both addresses in its control file."""
    refusal = inside.replies["RCPT"]
    inside.replies["RCPT"] = b"450 4.2.1 later\r\n"
    made = mx(WAYS["chain"][0])
    send(made, {"x@d.test": ""})
    made.log.wait("deferred", to=INSIDE)
    made.kill_supervisor()
    inside.replies["RCPT"] = refusal
    made.make_due()
    made.start()
    assert report_of(made).actions() == {"x@d.test": "failed"}
    made.wait_empty()


def test_a_site_may_name_where_it_leads(mx):
    made = mx(WAYS["forward to several"][0], "report_addresses = mapped\n")
    send(made, {"x@d.test": ""})
    report = report_of(made)
    assert report.actions() == {INSIDE: "failed", "ann@inside.test": "failed"}
    assert f"<{INSIDE}>:" in report.text
    made.wait_empty()


@pytest.mark.parametrize("verp", ["yes", "no"])
def test_the_owner_of_a_list_reads_its_members(mx, verp):
    """By the addresses of the list, not where those lead."""
    made = mx({"owner@d.test": ["kind mailbox"], "member@d.test": ["kind alias", f"target {INSIDE}"]})
    with Records(made) as opened:
        opened.list("list@d.test", ["member@d.test", "here@d.test"], "owner@d.test", verp=verp)
    send(made, {"list@d.test": ""})
    report = report_of(made, "owner@d.test")
    assert report.actions() == {"member@d.test": "failed"}
    assert made.log.wait("bounced")["to"].startswith("owner")
    made.wait_empty()
    assert not made.maildir("anna@a.test").files()
