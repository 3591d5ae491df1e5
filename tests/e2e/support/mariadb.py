# SPDX-License-Identifier: ISC
"""MariaDB servers for tests, each in a directory and with a socket of its own."""

import os
import shutil
import signal
import subprocess

import templates
from stagepost import PATIENCE, is_root, wait_until

OWNER = "mysql"  # it does not run as root
SETTINGS = """[mariadbd]
datadir = {data}
socket = {socket}
pid-file = {directory}/pid
skip-networking
innodb_buffer_pool_size = 64M
innodb_log_file_size = 16M
innodb_temp_data_file_path = ibtmp1:4M:autoextend
"""


def as_owner():
    if not is_root():
        return []
    return ["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups", "--"]


class Server:
    """In DIRECTORY, whose owner it becomes; root has no password there. NAMESPACE: of the network,
    if it is not to be this one; SETTINGS may then let it listen."""

    def __init__(self, directory, settings="", namespace=None):
        self.inside = ["ip", "netns", "exec", namespace] if namespace else []
        self.directory = directory
        self.socket = os.path.join(directory, "socket")
        self.process = None
        if is_root():
            shutil.chown(directory, OWNER, OWNER)
        os.chmod(directory, 0o755)
        self.file = os.path.join(directory, "my.cnf")
        self.data = os.path.join(directory, "data")
        with open(self.file, "w", encoding="ascii") as file:
            file.write(SETTINGS.format(data=self.data, socket=self.socket, directory=directory))
            file.write(settings)
        os.mkdir(self.data)
        if is_root():
            shutil.chown(self.data, OWNER, OWNER)
        templates.fill(self.data, "mariadb", "/usr/sbin/mariadbd", self._make)
        self.start()

    def _make(self):
        made = subprocess.run(
            [*as_owner(), "mariadb-install-db", f"--defaults-file={self.file}", f"--datadir={self.data}",
             "--auth-root-authentication-method=normal", "--skip-test-db"],
            cwd=self.directory, capture_output=True, text=True, check=False, timeout=120)
        assert made.returncode == 0, made.stdout + made.stderr

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*self.inside, *as_owner(), "mariadbd", f"--defaults-file={self.file}"], cwd=self.directory,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        wait_until(lambda: self.process.poll() is not None or self.answers(), "MariaDB answers", 60)
        assert self.process.poll() is None, self.log()

    def answers(self):
        return subprocess.run(["mariadb-admin", "--no-defaults", "-S", self.socket, "-u", "root",
                               "ping"], capture_output=True, check=False,
                              timeout=PATIENCE).returncode == 0

    def log(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as log:
            return log.read()

    def sql(self, text, database="mysql"):
        ended = subprocess.run(["mariadb", "--no-defaults", "-S", self.socket, "-u", "root", "-N",
                                "-B", database, "-e", text],
                               capture_output=True, text=True, check=False, timeout=120)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self):
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
