# SPDX-License-Identifier: ISC
"""What LDAP and PostgreSQL servers can do to the node whose directory they have: whatever they
say, its processes live, their memory and the log are bounded, mail waits, the log says why,
and all goes on when the true server is back. LIES=all (make hostile) takes all cases."""

import collections
import os
import shutil
import socket
import struct
import subprocess
import time

import pytest
from lying_directory import (BIND_RESPONSE, COMPLETE, DONE, ENTRY, EXTENDED_RESPONSE, INTERMEDIATE,
                             LARGE, REFERENCE, SYNC_INFO, LyingProxy, LyingServer, columns, entry, error, ldap,
                             message, packet, postgresql, result, row, state, text, tlv, values_of, word)
from postgresql import SCHEMA, several
from slapd import PASSWORD, READER, START, Slapd, person
from smtp import Client
from stagepost import SLOWNESS, free_port, give_to_user, wait_until
from test_directory_ldap import SETTINGS as LDAP_SETTINGS
from test_directory_postgresql import SETTINGS as POSTGRESQL_SETTINGS, fill
from test_hostile_clients import peak_memory

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
MEMORY = 96 << 10  # KiB, of any process
ANSWERS = 400 << 10  # the same, where answers of PostgreSQL are gathered
LARGE_RECORDS = 400  # twice as many as one statement asks for
LINES = 150        # of the log, that the lies make
EACH = 1 if os.environ.get("LIES") == "all" else 8  # of so many cases one
PATIENCE = 120 * SLOWNESS     # seconds, until the true server is followed


def sample(cases, always=()):
    return [case for number, case in enumerate(cases) if number % EACH == 1 % EACH or case in always]


def code_of(mx, address):
    with Client(mx) as client:
        client.mail("eve@example.net")
        return client.rcpt(address)[0]


def was_taken(mx, address):
    with Client(mx) as client:
        return client.deliver("eve@example.net", address, TEXT).startswith("250")


def harm(mx, pids, mark, memory=MEMORY):
    """What a lie did that it must not; "" is none."""
    peaks = {pid: peak_memory(pid) for pid in pids if os.path.exists(f"/proc/{pid}")}
    lines = [event["event"] for event in mx.log.read()[mark:]
             if event["process"].startswith("directory")]
    found = []
    if mx.pids() != pids:
        found.append(f"a process has ended: {mx.log.find('process_ended')}")
    if max(peaks.values()) > memory:
        found.append(f"{max(peaks.values())} KiB")
    if len(lines) > LINES:
        found.append(f"lines of log: {collections.Counter(lines)}")
    return "; ".join(found)


# --- LDAP ---

def say(make):
    return lambda peer, number: peer.say(make(number))


def flood(make):
    return lambda peer, number: peer.flood(make(number))


def then_wait(*steps):
    def do(peer, number):
        for step in steps:
            step(peer, number)
        peer.wait()
    return do


def other_numbers(peer, _):
    peer.flood(b"".join(message(number, result(BIND_RESPONSE)) for number in range(100, 200)), 1 << 28)


def huge(make, size=1 << 29):
    """A message whose content is SIZE bytes, said to be so and so many."""
    def do(peer, number):
        head = make(number, size)
        peer.say(head)
        peer.flood(b"x" * 4096, size)
    return do


def long_entry(number, size):
    """The beginning of an entry with a value of SIZE bytes."""
    wrap = lambda tag, content, more: bytes([tag]) + b"\x84" + struct.pack(">I", len(content) + more) + content
    value = wrap(4, b"", size)
    values = wrap(0x31, value, size)
    attribute = wrap(0x30, text(b"mail") + values, size)
    attributes = wrap(0x30, attribute, size)
    body = wrap(ENTRY, text(b"uid=ann,dc=example,dc=org") + attributes, size)
    return wrap(0x30, tlv(2, struct.pack(">i", number)) + body, size)


def new_entries(peer, number):
    """Entries without end, each another one."""
    peak = time.monotonic() + 6
    count = 0
    while time.monotonic() < peak:
        peer.say(b"".join(message(
            number, entry(b"uid=u%d,dc=example,dc=org" % index, uid=[b"u"],
                          objectClass=[b"inetOrgPerson"], mail=[b"u%d@example.org" % index]),
            state(index.to_bytes(16, "big"))) for index in range(count, count + 500)))
        count += 500
    peer.socket.shutdown(socket.SHUT_RDWR)


def uuids(number):
    """A set of what is still there, whoever asked."""
    value = tlv(0xa3, tlv(0x31, *[text(bytes(16))] * 4000))
    return message(number, tlv(INTERMEDIATE, tlv(0x80, SYNC_INFO), tlv(0x81, value)))


ENTRY_ANN = entry(b"uid=ann,dc=example,dc=org", uid=[b"ann"], mail=[b"ann@example.org"])
REFERRALS = tlv(0xa3, *[text(b"ldap://127.0.0.1:1/")] * 1000)
LDAP_CASES = {
    "closes": lambda peer: None,
    "silent": lambda peer: peer.wait(),
    "http": lambda peer: (peer.say(b"HTTP/1.0 400 Bad Request\r\n\r\n"), peer.wait()),
    "zeros": lambda peer: peer.flood(bytes(4096), 1 << 26),
    "garbage": lambda peer: peer.flood(os.urandom(1 << 16), 1 << 26),
    "length_of_2_gib": lambda peer: (peer.say(b"\x30\x84\x7f\xff\xff\xff"), peer.flood(b"x" * 4096)),
    "length_too_long": lambda peer: (peer.say(b"\x30\x84\xff\xff\xff\xff"), peer.wait()),
    "length_of_9_bytes": lambda peer: (peer.say(b"\x30\x89" + b"\x01" * 9), peer.wait()),
    "length_without_end": lambda peer: (peer.say(b"\x30\x80"), peer.flood(b"\x04\x01x", 1 << 26)),
    "slow": ldap(on_bind=lambda peer, number: peer.slowly(
        message(number, result(BIND_RESPONSE, 0, b"x" * 400)))),
    "bind_refused": ldap(on_bind=say(lambda n: message(n, result(BIND_RESPONSE, 49)))),
    "bind_long_words": ldap(on_bind=say(lambda n: message(n, result(BIND_RESPONSE, 49, b"w%n\n" * 99999)))),
    "bind_referred": ldap(on_bind=say(lambda n: message(n, result(BIND_RESPONSE, 10, b"", REFERRALS)))),
    "bind_other_number": ldap(on_bind=then_wait(say(lambda n: message(n + 7, result(BIND_RESPONSE))))),
    "bind_other_numbers": ldap(on_bind=other_numbers),
    "bind_number_0": ldap(on_bind=then_wait(say(lambda n: message(0, result(EXTENDED_RESPONSE))))),
    "bind_short": ldap(on_bind=then_wait(say(lambda n: message(n, tlv(BIND_RESPONSE))))),
    "bind_entries": ldap(on_bind=flood(lambda n: message(n, ENTRY_ANN))),
    "bind_in_progress": ldap(on_bind=then_wait(say(lambda n: message(n, result(BIND_RESPONSE, 14))))),
    "search_entries": ldap(on_search=flood(lambda n: message(n, ENTRY_ANN))),
    "search_references": ldap(on_search=flood(lambda n: message(
        n, tlv(REFERENCE, text(b"ldap://127.0.0.1:1/"))))),
    "search_values": ldap(on_search=say(lambda n: message(
        n, entry(b"", namingContexts=[b"dc=x"] * 500000, contextCSN=[b"x"] * 500000))
        + message(n, result(DONE)))),
    "search_huge_value": ldap(on_search=huge(long_entry)),
    "sync_done": ldap(on_sync=say(lambda n: message(n, result(DONE)))),
    "sync_no_control": ldap(on_sync=then_wait(say(lambda n: message(n, ENTRY_ANN)))),
    "sync_short_uuid": ldap(on_sync=then_wait(say(lambda n: message(n, ENTRY_ANN, state(b"x"))))),
    "sync_broken_control": ldap(on_sync=then_wait(say(lambda n: message(n, ENTRY_ANN, tlv(0xa0, b"\xff" * 9))))),
    "sync_broken_entry": ldap(on_sync=flood(lambda n: message(n, tlv(ENTRY, b"\x04\x7f"), state(bytes(16))))),
    "sync_huge_value": ldap(on_sync=huge(long_entry)),
    "sync_many_values": ldap(on_sync=then_wait(say(lambda n: message(n, entry(
        b"uid=ann,dc=example,dc=org", uid=[b"ann"], mail=[b"a@example.org"] * 700000), state(bytes(16)))))),
    "sync_entries": ldap(on_sync=new_entries),
    "sync_references": ldap(on_sync=flood(lambda n: message(
        n, tlv(REFERENCE, text(b"ldap://127.0.0.1:1/")), state(bytes(16))))),
    "sync_sets": ldap(on_sync=flood(uuids)),
    "sync_broken_info": ldap(on_sync=then_wait(say(lambda n: message(
        n, tlv(INTERMEDIATE, tlv(0x80, SYNC_INFO), tlv(0x81, b"\xa1\x7f\x04")))))),
    "sync_nested": ldap(on_sync=then_wait(say(lambda n: message(
        n, tlv(INTERMEDIATE, tlv(0x80, SYNC_INFO), tlv(0x81, b"\xa1\x82" * 50000)))))),
}
STARTTLS_CASES = {
    "refused": ldap(on_extended=say(lambda n: message(n, result(EXTENDED_RESPONSE, 52)))),
    "garbage": ldap(on_extended=lambda peer, number: (
        peer.say(message(number, result(EXTENDED_RESPONSE))), peer.flood(os.urandom(4096), 1 << 24))),
    "silent": ldap(on_extended=then_wait(say(lambda n: message(n, result(EXTENDED_RESPONSE))))),
    "drips": ldap(on_extended=lambda peer, number: (
        peer.say(message(number, result(EXTENDED_RESPONSE))), peer.slowly(b"\x16\x03\x03\x40\x00" + bytes(999)))),
    "bound_in_clear": ldap(on_extended=then_wait(say(lambda n: message(n, result(EXTENDED_RESPONSE))
                                                     + message(n + 1, result(BIND_RESPONSE))))),
}


LDAPS_CASES = {
    "silent": lambda peer: peer.wait(),
    "drips": lambda peer: peer.slowly(b"\x16\x03\x03\x40\x00" + bytes(999)),
    "in_clear": lambda peer: (peer.say(message(1, result(BIND_RESPONSE))), peer.wait()),
}


def refuses_for_now(mx, server):
    """It came to the server, and says nothing but "later"."""
    wait_until(lambda: server.count > 0, "it connects", 20)
    mx.log.wait("ldap_lost", timeout=30)
    assert code_of(mx, "ann@example.org") // 100 == 4
    wait_until(lambda: server.count > 1, "it comes again", 20)


@pytest.fixture(scope="module")
def true_ldap(ground):
    path = ground.directory("slapd")
    server = Slapd(os.path.join(path, "one")).load(START + person("ann"))
    yield server
    server.stop()
    shutil.rmtree(path, ignore_errors=True)


def follow_ldap(node, server, extension="", first=""):
    made = node("mx", start=False, domains=())
    password = os.path.join(made.directory, "password")
    with open(password, "w", encoding="ascii") as file:
        file.write(PASSWORD + "\n")
    give_to_user(password)
    made.settings = LDAP_SETTINGS.format(
        path=made.directory, base="dc=example,dc=org", reader=READER, password=password, ttl="1h",
        urls=f'{first} "{server.url.replace("127.0.0.1", "localhost")}{extension}"')
    made.write_configuration()
    return made.start()


def check_ldap(mx, true_server, speak, recovers=True):
    with LyingServer(true_server.port, speak) as server:
        pids, before = mx.pids(), mx.log.mark()
        refuses_for_now(mx, server)
        found = harm(mx, pids, before)
    assert not found, f"{found}, of {server.said} bytes, {server.count} connections"
    reason = mx.log.find("ldap_lost")[0]["reason"]
    assert reason and len(reason) < 400
    if recovers:
        true_server.start()
        try:
            wait_until(lambda: was_taken(mx, "ann@example.org"), "the true one is followed", PATIENCE)
            mx.maildir("ann@example.org").wait()
            assert mx.pids() == pids
        finally:
            true_server.stop()


@pytest.mark.parametrize("case", sample(LDAP_CASES))
def test_ldap(node, true_ldap, case):
    check_ldap(follow_ldap(node, true_ldap), true_ldap, LDAP_CASES[case])


@pytest.mark.parametrize("case", sample(STARTTLS_CASES, ("silent",)))
def test_ldap_starttls(node, true_ldap, case):
    """Nothing goes on in clear: also not to the true server, which has no TLS."""
    mx = follow_ldap(node, true_ldap, "/????StartTLS")
    check_ldap(mx, true_ldap, STARTTLS_CASES[case], recovers=False)


@pytest.mark.parametrize("case", sample(LDAPS_CASES, ("silent",)))
def test_ldaps(node, true_ldap, case):
    """Whatever the first server says instead of TLS, the next one is asked."""
    with LyingServer(free_port(), LDAPS_CASES[case]) as server:
        first = f"ldaps://localhost:{server.port}"
        true_ldap.start()
        try:
            mx = follow_ldap(node, true_ldap, first=f'"{first}",')
            assert mx.log.wait("ldap_lost", timeout=20)["url"] == first
            wait_until(lambda: was_taken(mx, "ann@example.org"), "the true one is followed", PATIENCE)
            assert not harm(mx, mx.pids(), 0)
        finally:
            true_ldap.stop()


# --- PostgreSQL ---

NOTICE = error(b"note", b"01000", b"NOTICE", b"N")
NOTIFICATION = packet(b"A", struct.pack(">I", 7), word(b"stagepost"), word(b"x"))
ODD = b"Z\0\0\0\x05I"


def pg_flood(piece, limit=LARGE):
    return lambda peer: peer.flood(piece, limit)


def pg_say(*parts):
    return lambda peer: peer.say(b"".join(parts))


def pg_wait(do):
    return lambda peer: (do(peer), peer.wait())


def pg_drip(piece):
    """Alive, and never ready."""
    def do(peer):
        while True:
            peer.say(piece)
            time.sleep(0.5)
    return do


def long_packet(kind, size=1 << 30):
    return lambda peer: (peer.say(kind + struct.pack(">I", size)), peer.flood(b"\0\1" * 4096, size))


ON_START = {
    "closes": lambda peer: peer.socket.close(),
    "silent": lambda peer: peer.wait(),
    "http": pg_wait(pg_say(b"HTTP/1.0 400 Bad Request\r\n\r\n")),
    "garbage": pg_flood(os.urandom(1 << 16), 1 << 26),
    "zeros": pg_flood(bytes(4096), 1 << 26),
    "refused": pg_wait(pg_say(error(b"no such user", b"28000", b"FATAL"))),
    "refused_at_length": pg_wait(pg_say(error(b"w%n\n" * 7000, b"28000", b"FATAL"))),
    "wants_a_password": pg_wait(pg_say(packet(b"R", struct.pack(">I", 3)))),
    "wants_what_nobody_knows": pg_wait(pg_say(packet(b"R", struct.pack(">I", 99)))),
    "scram_of_nothing": pg_wait(pg_say(packet(b"R", struct.pack(">I", 10), b"\0"))),
    "authentication_of_1_gib": long_packet(b"R"),
    "error_of_1_gib": long_packet(b"E"),
    "notices": pg_flood(NOTICE),
    "parameters": pg_flood(packet(b"R", struct.pack(">I", 0)) + packet(b"S", word(b"x" * 90), word(b"y" * 900))),
    "slow": lambda peer: peer.slowly(error(b"x" * 900, b"28000", b"FATAL")),
}
ON_EXECUTE = {
    "closes": lambda peer: peer.socket.close(),
    "silent": lambda peer: peer.wait(),
    "http": pg_wait(pg_say(b"HTTP/1.0 400 Bad Request\r\n\r\n")),
    "garbage": pg_flood(os.urandom(1 << 16), 1 << 26),
    "nothing": pg_say(COMPLETE),
    "no_columns": pg_say(columns(), row(), COMPLETE),
    "another_column": pg_say(columns(b"x"), row(b"1"), COMPLETE),
    "many_columns": pg_say(columns(*[b"x"] * 1600), row(*[b"1"] * 1600), COMPLETE),
    "columns_that_lack": pg_wait(pg_say(columns(b"a", b"b", b"c"), row(b"1"), COMPLETE)),
    "columns_too_many": pg_wait(pg_say(columns(b"a"), row(b"1", b"2", b"3"), COMPLETE)),
    "nulls": pg_say(columns(*[b"x"] * 20), row(*[None] * 20), COMPLETE),
    "other_types": pg_say(columns(*[b"x"] * 20, types=17), row(*[b"\\xzz\xff\xfe"] * 20), COMPLETE),
    "negative_length": pg_wait(pg_say(columns(b"a"), packet(b"D", struct.pack(">Hi", 1, -7)), COMPLETE)),
    "length_beyond": pg_wait(pg_say(columns(b"a"), packet(b"D", struct.pack(">Hi", 1, 1 << 20)), COMPLETE)),
    "row_without_columns": pg_wait(pg_say(row(b"1"), COMPLETE)),
    "row_of_1_gib": lambda peer: (peer.say(columns(b"a")), long_packet(b"D")(peer)),
    "rows": lambda peer: (peer.say(columns(b"a")), peer.flood(row(b"x" * 100))),
    "notices": pg_flood(NOTICE),
    "notifications": pg_flood(NOTIFICATION),
    "errors": pg_flood(error(b"no")),
    "error": pg_say(error(b"no")),
    "fatal": pg_wait(pg_say(error(b"going", b"57P01", b"FATAL"))),
    "empty_error": pg_wait(pg_say(packet(b"E", b"\0"))),
    "unfinished_error": pg_wait(pg_say(packet(b"E", b"Mno end"))),
    "ready_too_often": pg_flood(ODD, 1 << 24),
    "complete_too_often": pg_flood(COMPLETE, 1 << 24),
    "copy_in": pg_wait(pg_say(packet(b"G", b"\0\0\1\0\0"))),
    "copy_out": pg_wait(pg_say(packet(b"H", b"\0\0\1\0\0"), packet(b"d", b"x" * 1000))),
    "copy_both": pg_wait(pg_say(packet(b"W", b"\0\0\1\0\0"))),
    "drip_of_notices": pg_drip(NOTICE),
    "drip_of_rows": lambda peer: (peer.say(columns(b"a")), pg_drip(row(b"x"))(peer)),
    "slow": lambda peer: peer.slowly(columns(b"a") * 20),
}
PG_CASES = {f"start_{name}": postgresql(on_start=do) for name, do in ON_START.items()} | {
    f"execute_{name}": postgresql(on_execute=do) for name, do in ON_EXECUTE.items()}


@pytest.fixture(scope="module")
def true_postgresql(ground):
    with several(ground) as make:
        server = make("one")
        with open(SCHEMA, encoding="utf-8") as schema:
            server.sql(schema.read())
        fill(server)
        server.stop()
        yield server


@pytest.mark.parametrize("case", sample(PG_CASES))
def test_postgresql(node, true_postgresql, case):
    mx = node("mx", start=False, domains=())
    mx.settings = POSTGRESQL_SETTINGS.format(
        databases=f'"{true_postgresql.conninfo()} sslmode=disable"')
    mx.write_configuration()
    mx.start()
    with LyingServer(true_postgresql.port, PG_CASES[case]) as server:
        pids, before = mx.pids(), mx.log.mark()
        wait_until(lambda: server.count > 0, "it connects", 20)
        mx.log.wait("store_refused", timeout=45)
        assert code_of(mx, "u1@example.org") // 100 == 4
        wait_until(lambda: server.count > 1, "it comes again", 20)
        found = harm(mx, pids, before, ANSWERS)
    assert not found, f"{found}, of {server.said} bytes, {server.count} connections"
    assert mx.log.find("store_refused")[-1]["reason"]
    true_postgresql.start()
    try:
        wait_until(lambda: was_taken(mx, "u1@example.org"), "the true one answers", PATIENCE)
        mx.maildir("u1@example.org").wait()
        assert mx.pids() == pids
    finally:
        true_postgresql.stop()


def lie_of_rows(change):
    """The values of each row are those that CHANGE makes of them; so many columns are told."""
    def lie(kind, content):
        if kind == b"T":
            count, = struct.unpack(">H", content[:2])
            return columns(*[b"x"] * len(change([b""] * count)))
        return row(*change(values_of(content))) if kind == b"D" else None
    return lie


ROW_LIES = {
    "no_column": lambda values: [],
    "one_column": lambda values: values[:1],
    "one_less": lambda values: values[:-1],
    "one_more": lambda values: [*values, b"more"],
    "nulls": lambda values: [None for _ in values],
    "empty": lambda values: [b"" for _ in values],
    "letters": lambda values: [b"x" * 70 for _ in values],
    "long": lambda values: [b"1" * 300000 for _ in values],
    "bytes": lambda values: [bytes(range(256)) for _ in values],
    "negative": lambda values: [b"-9223372036854775809" for _ in values],
    "large": lambda values: [b"99999999999999999999999" for _ in values],
    "backwards": lambda values: values[::-1],
}


@pytest.mark.parametrize("lie", sample(ROW_LIES))
def test_postgresql_rows(node, true_postgresql, lie):
    """A server that was believed until now: rows of another shape, to each question."""
    port = free_port()
    true_postgresql.start()
    try:
        with LyingProxy(port, true_postgresql.port) as proxy:
            mx = node("mx", start=False, domains=())
            way = true_postgresql.conninfo(way=("127.0.0.1", port))
            mx.settings = POSTGRESQL_SETTINGS.format(databases=f'"{way} sslmode=disable"')
            mx.write_configuration()
            mx.start()
            wait_until(lambda: code_of(mx, "u1@example.org") == 250, "it is believed")
            pids, before = mx.pids(), mx.log.mark()
            proxy.lie = lie_of_rows(ROW_LIES[lie])
            number = 2
            while proxy.lied < 60 and not mx.log.find("store_lost", before):
                code = code_of(mx, f"u{number}@example.org")
                number = number % 40 + 1
                assert code // 100 in (2, 4), code
            assert proxy.lied > 0
            found = harm(mx, pids, before)
            assert not found
            proxy.lie = None
            wait_until(lambda: was_taken(mx, "u1@example.org"), "it is believed again", PATIENCE)
            mx.maildir("u1@example.org").wait(timeout=PATIENCE)
            assert mx.pids() == pids
    finally:
        true_postgresql.stop()


def lie_of_more(kind, content):
    """Each record of an address is followed by thousands of others."""
    if kind != b"D":
        return None
    values = values_of(content)
    if not (values and values[0] and values[0].endswith(b"@example.org")):
        return None
    return b"".join(row(b"v%d@example.org" % number, *values[1:]) for number in range(5000))


def export(mx):
    return subprocess.run([os.path.join(mx.programs, "stagepost"), "directory", "export", "-c", mx.conf],
                          capture_output=True, check=False, timeout=400)


def follow_postgresql(node, conninfo):
    mx = node("mx", start=False, domains=())
    mx.settings = POSTGRESQL_SETTINGS.format(databases=f'"{conninfo} sslmode=disable"')
    mx.write_configuration()
    mx.start()
    wait_until(lambda: code_of(mx, "u1@example.org") == 250, "it is believed", PATIENCE)
    return mx


def test_postgresql_more_records_than_asked_for(node, true_postgresql):
    port = free_port()
    true_postgresql.start()
    try:
        with LyingProxy(port, true_postgresql.port) as proxy:
            mx = follow_postgresql(node, true_postgresql.conninfo(way=("127.0.0.1", port)))
            pids, before = mx.pids(), mx.log.mark()
            proxy.lie = lie_of_more
            assert export(mx).returncode != 0 and proxy.lied > 0
            assert not harm(mx, pids, before)
            proxy.lie = None
            assert export(mx).returncode == 0
    finally:
        true_postgresql.stop()


def test_postgresql_large_records(node, ground):
    """What is true is not too much: as many records as are asked for in one go, and large ones."""
    with several(ground) as make:
        server = make("large")
        with open(SCHEMA, encoding="utf-8") as schema:
            server.sql(schema.read())
        fill(server, LARGE_RECORDS)
        server.sql("SET session_replication_role = replica; "  # no trigger notes each of these
                   "UPDATE address SET kind = 'forward'; INSERT INTO target (address, position, target)"
                   " SELECT 'u' || i || '@example.org', p, p || repeat('x', 36) || '@example.net'"
                   f" FROM generate_series(0, {LARGE_RECORDS - 1}) AS i, generate_series(0, 997) AS p")
        mx = follow_postgresql(node, server.conninfo())
        pids, before = mx.pids(), mx.log.mark()
        done = export(mx)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(b"@example.net") == LARGE_RECORDS * 998
        assert not harm(mx, pids, before)
