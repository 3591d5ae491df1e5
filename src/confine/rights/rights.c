// SPDX-License-Identifier: ISC
#include "confine/rights/rights.h"
#include "confine/process.h"
#include <linux/capability.h>
#include <string.h>

#define CAPABILITY(number) (UINT64_C(1) << (number))

static const uint64_t FILES = CAPABILITY(CAP_DAC_OVERRIDE);
static const uint64_t SECRETS = CAPABILITY(CAP_DAC_READ_SEARCH);
static const uint64_t IDENTITIES = CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID);

/* The files of a large message that others passed on: the file is renamed when it is queued and
 * when it is finished, before the process that has it open learns that. */
#define CONTENT_TO_WRITE                   \
	{RIGHTS_QUEUE, "pid", true},       \
	{                                  \
		RIGHTS_QUEUE, "todo", true \
	}
#define CONTENT_TO_READ                                               \
	{RIGHTS_QUEUE, "todo", false}, {RIGHTS_QUEUE, "mess", false}, \
	{                                                             \
		RIGHTS_QUEUE, "pid", false                            \
	}

/* What getaddrinfo(3) reads. */
#define HOST_NAMES                                                                        \
	{RIGHTS_SYSTEM, "/etc/hosts", false}, {RIGHTS_SYSTEM, "/etc/resolv.conf", false}, \
		{RIGHTS_SYSTEM, "/etc/nsswitch.conf", false},                             \
		{RIGHTS_SYSTEM, "/etc/host.conf", false},                                 \
	{                                                                                 \
		RIGHTS_SYSTEM, "/etc/gai.conf", false                                     \
	}
/* The programs of process "mailbox"; RIGHTS_RECORD is what the backend of each has. */
#define RIGHTS_FILES_ONCE(program)                                                                \
	{                                                                                         \
		program, "process", FILES,                                                        \
			RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_OUTSIDE |            \
				RIGHTS_CONFINED,                                                  \
		{                                                                                 \
			CONTENT_TO_READ, {RIGHTS_MAILBOXES, "", true}, {RIGHTS_RECORD, "", true}, \
				{RIGHTS_SYSTEM, "/proc/fs/ext4", false},                          \
				{RIGHTS_SYSTEM, "/proc/self/mountinfo", false},                   \
				{RIGHTS_SYSTEM, "/sys/devices", false},                           \
				{RIGHTS_SYSTEM, "/dev/urandom", false}, HOST_NAMES                \
		}                                                                                 \
	}

static const struct rights table[] = {
	{"stagepost", /* the supervisor */
	 "root or its own",
	 UINT64_MAX,
	 RIGHTS_PIPES | RIGHTS_LOG,
	 {{RIGHTS_RUN, "stagepost.pid", true}, {RIGHTS_PROGRAMS, "", false}}},
	{"smtpd", "process", 0, RIGHTS_CLIENTS | RIGHTS_CONFINED, {CONTENT_TO_WRITE}},
	{"qmtpd", "process", 0, RIGHTS_CLIENTS | RIGHTS_CONFINED, {CONTENT_TO_WRITE}},
	{"noded", "process", 0, RIGHTS_CLIENTS | RIGHTS_CONFINED, {CONTENT_TO_WRITE}},
	{"queue",
	 "owner",
	 FILES,
	 RIGHTS_OUTSIDE | RIGHTS_CONFINED | RIGHTS_LOG,
	 {{RIGHTS_QUEUE, ".", false},
	  {RIGHTS_QUEUE, "lock/queue", true},
	  {RIGHTS_QUEUE, "pid", true},
	  {RIGHTS_QUEUE, "mess", true},
	  {RIGHTS_QUEUE, "todo", true},
	  {RIGHTS_QUEUE, "info", false},
	  {RIGHTS_QUEUE, "local", false},
	  {RIGHTS_QUEUE, "handed", true},
	  {RIGHTS_SYSTEM, "/proc/fs/ext4", false}}},
	{"send",
	 "owner",
	 FILES,
	 RIGHTS_CONFINED | RIGHTS_LOG,
	 {{RIGHTS_QUEUE, ".", false},
	  {RIGHTS_QUEUE, "lock/send", true},
	  {RIGHTS_QUEUE, "lock/trigger", false},
	  {RIGHTS_QUEUE, "todo", false},
	  {RIGHTS_QUEUE, "mess", false},
	  {RIGHTS_QUEUE, "intd", true},
	  {RIGHTS_QUEUE, "info", true},
	  {RIGHTS_QUEUE, "local", true},
	  {RIGHTS_QUEUE, "remote", true},
	  {RIGHTS_QUEUE, "bounce", true},
	  {RIGHTS_QUEUE, "trigger", true},
	  {RIGHTS_QUEUE, "peers", true},
	  {RIGHTS_QUEUE, "damaged", false},
	  {RIGHTS_QUEUE, "litter", false},
	  {RIGHTS_SYSTEM, "/proc/stat", false}, /* the load of the processors */
	  {RIGHTS_SYSTEM, "/proc/fs/ext4", false}}},
	{"resolve", "process", 0, RIGHTS_CONFINED, {{0}}},
	{"list", "process", 0, RIGHTS_CONFINED, {CONTENT_TO_READ, CONTENT_TO_WRITE}},
	{"names",
	 "process",
	 0,
	 RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_CONFINED,
	 {{0}}},
	{"keys",
	 "process",
	 SECRETS,
	 RIGHTS_CONFINED | RIGHTS_UNTRACEABLE,
	 {{RIGHTS_CERTIFICATES, "", false}}},
	{"auth",
	 "process",
	 SECRETS,
	 RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_OUTSIDE | RIGHTS_CONFINED |
		 RIGHTS_UNTRACEABLE,
	 {{RIGHTS_TOKENS, "", false}, {RIGHTS_AUTHORITIES, "", false}}},
	{"auth-ldap",
	 "process",
	 SECRETS,
	 RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_OUTSIDE | RIGHTS_CONFINED |
		 RIGHTS_UNTRACEABLE,
	 {{RIGHTS_TOKENS, "", false},
	  {RIGHTS_AUTHORITIES, "", false},
	  {RIGHTS_LDAP_AUTHORITY, "", false},
	  HOST_NAMES}},
	{"policy",
	 "process",
	 FILES,
	 RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_CONFINED,
	 {{RIGHTS_POLICIES, "", true}, {RIGHTS_AUTHORITIES, "", false}}},
	{"decode", "process", 0, RIGHTS_CONFINED, {{0}}},
	{"remote",
	 "process",
	 0,
	 RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_CONFINED | RIGHTS_WATCHES,
	 {CONTENT_TO_READ}},
	{"lmtp",
	 "process",
	 0,
	 RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_OUTSIDE | RIGHTS_CONFINED |
		 RIGHTS_WATCHES,
	 {CONTENT_TO_READ}},
	{"handover",
	 "process",
	 0,
	 RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_CONFINED | RIGHTS_WATCHES,
	 {CONTENT_TO_READ}},
	{"local",
	 "process",
	 IDENTITIES | FILES,
	 RIGHTS_CONFINED,
	 {CONTENT_TO_READ,
	  {RIGHTS_MAILBOXES, "", true},
	  {RIGHTS_SYSTEM, "/proc/fs/ext4", false},
	  {RIGHTS_SYSTEM, "/proc/self/mountinfo", false},
	  {RIGHTS_SYSTEM, "/sys/devices", false}}},
	RIGHTS_FILES_ONCE("mailbox"),
	RIGHTS_FILES_ONCE("mailbox-postgresql"),
	RIGHTS_FILES_ONCE("mailbox-mariadb"),
	{"pipe", "process", 0, RIGHTS_PIPES | RIGHTS_CONFINED, {CONTENT_TO_READ}},
	{"launch",
	 "process",
	 IDENTITIES | CAPABILITY(CAP_KILL),
	 RIGHTS_PIPES | RIGHTS_UNTRACEABLE | RIGHTS_LOG,
	 {{0}}},
	{"directory",
	 "process",
	 FILES,
	 RIGHTS_CLIENTS | RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_OUTSIDE |
		 RIGHTS_CONFINED | RIGHTS_WATCHES,
	 {{RIGHTS_DATABASE, "", true},
	  {RIGHTS_QUEUE, "directory", true},
	  {RIGHTS_SYSTEM, "/dev/urandom", false}}},
	{"directory-ldap",
	 "process",
	 FILES,
	 RIGHTS_CLIENTS | RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_OUTSIDE |
		 RIGHTS_CONFINED | RIGHTS_WATCHES,
	 {{RIGHTS_DATABASE, "", true},
	  {RIGHTS_QUEUE, "directory", true},
	  {RIGHTS_LDAP_AUTHORITY, "", false},
	  {RIGHTS_SYSTEM, "/dev/urandom", false},
	  HOST_NAMES}},
	{"directory-postgresql",
	 "process",
	 0,
	 RIGHTS_CLIENTS | RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES | RIGHTS_OUTSIDE |
		 RIGHTS_CONFINED,
	 {{RIGHTS_QUEUE, "directory", true}}},
};

const struct rights *rights_find(const char *program)
{
	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (strcmp(table[i].program, program) == 0)
			return &table[i];
	return NULL;
}

static bool is_supervisor(const struct rights *rights)
{
	return rights == &table[0];
}

bool rights_may_connect(const struct rights *left, const struct rights *right)
{
	return left == right || is_supervisor(left) || is_supervisor(right) ||
	       confine_process_may_connect(confine_process_of(left->program),
					   confine_process_of(right->program));
}

bool rights_may_listen(const struct rights *rights, const char *name)
{
	return is_supervisor(rights) ||
	       confine_process_socket(confine_process_of(rights->program), str_from(name)) >= 0;
}

const char *rights_socket_find(const char *name)
{
	static const char *const own[] = {"transcript", "limits"}; /* of the supervisor */
	const struct confine_process *process;

	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (strcmp(own[i], name) == 0)
			return own[i];
	for (size_t i = 0; (process = confine_process_at(i)) != NULL; i++) {
		ptrdiff_t place = confine_process_socket(process, str_from(name));

		if (place >= 0)
			return process->sockets[place];
	}
	return NULL;
}

/* --- for people --- */

static void append_table_word(struct buffer *out, size_t begin, const char *word)
{
	if (out->length > begin)
		buffer_append_string(out, ", ");
	buffer_append_string(out, word);
}

static void end_cell(struct buffer *out, size_t begin)
{
	buffer_append_string(out, out->length > begin ? " | " : "none | ");
}

static void append_sockets(struct buffer *out, const struct rights *row)
{
	const struct confine_process *process = confine_process_of(row->program);
	size_t begin = out->length;

	if (is_supervisor(row))
		append_table_word(out, begin, "all");
	for (size_t i = 0;
	     process != NULL && i < PROCESS_SOCKETS_MAX && process->sockets[i] != NULL; i++)
		append_table_word(out, begin, process->sockets[i]);
	end_cell(out, begin);
}

static void append_peers(struct buffer *out, const struct rights *row)
{
	const struct confine_process *process = confine_process_of(row->program);
	const struct confine_process *other;
	size_t begin = out->length;

	if (is_supervisor(row))
		append_table_word(out, begin, "all");
	for (size_t i = 0; process != NULL && (other = confine_process_at(i)) != NULL; i++)
		if (confine_process_may_connect(process, other))
			append_table_word(out, begin, other->name);
	end_cell(out, begin);
}

static void append_capabilities(struct buffer *out, uint64_t capabilities)
{
	static const struct {
		unsigned number;
		const char *name;
	} names[] = {{CAP_DAC_OVERRIDE, "dac_override"},
		     {CAP_DAC_READ_SEARCH, "dac_read_search"},
		     {CAP_SETUID, "setuid"},
		     {CAP_SETGID, "setgid"},
		     {CAP_KILL, "kill"}};
	size_t begin = out->length;

	if (capabilities == UINT64_MAX)
		append_table_word(out, begin, "all");
	for (size_t i = 0; capabilities != UINT64_MAX && i < COUNT_OF(names); i++)
		if ((capabilities & CAPABILITY(names[i].number)) != 0)
			append_table_word(out, begin, names[i].name);
	end_cell(out, begin);
}

static void append_rights_flags(struct buffer *out, unsigned flags, unsigned mask)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {{RIGHTS_CLIENTS, "TCP in"},
		     {RIGHTS_SERVERS, "TCP out"},
		     {RIGHTS_DNS, "UDP"},
		     {RIGHTS_ROUTES, "netlink"},
		     {RIGHTS_OUTSIDE, "UNIX outside"},
		     {RIGHTS_PIPES, "pipes"},
		     {RIGHTS_WATCHES, "watches"},
		     {RIGHTS_CONFINED, "confined"},
		     {RIGHTS_UNTRACEABLE, "not traceable"},
		     {RIGHTS_LOG, "log"}};
	size_t begin = out->length;

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if ((flags & mask & names[i].flag) != 0)
			append_table_word(out, begin, names[i].name);
	end_cell(out, begin);
}

static void append_places(struct buffer *out, const struct rights_tree *trees)
{
	static const char *const bases[] = {[RIGHTS_SYSTEM] = "",
					    [RIGHTS_QUEUE] = "QUEUE",
					    [RIGHTS_RUN] = "RUN",
					    [RIGHTS_MAILBOXES] = "MAILBOXES",
					    [RIGHTS_DATABASE] = "DATABASE",
					    [RIGHTS_RECORD] = "RECORD",
					    [RIGHTS_CERTIFICATES] = "CERTIFICATES",
					    [RIGHTS_POLICIES] = "POLICIES",
					    [RIGHTS_AUTHORITIES] = "AUTHORITIES",
					    [RIGHTS_LDAP_AUTHORITY] = "LDAP-AUTHORITY",
					    [RIGHTS_TOKENS] = "TOKENS",
					    [RIGHTS_PROGRAMS] = "PROGRAMS"};
	size_t begin = out->length;

	for (size_t i = 0; i < RIGHTS_TREES_MAX && trees[i].base != 0; i++) {
		append_table_word(out, begin, "`");
		buffer_append_format(out, "%s%s%s`%s", bases[trees[i].base],
				     *trees[i].path != '\0' && *trees[i].path != '/' ? "/" : "",
				     trees[i].path, trees[i].may_write ? " rw" : " r");
	}
	buffer_append_string(out, out->length > begin ? " |\n" : "none |\n");
}

void rights_append_table(struct buffer *out)
{
	const unsigned network = RIGHTS_CLIENTS | RIGHTS_SERVERS | RIGHTS_DNS | RIGHTS_ROUTES;

	buffer_append_string(out, "| process | user | capabilities | listens at | "
				  "connected with | network | besides | files open |\n"
				  "|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		const struct rights *row = &table[i];

		buffer_append_format(out, "| `%s` | %s | ", row->program, row->user);
		append_capabilities(out, row->capabilities);
		append_sockets(out, row);
		append_peers(out, row);
		append_rights_flags(out, row->flags, network);
		append_rights_flags(out, row->flags, ~network);
		append_places(out, row->trees);
	}
}
