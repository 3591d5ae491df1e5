# SPDX-License-Identifier: ISC
"""The user who submits mail, as both systems know him."""
import os
import pathlib
import shutil
import subprocess

from common.net import end, wait_until

DOMAIN = "client.example"
USER = f"sender@{DOMAIN}"  # who is also the sender
PASSWORD = "correct horse battery staple"

DOVECOT = """protocols =
base_dir = {directory}/run
state_dir = {directory}/state
log_path = {directory}/log
ssl = no
auth_mechanisms = scram-sha-256 plain
passdb {{
  driver = passwd-file
  args = scheme=PLAIN {directory}/users
}}
userdb {{
  driver = static
  args = uid=nobody gid=nogroup home=/nonexistent
}}
service anvil {{
  chroot =
}}
service auth {{
  unix_listener {directory}/sasl {{
    mode = 0666
  }}
}}
"""


def add_to_stagepost(build, configuration):
    def directory(*words, given=""):
        subprocess.run([os.path.join(build, "stagepost"), "directory", words[0], "-c",
                        configuration, *words[1:]], input=given, text=True, check=True,
                       timeout=60, stdout=subprocess.DEVNULL)

    directory("put", "--table", "domain", DOMAIN, "kind=local", "service=maildir")
    directory("passwd", "--create", "--method", "scram-sha-256,yescrypt", USER,
              given=PASSWORD + "\n")
    directory("put", "--table", "address", USER, "kind=mailbox")


class Dovecot:
    """Its authentication alone, for Postfix, at the socket PATH."""

    def __init__(self, directory):
        os.mkdir(directory)
        self.path = os.path.join(directory, "sasl")
        pathlib.Path(directory, "users").write_text(f"{USER}:{PASSWORD}\n", encoding="ascii")
        configuration = pathlib.Path(directory, "dovecot.conf")
        configuration.write_text(DOVECOT.format(directory=directory), encoding="ascii")
        self.process = subprocess.Popen(
            [shutil.which("dovecot", path="/usr/sbin:/usr/bin"), "-F", "-c", configuration],
            stdin=subprocess.DEVNULL, start_new_session=True)
        self.pid = self.process.pid
        wait_until(self._is_ready, "dovecot listens", 30)

    def _is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError("dovecot has ended")
        return os.path.exists(self.path)

    def stop(self):
        end(self.process, 30)
