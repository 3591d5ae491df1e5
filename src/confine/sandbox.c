// SPDX-License-Identifier: ISC
#include "confine/sandbox.h"
#include "confine/internal.h"
#include "confine/process.h"
#include "log/event.h"
#include <string.h>

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

static struct sandbox *sandbox_new(const struct sandbox_profile *profile,
				   const struct config *config)
{
	struct arena *arena = arena_new();
	struct sandbox *sandbox = arena_alloc(arena, sizeof *sandbox);

	sandbox->arena = arena;
	sandbox->profile = profile;
	sandbox->calls = profile->calls;
	if (confine_process_of(profile->program)->sockets[0] != NULL)
		sandbox->calls |= OS_SANDBOX_ACCEPT;
	if (profile->more != NULL)
		sandbox->calls |= profile->more(config);
	sandbox_add_places(sandbox, config);
	if (profile->is_bound_to_backend)
		sandbox->backend = tell_backend(arena, &config->directory);
	return sandbox;
}

void sandbox_log_lacks(unsigned lacks)
{
	if ((lacks & OS_SANDBOX_NO_LANDLOCK) != 0)
		log_event(EVENT_SANDBOX_LACKS, log_string(feature, "landlock"));
	if ((lacks & OS_SANDBOX_NO_SECCOMP) != 0)
		log_event(EVENT_SANDBOX_LACKS, log_string(feature, "seccomp"));
}

static int remember_places(struct sandbox *sandbox)
{
	int error = 0;

	sandbox->files = arena_alloc(sandbox->arena, sandbox->count * sizeof *sandbox->files);
	for (size_t i = 0; error == 0 && i < sandbox->count; i++)
		error = os_sandbox_file(sandbox->paths[i].path, &sandbox->files[i]);
	return error;
}

int sandbox_enter(const char *name, const struct config *config, struct sandbox **sandbox_out)
{
	unsigned known = os_sandbox_lacks(); /* already logged by the supervisor */
	struct sandbox *sandbox = sandbox_new(sandbox_profile_find(name), config);
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

bool sandbox_looks_up_names(const struct sandbox *sandbox)
{
	return (sandbox->calls & OS_SANDBOX_DNS) != 0;
}

static bool has_path(const struct sandbox *sandbox, const struct os_sandbox_path *wanted)
{
	for (size_t i = 0; i < sandbox->count; i++)
		if (strcmp(sandbox->paths[i].path, wanted->path) == 0)
			return true;
	return false;
}

/* Whether the path leads to the same place, or that cannot be determined now. */
static bool is_in_place(const char *path, const struct os_sandbox_file *file)
{
	struct os_sandbox_file now;

	return os_sandbox_file(path, &now) < 0 ||
	       (now.device == file->device && now.inode == file->inode);
}

static bool is_all_in_place(const struct sandbox *sandbox)
{
	bool is_all = true;

	for (size_t i = 0; i < sandbox->count; i++)
		is_all &= is_in_place(sandbox->paths[i].path, &sandbox->files[i]);
	return is_all;
}

/* Whether symbolic links are followed, from which other paths may come. */
static bool has_links(const struct sandbox_profile *profile)
{
	for (const struct sandbox_tree *tree = profile->trees; tree->base != 0; tree++)
		if (tree->base == SANDBOX_IN_SECRETS || tree->base == SANDBOX_IN_TOKENS)
			return true;
	return false;
}

bool sandbox_fits_still(const struct sandbox *sandbox, const struct config *config)
{
	return has_links(sandbox->profile) ? sandbox_fits(sandbox, config)
					   : is_all_in_place(sandbox);
}

bool sandbox_fits(const struct sandbox *sandbox, const struct config *config)
{
	struct sandbox *wanted = sandbox_new(sandbox->profile, config);
	bool fits = str_equal(sandbox->backend, wanted->backend) &&
		    (wanted->calls & ~sandbox->calls) == 0;

	for (size_t i = 0; i < wanted->count; i++)
		fits &= has_path(sandbox, &wanted->paths[i]);
	arena_free(wanted->arena);
	return is_all_in_place(sandbox) && fits;
}
