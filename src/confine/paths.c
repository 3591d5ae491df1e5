// SPDX-License-Identifier: ISC
/* The paths of a process's places, by the configuration. */
#include "confine/conninfo.h"
#include "confine/internal.h"
#include "mail/host.h"
#include <string.h>

static void grow_paths(struct sandbox *sandbox)
{
	size_t capacity = sandbox->capacity > 0 ? 2 * sandbox->capacity : SANDBOX_PLACES_MAX;
	struct os_sandbox_path *paths = arena_alloc(sandbox->arena, capacity * sizeof *paths);

	for (size_t i = 0; i < sandbox->count; i++)
		paths[i] = sandbox->paths[i];
	sandbox->paths = paths;
	sandbox->capacity = capacity;
}

static void add_path(struct sandbox *sandbox, struct str path, unsigned access)
{
	if (sandbox->count == sandbox->capacity)
		grow_paths(sandbox);
	sandbox->paths[sandbox->count++] =
		(struct os_sandbox_path){arena_copy(sandbox->arena, path), access};
}

static void add_queue(struct sandbox *sandbox, const struct config *config,
		      const struct sandbox_tree *tree)
{
	struct buffer path = {0};

	buffer_append_format(&path, "%s/%s", config->queue, tree->path);
	add_path(sandbox, buffer_view(&path), tree->access);
	buffer_clear(&path);
}

static void add_mailboxes(struct sandbox *sandbox, const struct config *config, unsigned access)
{
	bool is_mailbox = str_starts_with(str_from(sandbox->profile->program), STR("mailbox"));

	for (size_t i = 0; i < config->service_count; i++) {
		const struct config_service *service = &config->services[i];

		if (is_mailbox ? service->kind == CONFIG_SERVICE_MAILBOX
			       : config_service_is_local(service))
			add_path(sandbox, config_mailbox_base(service), access);
	}
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

static void add_file(void *context, struct str path)
{
	add_path(context, path, OS_SANDBOX_READ);
}

static void add_if_set(struct sandbox *sandbox, const char *path)
{
	if (*path != '\0')
		add_path(sandbox, str_from(path), OS_SANDBOX_READ);
}

static const char *const resolver_files[] = {"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf",
					     "/etc/host.conf", "/etc/gai.conf"};

static void add_resolver(struct sandbox *sandbox)
{
	for (size_t i = 0; i < COUNT_OF(resolver_files); i++)
		add_path(sandbox, str_from(resolver_files[i]), OS_SANDBOX_READ);
}

/* "NAME", "NAME:PORT", "[ADDRESS]:PORT" (filing/record/mariadb/mariadb.h) */
static bool is_name_of_server(struct str server)
{
	struct str host;

	if (server.length == 0 || server.data[0] == '[')
		return false;
	(void)str_split(&server, ':', &host);
	return mail_host_is_name(host);
}

bool sandbox_looks_up_record(const struct config_record *record)
{
	struct str rest = str_from(record->servers);
	struct str server;

	if (record->backend == CONFIG_RECORD_POSTGRESQL)
		return conninfo_has_names(record->database);
	if (record->backend != CONFIG_RECORD_MARIADB)
		return false;
	while (str_split(&rest, ',', &server))
		if (is_name_of_server(str_trim(server)))
			return true;
	return false;
}

/* The database and what is beside it, or the files that connecting to it needs. */
static void add_database_of_record(struct sandbox *sandbox, const struct config_record *record,
				   unsigned access)
{
	if (record->backend == CONFIG_RECORD_SQLITE)
		add_parent(sandbox, record->path, access);
	if (record->backend == CONFIG_RECORD_POSTGRESQL)
		conninfo_files(record->database, add_file, sandbox);
	if (record->backend == CONFIG_RECORD_MARIADB)
		for (size_t i = 0; config_record_file(record, i).setting != NULL; i++)
			add_if_set(sandbox, config_record_file(record, i).path);
	if (sandbox_looks_up_record(record))
		add_resolver(sandbox);
}

/* Also passwords and authorities of IMAP servers. */
static void add_record_to_sandbox(struct sandbox *sandbox, const struct config *config,
				  unsigned access)
{
	add_database_of_record(sandbox, &config->record, access);
	for (size_t i = 0; i < config->service_count; i++) {
		const struct config_service *service = &config->services[i];

		if (service->kind != CONFIG_SERVICE_IMAP)
			continue;
		add_path(sandbox, str_from(service->password_file), OS_SANDBOX_READ);
		if (service->security != CONFIG_IMAP_PLAIN)
			add_path(sandbox, str_from(config_imap_authority(config, service)),
				 OS_SANDBOX_READ);
	}
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

static void add_conninfo(struct sandbox *sandbox, const struct config_directory *directory)
{
	for (size_t i = 0; i < directory->database_count; i++)
		conninfo_files(directory->database[i], add_file, sandbox);
}

void sandbox_add_places(struct sandbox *sandbox, const struct config *config)
{
	const struct sandbox_tree *tree = sandbox->profile->trees;

	for (; tree->base != 0; tree++) {
		if (tree->base == SANDBOX_IN_QUEUE)
			add_queue(sandbox, config, tree);
		else if (tree->base == SANDBOX_IN_MAILBOXES)
			add_mailboxes(sandbox, config, tree->access);
		else if (tree->base == SANDBOX_IN_DATABASE)
			add_database(sandbox, &config->directory, tree->access);
		else if (tree->base == SANDBOX_IN_RECORD)
			add_record_to_sandbox(sandbox, config, tree->access);
		else if (tree->base == SANDBOX_IN_LDAP_AUTHORITY)
			add_ldap_authority(sandbox, &config->directory, tree->access);
		else if (tree->base == SANDBOX_IN_AUTHORITIES)
			add_parent(sandbox, config->tls_authorities, tree->access);
		else if (tree->base == SANDBOX_IN_POLICIES)
			add_path(sandbox, str_from(config->policy_path), tree->access);
		else if (tree->base == SANDBOX_IN_CONNINFO)
			add_conninfo(sandbox, &config->directory);
		else if (tree->base == SANDBOX_IN_RESOLVER)
			add_resolver(sandbox);
		else if (tree->base == SANDBOX_IN_SECRETS)
			add_secrets(sandbox, config, tree->access);
		else if (tree->base == SANDBOX_IN_TOKENS)
			add_tokens(sandbox, config, tree->access);
		else
			add_path(sandbox, str_from(tree->path), tree->access);
	}
}
