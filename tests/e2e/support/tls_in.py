# SPDX-License-Identifier: ISC
"""A node with certificates, and clients that speak TLS with it."""

import contextlib
import os
import socket
import ssl
import subprocess

from directory_tls import make_certificates
from smtp import Client
from stagepost import PATIENCE, free_port

HOST = "mx.stagepost.test"
CERTIFICATE = 'certificate {section} {{ chain = "{path}.pem" key = "{path}.key" {more} }}\n'


class Certificates:
    """NAMES as of tests/common/make-certificates, in a directory of their own."""

    def __init__(self, directory, *names):
        self.directory = directory
        make_certificates(directory, *names)

    def path(self, name):
        return os.path.join(self.directory, name)

    @property
    def authority(self):
        return self.path("authority.pem")

    def section(self, name, section="main", more=""):
        return CERTIFICATE.format(section=section, path=self.path(name), more=more)

    def replace(self, name, other):
        """The files of NAME become those of OTHER, as those who renew them do it: each at once."""
        for suffix in ("pem", "key"):
            new = self.path(f"{name}.{suffix}.new")
            with open(self.path(f"{other}.{suffix}"), "rb") as source, open(new, "wb") as target:
                target.write(source.read())
            os.chmod(new, 0o644)
            os.rename(new, self.path(f"{name}.{suffix}"))

    def fingerprint(self, name):
        """SHA-256 of the certificate, in hexadecimal."""
        text = subprocess.run(["openssl", "x509", "-in", self.path(f"{name}.pem"), "-noout",
                               "-fingerprint", "-sha256"], check=True, capture_output=True,
                              text=True, timeout=PATIENCE).stdout
        return text.partition("=")[2].strip().replace(":", "").lower()


def context_for(certificates, client=None, version=None, ciphers=None):
    """A context of a client that trusts the tests' authority, and has the certificate CLIENT."""
    context = ssl.create_default_context(cafile=certificates.authority)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    if ciphers is not None:
        context.set_ciphers(ciphers)
    if client is not None:
        context.load_cert_chain(certificates.path(f"{client}.pem"),
                                certificates.path(f"{client}.key"))
    return context


def start_tls(client, context, name=HOST, session=None):
    """STARTTLS and the handshake. The socket is TLS's afterwards; EHLO must be said anew."""
    assert client.docmd("STARTTLS")[0] == 220
    client.sock = context.wrap_socket(client.sock, server_hostname=name, session=session)
    client.file = None
    client.helo_resp = client.ehlo_resp = None
    client.esmtp_features = {}
    return client.sock


@contextlib.contextmanager
def session_with(node, context, **options):
    """A client after STARTTLS and EHLO."""
    with Client(node) as client:
        start_tls(client, context, **options)
        client.ehlo()
        yield client


class ImplicitClient(Client):
    """One that begins with a handshake, at PORT."""

    def __init__(self, node, context, port, before=b""):
        self.context = context
        self.other = port
        super().__init__(node, before=before)

    def _get_socket(self, host, port, timeout):
        made = super()._get_socket(host, self.other, timeout)
        return self.context.wrap_socket(made, server_hostname=HOST)


def implicit(certificates, **settings):
    """(text of a section listen, its port)"""
    port = free_port()
    more = " ".join(f"{name} = {value}" for name, value in settings.items())
    return (f'listen submission {{ address = {{ "127.0.0.1:{port}" }} stage = arrive '
            f'tls = implicit {more} }}\n'), port


def raw(node, port=None):
    made = socket.create_connection((node.address, port or node.port), timeout=PATIENCE)
    made.settimeout(PATIENCE)
    return made
