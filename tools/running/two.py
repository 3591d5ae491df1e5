# SPDX-License-Identifier: ISC
"""Two mail systems, "first" and "second", that relay to each other."""
import os
import smtplib

from running.instance import Instance
from running.place import free_ports
from running.settings import certificate_of, listener, mailboxes, routes, tls_demanded
from running.show import Show
from running.story import PATIENCE

# each demands TLS of the other, with the right name in the certificate; has the user lisa, who may log in at
# the submission port
SETTINGS = """\
{smtp}{submission}{certificate}{tls}{mailboxes}
directory {{ path = "{base}/directory.db" }}

{routes}"""


class Two(Show):
    SENDER = "lisa@first.example"

    def set_up(self):
        self.first, self.second = (Instance(name, f"mx.{name}.example", self.place, self.story)
                                   for name in ("first", "second"))
        self.instances = [self.first, self.second]
        self.entry = self.first
        self.place.make_certificates([instance.hostname for instance in self.instances])
        ports = free_ports(20025, 4)
        for instance in self.instances:
            instance.smtp, instance.submission, *ports = ports
        self.configure(self.first, self.second)
        self.configure(self.second, self.first)

    def configure(self, instance, other):
        domain = f"{other.name}.example"
        instance.configure(SETTINGS.format(
            base=instance.base, smtp=listener("smtp", instance.smtp),
            submission=listener("submission", instance.submission),
            certificate=certificate_of(instance.hostname, self.place),
            tls=tls_demanded(domain, other.hostname, self.place),
            mailboxes=mailboxes(f"{instance.name}.example", instance.base), routes=routes({domain: other.smtp})))

    def start(self):
        super().start()
        print("Serving:")
        for instance in self.instances:
            print(f"  {instance.name}.example   SMTP 127.0.0.1:{instance.smtp}   submission "
                  f"127.0.0.1:{instance.submission}   files in {instance.base}")

    def show_messages(self):
        ann, bob = "ann@first.example", "bob@second.example"
        self.show_message("A message to a local mailbox", ann, lambda message: self.follow_local(message, ann))
        self.show_message("A message that is relayed", bob, lambda message: self.follow_relayed(message, bob))

    def follow_local(self, message, recipient):
        self.wait_delivered(self.first, message, recipient)
        self.wait_end(self.first, message)
        return [(self.first, message)]

    def follow_relayed(self, message, recipient):
        relayed = self.wait_relayed(self.first, message, recipient, self.second)
        return [(self.first, message), (self.second, relayed)]

    def add_user(self, user, sender):
        """Who may log in at the first and send as SENDER, with a password that was never used before; that."""
        password = os.urandom(9).hex()
        self.first.command("directory", "put", "--replace", "--table", "user", user,
                           f"send_as={sender}")
        self.first.command("directory", "passwd", user, words=password + "\n")
        with smtplib.SMTP("127.0.0.1", self.first.submission, timeout=PATIENCE) as client:
            client.starttls(context=self.client_context())
            client.login(user, password)
        return password

    def show_examples(self):
        stagepost = self.place.build / "stagepost"
        print("\nTry:")
        print(f"  swaks --server 127.0.0.1:{self.first.smtp} --from {self.SENDER} "
              f"--to ann@second.example \\\n    --tls --tls-verify --tls-ca-path {self.place.authority}")
        password = self.add_user("lisa", self.SENDER)
        print(f"  swaks --server 127.0.0.1:{self.first.submission} --from {self.SENDER} "
              f"--to ann@second.example \\\n    --tls --auth --auth-user lisa --auth-password {password}")
        print(f"  printf 'Subject: hello\\n\\nhello\\n' | {stagepost} sendmail -C {self.first.config} "
              f"-f {self.SENDER} ann@second.example")
        print(f"The logs: {self.first.log} {self.second.log}", flush=True)
