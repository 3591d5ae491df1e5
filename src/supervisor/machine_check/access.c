// SPDX-License-Identifier: ISC
#include "supervisor/machine_check/access.h"
#include "base/panic.h"
#include "confine/rights/rights.h"
#include "os/file/reason.h"
#include "os/file/rights.h"
#include "os/process/access.h"
#include "os/sandbox/sandbox.h"
#include "supervisor/machine_check/internal.h"
#include "supervisor/machine_check/places.h"
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

static const char *verb_of(const struct machine_place *place)
{
	const struct os_access *asked = &place->asked;

	if (place->is_socket)
		return "connect to";
	if ((asked->wanted & OS_ACCESS_WRITE) != 0)
		return "write to";
	return asked->wanted == OS_ACCESS_PASS ? "run" : "read";
}

/* "user NAME cannot write to PATH" */
static void begin_sentence(const struct machine_place *place, uid_t uid, struct buffer *out)
{
	if (!place->is_anybodys) {
		buffer_append_string(out, "user ");
		os_access_name_user(uid, out);
	}
	buffer_append_format(out, "%s %s %s", place->is_anybodys ? "nobody can" : " cannot",
			     verb_of(place), place->asked.path);
}

static void report_sentence(struct access_check *access, const struct machine_place *place,
			    struct buffer *sentence)
{
	machine_check_report(&access->check, place->severity, place->setting, STR_FORMAT,
			     STR_ARGUMENTS(buffer_view(sentence)));
}

static void report_refusal(struct access_check *access, const struct machine_place *place,
			   uid_t uid)
{
	const struct os_access *asked = &place->asked;
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct buffer rights CLEANUP(buffer_clear) = {0};

	begin_sentence(place, uid, &out);
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
	if (place->to_make != NULL)
		buffer_append_format(&out, ", to make %s", place->to_make);
	report_sentence(access, place, &out);
}

static void check_unit(struct access_check *access, const struct machine_place *place, uid_t uid)
{
	bool writes = (place->asked.wanted & OS_ACCESS_WRITE) != 0 && !place->is_socket;
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct buffer why CLEANUP(buffer_clear) = {0};
	char real[OS_SANDBOX_PATH_SIZE];

	if (access->unit == NULL || os_sandbox_real_path(place->asked.path, real) < 0 ||
	    machine_unit_allows(access->unit, str_from(real), writes, &why))
		return;
	begin_sentence(place, uid, &out);
	buffer_append_format(
		&out, " within " MACHINE_UNIT ": " STR_FORMAT " (systemctl edit " MACHINE_UNIT ")",
		STR_ARGUMENTS(buffer_view(&why)));
	report_sentence(access, place, &out);
}

/* --- what is checked --- */

/* A directory, a pipe or a device in the place of a file; a missing file is no such thing. */
static void check_kind_of_file(struct access_check *access, const struct machine_place *place)
{
	unsigned mode = place->asked.mode;

	if (!place->is_file || mode == 0 || S_ISREG(mode))
		return;
	machine_check_report(&access->check, place->severity, place->setting, "%s is %s",
			     place->asked.path,
			     S_ISDIR(mode) ? "a directory, not a file" : "not a regular file");
}

static void judge_place(struct access_check *access, const struct machine_place *place, uid_t uid)
{
	bool is_absent = place->asked.error == -ENOENT || place->asked.error == -ENOTDIR;
	bool is_in_the_way = place->is_made && place->asked.is_there;

	if (place->asked.error == 0 || place->is_anybodys)
		check_unit(access, place, uid);
	else if (place->is_needed || is_in_the_way || !is_absent)
		report_refusal(access, place, uid);
	if (place->asked.error == 0)
		check_kind_of_file(access, place);
}

/* Those of a user of their own, one by one: there are few. */
static void check_owned_place(struct access_check *access, struct machine_place *place,
			      const struct os_process_user *user)
{
	struct os_process_user owner;
	int error = os_process_user_find(place->owner, &owner);

	if (error < 0)
		return;
	owner.change = user->change || owner.uid != os_process_effective_user();
	if (os_access_as(&owner, &place->asked, 1) == 0)
		judge_place(access, place, owner.uid);
}

static void check_access_to_places(struct access_check *access, struct machine_places *places,
				   const struct os_process_user *user)
{
	struct os_access *asked = memory_alloc_zero(places->count + 1, sizeof *asked);
	uid_t uid = user->change ? user->uid : os_process_effective_user();

	for (size_t i = 0; i < places->count; i++)
		asked[i] = places->list[i].asked;
	if (os_access_as(user, asked, places->count) == 0)
		for (size_t i = 0; i < places->count; i++) {
			struct machine_place *place = &places->list[i];

			if (place->is_secret && !access->reads_secrets)
				continue;
			if (place->owner != NULL) {
				check_owned_place(access, place, user);
				continue;
			}
			place->asked = asked[i];
			judge_place(access, place, uid);
		}
	free(asked);
}

static void check_access_of_process(struct access_check *access,
				    const struct machine_process *process)
{
	const struct rights *rights = rights_find(process->file);
	struct machine_places places = {.arena = arena_new()};

	for (size_t i = 0; i < RIGHTS_PLACES_MAX && rights->places[i].base != 0; i++)
		machine_places_add(&places, access->check.config, process, &rights->places[i]);
	machine_places_add_others(&places, access->check.config, process);
	if (places.count > 0)
		check_access_to_places(access, &places, process->user);
	free(places.list);
	arena_free(places.arena);
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
