# SPDX-License-Identifier: ISC
"""What every show does: it starts instances, sends messages to one of them, tells what becomes of these, serves."""
import os
import signal
import smtplib
import ssl

from running.failed import Failed
from running.place import Account, Place
from running.story import PATIENCE, Story


class Show:
    """SENDER writes the messages. What a show adds: set_up(), which makes INSTANCES and configures them, and
    ENTRY, that of them which takes the messages in at its port "smtp"; show_messages(); show_examples()."""

    SENDER = ""

    def __init__(self):
        self.story = Story()
        self.place = Place(Account())
        self.instances = []
        self.entry = None
        self.set_up()

    def start(self):
        for instance in self.instances:
            instance.start()
        for instance in self.instances:
            instance.wait_ready()

    def check(self):
        for instance in self.instances:
            instance.check()

    def client_context(self):
        return ssl.create_default_context(cafile=self.place.authority)

    def send(self, recipient, subject):
        """Sends a message by TLS; the id it was queued as."""
        with smtplib.SMTP("127.0.0.1", self.entry.smtp, timeout=PATIENCE) as client:
            client.ehlo("client.example")
            client.starttls(context=self.client_context())
            client.ehlo("client.example")
            for code, text in (client.mail(self.SENDER), client.rcpt(recipient),
                               client.data(f"From: Lisa <{self.SENDER}>\nTo: {recipient}\n"
                                           f"Subject: {subject}\n\nIs anybody there?\n")):
                if code != 250:
                    raise Failed(f"{recipient} was refused: {code} {text.decode()}")
        return text.decode().split()[-1]

    def show_message(self, title, recipient, follow):
        """Sends one and tells its story. FOLLOW(id) waits until it is where it should be: the
        instances that have had it and its ids there, [(instance, id)], the last one with the mailbox."""
        subject = f"{title} ({os.urandom(6).hex()})"
        print(f"\n{title}, to <{recipient}>:")
        way = follow(self.send(recipient, subject))
        self.story.tell_messages({(instance.name, message) for instance, message in way})
        print(f"  arrived: {way[-1][0].find_mail(recipient, subject)}")

    def wait_event(self, instance, message, names, what, **fields):
        """The first event of a message that has one of NAMES and these fields."""
        fields["id"] = message
        return self.story.wait(
            lambda name, event: name == instance.name and event.get("event") in names
            and all(event.get(field) == value for field, value in fields.items()),
            what, self.check)

    def wait_delivered(self, instance, message, recipient):
        return self.wait_event(instance, message, ("delivered",), f"the message {message} to {recipient}",
                               to=recipient)

    def wait_end(self, instance, message):
        self.wait_event(instance, message, ("message_done", "message_preprocessed"), f"the end of {message}")

    def wait_relayed(self, instance, message, recipient, server):
        """Until INSTANCE has relayed it and SERVER has delivered it; its id there."""
        relayed = self.wait_delivered(instance, message, recipient)["text"].split()[-1]
        self.wait_delivered(server, relayed, recipient)
        self.wait_end(server, relayed)
        return relayed

    def look_after(self):
        """Called again and again while it serves."""
        self.check()

    def serve(self):
        """Tells what happens until Ctrl-C or SIGTERM."""
        print("\nServing until Ctrl-C.", flush=True)
        self.story.take()
        while True:
            for name, event in self.story.take():
                self.story.tell(name, event)
            self.look_after()

    def stop(self):
        print("\nStopping.", flush=True)
        statuses = [instance.stop() for instance in self.instances]
        self.place.clear()
        if any(statuses):
            raise Failed(f"exit statuses {statuses}")
        print("All processes have ended.", flush=True)


def interrupt(*_):
    raise KeyboardInterrupt


def perform(make_show, is_once):
    """Ends when both messages have arrived, or goes on serving."""
    signal.signal(signal.SIGTERM, interrupt)
    show = make_show()
    try:
        show.start()
        show.show_messages()
        show.show_examples()
        if not is_once:
            show.serve()
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        show.stop()
