# SPDX-License-Identifier: ISC
"""What every Postfix of ours has, each an instance in a directory of its own; nothing of
the system's one is read or written."""
import os
import subprocess

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

# for postfix-files: what "postfix check" makes
FILES = """$queue_directory:d:root:-:755:uc
$queue_directory/active:d:$mail_owner:-:700:uc
$queue_directory/bounce:d:$mail_owner:-:700:uc
$queue_directory/corrupt:d:$mail_owner:-:700:uc
$queue_directory/defer:d:$mail_owner:-:700:uc
$queue_directory/deferred:d:$mail_owner:-:700:uc
$queue_directory/flush:d:$mail_owner:-:700:uc
$queue_directory/hold:d:$mail_owner:-:700:uc
$queue_directory/incoming:d:$mail_owner:-:700:uc
$queue_directory/maildrop:d:$mail_owner:$setgid_group:730:uc
$queue_directory/pid:d:root:-:755:uc
$queue_directory/private:d:$mail_owner:-:700:uc
$queue_directory/public:d:$mail_owner:$setgid_group:710:uc
$queue_directory/saved:d:$mail_owner:-:700:uc
$queue_directory/trace:d:$mail_owner:-:700:uc
"""


def make_directories(directory):
    """What such an instance needs in DIRECTORY."""
    os.chmod(directory, 0o755)
    os.chown(directory, 0, 0)
    for name in ("spool", "data", "log", "mail", "etc"):
        os.makedirs(os.path.join(directory, name), exist_ok=True)
    subprocess.run(["chown", "postfix", os.path.join(directory, "data")], check=True)
    with open(os.path.join(directory, "etc", "postfix-files"), "w", encoding="ascii") as files:
        files.write(FILES)
