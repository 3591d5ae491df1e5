# SPDX-License-Identifier: ISC
"""Walks every state of a scene, the nearest first."""
from collections import deque
from typing import NamedTuple

import faults
import receiver
import sender
from world import is_finished, seen, start, verdict, without_ended


class Found(NamedTuple):
    states: int
    is_whole: bool      # all states were walked
    wrong: str = None   # "lost", "twice", "stuck"
    path: tuple = ()    # the shortest way to it


def has_settled_course(world):
    """Nothing more can break, and nothing is dropped: only the order of the rest is open."""
    return not world.excused and not any(other.is_away for other in world.receivers)


def first_step_alone(scene, world):
    """A step of one disk that nothing else hangs on once nothing more can break: deliveries, syncs,
    the end of a message. In which order these come changes nothing, so one order is walked."""
    if world.faults < len(scene.faults) or not has_settled_course(world):
        return None
    if world.sender.durable != world.sender.seen:
        return next(step for step in sender.record(scene, world) if "syncs" in step[0])
    for index, other in enumerate(world.receivers):
        for package in other.packages:
            if not package.step:
                step = next(receiver.live(scene, world, index, package), None)
                if step:
                    return step
    return None


def steps(scene, world):
    yield from sender.steps(scene, world)
    yield from receiver.steps(scene, world)
    yield from faults.steps(scene, world)


def path_to(origins, world):
    path = []
    while origins[world] is not None:
        world, label = origins[world]
        path.append(label)
    return tuple(reversed(path))


def find_stuck(order, earlier):
    """The first state from which the end cannot be reached without a fault."""
    good = {world for world in order if is_finished(world)}
    waiting = deque(good)
    while waiting:
        for world in earlier.get(waiting.popleft(), ()):
            if world not in good:
                good.add(world)
                waiting.append(world)
    return next((world for world in order if world not in good), None)


def explore(scene, limit=1_000_000, is_short=False, names=None):
    """IS_SHORT: of orders that come to the same, one; then a path is not the shortest. NAMES gets
    the names that packages have at a receiver."""
    names = set() if names is None else names
    first = start(scene)
    origins = {first: None}
    earlier = {}
    waiting = deque([first])
    while waiting:
        world = waiting.popleft()
        names.update(seen(package) for other in world.receivers for package in other.packages
                     if not package.is_other)
        alone = first_step_alone(scene, world) if is_short else None
        for label, other in [alone] if alone else steps(scene, world):
            other = without_ended(other)
            if other not in origins:
                origins[other] = (world, label)
                wrong = verdict(other)
                if wrong:
                    return Found(len(origins), False, wrong, path_to(origins, other))
                if len(origins) >= limit:
                    return Found(limit, False)
                waiting.append(other)
            if not label.startswith("!"):
                earlier.setdefault(other, []).append(world)
    stuck = find_stuck(origins, earlier)
    if stuck is not None:
        return Found(len(origins), True, "stuck", path_to(origins, stuck))
    return Found(len(origins), True)
