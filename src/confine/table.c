// SPDX-License-Identifier: ISC
/* What each process may do: its system calls, and its trees in the file system. */
#include "base/panic.h"
#include "confine/conninfo.h"
#include "confine/internal.h"
#include "os/process/process.h"
#include <string.h>

enum {
	KEEP = OS_SANDBOX_READ | OS_SANDBOX_LIST | OS_SANDBOX_WRITE | OS_SANDBOX_MAKE |
	       OS_SANDBOX_REMOVE, /* everything that is done to files */
};

static bool has_mbox(const struct config *config)
{
	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].kind == CONFIG_SERVICE_MBOX)
			return true;
	return false;
}

static unsigned calls_for_local(const struct config *config)
{
	bool has_owners = os_process_may_change_user() && config_has_mailbox_owners(config);

	return (has_owners ? OS_SANDBOX_OWNERS : 0) | (has_mbox(config) ? OS_SANDBOX_LOCKS : 0);
}

static unsigned calls_for_servers(const struct config *config)
{
	bool has_servers = config->directory.backend == CONFIG_BACKEND_SERVERS;

	return has_servers ? OS_SANDBOX_CONNECT | OS_SANDBOX_DNS : 0;
}

static unsigned calls_for_names(const struct config *config)
{
	return config_has_server_names(config) ? OS_SANDBOX_DNS : 0;
}

/* Passwords pass through it. */
static unsigned calls_for_remote(const struct config *config)
{
	return (config_has_logins(config) ? OS_SANDBOX_HIDDEN : 0) |
	       (config->source_count > 0 ? OS_SANDBOX_SOURCE : 0);
}

static unsigned calls_for_tokens(const struct config *config)
{
	const struct config_auth *auth = &config->auth;
	bool has_files = auth->token_key_count > 0 || (auth->introspection_secret_file != NULL &&
						       *auth->introspection_secret_file != '\0');

	return (has_files ? OS_SANDBOX_OPEN | OS_SANDBOX_SECRETS : 0) |
	       (config_has_introspection(config)
			? OS_SANDBOX_OPEN | OS_SANDBOX_CONNECT | OS_SANDBOX_DNS
			: 0);
}

static bool is_for_path(const char *url)
{
	struct str text = str_from(url);
	struct str scheme;

	(void)str_split(&text, ':', &scheme);
	return str_equal_nocase(scheme, STR("ldapi"));
}

/* A server of the directory may be at a UNIX socket. */
static unsigned calls_for_directory(const struct config *config)
{
	const struct config_directory *directory = &config->directory;

	for (size_t i = 0; i < directory->url_count; i++)
		if (is_for_path(directory->urls[i]))
			return OS_SANDBOX_LOCAL;
	for (size_t i = 0; i < directory->database_count; i++)
		if (conninfo_may_be_local(directory->database[i]))
			return OS_SANDBOX_LOCAL;
	return 0;
}

static unsigned calls_for_ldap_and_tokens(const struct config *config)
{
	return calls_for_directory(config) | calls_for_tokens(config);
}

/* How the record's server is reached, and what its library does with its descriptors. */
static unsigned calls_for_record(const struct config_record *record)
{
	bool is_local = false;
	bool is_remote = false;

	if (record->backend == CONFIG_RECORD_SQLITE)
		return OS_SANDBOX_CHANGE | OS_SANDBOX_DATABASE;
	if (record->backend == CONFIG_RECORD_MARIADB) {
		is_remote = *record->servers != '\0';
		is_local = !is_remote;
	} else if (record->backend == CONFIG_RECORD_POSTGRESQL) {
		is_local = conninfo_may_be_local(record->database);
		is_remote = conninfo_may_be_remote(record->database);
	}
	return OS_SANDBOX_FLAGS | (is_local ? OS_SANDBOX_LOCAL : 0) |
	       (is_remote ? OS_SANDBOX_CONNECT : 0) |
	       (sandbox_looks_up_record(record) ? OS_SANDBOX_DNS : 0);
}

static unsigned calls_for_mailboxes(const struct config *config)
{
	unsigned calls = calls_for_record(&config->record);

	for (size_t i = 0; i < config->service_count; i++) {
		if (config->services[i].kind == CONFIG_SERVICE_MAILBOX)
			calls |= OS_SANDBOX_CHANGE;
		if (config->services[i].kind == CONFIG_SERVICE_IMAP)
			calls |= OS_SANDBOX_CONNECT | OS_SANDBOX_FLAGS;
	}
	return calls;
}

/* The programs of process "mailbox", each with another backend of the record. */
#define TABLE_FILES_ONCE(program)                                               \
	{                                                                       \
		program, OS_SANDBOX_OPEN,                                       \
			{{SANDBOX_IN_MAILBOXES, "", KEEP | OS_SANDBOX_FOLDERS}, \
			 {SANDBOX_IN_RECORD, "", KEEP},                         \
			 {SANDBOX_IN_SYSTEM, "/proc/fs/ext4", OS_SANDBOX_READ}, \
			 {SANDBOX_IN_SYSTEM, "/sys/devices", OS_SANDBOX_READ},  \
			 {SANDBOX_IN_SYSTEM, "/dev/urandom", OS_SANDBOX_READ}}, \
			calls_for_mailboxes                                     \
	}

static const struct sandbox_profile profiles[] = {
	{"smtpd", OS_SANDBOX_SPACE, {{0}}},
	{"qmtpd", OS_SANDBOX_SPACE, {{0}}},
	{"noded", OS_SANDBOX_SPACE | OS_SANDBOX_KEEP_ALIVE, {{0}}},
	{"queue",
	 OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE,
	 {{SANDBOX_IN_QUEUE, "pid", KEEP},
	  {SANDBOX_IN_QUEUE, "mess", KEEP & ~OS_SANDBOX_MAKE},
	  {SANDBOX_IN_QUEUE, "todo", KEEP},
	  {SANDBOX_IN_QUEUE, "info", OS_SANDBOX_LIST}, /* synced before a number is reused */
	  {SANDBOX_IN_QUEUE, "local", OS_SANDBOX_LIST | OS_SANDBOX_FOLDERS},
	  {SANDBOX_IN_QUEUE, "handed", KEEP | OS_SANDBOX_FOLDERS}}},
	{"send",
	 OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE | OS_SANDBOX_ANSWER,
	 {{SANDBOX_IN_QUEUE, "intd", KEEP},
	  {SANDBOX_IN_QUEUE, "info", KEEP},
	  {SANDBOX_IN_QUEUE, "local", KEEP | OS_SANDBOX_FOLDERS},
	  {SANDBOX_IN_QUEUE, "remote", KEEP},
	  {SANDBOX_IN_QUEUE, "bounce", KEEP},
	  {SANDBOX_IN_QUEUE, "trigger", KEEP},
	  {SANDBOX_IN_QUEUE, "peers", KEEP},
	  {SANDBOX_IN_QUEUE, "todo", OS_SANDBOX_READ | OS_SANDBOX_LIST | OS_SANDBOX_LINK},
	  /* removes only what was incomplete */
	  {SANDBOX_IN_QUEUE, "mess", KEEP & ~OS_SANDBOX_WRITE},
	  {SANDBOX_IN_QUEUE, "damaged", KEEP & ~OS_SANDBOX_WRITE},
	  {SANDBOX_IN_QUEUE, "litter", KEEP & ~OS_SANDBOX_WRITE},
	  {SANDBOX_IN_QUEUE, "lock/trigger", OS_SANDBOX_READ}}},
	{"resolve", 0, {{0}}},
	{"list", 0, {{0}}},
	{"names", OS_SANDBOX_CONNECT | OS_SANDBOX_DNS, {{0}}},
	{"keys", OS_SANDBOX_OPEN | OS_SANDBOX_SECRETS, {{SANDBOX_IN_SECRETS, "", OS_SANDBOX_READ}}},
	{"auth", OS_SANDBOX_HIDDEN, {{SANDBOX_IN_TOKENS, "", OS_SANDBOX_READ}}, calls_for_tokens},
	{"auth-ldap",
	 OS_SANDBOX_HIDDEN | OS_SANDBOX_OPEN | OS_SANDBOX_CONNECT | OS_SANDBOX_DNS,
	 {{SANDBOX_IN_TOKENS, "", OS_SANDBOX_READ},
	  {SANDBOX_IN_LDAP_AUTHORITY, "", OS_SANDBOX_READ},
	  {SANDBOX_IN_RESOLVER, "", OS_SANDBOX_READ}}, /* by which libldap finds its servers */
	 calls_for_ldap_and_tokens},
	{"policy",
	 OS_SANDBOX_CONNECT | OS_SANDBOX_DNS | OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE,
	 {{SANDBOX_IN_POLICIES, "", KEEP | OS_SANDBOX_FOLDERS},
	  {SANDBOX_IN_AUTHORITIES, "", OS_SANDBOX_READ}}},
	{"decode", 0, {{0}}},
	{"remote", OS_SANDBOX_CONNECT | OS_SANDBOX_DNS, {{0}}, calls_for_remote},
	{"lmtp", OS_SANDBOX_CONNECT, {{0}}, calls_for_names},
	{"handover", OS_SANDBOX_CONNECT | OS_SANDBOX_DNS | OS_SANDBOX_KEEP_ALIVE, {{0}}},
	{"local",
	 OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE,
	 {{SANDBOX_IN_MAILBOXES, "", KEEP | OS_SANDBOX_FOLDERS},
	  /* os_file_order_watch() */
	  {SANDBOX_IN_SYSTEM, "/proc/fs/ext4", OS_SANDBOX_READ},
	  {SANDBOX_IN_SYSTEM, "/sys/devices", OS_SANDBOX_READ}},
	 calls_for_local},
	TABLE_FILES_ONCE("mailbox"),
	TABLE_FILES_ONCE("mailbox-postgresql"),
	TABLE_FILES_ONCE("mailbox-mariadb"),
	{"pipe", 0, {{0}}},
	{"launch", OS_SANDBOX_PROGRAMS, {{0}}},
	{"directory",
	 OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE | OS_SANDBOX_DATABASE | OS_SANDBOX_KEEP_ALIVE,
	 {{SANDBOX_IN_DATABASE, "", KEEP}, {SANDBOX_IN_SYSTEM, "/dev/urandom", OS_SANDBOX_READ}},
	 calls_for_servers},
	{"directory-ldap",
	 OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE | OS_SANDBOX_DATABASE | OS_SANDBOX_CONNECT |
		 OS_SANDBOX_DNS,
	 {{SANDBOX_IN_DATABASE, "", KEEP},
	  {SANDBOX_IN_LDAP_AUTHORITY, "", OS_SANDBOX_READ},
	  {SANDBOX_IN_SYSTEM, "/dev/urandom", OS_SANDBOX_READ},
	  {SANDBOX_IN_RESOLVER, "", OS_SANDBOX_READ}},
	 calls_for_directory},
	{"directory-postgresql",
	 OS_SANDBOX_OPEN | OS_SANDBOX_SYNC | OS_SANDBOX_CONNECT | OS_SANDBOX_DNS,
	 {{SANDBOX_IN_CONNINFO, "", OS_SANDBOX_READ}},
	 calls_for_directory,
	 .is_bound_to_backend = true},
};

const struct sandbox_profile *sandbox_profile_find(const char *program)
{
	for (size_t i = 0; i < COUNT_OF(profiles); i++)
		if (strcmp(profiles[i].program, program) == 0)
			return &profiles[i];
	panic("no sandbox for %s", program);
}
