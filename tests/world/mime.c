// SPDX-License-Identifier: ISC
/* filing/decode/mime.h without GMime, whose variables and files are not a process's own: of a
 * message's first block it knows subject and addresses. What is read is never odd here; who reads
 * is (decoder.h). */
#include "filing/decode/mime.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "decoder.h"
#include "filing/decode/internal_text.h"
#include "header/addresses.h"
#include "inside.h"
#include "os/process/process.h"
#include "os/random.h"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK = 16384, WORK_US = 2000, PARTICIPANTS = 32 };

struct reading {
	struct arena *arena;
	struct decode_message *message;
	enum decode_role role;
};

void decode_mime_begin(void)
{
}

static int add(void *context, struct str address)
{
	struct reading *reading = context;
	struct decode_message *message = reading->message;

	if (message->participant_count < PARTICIPANTS)
		message->participants[message->participant_count++] = (struct decode_participant){
			.role = reading->role,
			.address = arena_copy_str(reading->arena, address),
			.name = STR("")};
	return 0;
}

static void read_addresses(struct reading *reading, enum decode_role role, struct str text)
{
	reading->role = role;
	if (header_addresses_parse(text, STR("invalid"), 0, NULL, add, reading) < 0)
		reading->message->problem = STR("an address is not understood");
}

static bool take_field(struct str *line, struct str name)
{
	if (!str_starts_with(*line, name))
		return false;
	if (line->data[line->length - 1] == '\r')
		line->length--;
	*line = str_trim(str_skip(*line, name.length));
	return true;
}

static void read_line(struct reading *reading, struct str line)
{
	struct decode_message *message = reading->message;

	if (take_field(&line, STR("Subject:")))
		message->subject =
			decode_text_clean(reading->arena, arena_copy(reading->arena, line));
	else if (take_field(&line, STR("From:")))
		read_addresses(reading, DECODE_FROM, line);
	else if (take_field(&line, STR("To:")))
		read_addresses(reading, DECODE_TO, line);
}

static void work_on(struct str beginning)
{
	switch (decoder_mood(beginning.data, beginning.length)) {
	case DECODER_DIES: /* as where memory is scarce */
		os_process_kill(getpid(), SIGKILL);
		return;
	case DECODER_IS_SILENT:
		world_sleep_us(60 * SECOND_US);
		return;
	case DECODER_IS_BUSY:
		watchdog_work(HOUR_US);
		return;
	default:
		watchdog_work((int64_t)(os_random_u64() % WORK_US));
	}
}

void decode_mime(const struct ipc_content *content, struct arena *arena, struct decode_message *out)
{
	struct reading reading = {arena, out, DECODE_FROM};
	char *block = memory_alloc(BLOCK);
	struct str beginning;
	struct str line;

	*out = (struct decode_message){.subject = STR(""), .problem = STR("")};
	out->participants = arena_alloc(arena, PARTICIPANTS * sizeof *out->participants);
	if (ipc_content_read(content, 0, block, BLOCK, &beginning) < 0)
		out->problem = STR("it cannot be read");
	else
		work_on(beginning);
	while (out->problem.length == 0 && str_split(&beginning, '\n', &line) && line.length > 1)
		read_line(&reading, line);
	free(block);
}
