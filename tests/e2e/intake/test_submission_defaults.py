# SPDX-License-Identifier: ISC
"""Programs that submit mail, each as it is without a word about mechanisms, for users with each kind of
key, at a listener as it is by default."""

import os
import smtplib
import tempfile

import pytest
from common.postfix import BASE_CF, MASTER_CF, POSTFIX_DAEMONS, make_directories
from dns import NameServer
from passwords import SUBMITTER as PASSWORD
from peers import MailSystem
from smtp import deliver
from stagepost import PATIENCE, give_to_user, is_root, wait_until
from test_submission_auth import ANN, BOB, NAME, Site, b64, mail_of, run, tool, write
from users import add_user


def by_mutt(site):
    rc = write(site, "muttrc", f'set smtp_url="smtp://ann@127.0.0.1:{site.port}/"\n'
                               f'set smtp_pass="{PASSWORD}"\nset ssl_force_tls=yes\n'
                               f'set certificate_file="{site.certificates.authority}"\n'
                               "set ssl_verify_host=no\nset ssl_verify_dates=no\n"
                               f'set ssl_ca_certificates_file="{site.certificates.authority}"\n'
                               f'set from="{ANN}"\nset copy=no\nset use_envelope_from=yes\n')
    tool(site, "mutt", "-n", "-F", rc, "-s", "hello", "--", BOB, text="body\n")


def by_msmtp(site):
    rc = write(site, "msmtprc", f"account default\nhost 127.0.0.1\nport {site.port}\nfrom {ANN}\n"
               f'domain client.test\nauth on\nuser ann\npassword "{PASSWORD}"\ntls on\n'
               f"tls_trust_file {site.certificates.authority}\ntls_host_override {NAME}\n")
    tool(site, "msmtp", "--file", rc, "--read-recipients",
         text=f"From: {ANN}\nTo: {BOB}\nSubject: hello\n\nbody\n")


def by_s_nail(site):
    tool(site, "s-nail", "-:/", "-S", "v15-compat", "-S",
         f"mta=smtp://ann:{PASSWORD.replace(' ', '%20').replace('&', '%26')}@127.0.0.1:{site.port}",
         "-S", "smtp-use-starttls", "-S", "tls-verify=ignore", "-S", "sendwait", "-S", "hostname=client.test",
         "-r", ANN, "-s", "hello", BOB, text="body\n")


def by_curl(site):
    mail = write(site, "message", f"From: {ANN}\nTo: {BOB}\nSubject: hello\n\nbody\n")
    tool(site, "curl", "--silent", "--show-error", "--ssl-reqd", "--cacert", site.certificates.authority,
         "--resolve", f"{NAME}:{site.port}:127.0.0.1", "--user", f"ann:{PASSWORD}", "--url",
         f"smtp://{NAME}:{site.port}/client.test", "--mail-from", ANN, "--mail-rcpt", BOB, "--upload-file", mail)


def by_swaks(site):
    tool(site, "swaks", "--server", f"127.0.0.1:{site.port}", "--tls", "--auth", "--auth-user", "ann",
         "--auth-password", PASSWORD, "--from", ANN, "--to", BOB, "--header", "Subject: hello", "--ehlo",
         "client.test")


def by_python(site):
    with site.client() as client:
        client.login("ann", PASSWORD)
        client.sendmail(ANN, [BOB], f"From: {ANN}\r\nTo: {BOB}\r\nSubject: hello\r\n\r\nbody\r\n")


def by_thunderbird(site):
    """As it speaks: PLAIN with its initial response, LOGIN after that, on one connection; SCRAM never."""
    with site.client() as client:
        code = client.docmd("AUTH", "PLAIN " + b64(f"\0ann\0{PASSWORD}"))[0]
        assert code == 235
        assert client.docmd(f"MAIL FROM:<{ANN}>", "BODY=8BITMIME")[0] == 250
        assert client.docmd(f"RCPT TO:<{BOB}>")[0] == 250
        assert client.data(f"From: {ANN}\r\nTo: {BOB}\r\nSubject: hello\r\n\r\nbody\r\n")[0] == 250


def debians_client():
    """How Debian's own main.cf has Postfix speak TLS with servers, and keep sessions of it."""
    with open("/usr/share/postfix/main.cf.tls", encoding="ascii") as file:
        return "".join(line for line in file if line.startswith("smtp_"))


class Satellite(MailSystem):
    """Debian's Postfix that sends all mail by a relay, as who it is there; MORE is for the end of main.cf."""

    def __init__(self, directory, port, more=""):
        super().__init__(directory)
        make_directories(directory)
        owner = os.stat(os.path.join(directory, "mail"))
        self._write("etc/main.cf", BASE_CF.format(
            directory=directory, daemons=POSTFIX_DAEMONS, hostname="satellite.test", domain="satellite.test",
            uid=owner.st_uid, gid=owner.st_gid) +
            debians_client() + f"relayhost = [127.0.0.1]:{port}\nsmtp_sasl_auth_enable = yes\n"
            f"smtp_sasl_password_maps = texthash:{directory}/passwords\n" + more)
        self._write("etc/master.cf", MASTER_CF.format(port=self.port))
        self._write("passwords", f"[127.0.0.1]:{port} ann:{PASSWORD}\n")
        self._run("master", [os.path.join(POSTFIX_DAEMONS, "master"), "-c", os.path.join(directory, "etc"), "-d"])

    def send(self):
        """Until it has tried."""
        before = self.log().count("status=")
        with smtplib.SMTP("127.0.0.1", self.port, timeout=PATIENCE) as client:
            client.sendmail(ANN, [BOB], f"From: {ANN}\r\nTo: {BOB}\r\nSubject: hello\r\n\r\nbody\r\n")
        wait_until(lambda: self.log().count("status=") > before, "it has tried")


def by_postfix(site, more="", messages=1):
    with tempfile.TemporaryDirectory(prefix="satellite-") as directory, \
            Satellite(directory, site.port, more) as satellite:
        for _ in range(messages):
            satellite.send()
        return satellite.log()


def by_stagepost(site):
    """Another node, all of whose mail goes by the first."""
    with NameServer({NAME: "@ A 127.0.0.1\n"}) as names, tempfile.TemporaryDirectory() as directory:
        path = write(site, "passwords", f"{NAME};{site.port}|ann|{PASSWORD}\n")
        os.chmod(path, 0o600)
        give_to_user(path)
        os.chmod(directory, 0o755)
        satellite = site.node("satellite", domains=[], routes=[f":{NAME};{site.port}|ann"],
                              settings=f'dns_server = "{names.dns_server}"\nrelay_passwords = "{path}"\n'
                                       f'tls_authorities = "{site.certificates.authority}"\n')
        deliver(satellite, BOB, f"From: {ANN}\r\nTo: {BOB}\r\nSubject: hello\r\n\r\nbody\r\n".encode(), sender=ANN)
        satellite.log.wait("delivered", to=BOB)


CLIENTS = [by_mutt, by_msmtp, by_s_nail, by_curl, by_swaks, by_python, by_thunderbird, by_stagepost,
           pytest.param(by_postfix, marks=pytest.mark.skipif(not is_root(), reason="Postfix starts only as root"))]


@pytest.fixture(name="site")
def fixture_site(node, ground):
    made = Site(node, ground)
    made.node = node
    return made


@pytest.mark.parametrize("client", CLIENTS)
def test_with_the_keys_that_passwd_makes(site, client):
    run(site.mx, "directory", "passwd", "ann", stdin=PASSWORD + "\n")
    client(site)
    mail_of(site, "hello")
    assert not site.mx.log.find("auth_failed")


@pytest.mark.parametrize("method", ["yescrypt", "bcrypt", "scram-sha-256", "scram-sha-1"])
@pytest.mark.parametrize("client", CLIENTS)
def test_with_each_kind_of_key(site, client, method):
    """Also of those who are the first to log in, no client is led to a mechanism that fails."""
    add_user(site.mx, "cid", PASSWORD, method)
    add_user(site.mx, "ann", PASSWORD, method)
    wait_until(lambda: is_offered(site, method), "what is offered is what all can use")
    if client is by_postfix and method in ("yescrypt", "bcrypt"):
        # it sends no password itself unless it is told to: the only one of these with such a default
        assert "status=deferred (SASL authentication failed; cannot authenticate" in by_postfix(site)
        assert not site.mx.log.find("auth_failed")
        by_postfix(site, "smtp_sasl_security_options = noanonymous\n")
    else:
        client(site)
    assert site.mx.log.wait("message_accepted")["user"] == "ann"
    assert b"Subject: hello\n" in site.mx.maildir(BOB).wait()[0]
    assert not site.mx.log.find("auth_failed")


@pytest.mark.skipif(not is_root(), reason="Postfix starts only as root")
def test_postfix_takes_up_its_session_of_tls(site):
    """As Debian's does: a login is no part of that, and is done again."""
    run(site.mx, "directory", "passwd", "ann", stdin=PASSWORD + "\n")
    log = by_postfix(site, "smtp_tls_loglevel = 2\n", messages=2)
    assert log.count("status=sent") == 2
    assert "Reusing old session" in log, log
    assert len(site.mx.maildir(BOB).wait(2)) == 2
    assert [event["user"] for event in site.mx.log.find("message_accepted")] == ["ann", "ann"]
    assert not site.mx.log.find("auth_failed")


def is_offered(site, method):
    """Whether SCRAM is offered if and only if METHOD is it."""
    with site.client() as client:
        words = client.esmtp_features["auth"].split()
    return {word.lower() for word in words if word.startswith("SCRAM")} <= {method}
