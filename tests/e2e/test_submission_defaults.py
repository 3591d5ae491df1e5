# SPDX-License-Identifier: ISC
"""Programs that submit mail, each as it is without a word about mechanisms, for users with each kind of
key, at a listener as it is by default."""

import smtplib

import pytest
from passwords import SUBMITTER as PASSWORD
from test_submission_auth import ANN, BOB, NAME, Site, b64, mail_of, run, send, tool, write
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


CLIENTS = [by_mutt, by_msmtp, by_s_nail, by_curl, by_swaks, by_python, by_thunderbird]


@pytest.fixture(name="site")
def fixture_site(node, ground):
    return Site(node, ground)


@pytest.mark.parametrize("client", CLIENTS)
def test_with_the_keys_that_passwd_makes(site, client):
    run(site.mx, "directory", "passwd", "ann", stdin=PASSWORD + "\n")
    client(site)
    mail_of(site, "hello")
    assert not site.mx.log.find("auth_failed")


@pytest.mark.parametrize("method", ["yescrypt", "bcrypt", "scram-sha-256", "scram-sha-1"])
@pytest.mark.parametrize("client", CLIENTS)
def test_with_each_kind_of_key(site, client, method):
    """Once a user without keys was seen, by whatever mechanism, no client is led to one that fails."""
    add_user(site.mx, "cid", PASSWORD, method)
    add_user(site.mx, "ann", PASSWORD, method)
    with site.client() as first:
        try:
            first.login("ann", PASSWORD)
        except smtplib.SMTPAuthenticationError as error:
            raise AssertionError("PLAIN works with each") from error
        assert send(first, to=ANN)[0] == 250
    site.mx.maildir(ANN).wait()
    mark = site.mx.log.mark()
    client(site)
    assert site.mx.log.wait("message_accepted", since=mark)["user"] == "ann"
    assert b"Subject: hello\n" in site.mx.maildir(BOB).wait()[0]
    assert not site.mx.log.find("auth_failed")
