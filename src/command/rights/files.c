// SPDX-License-Identifier: ISC
/* Checks the places of open files. */
#include "command/rights/check.h"
#include "confine/conninfo.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char DELETED[] = " (deleted)";
static const char LIBEXEC[] = "/libexec/stagepost/";

static bool is_path_beneath(struct str path, const char *base, const char *below)
{
	char real[PATH_MAX];
	struct str rest;

	if (base == NULL || *base == '\0' || realpath(base, real) == NULL ||
	    !str_starts_with(path, str_from(real)))
		return false;
	rest = str_skip(path, strcmp(real, "/") == 0 ? 0 : strlen(real));
	if (rest.length > 0 && rest.data[0] != '/')
		return false;
	if (*below == '\0')
		return true;
	if (strcmp(below, ".") == 0)
		return rest.length == 0;
	rest = str_skip(rest, 1);
	return str_starts_with(rest, str_from(below)) &&
	       (rest.length == strlen(below) || rest.data[strlen(below)] == '/');
}

static bool is_beside(struct str path, const char *file)
{
	char directory[PATH_MAX];
	const char *slash = file != NULL ? strrchr(file, '/') : NULL;

	if (slash == NULL || slash == file || slash - file >= PATH_MAX)
		return false;
	memcpy(directory, file, (size_t)(slash - file));
	directory[slash - file] = '\0';
	return is_path_beneath(path, directory, "");
}

static bool is_beside_secrets(struct str path, const struct config *config)
{
	for (size_t i = 0; i < config_key_count(config); i++) {
		const struct config_certificate one = config_key_at(config, i);

		if (is_beside(path, one.chain) || is_beside(path, one.key))
			return true;
	}
	for (size_t i = 0; i < config_authority_count(config); i++)
		if (is_beside(path, config_authority_at(config, i)))
			return true;
	return is_beside(path, config->relay_passwords);
}

static bool is_in_a_mailbox(struct str path, const struct config *config)
{
	char base[PATH_MAX];

	for (size_t i = 0; i < config->service_count; i++) {
		struct str text;

		if (!config_service_is_local(&config->services[i]) &&
		    config->services[i].kind != CONFIG_SERVICE_MAILBOX)
			continue;
		text = config_mailbox_base(&config->services[i]);
		if (text.length >= sizeof base)
			continue;
		memcpy(base, text.data, text.length);
		base[text.length] = '\0';
		if (is_path_beneath(path, base, ""))
			return true;
	}
	return false;
}

/* The database of section record; files that are read once are not open for long. */
struct sought {
	struct str path;
	bool is_found;
};

static void compare_with_sought_path(void *context, struct str path)
{
	struct sought *sought = context;

	sought->is_found |= str_equal(path, sought->path);
}

/* What connecting to the record's server needs. */
static bool is_for_connecting(struct str path, const struct config_record *record)
{
	struct sought sought = {.path = path};

	if (record->backend == CONFIG_RECORD_POSTGRESQL)
		conninfo_files(record->database, compare_with_sought_path, &sought);
	if (record->backend == CONFIG_RECORD_MARIADB)
		for (size_t i = 0; config_record_file(record, i).setting != NULL; i++)
			compare_with_sought_path(&sought,
						 str_from(config_record_file(record, i).path));
	return sought.is_found;
}

static bool is_for_imap(struct str path, const struct config *config)
{
	for (size_t i = 0; i < config->service_count; i++) {
		const struct config_service *service = &config->services[i];

		if (service->kind == CONFIG_SERVICE_IMAP &&
		    (str_equal(path, str_from(service->password_file)) ||
		     str_equal(path, str_from(config_imap_authority(config, service)))))
			return true;
	}
	return false;
}

static bool is_of_record(struct str path, const struct config *config)
{
	const struct config_record *record = &config->record;
	bool is_database = record->backend == CONFIG_RECORD_SQLITE && is_beside(path, record->path);

	return is_database || is_for_connecting(path, record) || is_for_imap(path, config);
}

/* In /proc a process may only have its own directory, by its pid. */
static bool is_own_proc_file(struct str path, const char *place, pid_t pid)
{
	static const char self[] = "/proc/self/";
	char own[64];

	if (strncmp(place, self, sizeof self - 1) != 0)
		return false;
	snprintf(own, sizeof own, "/proc/%ld/%s", (long)pid, place + sizeof self - 1);
	return str_equal(path, str_from(own));
}

static bool is_path_in_tree(struct str path, const struct rights_tree *tree,
			    const struct rights_check *check)
{
	const struct config *config = check->expected->config;
	const struct config_directory *directory = &config->directory;

	switch (tree->base) {
	case RIGHTS_SYSTEM:
		return is_path_beneath(path, "/", tree->path + 1) ||
		       is_own_proc_file(path, tree->path, check->process->pid);
	case RIGHTS_QUEUE:
		return is_path_beneath(path, config->queue, tree->path);
	case RIGHTS_RUN:
		return is_path_beneath(path, config->run, tree->path);
	case RIGHTS_MAILBOXES:
		return is_in_a_mailbox(path, config);
	case RIGHTS_DATABASE:
		return is_beside(path, directory->path);
	case RIGHTS_RECORD:
		return is_of_record(path, config);
	case RIGHTS_CERTIFICATES:
		return is_beside_secrets(path, config);
	case RIGHTS_LDAP_AUTHORITY:
		return is_path_beneath(path, directory->authority, "");
	case RIGHTS_POLICIES:
		return is_path_beneath(path, config->policy_path, tree->path);
	case RIGHTS_AUTHORITIES:
		return is_beside(path, config->tls_authorities);
	case RIGHTS_PROGRAMS:
		return is_beside(path, check->process->path) ||
		       memmem(path.data, path.length, LIBEXEC, sizeof LIBEXEC - 1) != NULL;
	case RIGHTS_TOKENS:
		for (size_t i = 0; i < config->auth.token_key_count; i++)
			if (is_beside(path, config->auth.token_keys[i]))
				return true;
		return is_beside(path, config->auth.introspection_secret_file);
	}
	return false;
}

static bool is_open_for_writing(const struct node_descriptor *descriptor)
{
	return (descriptor->flags & O_ACCMODE) != O_RDONLY && (descriptor->flags & O_PATH) == 0;
}

void rights_check_file(const struct rights_check *check, const struct node_descriptor *descriptor)
{
	const struct rights_tree *trees = check->process->rights->trees;
	struct str path = str_from(descriptor->target);
	bool may_read = false;

	if (path.length > strlen(DELETED) &&
	    strcmp(path.data + path.length - strlen(DELETED), DELETED) == 0)
		path.length -= strlen(DELETED);
	for (size_t i = 0; i < RIGHTS_TREES_MAX && trees[i].base != 0; i++) {
		if (!is_path_in_tree(path, &trees[i], check))
			continue;
		if (trees[i].may_write || !is_open_for_writing(descriptor))
			return;
		may_read = true;
	}
	rights_report(check, may_read ? "reading it" : "its row in the table of rights",
		      "descriptor %d: %s%s", descriptor->number, descriptor->target,
		      is_open_for_writing(descriptor) ? ", open for writing" : "");
}
