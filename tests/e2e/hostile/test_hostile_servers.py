# SPDX-License-Identifier: ISC
"""Hostile SMTP and LMTP servers as next hops: each case of hostile_cases.py is a message
with three recipients. Whatever the server does: each recipient gets the
right verdict, in time; when the server is mended, what was deferred arrives, once; nothing is
lost, no process ends, and memory stays small.

Where the other cases of next hops are: test_faults.py and test_exim.py have servers that refuse,
are slow or die, test_lmtp.py one that is cut between its replies, test_slow_hop.py one that is
slow, test_full_disk.py a full disk of ours, test_lying_dns.py name servers that lie, test_dns.py
what an honest one says, test_delivery.py hosts that are down; tests/unit/smtp/test_smtp_client.c has
the engine's dialogues."""

import os
import re
import sys
import time

import pytest
from hostile import Server
from hostile_cases import MODES, TIMEOUT, cuts, faults, specials
from smtp import Client
from stagepost import SLOWNESS, Node, wait_until

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from common.record import record  # noqa: E402

SERVICES = 120  # LMTP services of a node
CASES = [*faults(), *specials(), *cuts()]
OUTCOMES = ("delivered", "deferred", "failed")
PATIENCE = 60 * SLOWNESS  # seconds for all first attempts; each alone has a few times TIMEOUT
MEMORY = 64 << 10  # KiB, of any process
TEXT = b"Subject: hello\r\n\r\nA line.\r\n.dots\r\n"


def peak_memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))


def batches():
    """What one node meets at once: an LMTP service is a process."""
    of_mode = {is_lmtp: [case for case in CASES if MODES[case.mode][1] == is_lmtp]
               for is_lmtp in (False, True)}
    for is_lmtp, size in (False, len(CASES)), (True, SERVICES):
        for start in range(0, len(of_mode[is_lmtp]), size):
            yield of_mode[is_lmtp][start:start + size]


class Attack:
    """Some cases at once: first attempts, then the servers are mended."""

    def __init__(self, ground, cases):
        self.servers = {case.name: Server(*MODES[case.mode], case.replies, case.budget)
                        for case in cases}
        self.node = Node(ground.programs, ground.directory("hostile"), unsafe=ground.unsafe,
                         **self._settings(cases))
        with self.node:
            self._run(cases)
        for server in self.servers.values():
            server.close()

    def _run(self, cases):
        # who answers late does so when the others are over: they would take the Python that runs all of them
        sent = 0
        for group in ([case for case in cases if not case.is_late], [case for case in cases if case.is_late]):
            for case in group:
                self._send(case)
            sent += sum(len(case.recipients) for case in group)
            self.first = self._outcomes(sent)
        self.memory = max(peak_memory(pid) for pid in self.node.pids())
        self.mended = self._mend()
        self.ended = [event for event in self.node.log.find("process_ended")
                      if event["status"] != "exit 0"]
        self.bounced = {to.decode() for text in self.node.maildir("anna@a.test").messages()
                        for to in re.findall(rb"^Final-Recipient: rfc822; ?(\S+)", text, re.M)}

    def _settings(self, cases):
        routes, domains, services = [], ["a.test"], [f"remote_timeout = {TIMEOUT}"]
        for number, case in enumerate(cases):
            port = self.servers[case.name].port
            if case.mode != "lmtp":
                routes.append(f"{case.domain}:127.0.0.1;{port}")
                continue
            services.append(f'service s{number} {{ kind = lmtp address = "127.0.0.1:{port}" '
                            f"timeout = {TIMEOUT} }}")
            domains.append(f'domain "{case.domain}" {{ service = s{number} }}')
        return {"routes": routes, "domains": domains, "settings": "\n".join(services) + "\n"}

    def _send(self, case):
        text = TEXT + (b"x" * 998 + b"\r\n") * (case.size // 1000)
        with Client(self.node) as client:
            reply = client.deliver("anna@a.test", case.recipients, text)
        assert reply.startswith("250 "), reply

    def _outcomes(self, count, since=0):
        """{recipient: [(event, status), ...]}, when COUNT are known."""
        found = {}

        def collect():
            found.clear()
            for event in self.node.log.read()[since:]:
                if event["event"] in OUTCOMES and not event["to"].endswith("@a.test"):
                    found.setdefault(event["to"], []).append((event["event"], event["status"]))
            return len(found) >= count

        wait_until(collect, f"{count} recipients have an outcome", PATIENCE)
        return found

    def _mend(self):
        """What becomes of those that were deferred."""
        for server in self.servers.values():
            server.mend()
        waiting = [to for to, outcomes in self.first.items() if outcomes[-1][0] == "deferred"]
        self.node.stop()
        self.node.make_due()
        mark = self.node.log.mark()
        self.node.start()
        found = self._outcomes(len(waiting), mark)
        self.node.wait_empty()
        return found


class Campaign:
    """What all attacks came to."""

    def __init__(self, ground):
        begin = time.monotonic()
        self.servers, self.first, self.mended = {}, {}, {}
        self.bounced, self.ended, self.memory = set(), [], 0
        for cases in batches():
            attack = Attack(ground, cases)
            self.servers |= attack.servers
            self.first |= attack.first
            self.mended |= attack.mended
            self.bounced |= attack.bounced
            self.ended += attack.ended
            self.memory = max(self.memory, attack.memory)
        self.seconds = time.monotonic() - begin


@pytest.fixture(scope="module")
def campaign(ground):
    return Campaign(ground)


@pytest.mark.parametrize("case", [case for case in CASES if case.outcomes],
                         ids=lambda case: case.name)
def test_verdicts(campaign, case):
    assert [campaign.first[to] for to in case.recipients] == [[one] for one in case.outcomes]


def may_have_taken(case):
    """The server had the message, and the client could not know what it made of it."""
    return case.budget is not None or any(
        state in case.name
        for state in ("_END_", "_disk_full_at_the_end", "lmtp_one_", "lmtp_cut_"))


def fate(campaign, case, to):
    """What a recipient got: the number of messages, "bounced" or "lost"."""
    outcomes = campaign.first[to] + campaign.mended.get(to, [])
    copies = campaign.servers[case.name].copies(to)
    ends = [event for event, _ in outcomes if event != "deferred"]
    if ends == ["failed"]:
        return "bounced" if to in campaign.bounced else "lost"
    return copies if ends == ["delivered"] and copies else "lost"


def test_nothing_is_lost(campaign):
    fates = {to: fate(campaign, case, to) for case in CASES for to in case.recipients}
    lost = [to for to, what in fates.items() if what == "lost"]
    twice = [to for case in CASES for to in case.recipients
             if fates[to] not in (1, "bounced", "lost") and not may_have_taken(case)]
    print(record(
        "hostile-servers", title="Hostile servers as next hops",
        what="SMTP and LMTP servers that violate the protocol in each of its states, and close the "
             "connection after each byte of theirs. Every recipient must get its verdict in time "
             "and, when the server is repaired, the message, once.",
        command="tests/e2e/run tests/e2e/hostile/test_hostile_servers.py",
        counts={"servers": len(CASES), "recipients": len(fates), "messages lost": len(lost),
                "messages sent twice without need": len(twice),
                "processes that ended": len(campaign.ended),
                "MiB of memory, the largest process": campaign.memory >> 10},
        zero=("messages lost", "messages sent twice without need", "processes that ended"),
        seconds=campaign.seconds))
    assert not lost and not twice and not campaign.ended


def test_memory_is_bounded(campaign):
    assert campaign.memory < MEMORY
