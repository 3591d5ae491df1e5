# SPDX-License-Identifier: ISC
"""Whether some user has no keys of a mechanism (the table "lacking"), while users come, change and go."""

import random

import pytest
from directory import HASH
from records import Records

METHODS = ("scram-sha-256", "scram-sha-1")
KEYS = {"scram-sha-256": "SCRAM-SHA-256$4096:QUFBQUFBQUFBQUFBQUFBQQ==$" + "A" * 43 + "=:" + "B" * 43 + "=",
        "scram-sha-1": "SCRAM-SHA-1$4096:QUFBQUFBQUFBQUFBQUFBQQ==$" + "A" * 27 + "=:" + "B" * 27 + "="}
KINDS = [("none", []), ("crypt", [HASH]), ("both", [HASH, *KEYS.values()]), ("one", [KEYS["scram-sha-1"]]),
         ("other", [HASH, KEYS["scram-sha-256"]])]


class Users:
    """Users of the directory, and what is to be answered about them."""

    def __init__(self, records):
        self.records = records
        self.users = {}  # name: (its hashes, whether it is active)

    def put(self, name, hashes, state="active"):
        self.users[name] = (hashes, state == "active")
        self.records.put("user", name, f"state {state}", *(f"password {text}" for text in hashes))

    def remove(self, name):
        del self.users[name]
        self.records.remove("user", name)

    def are_lacking(self, method):
        return any(is_active and hashes and KEYS[method] not in hashes for hashes, is_active in self.users.values())

    def check(self):
        for method in METHODS:
            assert self.records.lacking(method) == self.are_lacking(method), (method, self.users)


@pytest.fixture(name="users")
def fixture_users(node):
    mx = node("mx", start=False, domains=[])
    mx.settings = f'directory {{ path = "{mx.directory}/directory.db" }}\n'
    mx.write_configuration()
    mx.start()
    with Records(mx) as records:
        yield Users(records)


def test_it_is_as_new_as_the_data(users):
    """More users than are read at a time, of which more change than are kept in mind."""
    source = random.Random(5)
    users.check()
    for number in range(450):
        users.put(f"u{number:04}", [HASH, *KEYS.values()])
    users.check()
    for number in (0, 199, 200, 449):
        for kind in KINDS:
            users.put(f"u{number:04}", kind[1])
            users.check()
        users.put(f"u{number:04}", [HASH], "disabled")
        users.check()
    for round_ in range(60):
        for _ in range(source.choice((1, 2, 90))):
            name = f"u{source.randrange(500):04}"
            if source.random() < 0.1 and name in users.users:
                users.remove(name)
            else:
                mostly = KINDS[2] if source.random() < 0.97 else source.choice(KINDS)
                users.put(name, mostly[1], source.choice(("active",) * 9 + ("disabled",)))
        users.check()
        if round_ % 3 == 2:  # all have keys again
            for name, (hashes, _) in list(users.users.items()):
                if hashes and set(KEYS.values()) - set(hashes):
                    users.put(name, [HASH, *KEYS.values()])
            users.check()


def test_only_who_authenticates_users_may_ask(users):
    with pytest.raises(Exception, match="no such method"):
        users.records.lacking("yescrypt")
