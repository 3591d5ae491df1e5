# SPDX-License-Identifier: ISC
"""Exim, which speaks TLS by GnuTLS, as the servers of domains with DANE and MTA-STS, and as a client
that demands DANE of us; and messages with "TLS-Required: No" (RFC 8689), for which their domains'
policies do not count. posttls-finger looks at the same servers."""

import json
import os
import re
import smtplib
import subprocess

import pytest
from exim import Exim
from peers import Lan
from policies import HttpsServer, Served, policy
from signed_dns import SignedNameServer, Zone
from smtp import Client
from stagepost import PATIENCE, as_user, is_root, listening, wait_until
from test_dane import Unbound
from tls_hop import Certificates

pytestmark = pytest.mark.skipif(not is_root(), reason="only root makes networks")

TEXT = b"From: ann@a.test\r\nSubject: hello\r\n\r\nA line.\r\n"
WAIVED = b"TLS-Required: No\r\n" + TEXT
GOOD, OTHER, PLAIN = (f"198.18.0.{host}" for host in (10, 11, 12))
US = "198.18.0.1"
PORT = 2525
WRONG = "TLSA 3 1 1 " + 32 * "ab"
NAMES = ("many-hop.test", "other.test", "mta-sts.sts-right.test", "mta-sts.sts-other.test",
         "mta-sts.sts-plain.test", "mta-sts.sts-unnamed.test", "mx.own.test")
# domain: (its host's address, how mail is verified, or None: it waits; what is wrong then)
DOMAINS = {
    "dane-right.test": (GOOD, "dane-ee", None),
    "dane-anchor.test": (GOOD, "dane-ta", None),
    "dane-wrong.test": (GOOD, None, "no matching DANE TLSA records"),
    "dane-plain.test": (PLAIN, None, "STARTTLS"),
    "sts-right.test": (GOOD, "authority", None),
    "sts-other.test": (OTHER, None, "ostname mismatch"),
    "sts-plain.test": (PLAIN, None, "STARTTLS"),
    "sts-unnamed.test": (GOOD, None, "does not name it"),
}


def append_authority(certificates, *names):
    """Their files with the authority, which records with usage 2 need: NAME-whole."""
    with open(certificates.authority, encoding="ascii") as file:
        authority = file.read()
    for name in names:
        for suffix, more in (("pem", authority), ("key", "")):
            with (open(certificates.path(name, suffix), encoding="ascii") as file,
                  open(certificates.path(f"{name}-whole", suffix), "w", encoding="ascii") as whole):
                whole.write(file.read() + more)
            os.chmod(whole.name, 0o644)


def tlsa(certificates, name, usage):
    """A record with the key of NAME's certificate."""
    return f"TLSA {usage} 1 1 {certificates.key_fingerprint(name)}"


def zones_of(certificates):
    """The hosts are a.hop.test and so on, which the certificate at GOOD is for."""
    records = {"dane-right.test": tlsa(certificates, "many-hop.test", 3),
               "dane-anchor.test": tlsa(certificates, "authority", 2),
               "dane-wrong.test": WRONG, "dane-plain.test": WRONG}
    hosts = ""
    zones = {}
    for domain, (address, _, _) in DOMAINS.items():
        host = domain.partition(".")[0]
        hosts += f"{host} A {address}\n"
        if domain in records:
            hosts += f"_25._tcp.{host} {records[domain]}\n"
        zones[domain] = Zone(f"@ MX 10 {host}.hop.test.\n" + (
            '_mta-sts TXT "v=STSv1; id=1;"\nmta-sts A 127.0.0.1\n' if domain.startswith("sts-") else ""))
    own = f"mx A {US}\n"
    own += f"_{PORT}._tcp.mx {tlsa(certificates, 'mx.own.test', 3)}\n"
    own += f"bad A {US}\n_{PORT}._tcp.bad {WRONG}\n"
    return zones | {"hop.test": Zone(hosts), "own.test": Zone(own),
                    "for-us.test": Zone("@ MX 10 mx.own.test.\n"),
                    "for-impostor.test": Zone("@ MX 10 bad.own.test.\n")}


class LanExim(Exim):
    """Has a mailbox for bob in every domain of others, at GOOD with a certificate for *.hop.test, at
    OTHER with another one, at PLAIN without; sends mail for the for-....test to PORT, by DANE."""

    CERTIFICATE = "${{if eq{{$received_ip_address}}{{{other}}}{{{path}/other.test-whole}}{{{path}/many-hop.test-whole}}}}.{suffix}"

    def __init__(self, directory, lan, certificates, names):
        self._lan, self._names, self._certificates = lan, names, certificates
        self._unbound = None
        super().__init__(directory, domain="! for-us.test : ! for-impostor.test : *",
                         hostname="mx.hop.test", next_port=PORT, certificate="CERTIFICATE",
                         client_tls="hosts_try_dane = *\n  hosts_require_dane = *")

    def _file(self, suffix):
        return self.CERTIFICATE.format(other=OTHER, path=self._certificates.directory, suffix=suffix)

    def _edit(self):
        path = os.path.join(self.directory, "exim.conf")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for old, new in (
                ("local_interfaces = 127.0.0.1", f"local_interfaces = {GOOD} : {OTHER} : {PLAIN}"),
                (f"daemon_smtp_ports = {self.port}", "daemon_smtp_ports = 25"),
                ("tls_advertise_hosts = *", f"tls_advertise_hosts = ${{if eq{{$received_ip_address}}{{{PLAIN}}}{{}}{{*}}}}"),
                ("CERTIFICATE.pem", self._file("pem")), ("CERTIFICATE.key", self._file("key")),
                ("driver = manualroute\n  route_list = * 127.0.0.1\n", "driver = dnslookup\n  dnssec_request_domains = *\n"),
                ("exim_user =", "dns_dnssec_ok = 1\nexim_user =")):
            assert old in text, old
            text = text.replace(old, new)
        self._write("exim.conf", text)

    def _run(self, name, command):
        with open(os.path.join(self.directory, "log", name), "ab") as log:
            self.process = subprocess.Popen(
                [*self._lan.inside, "unshare", "--mount", "sh", "-c",
                 'mount --bind "$0" /etc/resolv.conf && exec "$@"', os.path.join(self._unbound.directory, "resolv.conf"), *command],
                cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        wait_until(lambda: listening(25, PLAIN) or self.process.poll() is not None, "Exim listens")
        assert self.process.poll() is None, self.log()

    def start(self):
        os.mkdir(os.path.join(self.directory, "unbound"))
        self._unbound = Unbound(os.path.join(self.directory, "unbound"), self._lan, self._names)
        self._edit()
        super().start()

    def finger(self, *words):
        """What posttls-finger says, beside it."""
        conf = os.path.join(self._unbound.directory, "main.cf")
        with open(conf, "w", encoding="ascii") as file:
            file.write("compatibility_level = 3.6\n")
        ended = self._unbound.run("posttls-finger", "-t10", "-c", "-L", "summary",
                                  "-F", self._certificates.authority, *words)
        return ended.stdout + ended.stderr

    def __exit__(self, *exception):
        super().__exit__(*exception)
        self._unbound.__exit__()


@pytest.fixture(scope="module")
def internet(ground):
    """(certificates, server of names, Exim)"""
    certificates = Certificates(ground.directory("certificates"), *NAMES)
    append_authority(certificates, "many-hop.test", "other.test")
    hosts = {f"mta-sts.{domain}": Served(policy("mx.elsewhere.test" if "unnamed" in domain else "*.hop.test"))
             for domain in DOMAINS if domain.startswith("sts-")}
    files = {host: (certificates.path(host), certificates.path(host, "key")) for host in hosts}
    with (Lan(hosts=3) as lan, SignedNameServer(zones_of(certificates), address=US) as names,
          HttpsServer(hosts, files),
          LanExim(ground.directory("exim"), lan, certificates, names) as exim):
        yield certificates, names, exim


@pytest.fixture
def place(node, internet):
    certificates, names, _ = internet

    def make(more="", **options):
        made = node(start=False, hostname="mx.own.test", address=US, port=PORT, domains=("for-us.test", "for-impostor.test", "a.test"),
                    relay_from=("198.18.0.1/32",), **options)
        made.settings = names.settings() + (
            "mta_sts = yes\nhttps_private = yes\n"
            f'tls_authorities = "{certificates.authority}"\npolicy_path = "{made.directory}/policies"\n'
            f'certificate us {{ chain = "{certificates.path("mx.own.test")}" '
            f'key = "{certificates.path("mx.own.test", "key")}" }}\n{more}')
        made.write_configuration()
        return made.start()

    return make


def send(mx, domains, text=TEXT, sender="ann@a.test"):
    with Client(mx, source=US) as client:
        for domain in domains:
            reply = client.deliver(sender, [f"bob@{domain}"], text)
            assert reply.startswith("250"), reply


def command(mx, domain):
    """What "stagepost tls" says of its host."""
    ended = subprocess.run([*as_user(), f"{mx.programs}/stagepost", "tls", "--json", "-c", mx.conf, domain],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    (line,) = ended.stdout.splitlines()
    return json.loads(line)


def test_exim_as_the_server(place, internet):
    """Mail goes where the domain's policy is met, waits elsewhere; our command says the same, and
    posttls-finger, which knows no MTA-STS, of the certificate that the policy demands."""
    _, _, exim = internet
    mx = place()
    send(mx, DOMAINS)
    for domain, (_, verified, wrong) in DOMAINS.items():
        event = mx.log.wait("delivered" if verified else "deferred", to=f"bob@{domain}")
        said = command(mx, domain)
        host = f"{domain.partition('.')[0]}.hop.test"
        level = ("-l", "dane", domain) if domain.startswith("dane-") else ("-l", "verify", f"[{host}]", host)
        found = exim.finger(*level)
        if verified:
            assert event["verified"] == verified and said["verified"] == verified, (event, said)
            assert re.search("Verified TLS connection established", found), found
        else:
            assert wrong in event["text"] and wrong in said["reason"], (event, said)
            assert "unnamed" in domain or "Verified TLS" not in found, found
    expected = sum(bool(verified) for _, verified, _ in DOMAINS.values())
    wait_until(lambda: len(exim.maildir("bob").files()) == expected, "all that may go has arrived")
    assert not mx.log.find("bounced")


def test_tls_required_no(place, internet):
    """Goes to each of them, in plain text if need be; with a section "tls" that is the operator's
    word, which counts."""
    _, _, exim = internet
    before = len(exim.maildir("bob").files())
    mx = place('tls "dane-plain.test" { level = encrypt }\n')
    send(mx, DOMAINS, WAIVED)
    for domain in DOMAINS:
        if domain == "dane-plain.test":
            assert "STARTTLS" in mx.log.wait("deferred", to=f"bob@{domain}")["text"]
            continue
        event = mx.log.wait("delivered", to=f"bob@{domain}")
        assert event.get("policy", "may") == "may", event
        assert ("tls" in event) == ("plain" not in domain), event
    wait_until(lambda: len(exim.maildir("bob").files()) == before + len(DOMAINS) - 1, "all mail has arrived")
    # the field goes along, for those behind
    assert b"TLS-Required: No" in exim.maildir("bob").messages()[-1]


def test_a_bounce_is_a_message_of_its_own(place, internet):
    """It says nothing of TLS itself, so the policy of the sender's domain counts for it: it waits for
    the domain that breaks its own, and goes to the other one."""
    mx = place()
    for sender in ("bob@sts-right.test", "bob@sts-other.test"):
        with Client(mx, source=US) as client:
            assert client.docmd("EHLO client.test")[0] == 250
            assert client.docmd(f"MAIL FROM:<{sender}>")[0] == 250
            assert client.docmd("RCPT TO:<bob@[198.18.0.10]>")[0] == 250
            assert client.docmd("RCPT TO:<nobody@dane-right.test>")[0] == 250
            assert client.data(WAIVED)[0] == 250
    assert mx.log.wait("delivered", to="bob@sts-right.test")["verified"] == "authority"
    assert "ostname mismatch" in mx.log.wait("deferred", to="bob@sts-other.test")["text"]


def test_exim_as_the_client(place, internet):
    """By DANE, which it demands: the records for our certificate let it send, others do not. What
    it sends with "TLS-Required: No" we take like all mail."""
    _, _, exim = internet
    mx = place()
    with smtplib.SMTP(GOOD, 25, "client.test", timeout=PATIENCE) as client:
        for text in (TEXT, WAIVED):
            client.sendmail("ann@a.test", ["bob@for-us.test"], text)
        client.sendmail("ann@a.test", ["bob@for-impostor.test"], TEXT)
    messages = mx.maildir("bob@for-us.test").wait(2)
    assert all(b"with ESMTPS" in message for message in messages), messages
    assert sum(b"TLS-Required: No" in message for message in messages) == 1
    wait_until(lambda: "DANE attempt failed; TLS connection to bad.own.test" in exim.log(), "Exim refuses")
    wait_until(lambda: exim.log().count("CV=dane") == 2, "Exim has used DANE twice")
    assert not mx.maildir("bob@for-impostor.test").files()
