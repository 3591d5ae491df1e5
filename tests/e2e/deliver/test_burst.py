# SPDX-License-Identifier: ISC
"""Nobody waits for another's slow destination: bursts, hosts that are mute, dead hosts and
due retries, and beside them a trickle of mail that nothing is wrong with. The short form of
"make burst". What is judged is printed; the limits are those that good mail may expect."""

import contextlib
import os
import re
import signal
import subprocess
import time

import pytest
from peers import Sink
from stagepost import BUILD, as_user, stamp, wait_until
from common.burst import (Steady, Trickle, Waiting, boxes, finish_sources, send_all, start_source,
                          taken_by_boxes, taken_by_hop)
from common.hops import Hops

FILL = os.path.join(BUILD, "tests", "bench", "fill_queue")
TICK = os.sysconf("SC_CLK_TCK")
INTERVAL = 0.05  # seconds between two messages of a trickle
CALM = 3.0  # seconds of it with nothing else to do
BESIDE = 15.0  # and beside a burst
LIMIT = 1.0  # seconds; the p99 of good mail
PATIENCE = 10.0  # seconds, for the last of it

# counts of today's reports; BURST_SCALE makes them smaller, for a look at a machine that is slow
SCALE = float(os.environ.get("BURST_SCALE", "1"))
SLOW_MESSAGES, SLOW_SECONDS = int(15000 * SCALE), 5
ONE_SENDER = max(1200, SLOW_MESSAGES // 5)  # fewer might be gone before it is over
MUTE_DOMAINS, MUTE_MESSAGES = 13, 40
RETRIES, NEW_RATE, RETRY_RATE = max(750, int(3000 * SCALE)), 100, 200
BUSY = 4  # as many times slower a machine may be that others use, too
EVERYTHING = 1e9  # messages a second
# 0.15 ms a host, which has a record and a file of its own; it was 1.4 ms when each cost more than the last
DEAD_HOSTS, DEAD_PROCESSOR, DEAD_PARTS = int(30000 * SCALE), 18.0, 3
LARGE, LARGE_RECIPIENTS, MEMORY_MIB = int(1600 * max(SCALE, 0.4)), 1000, 96


def fill(mx, count, *words):
    """COUNT messages of tests/bench/fill_queue.c in the queue of a node that is stopped."""
    done = subprocess.run(as_user() + [FILL, mx.queue, str(count), *words], check=False,
                          capture_output=True, text=True, timeout=60 + count // 500)
    assert done.returncode == 0, (done.stdout, done.stderr)


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_mib(pid, name):
    """NAME: VmRSS, now, or VmHWM, at most so far."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(rf"{name}:\s+(\d+) kB", status.read()).group(1)) / 1024


def wait_for_rest(*pids, rest=1.0, timeout=60):
    """Until the processes have used no processor time for REST seconds."""
    limit = time.monotonic() + timeout
    used, since = None, time.monotonic()
    while time.monotonic() - since < rest and time.monotonic() < limit:
        time.sleep(0.05)
        now = [processor_seconds(pid) for pid in pids]
        if now != used:
            used, since = now, time.monotonic()


def sleep_until(when):
    """The length of a measurement; nothing is waited for."""
    time.sleep(max(0, when - time.monotonic()))


class Good:
    """Local mail and mail to a fast host, in a trickle, and how long it waited."""

    def __init__(self, mx, hops):
        self.mx = mx
        self.hops = hops
        self.local = boxes("a.test")
        self.fast = [f"user{number}@fast.test" for number in range(10)]

    @contextlib.contextmanager
    def beside(self, found):
        """What is done in it happens beside the trickle. FOUND gets "local" and "fast", a
        Waiting each, as it was when that ended."""
        local = Trickle(self.mx.port, self.local, INTERVAL)
        fast = Trickle(self.mx.port, self.fast, INTERVAL)
        try:
            yield
        finally:
            local.stop()
            fast.stop()
        assert not local.refused and not fast.refused, (local.refused[:5], fast.refused[:5])
        patience = time.monotonic() + PATIENCE
        while time.monotonic() < patience:  # the last ones may take their time, too
            found["local"] = Waiting(local.accepted, taken_by_boxes(
                os.path.join(self.mx.mail, "a.test")))
            found["fast"] = Waiting(fast.accepted, taken_by_hop(self.hops, "fast"))
            if not found["local"].missing + found["fast"].missing:
                break
            time.sleep(0.1)

    def during(self, seconds):
        found = {}
        with self.beside(found):
            sleep_until(time.monotonic() + seconds)
        return found


@pytest.fixture
def tell(capsys):
    def say(text):
        with capsys.disabled():
            print(f"\n  {text}", end="", flush=True)

    return say


@pytest.fixture
def hops(ground):
    with contextlib.ExitStack() as started:
        yield lambda **words: started.enter_context(Hops(ground.directory("hops"), words))


def node_beside(node, hops, *routes, **options):
    """A node whose mail to fast.test goes to the hop "fast"."""
    return node(routes=[f"fast.test:127.0.0.1;{hops.ports['fast']}", *routes], **options)


@pytest.mark.parametrize("taken, p50, p99, missing", [
    (lambda mark: 0.1, 0.1, 0.1, 0), (lambda mark: mark / 100, 0.5, 0.99, 0),
    (lambda mark: 50 if mark == 7 else 0.1, 0.1, 50, 0),  # one in a hundred is no p99 to ignore
    (lambda mark: None if mark < 60 else 0.1, 100, 100, 60)])  # who still waits has waited till now
def test_waiting_is_seen(taken, p50, p99, missing):
    accepted = {str(mark): (1000, "u@a.test") for mark in range(100)}
    waiting = Waiting(accepted, {mark: 1000 + taken(int(mark)) for mark in accepted
                                 if taken(int(mark)) is not None}, now=1100)
    assert (waiting.share(0.5), waiting.share(0.99), waiting.missing) == (
        pytest.approx(p50), pytest.approx(p99), missing)


def tell_and_judge(tell, what, calm, found):
    for kind, waiting in found.items():
        floor = calm[kind].share(0.5)
        tell(f"{what}: {kind} mail: {waiting}; alone p50 {floor:.3f} s, "
             f"p99 {calm[kind].share(0.99):.3f} s")
    for kind, waiting in found.items():
        assert len(waiting) >= BESIDE / INTERVAL / 4, f"too little {kind} mail was accepted"
        assert waiting.share(0.99) < LIMIT, f"{kind} mail waited: {waiting}"


@pytest.mark.parametrize("domains", [15, 1500])
def test_nobody_waits_for_slow_domains(node, hops, tell, domains):
    """Fifteen thousand messages to domains that take five seconds each."""
    ends = hops(fast="fast", slow=f"slow {SLOW_SECONDS}")
    mx = node_beside(node, ends, f".slow.test:127.0.0.1;{ends.ports['slow']}")
    good = Good(mx, ends)
    calm = good.during(CALM)
    begin = time.monotonic()
    send_all(mx.port, [(f"sender{number % 7}@client.test", [f"u@d{number % domains}.slow.test"])
                       for number in range(SLOW_MESSAGES)])
    tell(f"{SLOW_MESSAGES} messages to {domains} domains that take {SLOW_SECONDS} s each were "
         f"accepted in {time.monotonic() - begin:.1f} s")
    found = good.during(BESIDE)
    tell(f"{len(ends.taken('slow'))} of them are delivered")
    tell_and_judge(tell, f"beside {domains} slow domains", calm, found)
    assert len(ends.taken("slow")) < SLOW_MESSAGES, "the burst was over before it was measured"


def test_nobody_waits_for_mute_hosts(node, hops, tell):
    """Thirteen domains whose hosts accept connections and never greet."""
    ends = hops(fast="fast", mute="mute")
    mx = node_beside(node, ends, f".mute.test:127.0.0.1;{ends.ports['mute']}")
    good = Good(mx, ends)
    calm = good.during(CALM)
    send_all(mx.port, [("s@client.test", [f"u@d{number % MUTE_DOMAINS}.mute.test"])
                       for number in range(MUTE_DOMAINS * MUTE_MESSAGES)])
    tell_and_judge(tell, f"beside {MUTE_DOMAINS} mute domains", calm, good.during(BESIDE))
    mx.abandon()  # it would wait for the mute


def test_a_burst_of_one_sender(node, hops, tell):
    """To the very host that others send to as well: their mail takes turns with it."""
    ends = hops(fast="fast", some="slow 0.2")
    mx = node_beside(node, ends, f"some.test:127.0.0.1;{ends.ports['some']}")
    finish_sources([start_source(mx.port, ONE_SENDER, "u@some.test", many=True)])
    mine = Trickle(mx.port, [f"user{number}@some.test" for number in range(10)], 0.2,
                   sender="other@client.test")
    sleep_until(time.monotonic() + BESIDE / 2)
    mine.stop()
    patience = time.monotonic() + 2 * LIMIT
    wait_until(lambda: time.monotonic() > patience or len(
        taken_by_hop(ends, "some")) == len(mine.accepted), "the last ones come or do not", 60)
    waiting = Waiting(mine.accepted, taken_by_hop(ends, "some"))
    tell(f"beside {ONE_SENDER} messages of another sender to the same host: {waiting}")
    assert len(ends.taken("some")) < ONE_SENDER, "the burst was over before it was measured"
    # a place becomes free after 0.2 s at the latest, and then it is another sender's turn
    assert waiting.share(0.99) < LIMIT, waiting


# --- retries ---

def as_shell(command):
    subprocess.run(as_user() + ["sh", "-c", command], check=True)


def release(mx, trigger):
    subprocess.run(
        as_user() + [os.path.join(mx.programs, "stagepost"), "trigger", "release", trigger],
        env={**os.environ, "STAGEPOST_CONF": mx.conf}, check=True, timeout=60,
        stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def steady(mx, rate):
    """New local mail, RATE a second, once it comes."""
    new = Steady(mx.port, boxes("a.test"), rate)
    try:
        wait_until(lambda: new.accepted > min(rate, 200), "new mail comes")
        yield new
    finally:
        new.stop()


def new_rate(mx, rate):
    """What is accepted a second, where RATE is tried."""
    with steady(mx, rate) as new:
        begin, before = time.monotonic(), new.accepted
        sleep_until(begin + CALM)
        return (new.accepted - before) / (time.monotonic() - begin)


@pytest.mark.parametrize("why", ["due", "released"])
def test_retries_beside_new_mail(node, hops, tell, why):
    """Three thousand retries, all due, beside a hundred new messages a second."""
    ends = hops(fast="fast")
    mx = node_beside(node, ends, start=False)
    mx.start().stop()  # makes the queue
    fill(mx, RETRIES, "fast.test", *(["0", "later"] if why == "released" else ["12"]))
    due_at = time.monotonic() + 12
    if why == "released":
        as_shell(f"echo reason: a test > {mx.queue}/trigger/later")
    mx.start()
    (send,) = mx.pids("send")
    with steady(mx, NEW_RATE) as new:
        if why == "released":
            release(mx, "later")
        else:
            assert time.monotonic() < due_at, "they were due before new mail came"
            sleep_until(due_at)
        begin, used, before = time.monotonic(), processor_seconds(send), new.accepted
        limit = begin + BUSY * RETRIES / RETRY_RATE
        wait_until(lambda: len(ends.taken("fast")) >= RETRIES or time.monotonic() > limit,
                   "the retries are made or late", BUSY * RETRIES / RETRY_RATE + 10)
        seconds = time.monotonic() - begin
        done, others = len(ends.taken("fast")), new.accepted - before
        share = (processor_seconds(send) - used) / seconds
    tell(f"retries that are {why}: {done} of {RETRIES} in {seconds:.1f} s, {done / seconds:.0f} a "
         f"second beside {others / seconds:.0f} new messages a second; send used "
         f"{share:.0%} of a processor")
    assert others / seconds > NEW_RATE * 0.7, "the new mail was held back"
    assert done >= RETRIES, f"{done / seconds:.0f} retries a second, {RETRY_RATE} wanted, and a part of it beside others"


def remaining(mx):
    """Messages at S5."""
    return sum(len(names) for _, _, names in os.walk(os.path.join(mx.queue, "info")))


def rate_of_retries(mx, trigger):
    """A second, of the RETRIES that wait for TRIGGER, which is released."""
    rest = remaining(mx) - RETRIES
    begin = time.monotonic()
    release(mx, trigger)
    wait_until(lambda: remaining(mx) <= rest, f"the retries behind {trigger} are made", 60)
    return RETRIES / (time.monotonic() - begin)


def test_retries_get_the_other_half(node, ground, tell):
    """New mail takes half of what the machine can accept and deliver: it keeps its rate, and
    retries have what it leaves."""
    with Sink(ground.directory("sink"), "-c") as sink:
        mx = node(start=False, routes=[f"late.test:127.0.0.1;{sink.port}"])
        mx.start().stop()  # makes the queue
        for trigger in ("alone", "beside"):
            fill(mx, RETRIES, "late.test", "0", trigger)
            as_shell(f"echo reason: a test > {mx.queue}/trigger/{trigger}")
        mx.start()
        most = new_rate(mx, EVERYTHING)
        alone = rate_of_retries(mx, "alone")
        with steady(mx, most / 2) as new:
            begin, before = time.monotonic(), new.accepted
            beside = rate_of_retries(mx, "beside")
            kept = (new.accepted - before) / (time.monotonic() - begin)
    tell(f"{most:.0f} new messages a second at most, {alone:.0f} retries alone; {beside:.0f} retries "
         f"({beside / alone:.0%}) beside {kept:.0f} new ones ({2 * kept / most:.0%} of half)")
    assert kept > 0.8 * most / 2, "the new mail was held back"
    # what is free depends on who else uses the processors; so much is granted whatever they do
    assert beside > min(alone / 4, RETRY_RATE), "retries did not have what was free"


# --- many hosts, many recipients ---

def test_many_dead_hosts(node, hops, tell):
    """Thirty thousand hosts, none of which is there: what that costs "send", and others."""
    ends = hops(fast="fast", dead="dead")
    port = ends.ports["dead"]
    routes = [f"d{number}.dead.test:127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255};"
              f"{port}" for number in range(DEAD_HOSTS)]
    mx = node_beside(node, ends, *routes, start=False, settings="probe_delay = 1h")
    mx.start(60).stop()
    fill(mx, DEAD_HOSTS, "d#.dead.test", "queued")
    mx.start(60)
    (send,) = mx.pids("send")
    begin = time.monotonic()
    found, used = {}, [processor_seconds(send)]
    with Good(mx, ends).beside(found):
        for part in range(1, DEAD_PARTS + 1):
            wait_until(lambda: len(mx.log.find("trigger_set")) >= DEAD_HOSTS * part // DEAD_PARTS,
                       "all are known to be dead", 300)
            used.append(processor_seconds(send))
    seconds = time.monotonic() - begin
    costs = [after - before for before, after in zip(used, used[1:])]
    tell(f"{DEAD_HOSTS} dead hosts: {used[-1]:.1f} s of processor time of send, in {seconds:.1f} s; "
         f"of each third {', '.join(f'{cost:.2f}' for cost in costs)} s")
    dead = [stamp(event["time"]) for event in mx.log.find("trigger_set")]
    passed = {kind: waiting.passed_by(dead) for kind, waiting in found.items()}
    for kind, waiting in found.items():
        tell(f"beside dead hosts: {kind} mail: {waiting}; the median was passed by "
             f"{passed[kind][len(waiting) // 2]} attempts, the last by {passed[kind][-1]}")
    assert used[-1] < DEAD_PROCESSOR
    assert costs[-1] < 3 * max(costs[0], 0.5), "the more are dead, the more each costs"
    for kind, waiting in found.items():
        assert waiting.missing == 0, f"{kind} mail still waits: {waiting}"
        # on a busy machine all take longer: then it is judged by how many dead hosts were tried
        # before it. Whose turn came after all theirs would see half of them pass.
        assert (waiting.share(0.5) < LIMIT or
                passed[kind][len(waiting) // 2] < DEAD_HOSTS // 4), f"{kind} mail waited: {waiting}"


def test_memory_while_resolve_stands_still(node, tell):
    """1,600 messages of 1,000 recipients wait for a process that does not answer."""
    mx = node(settings="transport maildir { paused = yes }")
    recipients = [f"recipient-{number}@a.test" for number in range(LARGE_RECIPIENTS)]
    (send,), (resolve,) = mx.pids("send"), mx.pids("resolve")
    os.kill(resolve, signal.SIGSTOP)
    try:
        send_all(mx.port, [("s@client.test", recipients)] * LARGE, connections=4)
        count = len(mx.control_files())
        still = memory_mib(send, "VmHWM")
    finally:
        os.kill(resolve, signal.SIGCONT)
    wait_for_rest(send, resolve)
    after = memory_mib(send, "VmHWM")
    tell(f"{count} messages of {LARGE_RECIPIENTS} recipients: memory of send at most "
         f"{still:.1f} MiB while resolve stood still, {after:.1f} MiB when it has answered")
    assert count == LARGE
    assert mx.pids("send") == [send]
    assert still < MEMORY_MIB
    assert after < MEMORY_MIB
