# SPDX-License-Identifier: ISC
"""Settings that several instances have, as lines of their configurations."""


def listener(kind, port):
    return f'listen {kind} {{ address = {{ "127.0.0.1:{port}" }} }}\n'


def certificate_of(hostname, place):
    """STARTTLS is offered with it."""
    chain, key = place.certificate(hostname)
    return f'certificate main {{ chain = "{chain}"  key = "{key}" }}\n'


def tls_demanded(domain, hostname, place):
    """Mail to DOMAIN goes by TLS only, and HOSTNAME must be in the certificate."""
    return (f'tls "{domain}" {{ level = verify  match = {{ "{hostname}" }}  '
            f'authority = "{place.authority}" }}\n')


def mailboxes(domain, base, more=""):
    """Of all addresses of DOMAIN; MORE: settings of their service."""
    return (f'service maildir {{ kind = maildir  path = "{base}/mail/%d/%u"{more} }}\n'
            f'domain "{domain}" {{ service = maildir }}\n')


def routes(ports):
    """PORTS: {domain: port on loopback}; mail for the rest of the world stays here."""
    known = "".join(f'"{domain}:127.0.0.1;{port}", ' for domain, port in ports.items())
    return f'smtproutes = {{ {known}":127.0.0.1;1" }}\n'
