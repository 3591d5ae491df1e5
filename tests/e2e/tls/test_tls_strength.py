# SPDX-License-Identifier: ISC
"""Which versions and ciphers of TLS are accepted: by default, by settings for all and for one listener, and
with servers; offers are those of openssl's client. What a client offered in vain is in the log."""

import re
import ssl
import subprocess

import pytest
from smtp import deliver
from stagepost import PATIENCE, free_port
from tls_hop import Certificates as HopCertificates
from tls_hop import Hop
from tls_in import HOST, Certificates

CBC = "ECDHE-RSA-AES256-SHA384"  # an old server's only one
GCM = "ECDHE-RSA-AES256-GCM-SHA384"
OTHER_GCM = "ECDHE-RSA-AES128-GCM-SHA256"


@pytest.fixture(scope="module")
def certificates(ground):
    return Certificates(ground.directory("certificates"), f"rsa-{HOST}")


class Server:
    """A node that listens for other servers, and for users."""

    def __init__(self, node, certificates, settings="", listen="", submission=""):
        self.users_port = free_port("127.0.0.1")
        self.mx = node("tls", listen=listen, settings=certificates.section(f"rsa-{HOST}") + settings +
                       f'listen submission {{ address = "127.0.0.1:{self.users_port}" auth = no {submission} }}\n')

    def offer(self, *words, port=None):
        """The cipher, or version, that they agree on; None: nothing."""
        ended = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{port or self.mx.port}", "-starttls", "smtp", *words],
            input=b"QUIT\r\n", capture_output=True, timeout=PATIENCE, check=False)
        found = re.search(rb"^New, (\S+), Cipher is (\S+)$", ended.stdout, re.M)
        return None if found is None or found.group(2) == b"(NONE)" else found.group(2).decode()

    def offer_cipher(self, cipher, port=None):
        return self.offer("-tls1_2", "-cipher", f"{cipher}@SECLEVEL=0", port=port)


def test_defaults(node, certificates):
    """Other servers get more ciphers than users: with none in common they would send in plain text."""
    server = Server(node, certificates)
    mx = server.mx
    assert server.offer_cipher(CBC) == CBC
    assert server.offer_cipher(GCM) == GCM
    assert server.offer_cipher(f"{CBC}:{GCM}") == GCM  # the better one, whatever the client prefers
    assert server.offer("-tls1_3").startswith("TLS_")
    assert server.offer_cipher(GCM, server.users_port) == GCM
    assert server.offer_cipher(CBC, server.users_port) is None
    event = mx.log.wait("tls_failed")
    assert "no shared cipher" in event["text"] and f"offered: at most TLSv1.2, {CBC}" in event["text"], event
    for old in "-tls1", "-tls1_1":
        mark = mx.log.mark()
        assert server.offer(old, "-cipher", "ALL@SECLEVEL=0") is None
        text = mx.log.wait("tls_failed", since=mark)["text"]
        assert {"-tls1": "offered: at most TLSv1", "-tls1_1": "offered: at most TLSv1.1"}[old] in text, text
    for weak in "AES256-SHA", "NULL-SHA256", "AECDH-AES256-SHA":
        assert server.offer_cipher(weak) is None


def test_settings_for_all_and_for_one(node, certificates):
    server = Server(node, certificates, f'tls_ciphers = "{OTHER_GCM}"\n', submission=f'tls_ciphers = {{ "{GCM}", "{CBC}" }}')
    assert server.offer_cipher(GCM) is None and server.offer_cipher(CBC) is None
    assert server.offer_cipher(OTHER_GCM) == OTHER_GCM
    assert server.offer_cipher(OTHER_GCM, server.users_port) is None
    assert server.offer_cipher(f"{CBC}:{GCM}", server.users_port) == GCM
    assert server.offer_cipher(CBC, server.users_port) == CBC


def test_the_oldest_version(node, certificates):
    server = Server(node, certificates, listen="tls_min_version = 1.3")
    assert server.offer_cipher(GCM) is None
    assert "offered: at most TLSv1.2" in server.mx.log.wait("tls_failed")["text"]
    assert server.offer("-tls1_3").startswith("TLS_")
    assert server.offer_cipher(GCM, server.users_port) == GCM
    # it changes by a reload
    server.mx.listen = ""
    server.mx.settings = "tls_min_version = 1.3\n" + server.mx.settings
    server.mx.write_configuration()
    server.mx.reload()
    assert server.offer_cipher(GCM) is None and server.offer_cipher(GCM, server.users_port) is None


@pytest.fixture
def hop(ground):
    """hop(cipher): a server that has only this one, and TLS 1.2."""
    made = HopCertificates(ground.directory("hop"), "rsa-mx.right.test")

    def make(cipher):
        context = made.context("rsa-mx.right.test")
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(f"{cipher}@SECLEVEL=0")
        return Hop(context)

    return make


@pytest.mark.parametrize("settings, section, cipher", [
    # where plain text would do, any cipher is better, whatever is set
    ("", "level = may", CBC), (f'tls_ciphers = "{GCM}"\ntls_min_version = 1.2\n', "level = may", CBC),
    ("tls_min_version = 1.3\n", "level = may", CBC), ("", "level = encrypt", CBC),
    (f'tls_ciphers = "{GCM}"\n', "level = encrypt", None), ("tls_min_version = 1.3\n", "level = encrypt", None),
    (f'tls_ciphers = "{GCM}"\n', f'level = encrypt ciphers = "{CBC}"', CBC),
    ("", f'level = encrypt ciphers = "{GCM}"', None), ("", "level = encrypt min_version = 1.3", None),
    ("tls_min_version = 1.3\n", "level = encrypt min_version = 1.2", CBC),
])
def test_with_servers(node, hop, settings, section, cipher):
    server = hop(CBC)
    mx = node(routes=[f"right.test:[127.0.0.1];{server.server.server_address[1]}"],
              settings=f'{settings}tls "right.test" {{ {section} }}\n')
    deliver(mx, "bob@right.test", b"Subject: x\r\n\r\nText.\r\n")
    event = mx.log.wait("delivered" if cipher else "deferred", to="bob@right.test")
    assert event.get("cipher") == cipher, event
    assert not server.mail_in_plain_text()
