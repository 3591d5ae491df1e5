// SPDX-License-Identifier: ISC
/* decode - finds what is in messages, for "mailbox": the only one that has a library for that. It
 * has neither files nor network. With --apart it decodes one message, from standard input to
 * standard output, for a command (filing/decode/apart.h). */
#include "base/buffer.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/decode/apart.h"
#include "filing/decode/mime.h"
#include "filing/decode/protocol.h"
#include "filing/decode/server.h"
#include "filing/decode/wire.h"
#include "log/event.h"
#include "os/process/process.h"
#include "os/sandbox/sandbox.h"
#include "os/stream/stream.h"
#include "os/watchdog.h"
#include "supervisor/child/child.h"
#include <string.h>
#include <unistd.h>

enum { BLOCK_SIZE = 64 * 1024 };

/* The libraries read their files now. */
static void prepare_decode_process(void)
{
	decode_mime_begin();
	os_process_limit_memory(DECODE_MEMORY_MAX);
}

/* --- for the daemon --- */

/* Each of the processes has one of the sockets. */
static int own_socket(const struct child *child)
{
	static const char *const names[DECODE_PROCESSES] = DECODE_SOCKETS;
	int socket = -1;

	for (size_t i = 0; socket < 0 && i < COUNT_OF(names); i++)
		socket = child_socket(child, names[i]);
	return socket;
}

static int open_decoder(struct child *child)
{
	(void)child;
	prepare_decode_process();
	return 0;
}

static int start_decode_process(struct child *child)
{
	struct decode_server *server;
	int error = decode_server_new(child->loop, own_socket(child), &child->tokens, &server);

	if (error < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string(operation, "thread"), log_error(error));
		return error;
	}
	child->state = server;
	decode_server_set_user(server, child_user(child, "mailbox"));
	child_ready(child);
	return 0;
}

static void reload_decode_process(struct child *child, const struct config *old)
{
	(void)old;
	decode_server_set_user(child->state, child_user(child, "mailbox"));
}

static void stop_decode_process(struct child *child)
{
	decode_server_free(child->state);
	os_loop_stop(child->loop);
}

/* --- for a command --- */

static bool read_message_to_decode(struct buffer *message)
{
	ssize_t count;

	do {
		count = os_stream_read(STDIN_FILENO, buffer_reserve(message, BLOCK_SIZE),
				       BLOCK_SIZE);
		if (count > 0)
			buffer_commit(message, (size_t)count);
	} while (count > 0 && message->length <= DECODE_APART_MAX);
	return count == 0;
}

static bool write_answer(struct str answer)
{
	ssize_t count = 0;

	while (answer.length > 0 && count >= 0) {
		count = os_stream_write(STDOUT_FILENO, answer.data, answer.length);
		if (count > 0)
			answer = str_skip(answer, (size_t)count);
	}
	return count >= 0;
}

/* In the thread of the watchdog, before the process ends. */
static void write_late(void *context)
{
	const struct decode_message message = {.subject = STR(""),
					       .problem = STR("it takes too long to decode")};
	struct buffer answer CLEANUP(buffer_clear) = {0};

	(void)context;
	decode_wire_append(&answer, &message);
	(void)!write_answer(buffer_view(&answer));
}

/* Reads the first byte of the message when nothing can be opened any more. */
static int decode_one(void)
{
	static const struct os_sandbox nothing = {0, NULL, 0};
	struct os_watchdog *watchdog;
	struct arena *arena = arena_new();
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer answer CLEANUP(buffer_clear) = {0};
	struct ipc_content content = {.file = -1};
	struct decode_message message;
	unsigned lacks;

	prepare_decode_process();
	if (os_sandbox_enter(&nothing, &lacks) < 0 ||
	    os_watchdog_new(DECODE_SECONDS_MAX * SECOND_US, write_late, NULL, &watchdog) < 0)
		return OS_WATCHDOG_STATUS;
	if (!read_message_to_decode(&text))
		return OS_WATCHDOG_STATUS;
	os_watchdog_begin(watchdog, (int64_t)(text.length / DECODE_SECOND_SIZE) * SECOND_US);
	content.bytes = buffer_view(&text);
	content.size = text.length;
	decode_mime(&content, arena, &message);
	decode_wire_append(&answer, &message);
	arena_free(arena);
	os_watchdog_end(watchdog);
	os_watchdog_free(watchdog);
	return write_answer(buffer_view(&answer)) ? 0 : OS_WATCHDOG_STATUS;
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"decode", open_decoder, start_decode_process,
						     reload_decode_process, stop_decode_process};

	if (argc == 2 && strcmp(argv[1], "--apart") == 0)
		os_process_quit(decode_one()); /* no library may tidy up in the sandbox */
	return child_main(argc, argv, &program);
}
