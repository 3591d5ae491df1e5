# SPDX-License-Identifier: ISC
"""What the manual prints for its readers to use: the blocks of its pages, as they are read; and
a machine of their own for them, with the files and users that they name."""

import glob
import os
import re
import shlex
import subprocess
from dataclasses import dataclass

from stagepost import PATIENCE, ROOT

GROUPS = {"nobody": "nogroup"}  # of users whose own is called otherwise
USERS = ("stagepost", "stagepost-directory", "lisa")


@dataclass(frozen=True)
class Block:
    page: str  # "stagepost-serve.8", "README.md"
    number: int  # in the page
    text: str

    @property
    def name(self):
        return f"{self.page}/{self.number}"


def unescape(roff):
    """A literal block as a reader sees it."""
    text = roff.replace(r"\(dq", '"').replace(r"\&", "")
    return text.replace(r"\e", "\\")


def of_page(path):
    with open(path, encoding="utf-8") as page:
        text = page.read()
    if path.endswith(".in"):
        found = [unescape(part) for part in re.findall(r"^\.Bd -literal.*\n((?s:.*?))^\.Ed", text,
                                                       re.M)]
        name = os.path.basename(path)[:-len(".in")]
    else:
        found = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
        name = os.path.basename(path)
    return [Block(name, number, part) for number, part in enumerate(found)]


def blocks():
    """{name: Block} of all pages."""
    paths = glob.glob(f"{ROOT}/doc/manual/*.in") + [f"{ROOT}/README.md", f"{ROOT}/doc/security.md"]
    return {block.name: block for path in sorted(paths) for block in of_page(path)}


def sessions(text):
    """[(command, what it prints, "$" or "#")] of a block with prompts."""
    steps = []
    is_open = False  # the command goes on in the next line
    for line in text.splitlines():
        if is_open:
            steps[-1][0] += "\n" + re.sub(r"^> ", "", line)
            is_open = line.endswith("\\") or (line.startswith(">") and line != "> done")
        elif line[:2] in ("$ ", "# "):
            steps.append([line[2:], "", line[0]])
            is_open = line.endswith(("\\", "; do", " |"))
        else:
            steps[-1][1] += line + "\n"
    return [tuple(step) for step in steps]


# What the pages name is there for this shell alone, in the directory where it runs: /etc is a copy,
# the others are empty at first.
MACHINE = """set -e
mount --make-rprivate /
mkdir -p machine
[ -d machine/etc ] || cp -a /etc machine
for place in etc home var/lib var/spool var/log var/mail usr/local/sbin; do
	mkdir -p "machine/$place"
	mount --bind "machine/$place" "/$place"
done
mkdir -p /etc/stagepost /home/lisa /var/lib/stagepost /var/spool/stagepost
uid=64000
for user in $RECIPE_USERS; do
	uid=$((uid + 1))
	id "$user" >/dev/null 2>&1 || {
		echo "$user:x:$uid:$uid::/home/$user:/bin/sh" >>/etc/passwd
		echo "$user:x:$uid:" >>/etc/group
	}
done
chown lisa: /home/lisa
[ -z "$RECIPE_PREPARE" ] || eval "$RECIPE_PREPARE"
set +e
eval "$RECIPE_COMMAND"
"""


def run(command, directory, prepare="", user=None, **environment):
    """Runs COMMAND by a shell of USER (else root's) in DIRECTORY, on such a machine, after PREPARE:
    what it was."""
    if user is not None:
        command = f"setpriv --reuid={user} --regid={GROUPS.get(user, user)} --clear-groups -- " \
                  f"bash -c {shlex.quote(command)}"
    more = {"RECIPE_COMMAND": command, "RECIPE_PREPARE": prepare,
            "RECIPE_USERS": " ".join(USERS)}
    return subprocess.run(["unshare", "--mount", "bash", "-c", MACHINE], cwd=directory,
                          env=os.environ | more | environment, text=True, capture_output=True,
                          check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL)
