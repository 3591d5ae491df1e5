// SPDX-License-Identifier: ISC
/* Lists a folder of a Maildir while readers move and flag files, and removes files from it. */
#include "base/timestamp.h"
#include "filing/mailstore/maildir/internal.h"
#include "os/clock.h"
#include "os/file/file.h"
#include <errno.h>

struct str mailstore_maildir_base(const char *name)
{
	struct str whole = str_from(name);
	ptrdiff_t end = str_find(whole, ':');

	return end < 0 ? whole : str_slice(name, (size_t)end);
}

struct str mailstore_maildir_mark(struct str base)
{
	struct str field;

	(void)str_split(&base, ',', &field);
	while (str_split(&base, ',', &field))
		if (str_starts_with(field, STR("I=")))
			return str_skip(field, 2);
	return (struct str){0};
}

/* A listing of cur/ may miss a file that is renamed meanwhile, as readers do to flag it. So it is
 * repeated until cur/ did not change, by a clock that may stand still for as long as this. */
static const int64_t CLOCK_STEP_US = 20 * 1000;
enum { LISTINGS_MAX = 50 };

struct listing {
	const char *folder;
	const char *box;
	mailstore_maildir_each *each;
	void *context;
};

static int pass_on_listed_name(void *context, const char *name)
{
	const struct listing *listing = context;

	return name[0] == '.' ? 0 : listing->each(listing->context, listing->box, name);
}

static int list_maildir_box(struct listing *listing, const char *box)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	int result;

	listing->box = box;
	buffer_append_format(&path, "%s/%s", listing->folder, box);
	buffer_append_byte(&path, '\0');
	result = os_file_list(OS_FILE_HERE, buffer_data(&path), pass_on_listed_name, listing);
	return result == -ENOENT ? 0 : result;
}

/* When the folder's cur/ was last changed; INT64_MIN: it is not there. */
static int changed_us(const char *folder, int64_t *out)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	struct os_file_info info;
	int result;

	buffer_append_format(&path, "%s/cur", folder);
	buffer_append_byte(&path, '\0');
	result = os_file_info_at(OS_FILE_HERE, buffer_data(&path), &info);
	*out = result == 0 ? info.modified_us : INT64_MIN;
	return result == -ENOENT ? 0 : result;
}

/* Lists new/, then cur/, as messages move that way only. -EAGAIN: cur/ changed. */
static int list_once(struct listing *listing)
{
	int64_t before;
	int64_t after;
	int64_t now = os_clock_wall_us();
	int result = list_maildir_box(listing, "new");

	if (result == 0)
		result = changed_us(listing->folder, &before);
	if (result == 0)
		result = list_maildir_box(listing, "cur");
	if (result == 0)
		result = changed_us(listing->folder, &after);
	if (result != 0)
		return result;
	/* a change within the clock's step might not show */
	return after == before && (before < now - CLOCK_STEP_US || before > now + CLOCK_STEP_US)
		       ? 0
		       : -EAGAIN;
}

int mailstore_maildir_list(const char *folder, mailstore_maildir_each *each, void *context)
{
	struct listing listing = {.folder = folder, .each = each, .context = context};
	int result = list_once(&listing);

	for (unsigned i = 0; i < LISTINGS_MAX && result == -EAGAIN; i++) {
		os_clock_pause_ms(CLOCK_STEP_US / 1000);
		result = list_once(&listing);
	}
	return result;
}

/* ---- fencing ---- */

struct fence {
	const char *folder;
	char mark[MAILSTORE_MARK_SIZE];
};

static int fence_one(void *context, const char *name)
{
	const struct fence *fence = context;
	struct buffer path CLEANUP(buffer_clear) = {0};
	int result;

	if (!str_equal(mailstore_maildir_mark(str_from(name)), str_from(fence->mark)))
		return 0;
	buffer_append_format(&path, "%s/tmp/%s", fence->folder, name);
	buffer_append_byte(&path, '\0');
	result = os_file_unlink(OS_FILE_HERE, buffer_data(&path));
	return result == -ENOENT ? 0 : result; /* it was moved just now: it will be found */
}

int mailstore_maildir_fence(const char *folder, const struct mailstore_location *location)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	struct fence fence = {.folder = folder};
	int result;

	mailstore_mark(location, fence.mark);
	buffer_append_format(&path, "%s/tmp", folder);
	buffer_append_byte(&path, '\0');
	result = os_file_list(OS_FILE_HERE, buffer_data(&path), fence_one, &fence);
	return result == -ENOENT ? 0 : result;
}

/* ---- opening ---- */

struct opening {
	const char *folder;
	struct str copy;
	int file; /* or -errno */
};

static int open_this(void *context, const char *box, const char *name)
{
	struct opening *opening = context;
	struct buffer path CLEANUP(buffer_clear) = {0};

	if (!str_equal(mailstore_maildir_base(name), opening->copy))
		return 0;
	buffer_append_format(&path, "%s/%s/%s", opening->folder, box, name);
	buffer_append_byte(&path, '\0');
	opening->file = os_file_open(OS_FILE_HERE, buffer_data(&path),
				     OS_FILE_READ | OS_FILE_NO_BLOCK | OS_FILE_NO_FOLLOW);
	return opening->file == -ENOENT ? 0 : 1; /* it was moved or flagged meanwhile */
}

int mailstore_maildir_open(const char *folder, const char *copy, struct ipc_content *content_out)
{
	struct opening opening = {folder, str_from(copy), -ENOENT};
	struct os_file_info info;
	int result = mailstore_maildir_list(folder, open_this, &opening);

	if (result >= 0 && opening.file < 0)
		result = opening.file;
	if (result >= 0)
		result = os_file_info(opening.file, &info);
	if (result < 0) {
		if (opening.file >= 0)
			os_file_close(opening.file);
		return result;
	}
	*content_out = (struct ipc_content){.file = opening.file, .size = info.size};
	return 0;
}

/* ---- removing ---- */

struct removal {
	const char *folder;
	struct str copy;
	int result;
};

static int unlink_in(const char *folder, const char *box, const char *name)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	int result;

	buffer_append_format(&path, "%s/%s/%s", folder, box, name);
	buffer_append_byte(&path, '\0');
	result = os_file_unlink(OS_FILE_HERE, buffer_data(&path));
	if (result < 0)
		return result;
	buffer_reset(&path);
	buffer_append_format(&path, "%s/%s", folder, box);
	buffer_append_byte(&path, '\0');
	return os_file_sync_directory(OS_FILE_HERE, buffer_data(&path));
}

static int remove_this(void *context, const char *box, const char *name)
{
	struct removal *removal = context;

	if (!str_equal(mailstore_maildir_base(name), removal->copy))
		return 0;
	removal->result = unlink_in(removal->folder, box, name);
	return removal->result == -ENOENT ? 0 : 1; /* it was moved or flagged meanwhile */
}

int mailstore_maildir_unlink(const char *folder, const char *copy)
{
	struct removal removal = {folder, str_from(copy), -ENOENT};
	int result = mailstore_maildir_list(folder, remove_this, &removal);

	return result < 0 ? result : removal.result;
}
