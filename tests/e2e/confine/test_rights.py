# SPDX-License-Identifier: ISC
"""The table of rights (doc/security.md, which is that of the program) against the sandbox: whatever
a process can open or make, tried from inside each, is in its row."""

import contextlib
import glob
import os
import re
import subprocess

import pytest
from inside import INSIDE, NEEDS
from stagepost import ROOT, wait_until
from test_sandbox import OPENERS, PROGRAMS, world  # noqa: F401

PAGE = os.path.join(ROOT, "doc/security.md")
MADE = "made"
# What nobody has a right on.
OTHERS = ("/etc/passwd", "/etc/shadow", "/root", "/tmp", "/proc/1/status", "/dev/kmsg")
AF_INET, AF_NETLINK = 2, 16
SOCKETS = {
    "TCP out": (AF_INET, 1, 0), "UDP": (AF_INET, 2, 0), "netlink": (AF_NETLINK, 3, 0),
    "UNIX outside": (1, 1, 0), "raw": (AF_INET, 3, 1), "packets": (17, 3, 0),
    "audits": (AF_NETLINK, 3, 9)}

pytestmark = NEEDS


class Row:
    def __init__(self, cells):
        self.program = cells[0].strip("`")
        self.words = {word for cell in cells[5:7] for word in cell.split(", ")}
        self.places = [(place, mode == "rw") for place, mode in
                       re.findall(r"`([^`]+)` (rw|r)\b", cells[7])]

    def may_open(self, bases, path, writes):
        for place, may_write in self.places:
            name, slash, rest = place.partition("/")
            base = bases.get(name, "")
            for one in base if isinstance(base, list) else [base]:
                whole = place if name == "" else one + slash + rest
                is_in = path == whole[:-2] if whole.endswith("/.") else (
                    path == whole or path.startswith(whole + "/"))
                if is_in and (may_write or not writes):
                    return True
        return False


def table():
    with open(PAGE, encoding="utf-8") as page:
        text = page.read().partition("<!-- rights:")[2].partition("<!-- end -->")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return {row.program: row for row in
            (Row([cell.strip() for cell in line.strip("|").split("|")]) for line in lines)}


class Session:
    """Calls by the process PID, one after the other."""

    def __init__(self, pid):
        self.inside = subprocess.Popen([INSIDE, str(pid)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.inside.stdin.close()
        assert self.inside.wait(20) == 0
        self.inside.stdout.close()

    def can(self, *call):
        print(*call, file=self.inside.stdin, flush=True)
        result = int(self.inside.stdout.readline().split()[0].replace("-E", "-1 ").split()[0])
        if result >= 0:
            print("close", result, file=self.inside.stdin, flush=True)
            assert self.inside.stdout.readline() == "0\n"
        return result >= 0


def bases_of(mx):
    return {"QUEUE": mx.queue, "RUN": mx.run, "MAILBOXES": mx.mail,
            "DATABASE": os.path.dirname(mx.data), "CERTIFICATES": [mx.certificates], "TOKENS": [],
            "POLICIES": mx.policies, "AUTHORITIES": "/etc/ssl/certs", "LDAP-AUTHORITY": [],
            "RECORD": [], "PROGRAMS": mx.programs}


def paths_of(rows, mx):
    """Each place of any row, and a file in it, if there is one."""
    bases = bases_of(mx)
    places = {place for row in rows.values() for place, _ in row.places}
    found = {mx.conf, mx.queue, mx.run, f"{mx.queue}/format", mx.certificates, mx.key, *OTHERS}
    for place in places:
        name, slash, rest = place.partition("/")
        if name != "" and not isinstance(bases[name], str):
            continue
        whole = (place if name == "" else bases[name] + slash + rest).removesuffix("/.")
        found.add(whole)
        if name != "":  # links in /sys lead in circles
            files = [path for path in glob.glob(whole + "/**", recursive=True)
                     if os.path.isfile(path)]
            found.update(files[:1])
    return sorted(path for path in found if os.path.exists(path))


def test_the_page_has_each_process():
    assert {*PROGRAMS, "launch"} < set(table())


def opened(mx, program, paths):
    """(path, whether to write) of what it can: written where it is a file, made where it is a
    directory."""
    with Session(mx.pids(program)[-1]) as session:
        for path in paths:
            made = os.path.join(path, MADE)
            write = (made, os.O_WRONLY | os.O_CREAT) if os.path.isdir(path) else (path, os.O_WRONLY)
            for writes, (target, flags) in ((False, (path, os.O_RDONLY)), (True, write)):
                if session.can("openat", -100, f"={target}", flags | os.O_NONBLOCK, 0o600):
                    yield target, writes
                with contextlib.suppress(OSError):
                    os.unlink(made)


def test_files(world):  # noqa: F811
    rows, wrong, count = table(), [], 0
    wait_until(lambda: glob.glob(world.queue + "/mess/*/*"), "one waits")
    paths = paths_of(rows, world)
    for program in PROGRAMS:
        if world.landlock == 0 and program in OPENERS:
            continue  # users and groups bound these (test_sandbox.py: BY_USER)
        for path, writes in opened(world, program, paths):
            count += 1
            if not rows[program].may_open(bases_of(world), path, writes):
                wrong.append(f"{program} can {'write' if writes else 'read'} {path}")
    assert not wrong, "\n".join(wrong)
    assert count > 20 or world.landlock == 0


@pytest.mark.parametrize("program", PROGRAMS)
def test_sockets(world, program):  # noqa: F811
    row = table()[program]
    with Session(world.pids(program)[-1]) as session:
        for name, call in SOCKETS.items():
            assert not session.can("socket", *call) or name in row.words, name
