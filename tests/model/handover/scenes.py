# SPDX-License-Identifier: ISC
"""Which scenes are walked: each rule left out, and all rules with whatever may break."""
from typing import NamedTuple

from faults import KINDS
from tables import RULES
from world import Scene

ALL = frozenset(RULES)


def scene(*faults, rules=ALL, **more):
    """FAULTS: the kinds of each fault, as a set or as one word."""
    kinds = tuple(frozenset((kind,)) if isinstance(kind, str) else frozenset(kind) for kind in faults)
    return Scene(rules, kinds, **more)


class Without(NamedTuple):
    """A rule, what happens without it, and in which scene."""
    rule: str
    wrong: str
    scene: Scene


def without(rule, wrong, *faults, **more):
    return Without(rule, wrong, scene(*faults, rules=ALL - {rule}, **more))


RULES_LEFT_OUT = (
    without("number", "twice", "stop sender"),
    without("commit", "twice", "break"),
    without("run", "twice", "stop sender"),
    without("run-durable", "twice", "stop sender", "kill receiver"),
    without("kept", "twice", "break"),
    without("settled", "twice", "cut sender"),
    without("start-sender", "twice", "kill sender", "cut sender", receivers=1),
    without("start-receiver", "lost", "kill receiver", "cut receiver", receivers=1),
    without("later", "twice", "sync", "cut receiver", has_later=True),
    without("order-handed", "twice", "cut receiver", is_ordered=False),
    without("order-done", "twice", "cut receiver", is_ordered=False),
    without("spare", "lost", "cut receiver", "cut receiver", has_spares=True, receivers=1),
    without("ranges", "lost", "break", deliveries=2, has_parts=True),
    without("numbers", "lost", "map", deliveries=2, has_parts=True),
    without("peers", "twice", "kill sender"),
    without("patience", "twice", "break"),
    without("drop", "lost", "away", receivers=1),
)

# What each is about, and the scene; all rules hold.
SHORT = (
    ("a message, whatever breaks", scene(KINDS)),
    ("a message that a node refuses", scene("sync", has_later=True)),
    ("a message, whatever breaks, no order on the disks", scene(KINDS, is_ordered=False)),
    ("one receiver, two faults", scene(("break", "kill sender", "sync"), ("cut receiver", "cut sender"),
                                       receivers=1)),
    ("spares, two power cuts", scene("cut receiver", "cut receiver", receivers=1, has_spares=True)),
    ("two deliveries from S4, and the connection breaks", scene("break", deliveries=2, receivers=1,
                                                               has_parts=True)),
    ("three deliveries for two nodes", scene(deliveries=3, has_parts=True, place="S5")),
)
LONG = (
    ("a message, two faults", scene(KINDS, KINDS, has_later=True)),
    ("the same without order on the disks", scene(KINDS, KINDS, is_ordered=False)),
    ("one receiver, three faults", scene(KINDS, KINDS, KINDS, receivers=1)),
    ("one receiver, three faults, no order", scene(KINDS, KINDS, KINDS, receivers=1, is_ordered=False)),
    ("spares, no order", scene(KINDS, KINDS, receivers=1, has_spares=True, is_ordered=False)),
    ("two deliveries from S4, whatever breaks", scene(KINDS, deliveries=2, has_parts=True)),
    ("two deliveries from S4, no order", scene(KINDS, deliveries=2, has_parts=True, is_ordered=False)),
    ("two deliveries, one receiver, two faults", scene(KINDS, KINDS, deliveries=2, receivers=1,
                                                       has_parts=True)),
    ("three deliveries, and the connection breaks", scene("break", deliveries=3, has_parts=True,
                                                          place="S5")),
    ("three deliveries, and the sender dies", scene(("kill sender", "cut sender"), deliveries=3,
                                                    has_parts=True, place="S5")),
)
