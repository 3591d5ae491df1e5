// SPDX-License-Identifier: ISC
#include "config/schema.h"

static const struct config_word sync_words[] = {
	{"auto", CONFIG_SYNC_AUTO},
	{"files", CONFIG_SYNC_FILES},
	{"filesystem", CONFIG_SYNC_FILESYSTEM},
	{"ordered", CONFIG_SYNC_ORDERED},
	{NULL, 0},
};
static const struct config_word bounce_words[] = {
	{"report", CONFIG_BOUNCE_REPORT}, {"qsbmf", CONFIG_BOUNCE_QSBMF}, {NULL, 0}};
static const struct config_word format_words[] = {
	{"logfmt", CONFIG_LOG_LOGFMT}, {"json", CONFIG_LOG_JSON}, {NULL, 0}};
static const struct config_word target_words[] = {
	{"stderr", CONFIG_LOG_STDERR}, {"syslog", CONFIG_LOG_SYSLOG}, {NULL, 0}};
static const struct config_word stage_words[] = {
	{"submit", MAIL_STAGE_SUBMIT}, {"arrive", MAIL_STAGE_ARRIVE}, {NULL, 0}};
static const struct config_word bare_newline_words[] = {
	{"auto", CONFIG_BARE_NEWLINE_AUTO},
	{"reject", CONFIG_BARE_NEWLINE_REJECT},
	{"normalize", CONFIG_BARE_NEWLINE_NORMALIZE},
	{NULL, 0},
};
static const struct config_word nul_words[] = {
	{"reject", CONFIG_NUL_REJECT}, {"remove", CONFIG_NUL_REMOVE}, {NULL, 0}};
static const struct config_word kind_words[] = {{"maildir", CONFIG_SERVICE_MAILDIR},
						{"lmtp", CONFIG_SERVICE_LMTP},
						{"pipe", CONFIG_SERVICE_PIPE},
						{NULL, 0}};
static const struct config_word backend_words[] = {{"sqlite", CONFIG_BACKEND_SQLITE},
						   {"postgresql", CONFIG_BACKEND_POSTGRESQL},
						   {"ldap", CONFIG_BACKEND_LDAP},
						   {"servers", CONFIG_BACKEND_SERVERS},
						   {NULL, 0}};

static const struct config_section_info sections[CONFIG_SECTION_COUNT] = {
	[CONFIG_SECTION_ROOT] = {"", "", "Settings outside of every section.",
				 sizeof(struct config)},
	[CONFIG_SECTION_LISTEN] = {"listen", "smtp or submission",
				   "Where mail is taken in, and by which protocol. "
				   "May be given several times.",
				   sizeof(struct config_listen)},
	[CONFIG_SECTION_SERVICE] = {"service", "NAME",
				    "A way to deliver mail on this machine. The name is 1 to 32 of "
				    "a-z, 0-9, '-' and '_', and not \"remote\" or \"list\".",
				    sizeof(struct config_service), "kind"},
	[CONFIG_SECTION_DOMAIN] = {"domain", "\"NAME\"",
				   "A mail domain whose mailboxes are on this machine.",
				   sizeof(struct config_domain)},
	[CONFIG_SECTION_STAGE] = {"stage", "remote, list or a service's NAME",
				  "How the mail of one queue is delivered. Every stage exists with "
				  "the defaults; a section is only needed to change them. That of "
				  "list sends on to the members of mailing lists.",
				  sizeof(struct config_stage)},
	[CONFIG_SECTION_PROCESS] =
		{"process", "NAME",
		 "One of the processes smtpd, resolve, remote, lmtp, local, pipe, "
		 "list and directory. Those that have the queue, queue and send, run as "
		 "setting user says.",
		 sizeof(struct config_process)},
	[CONFIG_SECTION_DIRECTORY] = {"directory", "",
				      "Where addresses, domains, lists and users are kept that are "
				      "not in this file, see stagepost-directory(7). Without this "
				      "section the domain sections are all there is; with it they "
				      "come first.",
				      sizeof(struct config_directory), "backend"},
};

#define SETTING(where, label, kind, ...)                                                       \
	{                                                                                      \
		.section = CONFIG_SECTION_##where, .name = label, .type = &config_type_##kind, \
		__VA_ARGS__                                                                    \
	}
#define AT(structure, field) .offset = offsetof(struct structure, field)
#define LIST(structure, values, count) \
	AT(structure, values), .count_offset = offsetof(struct structure, count)
#define INITIAL(text)      .initial = (text)
#define COMPUTED(text)     .computed = (text)
#define RANGE(least, most) .min = (least), .max = (most)
#define WORDS(list)        .words = (list)
#define KIND(name)         (1u << CONFIG_SERVICE_##name)
#define BACKEND(name)      (1u << CONFIG_BACKEND_##name)
#define KINDS(bits)        .kinds = (bits)
#define MEANING(text)      .meaning = (text)

/* Sections stand together, in the order of enum config_section. */
static const struct config_setting settings[] = {
	/* this machine */
	SETTING(ROOT, "hostname", host, AT(config, hostname),
		COMPUTED("the machine's host name, if it has a domain; otherwise it must be set"),
		MEANING("The name by which this machine is known in mail: in its greeting, in "
			"Received lines, and as the sender of its reports.")),
	SETTING(ROOT, "default_domain", host, AT(config, default_domain), INITIAL(""),
		MEANING("The domain of addresses that have none: of aliases, and of postmaster "
			"and user@[ADDRESS] of this host; where it is set, also of what users of "
			"this machine write, which have hostname otherwise. To be set where all "
			"domains are in the directory. Empty: hostname, if a section domain names "
			"it or there is no such section; otherwise the first of them.")),
	SETTING(ROOT, "queue", path, AT(config, queue), INITIAL("/var/spool/stagepost"),
		RANGE(1, 4000),
		MEANING("The directory of the queue. It must be on a local filesystem that keeps "
			"inode numbers and honours fsync(2).")),
	SETTING(ROOT, "run", path, AT(config, run), INITIAL("/run/stagepost"), RANGE(1, 90),
		MEANING("The directory of the sockets by which the processes talk to each "
			"other.")),
	SETTING(ROOT, "user", user, AT(config, user), INITIAL("stagepost"),
		MEANING("The user as whom the processes run when they are started by root, and "
			"who owns the queue; empty: the user is not changed. Has no effect "
			"otherwise. See also section process.")),
	SETTING(ROOT, "dns_server", server, AT(config, dns_server), INITIAL(""),
		MEANING("The name server for all queries; empty: the system's.")),
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
	SETTING(ROOT, "split", number, AT(config, split), INITIAL("23"), RANGE(1, 10000),
		MEANING("The number of subdirectories of each queue directory, for a queue that is "
			"made anew; an existing queue keeps its own. A prime is best.")),
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
		MEANING("Whether to go on, with a warning, on a filesystem that may lose mail.")),
	SETTING(ROOT, "spares", number, AT(config, spares), INITIAL("1000"), RANGE(0, 1000000),
		MEANING("How many files of finished messages are kept for new ones.")),
	SETTING(ROOT, "queuelifetime", duration, AT(config, queuelifetime_us), INITIAL("7d"),
		RANGE(0, 365 * 86400),
		MEANING("How long delivery is tried before a message is returned; 0: once.")),
	SETTING(ROOT, "rescan", duration, AT(config, rescan_us), INITIAL("25m"), RANGE(1, 86400),
		MEANING("How often the queue directories are read for mail that nobody "
			"announced.")),

	/* taking mail in */
	SETTING(ROOT, "relay_from", networks, LIST(config, relay_from, relay_from_count),
		INITIAL(""),
		MEANING("The clients that may send to any address. An address alone is a network "
			"of one.")),
	SETTING(ROOT, "own_addresses", networks, LIST(config, own_addresses, own_address_count),
		INITIAL(""),
		MEANING("Addresses of this host besides those that clients reach, such as the one "
			"in front of a translating router: mail for user@[ADDRESS] is local, that "
			"of default_domain.")),
	SETTING(ROOT, "maxsize", size, AT(config, maxsize), INITIAL("50M"),
		RANGE(1024, UINT64_C(1) << 36), MEANING("The largest message that is accepted.")),
	SETTING(ROOT, "nul", word, AT(config, nul), INITIAL("reject"), WORDS(nul_words),
		MEANING("What becomes of a message with a NUL, which RFC 5322 forbids and at which "
			"other programs cut messages off: it is refused, or the NULs are removed. "
			"It is never sent on with them.")),
	SETTING(ROOT, "allow_early_commands", boolean, AT(config, allow_early_commands),
		INITIAL("no"),
		MEANING("Whether a client may send commands before it may (RFC 2920): several at "
			"once without having heard an answer to EHLO, or data before it was told "
			"to go on. Otherwise its session is ended. Mail servers never do it; "
			"programs that blast mail and attacks do, and some scripts: clients in "
			"relay_from are borne with. A client that speaks HTTP is sent away in "
			"either case unless this is yes.")),
	SETTING(ROOT, "strict_addresses", boolean, AT(config, strict_addresses), INITIAL("no"),
		MEANING("Whether clients are held to the letter of RFC 5321 in MAIL, RCPT and "
			"their greeting. Otherwise what real clients send passes, too: addresses "
			"without angle brackets, dots in a row or at an end of a local part, and "
			"any name in HELO and EHLO, which is logged and told with a question mark "
			"for each odd character.")),
	SETTING(ROOT, "maxrecipients", number, AT(config, maxrecipients), INITIAL("1000"),
		RANGE(1, 100000), MEANING("The most recipients of one SMTP transaction.")),
	SETTING(ROOT, "maxhops", number, AT(config, maxhops), INITIAL("100"), RANGE(1, 10000),
		MEANING("The most Received lines of a message; more of them mean a loop.")),
	SETTING(ROOT, "maxerrors", number, AT(config, maxerrors), INITIAL("20"), RANGE(1, 10000),
		MEANING("After how many refused commands a session is ended.")),
	SETTING(ROOT, "maxcommands", number, AT(config, maxcommands), INITIAL("100"),
		RANGE(1, 1000000),
		MEANING("After how many commands that bring no message nearer (such as NOOP and "
			"RSET) a session is ended. Each message counts them anew.")),
	SETTING(ROOT, "maxsessions", number, AT(config, maxsessions), INITIAL("10000"),
		RANGE(1, 1000000),
		MEANING("The most SMTP sessions at once, of all workers. When there are so many, "
			"the client that did nothing useful for longest has to give its place to "
			"the next one.")),
	SETTING(ROOT, "maxsessions_client", number, AT(config, maxsessions_client), INITIAL("50"),
		RANGE(0, 1000000),
		MEANING("The most SMTP sessions at once of one IPv4 address or IPv6 network of 64 "
			"bits, in each worker; one more is answered with 421. Clients in "
			"relay_from have no such bound. 0: nobody has.")),
	SETTING(ROOT, "smtpd_workers", number, AT(config, smtpd_workers), INITIAL("2"),
		RANGE(1, 256), MEANING("The number of SMTP server processes.")),
	SETTING(ROOT, "smtp_timeout", seconds, AT(config, smtp_timeout), INITIAL("5m"),
		RANGE(1, 86400), MEANING("How long the server waits for a command.")),
	SETTING(ROOT, "smtp_data_timeout", seconds, AT(config, smtp_data_timeout), INITIAL("3m"),
		RANGE(1, 86400),
		MEANING("How long the server waits for the next part of a message.")),
	SETTING(ROOT, "smtp_min_rate", number, AT(config, smtp_min_rate), INITIAL("500"),
		RANGE(0, 1000000),
		MEANING("The bytes per second that a client must send in the long run: for a whole "
			"command or message it has the timeout and what it takes at this rate. 0: "
			"any byte is enough.")),

	SETTING(ROOT, "proxy_from", networks, LIST(config, proxy_from, proxy_from_count),
		COMPUTED("127.0.0.0/8 and ::1/128"),
		MEANING("The proxies that are believed whom they name as their client, at "
			"listeners "
			"with proxy = yes. Connections from other addresses are closed there.")),
	SETTING(ROOT, "proxy_timeout", seconds, AT(config, proxy_timeout), INITIAL("5s"),
		RANGE(1, 3600), MEANING("How long a proxy may take to name its client.")),

	/* sending mail on */
	SETTING(ROOT, "smtproutes", routes, LIST(config, smtproutes, smtproute_count), INITIAL(""),
		MEANING("Where mail for a domain goes instead of to its MX hosts. The domain may "
			"be "
			"a name, \".NAME\" for its subdomains, empty for all other mail, or "
			"\"!\" or \"!@\" for mail with the empty sender. An empty relay means the "
			"MX hosts "
			"after all. The name decides first, then the longest suffix.")),
	SETTING(ROOT, "remote_connect_timeout", seconds, AT(config, remote_connect_timeout),
		INITIAL("1m"), RANGE(1, 3600),
		MEANING("How long to wait for a connection to another mail server.")),
	SETTING(ROOT, "probe_delay", duration, AT(config, probe_delay_us), INITIAL("1m"),
		RANGE(1, 86400),
		MEANING("When a host that could not be reached is tried again, with one message "
			"of those that wait for it. The delay is doubled with each attempt in "
			"vain, up to thirty times itself. Mail waits no longer than that once "
			"the host is back.")),
	SETTING(ROOT, "remote_timeout", seconds, AT(config, remote_timeout), INITIAL("10m"),
		RANGE(1, 86400), MEANING("How long to wait for another mail server's reply.")),
	SETTING(ROOT, "convert_8bit", boolean, AT(config, convert_8bit), INITIAL("yes"),
		MEANING("Whether messages with 8-bit data are converted to quoted-printable or "
			"base64 for servers, LMTP servers too, that do not offer 8BITMIME. What "
			"is signed or encrypted is not converted but bounces; a DKIM signature "
			"does not survive it. With no, such servers are sent 8-bit data.")),
	SETTING(ROOT, "stop_timeout", seconds, AT(config, stop_timeout), INITIAL("11m"),
		RANGE(1, 86400),
		MEANING("How long a stop waits for deliveries that are past the point where they "
			"could be done again without a duplicate: for a server that has a whole "
			"message and has not answered yet, and for a program that runs. RFC 5321 "
			"gives such a server ten minutes. All else is given up at once, and tried "
			"again after the next start. The service manager must wait longer.")),

	/* bounces */
	SETTING(ROOT, "bouncefrom", local_part, AT(config, bouncefrom), INITIAL("MAILER-DAEMON"),
		MEANING("The local part of the address in a bounce's From line.")),
	SETTING(ROOT, "bouncemaxbytes", size, AT(config, bouncemaxbytes), INITIAL("50K"),
		RANGE(0, UINT64_C(1) << 36),
		MEANING("How large a bounce may be: of the message as much is returned as fits, "
			"and long reasons are cut where that is not enough. Each recipient is "
			"named in it, even where that alone is more. 0: no bound.")),
	SETTING(ROOT, "bounceformat", word, AT(config, bounceformat), INITIAL("report"),
		WORDS(bounce_words),
		MEANING("How a failure is reported. report: RFC 3464, with a text part for people "
			"in the form of QSBMF. qsbmf: QSBMF and nothing else, as qmail writes it: "
			"the text is the body, and the message, after its Return-Path, is the end "
			"of it. Delays and successes alone are always reported by RFC 3464.")),
	SETTING(ROOT, "delaynotice", duration, AT(config, delaynotice_us), INITIAL("0"),
		RANGE(0, 365 * 86400),
		MEANING("When the sender of a message that is still waiting is told so, once. 0: "
			"only those senders are told who have asked for it (NOTIFY=DELAY, RFC "
			"3461), after four hours. Nobody is told who has declined it, and not when "
			"queuelifetime is over first.")),
	SETTING(ROOT, "doublebounceto", address, AT(config, doublebounceto), INITIAL("postmaster"),
		MEANING("Who receives the bounces of bounces. A local part alone is at hostname; "
			"empty: they are dropped.")),

	SETTING(LISTEN, "address", endpoints, LIST(config_listen, addresses, address_count),
		MEANING("The addresses and ports; an IPv6 address takes no IPv4 clients.")),
	SETTING(LISTEN, "stage", word, AT(config_listen, stage), WORDS(stage_words),
		COMPUTED("arrive for smtp, submit for submission"),
		MEANING("The queue in which mail from here begins.")),
	SETTING(LISTEN, "proxy", boolean, AT(config_listen, proxy), INITIAL("no"),
		MEANING("Whether the connections come from a proxy that names its client in a "
			"PROXY header, version 1 or 2 (HAProxy's send-proxy). See proxy_from.")),
	SETTING(LISTEN, "bare_newline", word, AT(config_listen, bare_newline), INITIAL("auto"),
		WORDS(bare_newline_words),
		MEANING("What becomes of a message in which a CR or LF stands alone, which others "
			"may take for a line end: with that, a second message can be smuggled "
			"inside of one. reject refuses it. normalize makes an LF a line end, and a "
			"CR a space, or nothing before a line end. auto is normalize for "
			"submission and for clients in relay_from, whose programs often write such "
			"lines, and reject for all others. Only CR LF, a dot and CR LF end a "
			"message in any case.")),

	SETTING(SERVICE, "kind", word, AT(config_service, kind), WORDS(kind_words),
		MEANING("What the service does.")),
	SETTING(SERVICE, "path", mailbox_path, AT(config_service, path), KINDS(KIND(MAILDIR)),
		MEANING("The Maildir of a mailbox. %d is its domain, %u its local part, %% a "
			"percent sign. All that the process that delivers may touch is beneath "
			"the directory that the path names before its first %: a symbolic link "
			"that leads elsewhere is not followed, and mail waits.")),
	SETTING(SERVICE, "address", endpoint, AT(config_service, address), KINDS(KIND(LMTP)),
		MEANING("The LMTP server (RFC 2033).")),
	SETTING(SERVICE, "command", arguments, LIST(config_service, command, command_count),
		KINDS(KIND(PIPE)),
		MEANING("The program that is run for each recipient, and its arguments. No shell "
			"is involved, and an expansion stays within its argument. %a is the "
			"recipient's address, %u its local part without extension, %x the "
			"extension (behind the first +), %d the domain, %s the sender, %% a "
			"percent sign; %u, %x and %d can also be parts of a path. An argument "
			"that would begin with a hyphen only by what was filled in is refused: "
			"the recipient fails. The message is on standard input, with LF lines "
			"and with Return-Path and Delivered-To in front. The environment holds "
			"PATH, SENDER, RECIPIENT, LOCAL, EXTENSION, DOMAIN, QUEUE_ID, SHELL, and "
			"with user also HOME, USER and LOGNAME; the directory is /, the umask "
			"077. Exit status 0 means delivered. 64 to 70, 73, 76, 77 and 100 mean "
			"that the recipient has failed, see sysexits.h; every other status, a "
			"signal included, that the delivery is tried again. What the program "
			"prints is told in the log and in the bounce, and may begin with an "
			"enhanced status code of its own.")),
	SETTING(SERVICE, "user", owner, AT(config_service, user), INITIAL(""),
		KINDS(KIND(MAILDIR) | KIND(PIPE)),
		MEANING("As whom the service delivers: a user, or %u for the one who is called "
			"like the recipient's local part; empty: as the user of the whole. Takes "
			"effect only when Stagepost is started by root; otherwise it must be the "
			"user who started it, or mail waits. Nothing is delivered as root. pipe: "
			"a user as whom no process of Stagepost runs, so it must be set where "
			"setting user is not empty; the program has no other groups than his.")),
	SETTING(SERVICE, "timeout", seconds, AT(config_service, timeout), INITIAL("5m"),
		RANGE(1, 86400), KINDS(KIND(LMTP) | KIND(PIPE)),
		MEANING("lmtp: how long to wait for a reply, twice as long for the last. pipe: "
			"how long the program may run; then it is killed, with all of its process "
			"group, and the delivery tried again.")),
	SETTING(SERVICE, "output_max", size, AT(config_service, output_max), INITIAL("1K"),
		RANGE(0, 65536), KINDS(KIND(PIPE)),
		MEANING("How much of a program's output is kept; the rest is thrown away.")),

	SETTING(DOMAIN, "service", service, AT(config_domain, service),
		MEANING("The service that delivers the domain's mail.")),
	SETTING(DOMAIN, "addresses", local_parts, LIST(config_domain, addresses, address_count),
		INITIAL(""),
		MEANING("The local parts that exist, in any case. Without this setting every one "
			"does.")),

	SETTING(STAGE, "concurrency", number, AT(config_stage, concurrency), INITIAL("100"),
		RANGE(1, 65000), MEANING("The most deliveries at once.")),
	SETTING(STAGE, "destination_concurrency", number, AT(config_stage, destination_concurrency),
		INITIAL("20"), RANGE(1, 65000),
		MEANING("The most deliveries at once to one host, or to one domain of a service.")),
	SETTING(STAGE, "paused", boolean, AT(config_stage, paused), INITIAL("no"),
		MEANING("Whether to keep the stage's mail and try nothing.")),

	SETTING(PROCESS, "user", user, AT(config_process, user), INITIAL(""),
		MEANING("The user as whom the process runs when it is started by root; empty: "
			"the one of the whole. With a user of its own it has no rights on the "
			"queue's files; the queue's directory is closed to its group then. It "
			"also has the groups of its user, and the one by which the processes "
			"reach each other's sockets. Maildirs belong to the user of local, unless "
			"their service has one.")),

	SETTING(DIRECTORY, "backend", word, AT(config_directory, backend), INITIAL("sqlite"),
		WORDS(backend_words),
		MEANING("What keeps the data: a file of SQLite on this machine, PostgreSQL, "
			"LDAP, or other Stagepost directory servers.")),
	SETTING(DIRECTORY, "path", path, AT(config_directory, path),
		INITIAL("/var/lib/stagepost/directory.db"), RANGE(1, 4000),
		KINDS(BACKEND(SQLITE) | BACKEND(LDAP)),
		MEANING("The database's file; it is made where there is none, and other files "
			"beside it. ldap: a copy of what the LDAP servers said, by which a "
			"restart goes on.")),
	SETTING(DIRECTORY, "database", texts, LIST(config_directory, database, database_count),
		KINDS(BACKEND(POSTGRESQL)),
		MEANING("Connection strings of libpq, one for each server: the first that answers "
			"is read, whichever is the primary is changed.")),
	SETTING(DIRECTORY, "url", urls, LIST(config_directory, urls, url_count),
		KINDS(BACKEND(LDAP)), MEANING("The LDAP servers; the first that answers is used.")),
	SETTING(DIRECTORY, "bind_dn", text, AT(config_directory, bind_dn), INITIAL(""),
		KINDS(BACKEND(LDAP)),
		MEANING("As whom the LDAP servers are read; empty: as nobody.")),
	SETTING(DIRECTORY, "base", text, AT(config_directory, base), KINDS(BACKEND(LDAP)),
		MEANING("The entry beneath which everything is.")),
	SETTING(DIRECTORY, "password_file", optional_path, AT(config_directory, password_file),
		INITIAL(""), RANGE(0, 4000), KINDS(BACKEND(LDAP)),
		MEANING("The file whose first line is the password of bind_dn.")),
	SETTING(DIRECTORY, "map", mappings, LIST(config_directory, map, map_count), INITIAL(""),
		KINDS(BACKEND(LDAP)),
		MEANING("Which LDAP attributes are which fields, where the defaults do not fit; "
			"see stagepost-directory-ldap(7).")),
	SETTING(DIRECTORY, "servers", servers, LIST(config_directory, servers, server_count),
		KINDS(BACKEND(SERVERS)),
		MEANING("The directory servers that are asked; the first that answers is used. "
			"They and this one show each other their certificates.")),
	SETTING(DIRECTORY, "listen", endpoints, LIST(config_directory, listens, listen_count),
		INITIAL(""),
		MEANING("Where other machines may ask, by TLS, with a certificate that is named "
			"in readers or changers.")),
	SETTING(DIRECTORY, "socketmap", endpoints,
		LIST(config_directory, socketmaps, socketmap_count), INITIAL(""),
		MEANING("Where other mail systems may ask by the socketmap protocol. Whoever "
			"reaches this address may read.")),
	SETTING(DIRECTORY, "certificate", optional_path, AT(config_directory, certificate),
		INITIAL(""), RANGE(0, 4000),
		MEANING("The file, in PEM form, of the certificate by which this machine shows "
			"who it is, and of those between it and the authority.")),
	SETTING(DIRECTORY, "key", optional_path, AT(config_directory, key), INITIAL(""),
		RANGE(0, 4000), MEANING("The file of the certificate's private key.")),
	SETTING(DIRECTORY, "authority", optional_path, AT(config_directory, authority), INITIAL(""),
		RANGE(0, 4000),
		MEANING("The file of the certificates of who must have signed those of others.")),
	SETTING(DIRECTORY, "readers", names, LIST(config_directory, readers, reader_count),
		INITIAL(""),
		MEANING("The names of certificates (subjectAltName, or else common name) whose "
			"owners may read all but passwords.")),
	SETTING(DIRECTORY, "changers", names, LIST(config_directory, changers, changer_count),
		INITIAL(""), MEANING("The names of those who may read all, and change it.")),
	SETTING(DIRECTORY, "aliases", texts, LIST(config_directory, aliases, alias_count),
		COMPUTED("/etc/aliases"),
		MEANING("The files that newaliases reads into the directory.")),
	SETTING(DIRECTORY, "ttl", duration, AT(config_directory, ttl_us), INITIAL("1h"),
		RANGE(0, 7 * 86400),
		MEANING("How long an answer may be used by whoever got it while he cannot be told "
			"that it has changed.")),
	SETTING(DIRECTORY, "negative_ttl", duration, AT(config_directory, negative_ttl_us),
		INITIAL("5m"), RANGE(0, 7 * 86400),
		MEANING("The same for the answer that something does not exist.")),
};

const struct config_section_info *config_section_info(enum config_section section)
{
	return &sections[section];
}

enum config_section config_section_find(struct str name)
{
	for (unsigned i = CONFIG_SECTION_LISTEN; i < CONFIG_SECTION_COUNT; i++)
		if (str_equal(name, str_from(sections[i].name)))
			return (enum config_section)i;
	return CONFIG_SECTION_COUNT;
}

const struct config_setting *config_section_settings(enum config_section section, size_t *count_out)
{
	size_t first = 0;
	size_t end;

	while (first < COUNT_OF(settings) && settings[first].section != section)
		first++;
	for (end = first; end < COUNT_OF(settings) && settings[end].section == section; end++)
		continue;
	*count_out = end - first;
	return settings + first;
}
