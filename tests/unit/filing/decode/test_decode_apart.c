// SPDX-License-Identifier: ISC
/* A decoder that does not do what it should. */
#include "base/arena.h"
#include "base/buffer.h"
#include "filing/decode/apart.h"
#include "filing/decode/wire.h"
#include "scratch.h"
#include "test.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char said[100]; /* the subject */

/* Decodes CONTENT by a script that does WHAT, and expects PROBLEM. */
static void decode_content_by(const struct ipc_content *content, const char *what,
			      const char *problem)
{
	struct decode_message message;
	struct arena *arena = arena_new();
	char folder[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 10];
	FILE *script;

	assert_int_equal(scratch_make(folder), 0);
	snprintf(path, sizeof path, "%s/decode", folder);
	script = fopen(path, "w");
	assert_non_null(script);
	fprintf(script, "#!/bin/sh\n%s\n", what);
	assert_int_equal(fclose(script), 0);
	assert_int_equal(chmod(path, 0700), 0);
	decode_apart(path, content, arena, &message);
	assert_true(str_equal(message.problem, str_from(problem)));
	snprintf(said, sizeof said, STR_FORMAT, STR_ARGUMENTS(message.subject));
	arena_free(arena);
	assert_int_equal(scratch_remove(folder), 0);
}

static void decode_by(const char *what, const char *problem)
{
	const struct ipc_content content = {
		.bytes = STR("Subject: a\r\n\r\n"), .file = -1, .size = 14};

	decode_content_by(&content, what, problem);
}

static void one_that_dies_is_noticed(void **state)
{
	(void)state;
	decode_by("exit 1", "the decoder crashed on it");
	decode_by("exec </dev/null; exit 0", "the decoder crashed on it");
}

static void one_that_does_not_end_is_not_awaited(void **state)
{
	(void)state;
	alarm(60); /* otherwise the test would wait as long */
	decode_by("exec >&- 2>&-; while :; do read x || sleep 600; done",
		  "the decoder crashed on it");
	alarm(0);
}

/* Nothing of a larger content is given to a decoder; this one dies of the other. */
static void a_content_is_so_large(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct ipc_content content = {.file = memfd_create("content", MFD_CLOEXEC),
					      .size = DECODE_APART_MAX + i};
		struct arena *arena = arena_new();
		struct decode_message message;

		assert_int_equal(ftruncate(content.file, DECODE_APART_MAX + i), 0);
		decode_apart("/bin/false", &content, arena, &message);
		assert_true(
			str_equal(message.problem, i == 0 ? STR("the decoder crashed on it")
							  : STR("it is too large to be decoded")));
		arena_free(arena);
		close(content.file);
	}
}

/* --- what it says --- */

/* The script's command that prints the answer about a message with this subject. */
static const char *command_of_answer(const char *subject, struct buffer *out)
{
	const struct decode_message message = {.subject = str_from(subject)};
	struct buffer answer = {0};

	decode_wire_append(&answer, &message);
	buffer_append_string(out, "printf '");
	for (size_t i = 0; i < answer.length; i++)
		buffer_append_format(out, "\\%03o", (unsigned char)buffer_data(&answer)[i]);
	buffer_append_string(out, "'");
	buffer_append_byte(out, '\0');
	buffer_clear(&answer);
	return buffer_data(out);
}

/* Of a message larger than a pipe: read whole, in part, or not at all. */
static void an_answer_counts(void **state)
{
	static const char *const before[] = {"cat | wc -c | grep -qx 300000 || exit 1; ",
					     "head -c 70000 >/dev/null; ", "exec <&-; ", ""};
	static char text[300000];
	const struct ipc_content content = {
		.bytes = str_slice(text, sizeof text), .file = -1, .size = sizeof text};

	(void)state;
	memset(text, 't', sizeof text);
	for (size_t i = 0; i < COUNT_OF(before); i++) {
		struct buffer answer = {0}, command = {0};

		buffer_append_format(&command, "export PATH=/bin:/usr/bin; %s%s%c", before[i],
				     command_of_answer("its subject", &answer), '\0');
		decode_content_by(&content, buffer_data(&command), "");
		assert_string_equal(said, "its subject");
		/* how it ends counts for nothing, and what comes after it makes it no answer */
		buffer_truncate(&command, command.length - 1);
		buffer_append_format(&command, "; exit 3%c", '\0');
		decode_content_by(&content, buffer_data(&command), "");
		assert_string_equal(said, "its subject");
		buffer_truncate(&command, command.length - 9);
		buffer_append_format(&command, "; echo%c", '\0');
		decode_content_by(&content, buffer_data(&command), "the decoder crashed on it");
		buffer_clear(&command);
		buffer_clear(&answer);
	}
}

static void an_answer_has_a_longest(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof command, "/bin/head -c %zu /dev/zero", (size_t)DECODE_WIRE_MAX);
	decode_by(command, "the decoder crashed on it");
	snprintf(command, sizeof command, "/bin/head -c %zu /dev/zero",
		 (size_t)DECODE_WIRE_MAX + 1);
	decode_by(command, "the decoder's answer is too long");
}

static void what_cannot_be_decoded(void **state)
{
	struct ipc_content content = {.bytes = STR(""), .file = -1, .size = DECODE_APART_MAX + 1};
	struct decode_message message;
	struct arena *arena = arena_new();

	(void)state;
	decode_content_by(&content, "exit 0", "it is too large to be decoded");
	content = (struct ipc_content){.file = open("/", O_RDONLY | O_CLOEXEC),
				       .size = DECODE_APART_MAX};
	decode_content_by(&content, "read x", "the message cannot be read");
	/* a process that cannot be started: there are no descriptors for it */
	{
		struct rlimit before, none;

		assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
		none = (struct rlimit){3, before.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		decode_apart("/bin/true", &content, arena, &message);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_true(str_equal(message.problem,
				      STR("no process can be started that decodes it")));
	}
	close(content.file);
	arena_free(arena);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_dies_is_noticed),
		cmocka_unit_test(one_that_does_not_end_is_not_awaited),
		cmocka_unit_test(a_content_is_so_large),
		cmocka_unit_test(an_answer_counts),
		cmocka_unit_test(an_answer_has_a_longest),
		cmocka_unit_test(what_cannot_be_decoded),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as programs do */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
