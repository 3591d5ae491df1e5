# SPDX-License-Identifier: ISC
"""Judges each line of a node's log by the tables that define events and their fields. The compiler sees to what
a call names; here is what only a line shows: whether each field is there that the event always has, and that
none is empty or of another kind than it should be."""

import os
import re

LOG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../src/log")
START = {"time", "level", "process", "event"}
WHOLE = r"-?\d+"
KINDS = {"NUMBER": re.compile(WHOLE), "SECONDS": re.compile(r"\d+\.\d{3}"), "TEXT": re.compile(r".+", re.S),
         "SENDER": re.compile(r".*", re.S), "ID": re.compile(r"\d+-[0-9a-f]+")}


def _text(name):
    with open(os.path.join(LOG, name), encoding="ascii") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


def _fields():
    """The pattern for the values of each field."""
    return {name: KINDS[kind] for name, kind in re.findall(r"FIELD\((\w+), (\w+),", _text("fields.def"))}


def _events():
    """The level of each event, which fields it always has, and which it may have."""
    text = _text("events.def")
    groups = {name: words for name, words in re.findall(r"#define (\w+) (.+)", text)}

    def names(words):
        words = re.sub(r"\b[A-Z_]+\b", lambda group: groups[group[0]], words)
        return frozenset(re.findall(r"\w+", words))

    rows = {}
    for name, level, always, sometimes in re.findall(
            r"EVENT\((\w+), (\w+), \(([^()]*)\), \(([^()]*)\),", text):
        rows[name.lower()] = (level.lower(), names(always), names(always) | names(sometimes) | START)
    assert len(rows) == text.count("EVENT("), "an event is not in the form that is read here"
    return rows


FIELDS = _fields()
EVENTS = _events()


def fault_of(line):
    """What is wrong with a LINE, {"event": "delivered", ...}; None: nothing."""
    if line["event"] not in EVENTS:
        return "no such event"
    level, always, allowed = EVENTS[line["event"]]
    if line["level"] != level:
        return f"its level is {level}"
    if not line.keys() <= allowed:
        return f"has no {', '.join(line.keys() - allowed)}"
    if not always <= line.keys():
        return f"lacks {', '.join(always - line.keys())}"
    for name, value in line.items():
        if name not in START and not FIELDS[name].fullmatch(value):
            return f"{name} is {value!r}"
    return None
