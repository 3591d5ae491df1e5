# SPDX-License-Identifier: ISC
"""What becomes of mail for domains whose name server lies, loops, is silent, or points at
machines that a stranger's mail must not reach."""

import os
import sys
import time

import pytest
from lying_dns import AAAA, NOERROR, NXDOMAIN, SERVFAIL, LyingServer, A, Answer, a, mx, MX
from lying_dns_cases import ADDRESSES, CASES, SILENT, answers_of, domain_of
from smtp import deliver
from stagepost import SLOWNESS, wait_until
from test_dns import search

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from common.record import record  # noqa: E402

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
PATIENCE = 60 * SLOWNESS  # seconds, for all searches; a silent server is given up after half of that


@pytest.fixture(scope="module")
def found():
    """{domain: what the search for its exchangers ended with}"""
    begin = time.monotonic()
    with LyingServer(answers_of(CASES)) as server:
        result = search(server, "exchangers", *[domain_of(case.name) for case in CASES])
        result["seconds"] = time.monotonic() - begin
        # As mail would: on a busy machine an answer may come too late.
        again = [domain_of(case.name) for case in CASES
                 if result[domain_of(case.name)].startswith("4.4.3") and
                 not any(wanted.startswith("4.4.3") for wanted in case.wanted)]
        if again:
            result |= search(server, "exchangers", *again)
    return result


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_search(found, case):
    text = found[domain_of(case.name)]
    assert any(text.startswith(wanted) for wanted in case.wanted), text
    if "=" in case.wanted[0]:
        assert len(text.split()) == case.count


def test_searches_end(found):
    print(record(
        "hostile-dns", title="Name servers that lie",
        what="Domains whose name server answers with loops, other names, other numbers, broken "
             "records, too much or nothing, or gives addresses that cannot be a host's. The search "
             "for their exchangers must end as it should, and never with such an address.",
        command="tests/e2e/run tests/e2e/hostile/test_lying_dns.py",
        counts={"domains": len(CASES), "addresses not to be used": len(ADDRESSES)},
        seconds=found["seconds"]))
    assert found["seconds"] < PATIENCE


def test_the_next_exchanger_is_used_and_ours_never():
    """What is no host's is passed by; what is ours ends the list, as for a backup."""
    answers = {}
    for name, first in ("none", "169.254.1.1"), ("self", "127.0.0.1"):
        answers |= {(f"{name}.test", MX): Answer([mx(20, f"b.{name}.test"),
                                                   mx(10, f"a.{name}.test")]),
                    (f"a.{name}.test", A): Answer(a(first)),
                    (f"b.{name}.test", A): Answer(a("192.0.2.1"))}
    with LyingServer(answers) as server:
        result = search(server, "exchangers", "none.test", "self.test")
    assert result["none.test"] == "b.none.test=192.0.2.1"
    assert result["self.test"].startswith("5.4.6 ")


def test_mail_is_put_off_or_returned(node):
    """With the reason; and other mail does not wait for those that are silent."""
    with LyingServer(answers_of(CASES)) as server:
        mx_node = node(settings=f'dns_server = "{server.dns_server}"\ndane = no', relay_from=["127.0.0.0/8"])
        for number in range(SILENT):
            deliver(mx_node, f"x@silent{number}.silent.test", TEXT, sender="anna@a.test")
        for name in "link_local", "loopback", "null_mx", "servfail":
            deliver(mx_node, f"x@{domain_of(name)}", TEXT, sender="anna@a.test")
        for address in "169.254.1.1", "127.0.0.2", "IPv6:::ffff:127.0.0.2", "IPv6:fe80::1":
            deliver(mx_node, f"x@[{address}]", TEXT, sender="anna@a.test")
        deliver(mx_node, "anna@a.test", TEXT)
        for to, status, text in (
                ("x@link-local.test", "5.4.4",
                 "the mail exchangers of link-local.test have no address of a host"),
                ("x@loopback.test", "5.4.6", "mail for loopback.test loops back to this host"),
                ("x@null-mx.test", "5.1.10", "null-mx.test takes no mail"),
                ("x@[169.254.1.1]", "5.4.4", "[169.254.1.1] is no address of a host"),
                ("x@[127.0.0.2]", "5.4.6", "mail for [127.0.0.2] loops back to this host"),
                ("x@[IPv6:::ffff:127.0.0.2]", "5.4.6",
                 "mail for [::ffff:127.0.0.2] loops back to this host"),
                ("x@[IPv6:fe80::1]", "5.4.4", "[fe80::1] is no address of a host")):
            failed = mx_node.log.wait("failed", to=to)
            assert (failed["status"], failed["text"]) == (status, text)
        assert mx_node.log.wait("deferred", to="x@servfail.test")["status"] == "4.4.3"
        mx_node.log.wait("deferred", count=SILENT + 1, timeout=PATIENCE)
        assert {event["status"] for event in mx_node.log.find("deferred")} == {"4.4.3"}
        wait_until(lambda: len(mx_node.control_files()) == SILENT + 1, "the others are done")
        assert len(mx_node.maildir("anna@a.test").wait(8)) == 8
        assert not mx_node.log.find("process_ended")


QUESTIONS_MAX = 1 + 2 * 16  # the exchangers, and two kinds of addresses of so many of them


@pytest.mark.parametrize("code", [NOERROR, NXDOMAIN, SERVFAIL])
def test_questions_for_one_message(node, code):
    """A domain with a hundred exchangers, none of which has an address."""
    hosts = [f"h{number}.many.test" for number in range(100)]
    answers = {("many.test", MX): Answer([mx(number, host) for number, host in enumerate(hosts)])}
    answers |= {(host, kind): Answer(code=code) for host in hosts for kind in (A, AAAA)}
    with LyingServer(answers) as server:
        made = node(settings=f'dns_server = "{server.dns_server}"\ndane = no', relay_from=["127.0.0.0/8"])
        deliver(made, [f"x{number}@many.test" for number in range(50)], TEXT, sender="anna@a.test")
        wait_until(lambda: made.log.find("deferred") or made.log.find("bounced") or
                   made.log.find("failed"), "it has an outcome", PATIENCE)
        asked = sum(server.asked.values())
        names = len(server.asked.keys() - {""})  # the root's: whether anybody is there
        questions = len([name for name, _ in server.questions if name != ""])
    print(f"questions: {asked}, {questions} different ones about {names} names")
    assert names <= 1 + 16
    assert questions <= QUESTIONS_MAX
    # libunbound asks again what fails, and what is not answered in time: that depends on the machine
    assert asked <= QUESTIONS_MAX * 12
