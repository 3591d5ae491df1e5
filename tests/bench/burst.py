# SPDX-License-Identifier: ISC
"""Bursts by several senders to destinations that are slow, mute, dead, greylisting and huge, and
good mail beside them: how long it waits, in Stagepost and in Postfix, with the same mix and the
same next hops. Each domain is a host of its own, an address of 127/8.
"""
import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import postfix  # noqa: E402
from common.burst import Trickle, Waiting, send_all, taken_by_boxes, taken_by_hop  # noqa: E402
from common.hops import Hops, address  # noqa: E402
from disk import Disk  # noqa: E402
from report import judge, verdict  # noqa: E402
from servers import LOCAL, MAILBOXES, Stagepost  # noqa: E402

SIZE_MIB = 2048
# name: (what the hop does, domains, messages of a burst); by turns from the senders
BURSTS = {
    "slow": ("slow 5", 500, 12000),
    "mute": ("mute", 13, 390),
    "dead": ("dead", 100, 1000),
    "grey": ("grey 10", 20, 500),
    "huge": ("slow 0.05", 1, 4000),
}
FAST = 10  # domains
SENDERS = 5
GOOD = ("local", "fast", "others")  # others: of another sender, to the host with most of the mail
INTERVAL = 0.1  # seconds between two good messages of a kind
CALM = 5.0
GOAL_P99 = 1.0  # seconds
GOAL_RATIO = 3.0  # times Postfix's p99
COUNTS = {"fast": FAST, **{kind: of[1] for kind, of in BURSTS.items()}}  # of domains


def note(text):
    print(text, file=sys.stderr, flush=True)


def domain(kind, number):
    return f"d{number}.{kind}.example"


def routes_of(hops):
    """{domain: (address, port)}"""
    return {domain(kind, number): (address(number), hops.ports[kind])
            for kind, count in COUNTS.items() for number in range(count)}


def envelopes(scale):
    """Of all bursts, mixed as they would come from several senders at once."""
    found = []
    for kind, (_, domains, messages) in BURSTS.items():
        count = max(1, int(messages * scale))
        found += [(number / count, (f"sender{number % SENDERS}@{kind}.client.example",
                                    [f"user{number}@{domain(kind, number % domains)}"]))
                  for number in range(count)]
    return [envelope for _, envelope in sorted(found)]


class GoodMail:
    """Trickles of good mail from the constructor until stop()."""

    def __init__(self, system, hops):
        self.system = system
        self.hops = hops
        to = {"local": [f"user{number}@{LOCAL}" for number in range(MAILBOXES)],
              "fast": [f"user@{domain('fast', number)}" for number in range(FAST)],
              "others": [f"other@{domain('huge', 0)}"]}
        self.trickles = {kind: Trickle(system.port, to[kind], INTERVAL, f"{kind}@good.example")
                         for kind in GOOD}

    def stop(self):
        """{kind: Waiting}"""
        for trickle in self.trickles.values():
            trickle.stop()
        time.sleep(2 * GOAL_P99)  # who needs longer has waited
        taken = {"local": taken_by_boxes(self.system.mailboxes),
                 "fast": taken_by_hop(self.hops, "fast"),
                 "others": taken_by_hop(self.hops, "huge")}
        for kind, trickle in self.trickles.items():
            if trickle.refused:
                note(f"{self.system.name}: {len(trickle.refused)} {kind} messages were refused: "
                     f"{trickle.refused[0]}")
        return {kind: Waiting(trickle.accepted, taken[kind])
                for kind, trickle in self.trickles.items()}


def measure(system, hops, options):
    good = GoodMail(system, hops)
    time.sleep(CALM)
    floor = good.stop()
    mail = envelopes(options.scale)
    good = GoodMail(system, hops)
    begin = time.monotonic()
    send_all(system.port, mail, options.connections)
    accepted = time.monotonic() - begin
    time.sleep(max(0, begin + options.seconds - time.monotonic()))
    waiting = good.stop()
    seconds = time.monotonic() - begin
    note(f"{system.name}: {len(mail)} messages accepted in {accepted:.1f} s")
    return {"accepted": len(mail), "accept_rate": len(mail) / accepted,
            "rates": {kind: sum(mark is None for _, mark, _ in hops.taken(kind)) / seconds
                      for kind in ("slow", "grey", "huge")},
            "good": {kind: figures(waiting[kind], floor[kind]) for kind in GOOD}}


def figures(waiting, floor):
    p50, p99 = waiting.share(0.5), waiting.share(0.99)
    least = max(floor.share(0.5), 0.001)
    return {"count": len(waiting), "p50": p50, "p99": p99, "missing": waiting.missing,
            "floor_p50": floor.share(0.5), "floor_p99": floor.share(0.99),
            "share_of_floor": least / max(p50, least)}


def start(name, options, disk, hops):
    routes = routes_of(hops)
    folder = disk.directory(name)
    if name == "stagepost":
        return Stagepost(folder, options.build, hops.ports["fast"], routes=[
            f"{to}:{host};{port}" for to, (host, port) in routes.items()])
    return postfix.Postfix(folder, hops.ports["fast"], name, routes)


def measure_all(options, disk):
    names = ["stagepost"]
    if not options.alone and os.geteuid() == 0:
        names += ["postfix", "postfix-tuned"]
    report = {"filesystem": disk.description, "seconds": options.seconds, "scale": options.scale,
              "systems": {}}
    for name in names:
        disk.clear()
        hops = Hops(disk.base, {"fast": "fast", **{kind: of[0] for kind, of in BURSTS.items()}},
                    COUNTS)
        try:
            system = start(name, options, disk, hops)
            try:
                report["systems"][name] = measure(system, hops, options)
            finally:
                system.stop()
        finally:
            hops.close()
    report["goals"] = goals(report["systems"])
    return report


def goals(systems):
    found = []
    for kind in GOOD:
        ours = systems["stagepost"]["good"][kind]
        found.append(judge(f"{kind} mail, p99", ours["p99"], GOAL_P99, "s", at_most=True))
        found += [judge(f"{kind} mail, p99 of {name} / p99",
                        of["good"][kind]["p99"] / max(ours["p99"], 0.001), GOAL_RATIO)
                  for name, of in systems.items()
                  if name != "stagepost" and of["good"][kind]["p99"] > GOAL_P99]
    return found


def print_report(report):
    mix = ", ".join(f"{messages} to {domains} {kind} ({what})"
                    for kind, (what, domains, messages) in BURSTS.items())
    print(f"Bursts on {report['filesystem']}, times {report['scale']:g}: {mix}; good mail for "
          f"{report['seconds']:.0f} s from their beginning")
    print(f"{'':14} {'good mail':8} {'p50':>9} {'p99':>9} {'alone p50':>10} {'alone p99':>10} "
          f"{'of floor':>9} {'waits yet':>10}")
    for name, of in report["systems"].items():
        for kind, one in of["good"].items():
            print(f"{name:14} {kind:8} {one['p50']:7.3f} s {one['p99']:7.3f} s "
                  f"{one['floor_p50']:8.3f} s {one['floor_p99']:8.3f} s "
                  f"{one['share_of_floor']:8.0%} {one['missing']:4} of {one['count']}")
    for name, of in report["systems"].items():
        rates = ", ".join(f"{kind} {rate:.0f}" for kind, rate in of["rates"].items())
        print(f"{name:14} accepted {of['accept_rate']:.0f} a second, delivered a second: {rates}")
    for one in report["goals"]:
        print(f"  {one['what']}: {one['figure']:.2f} {one['unit']} ({one['sense']} "
              f"{one['goal']:g}: {verdict(one)})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="where the programs are")
    parser.add_argument("--seconds", type=float, default=90,
                        help="from the beginning of the bursts, or until all are accepted")
    parser.add_argument("--scale", type=float, default=1, help="of the bursts")
    parser.add_argument("--connections", type=int, default=16, help="that bring them")
    parser.add_argument("--alone", action="store_true", help="without Postfix")
    parser.add_argument("--plain", action="store_true", help="no image, a plain directory")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    disk = Disk(options.plain, SIZE_MIB)
    try:
        report = measure_all(options, disk)
    finally:
        disk.remove()
    if options.json:
        json.dump(report, sys.stdout, indent=1)
        print()
    else:
        print_report(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
