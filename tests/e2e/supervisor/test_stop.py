# SPDX-License-Identifier: ISC
"""A stop waits for whom a second attempt would give a second message, and for nobody else."""

import os
import signal
import threading

import pytest
from hostile import GOOD, Server
from smtp import deliver
from stagepost import PATIENCE, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
SOON = 10  # seconds: of stops that wait for nobody


class Hop:
    """A next hop whose reply to one STATE is held back until release()."""

    def __init__(self, state, is_lmtp=False):
        self.held = threading.Event()
        self.released = threading.Event()
        self.server = Server(is_lmtp=is_lmtp, replies={state: self._hold})
        self.state = state

    def _hold(self, peer):
        self.held.set()
        assert self.released.wait(PATIENCE)
        peer.say(GOOD[self.state])

    def release(self):
        self.released.set()

    def taken(self):
        return len(self.server.messages)


@pytest.fixture
def hop():
    made = []

    def make(*arguments, **more):
        made.append(Hop(*arguments, **more))
        return made[-1]

    yield make
    for one in made:
        one.release()
        one.server.close()


def node_before(node, one, kind, settings=""):
    if kind == "remote":
        return node(routes=[f"hop.test:127.0.0.1;{one.server.port}"], settings=settings)
    return node(domains=['domain "hop.test" { service = box }'], settings=settings +
                f'service box {{ kind = lmtp address = "127.0.0.1:{one.server.port}" }}\n')


def stop_and_see(mx):
    """Begins a stop; the fields of what it says it waits for."""
    mark = mx.log.mark()
    mx.process.send_signal(signal.SIGTERM)
    said = mx.log.wait("serve_waiting", since=mark)
    assert mx.process.poll() is None
    return said


@pytest.mark.parametrize("kind", ["remote", "lmtp"])
def test_the_reply_to_a_final_dot_is_waited_for(node, hop, kind):
    one = hop("END", is_lmtp=kind == "lmtp")
    mx = node_before(node, one, kind)
    deliver(mx, "x@hop.test", TEXT)
    assert one.held.wait(PATIENCE)
    said = stop_and_see(mx)
    assert (said["program"], said["deliveries"]) == ("send", "1")
    assert 600 < int(said["seconds"]) < 660
    mx.log.wait("serve_waiting", count=2)
    one.release()
    assert mx.process.wait(SOON) == 0
    mx.process = None
    assert mx.log.find("delivered", to="x@hop.test") and not mx.log.find("process_error")
    mx.start()
    mx.wait_empty()
    assert one.taken() == 1


@pytest.mark.parametrize("state", ["greeting", "RCPT", "DATA"])
@pytest.mark.parametrize("kind", ["remote", "lmtp"])
def test_before_the_final_dot_nobody_is_waited_for(node, hop, kind, state):
    one = hop(state, is_lmtp=kind == "lmtp")
    mx = node_before(node, one, kind)
    deliver(mx, "x@hop.test", TEXT)
    assert one.held.wait(PATIENCE)
    mx.stop(SOON)
    (event,) = mx.log.find("deferred", to="x@hop.test")
    assert "interrupted" in event["text"] and one.taken() == 0
    one.release()
    mx.make_due()
    mx.start()
    mx.wait_empty()
    assert one.taken() == 1


def test_a_connection_that_waits_is_ended_politely(node, hop):
    quits = threading.Event()
    one = hop("none")

    def on_quit(peer):
        quits.set()
        peer.say(GOOD["QUIT"])

    one.server.replies["QUIT"] = on_quit
    mx = node_before(node, one, "remote")
    deliver(mx, "x@hop.test", TEXT)
    mx.log.wait("delivered", to="x@hop.test")
    mx.stop(SOON)
    assert quits.wait(PATIENCE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_waits_for_nobody(node, hop, number):
    one = hop("END")
    mx = node_before(node, one, "remote")
    deliver(mx, "x@hop.test", TEXT)
    assert one.held.wait(PATIENCE)
    stop_and_see(mx)
    mx.process.send_signal(number)
    assert mx.process.wait(SOON) == 0
    mx.process = None
    assert mx.log.find("serve_hurried")
    (event,) = mx.log.find("deferred", to="x@hop.test")
    assert "interrupted" in event["text"]
    one.release()
    mx.make_due()
    mx.start()
    mx.wait_empty()
    assert one.taken() == 2, "it was not lost"


def test_a_stop_has_an_end(node, hop):
    one = hop("END")
    mx = node_before(node, one, "remote", "stop_timeout = 3\n")
    deliver(mx, "x@hop.test", TEXT)
    assert one.held.wait(PATIENCE)
    stop_and_see(mx)
    mx.process.wait(3 + SOON)
    mx.process = None
    one.release()
    mx.make_due()
    mx.start()
    mx.wait_empty()


def test_without_a_supervisor_nobody_waits_long(node, hop):
    """The processes of the next one need the queue."""
    one = hop("END")
    mx = node_before(node, one, "remote")
    deliver(mx, "x@hop.test", TEXT)
    assert one.held.wait(PATIENCE)
    mx.kill_supervisor()
    mx.start()
    one.release()
    mx.wait_empty()


def test_a_program_that_runs_is_waited_for(node, ground):
    place = ground.directory("program")
    program = os.path.join(place, "program")
    with open(program, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\ncat >/dev/null; echo >>{place}/ran\n"
                   f"while [ ! -e {place}/go ]; do sleep 0.1; done\n")
    os.chmod(program, 0o755)
    mx = node(domains=['domain "box.test" { service = box }'],
              settings=f'service box {{ kind = pipe command = {{ "{program}" }} }}\n')
    deliver(mx, "x@box.test", TEXT)
    wait_until(lambda: os.path.exists(f"{place}/ran"), "the program runs")
    stop_and_see(mx)
    with open(f"{place}/go", "w", encoding="ascii"):
        pass
    assert mx.process.wait(SOON) == 0
    mx.process = None
    assert mx.log.find("delivered", to="x@box.test")
    mx.start()
    mx.wait_empty()
    with open(f"{place}/ran", encoding="ascii") as file:
        assert file.read() == "\n"


def test_a_service_that_a_reload_takes_away_finishes(node, hop):
    one, other = hop("END", is_lmtp=True), hop("none", is_lmtp=True)
    mx = node_before(node, one, "lmtp")
    deliver(mx, "x@hop.test", TEXT)
    assert one.held.wait(PATIENCE)
    mx.settings = mx.settings.replace("service box", "service other").replace(
        str(one.server.port), str(other.server.port))
    mx.domains = ['domain "hop.test" { service = other }']
    mx.write_configuration()
    mx.reload()
    deliver(mx, "y@hop.test", TEXT)
    mx.log.wait("delivered", to="y@hop.test")
    one.release()
    mx.log.wait("delivered", to="x@hop.test")
    mx.wait_empty()
    assert one.taken() == other.taken() == 1
