// SPDX-License-Identifier: ISC
/* What is decided without a program, and what a service's change means for those that run. */
#include "header/loop.h"
#include "mailbox/copy.h"
#include "pipe_jobs.h"
#include "pipe_scene.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

/* It comes back, as delivered here or as led on from here; it cannot be encoded; it cannot be read.
 */
static void what_no_program_may_have_is_decided_at_once(void **state)
{
	static const char signed_text[] = "Content-Type: multipart/signed; boundary=b\r\n\r\n"
					  "--b\r\n\r\n\x80\r\n--b--\r\n";
	static const struct {
		enum header_loop_way way; /* 0: it has no mark, but is signed */
		const char *address;
		bool is_binary, is_bad;
		const char *report;
	} cases[] = {
		{HEADER_LOOP_DELIVERED, "r0.0@a.test", false, false,
		 "5.4.6 This message was delivered here before: a loop|"},
		{HEADER_LOOP_LED_ON, "via@a.test", false, false,
		 "5.4.6 This message was delivered here before: a loop|"},
		{0, "", true, false, "5.6.3 " MAILBOX_COPY_SEALED_TEXT "|"},
		{0, "", false, true,
		 "4.3.0 The message cannot be read: a checksum differs: the data are not those "
		 "that "
		 "were written|"},
		{0, "", true, true,
		 "4.3.0 The message cannot be read: a checksum differs: the data are not those "
		 "that "
		 "were written|"},
	};
	struct config with_key = jobs_config;
	struct deliver_pipe *pipe;

	(void)state;
	with_key.site_key = (struct hash_key){1, 2};
	jobs_transport.concurrency = 1;
	pipe = jobs_begin(&with_key);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct test_job *of;

		buffer_reset(&jobs_text);
		if (cases[i].way != 0)
			header_loop_append(with_key.site_key, cases[i].way,
					   str_from(cases[i].address), "\r\n", &jobs_text);
		else
			buffer_append_string(&jobs_text, signed_text);
		of = jobs_open(pipe, 0, 1, cases[i].is_bad);
		of->job.binary = cases[i].is_binary;
		of->recipients[0].via = STR("via@a.test");
		snprintf(jobs_expected, sizeof jobs_expected, "%s", cases[i].report);
		assert_true(scene_turn());
		assert_false(of->is_open);
		assert_string_equal(jobs_expected, "");
	}
	jobs_end(pipe);
}

/* From then on others are run by it; who runs is not disturbed. */
static void a_service_is_changed_while_it_runs(void **state)
{
	static const char *const paths[] = {"/bin/prog", "/other"};
	static const char *other[] = {"/other", NULL};
	struct config_service changed = jobs_service;
	struct deliver_pipe *pipe;

	(void)state;
	jobs_transport.concurrency = 2;
	changed.command = other;
	changed.timeout = 8;
	pipe = jobs_begin(&jobs_config);
	jobs_make_message(3);
	for (size_t i = 0; i < 2; i++) {
		jobs_open(pipe, i, 1, false);
		assert_true(scene_turn());
		deliver_pipe_configure(pipe, &jobs_config, &changed);
	}
	for (size_t i = 0; i < 2; i++) {
		struct scene_program *program = &scene_programs[i];

		assert_string_equal(program->to, jobs[i].names[0]);
		snprintf(jobs_expected, sizeof jobs_expected,
			 "4.3.0 %s was killed after %zu seconds|", paths[i], 7 + i);
		scene_start_program(program);
		scene_end_program(program, 0, true);
		assert_false(jobs[i].is_open);
	}
	jobs_end(pipe);
}

/* A service that has no section of its own has one place. */
static void without_a_transport_there_is_one_place(void **state)
{
	static const struct config none = {.transport_count = 0};
	struct deliver_pipe *pipe = jobs_begin(&none);

	(void)state;
	jobs_make_message(1);
	jobs_open(pipe, 0, 2, false);
	while (scene_turn())
		continue;
	assert_non_null(scene_programs[0].launch);
	assert_null(scene_programs[1].launch);
	jobs_end(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_no_program_may_have_is_decided_at_once),
		cmocka_unit_test(a_service_is_changed_while_it_runs),
		cmocka_unit_test(without_a_transport_there_is_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
