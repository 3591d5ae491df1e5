# SPDX-License-Identifier: ISC
"""Reports of how TLS went (RFC 8460): counted with real mail, kept over a restart, and sent the next
day by mail and by HTTPS, in their form."""

import datetime
import email.policy
import gzip
import json
import os
import re
import subprocess
import sys

import pytest
from directory_tls import make_certificates
from lying_dns import TXT, A, Answer, LyingServer, a, mx
from peers import Lan
from policies import HttpsServer, Posts, Served, policy, published, txt
from secure_hops import SecureHops
from smtp import Client
from stagepost import PATIENCE, as_user, is_root, listening, wait_until

pytestmark = pytest.mark.skipif(not is_root(), reason="only root makes networks")

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
GOOD, EXPIRED, PLAIN = (f"198.18.0.{host}" for host in (10, 11, 12))
POLICY = policy("mx.report.test")
TODAY = datetime.datetime.now(datetime.timezone.utc).date()
YESTERDAY = TODAY - datetime.timedelta(days=1)
RESULTS = ("starttls-not-supported", "certificate-host-mismatch", "certificate-expired",
           "certificate-not-trusted", "validation-failure", "tlsa-invalid", "dnssec-invalid",
           "dane-required", "sts-policy-fetch-error", "sts-policy-invalid", "sts-webpki-invalid")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def check(report):
    """The schema of RFC 8460 section 4.4: what must be there, of which type, and nothing else."""
    def shape(value, must, may=()):
        assert set(must) <= set(value) <= {*must, *may}, value
        for name, kind in {**must, **dict(may)}.items():
            assert name not in value or isinstance(value[name], kind), (name, value)

    shape(report, {"organization-name": str, "date-range": dict, "contact-info": str,
                   "report-id": str, "policies": list})
    shape(report["date-range"], {"start-datetime": str, "end-datetime": str})
    assert all(TIME.fullmatch(time) for time in report["date-range"].values())
    for one in report["policies"]:
        shape(one, {"policy": dict, "summary": dict}, {"failure-details": list})
        shape(one["policy"], {"policy-type": str, "policy-domain": str},
              {"policy-string": list, "mx-host": list})
        assert one["policy"]["policy-type"] in ("tlsa", "sts", "no-policy-found")
        assert all(isinstance(text, str) for name in ("policy-string", "mx-host")
                   for text in one["policy"].get(name, []))
        shape(one["summary"], {"total-successful-session-count": int,
                               "total-failure-session-count": int})
        details = one.get("failure-details", [])
        for detail in details:
            shape(detail, {"result-type": str, "failed-session-count": int},
                  {"sending-mta-ip": str, "receiving-mx-hostname": str, "receiving-mx-helo": str,
                   "receiving-ip": str, "additional-information": str, "failure-reason-code": str})
            assert detail["result-type"] in RESULTS
        assert sum(detail["failed-session-count"] for detail in details) == \
            one["summary"]["total-failure-session-count"]
    return report


def wants_reports(domain, *where):
    return {("_smtp._tls." + domain, TXT): Answer([txt(f"v=TLSRPTv1; rua={','.join(where)}")])}


@pytest.fixture(scope="module")
def keys(ground):
    return make_certificates(ground.directory("certificates"), "mta-sts.report.test",
                             "mx.report.test", "expired-mx.report.test", "reports.collector.test")


@pytest.fixture
def names():
    answers = {
        ("report.test", 15): Answer([mx(10, "mx.report.test")]),
        ("mx.report.test", A): Answer(a(GOOD)),
        ("plain.test", 15): Answer([mx(10, "mx.plain.test")]),
        ("mx.plain.test", A): Answer(a(PLAIN)),
        ("reports.collector.test", A): Answer(a("127.0.0.1")),
        **published("report.test"),
        **wants_reports("report.test", "mailto:tls@a.test", "https://reports.collector.test/v1/tls?x=1"),
        **wants_reports("plain.test", "mailto:plain%2Dtls@a.test"),
        **wants_reports("nobody.test", "https://reports.collector.test/gone"),
        **wants_reports("often.test", "https://reports.collector.test/often"),
        **wants_reports("never.test", "https://reports.collector.test/never"),
    }
    answers["_smtp._tls.silent.test", TXT] = Answer([txt("v=spf1 -all")])
    with LyingServer(answers) as server:
        yield server


@pytest.fixture
def https(keys):
    hosts = {"mta-sts.report.test": Served(POLICY),
             ("reports.collector.test", "/v1/tls?x=1"): Posts(201),
             ("reports.collector.test", "/gone"): Posts(503),
             ("reports.collector.test", "/often"): Posts(429),
             ("reports.collector.test", "/never"): Posts(400)}
    files = {host: (f"{keys}/{host}.pem", f"{keys}/{host}.key")
             for host in ("mta-sts.report.test", "reports.collector.test")}
    with HttpsServer(hosts, files) as server:
        yield server


@pytest.fixture
def node_of(node, names, https, keys):
    made = node(start=False)
    made.reports = os.path.join(made.directory, "policies", "tls-reports")
    made.settings = (f'dns_server = "{names.dns_server}"\nmta_sts = yes\nhttps_private = yes\ndane = no\n'
                     f'tls_reports = yes\ntls_authorities = "{keys}/authority.pem"\n'
                     f'policy_path = "{made.directory}/policies"\n')
    made.write_configuration()
    return made


def counted(node, domain, day=TODAY):
    path = os.path.join(node.reports, f"{day}.{domain}")
    wait_until(lambda: os.path.exists(path), f"{path} is there")
    with open(path, encoding="ascii") as file:
        return file.read()


def send(mx, *domains):
    with Client(mx) as client:
        for domain in domains:
            assert client.deliver("ann@a.test", [f"bob@{domain}"], TEXT).startswith("250")


def age(node):
    """What was counted today was counted yesterday."""
    for name in os.listdir(node.reports):
        if not name.startswith("."):
            os.rename(os.path.join(node.reports, name),
                      os.path.join(node.reports, f"{YESTERDAY}{name[10:]}"))


def unpack(raw):
    """(headers, report) of a message."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert message.get_content_type() == "multipart/report"
    assert message["Content-Type"].params["report-type"] == "tlsrpt"
    text, attached = message.iter_parts()
    assert text.get_content_type() == "text/plain"
    assert attached.get_content_type() == "application/tlsrpt+gzip"
    assert not message.defects and not attached.defects
    assert re.fullmatch(r"[^!]+!report\.test!\d+!\d+\.json\.gz|[^!]+![^!]+!\d+!\d+\.json\.gz",
                        attached.get_filename())
    return message, check(json.loads(gzip.decompress(attached.get_payload(decode=True))))


def test_a_day(node_of, names, https, ground, keys):
    """Mail that is protected, that is not, and that waits; a restart; the next day."""
    mx_node = node_of.start()
    files = (f"{keys}/mx.report.test.pem", f"{keys}/mx.report.test.key")
    old = (f"{keys}/expired-mx.report.test.pem", f"{keys}/expired-mx.report.test.key")
    with Lan(hosts=3) as lan, SecureHops(ground.directory("hops"), lan,
                                         {GOOD: files, EXPIRED: old, PLAIN: None}):
        send(mx_node, "report.test")
        mx_node.log.wait("delivered", to="bob@report.test", verified="authority")
        send(mx_node, "plain.test", "plain.test")
        mx_node.log.wait("delivered", to="bob@plain.test", count=2)
        mx_node.restart()  # which writes what was counted, and another process counts on
        names.answers["mx.report.test", A] = Answer(a(EXPIRED))
        send(mx_node, "report.test")
        mx_node.log.wait("deferred", to="bob@report.test")
        mx_node.stop()
    assert "policy: sts 1\n" in counted(mx_node, "report.test")
    shown = subprocess.run([*as_user(), f"{mx_node.programs}/stagepost", "tls-report", "--json", "-c", mx_node.conf],
                           check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
    rows = {row["domain"]: (row["day"], row["successes"], row["failures"])
            for row in map(json.loads, shown.splitlines())}
    connections = rows["plain.test"][2]  # both messages may go by one
    assert 1 <= connections <= 2
    assert rows == {"report.test": (str(TODAY), 1, 1), "plain.test": (str(TODAY), 0, connections)}
    age(mx_node)
    mx_node.start()
    (by_mail,) = mx_node.maildir("tls@a.test").wait()
    mail, report = unpack(by_mail)
    assert mail["TLS-Report-Domain"] == "report.test"
    assert mail["TLS-Report-Submitter"] == "mx.stagepost.test"
    assert mail["From"] == "postmaster@mx.stagepost.test"
    assert b"Return-Path: <postmaster@mx.stagepost.test>" in by_mail
    assert report["date-range"] == {"start-datetime": f"{YESTERDAY}T00:00:00Z",
                                    "end-datetime": f"{YESTERDAY}T23:59:59Z"}
    (one,) = report["policies"]
    assert one["policy"] == {"policy-type": "sts", "policy-domain": "report.test",
                             "policy-string": ["version: STSv1", "mode: enforce",
                                               "mx: mx.report.test", "max_age: 86400"],
                             "mx-host": ["mx.report.test"]}
    assert one["summary"] == {"total-successful-session-count": 1, "total-failure-session-count": 1}
    (failure,) = one["failure-details"]
    assert failure["result-type"] == "certificate-expired"
    assert failure["receiving-mx-hostname"] == "mx.report.test"
    assert failure["receiving-mx-helo"] == "mx.hops.test"
    assert (failure["receiving-ip"], failure["sending-mta-ip"]) == (EXPIRED, "198.18.0.1")
    posts = https.hosts["reports.collector.test", "/v1/tls?x=1"]
    wait_until(lambda: posts.received, "the report is posted")
    ((headers, body),) = posts.received
    assert headers["Content-Type"] == "application/tlsrpt+gzip"
    assert check(json.loads(gzip.decompress(body))) == report
    _, plain = unpack(mx_node.maildir("plain-tls@a.test").wait()[0])
    (one,) = plain["policies"]
    assert one["policy"] == {"policy-type": "no-policy-found", "policy-domain": "plain.test"}
    assert one["failure-details"][0]["result-type"] == "starttls-not-supported"
    assert one["failure-details"][0]["receiving-mx-helo"] == "mx.hops.test"
    wait_until(lambda: not [name for name in os.listdir(mx_node.reports) if name[0] != "."],
               "what was sent is removed")
    assert len(posts.received) == 1


# A host that disturbs TLS: argument 1 is what it says to STARTTLS.
DISTURBER = r"""
import socketserver, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"220 mx ESMTP\r\n")
        while line := self.rfile.readline():
            self.wfile.write(b"250-mx\r\n250 STARTTLS\r\n" if line[:4] == b"EHLO" else
                             sys.argv[2].encode() if line[:8] == b"STARTTLS" else b"250 ok\r\n")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
Server((sys.argv[1], 25), Handler).serve_forever()
"""


@pytest.mark.parametrize("domain, said, counts", [
    ("plain.test", "220 go\r\n250 mx\r\n", "failure: 1 validation-failure mx.plain.test"),
    ("report.test", "421 4.3.2 not now\r\n", "failure: 1 starttls-not-supported mx.report.test")])
def test_who_disturbs_tls_is_counted(node_of, names, domain, said, counts):
    names.answers["mx.plain.test", A] = Answer(a(GOOD))
    mx_node = node_of.start()
    with Lan(hosts=1) as lan, subprocess.Popen(
            [*lan.inside, sys.executable, "-c", DISTURBER, GOOD, said]) as disturber:
        try:
            wait_until(lambda: listening(25, GOOD), "it listens")
            send(mx_node, domain)
            mx_node.log.wait("deferred", to=f"bob@{domain}")
        finally:
            disturber.kill()
    mx_node.stop()
    assert counts in counted(mx_node, domain)


DAY = """policy: sts 7
string: version: STSv1
string: mode: testing
mx: *.report.test
failure: 3 certificate-not-trusted mx.report.test 192.0.2.1 198.51.100.7 no authority has signed it
failure: 1 validation-failure - - -{space}
policy: tlsa 4
string: 3 1 1 ABCDEF
"""


def place(node, domain, text=DAY.format(space=" "), day=YESTERDAY):
    os.makedirs(node.reports, exist_ok=True)
    path = os.path.join(node.reports, f"{day}.{domain}")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    for each in os.path.dirname(node.reports), node.reports, path:
        os.chmod(each, 0o777)


def test_who_wants_none_is_sent_none(node_of, https):
    """No record: the results are removed. A place that does not take it: they stay for a later
    attempt. A damaged file is removed, and a day that is not over waits."""
    place(node_of, "silent.test")
    for domain in ("nobody.test", "often.test", "never.test"):
        place(node_of, domain)
    place(node_of, "damaged.test", "policy: sts x\n")
    place(node_of, "report.test", day=TODAY)
    mx_node = node_of.start()
    mx_node.log.wait("tls_report_damaged", file=f"{YESTERDAY}.damaged.test")
    event = mx_node.log.wait("tls_report_failed", domain="nobody.test")
    assert event["to"] == "reports.collector.test" and event["reason"] == "HTTP status 503"
    assert mx_node.log.wait("tls_report_failed", domain="often.test")["reason"] == "HTTP status 429"
    mx_node.log.wait("tls_report_failed", domain="never.test")
    left = {f"{YESTERDAY}.nobody.test", f"{YESTERDAY}.often.test", f"{TODAY}.report.test"}
    wait_until(lambda: set(os.listdir(node_of.reports)) - {".new"} == left, "only these are left")
    assert len(https.hosts["reports.collector.test", "/gone"].received) == 1
    assert not mx_node.log.find("tls_report_sent")


def test_nothing_private_is_asked(node_of, https):
    """Unless the operator allows it: the names are other domains' choice."""
    place(node_of, "nobody.test")
    node_of.settings = node_of.settings.replace("https_private = yes\n", "")
    node_of.write_configuration()
    event = node_of.start().log.wait("tls_report_failed", domain="nobody.test")
    assert event["reason"] == ("reports.collector.test has no public address, but 127.0.0.1"
                               " (see https_private)")
    assert not https.hosts["reports.collector.test", "/gone"].received


def test_what_is_kept_is_what_is_sent(node_of, https):
    """Several policies, several failures; a sender of the operator's own."""
    node_of.settings += 'tls_report_from = "tls-reports@a.test"\n'
    node_of.write_configuration()
    place(node_of, "report.test")
    mx_node = node_of.start()
    mail, report = unpack(mx_node.maildir("tls@a.test").wait()[0])
    assert mail["From"] == "tls-reports@a.test" and report["contact-info"] == "tls-reports@a.test"
    sts, tlsa = report["policies"]
    assert sts["summary"] == {"total-successful-session-count": 7, "total-failure-session-count": 4}
    assert sts["failure-details"] == [
        {"result-type": "certificate-not-trusted", "sending-mta-ip": "198.51.100.7",
         "receiving-mx-hostname": "mx.report.test", "receiving-ip": "192.0.2.1",
         "failed-session-count": 3, "failure-reason-code": "no authority has signed it"},
        {"result-type": "validation-failure", "failed-session-count": 1}]
    assert tlsa["policy"] == {"policy-type": "tlsa", "policy-domain": "report.test",
                              "policy-string": ["3 1 1 ABCDEF"]}
