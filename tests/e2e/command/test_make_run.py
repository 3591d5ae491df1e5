# SPDX-License-Identifier: ISC
"""What "make run" shows, and that what it says to try does what it says. The command is copied to a tree of its own,
so that the files of a show that somebody else looks at stay as they are."""

import contextlib
import os
import re
import shutil
import signal
import smtplib
import subprocess
import sys
import threading

import pytest
from stagepost import PATIENCE, ROOT, as_user, give_to_user, wait_until

SHOW_PATIENCE = 3 * PATIENCE
RESTART_PATIENCE = 20 + 2 * PATIENCE  # a killed node is away for twenty seconds
RETRY_PATIENCE = 110 + 2 * PATIENCE  # the second attempt
EVENT = re.compile(r"  (\d\d:\d\d:\d\d\.\d{3})  (\w+) +(\S+) +(queued|accepted|taken|handed|relayed|delivered|done) ", re.M)
# what becomes of each message
TWO = [[("first", "delivered")], [("first", "relayed"), ("second", "delivered")]]
NODES = [[("arrive", "handed"), ("box", "delivered"), ("out", "handed")],
         [("arrive", "handed"), ("other", "delivered"), ("out", "relayed")]]


class Tree:
    """What the command needs of the project's."""

    def __init__(self, ground):
        self.path = ground.directory("tree")
        for name in ("tools/run", "tools/running", "tests/common/make-certificates"):
            source, copy = os.path.join(ROOT, name), os.path.join(self.path, name)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            if os.path.isdir(source):
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, copy)
        os.symlink(ground.programs, os.path.join(self.path, "build"))
        for folder, names, files in os.walk(self.path):
            for name in names + files:
                give_to_user(os.path.join(folder, name))

    def command(self, *words):
        return [sys.executable, "-B", os.path.join(self.path, "tools/run"), *words]

    def run(self, *words):
        """(exit status, what it printed)."""
        done = subprocess.run(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=SHOW_PATIENCE)
        print(done.stdout)
        return done.returncode, done.stdout


@pytest.fixture
def tree(ground):
    return Tree(ground)


@pytest.mark.parametrize("words, done", [([], TWO), (["--nodes", "3"], NODES)], ids=["two", "nodes"])
def test_both_messages_arrive(tree, words, done):
    for _ in range(2):  # the second show finds the files of the first
        status, shown = tree.run("--once", *words)
        assert status == 0
        arrived = re.findall(r"^  arrived: (.*)$", shown, re.M)
        assert len(arrived) == 2 and all(map(os.path.isfile, arrived))
        stories = [EVENT.findall(part) for part in shown.split("\nA message ")[1:]]
        assert [sorted((where, what) for _, where, _, what in story if what in ("handed", "relayed", "delivered"))
                for story in stories] == done
        for story in stories:
            assert story == sorted(story, key=lambda event: event[0])
            assert {(where, message) for _, where, message, what in story if what == "done"} == {
                (where, message) for _, where, message, _ in story}
        assert shown.endswith("All processes have ended.\n")


def test_a_program_is_missing(tree, ground):
    programs = ground.directory("programs")
    for name in os.listdir(ground.programs):
        if name != "noded":
            os.symlink(os.path.join(ground.programs, name), os.path.join(programs, name))
    os.unlink(os.path.join(tree.path, "build"))
    os.symlink(programs, os.path.join(tree.path, "build"))
    status, shown = tree.run("--once", "--nodes", "3")
    assert status == 1 and "is not built" in shown


class Serving:
    """A show of nodes that goes on."""

    def __init__(self, tree):
        self.process = subprocess.Popen(tree.command("--nodes", "3"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True)
        self.reader.start()
        self.wait(r"Serving until Ctrl-C", SHOW_PATIENCE)
        self.port = int(re.search(r"takes mail in: SMTP 127\.0\.0\.1:(\d+)", self.shown())[1])

    def shown(self):
        return "".join(self.lines)

    def wait(self, pattern, patience=PATIENCE):
        return wait_until(lambda: self.process.poll() is not None or re.search(pattern, self.shown()), pattern, patience)

    def tried(self, words):
        """What the line that has WORDS prints, of those that the show says to try."""
        [line] = {line.strip() for line in self.lines if words in line}
        done = subprocess.run([*as_user(), *line.split()], stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE)
        return done.stdout

    def send(self, subject):
        with smtplib.SMTP("127.0.0.1", self.port, timeout=PATIENCE) as client:
            client.sendmail("lisa@nodes.example", ["ann@nodes.example"], f"Subject: {subject}\n\nHello.\n")

    def wait_waiting(self, reason):
        return wait_until(lambda: re.search(reason, self.tried("queue list"), re.S), "it waits")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(timeout=SHOW_PATIENCE)
        self.reader.join()
        print(self.shown())
        return status


@contextlib.contextmanager
def serving(tree):
    show = Serving(tree)
    try:
        yield show
    finally:
        status = show.stop()
    assert status == 0


DELIVERED = r"(?s)Serving until.*  box .* delivered  to <ann@nodes.example>"


def test_a_drained_node(tree):
    """Out and box hear of each change in any order: who hears later that box is active again may still say
    that it is not, and the message has its next attempt."""
    with serving(tree) as show:
        show.tried("node drain")
        assert re.search(r"box\.nodes\.example +draining", show.tried("node list"))
        assert re.search(r"(?m)^box\.nodes\.example +draining .*\n(.*\n)*out\.nodes\.example +active ",
                         show.tried("stagepost nodes"))
        show.send("drained")
        show.wait_waiting("box.nodes.example: it is (draining|not active)")
        show.tried("node activate")
        show.wait(DELIVERED, RETRY_PATIENCE)


def test_a_killed_node(tree):
    with serving(tree) as show:
        show.tried("kill -9")
        show.wait("box has ended")
        show.send("killed")
        show.wait_waiting(r"box\.nodes\.example.*waits for nodes\.box")
        show.wait(DELIVERED, RESTART_PATIENCE)
