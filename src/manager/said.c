// SPDX-License-Identifier: ISC
#include "manager/said.h"
#include "base/arena.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include <stdlib.h>
#include <string.h>

enum { SAID_MAX = 100 };

static const int64_t SHOWN_US = 60 * MINUTE_US;

struct said_entry {
	struct ipc_job_said what; /* views of ARENA */
	int64_t at_us;
	struct arena *arena;
};

struct said {
	struct said_entry entries[SAID_MAX]; /* the latest first */
	size_t count;
};

struct said *said_new(void)
{
	return memory_alloc_zero(1, sizeof(struct said));
}

static void remove_entry(struct said *said, size_t index)
{
	arena_free(said->entries[index].arena);
	said->count--;
	memmove(said->entries + index, said->entries + index + 1,
		(said->count - index) * sizeof said->entries[0]);
}

void said_free(struct said *said)
{
	if (said == NULL)
		return;
	while (said->count > 0)
		remove_entry(said, said->count - 1);
	free(said);
}

static bool is_same_limit_of_server(const struct ipc_job_said *one,
				    const struct ipc_job_said *other)
{
	return one->what == other->what && one->port == other->port &&
	       str_equal(one->host, other->host);
}

void said_note(struct said *said, const struct ipc_job_said *what, int64_t now_us)
{
	struct arena *arena = arena_new();
	struct said_entry entry = {*what, now_us, arena};

	for (size_t i = 0; i < said->count; i++)
		if (is_same_limit_of_server(&said->entries[i].what, what)) {
			remove_entry(said, i);
			break;
		}
	if (said->count == SAID_MAX)
		remove_entry(said, SAID_MAX - 1);
	entry.what.host = arena_copy_str(arena, what->host);
	entry.what.to = arena_copy_str(arena, what->to);
	entry.what.status = arena_copy_str(arena, what->status);
	entry.what.text = arena_copy_str(arena, what->text);
	memmove(said->entries + 1, said->entries, said->count * sizeof said->entries[0]);
	said->entries[0] = entry;
	said->count++;
}

void said_tell(const struct said *said, size_t index, int64_t now_us, struct buffer *out)
{
	static const char *const words[IPC_JOB_SAID_KINDS] = {
		[IPC_JOB_SAID_SLOWER] = "slower",     [IPC_JOB_SAID_CONNECTIONS] = "connections",
		[IPC_JOB_SAID_MESSAGES] = "messages", [IPC_JOB_SAID_RECIPIENTS] = "recipients",
		[IPC_JOB_SAID_RENEWED] = "renewed",
	};
	const struct said_entry *entry = index < said->count ? &said->entries[index] : NULL;
	char id[MAIL_ID_SIZE];

	if (entry == NULL || now_us - entry->at_us >= SHOWN_US)
		return;
	mail_id_format(entry->what.id, id);
	buffer_append_format(
		out, STR_FORMAT " %u %lld %s %u %s " STR_FORMAT " " STR_FORMAT " " STR_FORMAT,
		STR_ARGUMENTS(entry->what.host), entry->what.port,
		(long long)((now_us - entry->at_us) / SECOND_US), words[entry->what.what],
		entry->what.amount, id, STR_ARGUMENTS(entry->what.to),
		STR_ARGUMENTS(entry->what.status), STR_ARGUMENTS(entry->what.text));
}
