# SPDX-License-Identifier: ISC
"""Which TLSA records hold for a mail server, by real answers from signed zones.
STAGEPOST_DNS_TLSA is the program tests/e2e/programs/dns_tlsa.c."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from signed_dns import SignedNameServer, Zone  # noqa: E402

EE = "TLSA 3 1 1 " + 32 * "ab"
TA = "TLSA 2 0 1 " + 32 * "cd"
MX = "@ MX 10 mx\nmx A 192.0.2.1\n"
TLSA = f"_25._tcp.mx {EE}\n"

ZONES = {
    "right.test": Zone(MX + TLSA),
    "both.test": Zone(MX + TLSA + f"_25._tcp.mx {TA}\n_25._tcp.mx TLSA 1 1 1 {32 * 'ef'}\n"),
    "unusable.test": Zone(MX + f"_25._tcp.mx TLSA 1 1 1 {32 * 'ef'}\n"),
    "absent.test": Zone(MX),
    "unsigned.test": Zone(MX + TLSA, signed=False),
    "island.test": Zone(MX + TLSA, delegated=False),
    "implicit.test": Zone(f"@ A 192.0.2.1\n_25._tcp {EE}\n"),
    "expired.test": Zone(MX + TLSA, expired=[("_25._tcp.mx", "TLSA")]),
    "bogus.test": Zone(MX + TLSA, changed=[(32 * "ab", 32 * "ba")]),
    "bogus-mx.test": Zone(MX + TLSA, changed=[("10 mx.", "11 mx.")]),
    "bogus-address.test": Zone(MX + TLSA, changed=[("192.0.2.1", "192.0.2.2")]),
    "stripped.test": Zone(MX + TLSA, stripped=True),
    "unsigned-mx.test": Zone("@ MX 10 mx.right.test.\n", signed=False),
    "unsigned-host.test": Zone("@ MX 10 mx.unsigned.test.\n"),
    # an alias that is signed to its end: with records there, and with records here only
    "alias.test": Zone(f"@ MX 10 mx\nmx CNAME mx.right.test.\n_25._tcp.mx {TA}\n"),
    "alias-here.test": Zone(f"@ MX 10 mx\nmx CNAME mx.absent.test.\n_25._tcp.mx {TA}\n"),
    "alias-out.test": Zone(f"@ MX 10 mx\nmx CNAME mx.unsigned.test.\n_25._tcp.mx {TA}\n"),
    "alias-in.test": Zone("@ MX 10 mx\nmx CNAME mx.right.test.\n", signed=False),
    # RFC 7671 section 5.2: the records themselves behind an alias
    "shared.test": Zone("@ MX 10 mx\nmx A 192.0.2.1\n_25._tcp.mx CNAME _25._tcp.mx.right.test.\n"),
    "shared-out.test": Zone(
        "@ MX 10 mx\nmx A 192.0.2.1\n_25._tcp.mx CNAME _25._tcp.mx.unsigned.test.\n"),
    "null.test": Zone("@ MX 0 .\n"),
}

EXPECTED = {
    "right.test": "usable 1 mx.right.test ",
    "both.test": "usable 2 mx.both.test ",
    "unusable.test": "unusable 0 mx.unusable.test ",
    "absent.test": "none 0 - _25._tcp.mx.absent.test has no TLSA records",
    "unsigned.test": "none 0 - the MX records that name mx.unsigned.test are not signed",
    "island.test": "none 0 - the MX records that name mx.island.test are not signed",
    "implicit.test": "usable 1 implicit.test ",
    "expired.test": "failed 0 - the TLSA records of _25._tcp.mx.expired.test: bogus: ",
    "bogus.test": "failed 0 - the TLSA records of _25._tcp.mx.bogus.test: bogus: ",
    "bogus-mx.test": "4.4.3 the mail exchangers of bogus-mx.test: bogus: ",
    "bogus-address.test": "4.4.3 the addresses of mx.bogus-address.test: bogus: ",
    "stripped.test": "4.4.3 the mail exchangers of stripped.test: bogus: ",
    "unsigned-mx.test": "none 0 - the MX records that name mx.right.test are not signed",
    "unsigned-host.test": "none 0 - the addresses of mx.unsigned.test are not signed",
    "alias.test": "usable 1 mx.right.test ",
    "alias-here.test": "usable 1 mx.alias-here.test ",
    "alias-out.test": "usable 1 mx.alias-out.test ",
    "alias-in.test": "none 0 - the MX records that name mx.alias-in.test are not signed",
    "shared.test": "usable 1 mx.shared.test ",
    "shared-out.test": "none 0 - the TLSA records of _25._tcp.mx.shared-out.test are not signed",
    "null.test": "5.1.10 ",
    "missing.right.test": "5.1.2 ",
}


def look_up(server, *domains, anchor=None):
    output = subprocess.run(
        [os.environ["STAGEPOST_DNS_TLSA"], server.dns_server, anchor or server.trust_anchor, *domains],
        check=True, capture_output=True, text=True, timeout=60,
    ).stdout
    return dict(line.split(" ", 1) for line in output.splitlines())


def test_zones():
    with SignedNameServer(ZONES) as server:
        found = look_up(server, *EXPECTED)
    wrong = [f"{domain}: {found[domain]}" for domain in EXPECTED
             if not found[domain].startswith(EXPECTED[domain])]
    assert not wrong, "\n".join(wrong)
    assert "expired" in found["expired.test"], found["expired.test"]


def test_another_trust_anchor():
    """With the anchor of another root every answer is bogus, also of unsigned zones."""
    with SignedNameServer(ZONES) as server, SignedNameServer({}) as other:
        found = look_up(server, "right.test", "unsigned.test", anchor=other.trust_anchor)
    for domain in "right.test", "unsigned.test":
        assert found[domain].startswith(f"4.4.3 the mail exchangers of {domain}: bogus: "), found


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "ok")
