# SPDX-License-Identifier: ISC
"""Starts the whole system on what a cut left, and lets it deliver everything."""

import json
import os
import re
import subprocess
import time
from collections import Counter

from judge import Level, read_boxes
from recording import Mount, RecordingMount, check_filesystem
from stagepost import as_user, wait_until
from world import Sinks, make_node
from common.holdings import undone_recipients
from common.ledger import Ledger, read_report
from history import History

DRAINED = 40  # seconds, at most
DAMAGED = 3  # where some message cannot be read: until the others are delivered
ROUND = 0.5
PLACES = ("todo", "mess", "intd", "info", "local", "remote", "bounce", "trigger")


class Wrong(Exception):
    """What a recovery must not do, beside losing mail."""


def ask(node, *words, also=0):
    """What the command prints; its exit status is 0, or ALSO."""
    done = subprocess.run(
        [*as_user(), os.path.join(node.programs, "stagepost"), *words, "-c", node.conf],
        capture_output=True, text=True, check=False, timeout=DRAINED)
    if done.returncode not in (0, also):
        raise Wrong(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def read_pending(node):
    """How often (number, recipient) is to be delivered or reported, by the queue's files. A
    message in the queue may yet report its failures; a report, those that it names. What
    cannot be read counts as nothing: then nothing of it may come out twice."""
    found = Counter()
    for number, control in node.control_files().items():
        sender = re.search(r"^from: <(?:s(\d+)@s\.test)?>$", control, re.M)
        recipient = re.search(r"^to: 1 <(?:s(\d+)@s\.test)?", control, re.M)
        if sender and sender.group(1):
            names = undone_recipients(control) | set(
                re.findall(r"^to: \d+ <(fail-.*?)>", control, re.M))
            found.update((int(sender.group(1)), name) for name in names)
        elif sender and recipient and recipient.group(1):
            report = read_report(node.queued_message(number).replace(b"\r\n", b"\n"))
            found.update((int(recipient.group(1)), name) for name in (report or (0, ()))[1])
    return found


def stored_in_boxes(node):
    for box in os.listdir(os.path.join(node.mail, "a.test")) \
            if os.path.isdir(os.path.join(node.mail, "a.test")) else []:
        for path in node.maildir(f"{box}@a.test").files():
            with open(path, "rb") as file:
                yield f"{box}@a.test", file.read(), os.fstat(file.fileno()).st_mtime


def leftovers(node):
    return [os.path.join(folder, name) for place in PLACES
            for folder, _, names in os.walk(os.path.join(node.queue, place)) for name in names
            if (place, name) != ("intd", "due")]  # as the last scan left it


def start(node):
    try:
        node.start()
    except AssertionError as problem:
        node.abandon()
        raise Wrong(f"it does not start: {problem}") from None


def drain(node):
    """Everything that is queued goes out, what waited too."""
    end = time.monotonic() + DRAINED
    while node.control_files() and time.monotonic() < end:
        ask(node, "queue", "retry", "--all", "--yes", also=1)  # some end meanwhile
        try:
            node.wait_empty(timeout=ROUND)
        except AssertionError:
            if node.log.find("message_damaged"):
                end = min(end, time.monotonic() + DAMAGED)
    if node.control_files():
        raise Wrong(f"not empty in time: {node.control_files()}")
    # files are removed after their message has ended
    try:
        wait_until(lambda: not leftovers(node), "nothing is left", timeout=DAMAGED)
    except AssertionError:
        raise Wrong(f"left behind: {leftovers(node)}") from None


def count_files(node):
    """(what queue stats counts, how many files there are): all of them are without a message."""
    stats = json.loads(ask(node, "queue", "stats", "--json"))
    if stats["damaged"]:
        raise Wrong(f"a power cut is taken for damage: {stats['damage']}")
    counted = {place["name"]: place["messages"] for place in stats["places"] if place["messages"]}
    return counted, len(os.listdir(os.path.join(node.queue, "pid")))


def check_commands(node):
    if ask(node, "queue", "list", "--json"):
        raise Wrong("queue list tells of messages, and there are none")
    end = time.monotonic() + DAMAGED
    while True:  # some files are still being made, or removed as too many
        counted, files = count_files(node)
        if sum(counted.values()) == files and not set(counted) - {"spare files", "new files"}:
            return
        if time.monotonic() > end:
            raise Wrong(f"queue stats tells of {counted}, and there are {files} files")


def recover(recording, image, folder, entries, record):
    """(the Level of this recovery, what the Maildirs hold at its end, the disk's History if
    it is to RECORD). IMAGE is changed."""
    disk = os.path.join(folder, "disk")
    options = {"filesystem": recording.filesystem, "image": image, "path": disk,
               "options": recording.mount_options}
    mount = RecordingMount(folder=folder, **options) if record else Mount(**options)
    try:
        position = mount.position if record else None
        ledger = Ledger(os.path.join(folder, "ledger"), position, known=entries)
        sinks = Sinks(folder, ledger, merciful=True)
        try:
            level, box = run_node(recording, folder, disk, sinks, entries)
        finally:
            sinks.close()
            ledger.close()
    finally:
        mount.close()
    check_filesystem(recording.filesystem, image)
    level.events = list(ledger.events())
    history = History(mount.log, recording.mark) if record else None
    level.times = history.times if record else None
    return level, box, history


def run_node(recording, folder, disk, sinks, entries):
    node = make_node(recording.programs, os.path.join(folder, "node"), disk, sinks,
                     recording.sync)
    level = Level([], pending=read_pending(node),
                  box=read_boxes(stored_in_boxes(node), entries))
    try:
        try:
            start(node)
            drain(node)
            check_commands(node)
            check_log(node)
        except Wrong as wrong:  # what was lost by it is counted as well
            level.wrong = str(wrong)
        node.stop()
    finally:
        node.abandon()
    return level, read_boxes(stored_in_boxes(node), entries)


def check_log(node):
    bad = [event for name in ("message_damaged", "message_lost", "message_rebuilt", "queue_error",
                              "tls_report_damaged", "disk_cache_error", "certificate_error")
           for event in node.log.find(name)]
    if bad:
        raise Wrong(f"the log tells of damage: {bad}")
