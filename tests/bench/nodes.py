# SPDX-License-Identifier: ISC
"""Mail over two machines, all on this one: two nodes that hand it over, the same two by SMTP, and
two Postfix; what a message costs with one, two and four nodes that send; and how fast a node is
drained. Rates are those of all processes together on the same processors.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measure  # noqa: E402
import postfix  # noqa: E402
from cases import Case, finish_sources, run_once, start_source  # noqa: E402
from common.net import free_port, wait_until  # noqa: E402
from disk import Disk  # noqa: E402
from report import judge, verdict  # noqa: E402
from servers import REMOTE, Sink, Stagepost  # noqa: E402
from waiting import run_tool  # noqa: E402

SIZE_MIB = 3072
COUNTED_MESSAGES = 500
LATENCY_MESSAGES = 200
LATER = "20000"  # seconds: what waits is not due before it is drained
GOAL_RATE = 4  # times Postfix's over two of its own
GOAL_PROCESSOR = 1.0  # of a relay by SMTP between the same two
GOAL_CONSTANT = 0.05  # how much a message may cost more or less with more nodes
PERIOD_US = 100000
GOAL_LINEAR = 0.95
GOAL_DRAIN = 0.8  # of the rate of relaying
SYNCS = ("fsync", "fdatasync", "syncfs")
CASES = (Case("relay", 50, 10240), Case("relay", 50, 1024))


def note(text):
    print(text, file=sys.stderr, flush=True)


class Chain:
    """Several servers that a message goes through, as one."""

    def __init__(self, name, servers):
        self.name = name
        self.servers = servers
        self.port = servers[0].port
        self.pids = [pid for server in servers for pid in server.pids]

    def stop(self):
        for server in self.servers:
            server.stop()


class Nodes:
    """"edge" takes mail in and hands it over to NAMES, which send it to the sink; any of them may
    be started later. The table of nodes is at "edge"."""

    def __init__(self, directory, build, sink_port, names):
        self.directory, self.build, self.sink_port = directory, build, sink_port
        self.names = ("edge", *names)
        self.ports = {name: free_port() for name in self.names}
        self.directory_port = free_port()
        self.keys = os.path.join(directory, "certificates")
        os.makedirs(self.keys)
        make = pathlib.Path(__file__).parent.parent / "common" / "make-certificates"
        subprocess.run([make, self.keys, *(f"loopback-{name}.test" for name in self.names)],
                       check=True, timeout=120)
        self.running = {}

    def _settings(self, name):
        keys = (f'certificate = "{self.keys}/loopback-{name}.test.pem" '
                f'key = "{self.keys}/loopback-{name}.test.key" '
                f'authority = "{self.keys}/authority.pem"')
        server = f"127.0.0.1:{self.directory_port}"
        changers = ", ".join(f'"{other}.test"' for other in self.names)
        of_directory = f'path = "{self.folder(name)}/directory.db" listen = {{ "{server}" }} ' \
                       f'changers = {{ {changers} }}' \
            if name == "edge" else f'backend = servers servers = {{ "{server}" }}'
        return f"""queue_sync = auto
node {{ name = "{name}.test" listen = {{ "127.0.0.1:{self.ports[name]}" }} {keys} }}
transport remote {{ nodes = out }}
directory {{ {of_directory} {keys} }}
"""

    def folder(self, name):
        return os.path.join(self.directory, name)

    def start(self, name):
        os.makedirs(self.folder(name), exist_ok=True)
        self.running[name] = Stagepost(self.folder(name), self.build, self.sink_port, name,
                                       self._settings(name))
        if name == "edge":
            for other in self.names:
                self.command("put", f"{other}.test", f"address=127.0.0.1:{self.ports[other]}",
                             *(("group=out",) if other != "edge" else ()))
        return self.running[name]

    def command(self, *words):
        subprocess.run([os.path.join(self.build, "stagepost"), "node", *words, "-c",
                        os.path.join(self.folder("edge"), "stagepost.conf")], check=True,
                       stdout=subprocess.DEVNULL, timeout=60)

    def wait_ready(self, sender, *receivers):
        log = pathlib.Path(self.running[sender].log)
        for receiver in receivers:
            wait_until(lambda name=receiver: f"event=node_ready node={name}.test"
                       in log.read_text("utf-8"), f"{sender} hands over to {receiver}", 30)

    def stop(self):
        for node in reversed(self.running.values()):
            node.stop()


def start_nodes(directory, options, sink, count=1):
    names = [f"out{number}" for number in range(count)]
    nodes = Nodes(directory, options.build, sink.port, names)
    try:
        for name in nodes.names:
            nodes.start(name)
        nodes.wait_ready("edge", *names)
    except BaseException:
        nodes.stop()
        raise
    return Chain("nodes", list(nodes.running.values()))


def start_by_smtp(directory, options, sink):
    last = Stagepost(os.path.join(directory), options.build, sink.port, "smtp")
    first = os.path.join(directory, "first")
    os.makedirs(first)
    return Chain("smtp", [Stagepost(first, options.build, last.port, "smtp"), last])


def start_postfix(directory, _, sink, name="postfix"):
    folders = [os.path.join(directory, end) for end in ("last", "first")]
    for folder in folders:
        os.makedirs(folder)
    last = postfix.Postfix(folders[0], sink.port, name)
    return Chain(name, [postfix.Postfix(folders[1], last.port, name), last])


def latency(chain, sink):
    """Seconds of one message at a time, from the first word to the sink's having it: median."""
    times = []
    for _ in range(LATENCY_MESSAGES):
        before = sink.count
        begin = time.monotonic()
        finish_sources([start_source(chain.port, 1, CASES[1], "user@" + REMOTE)])
        while sink.count == before:
            time.sleep(0.0002)
        times.append(time.monotonic() - begin)
    return statistics.median(times)


def measure_chains(options, disk, report):
    makers = {"nodes": start_nodes, "smtp": start_by_smtp}
    if not options.alone and os.geteuid() == 0:
        makers["postfix"] = start_postfix
        makers["postfix-tuned"] = lambda folder, of, sink: start_postfix(folder, of, sink,
                                                                         "postfix-tuned")
    sink = Sink()
    chains = []
    try:
        for name, make in makers.items():
            chains.append(make(disk.directory(name), options, sink))
        runs = {case.name: {chain.name: [] for chain in chains} for case in CASES}
        for chain in chains:
            run_once(chain, sink, CASES[0], 300)
        for number in range(options.rounds):
            for case in CASES:
                for chain in chains[::-1] if number % 2 else chains:
                    result = run_once(chain, sink, case, options.messages)
                    runs[case.name][chain.name].append(result)
                    note(f"round {number + 1}: {case.name}: {chain.name} {result['rate']:.0f}/s, "
                         f"{result['processor_10000']:.2f} s of a processor for 10,000")
        report["latency"] = {chain.name: latency(chain, sink) for chain in chains}
    finally:
        for chain in chains:
            chain.stop()
        sink.stop()
    report["chains"] = {case: {name: {key: statistics.median(run[key] for run in of)
                                      for key in ("rate", "processor_10000")}
                               for name, of in systems.items()} for case, systems in runs.items()}


def segments_sent():
    """By TCP, of this machine; it has no other traffic."""
    lines = [line.split() for line in pathlib.Path("/proc/net/snmp").read_text("ascii").splitlines()
             if line.startswith("Tcp:")]
    return int(lines[1][lines[0].index("OutSegs")])


class Share:
    """A fixed share of a processor for the processes of SERVER, so that more nodes are more machines.
    By the controller "cpu" of the second version of control groups, or of the first."""

    def __init__(self, server, share):
        base = "/sys/fs/cgroup"
        is_second = os.path.exists(f"{base}/cgroup.controllers") and \
            "cpu" in pathlib.Path(base, "cgroup.subtree_control").read_text("ascii").split()
        self.folder = pathlib.Path(base if is_second else f"{base}/cpu",
                                   f"stagepost-bench-{server.pid}")
        self.folder.mkdir()
        quota, period = int(share * PERIOD_US), PERIOD_US
        if is_second:
            (self.folder / "cpu.max").write_text(f"{quota} {period}", "ascii")
        else:
            (self.folder / "cpu.cfs_period_us").write_text(str(period), "ascii")
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota), "ascii")
        for pid in measure.tree(server.pid):
            (self.folder / "cgroup.procs").write_text(str(pid), "ascii")

    def remove(self):
        """When its processes have ended."""
        wait_until(lambda: not (self.folder / "cgroup.procs").read_text("ascii"), "all have ended", 30)
        self.folder.rmdir()


def count_syncs(chain, sink, directory, count):
    tracers = [measure.SystemCalls(server.pid, directory) for server in chain.servers]
    for tracer in tracers:
        tracer.__enter__()
    try:
        run_once(chain, sink, case_for(count), COUNTED_MESSAGES * count)
    finally:
        for tracer in tracers:
            tracer.__exit__()
    return sum(calls for tracer in tracers for of in tracer.counts.values()
               for call, calls in of.items() if call in SYNCS) / (COUNTED_MESSAGES * count)


def case_for(count):
    """As many more sessions as nodes."""
    return Case("relay", 25 * count, 10240)


def measure_with(count, options, disk, sink):
    chain = start_nodes(disk.directory(f"more{count}"), options, sink, count)
    shares = []
    try:
        shares += [Share(server, options.share) for server in chain.servers[1:]]
        run_once(chain, sink, case_for(count), 100 * count)
        runs, segments = [], []
        messages = options.messages * count // 4
        for _ in range(options.rounds):
            before = segments_sent()
            runs.append(run_once(chain, sink, case_for(count), messages))
            segments.append((segments_sent() - before) / messages)
        return {"rate": statistics.median(run["rate"] for run in runs),
                "processor_10000": statistics.median(run["processor_10000"] for run in runs),
                "segments": statistics.median(segments),
                "syncs": count_syncs(chain, sink, disk.base, count)}
    finally:
        chain.stop()
        for share in shares:
            share.remove()


def measure_more(options, disk, report):
    """The same mail with more nodes that send it, each with the same share of a processor."""
    found = report["more"] = {}
    for count in (1, 2, 4):
        disk.clear()
        sink = Sink()
        try:
            found[str(count)] = measure_with(count, options, disk, sink)
            note(f"{count} nodes: {found[str(count)]}")
        finally:
            sink.stop()


def messages_in(queue):
    return sum(len(names) for _, _, names in os.walk(os.path.join(queue, "mess")))


def measure_drain(options, disk, report):
    """One of two nodes that send has mail that waits; then its record says that it is drained."""
    disk.clear()
    sink = Sink()
    nodes = Nodes(disk.directory("drain"), options.build, sink.port, ("out0", "out1"))
    try:
        for name in nodes.names:
            nodes.start(name)
        nodes.running.pop("out0").stop()
        run_tool(options.build, os.path.join(nodes.folder("out0"), "queue"), options.waiting,
                 REMOTE, LATER)
        node = nodes.start("out0")
        nodes.wait_ready("out0", "out1")
        time.sleep(5)  # it has read its queue
        relay = run_once(Chain("one", [nodes.running["out1"]]), sink, CASES[1], options.messages)
        before = measure.processor_seconds(node.pid) + \
            measure.processor_seconds(nodes.running["out1"].pid)
        begin = time.monotonic()
        nodes.command("drain", "out0.test")
        while (left := messages_in(node.queue)) > 0:
            note(f"{left} messages are left after {time.monotonic() - begin:.1f} s")
            time.sleep(1)
        seconds = time.monotonic() - begin
        used = measure.processor_seconds(node.pid) + \
            measure.processor_seconds(nodes.running["out1"].pid) - before
        arrived = messages_in(nodes.running["out1"].queue)
    finally:
        nodes.stop()
        sink.stop()
    report["drain"] = {"messages": options.waiting, "arrived": arrived, "seconds": seconds,
                       "rate": options.waiting / seconds, "relay_rate": relay["rate"],
                       "processor_10000": used * 10000 / options.waiting}


def goals(report):
    found = []
    for case, of in report.get("chains", {}).items():
        if "postfix" in of:
            found.append(judge(f"{case}: rate over two nodes / two Postfix",
                               of["nodes"]["rate"] / of["postfix"]["rate"], GOAL_RATE))
        found.append(judge(f"{case}: processor time / by SMTP", of["nodes"]["processor_10000"]
                           / of["smtp"]["processor_10000"], GOAL_PROCESSOR, at_most=True))
    more = report.get("more", {})
    for key in ("processor_10000", "segments", "syncs") if more else ():
        figures = [of[key] for of in more.values()]
        found.append(judge(f"{key} with more nodes / with one", max(figures) / figures[0],
                           1 + GOAL_CONSTANT, at_most=True))
    for count in ("2", "4") if more else ():
        found.append(judge(f"rate of {count} nodes / {count} times that of one",
                           more[count]["rate"] / more["1"]["rate"] / int(count), GOAL_LINEAR))
    if "drain" in report:
        of = report["drain"]
        found.append(judge("draining / relaying", of["rate"] / of["relay_rate"], GOAL_DRAIN))
        found.append(judge("drained messages that have arrived", of["arrived"] / of["messages"], 1))
    return found


def print_report(report):
    print(f"Nodes on {report['filesystem']}, {report['messages']} messages a run, medians of "
          f"{report['rounds']}")
    for case, of in report.get("chains", {}).items():
        for name, one in of.items():
            print(f"  {case}: {name:14} {one['rate']:8.0f} /s {one['processor_10000']:7.2f} s of a "
                  "processor for 10,000")
    for name, seconds in report.get("latency", {}).items():
        print(f"  one message alone: {name:14} {seconds * 1000:7.1f} ms")
    for count, of in report.get("more", {}).items():
        print(f"  {count} nodes that send: {of['rate']:.0f} /s, {of['processor_10000']:.2f} s for 10,000, "
              f"{of['segments']:.1f} segments and {of['syncs']:.3f} syncs a message")
    if "drain" in report:
        of = report["drain"]
        print(f"  drained: {of['messages']} messages in {of['seconds']:.1f} s, {of['rate']:.0f} /s "
              f"({of['processor_10000']:.2f} s for 10,000); relayed: {of['relay_rate']:.0f} /s")
    for one in report["goals"]:
        print(f"  {one['what']}: {one['figure']:.2f} {one['unit']}({one['sense']} "
              f"{one['goal']:g}: {verdict(one)})")


PARTS = {"chains": measure_chains, "more": measure_more, "drain": measure_drain}


def stop_on_signal(number, _):
    raise SystemExit(128 + number)


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop_on_signal)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="where the programs are")
    parser.add_argument("--messages", type=int, default=5000, help="of a run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--waiting", type=int, default=100000, help="messages that are drained")
    parser.add_argument("--share", type=float, default=0.1,
                        help="of a processor, for each of the nodes in the part \"more\"")
    parser.add_argument("--part", action="append", choices=PARTS, default=[],
                        help="only this one; may be repeated")
    parser.add_argument("--alone", action="store_true", help="without Postfix")
    parser.add_argument("--plain", action="store_true", help="no image, a plain directory")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    disk = Disk(options.plain, SIZE_MIB)
    report = {"filesystem": disk.description, "messages": options.messages,
              "rounds": options.rounds}
    try:
        for part in options.part or PARTS:
            PARTS[part](options, disk, report)
    finally:
        disk.remove()
    report["goals"] = goals(report)
    if options.json:
        json.dump(report, sys.stdout, indent=1)
        print()
    else:
        print_report(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
