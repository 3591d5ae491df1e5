// SPDX-License-Identifier: ISC
#include "settings.h"
#include "mail.h"
#include "node.h"
#include "people.h"
#include <err.h>
#include <stdio.h>

/* Of all nodes: the host, its address four times, what each service says besides, the two domains.
 */
static const char common[] =
	"hostname = \"%s\"\n"
	"queue = \"/var/queue\"\n"
	"split = 23\n"
	"run = \"/run/stagepost\"\n"
	"client_names = no\n"
	"dane = no\n"
	"relay_from = { \"10.0.0.2/32\" }\n"
	"listen smtp { address = { \"%s:25\" } }\n"
	"listen lmtp { address = { \"%s:24\" } }\n"
	"listen qmtp { address = { \"%s:209\" } }\n"
	"listen submission { address = { \"%s:587\" }  auth_without_tls = yes }\n"
	"auth { mechanisms = { PLAIN }  failure_exempt = { \"10.0.0.8/32\" } }\n"
	"service maildir { kind = maildir  path = \"/var/mail/%%d/%%u\"%s }\n"
	"service taker { kind = pipe  command = { \"/usr/bin/taker\", \"%%a\" }  timeout = 60  "
	"user = \"" WORLD_PROGRAM_USER "\"%s }\n"
	"domain \"%s\" { service = maildir }\n"
	"domain \"%s\" { service = taker }\n";

/* Two services, which may file one message at a time; their mailboxes are beside those of the
 * service maildir. The second one has the sender's copies, too. */
static const char services_once[] =
	"service once { kind = mailbox  path = \"/var/mail/%%d/%%u\"%s }\n"
	"service again { kind = mailbox  path = \"/var/mail/%%d/%%u\"  sent = all%s }\n"
	"domain \"%s\" { service = once }\n"
	"domain \"%s\" { service = again }\n";

const struct settings_node settings_relaying[RELAYING_MAX] = {
	{"one",
	 "one.example",
	 "pipes.one.example",
	 {MAIL_ONCE "one.example", MAIL_ONCE "again.one.example"},
	 "mx.one.example",
	 0x0a000001,
	 "10.0.0.1",
	 "smtproutes = { \"hop.example:10.0.0.3\" }\n"
	 "directory { path = \"" PEOPLE_STORE "\"  listen = { "
	 "\"10.0.0.1:7071\" }\n" SETTINGS_TLS " changers = { \"mx.two.example\" } }\n"},
	{"two",
	 "two.example",
	 "pipes.two.example",
	 {MAIL_ONCE "two.example", MAIL_ONCE "again.two.example"},
	 "mx.two.example",
	 0x0a000004,
	 "10.0.0.4",
	 "directory { backend = servers  servers = { \"mx.one.example:7071\" }\n" SETTINGS_TLS
	 " }\n"},
};

static struct {
	const struct settings_node *nodes;
	const char *services;
	bool files_once;
} used = {.nodes = settings_relaying, .services = ""};

void settings_use(const struct settings_node *nodes, const char *services)
{
	used.nodes = nodes;
	used.services = services;
}

const struct settings_node *settings_node(size_t index)
{
	return &used.nodes[index];
}

void settings_file_once(bool is_so)
{
	used.files_once = is_so;
}

void settings_write(size_t index, const char *mode, char settings[SETTINGS_SIZE])
{
	const struct settings_node *plan = settings_node(index);
	const char *address = plan->address_text;
	int length = snprintf(settings, SETTINGS_SIZE, SETTINGS_SYNC "%s\n", mode);

	length += snprintf(settings + length, SETTINGS_SIZE - (size_t)length, common, plan->host,
			   address, address, address, address, used.services, used.services,
			   plan->domain, plan->pipes);
	if (length < SETTINGS_SIZE)
		length += snprintf(settings + length, SETTINGS_SIZE - (size_t)length, "%s",
				   plan->config);
	if (length < SETTINGS_SIZE && used.files_once)
		length += snprintf(settings + length, SETTINGS_SIZE - (size_t)length, services_once,
				   used.services, used.services, plan->once[0], plan->once[1]);
	if (length < 0 || length >= SETTINGS_SIZE)
		errx(1, "%s has too many settings", plan->name);
}

/* One that every disk may have: where it keeps order, "auto" is "ordered". */
struct machine *settings_new_node(size_t index, char settings[SETTINGS_SIZE])
{
	static const char *const modes[] = {"auto", "auto", "files", "filesystem"};
	const struct settings_node *plan = settings_node(index);

	settings_write(index, modes[kernel_below(sizeof modes / sizeof modes[0])], settings);
	return node_new(plan->name, plan->address, settings);
}
