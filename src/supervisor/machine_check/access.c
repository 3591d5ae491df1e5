// SPDX-License-Identifier: ISC
#include "supervisor/machine_check/access.h"
#include "base/panic.h"
#include "confine/rights/rights.h"
#include "os/file/reason.h"
#include "os/file/rights.h"
#include "os/process/access.h"
#include "os/sandbox/sandbox.h"
#include "supervisor/machine_check/files.h"
#include "supervisor/machine_check/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct access_check {
	struct machine_check check;
	const struct machine_unit *unit;
	bool reads_secrets;
};

/* --- what is said --- */

static const char *verb_of(const struct machine_file *file)
{
	const struct os_access *asked = &file->asked;

	if (file->is_socket)
		return "connect to";
	if ((asked->wanted & OS_ACCESS_WRITE) != 0)
		return "write to";
	return asked->wanted == OS_ACCESS_PASS ? "run" : "read";
}

/* "user NAME cannot write to PATH" */
static void begin_sentence(const struct machine_file *file, uid_t uid, struct buffer *out)
{
	if (!file->is_anybodys) {
		buffer_append_string(out, "user ");
		os_access_name_user(uid, out);
	}
	buffer_append_format(out, "%s %s %s", file->is_anybodys ? "nobody can" : " cannot",
			     verb_of(file), file->asked.path);
}

static void report_sentence(struct access_check *access, const struct machine_file *file,
			    struct buffer *sentence)
{
	machine_check_report(&access->check, file->severity, file->setting, STR_FORMAT,
			     STR_ARGUMENTS(buffer_view(sentence)));
}

static void report_refusal(struct access_check *access, const struct machine_file *file, uid_t uid)
{
	const struct os_access *asked = &file->asked;
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct buffer rights CLEANUP(buffer_clear) = {0};

	begin_sentence(file, uid, &out);
	if (asked->error != -EACCES) {
		buffer_append_format(&out, ": %s", os_file_reason(asked->error));
	} else {
		if (asked->refused_at < strlen(asked->path))
			buffer_append_format(&out, ": no access to %.*s", (int)asked->refused_at,
					     asked->path);
		os_access_describe(asked->path, asked->refused_at, &rights);
		if (rights.length > 0)
			buffer_append_format(&out, " (" STR_FORMAT ")",
					     STR_ARGUMENTS(buffer_view(&rights)));
	}
	if (file->to_make != NULL)
		buffer_append_format(&out, ", to make %s", file->to_make);
	report_sentence(access, file, &out);
}

static void check_unit(struct access_check *access, const struct machine_file *file, uid_t uid)
{
	bool writes = (file->asked.wanted & OS_ACCESS_WRITE) != 0 && !file->is_socket;
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct buffer why CLEANUP(buffer_clear) = {0};
	char real[OS_SANDBOX_PATH_SIZE];

	if (access->unit == NULL || os_sandbox_real_path(file->asked.path, real) < 0 ||
	    machine_unit_allows(access->unit, str_from(real), writes, &why))
		return;
	begin_sentence(file, uid, &out);
	buffer_append_format(
		&out, " within " MACHINE_UNIT ": " STR_FORMAT " (systemctl edit " MACHINE_UNIT ")",
		STR_ARGUMENTS(buffer_view(&why)));
	report_sentence(access, file, &out);
}

/* --- what is checked --- */

/* A directory, a pipe or a device in the place of a file; a missing file is no such thing. */
static void check_kind_of_file(struct access_check *access, const struct machine_file *file)
{
	unsigned mode = file->asked.mode;

	if (!file->is_file || mode == 0 || S_ISREG(mode))
		return;
	machine_check_report(&access->check, file->severity, file->setting, "%s is %s",
			     file->asked.path,
			     S_ISDIR(mode) ? "a directory, not a file" : "not a regular file");
}

static void judge_place(struct access_check *access, const struct machine_file *file, uid_t uid)
{
	bool is_absent = file->asked.error == -ENOENT || file->asked.error == -ENOTDIR;
	bool is_in_the_way = file->is_made && file->asked.is_there;

	if (file->asked.error == 0 || file->is_anybodys)
		check_unit(access, file, uid);
	else if (file->is_needed || is_in_the_way || !is_absent)
		report_refusal(access, file, uid);
	if (file->asked.error == 0)
		check_kind_of_file(access, file);
}

/* Those of a user of their own, one by one: there are few. */
static void check_owned_place(struct access_check *access, struct machine_file *file,
			      const struct os_process_user *user)
{
	struct os_process_user owner;
	int error = os_process_user_find(file->owner, &owner);

	if (error < 0)
		return;
	owner.change = user->change || owner.uid != os_process_effective_user();
	if (os_access_as(&owner, &file->asked, 1) == 0)
		judge_place(access, file, owner.uid);
}

static void check_access_to_places(struct access_check *access, struct machine_files *files,
				   const struct os_process_user *user)
{
	struct os_access *asked = memory_alloc_zero(files->count + 1, sizeof *asked);
	uid_t uid = user->change ? user->uid : os_process_effective_user();

	for (size_t i = 0; i < files->count; i++)
		asked[i] = files->list[i].asked;
	if (os_access_as(user, asked, files->count) == 0)
		for (size_t i = 0; i < files->count; i++) {
			struct machine_file *file = &files->list[i];

			if (file->is_secret && !access->reads_secrets)
				continue;
			if (file->owner != NULL) {
				check_owned_place(access, file, user);
				continue;
			}
			file->asked = asked[i];
			judge_place(access, file, uid);
		}
	free(asked);
}

static void check_access_of_process(struct access_check *access,
				    const struct machine_process *process)
{
	const struct rights *rights = rights_find(process->file);
	struct machine_files files = {.arena = arena_new()};

	for (size_t i = 0; i < RIGHTS_TREES_MAX && rights->trees[i].base != 0; i++)
		machine_files_add(&files, access->check.config, process, &rights->trees[i]);
	machine_files_add_others(&files, access->check.config, process);
	if (files.count > 0)
		check_access_to_places(access, &files, process->user);
	free(files.list);
	arena_free(files.arena);
}

int machine_check_access(const struct config *config, struct str text,
			 const struct machine_process *processes, size_t count,
			 const struct machine_unit *unit, bool reads_secrets, machine_found *found,
			 void *context)
{
	struct access_check access = {{config, text, found, context, -1}, unit, reads_secrets};

	for (size_t i = 0; i < count; i++)
		check_access_of_process(&access, &processes[i]);
	return access.check.worst;
}
