# SPDX-License-Identifier: ISC
"""What "stagepost trace" says of a message in the log of a world is what the log says."""
import collections
import pathlib
import random
import re
import subprocess

MESSAGES = 3  # of each world
LINE = re.compile(r" time=(\S+) .* event=(delivered|deferred|failed|message_done) id=(\S+)")
MADE = re.compile(r" event=(?:bounced|notified|list_expanded) id=(\S+) .*?\b(?:bounce|message)=(\S+)")
TO = re.compile(r" to=(\S+)")
SENTENCES = (("delivered", re.compile(r"delivered to <(.*?)> ")),
             ("deferred", re.compile(r"waiting: <(.*?)> ")),
             ("failed", re.compile(r"failed: <(.*?)> ")),
             ("message_done", re.compile(r"done: ()")))


def logged(lines):
    """For each message how often each outcome was logged, with its time and recipient; of its
    reports and of what a list made of it, too, which a trace follows."""
    messages = collections.defaultdict(collections.Counter)
    made = collections.defaultdict(list)
    for line in lines:
        new = MADE.search(line)
        if new:
            made[new.group(1)].append(new.group(2))
        found = LINE.search(line)
        if found:
            when, event, message = found.groups()
            to = TO.search(line) if event != "message_done" else None
            messages[message][(when, event, to.group(1) if to else "")] += 1
    own = dict(messages)

    def whole(message):
        outcomes = collections.Counter(own.get(message, ()))
        for new in made[message]:
            outcomes += whole(new)
        return outcomes

    return {message: whole(message) for message in own}


def told(text):
    """The same from the sentences of a trace."""
    outcomes = collections.Counter()
    for line in text.splitlines():
        when, _, rest = line.partition(" ")
        sentence = rest.partition(": ")[2]
        for event, pattern in SENTENCES:
            found = pattern.match(sentence)
            if found:
                outcomes[(when, event, found.group(1))] += 1
    return outcomes


def differences(log, trace, seed):
    """TRACE(id, log) gives the text; of some messages of LOG: a line for each that is wrong."""
    messages = logged(log.read_text(errors="replace").splitlines())
    chosen = random.Random(seed).sample(sorted(messages), min(MESSAGES, len(messages)))
    return [f"trace of {message}: {dict(said - messages[message])} too much, "
            f"{dict(messages[message] - said)} missing"
            for message in chosen if (said := told(trace(message, log))) != messages[message]]


def tracer(world):
    """The command beside the program of the world."""
    stagepost = pathlib.Path(world).resolve().parents[2] / "stagepost"

    def trace(message, log):
        return subprocess.run([stagepost, "trace", message, log], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
    return trace
