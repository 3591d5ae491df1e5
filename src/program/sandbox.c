// SPDX-License-Identifier: ISC
#include "program/sandbox.h"
#include "base/panic.h"
#include "log/event.h"
#include "os/process.h"
#include "os/sandbox.h"
#include "program/conninfo.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PLACES_MAX = 16,
	KEEP = OS_SANDBOX_READ | OS_SANDBOX_LIST | OS_SANDBOX_WRITE | OS_SANDBOX_MAKE |
	       OS_SANDBOX_REMOVE, /* everything that is done to files */
};

enum base {
	BASE_SYSTEM = 1,
	BASE_QUEUE,
	BASE_MAILBOXES,
	BASE_DATABASE,
	BASE_LDAP_AUTHORITY, /* of the directory's LDAP servers */
	BASE_AUTHORITIES,    /* of servers */
	BASE_POLICIES,
	BASE_CONNINFO, /* files named in connection strings */
	BASE_SECRETS,  /* of sections certificate and listen, of the directory's TLS, and passwords */
	BASE_TOKENS,   /* of section auth; and the authorities of issuers of tokens */
};

static unsigned calls_for_owners(const struct config *config)
{
	bool has_owners =
		os_process_may_change_user() && config_has_owners(config, CONFIG_SERVICE_MAILDIR);

	return has_owners ? OS_SANDBOX_OWNERS : 0;
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
static unsigned calls_for_logins(const struct config *config)
{
	return config_has_logins(config) ? OS_SANDBOX_HIDDEN : 0;
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

static const struct profile {
	const char *program;
	unsigned calls;
	struct place {
		enum base base; /* 0: end of the list */
		const char *path;
		unsigned access;
	} places[PLACES_MAX];
	unsigned (*more)(const struct config *config); /* calls that settings need; may be NULL */
	bool is_bound_to_backend; /* another source of data needs another process */
} profiles[] = {
	{"smtpd", OS_SANDBOX_ACCEPT, {{0}}},
	{"qmtpd", OS_SANDBOX_ACCEPT, {{0}}},
	{"queue",
	 OS_SANDBOX_ACCEPT | OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE,
	 {{BASE_QUEUE, "pid", KEEP},
	  {BASE_QUEUE, "mess", KEEP & ~OS_SANDBOX_MAKE},
	  {BASE_QUEUE, "todo", KEEP},
	  {BASE_QUEUE, "info", OS_SANDBOX_LIST}, /* synced before a number is reused */
	  {BASE_QUEUE, "local", OS_SANDBOX_LIST | OS_SANDBOX_FOLDERS}}},
	{"send",
	 OS_SANDBOX_ACCEPT | OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE | OS_SANDBOX_ANSWER,
	 {{BASE_QUEUE, "intd", KEEP},
	  {BASE_QUEUE, "info", KEEP},
	  {BASE_QUEUE, "local", KEEP | OS_SANDBOX_FOLDERS},
	  {BASE_QUEUE, "remote", KEEP},
	  {BASE_QUEUE, "bounce", KEEP},
	  {BASE_QUEUE, "trigger", KEEP},
	  {BASE_QUEUE, "todo", OS_SANDBOX_READ | OS_SANDBOX_LIST | OS_SANDBOX_LINK},
	  /* removes only what was incomplete */
	  {BASE_QUEUE, "mess", KEEP & ~OS_SANDBOX_WRITE},
	  {BASE_QUEUE, "lock/trigger", OS_SANDBOX_READ}}},
	{"resolve", 0, {{0}}},
	{"list", 0, {{0}}},
	{"names", OS_SANDBOX_ACCEPT | OS_SANDBOX_CONNECT | OS_SANDBOX_DNS, {{0}}},
	{"keys",
	 OS_SANDBOX_ACCEPT | OS_SANDBOX_OPEN | OS_SANDBOX_SECRETS,
	 {{BASE_SECRETS, "", OS_SANDBOX_READ}}},
	{"auth",
	 OS_SANDBOX_ACCEPT | OS_SANDBOX_HIDDEN,
	 {{BASE_TOKENS, "", OS_SANDBOX_READ}},
	 calls_for_tokens},
	{"auth-ldap",
	 OS_SANDBOX_ACCEPT | OS_SANDBOX_HIDDEN | OS_SANDBOX_OPEN | OS_SANDBOX_CONNECT |
		 OS_SANDBOX_DNS | OS_SANDBOX_LOCAL,
	 {{BASE_TOKENS, "", OS_SANDBOX_READ},
	  {BASE_LDAP_AUTHORITY, "", OS_SANDBOX_READ},
	  /* getaddrinfo(3), by which libldap finds its servers */
	  {BASE_SYSTEM, "/etc/hosts", OS_SANDBOX_READ},
	  {BASE_SYSTEM, "/etc/resolv.conf", OS_SANDBOX_READ},
	  {BASE_SYSTEM, "/etc/nsswitch.conf", OS_SANDBOX_READ},
	  {BASE_SYSTEM, "/etc/host.conf", OS_SANDBOX_READ},
	  {BASE_SYSTEM, "/etc/gai.conf", OS_SANDBOX_READ}},
	 calls_for_tokens},
	{"policy",
	 OS_SANDBOX_ACCEPT | OS_SANDBOX_CONNECT | OS_SANDBOX_DNS | OS_SANDBOX_OPEN |
		 OS_SANDBOX_CHANGE,
	 {{BASE_POLICIES, "", KEEP | OS_SANDBOX_FOLDERS}, {BASE_AUTHORITIES, "", OS_SANDBOX_READ}}},
	{"remote", OS_SANDBOX_CONNECT | OS_SANDBOX_DNS, {{0}}, calls_for_logins},
	{"lmtp", OS_SANDBOX_CONNECT, {{0}}, calls_for_names},
	{"local",
	 OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE,
	 {{BASE_MAILBOXES, "", KEEP | OS_SANDBOX_FOLDERS},
	  /* os_file_order_watch() */
	  {BASE_SYSTEM, "/proc/fs/ext4", OS_SANDBOX_READ},
	  {BASE_SYSTEM, "/sys/devices", OS_SANDBOX_READ}},
	 calls_for_owners},
	{"pipe", 0, {{0}}},
	{"launch", OS_SANDBOX_PROGRAMS, {{0}}},
	{"directory",
	 OS_SANDBOX_ACCEPT | OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE | OS_SANDBOX_DATABASE |
		 OS_SANDBOX_KEEP_ALIVE,
	 {{BASE_DATABASE, "", KEEP}, {BASE_SYSTEM, "/dev/urandom", OS_SANDBOX_READ}},
	 calls_for_servers},
	{"directory-ldap",
	 OS_SANDBOX_ACCEPT | OS_SANDBOX_OPEN | OS_SANDBOX_CHANGE | OS_SANDBOX_DATABASE |
		 OS_SANDBOX_CONNECT | OS_SANDBOX_DNS | OS_SANDBOX_LOCAL,
	 {{BASE_DATABASE, "", KEEP},
	  {BASE_LDAP_AUTHORITY, "", OS_SANDBOX_READ},
	  {BASE_SYSTEM, "/dev/urandom", OS_SANDBOX_READ},
	  /* getaddrinfo(3), by which libldap finds its servers */
	  {BASE_SYSTEM, "/etc/hosts", OS_SANDBOX_READ},
	  {BASE_SYSTEM, "/etc/resolv.conf", OS_SANDBOX_READ},
	  {BASE_SYSTEM, "/etc/nsswitch.conf", OS_SANDBOX_READ},
	  {BASE_SYSTEM, "/etc/host.conf", OS_SANDBOX_READ},
	  {BASE_SYSTEM, "/etc/gai.conf", OS_SANDBOX_READ}}},
	{"directory-postgresql",
	 OS_SANDBOX_ACCEPT | OS_SANDBOX_OPEN | OS_SANDBOX_SYNC | OS_SANDBOX_CONNECT |
		 OS_SANDBOX_DNS | OS_SANDBOX_LOCAL,
	 {{BASE_CONNINFO, "", OS_SANDBOX_READ}},
	 .is_bound_to_backend = true},
};

struct sandbox {
	const struct profile *profile;
	struct arena *arena;
	unsigned calls;
	struct os_sandbox_path *paths;
	struct os_sandbox_place *places; /* where the paths led at that time */
	size_t count;
	struct str backend; /* the directory's source of data, and its user there */
};

static const struct profile *profile_find(const char *program)
{
	for (size_t i = 0; i < COUNT_OF(profiles); i++)
		if (strcmp(profiles[i].program, program) == 0)
			return &profiles[i];
	panic("no sandbox for %s", program);
}

static void add_path(struct sandbox *sandbox, struct str path, unsigned access)
{
	sandbox->paths[sandbox->count++] =
		(struct os_sandbox_path){arena_copy(sandbox->arena, path), access};
}

static void add_queue(struct sandbox *sandbox, const struct config *config,
		      const struct place *place)
{
	struct buffer path = {0};

	buffer_append_format(&path, "%s/%s", config->queue, place->path);
	add_path(sandbox, buffer_view(&path), place->access);
	buffer_clear(&path);
}

static void add_mailboxes(struct sandbox *sandbox, const struct config *config, unsigned access)
{
	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].kind == CONFIG_SERVICE_MAILDIR)
			add_path(sandbox, config_mailbox_base(&config->services[i]), access);
}

/* Allows the directory of the file at PATH: others are created next to it, or replace it. */
static void add_parent(struct sandbox *sandbox, const char *path, unsigned access)
{
	struct str text = str_from(path != NULL ? path : "");
	ptrdiff_t slash = str_find_last(text, '/');

	if (slash >= 0)
		add_path(sandbox, str_slice(text.data, slash > 0 ? (size_t)slash : 1), access);
}

static void add_database(struct sandbox *sandbox, const struct config_directory *directory,
			 unsigned access)
{
	if (directory->backend == CONFIG_BACKEND_SQLITE ||
	    directory->backend == CONFIG_BACKEND_LDAP)
		add_parent(sandbox, directory->path, access);
}

/* The file alone, as libldap reads it once: there may be a private key beside it. */
static void add_ldap_authority(struct sandbox *sandbox, const struct config_directory *directory,
			       unsigned access)
{
	if (directory->backend == CONFIG_BACKEND_LDAP && directory->authority != NULL &&
	    *directory->authority != '\0')
		add_path(sandbox, str_from(directory->authority), access);
}

/* Those who renew a certificate put files beside it, or beside the one to which a symbolic link
 * leads. */
static void add_secret(struct sandbox *sandbox, const char *path, unsigned access)
{
	char real[OS_SANDBOX_PATH_SIZE];

	if (*path == '\0')
		return;
	add_parent(sandbox, path, access);
	if (os_sandbox_real_path(path, real) == 0)
		add_parent(sandbox, real, access);
}

static void add_secrets(struct sandbox *sandbox, const struct config *config, unsigned access)
{
	for (size_t i = 0; i < config_key_count(config); i++) {
		const struct config_certificate one = config_key_at(config, i);

		add_secret(sandbox, one.chain, access);
		add_secret(sandbox, one.key, access);
	}
	for (size_t i = 0; i < config_authority_count(config); i++)
		add_secret(sandbox, config_authority_at(config, i), access);
	add_secret(sandbox, config->relay_passwords, access);
}

static void add_tokens(struct sandbox *sandbox, const struct config *config, unsigned access)
{
	for (size_t i = 0; i < config->auth.token_key_count; i++)
		add_secret(sandbox, config->auth.token_keys[i], access);
	if (!config_has_auth(config))
		return;
	add_secret(sandbox, config->auth.introspection_secret_file, access);
	if (config_has_introspection(config))
		add_parent(sandbox, config->tls_authorities, access);
}

static size_t count_tokens(const struct config *config)
{
	return 2 * config->auth.token_key_count + 3;
}

static size_t count_secrets(const struct config *config)
{
	return 4 * config_key_count(config) + 2 * config_authority_count(config) + 2;
}

static void count_file(void *context, struct str path)
{
	(void)path;
	++*(size_t *)context;
}

static size_t count_conninfo(const struct config_directory *directory)
{
	size_t count = 0;

	for (size_t i = 0; i < directory->database_count; i++)
		conninfo_files(directory->database[i], count_file, &count);
	return count;
}

static void add_file(void *context, struct str path)
{
	add_path(context, path, OS_SANDBOX_READ);
}

static void add_conninfo(struct sandbox *sandbox, const struct config_directory *directory)
{
	for (size_t i = 0; i < directory->database_count; i++)
		conninfo_files(directory->database[i], add_file, sandbox);
}

static void add_places(struct sandbox *sandbox, const struct config *config)
{
	const struct place *place = sandbox->profile->places;
	size_t most = PLACES_MAX + config->service_count + count_conninfo(&config->directory) +
		      count_secrets(config) + count_tokens(config);

	sandbox->paths = arena_alloc(sandbox->arena, most * sizeof *sandbox->paths);
	for (; place->base != 0; place++) {
		if (place->base == BASE_QUEUE)
			add_queue(sandbox, config, place);
		else if (place->base == BASE_MAILBOXES)
			add_mailboxes(sandbox, config, place->access);
		else if (place->base == BASE_DATABASE)
			add_database(sandbox, &config->directory, place->access);
		else if (place->base == BASE_LDAP_AUTHORITY)
			add_ldap_authority(sandbox, &config->directory, place->access);
		else if (place->base == BASE_AUTHORITIES)
			add_parent(sandbox, config->tls_authorities, place->access);
		else if (place->base == BASE_POLICIES)
			add_path(sandbox, str_from(config->policy_path), place->access);
		else if (place->base == BASE_CONNINFO)
			add_conninfo(sandbox, &config->directory);
		else if (place->base == BASE_SECRETS)
			add_secrets(sandbox, config, place->access);
		else if (place->base == BASE_TOKENS)
			add_tokens(sandbox, config, place->access);
		else
			add_path(sandbox, str_from(place->path), place->access);
	}
}

/* A process that has talked to one database may hold its state, so another database needs a new
 * process. */
static struct str tell_backend(struct arena *arena, const struct config_directory *directory)
{
	struct buffer text = {0};
	struct str copy;

	for (size_t i = 0; i < directory->database_count; i++)
		buffer_append_format(&text, "%s\n", directory->database[i]);
	buffer_append_number(&text, (uint64_t)directory->ttl_us);
	copy = arena_copy_str(arena, buffer_view(&text));
	buffer_clear(&text);
	return copy;
}

static bool is_for_path(const char *url)
{
	struct str text = str_from(url);
	struct str scheme;

	(void)str_split(&text, ':', &scheme);
	return str_equal_nocase(scheme, STR("ldapi"));
}

/* Whether a server of the directory may be at a UNIX socket. */
static bool has_local_server(const struct config_directory *directory)
{
	for (size_t i = 0; i < directory->url_count; i++)
		if (is_for_path(directory->urls[i]))
			return true;
	for (size_t i = 0; i < directory->database_count; i++)
		if (conninfo_may_be_local(directory->database[i]))
			return true;
	return false;
}

static struct sandbox *sandbox_new(const struct profile *profile, const struct config *config)
{
	struct arena *arena = arena_new();
	struct sandbox *sandbox = arena_alloc(arena, sizeof *sandbox);

	sandbox->arena = arena;
	sandbox->profile = profile;
	sandbox->calls = profile->calls;
	if (profile->more != NULL)
		sandbox->calls |= profile->more(config);
	if (!has_local_server(&config->directory))
		sandbox->calls &= ~(unsigned)OS_SANDBOX_LOCAL;
	add_places(sandbox, config);
	if (profile->is_bound_to_backend)
		sandbox->backend = tell_backend(arena, &config->directory);
	return sandbox;
}

void sandbox_log_lacks(unsigned lacks)
{
	if ((lacks & OS_SANDBOX_NO_LANDLOCK) != 0)
		log_event(EVENT_SANDBOX_LACKS, log_string("feature", "landlock"));
	if ((lacks & OS_SANDBOX_NO_SECCOMP) != 0)
		log_event(EVENT_SANDBOX_LACKS, log_string("feature", "seccomp"));
}

static int remember_places(struct sandbox *sandbox)
{
	int error = 0;

	sandbox->places = arena_alloc(sandbox->arena, sandbox->count * sizeof *sandbox->places);
	for (size_t i = 0; error == 0 && i < sandbox->count; i++)
		error = os_sandbox_place(sandbox->paths[i].path, &sandbox->places[i]);
	return error;
}

int sandbox_enter(const char *name, const struct config *config, struct sandbox **sandbox_out)
{
	unsigned known = os_sandbox_lacks(); /* already logged by the supervisor */
	struct sandbox *sandbox = sandbox_new(profile_find(name), config);
	const struct os_sandbox limits = {sandbox->calls, sandbox->paths, sandbox->count};
	unsigned lacks = 0;
	int error = remember_places(sandbox);

	if (error == 0)
		error = os_sandbox_enter(&limits, &lacks);
	if (error < 0) {
		arena_free(sandbox->arena);
		return error;
	}
	sandbox_log_lacks(lacks & ~known);
	*sandbox_out = sandbox;
	return 0;
}

static bool has_path(const struct sandbox *sandbox, const struct os_sandbox_path *wanted)
{
	for (size_t i = 0; i < sandbox->count; i++)
		if (strcmp(sandbox->paths[i].path, wanted->path) == 0)
			return true;
	return false;
}

/* Whether the path leads to the same place, or that cannot be determined now. */
static bool is_in_place(const char *path, const struct os_sandbox_place *place)
{
	struct os_sandbox_place now;

	return os_sandbox_place(path, &now) < 0 ||
	       (now.device == place->device && now.inode == place->inode);
}

bool sandbox_fits(const struct sandbox *sandbox, const struct config *config)
{
	struct sandbox *wanted = sandbox_new(sandbox->profile, config);
	bool fits = str_equal(sandbox->backend, wanted->backend) &&
		    (wanted->calls & ~sandbox->calls) == 0;

	for (size_t i = 0; i < wanted->count; i++)
		fits &= has_path(sandbox, &wanted->paths[i]);
	for (size_t i = 0; i < sandbox->count; i++)
		fits &= is_in_place(sandbox->paths[i].path, &sandbox->places[i]);
	arena_free(wanted->arena);
	return fits;
}
