# SPDX-License-Identifier: ISC
"""testssl.sh looks at STARTTLS as auditors do: versions, ciphers, the server's preference, and with
TESTSSL=all ("make hostile") forward secrecy and what was published against TLS."""

import json
import os
import subprocess

from stagepost import SLOWNESS
from tls_in import HOST, Certificates

PATIENCE = 400 * SLOWNESS  # seconds; it takes one minute
BELOW = ("OK", "INFO", "DEBUG", "LOW")  # WARN: a check that did not come to its end
ALL = os.environ.get("TESTSSL") == "all"
CHECKS = ("--protocols", "--std", "--server-preference", *(["--fs", "--vulnerable"] if ALL else []))
OF_ITSELF = ("engine_problem",)  # that this machine's OpenSSL has no GOST ciphers to try
LEAST = 35 if ALL else 15  # findings


def test_nothing_above_low(node, ground):
    certificates = Certificates(ground.directory("certificates"), f"loopback-{HOST}", f"rsa-{HOST}")
    mx = node("tls", settings=certificates.section(f"loopback-{HOST}") +
              certificates.section(f"rsa-{HOST}", "old"))
    directory = ground.directory("testssl")
    file = os.path.join(directory, "found.json")
    ended = subprocess.run(
        ["testssl", "--starttls", "smtp", "--quiet", "--color", "0", "--warnings", "off", "--nodns",
         "none", *CHECKS, "--jsonfile", file, f"127.0.0.1:{mx.port}"], cwd=directory,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE)
    with open(file, encoding="utf-8") as text:
        findings = json.load(text)
    assert len(findings) >= LEAST, ended.stdout + ended.stderr
    assert not [(one["severity"], one["id"], one["finding"]) for one in findings
                if one["severity"] not in BELOW and one["id"] not in OF_ITSELF]
    offered = {one["id"]: one["finding"] for one in findings}
    assert "offered" in offered["TLS1_2"] and "offered" in offered["TLS1_3"]
    assert all(offered[old].startswith("not offered") for old in ("SSLv2", "SSLv3", "TLS1", "TLS1_1"))
