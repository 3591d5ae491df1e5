// SPDX-License-Identifier: ISC
/* The settings outside all sections: the machine, its queue, and bounces. */
#include "config/schema/row.h"

static const struct config_word sync_words[] = {
	{"auto", CONFIG_SYNC_AUTO},
	{"files", CONFIG_SYNC_FILES},
	{"filesystem", CONFIG_SYNC_FILESYSTEM},
	{"ordered", CONFIG_SYNC_ORDERED},
	{NULL, 0},
};
static const struct config_word bounce_words[] = {
	{"report", CONFIG_BOUNCE_REPORT}, {"qsbmf", CONFIG_BOUNCE_QSBMF}, {NULL, 0}};
static const struct config_word reported_words[] = {
	{"written", CONFIG_REPORTED_WRITTEN}, {"mapped", CONFIG_REPORTED_MAPPED}, {NULL, 0}};
static const struct config_word format_words[] = {
	{"logfmt", CONFIG_LOG_LOGFMT}, {"json", CONFIG_LOG_JSON}, {NULL, 0}};
static const struct config_word target_words[] = {
	{"stderr", CONFIG_LOG_STDERR}, {"syslog", CONFIG_LOG_SYSLOG}, {NULL, 0}};

static void check_uid_max(const struct config_row_check *check)
{
	config_complain_if(check, check->config->uid_min > check->config->uid_max,
			   "is below uid_min: no user of this machine would have mail",
			   "a number of at least uid_min");
}

const struct config_setting config_schema_root[] = {
	/* this machine */
	SETTING(ROOT, "hostname", host, AT(config, hostname),
		COMPUTED("the machine's host name, if it has a domain; otherwise it must be set"),
		OF_MACHINE,
		MEANING("The name by which this machine is known in mail: in its greeting, in "
			"Received lines, and as the sender of its reports.")),
	SETTING(ROOT, "default_domain", host, AT(config, default_domain), INITIAL(""),
		MEANING("The domain of addresses without one: of aliases, and of postmaster and "
			"user@[ADDRESS] of this host; if it is set, also of addresses that local "
			"users enter, which otherwise get hostname. Set it if all domains are in "
			"the directory. Empty: hostname, if a section domain names it or there is "
			"no such section; otherwise the first of them.")),
	SETTING(ROOT, "recipient_delimiter", delimiter, AT(config, recipient_delimiter),
		INITIAL("+"),
		MEANING("Each of these characters begins the extension of a local part: where "
			"user+extension has no record of its own, it is mail for user, and before "
			"the catch-all. The first one in an address counts, except at its "
			"beginning. Services always get the extension after a +, whatever the "
			"delimiter was, and split nothing off where there is none: ann+x is the "
			"mailbox ann+x unless + is a delimiter. Senders of lists with verp have a "
			"+, too. Empty: "
			"addresses have no extensions. With several nodes, the setting of the "
			"node that has the data counts.")),
	SETTING(ROOT, "queue", path, AT(config, queue), INITIAL("/var/spool/stagepost"),
		RANGE(1, 4000), OF_MACHINE,
		MEANING("The directory of the queue. It must be on a local filesystem that keeps "
			"inode numbers and honours fsync(2).")),
	SETTING(ROOT, "run", path, AT(config, run), INITIAL("/run/stagepost"), RANGE(1, 90),
		OF_MACHINE,
		MEANING("The directory of the sockets by which the processes talk to each "
			"other.")),
	SETTING(ROOT, "user", user, AT(config, user), INITIAL("stagepost"),
		MEANING("The user that the processes run as when they are started by root, and "
			"who owns the queue; empty: the user is not changed. Has no effect "
			"otherwise. See also section process.")),
	SETTING(ROOT, "uid_min", number, AT(config, uid_min), INITIAL("1000"), RANGE(1, UINT32_MAX),
		MEANING("The lowest number of users of this machine who have mail, by a service "
			"with user = \"%u\"; see UID_MIN in login.defs(5). The accounts of the "
			"system, below it, have none unless an alias leads it to somebody; root "
			"never has.")),
	SETTING(ROOT, "uid_max", number, AT(config, uid_max), INITIAL("60000"),
		RANGE(1, UINT32_MAX), CHECK(check_uid_max),
		MEANING("The highest one. With users of other machines (LDAP, SSSD) it may have to "
			"be higher.")),
	SETTING(ROOT, "submit_group", group, AT(config, submit_group), INITIAL(""),
		MEANING("A group whose processes may queue mail by the socket submit in run; "
			"others may then search that directory. A program sendmail that is "
			"set-group-ID to it can queue mail of every user of this machine, while a "
			"node runs. A message that comes in this way says in Received and in the "
			"log which user it is from. Nobody should be a member. Empty: only the "
			"owner of the queue can queue mail by commands.")),
	SETTING(ROOT, "dns_server", server, AT(config, dns_server), INITIAL(""),
		MEANING("The name server for all queries; empty: those of /etc/resolv.conf. "
			"Addresses "
			"of hosts that are in /etc/hosts come from there in any case, but not "
			"which "
			"hosts a domain's mail exchangers are. Both files are taken up within "
			"seconds when they change.")),
	SETTING(ROOT, "client_names", boolean, AT(config, client_names), INITIAL("yes"),
		MEANING("Whether clients' names are looked up in the DNS: the name of a client's "
			"address, if that name resolves back to the address. It appears in "
			"Received and in the log. Clients on this machine are not looked up. A "
			"message waits for a name two seconds at most, and not at all while the "
			"name servers are slow.")),
	SETTING(ROOT, "log_level", log_level, AT(config, log_level), INITIAL("info"),
		MEANING("The least important events that are logged.")),
	SETTING(ROOT, "log_format", word, AT(config, log_format), INITIAL("logfmt"),
		WORDS(format_words),
		MEANING("How an event is written: \"logfmt\", a line of key=value, or \"json\", "
			"a line with one object of the same keys.")),
	SETTING(ROOT, "log_target", word, AT(config, log_target), INITIAL("stderr"),
		WORDS(target_words),
		MEANING("Where events go: standard error (under systemd the journal, with "
			"priorities), or syslog(3) with facility mail.")),

	/* the queue */
	SETTING(ROOT, "split", number, AT(config, split), INITIAL("97"), RANGE(1, 10000),
		MEANING("The number of subdirectories of each queue directory, for a new queue; "
			"an existing queue keeps its number. A prime is best.")),
	SETTING(ROOT, "queue_sync", word, AT(config, queue_sync), INITIAL("auto"),
		WORDS(sync_words),
		MEANING("How a group of messages is made durable: by syncing its files; or the "
			"whole filesystem at once, which is faster where the queue has a "
			"filesystem to itself; or ordered, with half the commits, only for "
			"filesystems that make changes durable in their order: ext4 with an "
			"internal journal, data=ordered and barriers, nothing else. auto "
			"chooses by the filesystem, and again when that is mounted with "
			"other options.")),
	SETTING(ROOT, "queue_unsafe", boolean, AT(config, queue_unsafe), INITIAL("no"),
		MEANING("Whether to run, with a warning, on a filesystem that may lose mail.")),
	SETTING(ROOT, "queue_reserve", size, AT(config, queue_reserve),
		COMPUTED("half of maxsize, but at least 4M"), RANGE(0, UINT64_C(1) << 40),
		MEANING("How many bytes of the queue's disk are kept for what must end: mail that "
			"was accepted, with its records, bounces and copies for members of lists. "
			"New mail is answered with 452 4.3.1 if it would leave less, and before it "
			"comes if there is no room for a message of maxsize besides. So are "
			"inodes, one for each 16 KiB of these bytes, but at least 100, and unless "
			"these are more than an eighth of all.")),
	SETTING(ROOT, "spares", number, AT(config, spares), INITIAL("1000"), RANGE(0, 1000000),
		MEANING("How many files of finished messages are kept for new ones.")),
	SETTING(ROOT, "queuelifetime", duration, AT(config, queuelifetime_us), INITIAL("7d"),
		RANGE(0, 365 * 86400),
		MEANING("How long delivery is tried before a message is returned; 0: once.")),
	SETTING(ROOT, "future_release_max", duration, AT(config, future_release_max_us),
		INITIAL("30d"), RANGE(0, 365 * 86400),
		MEANING("How far in the future a user's program may have its message released "
			"(FUTURERELEASE, RFC 4865); offered by listen submission only. Until then "
			"the message waits in the queue, and queuelifetime counts from then. 0: "
			"not offered.")),
	SETTING(ROOT, "binarymime", boolean, AT(config, binarymime), INITIAL("no"),
		MEANING("Whether clients may send binary messages (BINARYMIME, RFC 3030). They are "
			"sent unchanged to hosts and LMTP servers that offer BINARYMIME too. For "
			"other servers, for mailboxes (kind = maildir) and for programs their "
			"parts are encoded; a signed or encrypted one is returned instead (5.6.3), "
			"as is any that would go by QMTP, or to such a server with convert_8bit = "
			"no. Meant for nodes that pass on all mail that they accept. If it is not "
			"offered, clients encode their messages.")),
	SETTING(ROOT, "deliver_by_min", duration, AT(config, deliver_by_min_us), INITIAL("1s"),
		RANGE(0, 365 * 86400),
		MEANING("The shortest time within which a sender may want its message delivered or "
			"returned (DELIVERBY, RFC 2852); clients are told, and a shorter one is "
			"refused. A message that is late is returned, or its sender is notified, "
			"as the sender has asked; one that is to be returned is sent only to hosts "
			"that offer DELIVERBY, too. Mail to a list is returned to the list's "
			"owner. Offered to clients that may relay, and by LMTP; other clients "
			"could use it to send mail to forged senders. 0: not offered.")),
	SETTING(ROOT, "rescan", duration, AT(config, rescan_us), INITIAL("25m"), RANGE(1, 86400),
		MEANING("How often the queue directories are read for mail that was "
			"not announced.")),
};

const size_t config_schema_root_count = COUNT_OF(config_schema_root);

const struct config_setting config_schema_bounces[] = {
	SETTING(ROOT, "bouncefrom", local_part, AT(config, bouncefrom), INITIAL("MAILER-DAEMON"),
		MEANING("The local part of the address in a bounce's From line.")),
	SETTING(ROOT, "bouncemaxbytes", size, AT(config, bouncemaxbytes), INITIAL("50K"),
		RANGE(0, UINT64_C(1) << 36),
		MEANING("The maximum size of a bounce: as much of the message is returned as "
			"fits, and if that is not enough, long reasons are cut. Each recipient is "
			"named, even if that alone exceeds it. 0: no limit.")),
	SETTING(ROOT, "bounceformat", word, AT(config, bounceformat), INITIAL("report"),
		WORDS(bounce_words),
		MEANING("How a failure is reported. report: RFC 3464, with a text part for people "
			"in the form of QSBMF. qsbmf: QSBMF and nothing else, as qmail writes it: "
			"the text is the body, and the message, after its Return-Path, is the end "
			"of it. Delays and successes alone are always reported by RFC 3464.")),
	SETTING(ROOT, "report_addresses", word, AT(config, report_addresses), INITIAL("written"),
		WORDS(reported_words),
		MEANING("Which addresses bounces and reports to senders name. written: those that "
			"the sender wrote, so that nobody learns where an alias, a forward or a "
			"catch-all leads; several failures of one such address are one, and where "
			"a reason has the other address, it gets this one. mapped: those that were "
			"delivered to. Members of a list are named to the list's owner in any "
			"case.")),
	SETTING(ROOT, "delaynotice", duration, AT(config, delaynotice_us), INITIAL("0"),
		RANGE(0, 365 * 86400),
		MEANING("When the sender of a message that is still waiting is notified, once. 0: "
			"only senders who asked for it are notified (NOTIFY=DELAY, RFC "
			"3461), after four hours. Senders who declined it are not notified, nor is "
			"anybody when queuelifetime is over first.")),
	SETTING(ROOT, "doublebounceto", address, AT(config, doublebounceto), INITIAL("postmaster"),
		OF_MACHINE,
		MEANING("Who receives the bounces of bounces. A local part alone is at hostname; "
			"empty: they are dropped.")),
};

const size_t config_schema_bounces_count = COUNT_OF(config_schema_bounces);
