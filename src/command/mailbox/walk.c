// SPDX-License-Identifier: ISC
/*
 * Finds the mailboxes of a service by its path: "/mail/%d/%u" is all directories in all of /mail. A
 * name counts if the path of the user that it stands for is that directory.
 */
#include "base/panic.h"
#include "command/mailbox/mailboxes.h"
#include "filing/user.h"
#include "mailbox/maildir.h"
#include "os/file/file.h"
#include <stdlib.h>
#include <string.h>

struct walk {
	struct mailbox_list *list;
	const char *template;
	struct str rest;         /* of the template, from the component whose names are listed */
	struct buffer path;      /* of the directory that is listed, with a NUL */
	struct str user, domain; /* as far as they are known; "": not yet */
};

static void walk_next_component(struct walk *walk);

static bool has_subdirectory(const char *path, const char *name)
{
	struct buffer inner CLEANUP(buffer_clear) = {0};
	struct os_file_info info;

	buffer_append_format(&inner, "%s/%s%c", path, name, '\0');
	return os_file_info_at(OS_FILE_HERE, buffer_data(&inner), &info) == 0 && info.is_directory;
}

/* ---- the folders of a mailbox ---- */

struct folders {
	struct mailbox_list *list;
	const char *path;
	struct str user;
};

/* Names of other characters are only known from the record: they have an '&'. */
static int take_folder(void *context, const char *name)
{
	const struct folders *folders = context;
	struct buffer folder CLEANUP(buffer_clear) = {0};
	struct buffer cur CLEANUP(buffer_clear) = {0};

	if (name[0] != '.' || name[1] == '\0' || strchr(name, '&') != NULL)
		return 0;
	buffer_append_format(&cur, "%s/cur%c", name, '\0');
	if (!has_subdirectory(folders->path, buffer_data(&cur)))
		return 0;
	for (const char *at = name + 1; *at != '\0'; at++)
		buffer_append_byte(&folder, *at == '.' ? '/' : *at);
	mailbox_list_add(folders->list,
			 &(struct record_mailbox){folders->user, buffer_view(&folder)});
	return 0;
}

/* Whether PATH is the mailbox of USER, in canonical form. */
static bool is_mailbox_path_of_user(const struct walk *walk, struct str user)
{
	struct buffer path CLEANUP(buffer_clear) = {0};

	return maildir_path_expand(walk->template, user, &path) == 0 &&
	       str_equal(buffer_view(&path), str_from(buffer_data(&walk->path)));
}

static void take_folders_of_mailbox(struct walk *walk)
{
	struct buffer address CLEANUP(buffer_clear) = {0};
	struct arena *arena = arena_new();
	const char *path = buffer_data(&walk->path);
	struct folders folders = {walk->list, path, STR("")};

	buffer_append_format(&address, STR_FORMAT "@" STR_FORMAT, STR_ARGUMENTS(walk->user),
			     STR_ARGUMENTS(walk->domain));
	if (walk->user.length > 0 && walk->domain.length > 0 && has_subdirectory(path, "cur") &&
	    filing_user(buffer_view(&address), arena, &folders.user, NULL, NULL) == 0 &&
	    is_mailbox_path_of_user(walk, folders.user)) {
		mailbox_list_add(walk->list, &(struct record_mailbox){folders.user, STR("INBOX")});
		(void)!os_file_list(OS_FILE_HERE, path, take_folder, &folders);
	}
	arena_free(arena);
}

/* ---- the way there ---- */

/* Whether NAME is COMPONENT with something in the place of its only %u or %d. */
static bool take_name_for_component(struct str component, struct str name, struct walk *walk)
{
	ptrdiff_t at = str_find(component, '%');
	struct str before = str_slice(component.data, (size_t)at);
	struct str after = str_skip(component, (size_t)at + 2);
	struct str value;

	if ((size_t)at + 2 > component.length || str_find(after, '%') >= 0 ||
	    name.length <= before.length + after.length || !str_starts_with(name, before))
		return false;
	value = str_slice(name.data + before.length, name.length - before.length - after.length);
	if (!str_equal(str_skip(name, before.length + value.length), after))
		return false;
	*(component.data[at + 1] == 'd' ? &walk->domain : &walk->user) = value;
	return component.data[at + 1] == 'd' || component.data[at + 1] == 'u';
}

static int take_directory_entry(void *context, const char *name)
{
	struct walk inner = *(const struct walk *)context;
	struct str component;

	(void)str_split(&inner.rest, '/', &component);
	if (name[0] == '.' || !take_name_for_component(component, str_from(name), &inner))
		return 0;
	inner.path = (struct buffer){0};
	buffer_append_format(&inner.path, "%s/%s%c",
			     buffer_data(&((const struct walk *)context)->path), name, '\0');
	walk_next_component(&inner);
	buffer_clear(&inner.path);
	return 0;
}

static void walk_next_component(struct walk *walk)
{
	struct str rest = walk->rest;
	struct str component;

	while (rest.length > 0 && str_split(&rest, '/', &component)) {
		if (component.length > 0 && str_find(component, '%') >= 0) {
			(void)!os_file_list(OS_FILE_HERE, buffer_data(&walk->path),
					    take_directory_entry, walk);
			return;
		}
		buffer_truncate(&walk->path, walk->path.length - 1);
		if (component.length > 0)
			buffer_append_format(&walk->path, "/" STR_FORMAT, STR_ARGUMENTS(component));
		buffer_append_byte(&walk->path, '\0');
		walk->rest = rest;
	}
	take_folders_of_mailbox(walk);
}

void mailbox_list_walk(struct mailbox_list *list, const char *template)
{
	struct walk walk = {.list = list, .template = template, .rest = str_from(template)};

	buffer_append_byte(&walk.path, '\0');
	walk_next_component(&walk);
	buffer_clear(&walk.path);
}
