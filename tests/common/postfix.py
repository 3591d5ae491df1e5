# SPDX-License-Identifier: ISC
"""What every Postfix of ours has, each an instance in a directory of its own; nothing of
the system's one is read or written."""
import os
import shutil

POSTFIX_DAEMONS = "/usr/lib/postfix/sbin"

# for main.cf; more lines follow
BASE_CF = """compatibility_level = 3.6
queue_directory = {directory}/spool
data_directory = {directory}/data
meta_directory = {directory}/etc
daemon_directory = {daemons}
command_directory = /usr/sbin
maillog_file = {directory}/log/mail
maillog_file_prefixes = {directory}
mail_owner = postfix
setgid_group = postdrop
myhostname = {hostname}
mydestination =
alias_maps =
alias_database =
local_recipient_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
virtual_mailbox_domains = {domain}
virtual_mailbox_base = {directory}/mail
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
biff = no
in_flow_delay = 0
smtpd_client_connection_count_limit = 0
"""

MASTER_CF = """{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
lmtp unix - - n - - lmtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
tlsmgr unix - - n 1000? 1 tlsmgr
tlsproxy unix - - n - 0 tlsproxy
postlog unix-dgram n - n - 1 postlogd
"""

# of the queue: what "postfix check" makes of Debian's list, by a script that takes longer than the tests
FOLDERS = ("active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming", "private", "saved",
           "trace")
SHARED_FOLDERS = {"maildrop": 0o730, "public": 0o710}  # with the group of those who queue mail


def make_directories(directory):
    """What such an instance needs in DIRECTORY."""
    os.chmod(directory, 0o755)
    os.chown(directory, 0, 0)
    for name in ("spool", "data", "log", "mail", "etc"):
        os.makedirs(os.path.join(directory, name), exist_ok=True)
    shutil.chown(os.path.join(directory, "data"), "postfix")
    spool = os.path.join(directory, "spool")
    os.mkdir(os.path.join(spool, "pid"))
    for name in FOLDERS:
        make_folder(os.path.join(spool, name), 0o700, "root")
    for name, mode in SHARED_FOLDERS.items():
        make_folder(os.path.join(spool, name), mode, "postdrop")


def make_folder(path, mode, group):
    os.mkdir(path)
    shutil.chown(path, "postfix", group)
    os.chmod(path, mode)
