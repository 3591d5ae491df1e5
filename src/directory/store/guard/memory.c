// SPDX-License-Identifier: ISC
/* The file: two places, each within one sector of the disk, for a line with a checksum. They have
 * their size from the beginning, when they are blank (supervisor/seen.c). The line with the
 * higher number is valid; the next one is written over the other. A line after a count, or
 * before a hold, is made durable, and kept until the next one is, so a crash of the machine, or a
 * write that fails halfway, may bring back an older version, but never the time when nothing was
 * seen. */
#include "directory/store/guard/internal.h"
#include "log/event.h"
#include "os/file/file.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PLACES = 2, PLACE_SIZE = STORE_GUARD_FILE_SIZE / PLACES, LINE_MAX = 256 };

static uint64_t digest_memory_text(const char *text, size_t length)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return hash;
}

/* The words VERSION COUNT EPOCH PLACE IDENTITY TURN CHECKSUM; PLACE is a digest. */
static int print_memory_line(const struct store_guard_memory *memory, const char *place,
			     char line[LINE_MAX])
{
	int length = snprintf(line, LINE_MAX,
			      "seen %020" PRIu64 " %020" PRIu64 " %010" PRIu64 " %016" PRIx64
			      " %s %020" PRIu64 " ",
			      memory->version, memory->count, memory->epoch,
			      digest_memory_text(place, strlen(place)),
			      *memory->identity != '\0' ? memory->identity : "-", memory->turn);

	return length + snprintf(line + length, (size_t)(LINE_MAX - length), "%016" PRIx64 "\n",
				 digest_memory_text(line, (size_t)length));
}

/* Parses the words before the checksum. A line without a turn is of a release that had one place.
 */
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
	return rest.length == 0 ||
	       (str_split(&rest, ' ', &word) && str_to_u64(word, &memory->turn));
}

static bool parse_memory_line(struct str text, struct store_guard_memory *memory,
			      uint64_t *place_out)
{
	ptrdiff_t end = str_find(text, '\n');
	struct str line = end > 17 ? str_slice(text.data, (size_t)end) : STR("");
	char sum[20];

	if (line.length == 0)
		return false;
	snprintf(sum, sizeof sum, "%016" PRIx64, digest_memory_text(line.data, line.length - 16));
	return memcmp(line.data + line.length - 16, sum, 16) == 0 &&
	       take_words(str_slice(line.data, line.length - 16), memory, place_out);
}

/* As it was made, or with a size and no bytes, as after a crash. */
static bool is_blank_memory(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] != ' ' && text.data[i] != '\n' && text.data[i] != '\0')
			return false;
	return true;
}

/* The line at the place NUMBER of TEXT, if it is newer than MEMORY. */
static void read_place(struct str text, unsigned number, struct store_guard_memory *memory,
		       uint64_t *about)
{
	struct str rest = str_skip(text, (size_t)number * PLACE_SIZE);
	struct str line = str_slice(rest.data, rest.length < PLACE_SIZE ? rest.length : PLACE_SIZE);
	struct store_guard_memory found = {.kept = number};
	uint64_t found_about = 0;

	if (is_blank_memory(line))
		return;
	if (!parse_memory_line(line, &found, &found_about)) {
		log_event(EVENT_STORE_MEMORY_BAD, log_error(-EBADMSG));
	} else if (*memory->identity == '\0' || found.turn > memory->turn) {
		*memory = found;
		*about = found_about;
	}
}

int store_guard_read(int file, const char *place, struct store_guard_memory *memory_out)
{
	char text[STORE_GUARD_FILE_SIZE];
	ssize_t length = file >= 0 ? os_file_read(file, text, sizeof text, 0) : 0;
	struct store_guard_memory memory = {0};
	uint64_t about = 0;

	*memory_out = (struct store_guard_memory){0};
	if (length < 0)
		return (int)length;
	for (unsigned i = 0; i < PLACES; i++)
		read_place(str_slice(text, (size_t)length), i, &memory, &about);
	if (about == digest_memory_text(place, strlen(place)))
		*memory_out = memory;
	memory_out->turn = memory.turn;
	memory_out->kept = memory.kept;
	return 0;
}

void guard_remember(struct guard *guard)
{
	const unsigned number = 1 - guard->seen.kept;
	char line[LINE_MAX];
	int error = 0;

	if (guard->file < 0)
		return;
	guard->seen.turn++;
	error = os_file_write(guard->file, line,
			      (size_t)print_memory_line(&guard->seen, guard->place, line),
			      (uint64_t)number * PLACE_SIZE);
	guard->is_unsynced = error == 0;
	if (error < 0)
		log_event(EVENT_STORE_MEMORY_BAD, log_error(error));
}

void guard_remember_durably(struct guard *guard)
{
	int error;

	if (!guard->is_unsynced)
		return;
	error = os_file_sync(guard->file);
	if (error < 0)
		log_event(EVENT_STORE_MEMORY_BAD, log_error(error));
	else
		guard->seen.kept = 1 - guard->seen.kept;
	guard->is_unsynced = false;
}
