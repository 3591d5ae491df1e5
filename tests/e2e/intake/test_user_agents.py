# SPDX-License-Identifier: ISC
"""Programs that people and systems send mail with, as they are: what they hand to sendmail, or
to the submission service, stands in the Maildir as they meant it."""

import email
import email.message
import email.policy
import os
import smtplib
import subprocess

import pytest
from stagepost import PATIENCE, as_user, free_port, is_root

ANNA, BOB, SECRET = "anna@a.test", "bob@a.test", "secret@a.test"
SUBJECT = "Grüße aus Köln"
BODY = "Guten Tag,\n\nschöne Grüße.\n.\nFrom here on it goes on.\n"
BYTES = bytes(range(256)) * 5  # an attachment with every byte
needs_root = pytest.mark.skipif(not is_root(), reason="needs a mount namespace")


class Desk:
    """A node that runs, and a user with a home directory and a sendmail."""

    def __init__(self, node, ground):
        self.submission = free_port()
        self.node = node(settings=f'listen submission {{ address = "127.0.0.1:{self.submission}" '
                                  "stage = submit }\n")
        self.home = ground.directory("home")
        self.sendmail = os.path.join(ground.programs, "sendmail")
        if not os.path.lexists(self.sendmail):
            os.symlink("stagepost", self.sendmail)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": self.home, "LC_ALL": "C.UTF-8",
                            "USER": "nobody", "LOGNAME": "nobody", "TMPDIR": os.environ["TMPDIR"],
                            "STAGEPOST_CONF": self.node.conf}
        self.attachment = self.write("Anhang ö.bin", BYTES)

    def write(self, name, content):
        path = os.path.join(self.home, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, 0o644)
        return path

    def run(self, *command, text="", prefix=(), **settings):
        """The program has nothing to say and is content."""
        ended = subprocess.run(
            [*prefix, *as_user(), *command], input=text.encode(), env=self.environment, cwd=self.home,
            capture_output=True, timeout=PATIENCE, check=False, **settings)
        assert ended.returncode == 0, (ended.stdout + ended.stderr).decode()
        return ended

    def mail(self, address=BOB):
        (stored,) = self.node.maildir(address).wait()
        assert b"\r" not in stored
        return email.message_from_bytes(stored, policy=email.policy.default)


@pytest.fixture
def desk(node, ground):
    return Desk(node, ground)


def check_header(mail, *, sender=ANNA, subject=SUBJECT):
    """What every message has once, whoever of the two wrote it."""
    for name in ("Date", "Message-ID", "From", "Return-Path", "Subject"):
        assert len(mail.get_all(name, [])) == 1, f"{name}: {mail.get_all(name)}"
    assert mail["Date"].datetime and mail["Message-ID"].startswith("<")
    assert mail["Return-Path"] == f"<{sender}>"
    assert mail["Subject"] == subject
    assert "Bcc" not in mail and "secret" not in "".join(str(v) for k, v in mail.items()
                                                         if k != "Delivered-To")


def check_parts(mail, body=BODY):
    """The text, and the attachment with every byte."""
    text, attachment = mail.iter_parts()
    assert text.get_content().replace("\r\n", "\n").strip("\n") == body.strip("\n")
    assert attachment.get_payload(decode=True) == BYTES
    assert attachment.get_filename() == "Anhang ö.bin"


def test_s_nail(desk):
    desk.run("s-nail", "-:/", "-S", "v15-compat", "-S", f"mta={desk.sendmail}", "-S", "sendwait",
             "-r", ANNA, "-s", SUBJECT, "-a", desk.attachment, "-b", SECRET, BOB, text=BODY)
    for address in (BOB, SECRET):
        mail = desk.mail(address)
        check_header(mail)
        check_parts(mail)
        assert mail["From"] == ANNA and mail["To"] == BOB


def test_mutt(desk):
    rc = desk.write("muttrc", f'set sendmail="{desk.sendmail} -oem -oi"\n'
                              f'set from="{ANNA}"\nset realname="Anna Müller"\n'
                              "set use_envelope_from=yes\nset copy=no\nset charset=utf-8\n")
    desk.run("mutt", "-n", "-F", rc, "-s", SUBJECT, "-a", desk.attachment, "-b", SECRET, "--", BOB,
             text=BODY)
    for address in (BOB, SECRET):
        mail = desk.mail(address)
        check_header(mail)
        check_parts(mail)
        assert mail["From"].addresses[0].display_name == "Anna Müller"


# An empty /tmp for a program that knows no other place, with what of ours is below it.
OWN_TMP = """set -e
mount --rbind "$1" /mnt
mount -t tmpfs -o mode=1777 none /tmp
mkdir -p "$1"
mount --rbind /mnt "$1"
shift
exec "$@"
"""


def with_own_tmp(ground):
    return ["unshare", "--mount", "--propagation=private", "sh", "-c", OWN_TMP, "sh",
            ground.base] if is_root() else []


def test_bsd_mailx(desk, ground):
    desk.environment["MAILRC"] = desk.write("mailrc", f"set sendmail={desk.sendmail}\n")
    desk.run("bsd-mailx", "-n", "-s", "hello", "-r", ANNA, "-b", SECRET, BOB,
             text="A line.\n.\nAnother.\n", prefix=with_own_tmp(ground))
    for address in (BOB, SECRET):
        mail = desk.mail(address)
        check_header(mail, subject="hello")
        assert mail.get_content() == "A line.\n.\nAnother.\n"


def test_php_mail(desk):
    script = desk.write("mail.php", f"""<?php
$subject = '=?UTF-8?B?' . base64_encode('{SUBJECT}') . '?=';
$headers = ['From' => 'Anna <{ANNA}>', 'Bcc' => '{SECRET}', 'MIME-Version' => '1.0',
            'Content-Type' => 'text/plain; charset=utf-8', 'Content-Transfer-Encoding' => '8bit'];
exit(mail('{BOB}', $subject, {BODY!r}, $headers, '-f{ANNA}') ? 0 : 1);
""".replace(repr(BODY), '"' + BODY.replace("\n", "\\n") + '"'))
    desk.run("php", "-n", "-d", f"sendmail_path={desk.sendmail} -t -i", script)
    for address in (BOB, SECRET):
        mail = desk.mail(address)
        check_header(mail)
        assert mail.get_content() == BODY + "\n"  # which is PHP's
        assert mail["From"].addresses[0].addr_spec == ANNA


def test_php_hears_of_a_refusal(desk):
    script = desk.write("mail.php", "<?php exit(mail('two words', 's', 'b') ? 0 : 3);\n")
    ended = subprocess.run(
        [*as_user(), "php", "-n", "-d", f"sendmail_path={desk.sendmail} -t -i", script],
        env=desk.environment, capture_output=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 3 and b"not an address of a recipient" in ended.stderr


def test_git_send_email(desk):
    git = ["git", "-c", "user.name=Anna Müller", "-c", f"user.email={ANNA}",
           "-c", "init.defaultBranch=main", "-c", "sendemail.confirm=never"]
    desk.run(*git, "init", "-q", ".")
    desk.run(*git, "commit", "-q", "--allow-empty", "-m", "begin")
    desk.write("file", "schöne Grüße\n.\n")
    desk.run(*git, "add", "file")
    desk.run(*git, "commit", "-q", "-m", SUBJECT)
    desk.run(*git, "send-email", f"--sendmail-cmd={desk.sendmail} -i", f"--to={BOB}",
             f"--bcc={SECRET}", f"--envelope-sender={ANNA}", "--suppress-cc=all", "-1")
    for address in (BOB, SECRET):
        mail = desk.mail(address)
        check_header(mail, subject=f"[PATCH] {SUBJECT}")
        assert "+schöne Grüße\n+.\n" in mail.get_content()


def test_smtplib_by_submission(desk):
    message = email.message.EmailMessage()
    message["From"], message["To"], message["Bcc"] = f"Anna <{ANNA}>", BOB, SECRET
    message["Subject"] = SUBJECT
    message["Date"], message["Message-ID"] = email.utils.localtime(), "<1@a.test>"
    body = BODY.replace("From here", "Here")  # smtplib would write ">From"
    message.set_content(body)
    message.add_attachment(BYTES, maintype="application", subtype="octet-stream",
                           filename="Anhang ö.bin")
    with smtplib.SMTP("127.0.0.1", desk.submission, timeout=PATIENCE) as client:
        assert client.send_message(message) == {}
    for address in (BOB, SECRET):
        mail = desk.mail(address)
        check_header(mail)
        check_parts(mail, body)


@pytest.mark.parametrize("words, sender", [
    (["-FCronDaemon", "-i", "-B8BITMIME", "-oem", BOB], None),
    (["-i", "-FCronDaemon", "-odi", "-oem", "-oi", "-or0s", BOB], None),
    (["-FAnacron", "-odi", BOB], None),
    (["-t", "-oi", "-oem"], None),
    (["-oi", "-f", ANNA, "-t"], ANNA),
    (["-fanna@a.test", "-t", "-i"], ANNA),
    (["-G", "-i", "-f", ANNA, "--", BOB], ANNA),
    (["-bm", "-oMr", "local", "-odq", BOB], None),
    (["-r", ANNA, "-n", "-m", "-v", BOB], ANNA),
    (["-O", "DeliveryMode=b", "-h", "3", "-p", "ESMTP", "-V", "x1", BOB], None),
])
def test_as_they_call_it(desk, words, sender):
    """The arguments of cron, anacron, mailers of scripting languages and other systems."""
    text = f"To: {BOB}\nSubject: hello\n\nA line.\n"
    desk.run(desk.sendmail, *words, text=text)
    mail = desk.mail()
    check_header(mail, sender=sender or "nobody@mx.stagepost.test", subject="hello")
    name = [word[2:] for word in words if word.startswith("-F")]
    if name:
        assert mail["From"].addresses[0].display_name == name[0]
    assert mail.get_content() == "A line.\n"


CRON = """set -e
mount --bind "$PROGRAM" /usr/sbin/sendmail
mount --bind "$CRONTAB" /etc/crontab
mount -t tmpfs none /run
mount -t tmpfs none /var/spool/cron
mount -t tmpfs none /etc/cron.d
exec cron -f
"""


@needs_root
def test_cron(desk, ground):
    """The daemon itself, with files of its own; what "@reboot" names it runs at its start."""
    crontab = desk.write("crontab", f"MAILTO={BOB}\n@reboot nobody echo 'schöne Grüße'; echo .\n")
    cron = subprocess.Popen(
        ["unshare", "--mount", "--propagation=private", "sh", "-c", CRON],
        env={**desk.environment, "CRONTAB": crontab, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
             "PROGRAM": os.path.join(ground.programs, "stagepost")},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        mail = desk.mail()
    finally:
        cron.kill()
        print(cron.communicate()[0].decode())
    check_header(mail, sender="nobody@mx.stagepost.test", subject=mail["Subject"])
    assert "echo" in mail["Subject"] and mail["X-Cron-Env"]
    assert mail.get_content() == "schöne Grüße\n.\n"
