// SPDX-License-Identifier: ISC
/* The settings of the sections, grouped by section, but for those that have a file of their own. */
#include "config/schema/row.h"

static const struct config_word service_tls_words[] = {{"none", CONFIG_TLS_NONE},
						       {"may", CONFIG_TLS_MAY},
						       {"encrypt", CONFIG_TLS_ENCRYPT},
						       {"verify", CONFIG_TLS_VERIFY},
						       {NULL, 0}};
static const struct config_word kind_words[] = {{"maildir", CONFIG_SERVICE_MAILDIR},
						{"mbox", CONFIG_SERVICE_MBOX},
						{"lmtp", CONFIG_SERVICE_LMTP},
						{"pipe", CONFIG_SERVICE_PIPE},
						{"mailbox", CONFIG_SERVICE_MAILBOX},
						{"imap", CONFIG_SERVICE_IMAP},
						{NULL, 0}};
static const struct config_word class_count_words[] = {
	{"active", CONFIG_CLASS_COUNT_ACTIVE}, {"all", CONFIG_CLASS_COUNT_OPEN}, {NULL, 0}};
static const struct config_word over_quota_words[] = {
	{"defer", CONFIG_OVER_QUOTA_DEFER}, {"refuse", CONFIG_OVER_QUOTA_REFUSE}, {NULL, 0}};

static const struct config_word sent_words[] = {{"none", CONFIG_SENT_NONE},
						{"local", CONFIG_SENT_LOCAL},
						{"all", CONFIG_SENT_ALL},
						{NULL, 0}};
static const struct config_word security_words[] = {{"plain", CONFIG_IMAP_PLAIN},
						    {"starttls", CONFIG_IMAP_STARTTLS},
						    {"implicit", CONFIG_IMAP_IMPLICIT},
						    {NULL, 0}};

static void check_service_certificate(const struct config_row_check *check)
{
	const struct config_service *service = check->base;

	config_complain_if(check,
			   service->certificate != NULL && *service->certificate != '\0' &&
				   config_certificate_find(check->config,
							   str_from(service->certificate)) == NULL,
			   "there is no such section certificate",
			   "the name of a section certificate");
}

static void check_transport_nodes(const struct config_row_check *check)
{
	const struct config_transport *transport = check->base;

	config_complain_if(check,
			   transport->nodes != NULL && *transport->nodes != '\0' &&
				   strcmp(transport->name, "remote") != 0,
			   "only remote has nodes here", "for a service, nodes in its own section");
}

const struct config_setting config_schema_section[] = {
	SETTING(SERVICE, "kind", word, AT(config_service, kind), WORDS(kind_words),
		MEANING("What the service does. maildir: delivers to Maildirs. mbox: delivers to "
			"files, to the end of which messages are added, as in /var/mail. lmtp: "
			"passes mail to an LMTP server. pipe: runs a program. mailbox and imap: "
			"file each message once, in Maildirs or at an IMAP server, see "
			"stagepost-record(5).")),
	SETTING(SERVICE, "nodes", node_group, AT(config_service, nodes), INITIAL(""),
		MEANING("The group of nodes that deliver the service's mail, which is handed over "
			"to them; empty, or a group that this node is in: this one does.")),
	SETTING(SERVICE, "path", mailbox_path, AT(config_service, path),
		KINDS(KIND(MAILDIR) | KIND(MBOX) | KIND(MAILBOX)),
		MEANING("The Maildir of a mailbox, or its file. %d is its domain, %u its local "
			"part without extension, %% a percent sign. The delivering process can "
			"access only what is below the directory in the path before its first %: "
			"a symbolic link that leads elsewhere is not followed, and mail waits. "
			"mbox: the file must be the user's, have one name and be no symbolic "
			"link; otherwise its mail waits (4.3.0, event mailbox_refused). A new "
			"file has mode 0600. Both it and the lock files beside it (NAME.lock) get "
			"the group of the directory before the first %, if that group may write "
			"there, as group mail may in /var/mail.")),
	SETTING(SERVICE, "quota", quota, AT(config_service, quota), INITIAL(""),
		KINDS(KIND(MAILDIR) | KIND(MAILBOX)),
		MEANING("The limit of a mailbox: bytes, with K, M, G or T; after a comma the "
			"number of messages: 1G, 500M,10000. A record of the directory may have "
			"another one in its field quota. none: only mailboxes whose record has "
			"one. Empty: no quotas. The usage of the mailbox with all of its folders "
			"is stored in its file maildirsize, as in Maildir++; Dovecot's quota "
			"backend maildir shares this file. While the directory does not answer, "
			"mail is delivered without a quota check.")),
	SETTING(SERVICE, "over_quota", word, AT(config_service, over_quota), INITIAL("defer"),
		WORDS(over_quota_words), KINDS(KIND(MAILDIR) | KIND(MAILBOX) | KIND(IMAP)),
		MEANING("What happens to mail for which a mailbox has no room: defer tries again "
			"later (4.2.2), refuse bounces it (5.2.2). A message that is larger than "
			"the quota is bounced in any case (5.2.3). imap: the server has the "
			"quotas, and answers OVERQUOTA. The sender's copy in sent_folder is left "
			"out if there is no room for it, which is logged; recipients get "
			"theirs.")),
	SETTING(SERVICE, "address", endpoint, AT(config_service, address),
		KINDS(KIND(LMTP) | KIND(IMAP)),
		MEANING("The LMTP server (RFC 2033), or the IMAP server (RFC 3501).")),
	SETTING(SERVICE, "servers", reaches, LIST(config_service, servers, server_count),
		INITIAL(""), KINDS(KIND(LMTP)),
		MEANING("The LMTP servers that records of the directory's table server may name "
			"in their field address, beside the one of setting address. Mail for a "
			"server that is not among them waits, so that a change of the directory "
			"alone cannot direct mail to any host. A name is looked up in the DNS at "
			"each delivery, and the answer is trusted.")),
	SETTING(SERVICE, "command", arguments, LIST(config_service, command, command_count),
		KINDS(KIND(PIPE)),
		MEANING("The program that is run for each recipient, and its arguments. No shell "
			"is involved, and an expansion stays within its argument. %a is the "
			"recipient's address, %u its local part without extension, %x the "
			"extension, %d the domain, %s the sender, %% a "
			"percent sign; %u, %x and %d can also be parts of a path. An argument "
			"that begins with a hyphen only after expansion is refused: the recipient "
			"fails. The message is on standard input, with LF lines and with "
			"Return-Path, Delivered-To and X-Stagepost-Loop in front. The environment "
			"holds PATH, "
			"SENDER, RECIPIENT, LOCAL, EXTENSION, DOMAIN, QUEUE_ID, SHELL, and with "
			"user also HOME, USER and LOGNAME; the directory is /, the umask 077. "
			"Exit status 0 means delivered. 64 to 70, 73, 76, 77 and 100 mean that "
			"the recipient has failed, see sysexits.h; every other status, a signal "
			"included, that the delivery is tried again. What the program prints is "
			"in the log and in the bounce, and may begin with an enhanced status code "
			"of its own.")),
	SETTING(SERVICE, "user", owner, AT(config_service, user), INITIAL(""),
		KINDS(KIND(MAILDIR) | KIND(MBOX) | KIND(PIPE)),
		MEANING("The user to deliver as: a name, or %u for the user of the recipient's "
			"local part; empty: setting user. Takes effect only when Stagepost is "
			"started by root; otherwise it must be the user who started it, or mail "
			"waits. Nothing is delivered as root. With %u a recipient who is no user "
			"of this machine (getpwnam(3)), or none between uid_min and uid_max, is "
			"refused (5.1.1); but a postmaster is not, whose mail goes to the "
			"postmaster of this node. Users are looked up for each message, without a "
			"cache; if that fails, or takes more than ten seconds, mail waits "
			"(4.3.0). Their files .forward are not read: records of the directory can "
			"forward. pipe: a user as which no process of "
			"Stagepost runs, so it must be set unless setting user is empty; the "
			"program has only the groups of that user.")),
	SETTING(SERVICE, "lock_timeout", seconds, AT(config_service, lock_timeout), INITIAL("10s"),
		RANGE(0, 3600), KINDS(KIND(MBOX)),
		MEANING("How long a message waits for a mailbox that another program has locked, "
			"before it is deferred (4.2.0); other mailboxes do not wait for it. Both "
			"locks of Debian's policy are taken: fcntl(2), then the lock file, which "
			"counts as abandoned when it is five minutes old.")),
	SETTING(SERVICE, "xforward", boolean, AT(config_service, xforward), INITIAL("no"),
		KINDS(KIND(LMTP)),
		MEANING("Whether the client of a message is reported to the server by XFORWARD, if "
			"it offers that. See also xforward_to.")),
	SETTING(SERVICE, "timeout", seconds, AT(config_service, timeout), INITIAL("5m"),
		RANGE(1, 86400), KINDS(KIND(LMTP) | KIND(PIPE) | KIND(IMAP)),
		MEANING("lmtp: how long to wait for a reply, twice as long for the one after a "
			"message. imap: for the answer to a command. pipe: how long the program "
			"may run; then it is killed, with all of its process group, and the "
			"delivery tried again.")),
	SETTING(SERVICE, "output_max", size, AT(config_service, output_max), INITIAL("1K"),
		RANGE(0, 65536), KINDS(KIND(PIPE)),
		MEANING("How much of a program's output is kept; the rest is discarded.")),

	SETTING(SERVICE, "tls", word, AT(config_service, tls), INITIAL("none"),
		WORDS(service_tls_words), KINDS(KIND(LMTP)),
		MEANING("How connections to the LMTP servers are protected, by STARTTLS: see "
			"remote_tls. verify: for the server's name, or its address, which must be "
			"in the certificate's subjectAltName.")),
	SETTING(SERVICE, "authority", optional_path, AT(config_service, authority), INITIAL(""),
		RANGE(0, 4000), KINDS(KIND(LMTP) | KIND(IMAP)),
		MEANING("The file, in PEM form, of the authorities that sign the servers' "
			"certificates; empty: tls_authorities.")),
	SETTING(SERVICE, "certificate", text, AT(config_service, certificate), INITIAL(""),
		KINDS(KIND(LMTP)), CHECK(check_service_certificate),
		MEANING("The section certificate that is presented to the LMTP servers; empty: "
			"none.")),

	SETTING(SERVICE, "sent", word, AT(config_service, sent), INITIAL("local"),
		WORDS(sent_words), KINDS(KIND(MAILBOX) | KIND(IMAP)),
		MEANING("Whose messages are also filed in the sender's folder sent_folder, once "
			"for each message however many recipients it has. local: if the first "
			"address of the field From is in a domain of this system; all: in any "
			"domain; none. The field is not verified. Reports and mail of lists (the "
			"null sender, Auto-Submitted, List-Id, Precedence) are not filed there.")),
	SETTING(SERVICE, "sent_folder", text, AT(config_service, sent_folder), INITIAL("Sent"),
		RANGE(1, 255), KINDS(KIND(MAILBOX) | KIND(IMAP)),
		MEANING("The folder for the sender's copy, in UTF-8, with / between levels. Where "
			"it "
			"is refused, that copy is left out and logged (sent_given_up): the "
			"recipients have theirs.")),
	SETTING(SERVICE, "folder", text, AT(config_service, folder), INITIAL("INBOX"),
		RANGE(1, 255), KINDS(KIND(MAILBOX) | KIND(IMAP)),
		MEANING("The folder for recipients' copies, likewise.")),
	SETTING(SERVICE, "detail_folders", boolean, AT(config_service, detail_folders),
		INITIAL("no"), KINDS(KIND(MAILBOX) | KIND(IMAP)),
		MEANING("Whether mail to an address with an extension goes to the folder of that "
			"name, which is created if it is missing: user+lists to lists, and "
			"user+Lists "
			"to Lists, which is another one. Where the "
			"extension cannot be a folder's name, because it has a dot, for example, "
			"or the mailbox refuses that folder, setting folder applies; so it does "
			"when mail has made 32 folders of the mailbox within a day. See "
			"recipient_delimiter.")),
	SETTING(SERVICE, "flags", texts, LIST(config_service, flags, flag_count), INITIAL(""),
		KINDS(KIND(MAILBOX) | KIND(IMAP)),
		MEANING("The flags with which recipients' copies are filed: seen, flagged, "
			"draft.")),
	SETTING(SERVICE, "security", word, AT(config_service, security), INITIAL("starttls"),
		WORDS(security_words), KINDS(KIND(IMAP)),
		MEANING("How connections to the IMAP server are protected: starttls and implicit "
			"demand TLS and a certificate for the server's name, plain does not use "
			"TLS, even for passwords.")),
	SETTING(SERVICE, "login", text, AT(config_service, login), KINDS(KIND(IMAP)),
		MEANING("The name to log in as. %a is the mailbox's address, %u its local part "
			"without extension, %d its domain, %% a percent sign: \"%a*master\" for a "
			"master user of Dovecot.")),
	SETTING(SERVICE, "password_file", path, AT(config_service, password_file), RANGE(1, 4000),
		KINDS(KIND(IMAP)),
		MEANING("The file whose first line is the password of that login.")),
	SETTING(SERVICE, "server_name", text, AT(config_service, server_name), INITIAL(""),
		RANGE(0, 255), KINDS(KIND(IMAP)),
		MEANING("The name that the IMAP server's certificate must be for; empty: its "
			"address.")),
	SETTING(SERVICE, "prefix", text, AT(config_service, prefix), INITIAL(""), RANGE(0, 100),
		KINDS(KIND(IMAP)),
		MEANING("What the IMAP server wants before the names of folders other than INBOX "
			"(\"INBOX.\"); empty: what the server says of itself (NAMESPACE, RFC "
			"2342), "
			"if it does.")),

	SETTING(DOMAIN, "service", service, AT(config_domain, service),
		MEANING("The service that delivers the domain's mail.")),
	SETTING(DOMAIN, "addresses", local_parts, LIST(config_domain, addresses, address_count),
		INITIAL(""),
		MEANING("The local parts that exist, ignoring case, UTF-8 included. Without this "
			"setting every one exists.")),

	SETTING(TRANSPORT, "concurrency", number, AT(config_transport, concurrency), INITIAL("100"),
		RANGE(1, 65000), MEANING("The maximum number of concurrent deliveries.")),
	SETTING(TRANSPORT, "destination_concurrency", number,
		AT(config_transport, destination_concurrency), INITIAL("20"), RANGE(1, 65000),
		MEANING("The maximum number of concurrent deliveries to one host, or to one "
			"domain of a service.")),
	SETTING(TRANSPORT, "paused", boolean, AT(config_transport, paused), INITIAL("no"),
		MEANING("Whether to keep the transport's mail and attempt no delivery.")),
	SETTING(TRANSPORT, "nodes", node_group, AT(config_transport, nodes), INITIAL(""),
		CHECK(check_transport_nodes),
		MEANING("Of remote: the group of nodes that send its mail, which is handed over to "
			"them; empty, or a group that this node is in: this one does. A service "
			"has a setting of its own.")),

	SETTING(PROCESS, "user", user, AT(config_process, user), INITIAL(""),
		MEANING("The user that the process runs as when it is started by root; empty: "
			"setting user. With a user of its own it has no access to the queue's "
			"files; the queue directory is then closed to its group. It also has the "
			"groups of its user, and the one by which the processes reach each "
			"other's sockets. Maildirs belong to the user of local, unless their "
			"service has one.")),

	SETTING(CERTIFICATE, "chain", path, AT(config_certificate, chain), RANGE(1, 4000),
		MEANING("The file, in PEM form, of the certificate, followed by the intermediate "
			"certificates.")),
	SETTING(CERTIFICATE, "key", optional_path, AT(config_certificate, key), INITIAL(""),
		RANGE(0, 4000),
		MEANING("The file of the private key, in PEM form, without a passphrase; empty: "
			"it is in the file of the chain. Only the process keys reads it.")),
	SETTING(CERTIFICATE, "names", tls_names, LIST(config_certificate, names, name_count),
		INITIAL(""),
		MEANING("The names that clients ask for to get this certificate (SNI); \"*.NAME\" "
			"matches exactly one label more. Without this setting, those in the "
			"certificate.")),

	SETTING(CLASS, "queue", number, AT(config_class, queue), RANGE(1, 1000000),
		MEANING("With so many sessions of the class, in and out together, no further one "
			"is begun to deliver mail: mail waits. If queue is lower than refuse, "
			"outgoing mail is held back first.")),
	SETTING(CLASS, "refuse", number, AT(config_class, refuse), RANGE(1, 1000000),
		MEANING("With so many sessions of the class, in and out together, a further client "
			"is refused with 421; by QMTP and QMQP it is disconnected.")),
	SETTING(CLASS, "count", word, AT(config_class, count), INITIAL("active"),
		WORDS(class_count_words),
		MEANING("Which outgoing connections are counted: active: those in use; all: also "
			"idle ones that are kept for more mail.")),
	SETTING(CLASS, "source", text, AT(config_class, source), INITIAL(""),
		MEANING("The section source for connections to servers of the class; empty: that "
			"of "
			"setting source.")),

	SETTING(SOURCE, "addresses", addresses, LIST(config_source, addresses, address_count),
		MEANING("The addresses. One that this machine does not have is skipped.")),
	SETTING(SOURCE, "hostname", host, AT(config_source, hostname),
		COMPUTED("that of setting hostname"),
		MEANING("The name in the greeting to servers (EHLO), which should be that of the "
			"addresses in the DNS.")),
};

const size_t config_schema_section_count = COUNT_OF(config_schema_section);
