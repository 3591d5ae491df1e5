# SPDX-License-Identifier: ISC
"""The table of nodes in each backend: put, listed, drained, pushed within a second, forgotten."""

import contextlib
import json
import os
import select
import subprocess
import time

import pytest
import slapd
from postgresql import several
from slapd import BASE, START, Slapd
from stagepost import PATIENCE, as_user, give_to_user, wait_until

LDAP = """directory {{ backend = ldap  path = "{path}/data/ldap.db"  url = "{url}"
  base = "{base}"  bind_dn = "{reader}"  password_file = "{password}"
  map = {{ "domain.service='maildir'", "node.key=cn", "node.address=labeledURI", "node.group=ou",
          "node.weight=serialNumber", "node.state=description" }} }}
"""
NODES = f"ou=nodes,{BASE}"
ATTRIBUTES = {"address": "labeledURI", "group": "ou", "weight": "serialNumber", "state": "description"}
A1 = {"name": "a1", "state": "active", "weight": 2, "address": "a1.test:627", "groups": ["core", "out"]}
B2 = {"name": "b2", "state": "active", "weight": 1, "address": "192.0.2.2:627", "groups": ["out"]}


class Commands:
    """Nodes are changed by the commands of stagepost."""

    def __init__(self, made):
        self.made = made
        self.started = [os.path.join(made.programs, "stagepost")]

    def run(self, *words):
        ended = subprocess.run([*as_user(), *self.started, *words, "-c", self.made.conf], check=False,
                               capture_output=True, text=True, timeout=PATIENCE)
        return ended.returncode, ended.stdout, ended.stderr

    def change(self, *words):
        assert self.run("node", *words) == (0, "", "")

    def put(self, name, **fields):
        self.change("put", name, *(f"{field}={value}" for field, values in fields.items()
                                   for value in values.split()))

    def drain(self, name):
        self.change("drain", name)

    def activate(self, name):
        self.change("activate", name)

    def forget(self, name):
        self.change("forget", name, "--yes")

    def nodes(self, *words):
        status, told, errors = self.run("node", "list", "--json", *words)
        assert (status, errors) == (0, "")
        return [json.loads(line) for line in told.splitlines()]


class Entries(Commands):
    """They are changed in LDAP, which the commands cannot."""

    def __init__(self, made, server):
        super().__init__(made)
        self.server = server
        server.add(f"dn: {NODES}\nobjectClass: organizationalUnit\nou: nodes\n")

    def put(self, name, **fields):
        lines = [f"{ATTRIBUTES[field]}: {value}" for field, values in fields.items()
                 for value in values.split()]
        self.server.add(f"dn: cn={name},{NODES}\nobjectClass: device\nobjectClass: labeledURIObject\n"
                        f"cn: {name}\n" + "\n".join(lines) + "\n")

    def set_state(self, name, state):
        self.server.modify(f"dn: cn={name},{NODES}\nchangetype: modify\nreplace: description\n"
                           f"description: {state}\n")

    def drain(self, name):
        status, told, errors = self.run("node", "drain", name)
        assert (status, told) == (3, "") and "kept in LDAP" in errors, errors
        self.set_state(name, "draining")

    def activate(self, name):
        self.set_state(name, "active")

    def forget(self, name):
        self.server.delete(f"cn={name},{NODES}")


@contextlib.contextmanager
def sqlite(made, _):
    made.settings = f'directory {{ path = "{made.directory}/data/directory.db" }}\n'
    made.write_configuration()
    made.start()
    yield Commands(made)


@contextlib.contextmanager
def postgresql(made, ground):
    with several(ground) as servers:
        made.settings = ('directory { backend = postgresql  database = "%s" }\n' %
                         servers("a").conninfo())
        made.write_configuration()
        made.start()
        made.log.wait("store_connected", role="change")
        yield Commands(made)


@contextlib.contextmanager
def ldap(made, ground):
    server = Slapd(os.path.join(ground.directory("slapd"), "one")).load(START).start()
    password = os.path.join(made.directory, "password")
    with open(password, "w", encoding="ascii") as file:
        file.write(slapd.PASSWORD + "\n")
    give_to_user(password)
    made.settings = LDAP.format(path=made.directory, base=BASE, reader=slapd.READER,
                                password=password, url=server.url)
    made.write_configuration()
    made.start()
    yield Entries(made, server)
    server.stop()


@pytest.fixture(params=[sqlite, postgresql, ldap], ids=lambda backend: backend.__name__)
def nodes(request, node, ground):
    with request.param(node("dir", start=False, domains=()), ground) as made:
        wait_until(lambda: made.run("node", "list") == (0, "", ""), "it can be read, and there is none")
        yield made


@pytest.fixture
def watched(nodes):
    """watched(ACT...): does that, and the keys of nodes that are pushed within a second."""
    with subprocess.Popen(
            [*as_user(), *nodes.started, "directory", "watch", "-c", nodes.made.conf],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as watch:
        def lines_within(seconds):
            until = time.monotonic() + seconds
            text = b""
            while (select.select([watch.stdout], [], [], max(0, until - time.monotonic()))[0]
                   and not text.endswith(b"\n")):
                text += os.read(watch.stdout.fileno(), 65536)
            return [tuple(line.split()[1:]) for line in text.decode().splitlines()]

        def watched(act, *words, **fields):
            act(*words, **fields)
            return lines_within(1)

        number = iter(range(1000))
        wait_until(lambda: watched(nodes.put, f"w{next(number)}", address="w.test:1"), "it watches")
        for name in [each["name"] for each in nodes.nodes()]:
            wait_until(lambda name=name: watched(nodes.forget, name), "it is gone")
        yield watched
        watch.terminate()


def test_nodes(nodes, watched):
    assert ("node", "a1") in watched(nodes.put, "a1", address="a1.test:627", group="core out", weight="2")
    assert ("node", "b2") in watched(nodes.put, "b2", address="192.0.2.2:627", group="out")
    assert nodes.nodes() == [A1, B2]
    assert (nodes.nodes("core"), nodes.nodes("out")) == ([A1], [A1, B2])
    assert ("node", "a1") in watched(nodes.drain, "a1")
    assert nodes.nodes("core") == [A1 | {"state": "draining"}]
    assert ("node", "a1") in watched(nodes.activate, "a1")
    assert nodes.nodes() == [A1, B2]
    assert ("node", "b2") in watched(nodes.forget, "b2")
    assert nodes.nodes() == [A1]
    assert nodes.run("node", "list", "none") == (1, "", "stagepost node list: no node is in group none\n")
    nodes.made.kill_and_wait("directory")
    wait_until(lambda: nodes.run("node", "list", "--json")[0] == 0, "it answers again")
    assert nodes.nodes() == [A1]


def completed(nodes, *words):
    """What bash offers for the last word."""
    environment = {**os.environ, "STAGEPOST_CONF": nodes.made.conf,
                   "PATH": nodes.made.programs + ":" + os.environ["PATH"]}
    script = subprocess.run([*as_user(), *nodes.started, "completion", "bash"], check=True,
                            capture_output=True, text=True, timeout=PATIENCE).stdout
    script += ('\nCOMP_WORDS=(stagepost "$@"); COMP_CWORD=$#; _stagepost\n'
               'printf "%s\\n" "${COMPREPLY[@]}"\n')
    ended = subprocess.run([*as_user(), "bash", "-c", script, "bash", *words], check=True,
                           capture_output=True, text=True, env=environment, timeout=PATIENCE)
    assert ended.stderr == ""
    return sorted(ended.stdout.split())


def test_the_first_thousand_are_used(node):
    """All are listed, and what is not used is said."""
    with sqlite(node("dir", start=False, domains=()), None) as nodes:
        wait_until(lambda: nodes.run("node", "list") == (0, "", ""), "it can be read")
        file = os.path.join(nodes.made.directory, "nodes.json")
        with open(file, "w", encoding="ascii") as out:
            for number in range(1001):
                out.write(json.dumps({"table": "node", "key": f"n{number}", "address": "n.test:627",
                                      "group": ["core"]}) + "\n")
        os.chmod(file, 0o644)
        assert nodes.run("directory", "import", file)[:2] == (
            0, "1001 added, 0 changed, 0 removed; 0 the same\n")
        status, told, errors = nodes.run("node", "list", "--json")
        assert (status, len(told.splitlines())) == (0, 1001)
        assert errors == "stagepost node list: there are 1001 nodes; only the first 1000 are used\n"
        assert completed(nodes, "node", "drain", "n99") == ["n99", *(f"n99{last}" for last in range(10))]
        exported = nodes.run("directory", "export", "--table", "node", "--format", "json")[1]
        assert len(exported.splitlines()) == 1001
        assert nodes.run("directory", "check")[0] == 0
