# SPDX-License-Identifier: ISC
"""The time of day jumps by a day, in either direction, at whatever point a message waits. Nothing
is lost or delivered twice; waiting messages wait about as long as they would have, and are neither
tried over and over nor given up early."""

import collections
import re
import threading
import time

import pytest
from scene import Scene
from shim import Shim
from stagepost import free_port, wait_until
from test_limits import told
from common.holdings import all_queued
from common.record import record

DAY = 86400
JUMPS = pytest.mark.parametrize("jump", [DAY, -DAY], ids=["forward", "back"])
RETRIED = 500  # seconds; the first retry, of whatever kind, comes before
COUNTS = collections.Counter()


@pytest.fixture(scope="module", autouse=True)
def counted():
    begun = time.monotonic()
    COUNTS.update({name: 0 for name in ("jumps of a day", "messages answered 250",
                                        "recipients delivered", "recipients bounced", "lost",
                                        "corrupt", "duplicates", "ids used twice")})
    yield
    print("\n  " + record("clock", title="The clock jumps", what=__doc__.replace("\n", " "),
                          command="tests/e2e/run tests/e2e/queue/test_clock.py", counts=COUNTS,
                          seconds=time.monotonic() - begun, filesystem="ext4",
                          zero=("lost", "corrupt", "duplicates", "ids used twice")))


@pytest.fixture
def shim():
    made = Shim(wait_ms=10)
    jump = made.jump

    def counted_jump(seconds):
        COUNTS["jumps of a day"] += 1
        jump(seconds)

    made.jump = counted_jump
    yield made
    made.close()


@pytest.fixture
def scene(node, shim):
    """scene(more settings) is a Scene, judged at the end."""
    scenes = []

    def make(more=""):
        scenes.append(Scene(node, more, shim))
        return scenes[-1]

    yield make
    for made in scenes:
        check(made)
        made.close()


def check(scene):
    verdict = scene.judge(all_queued(scene.mx))
    ids = [event["id"] for event in scene.mx.log.find("message_queued")]
    COUNTS["messages answered 250"] += verdict.accepted
    COUNTS["recipients delivered"] += verdict.delivered
    COUNTS["recipients bounced"] += verdict.bounced
    COUNTS["lost"] += len(verdict.lost)
    COUNTS["corrupt"] += len(verdict.corrupt)
    COUNTS["duplicates"] += verdict.duplicates
    COUNTS["ids used twice"] += len(ids) - len(set(ids))
    assert (verdict.lost, verdict.corrupt, verdict.twice) == ([], [], {})
    assert len(ids) == len(set(ids))


def attempts(scene, since):
    return len(scene.mx.log.find("deferred", since) + scene.mx.log.find("delivered", since))


def put_off(scene):
    """A message of which two recipients wait; all is recorded."""
    assert scene.send("later").startswith("250 ")
    wait_until(lambda: [text.count("\nwait: ") for text in scene.mx.control_files().values()]
               == [2], "two wait")


@JUMPS
def test_idle(scene, shim, jump):
    made = scene()
    for offset in 0, jump, 0:
        shim.jump(offset)
        for _ in range(10):
            assert made.send("mixed").startswith("250 ")
        made.mx.wait_empty()


@JUMPS
def test_messages_wait(scene, shim, jump):
    made = scene()
    put_off(made)
    mark = made.mx.log.mark()
    shim.jump(jump)
    shim.pass_time(60)
    assert attempts(made, mark) <= 2, "each is tried once, if at all"
    shim.pass_time(RETRIED - 60)
    made.mx.wait_empty()


@JUMPS
def test_the_clock_was_wrong_for_a_while(scene, shim, jump):
    made = scene()
    shim.jump(jump)
    put_off(made)
    shim.jump(0)
    shim.pass_time(RETRIED)
    made.mx.wait_empty()


@JUMPS
def test_limits(scene, shim, jump):
    """Rates are by a clock that nobody sets: what came counts as long as ever, and no longer. Places
    stay with who has them."""
    made = scene("client_names = no\nclass \"*\" { queue = 50 refuse = 50 }\n"
                 "rate m { count = messages limit = 2 interval = 1h }\n")
    client = made.client()
    assert [made.send("local")[:3] for _ in range(3)] == ["250", "250", "450"]
    for offset in jump, 0, -jump:
        shim.jump(offset)
        assert made.send("local").startswith("450 ")
        wait_until(lambda: told(made.mx)["*"]["in"] == 1, "one stays")
    shim.pass_time(2 * 3600 + 1)  # it is told that it has waited for too long
    assert [made.send("local")[:3] for _ in range(3)] == ["250", "250", "450"]
    client.close()
    made.mx.wait_empty()
    wait_until(lambda: told(made.mx)["*"]["in"] == 0, "all places are free")


@JUMPS
def test_restart(scene, shim, jump):
    made = scene()
    put_off(made)
    made.mx.stop()
    shim.jump(jump)
    made.mx.start()
    shim.pass_time(RETRIED)
    made.mx.wait_empty()


@JUMPS
def test_in_delivery(scene, shim, jump):
    made = scene()
    go_on, begun = threading.Event(), threading.Event()
    final = made.far.final

    def slowly(address):
        begun.set()
        go_on.wait(20)
        return final(address)

    made.far.final = slowly
    assert made.send("mixed").startswith("250 ")
    assert begun.wait(20)
    shim.jump(jump)
    time.sleep(0.2)
    go_on.set()
    made.mx.wait_empty()


def dead_route(scene):
    """Mail to b.test has nowhere to go. The routes of before."""
    routes = scene.mx.routes
    scene.mx.routes = [f"b.test:127.0.0.1;{free_port()}"]
    scene.mx.write_configuration()
    scene.mx.restart()
    assert scene.send("remote").startswith("250 ")
    scene.mx.log.wait("trigger_set")
    return routes


def live_again(scene, shim, routes):
    """The mail comes soon."""
    scene.mx.routes = routes
    scene.mx.write_configuration()
    scene.mx.reload()
    shim.pass_time(600)
    scene.mx.wait_empty()


@JUMPS
def test_a_dead_server_is_probed_on(scene, shim, jump):
    """And its mail comes when it lives, not a day later."""
    made = scene()
    routes = dead_route(made)
    shim.jump(jump)
    mark = made.mx.log.mark()
    shim.pass_time(600)
    probes = len(made.mx.log.find("deferred", mark))
    assert 1 <= probes <= 600, probes
    live_again(made, shim, routes)


def test_no_early_bounce(scene, shim):
    """A message may wait for seven days: one of them is not all."""
    made = scene("queuelifetime = 7d\n")
    routes = dead_route(made)
    shim.jump(DAY)
    shim.pass_time(3600, step=300)
    assert not made.mx.log.find("bounced")
    live_again(made, shim, routes)


def test_a_bounce_is_due_by_the_wall_clock(scene, shim):
    """Where mail may wait for two hours, and by the clock a day is over."""
    made = scene("queuelifetime = 2h\n")
    dead_route(made)
    shim.jump(DAY)
    shim.pass_time(600)
    made.mx.log.wait("bounced")
    made.mx.wait_empty()
    assert made.judge().bounced == 1


def test_a_bounce_is_due_when_the_clock_was_set_back(scene, shim):
    """It comes when its time is over by the clock; till then attempts are as rare as ever."""
    made = scene("queuelifetime = 2h\ntransport remote { paused = yes }\n")
    assert made.send("later").startswith("250 ")
    made.mx.log.wait("deferred")
    mark = made.mx.log.mark()
    shim.jump(-DAY)
    shim.pass_time(12 * 3600, step=300)
    assert attempts(made, mark) < 30
    shim.jump(0)
    made.mx.settings = re.sub("transport remote.*\n", "", made.mx.settings)
    made.mx.write_configuration()
    made.mx.reload()
    shim.pass_time(7200, step=300)
    made.mx.wait_empty()
