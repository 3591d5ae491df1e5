// SPDX-License-Identifier: ISC
/* The file: one line, written in place, with a checksum, within one sector of the disk. It has its
 * size from the beginning, when it is blank (program/serve_seen.c). A crash of the process loses
 * nothing; a crash of the machine may bring back an older line, with an older version. */
#include "log/event.h"
#include "os/file.h"
#include "store/guard/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t digest(const char *text, size_t length)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return hash;
}

/* The words VERSION COUNT EPOCH PLACE IDENTITY CHECKSUM; PLACE is a digest. */
static int print(const struct store_guard_memory *memory, const char *place,
		 char line[STORE_GUARD_RECORD_MAX])
{
	int length = snprintf(
		line, STORE_GUARD_RECORD_MAX,
		"seen %020" PRIu64 " %020" PRIu64 " %010" PRIu64 " %016" PRIx64 " %s ",
		memory->version, memory->count, memory->epoch, digest(place, strlen(place)),
		*memory->identity != '\0' ? memory->identity : "-");

	return length + snprintf(line + length, (size_t)(STORE_GUARD_RECORD_MAX - length),
				 "%016" PRIx64 "\n", digest(line, (size_t)length));
}

/* Parses the words before the checksum. */
static bool take_words(struct str rest, struct store_guard_memory *memory, uint64_t *place_out)
{
	struct str word;

	if (!str_split(&rest, ' ', &word) || !str_equal(word, STR("seen")) ||
	    !str_split(&rest, ' ', &word) || !str_to_u64(word, &memory->version) ||
	    !str_split(&rest, ' ', &word) || !str_to_u64(word, &memory->count) ||
	    !str_split(&rest, ' ', &word) || !str_to_u64(word, &memory->epoch) ||
	    !str_split(&rest, ' ', &word) || !str_to_u64_hex(word, place_out) ||
	    !str_split(&rest, ' ', &word) || word.length >= sizeof memory->identity)
		return false;
	snprintf(memory->identity, sizeof memory->identity, STR_FORMAT, STR_ARGUMENTS(word));
	return true;
}

static bool parse(struct str text, struct store_guard_memory *memory, uint64_t *place_out)
{
	ptrdiff_t end = str_find(text, '\n');
	struct str line = end > 17 ? str_slice(text.data, (size_t)end) : STR("");
	char sum[20];

	if (line.length == 0)
		return false;
	snprintf(sum, sizeof sum, "%016" PRIx64, digest(line.data, line.length - 16));
	return memcmp(line.data + line.length - 16, sum, 16) == 0 &&
	       take_words(str_slice(line.data, line.length - 16), memory, place_out);
}

static bool is_blank(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] != ' ' && text.data[i] != '\n')
			return false;
	return true;
}

int store_guard_read(int file, const char *place, struct store_guard_memory *memory_out)
{
	char text[STORE_GUARD_RECORD_MAX];
	ssize_t length = file >= 0 ? os_file_read(file, text, sizeof text, 0) : 0;
	struct store_guard_memory memory = {0};
	uint64_t about = 0;

	*memory_out = (struct store_guard_memory){0};
	if (length < 0)
		return (int)length;
	if (is_blank(str_slice(text, (size_t)length)))
		return 0;
	if (!parse(str_slice(text, (size_t)length), &memory, &about))
		log_event(EVENT_STORE_MEMORY_BAD, log_error(-EBADMSG));
	else if (about == digest(place, strlen(place)))
		*memory_out = memory;
	return 0;
}

void guard_remember(struct guard *guard)
{
	char line[STORE_GUARD_RECORD_MAX];
	int length = print(&guard->seen, guard->place, line);
	int error = guard->file >= 0 ? os_file_write(guard->file, line, (size_t)length, 0) : 0;

	if (error < 0)
		log_event(EVENT_STORE_MEMORY_BAD, log_error(error));
}
