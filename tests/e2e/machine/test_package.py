# SPDX-License-Identifier: ISC
"""Our Debian packages on a minimal Debian 12 that was booted for them: installed, upgraded, replaced,
removed and purged, as an administrator does it."""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from packages import INSTALLING, NEXT, PACKAGES, VERSION, Site, built
from stagepost import PATIENCE, ROOT, is_root

CONFIGURATION = "/etc/stagepost/stagepost.conf"
# sends a message with a TEXT to an ADDRESS
CLIENT = """\
import socket, sys
client = socket.create_connection(("127.0.0.1", 25))
replies = client.makefile("r")
for line, code in (("", "220"), ("HELO client.example", "250"), ("MAIL FROM:<eve@example.net>", "250"),
                   (f"RCPT TO:<{sys.argv[1]}>", "250"), ("DATA", "354"),
                   (f"Subject: hello\\r\\n\\r\\n{sys.argv[2]}\\r\\n.", "250"), ("QUIT", "221")):
    client.sendall((line + "\\r\\n").encode() if line else b"")
    reply = replies.readline()
    if not reply.startswith(code):
        sys.exit(reply)
"""

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can boot a machine")


@pytest.fixture(name="booted", scope="module")
def fixture_booted():
    site = Site(tempfile.mkdtemp(prefix="stagepost-package-"))
    try:
        site.make()
        shutil.copytree(os.path.join(ROOT, "debian/tests"), site.root + "/root/tests")
        site.boot()
        yield site
    finally:
        site.end()


@pytest.fixture(name="site")
def fixture_site(booted):
    """With the package installed, as an Internet site."""
    if not booted.is_installed():
        booted.answer(mailer_type="Internet site", mailname="example.org", root_recipient="ann")
        booted.run("sh", "-c", "getent passwd ann || useradd --create-home ann")
        booted.apt("install", booted.file(VERSION), "bsd-mailx")
    return booted


def is_active(site):
    return site.unit("ActiveState", "SubState") == {"ActiveState": "active", "SubState": "running"}


def content(folder, package):
    """Each file of the package: how it is listed, and its bytes."""
    [file] = glob.glob(f"{folder}/{package}_*.deb")
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["dpkg-deb", "-x", file, place], check=True)
        listed = subprocess.run(["dpkg-deb", "-c", file], check=True, capture_output=True, text=True).stdout
        files = {}
        for line in listed.splitlines():
            path = os.path.join(place, line.split()[5])
            files[line] = None
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as opened:
                    files[line] = opened.read()
    return files


@pytest.mark.parametrize("package", PACKAGES)
def test_built_twice_is_the_same(package):
    """But for the version: no time, no order and no path of the build is in the packages."""
    one, two = (content(built(version), package) for version in (VERSION, NEXT))
    assert len(one) > 5
    assert not [line for line in one.keys() | two.keys()
                if one.get(line, "") != two.get(line, "") and "changelog" not in line]


def test_installed_is_ready(site):
    """Without another command: the unit is enabled and runs, mail comes by SMTP and from programs."""
    assert is_active(site), site.status()
    assert site.unit("UnitFileState") == {"UnitFileState": "enabled"}
    assert "All processes are ready" in site.status()
    site.run("stagepost", "check")
    site.run("stagepost", "check", "--running")
    assert site.run("cat", "/etc/mailname").stdout == "example.org\n"
    assert site.run("stat", "-c", "%G %a", "/usr/sbin/stagepost-sendmail").stdout.split() == [
        "stagepost-submit", "2755"]


def test_mail_of_the_machine(site):
    """What autopkgtest runs: "mail", cron, every user's sendmail."""
    site.run("/root/tests/machine-mta", timeout=4 * PATIENCE)


def test_mail_by_smtp(site):
    site.run("python3", "-c", CLIENT, "ann@example.org", "by SMTP")
    site.wait(lambda: site.has_mail("ann", "by SMTP"), "a message by SMTP", PATIENCE)


def test_reconfigured(site):
    """Each kind makes a configuration that is right; what somebody has changed stays."""
    for kind, word in (("Local only", '"127.0.0.1:25"'), ("Satellite system", '":smtp.example.net;587"'),
                       ("Internet with smarthost", '":smtp.example.net;587"'), ("Internet site", '"0.0.0.0:25"')):
        site.answer(mailer_type=kind, relay_host="smtp.example.net;587")
        site.run("dpkg-reconfigure", "-f", "noninteractive", "stagepost", timeout=INSTALLING)
        assert word in site.run("cat", CONFIGURATION).stdout, kind
        site.run("stagepost", "check")
        assert is_active(site), site.status()
    site.run("sh", "-c", f"echo 'maxsize = 1M' >>{CONFIGURATION}")
    site.answer(mailer_type="Local only")
    site.run("dpkg-reconfigure", "-f", "noninteractive", "stagepost", timeout=INSTALLING)
    assert "maxsize = 1M" in site.run("cat", CONFIGURATION).stdout
    site.run("sed", "-i", "/maxsize = 1M/d", CONFIGURATION)
    site.answer(mailer_type="Internet site")
    site.run("dpkg-reconfigure", "-f", "noninteractive", "stagepost", timeout=INSTALLING)


def test_a_backend_that_is_not_installed(site):
    """It is named, with its package; when that is installed, it is not missing."""
    site.run("cp", "-p", CONFIGURATION, "/root/kept")
    try:
        site.run("sed", "-i", 's,^directory.*,directory { backend = postgresql database = "host=127.0.0.1" },',
                 CONFIGURATION)
        ended = site.run("stagepost", "check", check=False)
        assert ended.returncode != 0
        assert "libexec/stagepost/directory-postgresql is not installed" in ended.stderr, ended.stderr
        assert "stagepost-postgresql" in ended.stderr
        site.apt("install", site.file(VERSION, "stagepost-postgresql"))
        assert "is not installed" not in site.run("stagepost", "check", check=False).stderr
    finally:
        site.run("cp", "-p", "/root/kept", CONFIGURATION)
        site.apt("remove", "stagepost-postgresql")


def test_replaced_and_back(site):
    """By Postfix: nothing is lost."""
    site.run("/root/tests/replaced-by-postfix", site.file(VERSION), timeout=20 * PATIENCE)


def test_upgraded(site):
    """With mail in the queue, and mail that comes meanwhile."""
    site.run("systemctl", "stop", "stagepost")
    site.run("sendmail", "ann", data="Subject: waits\n\nbefore the upgrade\n")
    site.run("systemctl", "start", "stagepost")
    site.apt("install", site.file(NEXT))
    assert site.version() == NEXT
    assert is_active(site), site.status()
    assert site.run("stat", "-c", "%G %a", "/usr/sbin/stagepost-sendmail").stdout.split() == [
        "stagepost-submit", "2755"]
    site.wait(lambda: site.has_mail("ann", "before the upgrade"), "what was in the queue")
    pid = site.unit("MainPID")["MainPID"]
    assert "(deleted)" not in site.run("readlink", f"/proc/{pid}/exe").stdout
    site.run("python3", "-c", CLIENT, "ann@example.org", "after the upgrade")
    site.wait(lambda: site.has_mail("ann", "after the upgrade"), "a message to the new version")


def spoil(site):
    """The file of a later version, whose SMTP server ends as soon as it is started."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["dpkg-deb", "-R", site.root + site.file(NEXT), f"{place}/content"], check=True)
        program = pathlib.Path(place, "content/usr/libexec/stagepost/smtpd")
        program.write_text("#!/bin/sh\nexit 1\n", "ascii")
        control = pathlib.Path(place, "content/DEBIAN/control")
        control.write_text(control.read_text("utf-8").replace(f"Version: {NEXT}", f"Version: {NEXT}.1"), "utf-8")
        subprocess.run(["dpkg-deb", "-b", f"{place}/content", f"{site.root}/root/spoilt.deb"], check=True)
    return "/root/spoilt.deb"


def test_an_upgrade_that_fails(site):
    """The version before goes on, and whoever upgrades is told; the next package puts all right."""
    pid = site.unit("MainPID")["MainPID"]
    ended = site.apt("install", spoil(site), check=False)
    assert ended.returncode != 0
    assert "the version that ran before goes on" in ended.stdout + ended.stderr
    assert site.unit("MainPID")["MainPID"] == pid and is_active(site), site.status()
    site.run("python3", "-c", CLIENT, "ann@example.org", "after an upgrade that failed")
    site.wait(lambda: site.has_mail("ann", "after an upgrade that failed"), "a message to the version before")
    site.apt("install", "--allow-downgrades", site.file(NEXT))
    assert site.is_installed() and is_active(site), site.status()
    assert site.unit("MainPID")["MainPID"] != pid


def test_a_library_is_replaced(site):
    """needrestart sees that the service has the old one, and by which name it is restarted."""
    site.run("sh", "-ec", "cd /usr/lib/x86_64-linux-gnu; file=$(readlink -f libevent_core-2.1.so.7); "
             "cp -p $file $file.new; mv $file.new $file")
    assert "NEEDRESTART-SVC: stagepost.service" in site.run("needrestart", "-b", "-r", "l", timeout=2 * PATIENCE).stdout
    site.run("needrestart", "-r", "a", timeout=4 * PATIENCE)
    assert is_active(site)
    assert "stagepost" not in site.run("needrestart", "-b", "-r", "l", timeout=2 * PATIENCE).stdout


def test_removed_and_purged(site):
    """Mail stays when it is removed; also when it is purged, unless somebody agrees."""
    site.run("systemctl", "stop", "stagepost")
    site.run("sendmail", "ann", data="Subject: waits\n\nbefore the removal\n")
    site.apt("remove", "stagepost")
    assert not site.is_installed()
    assert site.run("systemctl", "is-active", "stagepost", check=False).stdout.strip() != "active"
    site.apt("install", site.file(VERSION))
    site.wait(lambda: site.has_mail("ann", "before the removal"), "what was in the queue")
    site.run("systemctl", "stop", "stagepost")
    site.run("sendmail", "ann", data="Subject: waits\n\nbefore the purge\n")
    site.apt("purge", "stagepost")
    assert site.run("find", "/etc/stagepost", check=False).stdout == ""
    assert site.run("find", "/var/spool/stagepost", "-type", "f", "-name", "[0-9]*").stdout
    assert site.run("dpkg-statoverride", "--list", "/usr/sbin/stagepost-sendmail", check=False).returncode != 0
    site.answer(mailer_type="Internet site", mailname="example.org", root_recipient="ann", purge_mail="true")
    site.apt("install", site.file(VERSION))
    site.wait(lambda: site.has_mail("ann", "before the purge"), "what was in the queue")
    site.apt("purge", "stagepost")
    assert site.run("ls", "/var/spool/stagepost", "/var/lib/stagepost", check=False).stdout == ""
    assert site.has_mail("ann", "before the purge")
    site.run("getent", "passwd", "stagepost")


def test_autopkgtest(site):
    """Debian's own runner installs the package, on a machine without it, and runs each test of debian/tests; it skips
    none. That the last test leaves this machine different from what it was is no reason not to run it."""
    site.apt("purge", "stagepost")
    site.apt("install", "autopkgtest")
    shutil.copytree(os.path.join(ROOT, "debian"), site.root + "/root/source/debian", dirs_exist_ok=True)
    ended = site.run("autopkgtest", "--ignore-restrictions=breaks-testbed", "--no-built-binaries", "/root/source",
                     site.file(VERSION), "--", "null", check=False, timeout=3 * INSTALLING)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said[-6000:]
    names = re.findall(r"^Tests: (.*)$", pathlib.Path(ROOT, "debian/tests/control").read_text("utf-8"), re.M)
    assert len(names) > 1
    for name in names:
        assert re.search(rf"^{name} +PASS$", said, re.M), said[-6000:]
    assert "SKIP" not in said
