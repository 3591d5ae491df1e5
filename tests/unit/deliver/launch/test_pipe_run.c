// SPDX-License-Identifier: ISC
/*
 * A pipe service, whose programs do whatever programs do, in all orders: each recipient has one
 * run and one report, which says what became of it; what a program takes for the whole message is
 * the whole message.
 */
#include "chance.h"
#include "heard.h"
#include "pipe_jobs.h"
#include "pipe_scene.h"
#include "test.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { LIVES = 200, STEPS = 120 };

static struct deliver_pipe *service_pipe;
static bool has_bad_jobs;
static bool mail_comes;
static size_t running;

/* Whether a program runs for a recipient of it. */
static struct scene_program *program_to(const char *address)
{
	for (size_t i = 0; i < SCENE_PROGRAMS; i++)
		if (scene_programs[i].launch != NULL && strcmp(scene_programs[i].to, address) == 0)
			return &scene_programs[i];
	return NULL;
}

/* --- programs --- */

/* What it has of its input is how the message begins. */
static void check_input(const struct scene_program *program)
{
	const struct test_job *of = &jobs[program->to[1] - '0'];
	struct buffer whole CLEANUP(buffer_clear) = {0};
	struct str wanted;

	buffer_append_format(&whole, "Return-Path: <s@x.example>\nDelivered-To: %s\n", program->to);
	buffer_append_str(&whole, buffer_view(&jobs_given));
	wanted = buffer_view(&whole);
	assert_true(program->got.length <= wanted.length);
	assert_true(str_starts_with(wanted, buffer_view(&program->got)));
	if (program->is_at_end)
		assert_true(program->is_whole && !of->is_bad &&
			    program->got.length == wanted.length);
}

/* What comes next is the report VERDICT with TRIGGER; PROGRAM has said OUTPUT by then. */
static void expect(const char *verdict, const char *trigger)
{
	snprintf(jobs_expected, sizeof jobs_expected, "%s|%s", verdict, trigger);
	(void)heard_take();
}

/* It came; a program that has not succeeded is in the log with what was kept of its output. */
static void check_report(const char *to, const char *status, const char *output)
{
	char line[200] = "";

	assert_string_equal(jobs_expected, "");
	if (status[0] != '2')
		snprintf(line, sizeof line,
			 "program_failed id=457-1 program=/bin/prog to=%s status=%.5s%s%.*s\n", to,
			 status, output[0] != '\0' ? " output=" : "", (int)JOBS_OUTPUT_MAX, output);
	assert_string_equal(heard_take(), line);
	running--;
}

struct end {
	int status;
	const char *says, *verdict, *trigger;
};

static const struct end ends[] = {
	{0, "", "2.0.0 prog ended with status 0", ""},
	{0, "2.1.5 kept", "2.1.5 prog ended with status 0: kept", ""},
	{67 << 8, "no\n such  user", "5.1.1 prog ended with status 67: no such user", ""},
	{75 << 8, "trigger=disk", "4.3.0 prog ended with status 75: trigger=disk", "pipe.box.disk"},
	{75 << 8, "4.2.2 trigger=a b", "4.2.2 prog ended with status 75: trigger=a b",
	 "pipe.box.a"},
	{SIGKILL, "5.0.0 is it", "4.3.0 prog was ended by signal 9: 5.0.0 is it", ""},
	{78 << 8, "0123456789012345678901", "4.3.5 prog ended with status 78: 01234567890123456789",
	 ""},
};
static const struct end early = {0, "early", "2.0.0 prog ended with status 0: early", ""};

/* What it says last may only be read at its end. */
static const struct end *choose_end(struct scene_program *program)
{
	const struct end *end = &ends[chance(COUNT_OF(ends))];

	if (program->said.length > 0)
		return &early;
	if (program->output < 0)
		return &ends[0];
	scene_write_output(program, end->says);
	return end;
}

static void end_program(struct scene_program *program)
{
	static const char bad[] = "4.3.0 The message cannot be read: a checksum differs: the data "
				  "are not those that were written";
	bool is_bad = jobs[program->to[1] - '0'].is_bad;
	const struct end *end = choose_end(program);
	bool is_late = chance(5) == 0;
	const char *verdict = end->verdict;
	char to[sizeof program->to];

	memcpy(to, program->to, sizeof to);
	if (program->is_killed)
		verdict = is_bad ? bad : "4.3.0 /bin/prog was stopped";
	else if (is_late)
		verdict = "4.3.0 /bin/prog was killed after 7 seconds";
	expect(verdict, program->is_killed || is_late ? "" : end->trigger);
	check_input(program);
	scene_end_program(program, end->status, is_late);
	check_report(to, verdict, end->says);
}

static void refuse_program(struct scene_program *program)
{
	struct mail_verdict why;

	mail_verdict_set(&why, "5.1.3", "no such argument");
	expect("5.1.3 no such argument", "");
	scene_refuse_program(program, &why);
	check_report("", "2", "");
}

/* Nobody watches over it any more: until it has ended its input is open. */
static void end_lost_program(struct scene_program *program)
{
	static const char verdict[] = "4.3.0 What watched over /bin/prog has ended";
	char to[sizeof program->to];
	struct buffer kept CLEANUP(buffer_clear) = {0};

	memcpy(to, program->to, sizeof to);
	scene_read_input(program, 1U << 20U);
	assert_false(program->is_at_end && !program->is_whole);
	buffer_append_str(&kept, buffer_view(&program->said));
	buffer_append_byte(&kept, '\0');
	expect(verdict, "");
	scene_clear_program(program);
	while (jobs_expected[0] != '\0')
		assert_true(scene_turn());
	check_report(to, verdict, buffer_data(&kept));
}

/* "launch" ends: what it was not said to have started is over. */
static void lose_launcher(void)
{
	for (size_t i = 0; i < SCENE_PROGRAMS; i++)
		if (scene_programs[i].launch != NULL && !scene_programs[i].is_started)
			return; /* each of them in its own turn */
	scene_lose_launcher();
}

static void lose_what_has_not_started(struct scene_program *program)
{
	static const char verdict[] = "4.3.0 What watched over /bin/prog has ended";
	struct launch *launch = program->launch;
	char to[sizeof program->to];

	memcpy(to, program->to, sizeof to);
	expect(verdict, "");
	launch->client = NULL;
	launch->handler->lost(launch->context);
	scene_clear_program(program);
	check_report(to, verdict, "");
}

static void act(struct scene_program *program)
{
	size_t what = chance(20);

	if (program->is_lost) {
		if (what < 5)
			end_lost_program(program);
	} else if (!program->is_started) {
		if (what < 12)
			scene_start_program(program);
		else if (what == 12)
			refuse_program(program);
		else if (what == 13)
			lose_what_has_not_started(program);
	} else if (what < 12) {
		scene_read_input(program, 1 + chance(20000));
		check_input(program);
	} else if (what == 12 && program->said.length == 0) {
		scene_write_output(program, early.says);
	} else if (what == 13 && program->said.length == 0) {
		scene_close_output(program);
	} else if (what == 14) {
		scene_close_input(program);
	} else if (what == 15) {
		end_program(program);
	}
}

/* --- lives --- */

/* No more than may run are asked for, and as many as may. */
static void turn(void)
{
	size_t waiting = 0;
	size_t before;

	while (scene_turn())
		continue;
	for (size_t i = 0; i < JOBS; i++)
		for (size_t r = 0; jobs[i].is_open && r < jobs[i].job.recipient_count; r++)
			waiting += !jobs[i].recipients[r].is_reported &&
				   program_to(jobs[i].names[r]) == NULL;
	before = running;
	running = 0;
	for (size_t i = 0; i < SCENE_PROGRAMS; i++)
		running += scene_programs[i].launch != NULL;
	assert_true(running <= before || running <= jobs_transport.concurrency);
	if (jobs_go_on && scene_is_ready)
		assert_true(waiting == 0 || running >= jobs_transport.concurrency);
}

static void change_concurrency(void)
{
	jobs_transport.concurrency = (uint32_t)(1 + chance(4));
	deliver_pipe_configure(service_pipe, &jobs_config, &jobs_service);
}

static void play_step(void)
{
	size_t what = chance(60);

	if (what == 0) {
		change_concurrency();
	} else if (what == 1 && !has_bad_jobs) {
		lose_launcher();
	} else if (what < 8 && !scene_is_ready) {
		scene_is_ready = true;
		deliver_pipe_go_on(service_pipe);
	} else if (what < 12) {
		for (size_t i = 0; i < JOBS && mail_comes; i++) {
			if (jobs[i].is_open)
				continue;
			jobs_open(service_pipe, i, 1 + chance(RECIPIENTS),
				  has_bad_jobs && jobs_text.length > 70000 && chance(3) == 0);
			break;
		}
	} else {
		struct scene_program *program = &scene_programs[chance(SCENE_PROGRAMS)];

		if (program->launch != NULL)
			act(program);
	}
	turn();
}

static bool has_open_jobs(void)
{
	return jobs[0].is_open || jobs[1].is_open || jobs[2].is_open;
}

static void live(size_t lines)
{
	size_t end = chance(4);

	mail_comes = true;
	running = 0;
	jobs_transport.concurrency = (uint32_t)(1 + chance(4));
	service_pipe = jobs_begin(&jobs_config);
	jobs_make_message(lines);
	for (unsigned i = 0; i < STEPS; i++)
		play_step();
	mail_comes = false;
	if (end == 1 && !has_bad_jobs) { /* they are killed, and others not begun */
		jobs_go_on = false;
		deliver_pipe_lost(service_pipe);
		for (size_t i = 0; i < SCENE_PROGRAMS; i++)
			assert_true(scene_programs[i].launch == NULL ||
				    scene_programs[i].is_killed || scene_programs[i].is_lost);
	} else if (end == 2) {
		jobs_go_on = false;
		deliver_pipe_drain(service_pipe);
	}
	while (end != 3 && has_open_jobs())
		play_step();
	jobs_end(service_pipe);
	assert_false(has_open_jobs());
}

static void each_recipient_has_a_run(void **state)
{
	static const size_t lines[] = {0, 1, 1000, 8000, 20000};

	(void)state;
	for (unsigned i = 0; i < LIVES; i++) {
		has_bad_jobs = i % 3 == 0;
		live(lines[i % COUNT_OF(lines)]);
	}
	deliver_pipe_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_recipient_has_a_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
