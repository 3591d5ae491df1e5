// SPDX-License-Identifier: ISC
/* Removes what interrupted deliveries left in tmp/. */
#include "base/timestamp.h"
#include "mailbox/internal.h"
#include "os/clock.h"
#include "os/file/file.h"

/* Files of interrupted deliveries are removed at this age (Source: maildir(5), qmail). */
#define CLEAN_ABANDONED_US (36 * HOUR_US)

/* Names examined at once, so that the contents of one tmp/ cannot delay the mail of others. If
 * there are more, the next delivery continues. */
enum { CLEAN_MAX = 1000 };

struct cleaning {
	struct str path;
	int64_t before_us;
	size_t seen;
	size_t removed;
};

static int clean_one(void *context, const char *name)
{
	struct cleaning *cleaning = context;
	struct maildir_path path;
	struct os_file_info info;

	if (cleaning->seen++ == CLEAN_MAX)
		return 1;
	if (name[0] == '.' || maildir_path_join(&path, cleaning->path, "tmp", name) < 0 ||
	    os_file_info_at(OS_FILE_HERE, path.text, &info) < 0)
		return 0;
	if (info.is_directory || info.modified_us >= cleaning->before_us)
		return 0;
	if (os_file_unlink(OS_FILE_HERE, path.text) < 0)
		return 1; /* removing the others will fail, too */
	cleaning->removed++;
	return 0;
}

static uint64_t hash_of_path(struct str s)
{
	uint64_t value = UINT64_C(14695981039346656037); /* FNV-1a */

	for (size_t i = 0; i < s.length; i++)
		value = (value ^ (unsigned char)s.data[i]) * UINT64_C(1099511628211);
	return value;
}

void maildir_clean(struct maildir *maildir, struct str path)
{
	uint64_t key = hash_of_path(path);
	struct maildir_cleaned *slot = &maildir->cleaned[key % MAILDIR_CLEAN_SLOTS];
	struct cleaning cleaning = {.path = path,
				    .before_us = os_clock_wall_us() - CLEAN_ABANDONED_US};
	struct maildir_path tmp;

	if (slot->path == key && slot->at_us > cleaning.before_us)
		return;
	*slot = (struct maildir_cleaned){key, os_clock_wall_us()};
	if (maildir_path_join(&tmp, path, "tmp", NULL) == 0 &&
	    os_file_list(OS_FILE_HERE, tmp.text, clean_one, &cleaning) > 0 &&
	    cleaning.seen > CLEAN_MAX && cleaning.removed > 0)
		*slot = (struct maildir_cleaned){0};
}
