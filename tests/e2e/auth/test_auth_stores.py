# SPDX-License-Identifier: ISC
"""Whether SCRAM is offered where users are in PostgreSQL, in LDAP, and at another machine's directory: only
while all who have a password have keys for it, and not before that is known. tests/e2e/auth/test_auth.py has the
same for SQLite."""

import os
import shutil

import pytest
import slapd
from auth_client import Client
from directory import HASH
from directory_tls import make_certificates
from postgresql import several
from records import Records
from slapd import BASE, START, Slapd, person
from stagepost import give_to_user
from test_auth import ALWAYS, BOTH, wait_for_offer
from test_directory_lacking import KEYS
from test_directory_ldap import PEOPLE
from test_directory_ldap import SETTINGS as LDAP
from test_directory_tls import Server

ALL = [HASH, *KEYS.values()]
SHA256 = {"SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"}
AUTH = "auth { }\n"


def values(texts):
    return ", ".join(f"('bob', {number}, '{text}')" for number, text in enumerate(texts))


def start(node, settings):
    made = node("mx", start=False, domains=())
    made.settings = settings(made) + AUTH
    made.write_configuration()
    return made.start()


def test_users_in_postgresql(node, ground):
    with several(ground) as servers:
        server = servers("a")
        mx = start(node, lambda made: f'directory {{ backend = postgresql database = "{server.conninfo()}" }}\n')
        mx.log.wait("store_connected", role="read")
        with Records(mx) as records, Client(mx) as client:
            records.put("user", "ann", *(f"password {text}" for text in ALL))
            wait_for_offer(client, ALWAYS | BOTH)
            server.sql(f"BEGIN; INSERT INTO \"user\" (name) VALUES ('bob'); INSERT INTO password VALUES {values([HASH])};"
                       "COMMIT")
            wait_for_offer(client, ALWAYS)
            assert mx.log.wait("directory_lacking", method="scram-sha-256")["user"] == "bob"
            server.sql(f"INSERT INTO password VALUES ('bob', 1, '{KEYS['scram-sha-256']}')")
            wait_for_offer(client, ALWAYS | SHA256)
            server.stop()
            mx.log.wait("directory_down")
            mx.kill_and_wait("auth")
            with Client(mx) as again:
                assert set(again.offer) == ALWAYS | SHA256  # as it was
            for process in "directory", "auth":
                mx.kill_and_wait(process)
            with Client(mx) as again:
                assert set(again.offer) == ALWAYS  # nobody knows
                server.start()
                wait_for_offer(again, ALWAYS | SHA256)
                server.sql("UPDATE \"user\" SET state = 'disabled' WHERE name = 'bob'")
                wait_for_offer(again, ALWAYS | BOTH)


def passwords(*texts):
    return "".join(f"userPassword: {{CRYPT}}{text}\n" if text == HASH else f"userPassword: {text}\n" for text in texts)


def test_users_in_ldap(node, ground):
    """With their hashes, which the account of the directory may read."""
    path = ground.directory("slapd")
    server = Slapd(os.path.join(path, "one")).load(START + person("ann", more=passwords(*ALL)) + person("none")).start()
    secret = os.path.join(path, "password")
    with open(secret, "w", encoding="ascii") as file:
        file.write(slapd.PASSWORD + "\n")
    give_to_user(secret)
    try:
        mx = start(node, lambda made: LDAP.format(
            path=made.directory, base=BASE, reader=slapd.READER, password=secret, ttl="1h",
            urls=f'"{server.url.replace("127.0.0.1", "localhost")}"'))
        with Client(mx) as client:
            wait_for_offer(client, ALWAYS | BOTH)
            server.add(person("bob", more=passwords(HASH)))
            wait_for_offer(client, ALWAYS)
            assert mx.log.wait("directory_lacking", method="scram-sha-256")["user"] == "bob"
            change = f"dn: uid=bob,{PEOPLE}\nchangetype: modify\nreplace: userPassword\n"
            server.modify(change + passwords(HASH, KEYS["scram-sha-256"]))
            wait_for_offer(client, ALWAYS | SHA256)
            # nobody logs in by what cannot be used
            server.modify(change + "userPassword: {SSHA}AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\n")
            wait_for_offer(client, ALWAYS | BOTH)
            server.modify(change + passwords(HASH))
            wait_for_offer(client, ALWAYS)
            mx.kill_and_wait("auth")
            with Client(mx) as again:
                assert set(again.offer) == ALWAYS
                server.delete(f"uid=bob,{PEOPLE}")
                wait_for_offer(again, ALWAYS | BOTH)
    finally:
        server.stop()
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(name="keys", scope="module")
def fixture_keys(ground):
    return make_certificates(ground.directory("certificates"), "loopback-dir1.example.org", "relay.example.org",
                             "reader.example.org")


def test_users_at_another_server(node, keys):
    """A relay that may change records, and so reads passwords, too. One that may not knows of none, and so of
    nobody who lacks keys: nobody can log in there."""
    server = Server(node, keys)
    relay = Server(node, keys, "dir2", ports=[server.port], certificate="relay.example.org", node_settings=AUTH)
    reader = Server(node, keys, "dir3", ports=[server.port], certificate="reader.example.org", node_settings=AUTH)
    with Records(server.node) as records, Client(relay.node) as client, Client(reader.node) as other:
        for name in ("ann", "bob"):
            records.put("user", name, *(f"password {text}" for text in ALL))
        wait_for_offer(client, ALWAYS | BOTH)
        wait_for_offer(other, ALWAYS | BOTH)
        records.put("user", "bob", f"password {HASH}")
        wait_for_offer(client, ALWAYS)
        assert relay.log.wait("directory_lacking", method="scram-sha-256")["user"] == "bob"
        records.put("user", "bob", f"password {HASH}", f"password {KEYS['scram-sha-256']}")
        wait_for_offer(client, ALWAYS | SHA256)
        server.node.stop()
        relay.log.wait("directory_down")
        for process in "directory", "auth":
            relay.node.kill_and_wait(process)
        with Client(relay.node) as again:
            assert set(again.offer) == ALWAYS  # nobody knows
            server.node.start()
            wait_for_offer(again, ALWAYS | SHA256)
            with Records(server.node) as later:
                later.remove("user", "bob")
            wait_for_offer(again, ALWAYS | BOTH)
        assert not reader.log.find("directory_lacking")
