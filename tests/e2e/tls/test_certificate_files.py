# SPDX-License-Identifier: ISC
"""Files of certificates as programs and people leave them: "check" and the node read them alike."""

import json
import os
import subprocess

import pytest
from smtp import Client, deliver
from stagepost import PATIENCE, as_user, give_to_user
from tls_in import Certificates, context_for, start_tls

NAME = "mx.stagepost.test"
HEAD, TAIL = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"

FORMS = {
    "as it was made": lambda leaf, authority: leaf + authority,
    "repeated": lambda leaf, authority: leaf + leaf + authority + authority,
    "on one line": lambda leaf, authority: (leaf + authority).replace(f"{TAIL}\n{HEAD}", TAIL + HEAD),
    "without a last line end": lambda leaf, authority: (leaf + authority).rstrip("\n"),
    "with CRLF": lambda leaf, authority: (leaf + authority).replace("\n", "\r\n"),
    "with text": lambda leaf, authority: f"\ufeffours\n{leaf}\nits authority:\n{authority}the end",
    "with blanks at ends": lambda leaf, authority: (leaf + authority).replace("\n", " \n"),
    "cut": lambda leaf, authority: leaf + authority[:len(authority) // 2],
    "damaged": lambda leaf, authority: leaf + authority.replace(authority[100:110], "!!!!!!!!!!"),
    "empty": lambda leaf, authority: "",
}


@pytest.fixture(name="certificates", scope="module")
def fixture_certificates(ground):
    return Certificates(ground.directory("certificates"), NAME)


def text_of(path):
    with open(path, encoding="ascii") as file:
        text = file.read()
    return text[text.index(HEAD):text.rindex(TAIL) + len(TAIL)] + "\n"


def findings(mx, setting):
    """Of "stagepost check" about SETTING."""
    checked = subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), "check", "--json", "-c", mx.conf],
                             check=False, capture_output=True, text=True, timeout=PATIENCE)
    lines = [json.loads(line) for line in checked.stdout.splitlines()]
    return [line for line in lines if line["setting"] == setting and line["severity"] == "error"]


def write(mx, name, text):
    path = os.path.join(mx.directory, name)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    give_to_user(path)
    os.chmod(path, 0o640)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_a_chain(node, certificates, form):
    mx = node("mx", start=False, listen="tls = starttls")
    leaf = text_of(certificates.path(f"{NAME}.pem"))
    chain = write(mx, "chain.pem", FORMS[form](leaf[:leaf.index(TAIL) + len(TAIL)] + "\n", text_of(certificates.authority)))
    with open(certificates.path(f"{NAME}.key"), encoding="ascii") as key:
        secret = write(mx, "key.pem", key.read())
    mx.settings = f'certificate a {{ chain = "{chain}" key = "{secret}" names = "{NAME}" }}\n'
    mx.write_configuration()
    said = findings(mx, "certificate a.chain")
    mx.start(until="certificate_error" if said else "serve_ready")
    if said:
        assert mx.log.find("certificate_error")[0]["text"]
        return
    mx.log.wait("certificate_loaded")
    assert not mx.log.find("certificate_error")
    with Client(mx) as client:
        client.ehlo()
        start_tls(client, context_for(certificates), NAME)
        assert client.ehlo()[0] == 250


@pytest.mark.parametrize("form", FORMS)
def test_authorities(node, certificates, form):
    """By which the host that mail goes to is verified."""
    leaf = text_of(certificates.authority)
    hop = node("hop", domains=["b.test"], listen="tls = starttls", settings=certificates.section(NAME))
    mx = node("mx", start=False, domains=[], routes=[f"b.test:127.0.0.1;{hop.port}"])
    path = write(mx, "authorities.pem", FORMS[form](leaf, leaf))
    mx.settings = (f'tls_authorities = "{path}"\ntls "b.test" {{ level = verify match = "{NAME}" }}\n')
    mx.write_configuration()
    said = findings(mx, "tls_authorities")
    mx.start()
    deliver(mx, "ann@b.test", b"Subject: hello\r\n\r\nA line.\r\n")
    event = mx.log.wait("deferred" if said else "delivered")
    assert said or event["verified"] == "authority"
