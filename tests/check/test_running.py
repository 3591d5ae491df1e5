#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The shows of "make run" end well only if both messages have arrived: whatever is missing of what the logs should tell,
or a message in no mailbox, ends them with status 1.

usage: test_running.py DIRECTORY     DIRECTORY: for mailboxes
"""
import contextlib
import io
import pathlib
import runpy
import sys
import tempfile
import unittest
from unittest import mock

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
sys.path.insert(0, str(TOOLS))
from running import nodes, show, story, two  # noqa: E402
from running.failed import Failed  # noqa: E402
from running.instance import Instance  # noqa: E402

DIRECTORY = pathlib.Path(".")


class PlayedInstance(Instance):
    """Has no processes."""

    def __init__(self, name, hostname, *_):
        self.name, self.hostname = name, hostname
        self.base = DIRECTORY / name

    def check(self):
        pass


def event(name, what, message, **fields):
    return name, {"event": what, "id": message, "time": "2026-11-30T12:00:00.000000Z", "size": "1"} | fields


def handed(giver, message, taker, taken, package):
    """What both nodes tell of it."""
    return [event(taker, "node_took", taken, node=f"{giver}.{nodes.DOMAIN}", package=package),
            event(giver, "message_done", message)]


def delivered(name, message, recipient, text="stored"):
    return [event(name, "delivered", message, to=recipient, text=text, by="x"), event(name, "message_done", message)]


ANN, BOB = "ann@nodes.example", "bob@other.example"
STORED = [*handed("arrive", "1-a", "out", "2-a", "1-a"), *handed("out", "2-a", "box", "3-a", "2-a.1"),
          *delivered("box", "3-a", ANN)]
RELAYED = [*handed("arrive", "1-b", "out", "2-b", "1-b"), *delivered("out", "2-b", BOB, "250 queued as 4-c"),
           *delivered("other", "4-c", BOB)]
LOCAL = delivered("first", "1-a", "ann@first.example")
TO_SECOND = [*delivered("first", "1-b", BOB, "250 queued as 2-c"), *delivered("second", "2-c", BOB)]
AT_ALL_NODES = [("arrive", "1-a"), ("out", "2-a"), ("box", "3-a")]
UNHEARD = [event("first", "message_done", "1-b")]  # the end of what is relayed is that of the second


def played(kind, names, domain):
    """A show of KIND of which no instance runs."""
    made = kind.__new__(kind)
    made.story = story.Story()
    instances = {name: PlayedInstance(name, f"{name}.{domain}") for name in names}
    made.instances = list(instances.values())
    for name, instance in instances.items():
        setattr(made, name, instance)
    made.entry = made.instances[0]
    return made


def follow(kind, names, verb, message, recipient, events):
    """The way of the message when the logs have told EVENTS."""
    made = played(kind, names, nodes.DOMAIN)
    for entry in events:
        made.story.add(*entry)
    with mock.patch.object(story, "PATIENCE", -1):
        return [(instance.name, there) for instance, there in getattr(made, verb)(message, recipient)]


NODES = nodes.Nodes, ("arrive", "out", "box", "other")
TWO = two.Two, ("first", "second")
STORIES = [(*NODES, "follow_stored", "1-a", ANN, STORED, AT_ALL_NODES),
           (*NODES, "follow_relayed", "1-b", BOB, RELAYED, [("arrive", "1-b"), ("out", "2-b"), ("other", "4-c")]),
           (*TWO, "follow_local", "1-a", "ann@first.example", LOCAL, [("first", "1-a")]),
           (*TWO, "follow_relayed", "1-b", BOB, TO_SECOND, [("first", "1-b"), ("second", "2-c")])]


@mock.patch("running.story.threading.Condition.wait", lambda *_: None)
class TestFollow(unittest.TestCase):
    def test_way(self):
        for *scene, events, way in STORIES:
            self.assertEqual(follow(*scene, events), way)

    def test_each_event_is_needed(self):
        for *scene, events, _ in STORIES:
            for missing in events:
                if missing in UNHEARD:
                    continue
                with self.subTest(scene[2], missing=missing), self.assertRaises(Failed):
                    follow(*scene, [entry for entry in events if entry != missing])

    def test_another_one_is_not_taken_for_it(self):
        """Of another node, package, recipient."""
        for field, value in (("node", f"box.{nodes.DOMAIN}"), ("package", "11-a"), ("to", "eve@nodes.example")):
            for changed in [entry for entry in STORED if field in entry[1]]:
                events = [entry if entry is not changed else (entry[0], entry[1] | {field: value}) for entry in STORED]
                with self.subTest(field, changed=changed), self.assertRaises(Failed):
                    follow(*NODES, "follow_stored", "1-a", ANN, events)


class TestMailbox(unittest.TestCase):
    def test_subject(self):
        with tempfile.TemporaryDirectory(dir=DIRECTORY) as folder:
            instance = PlayedInstance("box", "box")
            instance.base = pathlib.Path(folder)
            new = instance.base / "mail/nodes.example/ann/new"
            new.mkdir(parents=True)
            (new / "1").write_text("Subject: another one\n")
            (new / "2").write_text("Subject: mine\n\nHello.\n")
            self.assertEqual(instance.find_mail(ANN, "mine"), new / "2")
            for recipient, subject in ((ANN, "Hello."), ("bob@nodes.example", "mine")):
                with self.assertRaises(Failed):
                    instance.find_mail(recipient, subject)


class PlayedShow(show.Show):
    """Fails when FAILING is begun."""

    FAILING = None

    def __init__(self):
        self.instances, self.done = [], []
        self.place = mock.Mock()

    def begin(self, what):
        self.done.append(what)
        if what == self.FAILING:
            raise Failed(what)

    def start(self):
        self.begin("start")

    def show_messages(self):
        self.begin("messages")

    def show_examples(self):
        self.begin("examples")

    def stop(self):
        super().stop()
        self.begin("stop")


class TestStatus(unittest.TestCase):
    def run_show(self, failing, *words):
        """(exit status, what was done) of the command, where something fails."""
        made = PlayedShow()
        made.FAILING = failing
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            stack.enter_context(mock.patch("running.show.signal.signal"))
            for kind in ("running.two.Two", "running.nodes.Nodes"):
                stack.enter_context(mock.patch(kind, lambda: made))
            stack.enter_context(mock.patch.object(sys, "argv", ["run", "--once", *words]))
            status = runpy.run_path(str(TOOLS / "run"))["main"]()
        return status, made.done

    def test_status(self):
        steps = ["start", "messages", "examples", "stop"]
        for words in ((), ("--nodes", "3")):
            self.assertEqual(self.run_show(None, *words), (0, steps))
            for step in steps:
                with self.subTest(step):
                    done = steps[:steps.index(step) + 1] + ([] if step == "stop" else ["stop"])
                    self.assertEqual(self.run_show(step, *words), (1, done))


if __name__ == "__main__":
    DIRECTORY = pathlib.Path(sys.argv.pop(1))
    unittest.main()
