# SPDX-License-Identifier: ISC
"""The address directory beside Postfix's own maps: the same keys, by turns, to a directory
server by its protocol and to "postmap -q -" with the same database. What is asked of the
first is more: the whole route, with domain, extension and catch-all.
"""
import argparse
import json
import os
import pathlib
import random
import selectors
import socket
import sqlite3
import statistics
import subprocess
import sys
import time

sys.path[1:1] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                 os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e/support")]
import measure  # noqa: E402
from common.net import end, free_port, wait_until  # noqa: E402
from directory_tls import Speaker, take, words_of  # noqa: E402
from disk import Disk  # noqa: E402
from report import judge, verdict  # noqa: E402

DOMAINS = 100
MISSES = 10  # percent of what is asked for
DEPTH = 100  # questions under way
MEMBERS = 100000
HELD = 100  # clients
PUSHES = 50
LDAP_ENTRIES = 100000
SIZE_MIB = 3072
MIB = 1 << 20


def note(text):
    print(text, file=sys.stderr, flush=True)


def address_of(number, domains=DOMAINS):
    return f"user{number}@d{number % domains}.example.org"


def keys_of(count, addresses, seed=1):
    source = random.Random(seed)
    most = addresses * 100 // (100 - MISSES)
    return "".join(address_of(source.randrange(most)) + "\n" for _ in range(count))


class Node:
    """Stagepost with a directory."""

    def __init__(self, directory, build, settings):
        self.build = build
        self.socket = os.path.join(directory, "run", "directory")
        self.log = os.path.join(directory, "log")
        file = os.path.join(directory, "stagepost.conf")
        pathlib.Path(file).write_text(f"""
hostname = "bench.example"
user = ""
queue = "{directory}/queue"
run = "{directory}/run"
listen smtp {{ address = {{ "127.0.0.1:{free_port()}" }} }}
service maildir {{ kind = maildir path = "{directory}/mail/%d/%u" }}
directory {{ {settings} }}
""", encoding="utf-8")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(build, "stagepost"), "serve", "-c", file], stderr=log)
        try:
            wait_until(self._is_ready, "stagepost is ready", 120)
        except BaseException:
            self.stop()
            raise

    def _text(self):
        return pathlib.Path(self.log).read_text("utf-8")

    def _is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError("stagepost ended:\n" + self._text())
        return "event=serve_ready" in self._text() and "event=directory_up" in self._text()

    def pid(self):
        """Of the process that serves the directory."""
        words = [line for line in self._text().splitlines()
                 if "event=process_started program=directory" in line][-1]
        return int(words.rpartition("pid=")[2])

    def _run(self, program, *words, keys):
        ended = subprocess.run([os.path.join(self.build, "tests/bench", program), self.socket,
                                *words], input=keys, text=True, capture_output=True, check=False,
                               timeout=600)
        if ended.returncode != 0:
            raise RuntimeError(ended.stderr)
        return [float(word) for word in ended.stdout.split()]

    def ask(self, keys):
        """Answers a second, and for each second of the server's processor time."""
        before = measure.processor_seconds(self.pid())
        answered, refused, seconds = self._run("directory_load", "route", str(DEPTH), keys=keys)
        return {"rate": answered / seconds, "refused": refused,
                "core": answered / (measure.processor_seconds(self.pid()) - before)}

    def ask_kept(self, keys):
        """Nanoseconds of a question whose answer is kept."""
        return self._run("directory_kept", "50", keys=keys)[1]

    def client(self):
        return Client(self.socket)

    def stop(self):
        end(self.process, 40)


class Client(Speaker):
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.receive()  # hello

    def ask(self, verb, *words):
        answer = super().ask(verb, *words)
        if answer[0] == "err":
            raise RuntimeError(answer)
        return answer

    def close(self):
        self.socket.close()


def postmap(map_name, keys):
    """Answers a second, and how many keys there were none for."""
    begun = time.monotonic()
    ended = subprocess.run(["postmap", "-q", "-", map_name], input=keys, text=True,
                           capture_output=True, check=False, timeout=600)
    seconds = time.monotonic() - begun
    if ended.stderr:
        raise RuntimeError(ended.stderr)
    count = keys.count("\n")
    return {"rate": count / seconds, "refused": count - ended.stdout.count("\n")}


def beside(node, map_name, keys, rounds, title):
    """The medians of both, by turns."""
    runs = {"stagepost": [], "postmap": []}
    node.ask(keys)
    for number in range(rounds):
        systems = [("stagepost", lambda: node.ask(keys)),
                   ("postmap", lambda: postmap(map_name, keys))]
        for name, run in systems[::-1] if number % 2 else systems:
            runs[name].append(run())
            note(f"{title}: round {number + 1}: {name} {runs[name][-1]['rate']:.0f}/s")
    refused = {run["refused"] for of in runs.values() for run in of}
    if len(refused) != 1:
        raise RuntimeError(f"they do not agree on who exists: {refused}")
    medians = {name: statistics.median(run["rate"] for run in of) for name, of in runs.items()}
    return {"rates": medians, "ratio": medians["stagepost"] / medians["postmap"],
            "core": statistics.median(run["core"] for run in runs["stagepost"])}


# --- pushes ---


def time_pushes(node, change):
    """Milliseconds from the commit of CHANGE(key, n), which returns when that was, to each of
    the clients that hold the key. The first change is not counted: it copies into the database
    what was loaded."""
    key = address_of(1)
    selector = selectors.DefaultSelector()
    clients = [node.client() for _ in range(HELD)]
    for client in clients:
        selector.register(client.socket, selectors.EVENT_READ, client)
    times = []
    for number in range(PUSHES + 1):
        for client in clients:
            client.ask("get", "route", key)
        begun = change(key, number)
        waiting = set(clients)
        while waiting:
            ready = selector.select(10)
            if not ready:
                raise RuntimeError(f"{len(waiting)} clients were not told")
            now = time.monotonic()
            for chosen, _ in ready:
                client = chosen.data
                client.data += client.socket.recv(1 << 16)
                while (taken := take(client.data)) is not None:
                    client.data = taken[1]
                    if words_of(taken[0])[0] == "new" and client in waiting:
                        waiting.discard(client)
                        if number > 0:
                            times.append(max(now - begun, 0) * 1000)
    for client in clients:
        client.close()
    return {"median": statistics.median(times),
            "p99": statistics.quantiles(times, n=100)[98], "most": max(times)}


def change_by_protocol(node):
    changer = node.client()

    def change(key, number):
        changer.send("put", "8", "address", key, "kind mailbox", f"mailbox box{number}@b.example")
        while changer.receive()[0] != "ok":
            continue
        return time.monotonic()

    return change


# --- SQLite ---


def fill_sqlite(path, addresses):
    database = sqlite3.connect(path, isolation_level=None, timeout=120)
    database.execute("BEGIN")
    database.executemany("INSERT INTO domain (name, kind, service) VALUES (?, 'local', 'maildir')",
                         ((f"d{number}.example.org",) for number in range(DOMAINS)))
    database.executemany("INSERT INTO address (address, kind) VALUES (?, 'mailbox')",
                         ((address_of(number),) for number in range(addresses)))
    database.execute("INSERT INTO address (address, kind, owner) "
                     "VALUES ('list@d0.example.org', 'list', 'owner@d0.example.org')")
    database.executemany("INSERT INTO member (list, member) VALUES ('list@d0.example.org', ?)",
                         ((f"member{number}@far.example",) for number in range(MEMBERS)))
    database.execute("COMMIT")
    database.close()


def time_members(node):
    """Members of a list a second, page by page."""
    client = node.client()
    prefix = after = "list@d0.example.org "
    begun, count = time.monotonic(), 0
    while True:
        answers = []
        client.send("list", "9", "member", prefix, after if count else "", "1000")
        while True:
            words = client.receive()
            answers += words[2:] if words[0] == "part" else words[4:]
            if words[0] != "part":
                break
        keys = [word[2:] for word in answers if word.startswith("= ")]
        count += len(keys)
        if len(keys) < 1000:
            break
        after = keys[-1]
    seconds = time.monotonic() - begun
    client.close()
    if count != MEMBERS:
        raise RuntimeError(f"{count} members")
    return count / seconds


def measure_sqlite(options, disk):
    directory = disk.directory("sqlite")
    path = os.path.join(directory, "directory.db")
    node = Node(directory, options.build, f'path = "{path}"')
    try:
        note(f"SQLite: {options.addresses} addresses")
        fill_sqlite(path, options.addresses)
        config = os.path.join(directory, "map.cf")
        pathlib.Path(config).write_text(
            f"dbpath = {path}\nquery = SELECT kind FROM address WHERE address = '%s'\n",
            encoding="ascii")
        keys = keys_of(options.questions, options.addresses)
        result = beside(node, f"sqlite:{config}", keys, options.rounds, "SQLite")
        result["memory"] = measure.pss_of(node.pid()) / MIB
        result["kept"] = node.ask_kept("\n".join(keys.split("\n")[:20000]))
        result["members"] = time_members(node)
        result["push"] = time_pushes(node, change_by_protocol(node))
        return result
    finally:
        node.stop()


# --- PostgreSQL ---


def measure_postgresql(options, disk):
    import postgresql  # pylint: disable=import-outside-toplevel
    directory = disk.directory("postgresql")
    server = postgresql.Server(directory, fsync="on")
    try:
        node = Node(disk.directory("postgresql-node"), options.build,
                    f'backend = postgresql database = {{ "{server.conninfo()}" }}')
        try:
            note(f"PostgreSQL: {options.addresses} addresses")
            server.sql(f"""INSERT INTO domain (name, kind, service)
                SELECT 'd' || n || '.example.org', 'local', 'maildir'
                FROM generate_series(0, {DOMAINS - 1}) n;
                INSERT INTO address (address, kind)
                SELECT 'user' || n || '@d' || n % {DOMAINS} || '.example.org', 'mailbox'
                FROM generate_series(0, {options.addresses - 1}) n""", timeout=600)
            server.sql("VACUUM ANALYZE")
            config = os.path.join(directory, "map.cf")
            pathlib.Path(config).write_text(
                f"hosts = 127.0.0.1:{server.port}\nuser = {postgresql.OWNER}\n"
                f"dbname = {postgresql.DATABASE}\n"
                "query = SELECT kind FROM address WHERE address = '%s'\n", encoding="ascii")
            keys = keys_of(options.questions // 5, options.addresses)
            result = beside(node, f"pgsql:{config}", keys, options.rounds, "PostgreSQL")
            result["push"] = time_pushes(node, change_by_sql(server))
            return result
        finally:
            node.stop()
    finally:
        server.stop()


def change_by_sql(server):
    session = server.session()

    def change(key, number):
        session.run("BEGIN")
        session.run(f"UPDATE address SET mailbox = 'box{number}@b.example' "
                    f"WHERE address = '{key}'")
        begun = time.monotonic()
        session.run("COMMIT")
        return begun

    return change


# --- LDAP ---


def measure_ldap(options, disk):
    import slapd  # pylint: disable=import-outside-toplevel
    directory = disk.directory("ldap")
    server = slapd.Slapd(os.path.join(directory, "server"))
    entries = min(LDAP_ENTRIES, options.addresses)
    server.configure(overlay="index mail eq\n")
    note(f"LDAP: {entries} entries")
    # one domain: that of the schema's example
    people = "".join(slapd.person(f"user{number}") for number in range(entries))
    server.load(slapd.START + people)
    server.start()
    try:
        node = Node(disk.directory("ldap-node"), options.build,
                    f'backend = ldap url = {{ "{server.url}" }} base = "{slapd.BASE}" '
                    f'path = "{directory}/copy.db" map = {{ "domain.service=\'maildir\'" }}')
        try:
            config = os.path.join(directory, "map.cf")
            pathlib.Path(config).write_text(
                f"server_host = {server.url}\nsearch_base = {slapd.BASE}\nversion = 3\n"
                "bind = no\nquery_filter = mail=%s\nresult_attribute = uid\n", encoding="ascii")
            source = random.Random(1)
            most = entries * 100 // (100 - MISSES)
            keys = "".join(f"user{source.randrange(most)}@example.org\n"
                           for _ in range(options.questions // 5))
            return beside(node, f"ldap:{config}", keys, options.rounds, "LDAP")
        finally:
            node.stop()
    finally:
        server.stop()


# --- the report ---


def goals(result):
    found = []
    if "SQLite" in result:
        sqlite = result["SQLite"]
        found += [
            judge("an answer that is kept", sqlite["kept"] / 1000, 2, "microseconds",
                  at_most=True),
            judge("lookups a second and core, SQLite", sqlite["core"], 150000),
            judge("memory of the directory process", sqlite["memory"], 300, "MiB", at_most=True),
            judge("members of a list a second", sqlite["members"], 200000),
            judge(f"push from a commit to {HELD} clients, p99", sqlite["push"]["p99"], 10, "ms", at_most=True)]
    if "PostgreSQL" in result:
        found.append(judge(f"push from a PostgreSQL commit to {HELD} clients, p99",
                           result["PostgreSQL"]["push"]["p99"], 50, "ms", at_most=True))
    return found


def print_report(report):
    print(f"The directory, {report['addresses']} addresses, {report['filesystem']}, medians of "
          f"{report['rounds']} rounds")
    for name, entry in report["backends"].items():
        print(f"  {name:<11} stagepost {entry['rates']['stagepost']:9.0f}/s   "
              f"postmap -q - {entry['rates']['postmap']:8.0f}/s   ratio {entry['ratio']:.2f}")
    for one in report["goals"]:
        print(f"  {one['what']}: {one['figure']:.1f} {one['unit']} ({one['sense']} {one['goal']}: "
              f"{verdict(one)})")


BACKENDS = {"SQLite": measure_sqlite, "PostgreSQL": measure_postgresql, "LDAP": measure_ldap}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="where the programs are")
    parser.add_argument("--addresses", type=int, default=1000000)
    parser.add_argument("--questions", type=int, default=300000, help="to SQLite; a fifth to others")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backend", action="append", choices=list(BACKENDS), default=[])
    parser.add_argument("--plain", action="store_true", help="no image, a plain directory")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    disk = Disk(options.plain, SIZE_MIB)
    try:
        result = {name: run(options, disk) for name, run in BACKENDS.items()
                  if name in (options.backend or BACKENDS)}
        report = {"filesystem": disk.description, "addresses": options.addresses,
                  "rounds": options.rounds, "backends": result, "goals": goals(result)}
    finally:
        disk.remove()
    if options.json:
        json.dump(report, sys.stdout, indent=1)
        print()
    else:
        print_report(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
