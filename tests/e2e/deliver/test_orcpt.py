# SPDX-License-Identifier: ISC
"""What a next host is told of the address that was written, where it was mapped to another one: ORCPT, RFC 3461 section
5.2.1."""
import pytest
from hostile import GOOD, Server
from records import Records
from test_dsn import hop as real_hop  # noqa: F401
from test_dsn import report_of, send

DSN = {"EHLO": b"250-hop.test\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 DSN\r\n"}
FAR = "tom@far.test"
RECORDS = {
    "alias@d.test": ["kind alias", f"target {FAR}"],
    "forward@d.test": ["kind forward", f"target {FAR}", "target ann@far.test"],
    "chain@d.test": ["kind alias", "target forward@d.test"],
    "@d.test": ["kind forward", f"target {FAR}"],
    "j\u00f6rg@d.test": ["kind alias", f"target {FAR}"],
}


@pytest.fixture(params=["smtp", "lmtp"])
def hop(request):
    server = Server(replies=DSN, is_lmtp=request.param == "lmtp")
    yield server
    server.close()


@pytest.fixture
def start(node):
    def start(hop):
        mx = node("mx", start=False, domains=["a.test"], routes=[] if hop.is_lmtp else [f"far.test:127.0.0.1;{hop.port}"])
        mx.settings = f'directory {{ path = "{mx.directory}/directory.db" }}\n'
        if hop.is_lmtp:
            mx.settings += f'service far {{ kind = lmtp address = "127.0.0.1:{hop.port}" }}\n'
        mx.write_configuration()
        mx.start()
        with Records(mx) as opened:
            opened.put("domain", "d.test", "kind local", "service maildir")
            if hop.is_lmtp:
                opened.put("domain", "far.test", "kind local", "service far")
                opened.put("address", FAR, "kind mailbox")
                opened.put("address", "ann@far.test", "kind mailbox")
            for key, words in RECORDS.items():
                if not key.endswith("@far.test"):
                    opened.put("address", key, *words)
        return mx

    return start


def told(mx, hop, recipients, mail="", sender="anna@a.test"):
    """{address: its parameters} of RCPT at the next host."""
    send(mx, recipients, mail, sender)
    mx.wait_empty()
    found = {}
    for command in hop.commands:
        address, _, words = command.partition("<")[2].partition(">")
        found[address] = words.split()
    return found


@pytest.mark.parametrize("written", ["alias@d.test", "forward@d.test", "chain@d.test", "any+more@d.test", "Alias@D.test"])
def test_what_was_written_is_told(start, hop, written):
    expected = ["ORCPT=rfc822;" + written.replace("+", "+2B")]
    found = told(start(hop), hop, {written: ""})
    assert FAR in found and all(words == expected for words in found.values()), found


def test_what_the_sender_said_stays(start, hop):
    assert told(start(hop), hop, {"alias@d.test": "NOTIFY=FAILURE ORCPT=rfc822;o+2Bx@o.test"}) == {
        FAR: ["NOTIFY=FAILURE", "ORCPT=rfc822;o+2Bx@o.test"]}


def test_what_was_not_mapped(start, hop):
    assert told(start(hop), hop, {FAR: "", "ann@far.test": "NOTIFY=NEVER"}) == {FAR: [], "ann@far.test": ["NOTIFY=NEVER"]}


def test_utf8(start, hop):
    assert told(start(hop), hop, {"j\u00f6rg@d.test": ""}, "SMTPUTF8") == {FAR: ["ORCPT=utf-8;j\u00f6rg@d.test"]}


def test_a_host_that_has_no_dsn(start, hop):
    hop.replies["EHLO"] = GOOD["EHLO"]
    assert told(start(hop), hop, {"alias@d.test": ""}) == {FAR: []}


def test_reports_of_real_servers_name_it(node, real_hop):  # noqa: F811
    """As they are installed: beside mail that was not mapped, in one session after a recipient that is refused."""
    peer, port = real_hop
    mx = node("mx", start=False, domains=["a.test"], port=port, routes=[f"hop.test:127.0.0.1;{peer.port}"])
    mx.settings = f'directory {{ path = "{mx.directory}/directory.db" }}\n'
    mx.write_configuration()
    mx.start()
    with Records(mx) as opened:
        opened.put("domain", "d.test", "kind local", "service maildir")
        opened.put("address", "alias+x@d.test", "kind alias", "target bob@hop.test")
    send(mx, {"none@hop.test": "NOTIFY=NEVER", "alias+x@d.test": "NOTIFY=SUCCESS", "gone@hop.test": "NOTIFY=NEVER"})
    report = report_of(mx)
    fields = report.fields["bob@hop.test"]
    assert fields["Action"].startswith("delivered")
    assert fields["Original-Recipient"] == peer.as_reported("rfc822;alias+2Bx@d.test")
    mx.wait_empty()
