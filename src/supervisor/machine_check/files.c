// SPDX-License-Identifier: ISC
#include "supervisor/machine_check/files.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "os/file/rights.h"
#include "supervisor/machine_check/internal.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the list --- */

static struct machine_file *append_machine_file(struct machine_files *files, const char *path,
						unsigned wanted, const char *setting)
{
	struct machine_file *file;

	files->list = memory_grow(files->list, files->count, &files->capacity, sizeof *files->list);
	file = &files->list[files->count++];
	*file = (struct machine_file){.asked = {.path = path, .wanted = wanted},
				      .setting = setting,
				      .severity = MACHINE_FAULT};
	return file;
}

PRINTF_LIKE(2, 3)
static const char *format_setting_text(struct machine_files *files, const char *format, ...)
{
	char text[MACHINE_SETTING_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return arena_copy(files->arena, str_from(text));
}

static void add_read_file(struct machine_files *files, const char *path, const char *setting)
{
	if (path != NULL && *path != '\0')
		append_machine_file(files, path, OS_ACCESS_READ, setting)->is_file = true;
}

static void add_secret_file(struct machine_files *files, const char *path, const char *setting)
{
	size_t before = files->count;

	add_read_file(files, path, setting);
	if (files->count > before)
		files->list[before].is_secret = true;
}

/* The directory at PATH, in which files are made; if it is to be made itself, the one above. A link
 * to nothing is in the way of both. */
static struct machine_file *add_folder_file(struct machine_files *files, struct str path,
					    const char *setting)
{
	char *found = arena_copy(files->arena, path);
	struct machine_file *file;
	struct os_file_info info;
	char *slash;

	while (os_file_info_at(OS_FILE_HERE, found, &info) == -ENOENT &&
	       (slash = strrchr(found, '/')) != NULL && slash != found)
		*slash = '\0';
	file = append_machine_file(files, found, OS_ACCESS_WRITE | OS_ACCESS_PASS, setting);
	file->is_needed = true;
	if (strlen(found) < path.length)
		file->to_make = arena_copy(files->arena, path);
	return file;
}

static bool is_to_be_made(struct machine_files *files, struct str path)
{
	struct os_file_info info;

	return os_file_info_at(OS_FILE_HERE, arena_copy(files->arena, path), &info) == -ENOENT;
}

/* The directory that PATH is in; "" if it names none. */
static struct str parent_directory_of(const char *path)
{
	ptrdiff_t slash = str_find_last(str_from(path), '/');

	return str_slice(path, slash > 0 ? (size_t)slash : 0);
}

/* A database: the file, if it is there, and others that are made beside it. */
static void add_database_file(struct machine_files *files, const char *path, const char *setting,
			      enum machine_severity severity)
{
	struct machine_file *file =
		append_machine_file(files, path, OS_ACCESS_READ | OS_ACCESS_WRITE, setting);

	file->severity = severity;
	file->is_file = true;
	file->is_made = true;
}

static bool has_database_file(const struct config_directory *directory)
{
	return directory->backend == CONFIG_BACKEND_SQLITE ||
	       directory->backend == CONFIG_BACKEND_LDAP;
}

/* --- bases --- */

static void add_queue_file(struct machine_files *files, const struct config *config)
{
	struct machine_file *file = append_machine_file(files, config->queue,
							OS_ACCESS_WRITE | OS_ACCESS_PASS, "queue");

	file->severity = MACHINE_FATAL;
	file->is_made = true;
}

/* What the supervisor itself opens, and makes. */
static void add_run_files(struct machine_files *files, const struct config *config)
{
	struct str data = has_database_file(&config->directory)
				  ? parent_directory_of(config->directory.path)
				  : STR("");

	add_folder_file(files, str_from(config->run), "run")->severity = MACHINE_FATAL;
	append_machine_file(files, config->file, OS_ACCESS_READ, "the configuration")->severity =
		MACHINE_FATAL;
	for (size_t i = 0; i < config->included_count; i++)
		append_machine_file(files, config->included[i], OS_ACCESS_READ, "include")
			->severity = MACHINE_FATAL;
	if (is_to_be_made(files, str_from(config->queue)))
		add_folder_file(files, str_from(config->queue), "queue")->severity = MACHINE_FATAL;
	if (data.length > 0 && is_to_be_made(files, data))
		add_folder_file(files, data, "directory.path")->severity = MACHINE_FATAL;
}

/* Mailboxes of other nodes are not here, though one file of configuration may stand on all: then
 * there is nothing at their place. */
static bool is_of_other_nodes(const struct config_service *service)
{
	struct str base = config_mailbox_base(service);
	char path[PATH_MAX];
	struct os_file_info info;

	snprintf(path, sizeof path, STR_FORMAT, STR_ARGUMENTS(base));
	return service->nodes != NULL && *service->nodes != '\0' &&
	       os_file_info_behind(path, &info) == -ENOENT;
}

/* A mailbox of "%u" belongs to its user, who may be anybody. */
static void add_mailbox_file(struct machine_files *files, const struct config_service *service)
{
	struct machine_file *file =
		add_folder_file(files, config_mailbox_base(service),
				format_setting_text(files, "service %s.path", service->name));

	file->is_anybodys = service->user != NULL && strcmp(service->user, "%u") == 0;
	if (service->user != NULL && *service->user != '\0' && !file->is_anybodys)
		file->owner = service->user;
}

static void add_mailbox_files(struct machine_files *files, const struct config *config,
			      const char *program)
{
	bool is_mailbox = strcmp(program, "mailbox") == 0;

	for (size_t i = 0; i < config->service_count; i++) {
		const struct config_service *service = &config->services[i];

		if ((is_mailbox ? service->kind == CONFIG_SERVICE_MAILBOX
				: config_service_is_local(service)) &&
		    !is_of_other_nodes(service))
			add_mailbox_file(files, service);
	}
}

static void add_directory_files(struct machine_files *files, const struct config *config)
{
	const char *path = config->directory.path;
	struct str data;

	if (!has_database_file(&config->directory))
		return;
	add_database_file(files, path, "directory.path", MACHINE_FATAL);
	data = parent_directory_of(path);
	if (data.length > 0 && !is_to_be_made(files, data)) /* else the supervisor makes it */
		add_folder_file(files, data, "directory.path")->severity = MACHINE_FATAL;
}

static void add_record_files(struct machine_files *files, const struct config *config)
{
	const struct config_record *record = &config->record;
	struct config_file file;

	if (record->backend == CONFIG_RECORD_SQLITE) {
		add_database_file(files, record->path, "record.path", MACHINE_FAULT);
		if (parent_directory_of(record->path).length > 0)
			add_folder_file(files, parent_directory_of(record->path), "record.path")
				->severity = MACHINE_FAULT;
	}
	for (size_t i = 0; record->backend == CONFIG_RECORD_MARIADB &&
			   (file = config_record_file(record, i)).setting != NULL;
	     i++)
		add_secret_file(files, file.path, file.setting);
	for (size_t i = 0; i < config->service_count; i++) {
		const struct config_service *service = &config->services[i];

		if (service->kind == CONFIG_SERVICE_IMAP)
			add_secret_file(files, service->password_file,
					format_setting_text(files, "service %s.password_file",
							    service->name));
	}
}

static void add_certificate_files(struct machine_files *files, const struct config *config)
{
	for (size_t i = 0; i < config_key_count(config); i++) {
		const struct config_certificate one = config_key_at(config, i);
		char setting[MACHINE_SETTING_SIZE];

		machine_check_name_setting(&one, "chain", setting);
		add_secret_file(files, one.chain, format_setting_text(files, "%s", setting));
		machine_check_name_setting(&one, "key", setting);
		add_secret_file(files, one.key, format_setting_text(files, "%s", setting));
	}
	for (size_t i = 0; i < config_authority_count(config); i++) {
		char setting[MACHINE_SETTING_SIZE];

		machine_check_authority_setting(config, i, setting);
		add_secret_file(files, config_authority_at(config, i),
				format_setting_text(files, "%s", setting));
	}
	add_secret_file(files, config->relay_passwords, "relay_passwords");
}

static void add_token_files(struct machine_files *files, const struct config *config)
{
	const struct config_auth *auth = &config->auth;

	for (size_t i = 0; i < auth->token_key_count; i++)
		add_secret_file(files, auth->token_keys[i], "auth.token_keys");
	if (config_has_auth(config))
		add_secret_file(files, auth->introspection_secret_file,
				"auth.introspection_secret_file");
}

void machine_files_add(struct machine_files *files, const struct config *config,
		       const struct machine_process *process, const struct rights_tree *tree)
{
	switch (tree->base) {
	case RIGHTS_QUEUE: /* others get what they open there from "queue" */
		if (strcmp(process->program, "queue") == 0 && strcmp(tree->path, ".") == 0)
			add_queue_file(files, config);
		break;
	case RIGHTS_RUN:
		add_run_files(files, config);
		break;
	case RIGHTS_MAILBOXES:
		add_mailbox_files(files, config, process->program);
		break;
	case RIGHTS_DATABASE:
		add_directory_files(files, config);
		break;
	case RIGHTS_RECORD:
		add_record_files(files, config);
		break;
	case RIGHTS_CERTIFICATES:
		add_certificate_files(files, config);
		break;
	case RIGHTS_POLICIES:
		(void)add_folder_file(files, str_from(config->policy_path), "policy_path");
		break;
	case RIGHTS_AUTHORITIES:
		if (strcmp(process->program, "policy") == 0 || config_has_introspection(config))
			add_read_file(files, config->tls_authorities, "tls_authorities");
		break;
	case RIGHTS_LDAP_AUTHORITY:
		add_read_file(files, config->directory.authority, "directory.authority");
		break;
	case RIGHTS_TOKENS:
		add_token_files(files, config);
		break;
	case RIGHTS_SYSTEM:
	case RIGHTS_PROGRAMS: /* of the installation, not of a setting */
		break;
	}
}

/* --- others --- */

/* Connecting to a UNIX socket is writing to it. */
static void add_socket_file(struct machine_files *files, const char *path, const char *setting)
{
	append_machine_file(files, path, OS_ACCESS_WRITE, setting)->is_socket = true;
}

static void add_service_files(struct machine_files *files, const struct config_service *service,
			      const char *program)
{
	if (service->kind == CONFIG_SERVICE_LMTP && service->address.port == 0 &&
	    strcmp(program, "lmtp") == 0)
		add_socket_file(files, service->address.host,
				format_setting_text(files, "service %s.address", service->name));
	if (service->kind == CONFIG_SERVICE_PIPE && service->command_count > 0 &&
	    strcmp(program, "launch") == 0 && *service->user != '\0' &&
	    strcmp(service->user, "%u") != 0)
		append_machine_file(files, service->command[0], OS_ACCESS_PASS,
				    format_setting_text(files, "service %s.command", service->name))
			->owner = service->user;
}

void machine_files_add_others(struct machine_files *files, const struct config *config,
			      const struct machine_process *process)
{
	for (size_t i = 0; i < config->service_count; i++)
		add_service_files(files, &config->services[i], process->program);
	if (strcmp(process->program, "auth") == 0 && config->auth.users == CONFIG_AUTH_DOVECOT)
		add_socket_file(files, config->auth.socket, "auth.socket");
	if (strcmp(process->program, "directory") == 0 &&
	    config->directory.backend == CONFIG_BACKEND_LDAP)
		add_secret_file(files, config->directory.password_file, "directory.password_file");
}
