// SPDX-License-Identifier: ISC
#include "filing/decode/apart.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/decode/wire.h"
#include "os/loop.h"
#include "os/process/program.h"
#include "os/stream/stream.h"
#include <errno.h>
#include <stdlib.h>

enum { BLOCK_SIZE = 64 * 1024 };

struct apart {
	struct os_loop *loop;
	struct os_program program;
	struct os_watch *input;
	struct os_watch *output;
	struct os_timer *timer;
	const struct ipc_content *content;
	uint64_t written; /* bytes of it */
	char *block;
	struct buffer answer;
	const char *fault; /* NULL: none */
};

static void give_up_conversation(struct apart *apart, const char *fault)
{
	apart->fault = fault;
	os_loop_stop(apart->loop);
}

/* Writes what the pipe takes. A decoder that does not read has died: its output ends, too. */
static void on_input(void *context, unsigned events)
{
	struct apart *apart = context;
	struct str part;
	ssize_t count;

	(void)events;
	if (ipc_content_read(apart->content, apart->written, apart->block, BLOCK_SIZE, &part) < 0) {
		give_up_conversation(apart, "the message cannot be read");
		return;
	}
	count = part.length > 0 ? os_stream_write(apart->program.input, part.data, part.length)
				: -EPIPE;
	if (count > 0)
		apart->written += (uint64_t)count;
	else if (count != -EAGAIN) {
		os_watch_free(apart->input);
		apart->input = NULL;
		os_program_close_input(&apart->program);
	}
}

static void on_output(void *context, unsigned events)
{
	struct apart *apart = context;
	ssize_t count = os_stream_read(apart->program.output, apart->block, BLOCK_SIZE);

	(void)events;
	if (count == -EAGAIN)
		return;
	if (count > 0)
		buffer_append(&apart->answer, apart->block, (size_t)count);
	if (apart->answer.length > DECODE_WIRE_MAX)
		give_up_conversation(apart, "the decoder's answer is too long");
	else if (count <= 0)
		os_loop_stop(apart->loop);
}

static void on_conversation_timeout(void *context)
{
	give_up_conversation(context, "it was not decoded in time");
}

static void converse_with_decoder(struct apart *apart)
{
	apart->block = memory_alloc(BLOCK_SIZE);
	apart->timer = os_timer_new(apart->loop, on_conversation_timeout, apart);
	os_timer_start(apart->timer, DECODE_APART_SECONDS * SECOND_US);
	apart->input =
		os_watch_new(apart->loop, apart->program.input, OS_WATCH_WRITE, on_input, apart);
	apart->output =
		os_watch_new(apart->loop, apart->program.output, OS_WATCH_READ, on_output, apart);
	os_loop_run(apart->loop);
	os_watch_free(apart->input);
	os_watch_free(apart->output);
	os_timer_free(apart->timer);
	free(apart->block);
}

/* Its answer counts, and not how it ends: one that a message has taken over might never do so. */
static void end_decoder_program(struct apart *apart)
{
	int status;

	os_program_kill(&apart->program);
	(void)!os_program_has_ended(&apart->program, true, &status);
	os_program_close(&apart->program);
}

void decode_apart(const char *program, const struct ipc_content *content, struct arena *arena,
		  struct decode_message *message_out)
{
	const char *const arguments[] = {program, "--apart", NULL};
	const char *const environment[] = {NULL};
	const struct os_process_user user = {.change = false};
	struct apart apart = {.content = content};

	*message_out = (struct decode_message){.subject = STR("")};
	if (content->size > DECODE_APART_MAX) {
		message_out->problem = STR("it is too large to be decoded");
		return;
	}
	if (os_program_start(arguments, environment, &user, &apart.program) < 0) {
		message_out->problem = STR("no process can be started that decodes it");
		return;
	}
	apart.loop = os_loop_new();
	converse_with_decoder(&apart);
	os_loop_free(apart.loop);
	end_decoder_program(&apart);
	if (apart.fault != NULL)
		message_out->problem = str_from(apart.fault);
	else if (!decode_wire_read(buffer_view(&apart.answer), arena, message_out))
		message_out->problem = STR("the decoder crashed on it");
	buffer_clear(&apart.answer);
}
