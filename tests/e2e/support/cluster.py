# SPDX-License-Identifier: ISC
"""Several nodes of one mail system on loopback: where each stage is, which node is in which group, and a
directory on one of them that all ask."""

import json
import os
import subprocess

from directory_tls import make_certificates, settings_of
from stagepost import PATIENCE, as_user, free_port, wait_until

CONFIGURATION = """
node {{ name = "{name}" listen = {{ "127.0.0.1:{port}" }} {keys} doubt = {doubt} }}
{stages}directory {{ {directory} }}
"""


class Cluster:
    """GROUPS: for each node's name the groups that it is in, "core out box". STAGES: where each stage is,
    as settings of every node. The first node has the directory."""

    def __init__(self, node, ground, groups, stages=None, doubt="10m", addresses=(), settings=""):
        self.make = node
        self.groups = {name: words.split() for name, words in groups.items()}
        self.stages = {"arrive": "core", "remote": "out", "maildir": "box"} if stages is None else stages
        self.doubt = doubt
        self.settings = settings
        self.names = list(groups)
        self.keys = make_certificates(ground.directory("certificates"),
                                      *(f"loopback-{name}.test" for name in self.names))
        self.ports = {name: free_port() for name in self.names}
        self.directory_port = free_port()
        self.nodes = {name: self.node(name) for name in self.names}
        self.first = self.nodes[self.names[0]]
        self.first.start()
        for name, words in self.groups.items():
            self.put(name, words)
        for address in addresses:
            self.run("directory", "put", *address)
        for name in self.names[1:]:
            self.nodes[name].start()

    def node(self, name):
        made = self.make(name, start=False, hostname=f"{name}.test")
        keys = settings_of(self.keys, f"loopback-{name}.test")
        if name == self.names[0]:
            others = ", ".join(f'"{other}.test"' for other in self.names)
            directory = (f'path = "{made.directory}/db" listen = {{ "127.0.0.1:{self.directory_port}" }} '
                         f'{keys} changers = {{ {others} }}')
        else:
            directory = f'backend = servers servers = {{ "127.0.0.1:{self.directory_port}" }} {keys}'
        stages = "".join(f'stage {stage} {{ nodes = {group} }}\n' for stage, group in self.stages.items()
                         if stage in ("arrive", "submit"))
        if "remote" in self.stages:
            stages += f'transport remote {{ nodes = {self.stages["remote"]} }}\n'
        made.settings = CONFIGURATION.format(name=f"{name}.test", port=self.ports[name], keys=keys,
                                             doubt=self.doubt, stages=stages, directory=directory) \
            + self.settings
        made.write_configuration()
        if "maildir" in self.stages:
            with open(made.conf, encoding="utf-8") as conf:
                text = conf.read()
            with open(made.conf, "w", encoding="utf-8") as conf:
                conf.write(text.replace("service maildir {",
                                        f'service maildir {{ nodes = {self.stages["maildir"]} '))
        return made

    def __getitem__(self, name):
        return self.nodes[name]

    def run(self, *words, at=None):
        made = self.nodes[at] if at else self.first
        ended = subprocess.run([*as_user(), os.path.join(made.programs, "stagepost"), *words, "-c", made.conf],
                               check=False, capture_output=True, text=True, timeout=PATIENCE)
        assert ended.returncode == 0, (words, ended.stdout, ended.stderr)
        return ended.stdout

    def put(self, name, groups=None, **fields):
        groups = self.groups[name] if groups is None else groups
        fields.setdefault("address", f"127.0.0.1:{self.ports[name]}")
        self.run("node", "put", f"{name}.test", *(f"group={group}" for group in groups),
                 *(f"{field}={value}" for field, value in fields.items()))

    def queue(self, name):
        """What "queue list" of a node tells."""
        return [json.loads(line) for line in self.run("queue", "list", "--json", at=name).splitlines()]

    def handed(self, name):
        """What is not settled at a node: {sender: names}."""
        found = {}
        folder = os.path.join(self.nodes[name].queue, "handed")
        for sender in os.listdir(folder):
            found[sender] = sorted(name for name in os.listdir(os.path.join(folder, sender))
                                   if not name.startswith("run."))
        return {sender: names for sender, names in found.items() if names}

    def wait_settled(self, *names):
        for name in names or self.names:
            wait_until(lambda name=name: not self.handed(name), f"nothing is unsettled at {name}")

    def wait_ready(self, sender, receiver):
        """Until RECEIVER has said to SENDER what it has."""
        self.nodes[sender].log.wait("node_ready", node=f"{receiver}.test")
