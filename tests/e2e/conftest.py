# SPDX-License-Identifier: ISC
import json
import os
import shutil
import sys
import tempfile

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
# what Python makes of the tests is kept for the next run, but not among the sources
sys.pycache_prefix = os.path.join(os.environ.get("STAGEPOST_BUILD", f"{HERE}/../../build"), "bytecode")
sys.dont_write_bytecode = False
# What several tests use is in support/; some tests use what a test of another folder has.
sys.path[:0] = [entry.path for entry in os.scandir(HERE) if entry.is_dir()]
import disk  # noqa: E402
import passwords  # noqa: E402
import secure_way as secure  # noqa: E402
import stagepost  # noqa: E402

MANY = int(os.environ.get("MANY", "0"))  # messages that a test puts into its queue
IMAGE_SIZE = (3 << 30) + MANY * 10240
INODES = 200000 + 3 * MANY if MANY else None
KEEP = "E2E_KEEP" in os.environ
LOG_LINES = int(os.environ.get("E2E_LOG", "60"))


class Ground:
    """Where nodes stand: a filesystem of our own where that is possible."""

    def __init__(self):
        self.base = tempfile.mkdtemp(prefix="sp-")  # short: names of sockets are in it
        os.chmod(self.base, 0o755)
        self._own_temporary()
        self.image = None
        self.count = 0
        self.unsafe = False
        self.disk = os.path.join(self.base, "disk")
        os.mkdir(self.disk)
        try:
            self.image = disk.Image(self.disk, IMAGE_SIZE, INODES)
            self.text = f"ext4 on a loop device, in {os.path.dirname(self.image.file)}"
        except disk.Unavailable as why:
            self.unsafe = True
            self.text = f"{self.disk}, queue_unsafe = yes, because: {why}"
        programs = os.path.join(self.base, "programs")
        os.mkdir(programs)
        try:
            self.programs = stagepost.install_programs(programs)
            stagepost.AS_USER = shutil.copy2(stagepost.AS_USER, self.base)  # there also where a test hides the build
        except OSError:  # they are not built
            self.close()
            raise

    def _own_temporary(self):
        """A place for everybody's temporary files, whatever /tmp is like and whoever else uses it."""
        self.temporary = os.path.join(self.base, "t")
        os.mkdir(self.temporary)
        os.chmod(self.temporary, 0o1777)
        self.outer = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = tempfile.tempdir = self.temporary

    def directory(self, name):
        """A new directory that the unprivileged user owns."""
        self.count += 1
        path = os.path.join(self.disk, f"{self.count}-{name}")
        os.mkdir(path)
        stagepost.give_to_user(path)
        return path

    def is_filling(self):
        """Whether what is over must be removed to make room: else it goes with the filesystem, which is
        much faster."""
        now = os.statvfs(self.disk)
        return self.image is None or 2 * now.f_bfree < now.f_blocks or 2 * now.f_ffree < now.f_files

    def close(self):
        if KEEP:
            print(f"kept: {self.base}")
            return
        if self.image is not None:
            self.image.close()
        tempfile.tempdir = None
        if self.outer is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = self.outer
        shutil.rmtree(self.base, ignore_errors=True)


def pytest_configure(config):
    config.stagepost_ground = Ground()
    # all runs share pytest's own, and each that begins makes it unreadable to other users
    config.option.basetemp = os.path.join(config.stagepost_ground.base, "tmp")


def pytest_unconfigure(config):
    if hasattr(config, "stagepost_ground"):
        config.stagepost_ground.close()


def pytest_report_header(config):
    return f"queues on {config.stagepost_ground.text}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    item.was_successful = outcome.get_result().passed and getattr(item, "was_successful", True)


@pytest.fixture(scope="session")
def ground(pytestconfig):
    return pytestconfig.stagepost_ground


@pytest.fixture(scope="module")
def secure_way(ground):
    """TLS on both hops of a campaign's node; None: only root makes networks."""
    if not stagepost.is_root():
        yield None
        return
    with secure.SecureWay(ground) as made:
        yield made


@pytest.fixture
def listing(run):
    """What "queue list" tells, by the "run" of the tests that ask."""
    def listing(mx, *words):
        ended = run(mx, "queue", "list", "--json", *words)
        assert ended.returncode == 0, ended.stderr
        return [json.loads(line) for line in ended.stdout.splitlines()]

    return listing


@pytest.fixture
def node(request, ground):
    """node(name, start=True, ...) makes a Node, which is stopped when the test is
    over; that it stops cleanly is part of every test."""
    nodes = []

    def make(name="node", start=True, **settings):
        settings.setdefault("unsafe", ground.unsafe)
        made = stagepost.Node(ground.programs, ground.directory(name), **settings)
        nodes.append(made)
        return made.start() if start else made

    yield make
    if not getattr(request.node, "was_successful", True):
        for made in nodes:
            print(f"--- {made.log.path}\n{made.log.tail(LOG_LINES)}")
            made.abandon()
    try:
        for made in nodes:
            made.stop()
            told = made.has_logins() and passwords.told_by(made)
            assert not told, told
    finally:
        for made in nodes:
            made.abandon()
            if not KEEP and ground.is_filling():
                shutil.rmtree(made.directory, ignore_errors=True)
