# SPDX-License-Identifier: ISC
"""What the sender does: src/node/send/, and src/manager/ for the message."""
import tables
from world import (RECEIVERS, Connection, Message, Sent, replaced, with_peer, with_receiver,
                   with_sent)

CONNECTIONS_MAX = 3


def live_connection(world, index):
    """Where it is among the connections, or None."""
    for place, connection in enumerate(world.receivers[index].connections):
        if not connection.is_lost:
            return place
    return None


def with_connection(world, index, place, **fields):
    connections = world.receivers[index].connections
    return with_receiver(world, index, connections=replaced(
        connections, place, connections[place]._replace(**fields)))


def say(world, index, *word):
    place = live_connection(world, index)
    words = world.receivers[index].connections[place].words
    return with_connection(world, index, place, words=words + (word,))


def lose_connection(scene, world, index):
    """The sender sees its connection end (doubt.c)."""
    place = live_connection(world, index)
    if place is None:
        return world
    world = with_connection(world, index, place, is_lost=True, is_ready=False, answers=())
    for sent in world.sender.peers[index].sent:
        if sent.state not in ("QUEUED", "SENT"):
            continue
        state = tables.after(sent.state, "the connection is lost")
        is_gone = state == tables.GONE or "patience" not in scene.rules
        world = with_sent(world, index, sent, None if is_gone else sent._replace(state=state))
    return world


def deliveries_of(sender, numbers):
    """The deliveries that have NUMBERS; these are others when a map was made anew."""
    if sender.is_renumbered and numbers in (1, 2):
        return 3 - numbers
    return numbers


def mark_done(world, numbers):
    seen = world.sender.seen
    rest = seen.open & ~deliveries_of(world.sender, numbers)
    return world._replace(sender=world.sender._replace(
        seen=Message(seen.place if rest else "gone", rest)))


def in_work(sender):
    """Deliveries that some node may have, or is about to get."""
    numbers = 0
    for peer in sender.peers:
        for sent in peer.sent:
            if sent.state in ("QUEUED", "SENT", "DOUBT"):
                numbers |= sent.numbers
    return numbers


def possible_packages(scene, sender):
    """Each package that may be made of what is open; their grouping may change at any time. The
    deliveries are alike: the first one that is free goes first."""
    everything = (1 << scene.deliveries) - 1
    free = deliveries_of(sender, sender.seen.open) & ~in_work(sender)
    if sender.seen.place == "S4" and free == everything:
        yield "ID", everything
    if sender.seen.place == "S5" or scene.has_parts and "numbers" not in scene.rules:
        for numbers in range(1, free + 1):
            if numbers & ~free == 0 and numbers & free & -free:
                yield f"ID.{(numbers & -numbers).bit_length()}", numbers


def place_package(scene, world, index):
    """place.c, choose.c. The receivers are alike: the first package goes to b2."""
    sender = world.sender
    place = live_connection(world, index)
    if place is None or not world.receivers[index].connections[place].is_ready:
        return
    if any(peer.must_answer for peer in sender.peers):
        return
    for name, numbers in possible_packages(scene, sender):
        assert not any(sent.name == name for sent in sender.peers[index].sent), "one name, two packages"
        sent = Sent(name, numbers, "QUEUED")
        yield (f"a1 places {name} {numbers:b} at {RECEIVERS[index]}",
               with_sent(with_peer(world, index, is_recorded=True), index, None, sent))


def send_package(world, index):
    for sent in world.sender.peers[index].sent:
        if sent.state == "QUEUED":
            new = sent._replace(state=tables.after("QUEUED", "it is its turn"))
            deliveries = deliveries_of(world.sender, sent.numbers)
            yield (f"a1 sends {sent.name} to {RECEIVERS[index]}",
                   say(with_sent(world, index, sent, new), index,
                       "take", sent.name, sent.numbers, deliveries))


def settle(scene, world, index):
    """peer.c: what is done for good at the sender."""
    durable = world.sender.known if "settled" in scene.rules else world.sender.seen
    for sent in world.sender.peers[index].sent:
        is_done = (durable.place == "gone" if sent.name == "ID"
                   else not durable.open & deliveries_of(world.sender, sent.numbers))
        if sent.state != "THERE" or not is_done:
            continue
        tables.after("THERE", "its message is done for good")
        word = "drop" if sent.is_twice else "settled"
        yield (f"a1 says {word} {sent.name} to {RECEIVERS[index]}",
               say(with_sent(world, index, sent, None), index, word, sent.name))


def numbers_of_kept(scene, sender, name, numbers):
    if "ranges" in scene.rules or name == "ID":
        return numbers
    first = int(name.partition(".")[2])
    return numbers | (sender.seen.open >> (first - 1) << (first - 1))  # what it would send now


def hear_ready(scene, world, index, kept):
    """connection.c, doubt.c: what is kept is there, and what is not is not."""
    for sent in world.sender.peers[index].sent:
        if sent.name in dict(kept):
            continue
        if sent.state == "LOST":
            world = with_sent(world, index, sent, None)
        elif sent.state != "QUEUED":
            tables.after(sent.state, "ready, and not kept")
            world = with_sent(world, index, sent, None)
    for name, numbers in kept:
        world = hear_kept(scene, world, index, name, numbers)
    return with_peer(world, index, must_answer=False)


def hear_kept(scene, world, index, name, numbers):
    sender = world.sender
    numbers = numbers_of_kept(scene, sender, name, numbers)
    sent = next((item for item in sender.peers[index].sent if item.name == name), None)
    new = Sent(name, numbers, "THERE") if sent is None else sent._replace(state="THERE")
    if sent is not None and sent.state == "DOUBT":
        new = new._replace(state=tables.after("DOUBT", "kept, ready"))
    elif sent is not None and sent.state == "LOST":
        is_twice = not sender.seen.open & sent.numbers or "drop" not in scene.rules
        new = new._replace(state=tables.after("LOST", "kept"), is_twice=is_twice)
    return mark_done(with_sent(world, index, sent, new), new.numbers)


def hear_answer(scene, world, index):
    place = live_connection(world, index)
    connection = world.receivers[index].connections[place]
    if not connection.answers:
        return
    word, *rest = connection.answers[0]
    world = with_connection(world, index, place, answers=connection.answers[1:])
    if word == "ready":
        world = hear_ready(scene, with_connection(world, index, place, is_ready=True), index, rest[0])
    else:
        sent = next((item for item in world.sender.peers[index].sent
                     if item.name == rest[0] and item.state == "SENT"), None)
        if sent is None:
            world = lose_connection(scene, world, index)
        elif word == "took":
            new = sent._replace(state=tables.after("SENT", "took"))
            world = mark_done(with_sent(world, index, sent, new), sent.numbers)
        else:
            tables.after("SENT", "later")
            world = with_sent(world, index, sent, None)
    yield f"a1 hears {word} of {RECEIVERS[index]}", world


def connect(world, index):
    receiver, sender = world.receivers[index], world.sender
    is_first = index == 0 or sender.peers[0].is_recorded
    if receiver.is_away or len(receiver.connections) >= CONNECTIONS_MAX or not is_first:
        return
    number = sender.peers[index].connections + 1
    serial = (sender.run, number)
    world = with_peer(world, index, connections=number)
    yield f"a1 connects to {RECEIVERS[index]}", with_receiver(
        world, index, connections=receiver.connections + (Connection(serial, words=(("hello",),)),))


def end_patience(world, index):
    """Setting doubt is over. Only what cannot be reached is waited for so long."""
    peer = world.sender.peers[index]
    if not world.receivers[index].is_away:
        return
    if peer.must_answer:
        yield (f"a1 does not wait for what {RECEIVERS[index]} has",
               with_peer(world._replace(excused=world.excused | world.sender.seen.open), index,
                         must_answer=False))
    for sent in peer.sent:
        if sent.state == "DOUBT":
            new = sent._replace(state=tables.after("DOUBT", "for setting doubt"))
            yield (f"a1 gives up {sent.name} at {RECEIVERS[index]}",
                   with_sent(world._replace(excused=world.excused | sent.numbers), index, sent, new))


def record(scene, world):
    """What is on the sender's disk."""
    sender = world.sender
    has_jobs = any(sent.state in ("QUEUED", "SENT") for peer in sender.peers for sent in peer.sent)
    if scene.has_parts and "numbers" in scene.rules and sender.seen.place == "S4" and not has_jobs:
        message = sender.seen._replace(place="S5")
        yield ("a1 records the numbers of its deliveries, durably",
               world._replace(sender=sender._replace(seen=message, durable=message, known=message)))
    if sender.durable != sender.seen:
        yield ("a1 syncs its queue", world._replace(sender=sender._replace(durable=sender.seen, known=sender.seen)))


def go_on_with_old_process(world):
    """It was stopped in front of its dial, and hears nothing of what is answered."""
    old = world.sender.old
    if old is None or len(world.receivers[old.receiver].connections) >= CONNECTIONS_MAX:
        return
    words = (("hello",), ("take", old.sent.name, old.sent.numbers, old.sent.numbers))
    connections = world.receivers[old.receiver].connections + (
        Connection(old.serial, is_lost=True, words=words),)
    world = world._replace(sender=world.sender._replace(old=None))
    yield (f"the old process of a1 connects to {RECEIVERS[old.receiver]} and sends {old.sent.name}",
           with_receiver(world, old.receiver, connections=connections))


def steps(scene, world):
    yield from record(scene, world)
    yield from go_on_with_old_process(world)
    for index in range(scene.receivers):
        place = live_connection(world, index)
        yield from end_patience(world, index)
        if place is None:
            yield from connect(world, index)
            continue
        yield from hear_answer(scene, world, index)
        if world.receivers[index].connections[place].is_ready:
            yield from place_package(scene, world, index)
            yield from send_package(world, index)
            yield from settle(scene, world, index)
