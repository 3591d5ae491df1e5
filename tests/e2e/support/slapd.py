# SPDX-License-Identifier: ISC
"""OpenLDAP servers: a provider with the syncprov overlay, and consumers that follow it. Each
has a directory, a port and a database of its own; nothing of the system's slapd is used."""

import os
import signal
import subprocess

from passwords import LDAP as PASSWORD
from stagepost import listening, wait_until
from common.net import PATIENCE, end, free_port

BASE = "dc=example,dc=org"
ADMIN = f"cn=admin,{BASE}"
READER = f"cn=stagepost,{BASE}"

# Attributes and classes that mail systems use and Debian's slapd has no schema of.
SCHEMA = """
attributetype ( 1.3.6.1.4.1.4203.666.99.1.1 NAME 'mailAlternateAddress'
  EQUALITY caseIgnoreIA5Match SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 )
attributetype ( 1.3.6.1.4.1.4203.666.99.1.2 NAME 'mailForwardingAddress'
  EQUALITY caseIgnoreIA5Match SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 )
objectclass ( 1.3.6.1.4.1.4203.666.99.2.1 NAME 'mailRecipient' SUP top AUXILIARY
  MAY ( mail $ mailAlternateAddress $ mailForwardingAddress ) )
objectclass ( 1.3.6.1.4.1.4203.666.99.2.2 NAME 'rfc822MailGroup' SUP top STRUCTURAL
  MUST ( cn $ mail ) MAY ( rfc822MailMember $ member $ owner ) )
"""

CONFIGURATION = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/misc.schema
include {directory}/mail.schema
pidfile {directory}/pid
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload syncprov
serverID {number}
sizelimit {limit}
{tls}
database mdb
maxsize 1073741824
suffix {base}
rootdn {admin}
rootpw {password}
directory {directory}/data
dbnosync
index objectClass,entryUUID,entryCSN eq
overlay syncprov
syncprov-checkpoint 1 1
{overlay}
access to attrs=userPassword by dn.exact={reader} read by * auth
{access}
{consumer}
"""

CONSUMER = """
syncrepl rid=001 provider={url} type=refreshAndPersist retry="1 +" searchbase={base}
  bindmethod=simple binddn={admin} credentials={password}
updateref {url}
"""

TLS = """
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
"""

START = f"""dn: {BASE}
objectClass: dcObject
objectClass: organization
objectClass: domainRelatedObject
dc: example
o: Example
associatedDomain: example.org

dn: {READER}
objectClass: simpleSecurityObject
objectClass: organizationalRole
cn: stagepost
userPassword: {PASSWORD}

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{BASE}
objectClass: organizationalUnit
ou: groups

"""


def person(name, mail=None, more=""):
    """A person's entry as LDIF."""
    mail = mail or f"{name}@example.org"
    return (f"dn: uid={name},ou=people,{BASE}\n"
            "objectClass: inetOrgPerson\nobjectClass: inetLocalMailRecipient\n"
            "objectClass: mailRecipient\n"
            f"uid: {name}\ncn: {name}\nsn: {name}\nmail: {mail}\n{more}\n")


class Slapd:
    """One server. PROVIDER: the one that it follows. SESSIONS: how many changes the provider
    remembers, so that who comes back is told what was deleted. HINT: it refuses a cookie whose
    change it does not find any more. TLS: names of files."""

    def __init__(self, directory, number=1, provider=None, sessions=0, hint=False, tls=None):
        self.directory = str(directory)
        self.port = free_port()
        self.url = f"ldap://127.0.0.1:{self.port}"
        self.listeners = self.url + "/"
        self.process = None
        os.makedirs(os.path.join(self.directory, "data"))
        self.write("mail.schema", SCHEMA)
        self.settings = dict(
            directory=self.directory, base=BASE, admin=ADMIN, reader=READER, password=PASSWORD,
            number=number, tls=TLS.format(**tls) if tls else "", access="access to * by * read", limit="unlimited",
            overlay=(f"syncprov-sessionlog {sessions}\n" if sessions else "")
            + ("syncprov-reloadhint TRUE\n" if hint else ""),
            consumer=CONSUMER.format(url=provider.url, base=BASE, admin=ADMIN,
                                     password=PASSWORD) if provider else "")
        self.configure()
        if tls:
            self.secure_port = free_port()
            self.listeners += f" ldaps://127.0.0.1:{self.secure_port}/"

    def configure(self, **settings):
        """For the next start."""
        self.settings.update(settings)
        self.write("slapd.conf", CONFIGURATION.format(**self.settings))

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.write(text)
        return file.name

    def load(self, text=START):
        """Fills the database, before the start."""
        subprocess.run(["slapadd", "-q", "-w", "-f", os.path.join(self.directory, "slapd.conf"),
                        "-l", self.write("load.ldif", text)],
                       check=True, capture_output=True, timeout=300)
        return self

    def empty(self):
        """Of all it knew, while it does not run."""
        for name in os.listdir(os.path.join(self.directory, "data")):
            os.remove(os.path.join(self.directory, "data", name))

    def start(self):
        self.process = subprocess.Popen(
            ["slapd", "-d", "0", "-h", self.listeners, "-f",
             os.path.join(self.directory, "slapd.conf")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: listening(self.port), "slapd listens", PATIENCE)
        return self

    def modify(self, text, command=("ldapmodify",), timeout=60):
        """Applies LDIF of changes (or adds entries) as the administrator."""
        made = subprocess.run([*command, "-x", "-H", self.url, "-D", ADMIN, "-w", PASSWORD],
                              input=text, text=True, capture_output=True, timeout=timeout)
        assert made.returncode == 0, made.stderr

    def add(self, text):
        self.modify(text, ("ldapadd",))

    def delete(self, *names):
        subprocess.run(["ldapdelete", "-x", "-H", self.url, "-D", ADMIN, "-w", PASSWORD, *names],
                       check=True, capture_output=True, timeout=60)

    def csn(self):
        """The contextCSN, or ""."""
        found = subprocess.run(
            ["ldapsearch", "-x", "-LLL", "-o", "ldif-wrap=no", "-H", self.url, "-s", "base",
             "-b", BASE, "contextCSN"], text=True, capture_output=True, timeout=20, check=False)
        return "".join(line for line in found.stdout.splitlines() if line.startswith("contextCSN"))

    def freeze(self):
        """It says nothing any more, and its connections stay."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self):
        if self.process is not None:
            self.thaw()
            end(self.process, 10)
            self.process = None
