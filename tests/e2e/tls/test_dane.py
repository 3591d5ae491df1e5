# SPDX-License-Identifier: ISC
"""DANE for outgoing mail: a node, a name server with signed zones, and Postfix as the next hop.
Mail goes only where the TLSA records say that the server is the right one; elsewhere it waits and
says why. test_tlsa.py has the rules of the DNS, this file what follows from them."""

import hashlib
import json
import os
import subprocess

import pytest
from peers import Lan, Postfix
from signed_dns import SignedNameServer, Zone
from smtp import Client
from stagepost import PATIENCE, as_user, is_root, listening, wait_until

pytestmark = pytest.mark.skipif(not is_root(), reason="only root makes networks")

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
GOOD, EXPIRED, PLAIN, OTHER = (f"198.18.0.{host}" for host in (10, 11, 12, 13))
WRONG = "TLSA 3 1 1 " + 32 * "ab"
PKIX = "TLSA 1 1 1 " + 32 * "ab"


def openssl(*words, text=None):
    return subprocess.run(["openssl", *words], input=text, check=True, capture_output=True,
                          timeout=PATIENCE).stdout


class Certificates:
    """In DIRECTORY: an authority, and servers' chains that end in it."""

    def __init__(self, directory):
        self.directory = directory
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", "/CN=authority", "-days", "30", "-keyout", self.path("authority.key"),
                "-out", self.path("authority.crt"))

    def path(self, name):
        return os.path.join(self.directory, name)

    def make(self, name, hosts, days="30"):
        """The file for smtpd_tls_chain_files: key, certificate, authority."""
        with open(self.path("extensions"), "w", encoding="ascii") as file:
            file.write("subjectAltName = " + ", ".join(f"DNS:{host}" for host in hosts) + "\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                f"/CN={name}", "-keyout", self.path(name + ".key"), "-out", self.path(name + ".csr"))
        openssl("x509", "-req", "-in", self.path(name + ".csr"), "-CA", self.path("authority.crt"),
                "-CAkey", self.path("authority.key"), "-CAcreateserial", "-days", days,
                "-extfile", self.path("extensions"), "-out", self.path(name + ".crt"))
        with open(self.path(name + ".pem"), "wb") as out:
            for part in name + ".key", name + ".crt", "authority.crt":
                with open(self.path(part), "rb") as file:
                    out.write(file.read())
        return self.path(name + ".pem")

    def tlsa(self, name, usage, selector, matching):
        """A record for a certificate, as text."""
        certificate = self.path(name + ".crt")
        if selector == 0:
            data = openssl("x509", "-in", certificate, "-outform", "DER")
        else:
            key = openssl("x509", "-in", certificate, "-noout", "-pubkey")
            data = openssl("pkey", "-pubin", "-outform", "DER", text=key)
        if matching > 0:
            data = (hashlib.sha256 if matching == 1 else hashlib.sha512)(data).digest()
        return f"TLSA {usage} {selector} {matching} {data.hex()}"


class SecureHop(Postfix):
    """Takes all mail for bob at GOOD, EXPIRED and OTHER, which have certificates, and at PLAIN,
    which has none. OTHER has the good one for clients that ask for sni.test only."""

    def __init__(self, directory, lan, certificates):
        self.lan = lan
        good = certificates.make("good", ["mx.anchor.test", "mx.anchor-key.test", "anchor-domain.test",
                                         "mx.sni.test"])
        expired = certificates.make("expired", ["mx.old-anchor.test"], days="-1")
        other = certificates.make("other", ["elsewhere.test"])
        self._certificates = {GOOD: good, EXPIRED: expired, OTHER: other}
        self._good = good
        super().__init__(directory, hostname="mx.hop.test")

    SETTINGS = {"inet_interfaces": "all", "mynetworks": "198.18.0.0/24",
                "virtual_mailbox_domains": "static:all", "virtual_mailbox_maps": "static:bob/",
                "smtpd_tls_loglevel": "1"}

    def _configure(self):
        with open(os.path.join(self.directory, "etc/main.cf"), "r+", encoding="ascii") as conf:
            lines = [line for line in conf if line.split(" = ")[0] not in self.SETTINGS]
            lines += [f"{name} = {value}\n" for name, value in self.SETTINGS.items()]
            conf.seek(0)
            conf.truncate()
            conf.writelines(lines)

    def _services(self):
        """For master.cf, in the place of the only smtpd."""
        for address, file in self._certificates.items():
            options = f"-o smtpd_tls_security_level=may -o smtpd_tls_chain_files={file}"
            if address == OTHER:
                options += f" -o tls_server_sni_maps=hash:{self.directory}/sni"
            yield f"{address}:25 inet n - n - - smtpd {options}\n"
        yield f"{PLAIN}:25 inet n - n - - smtpd\n"

    def start(self):
        self._write("sni", f"mx.sni.test {self._good}\n")
        self._configure()
        with open(os.path.join(self.directory, "etc/master.cf"), "r+", encoding="ascii") as conf:
            rest = conf.readlines()[1:]
            conf.seek(0)
            conf.truncate()
            conf.writelines([*self._services(), *rest])
        subprocess.run(["postmap", "-c", os.path.join(self.directory, "etc"), "-F",
                        f"hash:{self.directory}/sni"], check=True, timeout=PATIENCE)
        super().start()

    def _run(self, name, command):
        with open(os.path.join(self.directory, "log", name), "ab") as log:
            self.process = subprocess.Popen(
                [*self.lan.inside, *command], cwd=self.directory, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        wait_until(lambda: listening(25, PLAIN) or self.process.poll() is not None,
                   "Postfix listens")
        assert self.process.poll() is None, self.log()


def zone(*records, address=GOOD, **wrong):
    """One exchanger, with these TLSA records."""
    text = f"@ MX 10 mx\nmx A {address}\n"
    return Zone(text + "".join(f"_25._tcp.mx {record}\n" for record in records), **wrong)


def zones_of(certificates):
    """Those that are told apart by what the node must do: see CASES."""
    tlsa = certificates.tlsa
    good, anchor = tlsa("good", 3, 1, 1), tlsa("authority", 2, 0, 1)
    two = "@ MX 10 a\n@ MX 20 b\n" + f"a A {GOOD}\nb A {OTHER}\n"
    return {
        "right.test": zone(good),
        "whole.test": zone(tlsa("good", 3, 0, 0)),
        "sha512.test": zone(tlsa("good", 3, 0, 2)),
        "implicit.test": Zone(f"@ A {GOOD}\n_25._tcp {good}\n"),
        "anchor.test": zone(anchor),
        "anchor-key.test": zone(tlsa("authority", 2, 1, 2)),
        "anchor-domain.test": zone(anchor),
        "anchor-name.test": zone(anchor),
        "old.test": zone(tlsa("expired", 3, 1, 1), address=EXPIRED),
        "old-anchor.test": zone(anchor, address=EXPIRED),
        "wrong.test": zone(WRONG),
        "rolling.test": zone(WRONG, good),
        "rolled.test": zone(tlsa("other", 3, 1, 1)),
        "mixed.test": zone(PKIX, WRONG, "TLSA 3 1 9 00"),
        "expired.test": zone(good, expired=[("_25._tcp.mx", "TLSA")]),
        "bogus.test": zone(good, changed=[("TLSA\t3 1 1 ", "TLSA\t3 0 1 ")]),
        "bogus-mx.test": zone(good, changed=[("10 mx.", "11 mx.")]),
        "unsigned.test": zone(WRONG, signed=False),
        "island.test": zone(WRONG, delegated=False),
        "unsigned-mx.test": Zone("@ MX 10 mx.wrong.test.\n", signed=False),
        "unsigned-host.test": Zone("@ MX 10 mx.unsigned.test.\n"),
        "absent.test": zone(),
        "alias.test": Zone(f"@ MX 10 mx\nmx CNAME mx.right.test.\n_25._tcp.mx {WRONG}\n"),
        "alias-wrong.test": Zone(f"@ MX 10 mx\nmx CNAME mx.wrong.test.\n_25._tcp.mx {good}\n"),
        "alias-out.test": Zone(f"@ MX 10 mx\nmx CNAME mx.unsigned.test.\n_25._tcp.mx {good}\n"),
        "shared.test": Zone(f"@ MX 10 mx\nmx A {GOOD}\n_25._tcp.mx CNAME _25._tcp.mx.right.test.\n"),
        "unusable.test": zone(PKIX),
        "unusable-plain.test": zone(PKIX, address=PLAIN),
        "plain.test": zone(good, address=PLAIN),
        "plain-unsigned.test": zone(good, address=PLAIN, signed=False),
        "sni.test": zone(good, address=OTHER),
        "sni-alias.test": Zone("@ MX 10 mx\nmx CNAME mx.sni.test.\n"),
        "next.test": Zone(two + f"_25._tcp.a {WRONG}\n_25._tcp.b {tlsa('other', 3, 1, 1)}\n"),
        "next-bogus.test": Zone(two + f"_25._tcp.a {good}\n_25._tcp.b {tlsa('other', 3, 1, 1)}\n",
                                expired=[("_25._tcp.a", "TLSA")]),
        "only-absent.test": zone(),
        "only-unusable.test": zone(PKIX),
        "only-right.test": zone(good),
        "by-section.test": zone(WRONG),
        "by-dane.test": zone(good),
        "by-dane-absent.test": zone(address=PLAIN),
    }


SECTIONS = """
tls "only-absent.test" { level = dane-only }
tls "only-unusable.test" { level = dane-only }
tls "only-right.test" { level = dane-only }
tls "by-section.test" { level = encrypt }
tls "by-dane.test" { level = dane }
tls "by-dane-absent.test" { level = dane }
"""

# where mail is delivered: (level, how verified), or None for plain text
DELIVERED = {
    "right.test": ("dane", "dane-ee"),
    "whole.test": ("dane", "dane-ee"),
    "sha512.test": ("dane", "dane-ee"),
    "implicit.test": ("dane", "dane-ee"),
    "anchor.test": ("dane", "dane-ta"),
    "anchor-key.test": ("dane", "dane-ta"),
    "anchor-domain.test": ("dane", "dane-ta"),
    "old.test": ("dane", "dane-ee"),
    "rolling.test": ("dane", "dane-ee"),
    "unsigned.test": ("may", "no"),
    "island.test": ("may", "no"),
    "unsigned-mx.test": ("may", "no"),
    "unsigned-host.test": ("may", "no"),
    "absent.test": ("may", "no"),
    "alias.test": ("dane", "dane-ee"),
    "alias-out.test": ("dane", "dane-ee"),
    "shared.test": ("dane", "dane-ee"),
    "unusable.test": ("encrypt", "no"),
    "plain-unsigned.test": None,
    "sni.test": ("dane", "dane-ee"),
    "sni-alias.test": ("dane", "dane-ee"),
    "next.test": ("dane", "dane-ee"),
    "next-bogus.test": ("dane", "dane-ee"),
    "only-right.test": ("dane-only", "dane-ee"),
    "by-section.test": ("encrypt", "no"),
    "by-dane.test": ("dane", "dane-ee"),
    "by-dane-absent.test": None,
}

# where it waits: a part of the reason
WAITS = {
    "anchor-name.test": "hostname mismatch",
    "old-anchor.test": "certificate has expired",
    "wrong.test": "no matching DANE TLSA records",
    "rolled.test": "no matching DANE TLSA records",
    "mixed.test": "no matching DANE TLSA records",
    "expired.test": "_25._tcp.mx.expired.test: bogus: signature expired",
    "bogus.test": "_25._tcp.mx.bogus.test: bogus: ",
    "bogus-mx.test": "the mail exchangers of bogus-mx.test: bogus: ",
    "alias-wrong.test": "no matching DANE TLSA records",
    "unusable-plain.test": "STARTTLS",
    "plain.test": "STARTTLS",
    "only-absent.test": "_25._tcp.mx.only-absent.test has no TLSA records",
    "only-unusable.test": "has no usable TLSA record, of 1",
}


class Unbound:
    """A resolver that validates, on 127.0.0.1 of the network of the hosts, whose resolv.conf names
    it for the commands that run() runs there."""

    def __init__(self, directory, lan, names):
        self.directory = directory
        self._lan = lan
        with open(self._path("unbound.conf"), "w", encoding="ascii") as conf:
            conf.write(f"""server:
  interface: 127.0.0.1
  directory: "{directory}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  do-not-query-localhost: no
  trust-anchor-file: "{names.trust_anchor}"
  local-zone: test. nodefault
forward-zone:
  name: .
  forward-addr: {names.dns_server}
""")
        with open(self._path("resolv.conf"), "w", encoding="ascii") as conf:
            conf.write("nameserver 127.0.0.1\noptions trust-ad edns0\n")
        with open(self._path("log"), "ab") as log:
            self.process = subprocess.Popen(
                [*lan.inside, "unbound", "-d", "-p", "-c", self._path("unbound.conf")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def _path(self, name):
        return os.path.join(self.directory, name)

    def run(self, *command):
        return subprocess.run(
            [*self._lan.inside, "unshare", "--mount", "sh", "-c",
             'mount --bind "$0" /etc/resolv.conf && exec "$@"', self._path("resolv.conf"), *command],
            check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
            env={**os.environ, "MAIL_CONFIG": self.directory})

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.terminate()
        self.process.wait(PATIENCE)


@pytest.fixture(scope="module")
def internet(ground):
    """(server of the zones, Postfix)"""
    certificates = Certificates(ground.directory("certificates"))
    with Lan() as lan, SecureHop(ground.directory("hop"), lan, certificates) as hop:
        with SignedNameServer(zones_of(certificates), address="198.18.0.1") as names:
            yield names, hop


@pytest.fixture
def run(ground):
    """run(node, "tls", ...) is the ended process."""
    def run(node, *words):
        return subprocess.run(
            [*as_user(), os.path.join(ground.programs, "stagepost"), *words], check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
            env={**os.environ, "STAGEPOST_CONF": node.conf}, cwd=node.directory)

    return run


def send(mx, domains):
    with Client(mx) as client:
        for domain in domains:
            reply = client.deliver("anna@a.test", f"bob@{domain}", TEXT)
            assert reply.startswith("250 "), reply


def wrong_outcomes(mx):
    for domain, tls in DELIVERED.items():
        event = mx.log.find("delivered", to=f"bob@{domain}")
        if not event:
            yield f"{domain}: not delivered: {mx.log.find('deferred', to=f'bob@{domain}')}"
        elif (tls and (event[0].get("policy"), event[0].get("verified"))) != tls:
            yield f"{domain}: {event[0]}"
    for domain, reason in WAITS.items():
        event = mx.log.find("deferred", to=f"bob@{domain}")
        if not event:
            yield f"{domain}: not deferred: {mx.log.find('delivered', to=f'bob@{domain}')}"
        elif reason not in event[0]["text"]:
            yield f"{domain}: {event[0]}"


def test_each_zone(node, internet, run):
    names, hop = internet
    mx = node(settings=names.settings() + SECTIONS)
    domains = [*DELIVERED, *WAITS]
    send(mx, domains)
    wait_until(lambda: all(mx.log.find("delivered", to=f"bob@{domain}") or
                           mx.log.find("deferred", to=f"bob@{domain}") for domain in domains),
               "each message was tried")
    wrong = list(wrong_outcomes(mx))
    assert not wrong, "\n".join(wrong)
    wait_until(lambda: len(hop.maildir("bob").messages()) == len(DELIVERED), "all mail has arrived")
    waiting = {message["recipients"][0]["address"]: json.dumps(message)
               for message in map(json.loads, run(mx, "queue", "list", "--json").stdout.splitlines())}
    assert waiting.keys() == {f"bob@{domain}" for domain in WAITS}
    for domain, reason in WAITS.items():
        assert reason in waiting[f"bob@{domain}"]


def test_the_command_agrees(node, internet, run):
    """stagepost tls tells of each domain what became of its mail."""
    names, _ = internet
    mx = node(settings=names.settings() + SECTIONS)
    wrong = []
    for domain in (*DELIVERED, *WAITS):
        ended = run(mx, "tls", "--json", domain)
        hosts = [json.loads(line) for line in ended.stdout.splitlines()]
        # of two hosts the second one is right
        host = hosts[-1] if hosts else {"result": "waits", "reason": ended.stderr}
        if domain in WAITS:
            is_right = host["result"] == "waits" and WAITS[domain] in host["reason"] \
                and ended.returncode == 1
        elif DELIVERED[domain] is None:
            is_right = host["result"] == "plain" and ended.returncode == 3
        else:
            is_right = (host["result"], host["policy"], host["verified"]) == (
                "secured", *DELIVERED[domain])
        if not is_right:
            wrong.append(f"{domain}: {ended.returncode} {host} {ended.stderr}")
    assert not wrong, "\n".join(wrong)


def test_the_command_shows_records(node, internet, run):
    names, _ = internet
    mx = node(settings=names.settings(), start=False)
    ended = run(mx, "tls", "rolling.test")
    assert ended.returncode == 0, ended.stderr
    assert "  policy      dane (dane)\n" in ended.stdout
    assert "  dane        _25._tcp.mx.rolling.test has usable TLSA records: 2\n" in ended.stdout
    assert f"    tlsa      {WRONG.removeprefix('TLSA ')}\n" in ended.stdout
    ended = run(mx, "tls", "island.test")
    assert "  dane        the MX records that name mx.island.test are not signed\n" in ended.stdout


def fingered(unbound, domain):
    """What posttls-finger says by level "dane". Where MX records are not signed we do without, as
    RFC 7672 section 2.2.1 wants."""
    ended = unbound.run("posttls-finger", "-t10", "-c", "-l", "dane", "-L", "summary",
                        "-o", "smtp_tls_dane_insecure_mx_policy=may", domain)
    return ended.stdout + ended.stderr


def test_postfix_agrees(ground, internet):
    """posttls-finger, with a resolver that validates, finds the same for each domain."""
    names, hop = internet
    found = {}
    with Unbound(ground.directory("unbound"), hop.lan, names) as unbound:
        with open(os.path.join(unbound.directory, "main.cf"), "w", encoding="ascii") as conf:
            conf.write("compatibility_level = 3.6\n")
        wait_until(lambda: "Verified" in fingered(unbound, "right.test"), "unbound answers")
        # it tries one host only, and knows nothing of our sections
        for domain in {*DELIVERED, *WAITS} - {"next.test", "by-section.test"}:
            found[domain] = fingered(unbound, domain)
    for domain, text in found.items():
        tls = DELIVERED.get(domain)
        is_verified = tls is not None and tls[1].startswith("dane-")
        assert ("Verified TLS connection established" in text) == is_verified, f"{domain}: {text}"
        assert ("TLS connection established" in text or "lookup" in text
                or "plain" in domain or domain == "by-dane-absent.test"), f"{domain}: {text}"
    for domain, reason in WAITS.items():
        if "bogus" in reason:
            assert "lookup" in found[domain], f"{domain}: {found[domain]}"
        elif "TLSA records" not in reason or "matching" in reason:
            assert reason in found[domain] or "plain" in domain or "unusable" in domain, (
                f"{domain}: {found[domain]}")


def test_a_trust_anchor_that_is_missing(node, internet, run):
    """Mail to which DANE applies waits, other mail does not; it is said in the log, by the check and
    with each message. With dane off, by a reload, all mail goes."""
    names, _ = internet
    settings = (f'dns_server = "{names.dns_server}"\ndns_trust_anchor = "/nowhere/root.key"\ndane = yes\n'
                'tls "by-section.test" { level = encrypt }\n')
    mx = node(settings=settings)
    problem = "dns_trust_anchor /nowhere/root.key: No such file or directory"
    assert mx.log.wait("dns_trust_anchor_unreadable")["text"] == problem
    send(mx, ["right.test", "by-section.test"])
    mx.log.wait("delivered", to="bob@by-section.test")
    assert problem in mx.log.wait("deferred", to="bob@right.test")["text"]
    ended = run(mx, "check")
    assert ended.returncode != 0
    assert "dns_trust_anchor" in ended.stdout + ended.stderr, ended.stdout + ended.stderr
    mx.settings = settings.replace("dane = yes", "dane = no")
    mx.write_configuration()
    mx.reload()
    assert run(mx, "queue", "retry", "--all").returncode == 0
    mx.log.wait("delivered", to="bob@right.test")


def test_another_trust_anchor(node, internet, ground):
    """Of another root: nobody can say which servers are right, so nothing goes."""
    names, _ = internet
    path = os.path.join(ground.directory("anchor"), "root.key")
    with open(path, "w", encoding="ascii") as file:
        file.write(". IN DS 20326 8 2 "
                   "E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D\n")
    mx = node(settings=f'dns_server = "{names.dns_server}"\ndns_trust_anchor = "{path}"\ndane = yes\n')
    send(mx, ["right.test", "unsigned.test"])
    for domain in "right.test", "unsigned.test":
        event = mx.log.wait("deferred", to=f"bob@{domain}")
        assert f"the mail exchangers of {domain}: bogus: " in event["text"]
    # private domains can be left out
    mx.settings += 'dns_unsigned = { "unsigned.test" }\n'
    mx.write_configuration()
    mx.reload()
    send(mx, ["unsigned.test"])
    mx.log.wait("delivered", to="bob@unsigned.test")
