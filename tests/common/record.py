# SPDX-License-Identifier: ISC
"""What a campaign measured, for doc/reliability.md. With $STAGEPOST_RECORD (a directory)
each campaign leaves NAME.json there; tools/print-reliability makes the page of them."""

import datetime
import json
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def kernel():
    """Its version, without what its builder added."""
    return re.match(r"[0-9.]*[0-9]", os.uname().release).group()


def commit():
    """The commit that was tested; "+" behind it: and changes of the sources since."""
    git = ["git", "-C", ROOT]
    revision = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], capture_output=True,
                              text=True, check=True).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain", "--", "src", "tests"],
                             capture_output=True, text=True, check=True).stdout.strip()
    return revision + ("+" if changed else "")


def record(name, *, title, what, command, counts, seconds, filesystem="", zero=()):
    """NAME: of the file; TITLE and WHAT: a heading and a sentence or two about what was
    done and how it was judged; COMMAND does it again; COUNTS: {"messages answered 250":
    12345, ...} in the order of the page; ZERO: those of them that mean a failure unless
    they are 0. Returns the lines to show, whether or not a record is kept."""
    entry = {
        "title": title, "what": what, "command": command,
        "date": datetime.date.today().isoformat(), "commit": commit(), "kernel": kernel(),
        "filesystem": filesystem, "seconds": round(seconds), "counts": dict(counts),
        "zero": list(zero),
    }
    directory = os.environ.get("STAGEPOST_RECORD")
    if directory:
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(entry, file, indent="\t")
            file.write("\n")
    return f"{title}: " + ", ".join(f"{value} {key}" for key, value in counts.items())
