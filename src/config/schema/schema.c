// SPDX-License-Identifier: ISC
/* The sections, and the settings of each. */
#include "config/schema/row.h"

static const struct config_section_info sections[CONFIG_SECTION_COUNT] = {
	[CONFIG_SECTION_ROOT] = {"", "", "Settings outside of every section.",
				 sizeof(struct config)},
	[CONFIG_SECTION_LISTEN] = {"listen", "smtp, submission, lmtp, qmtp or qmqp",
				   "Where mail is accepted, and by which protocol. May be given "
				   "several times.",
				   sizeof(struct config_listen)},
	[CONFIG_SECTION_SERVICE] = {"service", "NAME",
				    "A way to deliver mail on this machine. The name is 1 to 32 of "
				    "a-z, 0-9, '-' and '_', and not \"remote\", \"list\", "
				    "\"resolve\", \"handover\", \"submit\" or \"arrive\".",
				    sizeof(struct config_service), "kind"},
	[CONFIG_SECTION_DOMAIN] = {"domain", "\"NAME\"",
				   "A mail domain whose mailboxes are on this machine; an "
				   "internationalized name is written in UTF-8 or as A-labels "
				   "(xn--), which is the same.",
				   sizeof(struct config_domain)},
	[CONFIG_SECTION_TRANSPORT] =
		{"transport", "remote, list, a stage or a service's NAME",
		 "How many deliveries run at a time: to other hosts (remote), to the members of "
		 "mailing lists (list), or by a service; or, of a stage, how many messages are "
		 "handed over at a time to the nodes that look up their recipients. Every "
		 "transport exists with the defaults; "
		 "a section is only needed to change them.",
		 sizeof(struct config_transport)},
	[CONFIG_SECTION_PROCESS] =
		{"process", "NAME",
		 "One of the processes smtpd, qmtpd, names, keys, policy, auth, resolve, remote, "
		 "lmtp, local, mailbox, decode, pipe, list, directory, handover and noded. Those "
		 "that own the "
		 "queue, queue and send, run as setting user says.",
		 sizeof(struct config_process)},
	[CONFIG_SECTION_CERTIFICATE] =
		{"certificate", "NAME",
		 "A certificate with its private key. Servers present it: the first one by "
		 "default, "
		 "another one to clients that ask for a name that it has. Their files are watched, "
		 "and taken up within ten seconds when they change. The name is 1 to 32 of a-z, "
		 "0-9, '-' and '_'.",
		 sizeof(struct config_certificate)},
	[CONFIG_SECTION_TLS] =
		{"tls", "\"DESTINATION\"",
		 "How mail for a destination is protected on its way to other servers: a domain, "
		 "\".NAME\" for the subdomains of one, or the relay of a route, as a name or "
		 "\"[ADDRESS]\". For mail that goes to a relay, the relay's section counts, "
		 "else that of the domain, an exact name before the longest suffix. Destinations "
		 "without a section have what their DNS says (settings dane, mta_sts), or else "
		 "setting remote_tls.",
		 sizeof(struct config_tls_policy)},
	[CONFIG_SECTION_CLASS] =
		{"class", "\"MASK\"",
		 "A limit on the SMTP, LMTP, QMTP and QMQP sessions with a class of hosts, "
		 "incoming and outgoing together. The mask is the name of a host, \"*.NAME\" for "
		 "NAME and all hosts below it, an address or a network (ADDRESS/PREFIX, IPv4 or "
		 "IPv6), or \"*\" for all hosts. The first class in the file that has a host "
		 "applies to it; the last must be \"*\". A client has a name only if that name "
		 "resolves back to its address; it is not greeted before its name is known, for "
		 "two seconds at most. A server has the name by which it was looked up. UNIX "
		 "sockets are not counted. While no class can take another client, connections are "
		 "refused by the system. Without such sections nothing is limited. See "
		 "stagepost-limits(8).",
		 sizeof(struct config_class)},
	[CONFIG_SECTION_RATE] =
		{"rate", "NAME",
		 "Rate limits for clients: each section counts one thing for each address, user, "
		 "domain of senders or class, in a sliding window, in all processes of this "
		 "machine together. All sections that apply must allow it. The counts are kept in "
		 "memory: they begin anew when the mail system is started.",
		 sizeof(struct config_rate)},
	[CONFIG_SECTION_SOURCE] =
		{"source", "NAME",
		 "Addresses of this machine from which mail is sent to other servers, and the name "
		 "that goes with them. Settings source, sender_sources, domain_sources and those "
		 "of the sections class say which mail. For each server the least recently used of "
		 "them is taken, of the server's address family. The name is 1 to 32 of a-z, 0-9, "
		 "'-' and '_'.",
		 sizeof(struct config_source)},
	[CONFIG_SECTION_DESTINATION] =
		{"destination", "\"MASK\"",
		 "How fast mail goes to other servers. The mask is a domain, \".NAME\" for the "
		 "subdomains of one, \"mx:NAME\" for the server of that name or address and "
		 "\"mx:*.NAME\" for all servers below it, or \"*\" for all. The first section in "
		 "the file that has the domain or the server applies. Mail above a limit waits in "
		 "memory until its time, and does not delay other mail. A server that reports that "
		 "it gets too much mail is sent less in any case, see stagepost-queue(8).",
		 sizeof(struct config_destination)},
	[CONFIG_SECTION_NODE] =
		{"node", "",
		 "This machine as one of several that share the work on mail. Without this section "
		 "its defaults apply if some mail is for other nodes.",
		 sizeof(struct config_node)},
	[CONFIG_SECTION_STAGE] =
		{"stage", "submit or arrive",
		 "Where the recipients are looked up of mail that is queued here: mail of users of "
		 "this site (submit), and all other (arrive). Without this section, here.",
		 sizeof(struct config_stage)},
	[CONFIG_SECTION_DIRECTORY] = {"directory", "",
				      "Where addresses, domains, lists and users are kept that are "
				      "not in this file, see stagepost-directory(7). Without this "
				      "section the domain sections are all there is; with it they "
				      "come first.",
				      sizeof(struct config_directory), "backend"},
	[CONFIG_SECTION_AUTH] =
		{"auth", "",
		 "How clients authenticate (SMTP's AUTH). Without this section its defaults apply "
		 "if there is a listen submission and a directory.",
		 sizeof(struct config_auth), "users"},
	[CONFIG_SECTION_RECORD] =
		{"record", "",
		 "The database in which services of kind mailbox and imap record each message, "
		 "and in which mailboxes it has been filed, see stagepost-record(5). Without this "
		 "section its defaults apply if there is such a service.",
		 sizeof(struct config_record), "backend"},
	[CONFIG_SECTION_RULE] =
		{"rule", "NAME",
		 "In which folder, and with which flags, services of kind mailbox and imap file a "
		 "message. For each recipient the first rule in the file that matches applies: all "
		 "of its settings from service to automatic that are given must match, of a list "
		 "one value. If no rule matches, the settings of the service apply. In masks * "
		 "matches any text, ? one byte, and the case of A to Z does not matter. Once a "
		 "folder is chosen for a recipient, further attempts keep it, whatever the rules "
		 "say then. The name, which is in the log, is 1 to 32 of a-z, 0-9, '-' and '_'. "
		 "All rules together have at most 500 masks and 32 names of header fields.",
		 sizeof(struct config_rule)},
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

/* In the order of the manual. */
static const struct {
	const struct config_setting *rows;
	const size_t *count;
} parts[] = {
	{config_schema_root, &config_schema_root_count},
	{config_schema_receive, &config_schema_receive_count},
	{config_schema_send, &config_schema_send_count},
	{config_schema_bounces, &config_schema_bounces_count},
	{config_schema_listen, &config_schema_listen_count},
	{config_schema_section, &config_schema_section_count},
	{config_schema_tls, &config_schema_tls_count},
	{config_schema_rate, &config_schema_rate_count},
	{config_schema_record, &config_schema_record_count},
	{config_schema_node, &config_schema_node_count},
	{config_schema_users, &config_schema_users_count},
};

const struct config_setting *config_rows_next(struct config_rows *rows)
{
	for (; rows->part < COUNT_OF(parts); rows->part++, rows->index = 0) {
		while (rows->index < *parts[rows->part].count) {
			const struct config_setting *row = &parts[rows->part].rows[rows->index++];

			if (row->section == rows->section)
				return row;
		}
	}
	return NULL;
}

size_t config_section_count(enum config_section section)
{
	struct config_rows rows = {.section = section};
	size_t count = 0;

	while (config_rows_next(&rows) != NULL)
		count++;
	return count;
}
