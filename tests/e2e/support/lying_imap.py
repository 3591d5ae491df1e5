# SPDX-License-Identifier: ISC
"""An IMAP server that does what it should with a mailbox in memory, up to the step where a case has
it lie. Also a wire between a client and an honest server, which is cut."""

import contextlib
import re
import socket
import threading

from lying_directory import Gone, LyingServer


class ImapServer(LyingServer):
    """LIE(peer, tag) is called once in place of the answer at STEP, the NUMBERth time; an answer that
    it returns is given. STEP: a command, or "greeting", "begin" (of the literal) or "literal".
    REFUSE: {command: the text after the tag}; FOLDERS: {what a folder's name begins with: the text
    with which it can be neither made nor appended to}, APPENDS: likewise, but it can be made; LACKS: folders
    that are not there until they are made. NAMESPACE: what it says of that, after the word."""

    def __init__(self, port, step=None, lie=None, refuse=None,
                 capabilities="IMAP4rev1 UIDPLUS AUTH=PLAIN SASL-IR", number=1, folders=None, lacks=(),
                 namespace=None, quota=None, appends=None):
        self.step, self.lie, self.number = step, lie, number
        self.refuse = refuse or {}
        self.folders = folders or {}
        self.appends = appends or {}
        self.lacks = set(lacks)
        self.namespace = namespace
        self.quota = quota
        self.capabilities = (capabilities + (" NAMESPACE" if namespace else "")
                             + (" QUOTA" if quota else ""))
        self.places = []  # of the appended messages
        self.messages = {}  # by UID
        self.commands = []  # their first words
        self.lines = []
        super().__init__(port, self.run)

    def run(self, peer):
        Session(self, peer).run()


def folder_of(rest):
    """Which APPEND or CREATE is about."""
    return rest.split(b'"')[1].decode()


class Session:
    def __init__(self, server, peer):
        self.server = server
        self.peer = peer

    def is_lie(self, step, tag=b"*"):
        """Whether a lie has been told in place of the answer."""
        server = self.server
        if server.step != step:
            return False
        server.number -= 1
        if server.number != 0:
            return False
        answer = server.lie(self.peer, tag)
        if answer is not None:
            self.peer.say(answer)
        return True

    def run(self):
        if self.is_lie("greeting"):
            return
        self.peer.say(b"* OK ready\r\n")
        while line := self.peer.file.readline():
            if not self.command(line.rstrip(b"\r\n")):
                return

    def command(self, line):
        tag, _, rest = line.partition(b" ")
        words = rest.split(b" ")
        name = b" ".join(words[:2] if words[0].upper() == b"UID" else words[:1]).decode().upper()
        if name == "AUTHENTICATE":
            name = "LOGIN"
        self.server.commands.append(name)
        self.server.lines.append(line)
        if self.is_lie(name, tag):
            return True
        if name in self.server.refuse:
            self.peer.say(tag + b" " + self.server.refuse[name].encode() + b"\r\n")
            return True
        if name in ("APPEND", "CREATE") and self.is_refused(tag, folder_of(rest), name == "CREATE"):
            return True
        answer = getattr(self, "on_" + name.lower().replace(" ", "_"), None)
        if answer is None or not answer(tag, rest):
            self.peer.say(tag + b" OK done\r\n")
        return name != "LOGOUT"

    def is_refused(self, tag, folder, is_create):
        refusals = self.server.folders if is_create else {**self.server.folders, **self.server.appends}
        for begin, words in refusals.items():
            if folder.startswith(begin):
                self.peer.say(tag + b" " + words.encode() + b"\r\n")
                return True
        return False

    def on_create(self, tag, rest):
        self.server.lacks.discard(folder_of(rest))

    def on_namespace(self, tag, rest):
        self.peer.say(f"* NAMESPACE {self.server.namespace}\r\n".encode())

    def on_getquotaroot(self, tag, rest):
        self.peer.say(f'* QUOTAROOT INBOX "root"\r\n* QUOTA "root" ({self.server.quota})\r\n'.encode())

    def on_capability(self, tag, rest):
        self.peer.say(f"* CAPABILITY {self.server.capabilities}\r\n".encode())

    def on_list(self, tag, rest):
        wanted = rest.split(b'"')[3].decode()
        if wanted not in self.server.lacks:
            self.peer.say(b'* LIST (\\Noselect) "/" "%s"\r\n' % wanted.encode())

    def on_append(self, tag, rest):
        size = int(re.search(rb"\{(\d+)\}$", rest).group(1))
        if folder_of(rest) in self.server.lacks:
            self.peer.say(tag + b" NO it is not there\r\n")
            return True
        self.peer.say(b"+ go on\r\n")
        if self.is_lie("begin", tag):
            raise Gone
        text = self.peer.read(size)
        assert self.peer.file.readline() == b"\r\n"
        uid = len(self.server.messages) + 1
        self.server.messages[uid] = text
        self.server.places.append(folder_of(rest))
        if not self.is_lie("literal", tag):
            self.peer.say(tag + b" OK [APPENDUID 7 %d] done\r\n" % uid)
        return True

    def on_examine(self, tag, rest):
        self.peer.say(b"* %d EXISTS\r\n* OK [UIDVALIDITY 7] ok\r\n" % len(self.server.messages))

    on_select = on_examine

    def on_uid_search(self, tag, rest):
        if "IMAP4rev1" not in self.server.capabilities.split():  # RFC 9051
            last = max(self.server.messages, default=0)
            found = b" ALL 1:%d" % last if last > 2 else b" ALL %d" % last if last else b""
            self.peer.say(b'* ESEARCH (TAG "' + tag + b'") UID' + found + b"\r\n")
            return
        self.peer.say(b"* SEARCH" + b"".join(b" %d" % uid for uid in self.server.messages) + b"\r\n")

    def on_uid_fetch(self, tag, rest):
        wanted = rest.split(b" ")[2]
        for uid, text in self.server.messages.items():
            if wanted not in (b"1:*", b"%d" % uid):
                continue
            if b"RFC822.SIZE" in rest:
                self.peer.say(b"* %d FETCH (UID %d RFC822.SIZE %d)\r\n" % (uid, uid, len(text)))
            else:
                self.peer.say(b"* %d FETCH (UID %d BODY[] {%d}\r\n%s)\r\n"
                              % (uid, uid, len(text), text))


class Wire(LyingServer):
    """To the server at TARGET, until the client has sent the bytes UNTIL, or what that as a function
    is true of: the server gets them, and
    then its answers are lost. Only the first COUNT connections are cut."""

    def __init__(self, port, target, until, count=1):
        self.target, self.until, self.cuts = target, until, count
        super().__init__(port, self.pass_on)

    def pass_on(self, peer):
        cut = threading.Event()
        seen = b""
        with socket.create_connection(("127.0.0.1", self.target)) as server:
            back = threading.Thread(target=self.back, args=(server, peer, cut), daemon=True)
            back.start()
            while data := peer.socket.recv(65536):
                seen += data
                if self.cuts > 0 and (self.until(seen) if callable(self.until)
                                      else self.until in seen):
                    self.cuts -= 1
                    cut.set()
                    peer.socket.shutdown(socket.SHUT_WR)
                    server.sendall(data)
                    back.join()
                    raise Gone
                server.sendall(data)

    @staticmethod
    def back(server, peer, cut):
        with contextlib.suppress(OSError):
            while (data := server.recv(65536)) and not cut.is_set():
                peer.socket.sendall(data)
