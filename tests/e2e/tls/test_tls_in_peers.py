# SPDX-License-Identifier: ISC
"""Other programs hand in mail by TLS: those that are made with OpenSSL, with GnuTLS, and scripts;
each demands TLS and the right name in the certificate."""

import subprocess

import pytest
from exim import Exim
from peers import Postfix
from smtp import Client
from stagepost import PATIENCE
from tls_in import HOST, Certificates, implicit

MESSAGE = "From: a@x.test\nTo: anna@a.test\nSubject: from a program\n\nHello\n"


@pytest.fixture(scope="module")
def certificates(ground):
    return Certificates(ground.directory("certificates"), f"loopback-{HOST}", f"rsa-{HOST}",
                        "wrong.test")


class Place:
    def __init__(self, node, certificates, name=f"loopback-{HOST}"):
        text, self.port = implicit(certificates)
        self.authority = certificates.authority
        self.mx = node("tls", settings=certificates.section(name) +
                       certificates.section(f"rsa-{HOST}", "old") + text,
                       listen="tls = required")


@pytest.fixture
def place(node, certificates):
    return Place(node, certificates)


def arrived(place):
    text = place.mx.maildir("anna@a.test").wait()[0]
    assert b"with ESMTPS id" in text and b"(using TLSv1" in text
    return text


def run(*command, text="", status=0):
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                           timeout=PATIENCE)
    assert ended.returncode == status, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("how", ("starttls", "implicit"))
def test_swaks(place, how):
    port = place.mx.port if how == "starttls" else place.port
    run("swaks", "--server", f"127.0.0.1:{port}", "--to", "anna@a.test", "--from", "a@x.test",
        "--helo", "client.test", "--tls" if how == "starttls" else "--tls-on-connect",
        "--tls-verify", "--tls-ca-path", place.authority)
    arrived(place)


@pytest.mark.parametrize("how", ("starttls", "implicit"))
def test_curl(place, how):
    url = (f"smtp://127.0.0.1:{place.mx.port}" if how == "starttls"
           else f"smtps://127.0.0.1:{place.port}")
    run("curl", "--silent", "--show-error", "--ssl-reqd", "--cacert", place.authority, "--url", url,
        "--mail-from", "a@x.test", "--mail-rcpt", "anna@a.test", "--upload-file", "-",
        text=MESSAGE)
    arrived(place)


@pytest.mark.parametrize("version", ("-tls1_2", "-tls1_3"))
@pytest.mark.parametrize("sigalgs", ("ECDSA+SHA256", "RSA-PSS+SHA256:RSA+SHA256"))
def test_openssl(place, version, sigalgs):
    said = run("openssl", "s_client", "-connect", f"127.0.0.1:{place.mx.port}", "-starttls", "smtp",
               version, "-sigalgs", sigalgs, "-CAfile", place.authority,
               "-verify_return_error", "-verify_hostname", HOST, "-crlf", "-quiet", "-ign_eof",
               text="EHLO x\nMAIL FROM:<a@x.test>\nRCPT TO:<anna@a.test>\nDATA\n"
                    f"{MESSAGE}.\nQUIT\n")
    assert "250 2.0.0 queued" in said
    arrived(place)


@pytest.mark.parametrize("words", (("-tls1",), ("-tls1_1",), ("-ssl3",)))
def test_old_versions_are_refused(place, words):
    ended = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{place.mx.port}", "-starttls", "smtp",
         *words, "-cipher", "ALL:@SECLEVEL=0"], input="", capture_output=True, text=True,
        timeout=PATIENCE, check=False)
    assert ended.returncode != 0
    assert "Cipher is (NONE)" in ended.stdout or "nknown option" in ended.stderr, ended.stdout


def test_no_renegotiation(place):
    """RFC 5746: a client of TLS 1.2 asks for it, and the session goes on or ends, without."""
    ended = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{place.mx.port}", "-starttls", "smtp",
         "-tls1_2", "-CAfile", place.authority], input="R\nQUIT\n", capture_output=True,
        text=True, timeout=PATIENCE, check=False)
    assert "no renegotiation" in ended.stderr or "handshake failure" in ended.stderr, ended.stderr
    with Client(place.mx) as client:
        assert client.noop()[0] == 250


POSTFIX = """smtp_tls_security_level = {level}
smtp_tls_CAfile = {authority}
smtp_tls_secure_cert_match = """ + HOST + """
smtp_tls_verify_cert_match = """ + HOST + """
smtp_tls_loglevel = 1
"""


def send_by_smtp(mail_system):
    with Client(mail_system) as client:
        assert client.deliver("a@x.test", "anna@a.test", MESSAGE.replace("\n", "\r\n").encode()
                              ).startswith("250")


@pytest.mark.parametrize("level", ("encrypt", "secure"))
def test_postfix(place, ground, level):
    with Postfix(ground.directory("postfix"), next_port=place.mx.port,
                 more=POSTFIX.format(level=level, authority=place.authority)) as postfix:
        send_by_smtp(postfix)
        arrived(place)


def test_exim(place, ground):
    """It speaks TLS by GnuTLS."""
    with Exim(ground.directory("exim"), next_port=place.mx.port,
              client_tls=f"hosts_require_tls = *\n  tls_verify_certificates = {place.authority}\n"
                         "  tls_verify_hosts = *\n  tls_verify_cert_hostnames = :") as exim:
        send_by_smtp(exim)
        arrived(place)


@pytest.mark.parametrize("name, is_right", ((f"loopback-{HOST}", True), ("wrong.test", False)))
def test_posttls_finger(node, certificates, ground, name, is_right):
    place = Place(node, certificates, name)
    directory = ground.directory("postfix")
    with open(f"{directory}/main.cf", "w", encoding="ascii") as conf:
        conf.write("compatibility_level = 3.6\n")
    said = subprocess.run(["posttls-finger", "-l", "secure", "-F", place.authority,
                           f"[127.0.0.1]:{place.mx.port}", HOST], capture_output=True, text=True,
                          env={"MAIL_CONFIG": directory, "PATH": "/usr/sbin:/usr/bin"},
                          check=False, timeout=PATIENCE)
    assert "TLS connection established" in said.stdout, said
    assert ("Verified TLS connection" in said.stdout) == is_right, said
