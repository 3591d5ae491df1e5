# SPDX-License-Identifier: ISC
"""What the logs of all instances tell."""
import re
import threading
import time

from running.failed import Failed

PATIENCE = 60  # seconds

FIELD = re.compile(r'([a-z_]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))')


def parse_event(line):
    return {key: re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
            for key, quoted, plain in FIELD.findall(line)}


class Story:
    """All events of the instances, in the order they came."""

    STEPS = {
        "message_queued": "queued     durable on disk, stage {stage}",
        "message_accepted": "accepted   250 to {client}: from <{from}>, {size} bytes",
        "message_found": "found      queued by {received}: from <{from}>, {size} bytes",
        "node_took": "taken      {size} bytes of package {package}, which {node} has handed over",
        "message_preprocessed": "mapped     every recipient has its queue",
        "delivered": "{done:10} to <{to}>: {text}",
        "deferred": "deferred   to <{to}> until {until}: {text}",
        "failed": "failed     to <{to}>: {text}",
        "bounced": "bounced    to <{to}> as {bounce}",
        "message_done": "done       its files are released",
        "trigger_set": "waiting    trigger {trigger} is set: mail that needs it waits",
        "trigger_released": "released   trigger {trigger}: {messages} messages are due",
    }

    def __init__(self):
        self.handing = set()  # (instance's name, service or stage) that is not there, but at other nodes
        self.events = []
        self.changed = threading.Condition()

    def add(self, name, event):
        with self.changed:
            self.events.append((name, event))
            self.changed.notify_all()

    def take(self):
        """All events that there are, after waiting a moment for one; they are forgotten."""
        with self.changed:
            if not self.events:
                self.changed.wait(1)
            events, self.events = self.events, []
            return events

    def done_word(self, name, by):
        """What has become of a recipient that BY has done."""
        if (name, by) in self.handing:
            return "handed"
        return "relayed" if by == "remote" else "delivered"

    def tell(self, name, event):
        step = self.STEPS.get(event.get("event"))
        if step is None:
            return
        print(f"  {event['time'][11:23]}  {name:6}  {event.get('id', ''):24}  "
              + step.format_map(event | {"done": self.done_word(name, event.get("by"))})
              + (f" [{event['tls']}, {event['verified']}]" if "verified" in event else ""),
              flush=True)

    def tell_messages(self, messages):
        """All that was heard of them, by time. MESSAGES: {(instance's name, id)}."""
        with self.changed:
            heard = [entry for entry in self.events if (entry[0], entry[1].get("id")) in messages]
        for name, event in sorted(heard, key=lambda entry: entry[1]["time"]):
            self.tell(name, event)

    def wait(self, matches, what, check):
        """The first event of which MATCHES(name, event); CHECK() fails when none can come."""
        deadline = time.monotonic() + PATIENCE
        index = 0
        with self.changed:
            while True:
                for name, event in self.events[index:]:
                    if matches(name, event):
                        return event
                index = len(self.events)
                check()
                if time.monotonic() > deadline:
                    raise Failed(f"{what}: nothing for {PATIENCE} seconds")
                self.changed.wait(1)
