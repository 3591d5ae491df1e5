# SPDX-License-Identifier: ISC
"""The tables of a hand-over. check_tables compares them with the comments of the sources, so that
neither changes alone; the steps of the model take their new states from here."""

# src/node/send/peer.c: a package at its sender. State, event, what it becomes.
SENDER = (
    ("QUEUED", "it is its turn", "SENT"),
    ("QUEUED", "the connection is lost", "placed elsewhere"),
    ("SENT", "took", "THERE; its job is done"),
    ("SENT", "later", "gone; its job is placed elsewhere, or waits"),
    ("SENT", "the connection is lost", "DOUBT"),
    ("DOUBT", "kept, ready", "THERE; its job is done"),
    ("DOUBT", "ready, and not kept", "gone; its job is placed anywhere"),
    ("DOUBT", "for NODE_DOUBT_GRACE_US", "DOUBT; its job waits for node.NAME"),
    ("DOUBT", "for setting doubt", "LOST; node.NAME is released"),
    ("LOST", "kept", "THERE, and was_lost"),
    ("THERE", "its message is done for good", "settled, or dropped: gone"),
    ("THERE", "ready, and not kept", "gone"),
)

# src/node/receive/package.c: a package at its receiver. State, event, action, new state.
RECEIVER = (
    ("REFUSED", "data", "-", "REFUSED"),
    ("REFUSED", "end", "later", "-"),
    ("OPENING", "it has a number", "-", "OPEN"),
    ("OPENING", "none, by an error", "-", "REFUSED"),
    ("OPEN", "data", "keeps them, or writes the file", "OPEN"),
    ("OPEN", "more than is kept", "asks for a file, reads no more", "SHARING"),
    ("SHARING", "the file is there", "writes, reads on", "OPEN"),
    ("OPEN", "end", "commits", "COMMITTING"),
    ("COMMITTING", "it is queued", "took", "-"),
    ("COMMITTING", "it is not", "later", "-"),
    ("COMMITTING", "who knows", "ends the connection", "-"),
)

# src/queue/handed.h: the names of a package at its receiver, as processes see them: whether there is
# one in todo/ or info/, and the one in handed/. And what the header calls it.
NAMES = {
    (0, ""): "-",
    (1, "NAME"): "todo/ or info/, NAME",
    (0, "NAME"): "NAME alone",
    (1, "NAME.done"): "todo/ or mess/, NAME.done",
    (0, "NAME.done"): "NAME.done",
    (1, ""): None,  # settled before its end: a message like any other
}

# Rows whose event changes nothing that the model has: time before patience ends, and how the data
# come (a package comes in one piece).
NOT_MODELLED = {
    ("DOUBT", "for NODE_DOUBT_GRACE_US"),
    ("REFUSED", "data"), ("OPENING", "it has a number"), ("OPENING", "none, by an error"),
    ("OPEN", "data"), ("OPEN", "more than is kept"), ("SHARING", "the file is there"),
}

# What a package becomes, as one word: a state, or GONE.
STATES = ("QUEUED", "SENT", "DOUBT", "LOST", "THERE")
GONE = "gone"
_AFTER = {row[:2]: next((state for state in STATES if row[2].startswith(state)), GONE) for row in SENDER}
_ANSWERS = {row[:2]: row[2] for row in RECEIVER}
walked = set()  # rows that an exploration has taken


def after(state, event):
    """The state of a package of the sender after EVENT; not in the table: KeyError."""
    walked.add((state, event))
    return _AFTER[state, event]


def action(state, event):
    """What the receiver does with a package."""
    walked.add((state, event))
    return _ANSWERS[state, event]


# Rules, by the numbers of doc/design/nodes.md's order; what is done without it.
RULES = {
    "number": "a connection that is older than the newest one is greeted, too",
    "commit": "the queue commits what an older connection has handed over",
    "run": "each start of the sender counts its connections from 1 again",
    "run-durable": "the receiver has the sender's highest run in memory only",
    "kept": "a greeting does not list what is there",
    "settled": "settled is said before the removal is durable",
    "start-sender": "the sender does not sync its queue at its start",
    "start-receiver": "the receiver does not sync its queue at its start",
    "later": "later is said after a sync that failed",
    "order-handed": "no sync between the names in handed/ and todo/",
    "order-done": "no sync between PACKAGE.done and the end of the name in todo/",
    "spare": "a file is reused while it may have a name in handed/",
    "ranges": "a greeting does not list the numbers of deliveries",
    "numbers": "some of the deliveries go before their numbers are durable",
    "peers": "after its start the sender asks nobody",
    "patience": "what is in doubt goes to another node at once",
    "drop": "what was in doubt for too long is dropped, though no other node has it",
}
