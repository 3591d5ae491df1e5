# SPDX-License-Identifier: ISC
"""Mail to domains with policies of MTA-STS: a node, an HTTPS server with the policies, and Postfix
as the domains' servers. It goes only where the policy lets it go; else it waits and says why."""

import json
import os
import signal
import subprocess

import pytest
from directory_tls import make_certificates
from lying_dns import TXT, A, Answer, LyingServer, a, mx
from peers import Lan
from policies import Asker, HttpsServer, Served, policy, published, txt
from secure_hops import SecureHops
from smtp import Client
from stagepost import PATIENCE, as_user, is_root, wait_until

pytestmark = pytest.mark.skipif(not is_root(), reason="only root makes networks")

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
GOOD, EXPIRED, FOREIGN, PLAIN, OTHER = (f"198.18.0.{host}" for host in range(10, 15))
CERTIFICATES = {GOOD: "many-hop.test", EXPIRED: "expired-e.hop.test", FOREIGN: "foreign-f.hop.test",
                OTHER: "elsewhere.test"}
HOSTS = {"a.hop.test": GOOD, "b.hop.test": GOOD, "e.hop.test": EXPIRED, "f.hop.test": FOREIGN,
         "p.hop.test": PLAIN, "o.hop.test": OTHER}

# domain: (MX hosts by preference, policy's text or None)
DOMAINS = {
    "right.test": (["a.hop.test"], policy("a.hop.test")),
    "wildcard.test": (["a.hop.test"], policy("*.hop.test")),
    "second.test": (["b.hop.test", "a.hop.test"], policy("a.hop.test")),
    "unnamed.test": (["a.hop.test"], policy("mx.elsewhere.test", "*.a.hop.test", "hop.test")),
    "plain.test": (["p.hop.test"], policy("p.hop.test")),
    "expired.test": (["e.hop.test"], policy("e.hop.test")),
    "foreign.test": (["f.hop.test"], policy("f.hop.test")),
    "other.test": (["o.hop.test"], policy("o.hop.test")),
    "off.test": (["p.hop.test"], policy(mode="none")),
    "without.test": (["p.hop.test"], None),
    "broken.test": (["p.hop.test"], "garbage"),
    "t-right.test": (["a.hop.test"], policy("a.hop.test", mode="testing")),
    "t-unnamed.test": (["a.hop.test"], policy("b.hop.test", mode="testing")),
    "t-plain.test": (["p.hop.test"], policy("p.hop.test", mode="testing")),
    "t-expired.test": (["e.hop.test"], policy("e.hop.test", mode="testing")),
    "t-other.test": (["o.hop.test"], policy("o.hop.test", mode="testing")),
}


@pytest.fixture(scope="module")
def keys(ground):
    names = [*CERTIFICATES.values(), *(f"mta-sts.{domain}" for domain in DOMAINS)]
    return make_certificates(ground.directory("certificates"), *names)


@pytest.fixture(scope="module")
def hops(ground, keys):
    servers = {address: (f"{keys}/{name}.pem", f"{keys}/{name}.key")
               for address, name in CERTIFICATES.items()}
    with Lan(hosts=5) as lan, SecureHops(ground.directory("hops"), lan,
                                         {**servers, PLAIN: None}) as hops:
        yield hops


@pytest.fixture
def names():
    answers = {(host, A): Answer(a(address)) for host, address in HOSTS.items()}
    for domain, (hosts, text) in DOMAINS.items():
        answers[domain, 15] = Answer([mx(10 * n + 10, host) for n, host in enumerate(hosts)])
        if text is not None:
            answers.update(published(domain))
    with LyingServer(answers) as server:
        yield server


@pytest.fixture
def https(keys):
    hosts = {f"mta-sts.{domain}": Served(text) for domain, (_, text) in DOMAINS.items() if text}
    files = {host: (f"{keys}/{host}.pem", f"{keys}/{host}.key") for host in hosts}
    with HttpsServer(hosts, files) as server:
        yield server


@pytest.fixture
def place(node, names, https, hops, keys):
    """place(more settings) makes the node."""
    def make(more=""):
        made = node(start=False)
        made.policies = f"{made.directory}/policies"
        made.settings = (f'dns_server = "{names.dns_server}"\nmta_sts = yes\nhttps_private = yes\ndane = no\n'
                         f'tls_authorities = "{keys}/authority.pem"\n'
                         f'policy_path = "{made.policies}"\n{more}')
        made.write_configuration()
        hops.forget()
        return made.start()

    return make


def send(mx, *domains):
    with Client(mx) as client:
        for domain in domains:
            reply = client.deliver("ann@a.test", [f"bob@{domain}"], TEXT)
            assert reply.startswith("250"), reply


def delivered(node, domain, **fields):
    return node.log.wait("delivered", to=f"bob@{domain}", **fields)


def deferred(node, domain):
    return node.log.wait("deferred", to=f"bob@{domain}")


def test_enforce(place, hops):
    """Where the policy is met mail goes, by TLS with a verified certificate; elsewhere it waits."""
    mx = place()
    reasons = {
        "unnamed.test": "a.hop.test must not be used: the MTA-STS policy of unnamed.test does not "
                        "name it",
        "plain.test": "STARTTLS",
        "expired.test": "expired",
        "foreign.test": "issuer",
        "other.test": "ostname mismatch",
    }
    send(mx, "right.test", "wildcard.test", "second.test", *reasons)
    for domain in "right.test", "wildcard.test", "second.test":
        event = delivered(mx, domain)
        assert (event["policy"], event["verified"]) == ("verify", "authority"), event
    for domain, reason in reasons.items():
        event = deferred(mx, domain)
        assert reason in event["text"], event
    wait_until(lambda: len(hops.maildir("bob@right.test").files()) == 3, "three messages")
    assert not mx.log.find("bounced")


def test_no_policy(place, hops):
    """None, mode none, and one that cannot be fetched: mail goes in plain text, as without."""
    mx = place()
    domains = "off.test", "without.test", "broken.test"
    send(mx, *domains)
    for domain in domains:
        assert "verified" not in delivered(mx, domain)
    hops.maildir("bob@off.test").wait(3)
    mx.log.wait("policy_failed", domain="broken.test")


def test_testing(place, hops):
    """Mail goes, and the log says what would have made it wait."""
    mx = place()
    unmet = {"t-unnamed.test": "does not name", "t-plain.test": "STARTTLS",
             "t-expired.test": "expired", "t-other.test": "name"}
    send(mx, "t-right.test", *unmet)
    event = delivered(mx, "t-right.test")
    assert (event["policy"], event["verified"]) == ("may", "authority"), event
    for domain, reason in unmet.items():
        event = delivered(mx, domain)
        assert event.get("verified", "no") == ("authority" if "unnamed" in domain else "no"), event
        assert reason in mx.log.wait("policy_unmet", domain=domain)["reason"]
    assert "verified" in delivered(mx, "t-expired.test"), "it was sent in plain text"
    hops.maildir("bob@t-right.test").wait(5)
    assert not mx.log.find("policy_unmet", domain="t-right.test")


def run(mx, *words):
    return subprocess.run([*as_user(), f"{mx.programs}/stagepost", *words, "-c", mx.conf], check=False,
                          capture_output=True, text=True, timeout=PATIENCE)


@pytest.mark.parametrize("domain, status, policy, said", [
    ("right.test", 0, "verify", "enforce, id 1: a.hop.test"),
    ("unnamed.test", 1, "verify", "enforce, id 1: mx.elsewhere.test *.a.hop.test hop.test"),
    ("expired.test", 1, "verify", "enforce, id 1: e.hop.test"),
    ("t-other.test", 0, "may", "testing, id 1: o.hop.test"),
    ("off.test", 3, "may", "none, id 1: "),
    ("without.test", 3, "may", "no policy"),
    ("broken.test", 3, "may", "no policy; sts-policy-invalid"),
])
def test_the_command_says_the_same(place, domain, status, policy, said):
    mx = place()
    ended = run(mx, "tls", "--json", domain)
    assert ended.returncode == status, ended
    (line,) = ended.stdout.splitlines()
    host = json.loads(line)
    assert (host["policy"], host["mta_sts"]) == (policy, said), host
    assert "mta-sts" in run(mx, "tls", domain).stdout


def test_the_node_is_as_its_table_says(place, hops):
    """Also while "policy" has been asked, and has written."""
    mx = place("tls_reports = yes\n")
    send(mx, "right.test")
    delivered(mx, "right.test")
    ended = subprocess.run([f"{mx.programs}/stagepost", "check", "--running", "-c", mx.conf],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0 and "policy" not in ended.stderr, ended


def test_a_section_decides_first(place, hops):
    """What the operator says of a domain, and a relay."""
    mx = place('tls "plain.test" { level = may }\ntls "right.test" { level = encrypt }\n')
    mx.routes = ["unnamed.test:a.hop.test"]
    mx.write_configuration()
    mx.reload()
    send(mx, "plain.test", "right.test", "unnamed.test")
    delivered(mx, "plain.test")
    assert delivered(mx, "right.test")["policy"] == "encrypt"
    assert delivered(mx, "unnamed.test")["policy"] == "may"
    hops.maildir("bob@plain.test").wait(3)


def test_mail_goes_when_the_policy_allows_it_again(place, hops, names, https):
    """The domain has moved to another host; its new id is noticed while mail waits."""
    mx = place()
    send(mx, "unnamed.test")
    deferred(mx, "unnamed.test")
    names.answers["_mta-sts.unnamed.test", TXT] = Answer([txt("v=STSv1; id=2")])
    https.hosts["mta-sts.unnamed.test"] = Served(policy("a.hop.test"))
    mx.restart()  # asks for the id again, which takes an hour otherwise
    with Asker(mx) as asker:
        asker.ask("unnamed.test")
        mx.log.wait("policy_fetched", domain="unnamed.test", policy="2")
    assert run(mx, "queue", "retry", "--all", "--yes").returncode == 0
    delivered(mx, "unnamed.test")


def test_without_the_process(place, hops, names):
    """While "policy" cannot be asked nobody knows whether TLS is demanded: mail waits for it, and
    other mail does not."""
    mx = place('tls "plain.test" { level = may }\n')
    pid, = mx.pids("policy")
    os.kill(pid, signal.SIGSTOP)
    send(mx, "right.test", "plain.test")
    delivered(mx, "plain.test")
    assert not mx.log.find("delivered", to="bob@right.test")
    os.kill(pid, signal.SIGKILL)
    assert delivered(mx, "right.test")["verified"] == "authority"
