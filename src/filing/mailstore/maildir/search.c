// SPDX-License-Identifier: ISC
/* Finds copies in a Maildir by their names; files that no name tells of by what they hold. */
#include "base/panic.h"
#include "base/table.h"
#include "filing/mailstore/maildir/internal.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdlib.h>

enum { HEADER_READ = 16 << 10 }; /* bytes of a file that are read first */

struct search {
	const char *folder;
	const struct mailstore_location *location;
	struct str mark;
	struct arena *arena;
	struct name {
		char *text;
		uint64_t time_us; /* as the name tells it; UINT64_MAX: it does not */
	} * names;
	size_t count;
	struct judged *judged;
};

/* A file without a mark that was read: not again, if the listing is repeated. */
struct judged {
	UT_hash_handle hh;
	size_t length;
	char base[]; /* of its name */
};

static bool has_header_end(struct str text)
{
	for (size_t i = 0; i + 1 < text.length; i++)
		if (text.data[i] == '\n' &&
		    (text.data[i + 1] == '\n' ||
		     (text.data[i + 1] == '\r' && i + 2 < text.length && text.data[i + 2] == '\n')))
			return true;
	return false;
}

/* A number at the start of *TEXT, which is taken off; false: there is none. */
static bool take_file_name_number(struct str *text, uint64_t *out)
{
	size_t digits = 0;
	struct str number;

	while (digits < text->length && text->data[digits] >= '0' && text->data[digits] <= '9')
		digits++;
	number = str_slice(text->data, digits);
	*text = str_skip(*text, digits);
	return str_to_u64(number, out);
}

/* Of "SECONDS.MMICROSECONDS...", as Dovecot and we name files; others have seconds alone. */
static uint64_t time_of_file_name(struct str base)
{
	uint64_t seconds;
	uint64_t microseconds = 0;

	if (!take_file_name_number(&base, &seconds) || seconds > UINT32_MAX)
		return UINT64_MAX;
	if (str_starts_with(base, STR(".M"))) {
		base = str_skip(base, 2);
		(void)take_file_name_number(&base, &microseconds);
	}
	return seconds * 1000000 + microseconds % 1000000;
}

static void add_found_name(struct search *search, struct str base)
{
	struct name *name;

	for (size_t i = 0; i < search->count; i++)
		if (str_equal(str_from(search->names[i].text), base))
			return; /* it was moved from new/ to cur/ between the two listings */
	search->names = memory_resize(search->names, (search->count + 1) * sizeof *name);
	name = &search->names[search->count++];
	name->text = arena_copy(search->arena, base);
	name->time_us = time_of_file_name(base);
}

/* Whether the message in FILE is the one that is looked for: 1, 0 or -errno. */
static int compare_file(const struct search *search, int file)
{
	char block[HEADER_READ];
	struct os_file_info info;
	struct ipc_content content = {.file = file};
	ssize_t length = os_file_read(file, block, sizeof block, 0);
	int result = length < 0 ? (int)length : os_file_info(file, &info);

	if (result < 0)
		return result;
	/* a longer header: all of it is read */
	if (has_header_end(str_slice(block, (size_t)length)) &&
	    !mailstore_compare_header(search->location, str_slice(block, (size_t)length)))
		return 0;
	content.size = info.size;
	return mailstore_compare(search->location, &content);
}

static bool is_judged(const struct search *search, struct str base)
{
	struct judged *judged;

	HASH_FIND(hh, search->judged, base.data, base.length, judged);
	return judged != NULL;
}

static void note_judged(struct search *search, struct str base)
{
	struct judged *judged = memory_alloc_zero(1, sizeof *judged + base.length);

	judged->length = base.length;
	memcpy(judged->base, base.data, base.length);
	HASH_ADD_KEYPTR(hh, search->judged, judged->base, judged->length, judged);
}

static void forget_judged(struct search *search)
{
	struct judged *judged;
	struct judged *next;

	HASH_ITER (hh, search->judged, judged, next) {
		HASH_DEL(search->judged, judged);
		free(judged);
	}
}

/* A file without a mark: others delivered it, or copied it. */
static int look_into_unmarked_file(struct search *search, const char *box, const char *name)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	struct str base = mailstore_maildir_base(name);
	int file;
	int result;

	if (is_judged(search, base))
		return 0;
	buffer_append_format(&path, "%s/%s/%s", search->folder, box, name);
	buffer_append_byte(&path, '\0');
	file = os_file_open(OS_FILE_HERE, buffer_data(&path),
			    OS_FILE_READ | OS_FILE_NO_BLOCK | OS_FILE_NO_FOLLOW);
	if (file == -ENOENT || file == -ELOOP)
		return 0; /* moved or flagged meanwhile: then it comes again; or a link */
	if (file < 0)
		return file;
	result = compare_file(search, file);
	os_file_close(file);
	if (result < 0)
		return result == -EISDIR ? 0 : result;
	if (result == 1)
		add_found_name(search, base);
	note_judged(search, base);
	return 0;
}

static int look_at_maildir_file(void *context, const char *box, const char *name)
{
	struct search *search = context;
	struct str base = mailstore_maildir_base(name);
	struct str mark = mailstore_maildir_mark(base);

	if (mark.length == 0)
		return look_into_unmarked_file(search, box, name);
	if (str_equal(mark, search->mark))
		add_found_name(search, base);
	return 0;
}

static int compare_found_names(const void *a, const void *b)
{
	const struct name *left = a;
	const struct name *right = b;

	if (left->time_us != right->time_us)
		return left->time_us < right->time_us ? -1 : 1;
	return strcmp(left->text, right->text);
}

/* Whoever appended them may have died before they were durable, and readers rename them: all of the
 * file system, which nobody has to wait for but in doubt. */
static int make_file_system_durable(const char *folder)
{
	int directory = os_file_open_directory(OS_FILE_HERE, folder);
	int result;

	if (directory < 0)
		return directory;
	result = os_file_sync_filesystem(directory);
	os_file_close(directory);
	return result;
}

int mailstore_maildir_search(const char *folder, const struct mailstore_location *location,
			     struct arena *arena, struct mailstore_found **found_out,
			     size_t *count_out)
{
	char mark[MAILSTORE_MARK_SIZE];
	struct search search = {.folder = folder, .location = location, .arena = arena};
	int result;

	mailstore_mark(location, mark);
	search.mark = str_from(mark);
	result = mailstore_maildir_list(folder, look_at_maildir_file, &search);
	if (result == 0 && search.count > 0)
		result = make_file_system_durable(folder);
	if (result == 0) {
		if (search.count > 0)
			qsort(search.names, search.count, sizeof *search.names,
			      compare_found_names);
		*found_out = arena_alloc(arena, search.count * sizeof **found_out);
		for (size_t i = 0; i < search.count; i++)
			(*found_out)[i].copy = search.names[i].text;
		*count_out = search.count;
	}
	free(search.names);
	forget_judged(&search);
	return result;
}
