// SPDX-License-Identifier: ISC
#include "settings.h"
#include "mail.h"
#include "node.h"
#include "people.h"
#include <err.h>
#include <stdio.h>

#define SETTINGS(name, address)                                                                 \
	"hostname = \"mx." name ".example\"\n"                                                  \
	"queue = \"/var/queue\"\n"                                                              \
	"split = 23\n"                                                                          \
	"run = \"/run/stagepost\"\n"                                                            \
	"client_names = no\n"                                                                   \
	"dane = no\n"                                                                           \
	"relay_from = { \"10.0.0.2/32\" }\n"                                                    \
	"listen smtp { address = { \"" address ":25\" } }\n"                                    \
	"listen lmtp { address = { \"" address ":24\" } }\n"                                    \
	"listen qmtp { address = { \"" address ":209\" } }\n"                                   \
	"listen submission { address = { \"" address ":587\" }  auth_without_tls = yes }\n"     \
	"auth { mechanisms = { PLAIN }  failure_exempt = { \"10.0.0.8/32\" } }\n"               \
	"service maildir { kind = maildir  path = \"/var/mail/%d/%u\" }\n"                      \
	"service taker { kind = pipe  command = { \"/usr/bin/taker\", \"%a\" }  timeout = 60  " \
	"user = \"" WORLD_PROGRAM_USER "\" }\n"                                                 \
	"domain \"" name ".example\" { service = maildir }\n"                                   \
	"domain \"pipes." name ".example\" { service = taker }\n"

/* Two services, which may file one message at a time; their mailboxes are beside those of the
 * service maildir. The second one has the sender's copies, too. */
static const char services_once[] =
	"service once { kind = mailbox  path = \"/var/mail/%d/%u\" }\n"
	"service again { kind = mailbox  path = \"/var/mail/%d/%u\"  sent = all }\n";

/* The second one may use and change the directory of the first. */
#define DIRECTORY_TLS                                                      \
	"certificate = \"/etc/certificate\"  key = \"/etc/certificate\"  " \
	"authority = \"/etc/authority\""

const struct settings_node settings_nodes[NODES_MAX] = {
	{"one",
	 "one.example",
	 "pipes.one.example",
	 {MAIL_ONCE "one.example", MAIL_ONCE "again.one.example"},
	 "mx.one.example",
	 0x0a000001,
	 SETTINGS("one", "10.0.0.1") "smtproutes = { \"hop.example:10.0.0.3\" }\n"
				     "directory { path = \"" PEOPLE_STORE "\"  listen = { "
				     "\"10.0.0.1:7071\" }\n" DIRECTORY_TLS
				     " changers = { \"mx.two.example\" } }\n"},
	{"two",
	 "two.example",
	 "pipes.two.example",
	 {MAIL_ONCE "two.example", MAIL_ONCE "again.two.example"},
	 "mx.two.example",
	 0x0a000004,
	 SETTINGS("two", "10.0.0.4") "directory { backend = servers  servers = { "
				     "\"mx.one.example:7071\" }\n" DIRECTORY_TLS " }\n"},
};

static bool files_once;

void settings_file_once(bool is_so)
{
	files_once = is_so;
}

void settings_write(size_t index, const char *mode, char settings[SETTINGS_SIZE])
{
	const struct settings_node *plan = &settings_nodes[index];
	int length = snprintf(settings, SETTINGS_SIZE, SETTINGS_SYNC "%s\n%s", mode, plan->config);

	if (files_once)
		length += snprintf(settings + length, SETTINGS_SIZE - (size_t)length,
				   "%sdomain \"%s\" { service = once }\n"
				   "domain \"%s\" { service = again }\n",
				   services_once, plan->once[0], plan->once[1]);
	if (length < 0 || length >= SETTINGS_SIZE)
		errx(1, "%s has too many settings", plan->name);
}

/* One that every disk may have: where it keeps order, "auto" is "ordered". */
struct machine *settings_new_node(size_t index, char settings[SETTINGS_SIZE])
{
	static const char *const modes[] = {"auto", "auto", "files", "filesystem"};
	const struct settings_node *plan = &settings_nodes[index];

	settings_write(index, modes[kernel_below(sizeof modes / sizeof modes[0])], settings);
	return node_new(plan->name, plan->address, settings);
}
