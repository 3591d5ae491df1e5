# SPDX-License-Identifier: ISC
"""Three nodes of one mail system, and another mail system that it relays to.

"arrive" takes mail in, "out" maps and relays it, "box" has the mailboxes. Mail goes from node to node as the
groups in the directory's table "node" say; "out" has the directory, and the others ask it by mutual TLS.
"""
import time

from running.instance import Instance
from running.place import free_ports
from running.settings import certificate_of, listener, mailboxes, routes, tls_demanded
from running.show import Show

DOMAIN = "nodes.example"
OTHER_DOMAIN = "other.example"
GROUPS = {"arrive": (), "out": ("core", "out"), "box": ("box",)}
ABSENCE = 20  # seconds until a node that was killed is started again

# on all three; only the listener and the directory are not the same everywhere
NODE_SETTINGS = """\
{smtp}node {{ listen = {{ "127.0.0.1:{port}" }}  {tls} }}
stage arrive {{ nodes = core }}
transport remote {{ nodes = out }}
{mailboxes}
directory {{ {directory} }}

{certificate}{demanded}{routes}"""


class Nodes(Show):
    SENDER = f"lisa@{DOMAIN}"

    def set_up(self):
        self.nodes = {name: Instance(name, f"{name}.{DOMAIN}", self.place, self.story) for name in GROUPS}
        self.entry, self.out, self.box = self.nodes.values()
        self.other = Instance("other", f"mx.{OTHER_DOMAIN}", self.place, self.story)
        self.instances = [*self.nodes.values(), self.other]
        self.story.handing = {(self.entry.name, "arrive"), (self.out.name, "maildir")}
        self.absent = {}  # {node that has ended: when it is started again}
        self.place.make_certificates([instance.hostname for instance in self.instances])
        self.entry.smtp, self.other.smtp, self.directory_port, *ports = free_ports(20025, 6)
        for node, node.port in zip(self.nodes.values(), ports):
            self.configure(node)
        self.other.configure(
            listener("smtp", self.other.smtp) + certificate_of(self.other.hostname, self.place)
            + mailboxes(OTHER_DOMAIN, self.other.base) + routes({}))

    def configure(self, node):
        chain, key = self.place.certificate(node.hostname)
        tls = f'certificate = "{chain}"  key = "{key}"  authority = "{self.place.authority}"'
        node.configure(NODE_SETTINGS.format(
            port=node.port, tls=tls, directory=self.directory_of(node, tls),
            smtp=listener("smtp", node.smtp) if node is self.entry else "",
            mailboxes=mailboxes(DOMAIN, self.box.base, "  nodes = box"),
            certificate=certificate_of(node.hostname, self.place),
            demanded=tls_demanded(OTHER_DOMAIN, self.other.hostname, self.place),
            routes=routes({OTHER_DOMAIN: self.other.smtp})))

    def directory_of(self, node, tls):
        if node is not self.out:
            return f'backend = servers  servers = {{ "127.0.0.1:{self.directory_port}" }}  {tls}'
        changers = ", ".join(f'"{other.hostname}"' for other in self.nodes.values())
        return (f'path = "{node.base}/directory.db"  listen = {{ "127.0.0.1:{self.directory_port}" }}  '
                f'{tls}  changers = {{ {changers} }}')

    def start(self):
        """The directory's node first: its records say where the others are."""
        self.out.start()
        self.other.start()
        self.out.wait_ready()
        for name, node in self.nodes.items():
            self.out.command("node", "put", node.hostname, f"address=127.0.0.1:{node.port}", "state=active",
                             *(f"group={group}" for group in GROUPS[name] or ("",)))
        self.entry.start()
        self.box.start()
        for instance in (self.other, self.entry, self.box):
            instance.wait_ready()
        self.wait_connected(self.entry, self.out)
        self.wait_connected(self.out, self.box)
        print(f"Serving, as nodes of the mail system {DOMAIN}:")
        for name, does in (("arrive", f"takes mail in: SMTP 127.0.0.1:{self.entry.smtp}"),
                           ("out", "maps mail, and relays it; has the directory"),
                           ("box", "has the mailboxes")):
            print(f"  {name:6}  {does}; files in {self.nodes[name].base}")
        print(f"Another mail system, {OTHER_DOMAIN}: SMTP 127.0.0.1:{self.other.smtp}, files in {self.other.base}")

    def wait_connected(self, giver, taker):
        self.story.wait(lambda name, event: name == giver.name and event.get("event") == "node_ready"
                        and event.get("node") == taker.hostname, f"the connection from {giver.name} to {taker.name}",
                        self.check)

    def show_messages(self):
        ann, bob = f"ann@{DOMAIN}", f"bob@{OTHER_DOMAIN}"
        self.show_message("A message to a mailbox of the nodes", ann,
                          lambda message: self.follow_stored(message, ann))
        self.show_message("A message that is relayed", bob, lambda message: self.follow_relayed(message, bob))

    def follow_stored(self, message, recipient):
        way = self.follow_handed(message, self.entry, self.out, self.box)
        self.wait_delivered(self.box, way[-1][1], recipient)
        self.wait_released(way)
        return way

    def follow_relayed(self, message, recipient):
        way = self.follow_handed(message, self.entry, self.out)
        relayed = self.wait_relayed(self.out, way[-1][1], recipient, self.other)
        self.wait_released(way)
        return way + [(self.other, relayed)]

    def follow_handed(self, message, giver, *takers):
        """Until each of TAKERS has it: [(node, id there)] of GIVER and them."""
        way = [(giver, message)]
        for taker in takers:
            message = self.wait_taken(giver, message, taker)
            way.append((taker, message))
            giver = taker
        return way

    def wait_taken(self, giver, message, taker):
        """Its id at the taker. A package has the giver's id, and the number of its first delivery if it is a part."""
        return self.story.wait(
            lambda name, event: name == taker.name and event.get("event") == "node_took"
            and event["node"] == giver.hostname and event["package"].partition(".")[0] == message,
            f"node {taker.name} taking {message} of {giver.name}", self.check)["id"]

    def wait_released(self, way):
        for node, message in way:
            self.wait_event(node, message, ("message_done",), f"the end of {message} at {node.name}")

    def show_examples(self):
        stagepost = f"{self.place.build}/stagepost"
        at_out = f"-c {self.out.config}"
        print(f"\nTry:\n  swaks --server 127.0.0.1:{self.entry.smtp} --from {self.SENDER} --to ann@{DOMAIN}")
        print(f"  {stagepost} node list {at_out}")
        print("All nodes in one picture, as any of them has it:")
        print(f"  {stagepost} nodes {at_out}")
        print("A node that is drained gets nothing new; its mail waits at out until it is active again:")
        print(f"  {stagepost} node drain {at_out} {self.box.hostname}")
        print(f"  {stagepost} queue list {at_out}")
        print(f"  {stagepost} node activate {at_out} {self.box.hostname}")
        print(f"A node that is killed is started again after {ABSENCE} seconds. Send a message meanwhile: it waits at out\n"
              "for a node of group box, as the list shows, and goes on soon after one is back:")
        print(f"  kill -9 {self.box.process.pid}")
        print(f"  {stagepost} queue list {at_out}")
        print(f"The logs: {' '.join(str(instance.log) for instance in self.instances)}", flush=True)

    def look_after(self):
        """Starts a node again that was killed."""
        self.other.check()
        for node in self.nodes.values():
            if node not in self.absent and node.has_ended():
                status = node.stop()
                print(f"  {node.name} has ended: status {status}; it is started again in {ABSENCE} seconds.", flush=True)
                self.absent[node] = time.monotonic() + ABSENCE
            elif self.absent.get(node, time.monotonic() + 1) <= time.monotonic():
                del self.absent[node]
                node.start()
                print(f"  {node.name} is started again: process {node.process.pid}.", flush=True)
