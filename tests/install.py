# SPDX-License-Identifier: ISC
"""Installs with DESTDIR and serves from what was installed.

usage: install.py MESON BUILD PREFIX SYSCONFDIR
"""
import grp
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile

CONFIG = """
hostname = "mx.example.org"
queue = "{base}/queue"
run = "{base}/run"
user = ""
queue_unsafe = yes
listen smtp {{ address = {{ "unix:{base}/smtp" }} }}
service maildir {{ kind = maildir  path = "{base}/mail/%d/%u" }}
domain "example.org" {{ service = maildir }}
"""
PATIENCE = 60


def check_files(root, prefix, sysconfdir):
    for path in (f"{prefix}/bin/stagepost", f"{prefix}/libexec/stagepost/queue",
                 f"{prefix}/share/man/man5/stagepost.conf.5",
                 f"{prefix}/share/man/man5/stagepost-queue-format.5",
                 f"{prefix}/share/man/man5/stagepost-log.5",
                 f"{prefix}/share/man/man5/stagepost-record.5",
                 f"{prefix}/share/man/man8/stagepost.8",
                 f"{prefix}/share/stagepost/postgresql_schema.sql",
                 f"{prefix}/share/bash-completion/completions/stagepost",
                 f"{prefix}/lib/systemd/system/stagepost.service",
                 f"{sysconfdir}/fail2ban/filter.d/stagepost.conf",
                 f"{sysconfdir}/fail2ban/jail.d/stagepost.conf",
                 f"{sysconfdir}/stagepost/stagepost.conf.example"):
        assert (root / path.lstrip("/")).exists(), f"{path} was not installed"
    for path in root.rglob("*"):
        if path.is_file():
            assert bytes(root) not in path.read_bytes(), f"{path} contains DESTDIR"


def check_users(root, prefix, sysconfdir):
    """Who is named in the example is made."""
    example = (root / sysconfdir.lstrip("/") / "stagepost/stagepost.conf.example").read_text()
    made = (root / prefix.lstrip("/") / "lib/sysusers.d/stagepost.conf").read_text()
    named = re.findall(r'\buser *= "(stagepost[a-z-]*)"', example)
    assert len(named) == 18
    for user in named:
        assert re.search(rf"^u {user} ", made, re.MULTILINE), f"sysusers.d makes no {user}"


def check_manual(stagepost, root, prefix):
    """Every command has its page, and every program is in stagepost(8)."""
    folder = root / prefix.lstrip("/") / "share/man"
    commands = re.findall(r"^  ([a-z-]+) ", subprocess.check_output([stagepost, "help"], text=True),
                          re.MULTILINE)
    assert commands
    pages = [f"man8/stagepost-{command}.8" for command in commands]
    if (root / prefix.lstrip("/") / "sbin/sendmail").is_symlink():
        pages += ["man8/sendmail.8", "man8/rmail.8", "man1/mailq.1", "man1/newaliases.1"]
    for page in pages:
        assert (folder / page).read_text().startswith(".\\\" SPDX"), page
    source = (folder / "man8/stagepost.8").read_text()
    for program in (root / prefix.lstrip("/") / "libexec/stagepost").iterdir():
        assert f"\n.It Nm {program.name}\n" in source, f"stagepost(8) has no {program.name}"


def check_mail_commands(root, prefix, config):
    """sendmail, by its own name, reaches the command it points to."""
    sendmail = root / prefix.lstrip("/") / "sbin/sendmail"
    if not sendmail.is_symlink():
        return
    assert os.access(sendmail.parent / "rmail", os.X_OK)
    listed = subprocess.check_output([sendmail, "-bp", "-C", config], text=True)
    assert "empty" in listed, listed


def check_submit_group(root):
    """A program gets the bit of a group that exists, and of no other."""
    tool = pathlib.Path(__file__).resolve().parent.parent / "dist/set-submit-group"
    program = root / "sendmail"
    for group, mode in (("no-such-group", 0o755), (grp.getgrgid(os.getgid()).gr_name, 0o2755)):
        program.write_text("")
        program.chmod(0o755)
        ended = subprocess.run([tool, group, program.name], check=True, capture_output=True, text=True,
                               env=os.environ | {"MESON_INSTALL_DESTDIR_PREFIX": str(root)})
        assert stat.S_IMODE(program.stat().st_mode) == mode, (group, oct(program.stat().st_mode))
        assert ("is not set-group-ID yet" in ended.stderr) == (mode == 0o755), ended.stderr
    program.unlink()


def check_uninstall(build, root, prefix, sysconfdir):
    """Nothing of ours stays but what somebody wrote; nor does anything of others go."""
    kept = root / sysconfdir.lstrip("/") / "stagepost/stagepost.conf"
    kept.write_text("")
    foreign = root / prefix.lstrip("/") / "sbin/sendmail"
    if foreign.is_symlink():
        foreign.unlink()
        foreign.symlink_to("sendmail.other")
    tool = pathlib.Path(__file__).resolve().parent.parent / "tools/uninstall"
    subprocess.check_call([tool, build], env=os.environ | {"DESTDIR": str(root)},
                          stderr=subprocess.DEVNULL)
    left = {path for path in root.rglob("*") if path.is_symlink() or not path.is_dir()}
    assert left <= {kept, foreign}, left
    assert kept in left and (foreign in left or not foreign.parent.exists())


def check_serving(stagepost, base):
    config = base / "stagepost.conf"
    config.write_text(CONFIG.format(base=base))
    server = subprocess.Popen([stagepost, "serve", "-c", config], stderr=subprocess.PIPE, text=True)
    log = []
    try:
        for line in server.stderr:
            log.append(line)
            if "event=serve_ready" in line:
                break
        assert "event=serve_ready" in log[-1], "".join(log)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(base / "smtp"))
            assert client.recv(1000).startswith(b"220 mx.example.org")
            client.sendall(b"QUIT\r\n")
            assert client.recv(1000).startswith(b"221 ")
    finally:
        server.send_signal(signal.SIGTERM)
        log += server.stderr.readlines()
        status = server.wait()
    assert status == 0, f"exit status {status}\n" + "".join(log)


def main():
    meson, build, prefix, sysconfdir = sys.argv[1:]
    base = pathlib.Path(tempfile.mkdtemp(prefix="install-"))
    signal.alarm(2 * PATIENCE)
    try:
        root = base / "root"
        subprocess.check_call([meson, "install", "-C", build, "--no-rebuild", "--quiet",
                               "--destdir", root], env=os.environ | {"DESTDIR": ""})
        check_files(root, prefix, sysconfdir)
        check_users(root, prefix, sysconfdir)
        stagepost = root / prefix.lstrip("/") / "bin" / "stagepost"
        subprocess.check_call([stagepost, "config", "-c", root / sysconfdir.lstrip("/")
                               / "stagepost/stagepost.conf.example"],
                              stdout=subprocess.DEVNULL)
        check_manual(stagepost, root, prefix)
        check_serving(stagepost, base)
        check_mail_commands(root, prefix, base / "stagepost.conf")
        check_submit_group(root)
        check_uninstall(build, root, prefix, sysconfdir)
    finally:
        shutil.rmtree(base)


main()
