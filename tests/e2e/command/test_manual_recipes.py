# SPDX-License-Identifier: ISC
"""Everything that the manual prints to be used is used here as it is printed: a block that is new
has to have its run, or to be no recipe at all."""

import contextlib
import glob
import os
import re
import shlex
import smtplib
import subprocess

import pytest
import recipes
import record_tables
from directory_tls import make_certificates
from peers import Postfix
from postgresql import DATABASE, SCHEMA, several
from stagepost import PATIENCE, ROOT, as_user, is_root, parse_logfmt, wait_until

pytestmark = pytest.mark.skipif(not is_root(), reason="a machine of its own has root alone")

BLOCKS = recipes.blocks()

CONFIGURATIONS = ("stagepost-directory-ldap.7/0", "stagepost-directory-postgresql.7/0",
                  "stagepost-directory.7/11", "stagepost-node.7/0", "README.md/3", "README.md/6")
SESSIONS = ("stagepost-check.8/0", "stagepost-completion.8/0", "stagepost-config.8/0",
            "stagepost-config.8/1",
            "stagepost-directory.8/2", "stagepost-directory.8/3", "stagepost-directory.8/4",
            "stagepost-directory.8/5", "stagepost-enqueue.8/0", "stagepost-manual.8/0", "stagepost-node.8/0",
            "stagepost-queue-format.5/1", "stagepost-queue-format.5/2", "stagepost-queue.8/0",
            "stagepost-queue.8/1", "stagepost-queue.8/2", "stagepost-queue.8/3", "stagepost-sendmail.8/0",
            "stagepost-trace.8/0", "stagepost-trigger.8/0", "README.md/5")
FILES = {"stagepost-directory.8/0": "json", "stagepost-directory.8/1": "aliases"}
LOGS = ("stagepost-log.5/0", "README.md/4")
OTHERS = {  # block: the test that runs it
    "stagepost-directory.7/12": "test_postfix",
    "stagepost-serve.8/0": "test_drop_in",
    "stagepost-serve.8/1": "test_a_node_of_a_user",
    "stagepost-sendmail.8/1": "test_php",
    "stagepost-tls.8/0": "test_tls",
    "stagepost-tls-report.8/0": "test_tls",
    "stagepost-transcript.8/0": "test_transcripts",
    "stagepost-limits.8/0": "test_limits",
    "stagepost-directory-postgresql.7/1": "test_sql",
    "stagepost-directory-postgresql.7/2": "test_sql",
    "stagepost-directory-postgresql.7/3": "test_sql",
    "stagepost-record.5/0": "test_record",
    "stagepost-record.5/1": "test_record",
    "README.md/7": "test_mailboxes",
}
FILES_OF_TESTS = ({"README.md/2": "test_package.py", "stagepost-nodes.8/0": "test_node_status.py",
                   "stagepost-trace.8/1": "test_node_status.py"} |
                  {f"stagepost-backup.7/{number}": "test_manual_backup.py" for number in range(3)} |
                  {f"stagepost-users.7/{number}": "test_machine_users.py" for number in range(3)} |
                  {name: "test_first_day.py" for name in BLOCKS if name.startswith("stagepost-first-day.7/")})
# Shapes of frames and of the queue's files, which have tests by these pages; what "make" does here;
# and what is said of a node that was broken into.
NO_RECIPES = ({f"stagepost-directory.7/{number}" for number in range(11)} |
              {"stagepost-queue-format.5/0", "README.md/0", "README.md/1", "security.md/0"})


def test_every_block_has_its_run():
    runs = {*CONFIGURATIONS, *SESSIONS, *FILES, *LOGS, *OTHERS, *FILES_OF_TESTS, *NO_RECIPES}
    assert sorted(BLOCKS) == sorted(runs), "a block of a page is new, or is no more"
    assert all(test in globals() for test in OTHERS.values())
    assert all(glob.glob(f"{ROOT}/tests/e2e/*/{file}") for file in FILES_OF_TESTS.values())


# --- configurations ---

BASE = """hostname = "mx1.example.org"
listen smtp { address = "127.0.0.1:2525" }
service maildir { kind = maildir path = "/var/mail/%d/%u" }
"""


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_configuration(ground, name):
    directory = ground.directory("recipe")
    make_certificates(directory, "dir1.example.org", "mx1.example.org")
    prepare = f"""
        cp {directory}/authority.pem /etc/stagepost/
        cp {directory}/authority.pem /etc/stagepost/db.pem
        for name in dir1 mx1; do
            cp {directory}/$name.example.org.pem /etc/stagepost/$name.pem
            cp {directory}/$name.example.org.key /etc/stagepost/$name.key
        done
        echo secret >/etc/stagepost/ldap-password
        echo '*:*:*:stagepost:secret' >/etc/stagepost/db.pass
        chmod 600 /etc/stagepost/db.pass
        chown -R stagepost: /etc/stagepost /var/lib/stagepost /var/spool/stagepost /var/mail"""
    for number, part in enumerate(re.split(r"\n\n(?=directory)", BLOCKS[name].text)):
        file = os.path.join(directory, f"{number}.conf")
        user = 'user = "stagepost"\n'
        with open(file, "w", encoding="utf-8") as conf:
            if part.startswith("directory"):
                user += 'default_domain = "example.org"\n'  # as check advises: all domains are there
            conf.write(user + (part if "hostname" in part else BASE + part))
        ended = recipes.run(f"{ground.programs}/stagepost check -c {file}", directory, prepare)
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr


# --- commands ---

MESSAGE = b"From: lisa@example.com\nTo: bob@example.org\nSubject: x\n\ny\n"


@pytest.fixture
def machine(node):
    """A node with a directory of example.org, and what else the pages speak of."""
    mx = node("mx", start=False, domains=(), routes=["example.net:mx.example.org"])
    with open(f"{mx.directory}/hosts", "w", encoding="ascii") as hosts:
        hosts.write("127.0.0.1 localhost\n127.0.0.9 mx.example.org\n")
    mx.prefix = ["unshare", "--mount", "sh", "-c",
                 f'mount --bind {mx.directory}/hosts /etc/hosts && exec "$@"', "-"]
    mx.settings = (f'directory {{ path = "{mx.directory}/directory.db" '
                   f'socketmap = "127.0.0.1:7072" }}\ndefault_domain = "example.org"\n')
    mx.write_configuration()
    mx.start()
    for name in "sendmail", "mailq", "newaliases":
        if not os.path.lexists(f"{mx.programs}/{name}"):
            os.symlink("stagepost", f"{mx.programs}/{name}")
    for words in ("--table domain example.org kind=local service=maildir",
                  "bob@example.org kind=mailbox", "postmaster@example.org kind=mailbox"):
        tell(mx, "directory", "put", *words.split())
    with open(f"{mx.directory}/message", "wb") as file:
        file.write(MESSAGE)
    return mx


def tell(mx, *words, name="stagepost", text=b""):
    return subprocess.run(as_user() + [f"{mx.programs}/{name}", *words], input=text, check=True,
                          capture_output=True, timeout=PATIENCE, cwd=mx.directory,
                          env=os.environ | {"STAGEPOST_CONF": mx.conf}).stdout.decode()


def session(mx, name, prepare=""):
    """Runs the commands of a block, one after the other; what each says is what is printed."""
    bind = f"mount --bind {mx.queue} /var/spool/stagepost; {prepare}"
    place = ""
    for command, printed, prompt in recipes.sessions(BLOCKS[name].text):
        user = READERS.get(name, "nobody") if prompt == "$" or name in AS_OWNER else None
        if command.startswith("cd "):  # for those after it, too
            place = command + "\n"
        command = place + command
        if " remove " in command:  # at a terminal, where it asks
            command = f"script -qec {shlex.quote(command)} /dev/null <<<y"
        ended = recipes.run(command, mx.directory, bind, user, STAGEPOST_CONF=mx.conf,
                            PATH=f"{mx.directory}/bin:{mx.programs}:{os.environ['PATH']}")
        assert ended.returncode == 0, (command, ended.stdout, ended.stderr)
        expected = re.sub(r"\\d+ processes", r"\\d+ processes", re.escape(printed)) if printed else ""
        assert not printed or re.fullmatch(expected, ended.stdout), (command, ended.stdout)
        yield ended


def files_for(mx, name):
    """What a session reads: {name in its directory: text}."""
    return {
        "stagepost-check.8/0": {"test.conf": own_configuration()},
        "stagepost-config.8/0": {"new.conf": open(mx.conf, encoding="utf-8").read()},
        "stagepost-directory.8/3": {"aliases": BLOCKS["stagepost-directory.8/1"].text},
        "stagepost-directory.8/5": {"staff.csv": "table,key,kind\naddress,jo@example.org,mailbox\n"},
        "README.md/5": {},
    }.get(name, {})


def own_configuration():
    """That of stagepost-serve(8)."""
    (command, printed, _), _ = recipes.sessions(BLOCKS["stagepost-serve.8/1"].text)
    assert command == "cat test.conf"
    return printed


READERS = {"stagepost-check.8/0": "lisa"}  # of pages that name them
AS_OWNER = {"stagepost-queue.8/0"}  # root may send mail by a node of root's; this one's owner is another
PREPARE = {
    "stagepost-queue.8/0": "[ -e /var/spool/stagepost/damaged/mess_7_457 ] || "
                           "cp -p $(find /var/spool/stagepost/mess -type f | head -n 1) "
                           "/var/spool/stagepost/damaged/mess_7_457",
    "stagepost-check.8/0": "chmod 755 . /home/lisa",
    "stagepost-trace.8/0": "printf '%s\\n' 'time=2026-11-20T08:33:11.482913Z process=queue[1] "
                           "event=message_queued id=457-63f1a2b3c4d5e stage=arrive' "
                           "'time=2026-11-20T08:33:11.483011Z process=smtpd[2] event=message_accepted "
                           "id=457-63f1a2b3c4d5e session=4711:63f1a2b3c4d5e' >/var/log/mail.log",
    "README.md/5": "echo 'info: bob' >/etc/aliases",
}


def wait_for_mail(mx):
    """Messages that wait for the host, from the sender of stagepost-queue(8), tried and not."""
    for number in range(2):
        tell(mx, "-f", "spammer@example.com", "x@example.net", name="sendmail", text=MESSAGE)
        mx.log.wait("message_found", count=number + 1)
        mx.log.wait("trigger_set", trigger="host.mx.example.org")
    wait_until(mx.control_files, "the first message waits")


@pytest.mark.parametrize("name", SESSIONS)
def test_session(machine, name):
    if name.startswith(("stagepost-queue", "stagepost-trigger")):
        wait_for_mail(machine)
    os.mkdir(f"{machine.directory}/bin")
    with open(f"{machine.directory}/bin/journalctl", "w", encoding="ascii") as journal:
        journal.write("#!/bin/sh\ncat /var/log/mail.log\n")
    os.chmod(journal.name, 0o755)
    for file, text in files_for(machine, name).items():
        with open(f"{machine.directory}/{file}", "w", encoding="utf-8") as made:
            made.write(text)
    commands = dict(UNPROMPTED).get(name)
    if commands:
        BLOCKS[name] = recipes.Block(name, 0, commands(BLOCKS[name].text))
    ended = list(session(machine, name, PREPARE.get(name, "")))
    judge = JUDGES.get(name)
    if judge is not None:
        judge(machine, ended)


# Blocks whose commands have no prompt.
UNPROMPTED = {"README.md/5": lambda text: "".join(f"$ {line}\n" for line in text.splitlines())}


def is_delivered(mx, _):
    (stored,) = mx.maildir("bob@example.org").wait(1)
    assert stored.endswith(b"\n\ny\n")


def is_sent_again(mx, ended):
    """The envelope was shown; whose address the page has got the text of the damaged message."""
    assert "spammer@example.com" in ended[1].stdout
    event = mx.log.wait("message_found", **{"from": "lisa@example.com"})
    with open(f"{mx.queue}/damaged/mess_7_457", "rb") as damaged:
        text = damaged.read()
    with open(mx.data_files()[int(event["id"].partition("-")[0])], "rb") as data:
        assert text[:int(text[-21:])] in data.read()


JUDGES = {
    "stagepost-enqueue.8/0": is_delivered,
    "stagepost-sendmail.8/0": lambda mx, ended: mx.maildir("bob@example.org").wait(2),
    "stagepost-manual.8/0": lambda mx, ended: None,
    "stagepost-trace.8/0": lambda mx, ended: [
        pytest.fail(one.stdout) for one in ended if "queued at arrive" not in one.stdout],
    "stagepost-queue-format.5/1": lambda mx, ended: None,
    "stagepost-directory.8/3": lambda mx, ended: tell(mx, "directory", "get", "staff@example.org"),
    "stagepost-directory.8/5": lambda mx, ended: tell(mx, "directory", "get", "jo@example.org"),
    "stagepost-queue.8/0": is_sent_again,
    "stagepost-queue.8/2": lambda mx, ended: mx.wait_empty(),
}


@pytest.mark.parametrize("name", FILES)
def test_file(machine, name):
    """As "directory import" reads it."""
    text = BLOCKS[name].text
    if FILES[name] == "json":
        text = text.replace("\n ", "") + "\n"  # it is one line
    tell(machine, "directory", "import", "--format", FILES[name], "--domain", "example.org",
         *(["--dry-run"] if FILES[name] == "json" else []), "-", text=text.encode())


@pytest.mark.parametrize("name", LOGS)
def test_log(name):
    for line in BLOCKS[name].text.replace("\nevent", " event").splitlines():
        assert parse_logfmt(line)["event"].startswith(("message_", "delivered")), line


# --- other programs ---


@pytest.fixture
def postfix(ground):
    made = Postfix(ground.directory("postfix"), users=("carl",))
    yield made
    made.stop()


def test_postfix(machine, node, postfix):
    """Its mail for mailboxes, aliases and lists of the directory comes to Stagepost."""
    inner = node("inner", start=False, domains=(), port=2525)
    inner.settings = (f'directory {{ backend = servers servers = "unix:{machine.run}/directory" }}\n'
                      'default_domain = "example.org"\n')
    inner.write_configuration()
    inner.start()
    for words in ("info@example.org kind=forward target=bob@example.org target=postmaster@example.org",
                  "--table domain alias.example kind=alias target=example.org",
                  "--table domain relay.example kind=relay",
                  "all@example.org kind=list owner=bob@example.org"):
        tell(machine, "directory", "put", *words.split())
    tell(machine, "directory", "put", "--table", "member", "all@example.org bob@example.org")
    postfix.stop()
    with open(os.path.join(postfix.directory, "etc", "main.cf"), "a", encoding="utf-8") as conf:
        conf.write(BLOCKS["stagepost-directory.7/12"].text)
    postfix.start()
    with smtplib.SMTP("127.0.0.1", postfix.port, timeout=PATIENCE) as client:
        client.ehlo()
        for number, address in enumerate(("bob@example.org", "info@example.org",
                                          "bob@alias.example", "all@example.org"), 1):
            client.sendmail("a@client.test", [address], b"Subject: by the recipe\r\n\r\nx\r\n")
            inner.maildir("bob@example.org").wait(number)
        client.mail("a@client.test")
        assert client.rcpt("nobody@example.org")[0] == 550
        assert client.rcpt("x@relay.example")[0] == 250
    inner.maildir("postmaster@example.org").wait(1)


def test_drop_in(tmp_path):
    """systemd knows each setting of it, after the unit's own."""
    with open(f"{ROOT}/dist/stagepost.service.in", encoding="utf-8") as unit:
        text = re.sub(r"@\w+@", "/bin", unit.read()).replace("/bin/stagepost", "/bin/true")
    drop_in = tmp_path / "stagepost.service.d"
    drop_in.mkdir()
    (tmp_path / "stagepost.service").write_text(text)
    (drop_in / "programs.conf").write_text(BLOCKS["stagepost-serve.8/0"].text)
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                            tmp_path / "stagepost.service"], capture_output=True, text=True,
                           check=False, timeout=PATIENCE,
                           env=os.environ | {"SYSTEMD_UNIT_PATH": f"{tmp_path}:"})
    told = [line for line in ended.stderr.splitlines() if str(tmp_path) in line]
    assert (ended.returncode, told) == (0, []), ended.stderr
    (drop_in / "programs.conf").write_text("[Service]\nNoSuchSetting=no\n")
    assert "NoSuchSetting" in subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / "stagepost.service"],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
        env=os.environ | {"SYSTEMD_UNIT_PATH": f"{tmp_path}:"}).stderr


def test_a_node_of_a_user(ground):
    """Nobody but lisa has a part in it."""
    directory = ground.directory("lisa")
    with open(f"{directory}/test.conf", "w", encoding="utf-8") as conf:
        conf.write(own_configuration())
    (_, (command, _, _)) = recipes.sessions(BLOCKS["stagepost-serve.8/1"].text)
    script = f"""export PATH={ground.programs}:$PATH
        {command} &
        until read -t 5 banner </dev/tcp/127.0.0.1/2525 || ! kill -0 $!; do sleep 0.1; done 2>/dev/null
        stagepost stop -c test.conf
        wait
        echo "$banner" """
    ended = recipes.run(script, directory, user="lisa")
    assert ended.stdout.splitlines()[-1].startswith("220 mx.example.org"), (ended.stdout, ended.stderr)


def test_php(machine):
    """PHP gives the setting to a shell, and the message after it."""
    setting, _, command = BLOCKS["stagepost-sendmail.8/1"].text.partition(" = ")
    assert setting == "sendmail_path"
    ended = recipes.run(
        f"{shlex.split(command)[0]} <message", machine.directory,
        f"ln -s {machine.programs}/stagepost /usr/local/sbin/sendmail", "nobody",
        STAGEPOST_CONF=machine.conf)
    assert ended.returncode == 0, ended.stderr
    is_delivered(machine, ended)


def test_transcripts(machine):
    """Each as it is printed, a moment long."""
    lines = BLOCKS["stagepost-transcript.8/0"].text.splitlines()
    assert all(line.startswith("$ stagepost transcript ") for line in lines)
    for line in lines:
        words = [word for word in shlex.split(line)[2:] if word not in ("--for", "1h")]
        assert tell(machine, *words, "--for", "1s") == ""


def test_limits(machine):
    plain, watched = BLOCKS["stagepost-limits.8/0"].text.splitlines()
    assert plain == "$ stagepost limits" and watched == "$ stagepost limits --watch --json"
    assert tell(machine, "limits") == "there are no classes: sessions are not limited\n"
    with subprocess.Popen([f"{machine.programs}/stagepost", *shlex.split(watched)[2:], "-c", machine.conf],
                          stdout=subprocess.PIPE) as running:
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1.5)
        running.terminate()
        assert running.communicate()[0] == b""


@pytest.mark.parametrize("name", ("stagepost-tls.8/0", "stagepost-tls-report.8/0"))
def test_tls(machine, name):
    """No name server answers here: the command lines are right, and say so."""
    conf = f"{machine.directory}/without-dns.conf"
    with open(machine.conf, encoding="utf-8") as old, open(conf, "w", encoding="utf-8") as new:
        new.write(old.read() + 'dns_server = "127.0.0.1@1"\n')
    for line in BLOCKS[name].text.splitlines():
        assert line.startswith("$ stagepost tls"), line
        ended = subprocess.run([f"{machine.programs}/stagepost", *shlex.split(line)[2:], "-c", conf],
                               capture_output=True, text=True, check=False, timeout=3 * PATIENCE)
        assert ended.returncode in (0, 1, 3) and "usage" not in ended.stderr, (line, ended)


def test_sql(ground):
    made, granted, synchronous = (BLOCKS[f"stagepost-directory-postgresql.7/{number}"].text
                                  for number in range(1, 4))
    with several(ground) as make:
        server = make("a")
        server.sql(f"DROP DATABASE {DATABASE}", database="postgres")
        for statement in made.split(";")[:-1]:
            server.sql(statement, database="postgres")
        with open(SCHEMA, encoding="utf-8") as schema:
            server.sql(schema.read())
        server.sql(granted)
        assert server.sql("SELECT count(*) FROM address", user="stagepost") == "0"
        with open(os.path.join(server.directory, "postgresql.conf"), "a", encoding="ascii") as conf:
            conf.write(synchronous)
        server.sql("SELECT pg_reload_conf()")
        wait_until(lambda: server.sql("SHOW synchronous_standby_names") == "FIRST 1 (db1, db2)",
                   "the settings are in force")


def test_mailboxes(ground):
    """The sender's copy is filed once by both runs."""
    directory = ground.directory("mailboxes")
    prepare = f"""
        printf 'hostname = "mx1.example.org"\\n%s\\nrecord {{ path = "{directory}/record" }}\\n' \
            {shlex.quote(BLOCKS["README.md/6"].text.replace("/var/mail", directory))} >/etc/stagepost/stagepost.conf
        printf 'Message-ID: <1@example.com>\\nFrom: lisa@example.com\\nSubject: x\\n\\ny\\n' >message
        chown stagepost: {directory}"""
    ended = recipes.run("set -e; PATH=" + ground.programs + ":$PATH; " + BLOCKS["README.md/7"].text, directory,
                        prepare)
    assert (ended.returncode, ended.stderr) == (0, ""), (ended.stdout, ended.stderr)
    assert ended.stdout.endswith("lock: free\n3 compared\n") and ended.stdout.count("INBOX: filed") == 4
    assert len(os.listdir(f"{directory}/example.com/lisa/.Sent/cur")) == 1


def test_record(ground):
    """The tables have a message with an attachment, which is filed."""
    attachments, mailboxes = (BLOCKS[f"stagepost-record.5/{number}"].text for number in range(2))
    with contextlib.closing(record_tables.make(ground)) as tables:
        (identity, name, size), = tables.execute(attachments)
        assert identity.startswith("<") and (name, size) == ("a.png", 40000)
        (owner, folder, state, copy), = tables.execute(
            mailboxes.replace("<123-abc@mail.example.com>", identity))
        assert (owner, folder, state, copy) == ("user-1@example.org", "INBOX", "filed", "1:2")
