// SPDX-License-Identifier: ISC
#include "filing/mailstore/maildir.h"
#include "base/panic.h"
#include "filing/mailstore/maildir/internal.h"
#include "os/file/reason.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct maildir_store {
	struct mailstore store; /* the first member */
	char *path;
	struct maildir *maildir;
};

/* A delivery's texts. */
struct copy {
	struct buffer path;
	struct buffer folder;
	char flags[4];
	char mark[MAILSTORE_MARK_SIZE];
	size_t delivery; /* SIZE_MAX: none */
};

/* Appends the name of FOLDER's directory, ".Lists.dev"; nothing for the INBOX. */
static int append_folder(struct str folder, struct buffer *out)
{
	int result;

	if (mailstore_folder_is_inbox(folder))
		return 0;
	buffer_append_byte(out, '.');
	result = mailstore_folder_append(folder, '.', out);
	if (result == 0 && out->length > MAILDIR_FOLDER_MAX)
		result = -ENAMETOOLONG;
	if (result == 0)
		buffer_append_byte(out, '\0');
	return result;
}

static void set_flags(unsigned flags, char out[4])
{
	size_t used = 0;

	if ((flags & MAILSTORE_DRAFT) != 0)
		out[used++] = 'D';
	if ((flags & MAILSTORE_FLAGGED) != 0)
		out[used++] = 'F';
	if ((flags & MAILSTORE_SEEN) != 0)
		out[used++] = 'S';
	out[used] = '\0';
}

/* False: LOCATION can have no Maildir, and APPEND has its verdict. */
static bool prepare_maildir_append(const struct maildir_store *store,
				   struct mailstore_append *append, struct copy *copy)
{
	int error = maildir_path_expand(store->path, append->location.user, &copy->path);

	if (error < 0) {
		mail_verdict_set(&append->verdict, "5.1.3", "No mailbox can have such a name");
		return false;
	}
	if (append_folder(append->location.folder, &copy->folder) < 0) {
		mail_verdict_set(&append->verdict, "5.1.3",
				 "Not a valid folder name: \"" STR_FORMAT "\"",
				 STR_ARGUMENTS(append->location.folder));
		append->is_refused = true;
		return false;
	}
	set_flags(append->flags, copy->flags);
	mailstore_mark(&append->location, copy->mark);
	return true;
}

static struct maildir_delivery delivery_of(struct mailstore_append *append, struct copy *copy)
{
	return (struct maildir_delivery){
		.path = buffer_view(&copy->path),
		.sender = append->sender,
		.recipient = append->recipient,
		.quota = append->quota,
		.refuses_over_quota = append->refuses_over_quota,
		.content = append->content,
		.is_binary = append->is_binary,
		.is_bare = append->recipient.length == 0,
		.is_filed = true,
		.folder = copy->folder.length > 0 ? buffer_data(&copy->folder) : NULL,
		.flags = copy->flags[0] != '\0' ? copy->flags : NULL,
		.mark = copy->mark,
		.name_out = append->copy,
	};
}

_Static_assert((int)MAILSTORE_COPY_SIZE == (int)MAILDIR_NAME_SIZE, "a copy is a file's name");

static void append_all(struct mailstore *mailstore, struct mailstore_append *appends, size_t count,
		       const struct mailstore_gate *gate)
{
	struct maildir_gate maildir_gate = {gate != NULL ? gate->pass : NULL,
					    gate != NULL ? gate->context : NULL};
	struct maildir_store *store = (struct maildir_store *)mailstore;
	struct copy *copies = memory_alloc_zero(count, sizeof *copies);
	struct maildir_delivery *deliveries = memory_alloc_zero(count, sizeof *deliveries);
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		copies[i].delivery = SIZE_MAX;
		if (!prepare_maildir_append(store, &appends[i], &copies[i]))
			continue;
		copies[i].delivery = used;
		deliveries[used++] = delivery_of(&appends[i], &copies[i]);
	}
	if (used > 0)
		maildir_deliver_group(store->maildir, deliveries, used,
				      gate != NULL ? &maildir_gate : NULL);
	for (size_t i = 0; i < count; i++) {
		if (copies[i].delivery != SIZE_MAX) {
			appends[i].verdict = deliveries[copies[i].delivery].verdict;
			appends[i].is_unknown = deliveries[copies[i].delivery].may_remain;
			appends[i].is_refused = deliveries[copies[i].delivery].is_refused;
		}
		buffer_clear(&copies[i].path);
		buffer_clear(&copies[i].folder);
	}
	free(copies);
	free(deliveries);
}

/* Makes OUT the directory of LOCATION, with a NUL. */
static int append_directory(struct maildir_store *store, const struct mailstore_location *location,
			    struct buffer *out)
{
	int result = maildir_path_expand(store->path, location->user, out);

	if (result == 0 && !mailstore_folder_is_inbox(location->folder)) {
		struct buffer folder CLEANUP(buffer_clear) = {0};

		result = append_folder(location->folder, &folder);
		buffer_append_byte(out, '/');
		buffer_append_str(out, buffer_view(&folder));
	}
	buffer_append_byte(out, '\0');
	if (result < 0)
		mailstore_error_set(&store->store, "Not a valid name of a mailbox or folder");
	return result;
}

static int find_maildir_copies(struct mailstore *mailstore,
			       const struct mailstore_location *location, struct arena *arena,
			       struct mailstore_found **found_out, size_t *count_out)
{
	struct maildir_store *store = (struct maildir_store *)mailstore;
	struct buffer directory CLEANUP(buffer_clear) = {0};
	int result = append_directory(store, location, &directory);

	if (result < 0)
		return result;
	result = mailstore_maildir_search(buffer_data(&directory), location, arena, found_out,
					  count_out);
	if (result < 0)
		mailstore_error_set(mailstore, "Cannot read %s: %s", buffer_data(&directory),
				    os_file_reason(result));
	return result;
}

static int fence_maildir_place(struct mailstore *mailstore,
			       const struct mailstore_location *location)
{
	struct maildir_store *store = (struct maildir_store *)mailstore;
	struct buffer directory CLEANUP(buffer_clear) = {0};
	int result = append_directory(store, location, &directory);

	if (result < 0)
		return result;
	result = mailstore_maildir_fence(buffer_data(&directory), location);
	if (result < 0)
		mailstore_error_set(mailstore, "Cannot clear %s/tmp: %s", buffer_data(&directory),
				    os_file_reason(result));
	return result;
}

static int remove_copy(struct mailstore *mailstore, const struct mailstore_location *location,
		       const char *copy)
{
	struct maildir_store *store = (struct maildir_store *)mailstore;
	struct buffer directory CLEANUP(buffer_clear) = {0};
	int result = append_directory(store, location, &directory);

	if (result < 0)
		return result;
	result = mailstore_maildir_unlink(buffer_data(&directory), copy);
	if (result < 0)
		mailstore_error_set(mailstore, "Cannot remove %s from %s: %s", copy,
				    buffer_data(&directory), os_file_reason(result));
	return result;
}

struct survey {
	mailstore_surveyed *each;
	void *context;
};

static int pass_on_surveyed_copy(void *context, const char *box, const char *name)
{
	const struct survey *survey = context;
	struct str base = mailstore_maildir_base(name);
	struct str mark = mailstore_maildir_mark(base);
	char copy[MAILSTORE_COPY_SIZE];
	char text[MAILSTORE_MARK_SIZE];

	(void)box;
	if (mark.length + 1 != sizeof text || base.length >= sizeof copy)
		return 0;
	snprintf(copy, sizeof copy, STR_FORMAT, STR_ARGUMENTS(base));
	snprintf(text, sizeof text, STR_FORMAT, STR_ARGUMENTS(mark));
	survey->each(survey->context, copy, text);
	return 0;
}

static int survey_folder(struct mailstore *mailstore, struct str user, struct str folder,
			 mailstore_surveyed *each, void *context)
{
	const struct mailstore_location location = {.user = user, .folder = folder};
	struct buffer directory CLEANUP(buffer_clear) = {0};
	int result = append_directory((struct maildir_store *)mailstore, &location, &directory);

	if (result < 0)
		return result;
	result = mailstore_maildir_list(buffer_data(&directory), pass_on_surveyed_copy,
					&(struct survey){each, context});
	if (result < 0)
		mailstore_error_set(mailstore, "Cannot read %s: %s", buffer_data(&directory),
				    os_file_reason(result));
	return result;
}

static int open_copy(struct mailstore *mailstore, struct str user, struct str folder,
		     const char *copy, struct ipc_content *content_out)
{
	const struct mailstore_location location = {.user = user, .folder = folder};
	struct buffer directory CLEANUP(buffer_clear) = {0};
	int result = append_directory((struct maildir_store *)mailstore, &location, &directory);

	if (result < 0)
		return result;
	result = mailstore_maildir_open(buffer_data(&directory), copy, content_out);
	if (result < 0)
		mailstore_error_set(mailstore, "Cannot open %s in %s: %s", copy,
				    buffer_data(&directory), os_file_reason(result));
	return result;
}

static void free_maildir_store(struct mailstore *mailstore)
{
	struct maildir_store *store = (struct maildir_store *)mailstore;

	maildir_free(store->maildir);
	free(store->path);
	free(store);
}

struct mailstore *mailstore_maildir_new(const struct mailstore_maildir_settings *settings)
{
	static const struct mailstore_operations operations = {
		.append = append_all,
		.fence = fence_maildir_place,
		.find = find_maildir_copies,
		.remove = remove_copy,
		.survey = survey_folder,
		.open = open_copy,
		.free = free_maildir_store,
	};
	struct maildir_store *store = memory_alloc_zero(1, sizeof *store);

	store->store.operations = &operations;
	store->path = memory_copy_string(settings->path);
	store->maildir = maildir_new(settings->host, settings->sync);
	return &store->store;
}
