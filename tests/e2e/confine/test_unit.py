# SPDX-License-Identifier: ISC
"""The unit for systemd: a node works within its limits of calls and capabilities, with all of its
own sandbox, and systemd thinks well of it."""

import os
import pwd
import re
import shutil
import subprocess

from inside import NEEDS, OWNER, USERS, WITHOUT, status_of
from smtp import deliver
from stagepost import PATIENCE, ROOT

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
UNIT = os.path.join(ROOT, "dist", "stagepost.service.in")
EXPOSURE = 2.0
SUPERVISOR = "sys"
# "decode", of which it is otherwise the user, does not run here
OTHERS = "".join(f"process {name} {{ user = {user} }}\n" for name, user in USERS.items() if user != SUPERVISOR)
IDENTITIES = 1 << 6 | 1 << 7  # CAP_SETGID, CAP_SETUID
KILL = 1 << 5

pytestmark = NEEDS


def settings(name):
    """What the unit says of NAME, a list for each line."""
    with open(UNIT, encoding="ascii") as unit:
        return [line.split("=", 1)[1].split() for line in unit if line.startswith(name + "=")]


def calls_of(group):
    """The names in a group of calls, as systemd expands it."""
    if not group.startswith("@"):
        return {group}
    text = subprocess.run(["systemd-analyze", "syscall-filter", group], check=True,
                          capture_output=True, text=True, timeout=PATIENCE).stdout
    names = {line.split()[0] for line in text.splitlines()[1:]
             if line.strip() and not line.strip().startswith("#")}
    return set().union(*(calls_of(name) for name in names)) if names else set()


def allowed_calls():
    allowed = set()
    for words in settings("SystemCallFilter"):
        is_taken = words[0].startswith("~")
        named = set().union(*(calls_of(word.lstrip("~")) for word in words))
        allowed = allowed - named if is_taken else allowed | named
    # systemd lets every service make these
    return allowed | calls_of("@default")


def judge_rights(mx, box):
    """Each has the capabilities that it needs to become others, and no process another one."""
    kept = {"local": IDENTITIES, "launch": IDENTITIES | KILL}
    for name in (*USERS, "launch", "queue", "send"):
        for pid in mx.pids(name):
            status = status_of(pid)
            expected = f"{kept.get(name, 0):016x}"
            for line, wanted in (("CapPrm", expected), ("CapEff", expected), ("CapInh", "0" * 16),
                                 ("CapAmb", "0" * 16)):
                assert status[line] == [wanted], (name, line)
            user = USERS.get(name, OWNER)
            assert status["Uid"] == [str(pwd.getpwnam(user).pw_uid)] * 4, name
    with open(box + "/seen", encoding="ascii") as file:
        seen = file.read().splitlines()
    assert seen[0] == str(pwd.getpwnam("www-data").pw_uid)
    assert {line.split()[1] for line in seen if re.match("Cap(Inh|Prm|Eff|Amb)", line)} == {"0" * 16}
    ended = subprocess.run([os.path.join(mx.programs, "stagepost"), "check", "--running", "-c", mx.conf],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_node_works_within_it(node, ground):
    box = ground.directory("box")
    theirs = ground.directory("theirs")
    mx = node(start=False, switch_user=True,
              domains=["a.test"] + [f'domain "{name}.test" {{ service = {name} }}'
                                    for name in ("box", "theirs", "own")],
              settings=OTHERS + f"""\
service box {{ kind = pipe command = "{box}/program" user = www-data }}
service own {{ kind = pipe command = "{box}/program" user = {SUPERVISOR} }}
service theirs {{ kind = maildir path = "{theirs}/%u" user = www-data }}
""")
    with open(box + "/program", "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\ncat > /dev/null\nid -u > {box}/seen\ncat /proc/self/status >> {box}/seen\n")
    os.chmod(box + "/program", 0o755)
    shutil.chown(box, "www-data")
    shutil.chown(theirs, "www-data")
    shutil.chown(mx.mail, USERS["local"])
    for path, mode, owner in (mx.queue, 0o700, OWNER), (mx.run, 0o751, SUPERVISOR):
        os.mkdir(path)  # as tmpfiles.d makes them
        shutil.chown(path, owner, pwd.getpwnam(OWNER).pw_gid)
        os.chmod(path, mode)
    names = os.path.join(mx.directory, "calls")
    with open(names, "w", encoding="ascii") as file:
        file.writelines(f"{name}\n" for name in sorted(allowed_calls()))
    kept = [word.removeprefix("CAP_").lower()
            for words in settings("CapabilityBoundingSet") for word in words]
    assert settings("User") == [["stagepost-supervisor"]]
    assert settings("AmbientCapabilities") == settings("CapabilityBoundingSet")
    sets = "=-all," + ",".join("+" + name for name in kept)
    mx.prefix = [WITHOUT, "--only", names, "setpriv", "--no-new-privs",
                 "--reuid", SUPERVISOR, "--regid", str(pwd.getpwnam(OWNER).pw_gid), "--clear-groups",
                 "--bounding-set" + sets, "--inh-caps" + sets, "--ambient-caps" + sets, "--"]
    subprocess.run([*mx.prefix, os.path.join(mx.programs, "stagepost"), "check", "-c", mx.conf],
                   check=True, timeout=PATIENCE)
    mx.start()
    deliver(mx, ["anna@a.test", "eve@box.test", "eve@theirs.test"], TEXT)
    mx.maildir("anna@a.test").wait()
    mx.wait_empty()
    (kept_mail,) = os.scandir(f"{theirs}/eve/new")
    assert kept_mail.stat().st_uid == pwd.getpwnam("www-data").pw_uid
    mx.kill_and_wait("local")
    mx.reload()
    deliver(mx, "bob@a.test", TEXT)
    mx.maildir("bob@a.test").wait()
    assert not mx.log.find("sandbox_lacks") and not mx.log.find("process_error")
    assert [event["program"] for event in mx.log.find("process_ended")] == ["local"]
    judge_rights(mx, box)
    deliver(mx, "eve@own.test", TEXT)
    assert "as whom we run ourselves" in mx.log.wait("deferred")["text"]


def test_what_systemd_thinks_of_it(tmp_path):
    with open(UNIT, encoding="ascii") as unit:
        text = unit.read().replace("@bindir@", "/usr/bin")
    (tmp_path / "stagepost.service").write_text(text, encoding="ascii")
    ended = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                            str(tmp_path / "stagepost.service")], check=False,
                           capture_output=True, text=True, timeout=PATIENCE)
    assert "ignoring" not in ended.stderr, ended.stderr
    (exposure,) = re.findall(r"Overall exposure level for stagepost.service: ([0-9.]+)",
                             ended.stdout)
    assert float(exposure) <= EXPOSURE
