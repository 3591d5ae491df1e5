// SPDX-License-Identifier: ISC
/* A decoder that does not do what it should. */
#include "base/arena.h"
#include "filing/decode/apart.h"
#include "scratch.h"
#include "test.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Decodes by a script that does WHAT, and expects PROBLEM. */
static void decode_by(const char *what, const char *problem)
{
	const struct ipc_content content = {
		.bytes = STR("Subject: a\r\n\r\n"), .file = -1, .size = 14};
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
	decode_apart(path, &content, arena, &message);
	assert_true(str_equal(message.problem, str_from(problem)));
	arena_free(arena);
	assert_int_equal(scratch_remove(folder), 0);
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_dies_is_noticed),
		cmocka_unit_test(one_that_does_not_end_is_not_awaited),
		cmocka_unit_test(a_content_is_so_large),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as programs do */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
