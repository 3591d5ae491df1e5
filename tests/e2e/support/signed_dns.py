# SPDX-License-Identifier: ISC
"""A name server whose zones are signed with DNSSEC, from a root of the tests' own."""

import dataclasses
import os
import subprocess
import time

from dns import NameServer

HOUR = 3600


@dataclasses.dataclass
class Zone:
    """TEXT as for NameServer. What is wrong with it, if anything:"""
    text: str
    signed: bool = True
    # whether the root says that it is signed
    delegated: bool = True
    # (owner, type) of records whose signatures have expired: ("_25._tcp.mx", "TLSA")
    expired: tuple = ()
    # (old, new): texts of the zone that were changed after it was signed
    changed: tuple = ()
    # all signatures are left out
    stripped: bool = False


class SignedNameServer(NameServer):
    """Serves ZONES, {"right.test": Zone(...)}, and a signed root above them. For stagepost.conf:
    settings()."""

    def __init__(self, zones, **options):
        self._zones = zones
        self._keys = {}
        super().__init__({name: zone.text for name, zone in zones.items()} | {".": ""}, **options)

    @property
    def trust_anchor(self):
        return os.path.join(self.directory, "root.key")

    def _write(self, zones):
        os.chmod(self.directory, 0o755)  # nodes read the trust anchor
        super()._write(zones)

    def settings(self):
        return f'dns_server = "{self.dns_server}"\ndns_trust_anchor = "{self.trust_anchor}"\ndane = yes\n'

    def _key(self, name):
        """The base name of the zone's only key."""
        if name not in self._keys:
            self._keys[name] = subprocess.run(
                ["ldns-keygen", "-k", "-a", "ECDSAP256SHA256", name], cwd=self.directory,
                check=True, capture_output=True, text=True).stdout.strip()
        return self._keys[name]

    def _read(self, name):
        with open(os.path.join(self.directory, name), encoding="ascii") as file:
            return file.read()

    def _sign(self, name, text, begin, end):
        with open(os.path.join(self.directory, "unsigned"), "w", encoding="ascii") as file:
            file.write(text)
        subprocess.run(["ldns-signzone", "-i", str(int(begin)), "-e", str(int(end)), "-f", "signed",
                        "unsigned", self._key(name)],
                       cwd=self.directory, check=True, capture_output=True)
        return self._read("signed")

    def _root(self):
        text = ""
        for name, zone in self._zones.items():
            text += f"{name}. NS ns.{name}.\n"
            if zone.signed and zone.delegated:
                text += self._read(self._key(name) + ".ds")
        return text

    def _zone(self, name, text):
        now = time.time()
        zone = self._zones.get(name, Zone(""))
        plain = super()._zone(name, self._root() if name == "." else text)
        if not zone.signed:
            return plain
        signed = self._sign(name, plain, now - HOUR, now + 100 * HOUR)
        if zone.expired:
            past = self._sign(name, plain, now - 200 * HOUR, now - 100 * HOUR)
            for owner, kind in zone.expired:
                signed = with_signature_of(past, signed, f"{owner}.{name}.", kind)
        for old, new in zone.changed:
            assert old in signed, f"{old} is not in {name}"
            signed = signed.replace(old, new)
        if zone.stripped:
            signed = "\n".join(line for line in signed.splitlines() if "RRSIG" not in line) + "\n"
        if name == ".":
            with open(self.trust_anchor, "w", encoding="ascii") as file:
                file.write(self._read(self._key(".") + ".ds"))
        return signed


def with_signature_of(other, zone, owner, kind):
    """ZONE with the signatures that OTHER has for the records of KIND of OWNER."""
    def is_signature(line):
        words = line.split()
        return len(words) > 4 and words[0] == owner and words[3:5] == ["RRSIG", kind]

    signatures = [line for line in other.splitlines() if is_signature(line)]
    rest = [line for line in zone.splitlines() if not is_signature(line)]
    assert signatures and len(rest) < len(zone.splitlines()), f"no {kind} of {owner} is signed"
    return "\n".join(rest + signatures) + "\n"
