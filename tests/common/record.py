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
    """The commit that was tested; "+" after it: and changes of the sources since."""
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
    return keep(name, entry)


def keep(name, entry):
    directory = os.environ.get("STAGEPOST_RECORD")
    if directory:
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(entry, file, indent="\t")
            file.write("\n")
    return f"{entry['title']}: " + ", ".join(
        f"{value} {key}" for key, value in entry["counts"].items())


def join(name, entries, seconds):
    """One record of ENTRIES, the parts of a campaign that have nothing in common: the same
    in all but what they counted, else AssertionError. SECONDS: how long it took."""
    for key in entries[0].keys() - {"counts", "seconds", "date"}:
        assert all(entry[key] == entries[0][key] for entry in entries), f"parts differ: {key}"
    names = []
    for entry in entries:
        place = 0
        for count in entry["counts"]:
            if count not in names:
                names.insert(place, count)
            place = names.index(count) + 1
    counts = {count: sum(entry["counts"].get(count, 0) for entry in entries) for count in names}
    return keep(name, {**entries[-1], "seconds": round(seconds), "counts": counts})
