# SPDX-License-Identifier: ISC
"""An instance of Stagepost: its configuration, its processes, its log."""
import ctypes
import signal
import subprocess
import threading

from running.failed import Failed
from running.story import PATIENCE, parse_event

CONFIGURATION = """\
# written by tools/run
hostname = "{hostname}"
queue = "{base}/queue"
run = "{run}"
user = "{user}"
queue_unsafe = {unsafe}
relay_from = {{ "127.0.0.0/8" }}

{settings}"""


def die_with_parent():
    """Stops a server whose tools/run was killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Instance:
    """Its files are in a folder called NAME; in the DNS it would be HOSTNAME."""

    def __init__(self, name, hostname, place, story):
        self.name = name
        self.hostname = hostname
        self.place = place
        self.story = story
        self.base = place.var / name
        self.base.mkdir(exist_ok=True)
        self.run = place.run_directory(self.base)
        self.settings = ""
        self.unsafe = "no"
        self.process = None
        self.refusal = None

    def configure(self, settings):
        self.settings = settings
        self.write_configuration()

    def write_configuration(self):
        self.config.write_text(CONFIGURATION.format(
            hostname=self.hostname, base=self.base, run=self.run, user=self.place.account.name,
            unsafe=self.unsafe, settings=self.settings))
        self.place.account.own(self.base)

    @property
    def config(self):
        return self.base / "stagepost.conf"

    @property
    def log(self):
        return self.base / "log"

    def start(self):
        self.refusal = None
        self.process = subprocess.Popen(
            [self.place.build / "stagepost", "serve", "-c", self.config], cwd="/",
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
            start_new_session=True, preexec_fn=die_with_parent,
            **self.place.account.popen_options())
        self.reader = threading.Thread(target=self.read, args=[self.process], daemon=True)
        self.reader.start()

    def read(self, process):
        with open(self.log, "a", encoding="utf-8") as log:
            for line in process.stderr:
                log.write(line)
                log.flush()
                event = parse_event(line)
                if event.get("event") == "process_error" and "queue" in event:
                    self.refusal = self.refusal or event.get("reason")
                self.story.add(self.name, event | {"from_pid": process.pid})

    def command(self, command, verb, *arguments, words=""):
        """What it prints."""
        done = subprocess.run(
            [self.place.build / "stagepost", command, verb, "-c", self.config, *arguments], cwd="/",
            input=words, stdout=subprocess.PIPE, text=True, check=False, timeout=PATIENCE,
            **self.place.account.popen_options())
        if done.returncode != 0:
            raise Failed(f"stagepost {command} {verb}: exit status {done.returncode}")
        return done.stdout

    def has_ended(self):
        return self.process.poll() is not None

    def check(self):
        if self.has_ended():
            raise Failed(f"the instance {self.name} ended; its log is {self.log}")

    def wait_ready(self):
        pid = self.process.pid
        self.story.wait(
            lambda name, event: event["from_pid"] == pid and (
                event.get("event") == "serve_ready" or self.refusal is not None),
            f"starting {self.name} (its log is {self.log})", self.check)
        if self.refusal is None:
            return
        print(f"{self.base}/queue: {self.refusal}.\n"
              "    For this show queue_unsafe = yes is set: a power failure may lose mail.")
        self.stop()
        self.unsafe = "yes"
        self.write_configuration()
        self.start()
        self.wait_ready()

    def find_mail(self, recipient, subject):
        """The file in the recipient's Maildir."""
        local, domain = recipient.split("@")
        for path in (self.base / "mail" / domain / local / "new").glob("*"):
            if f"Subject: {subject}" in path.read_text(errors="replace").splitlines():
                return path
        raise Failed(f"the message to {recipient} is in no mailbox")

    def stop(self):
        """Asks it to finish; its exit status."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait()
        self.reader.join()
        self.process = None
        return status
