// SPDX-License-Identifier: ISC
/* The local transport on a real loop and disk; the helper's side is played here. */
#include "base/panic.h"
#include "config/text.h"
#include "deliver/local/local.h"
#include "scratch.h"
#include "test.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOBS = 300 };

static char root[SCRATCH_SIZE];
static struct {
	struct os_loop *loop;
	struct config *config;
	size_t reports;
	size_t stored;
	size_t refused;
	size_t finished;
	size_t expected; /* finished jobs that stop the loop */
} play;

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	assert_null(trigger);
	assert_false(job->recipients[index].is_reported);
	job->recipients[index].is_reported = true;
	play.reports++;
	play.stored += strcmp(verdict->status, "2.0.0") == 0;
	play.refused += strcmp(verdict->status, "5.1.3") == 0;
}

void deliver_helper_tell(struct deliver_helper_job *job)
{
	assert_non_null(job);
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	close(job->content.file);
	arena_free(job->arena);
	free(job);
	if (++play.finished == play.expected)
		os_loop_stop(play.loop);
}

static struct deliver_helper_job *new_job(size_t number)
{
	static const char *const addresses[] = {"ann@example.org", "\"..\"@example.org",
						"bob+tag@example.org"};
	static const char message[] = "Subject: x\r\n\r\nbody\r\n";
	struct deliver_helper_job *job = memory_alloc_zero(1, sizeof *job);
	char path[100];

	job->arena = arena_new();
	job->recipient_count = 1 + number % 3;
	job->recipients = arena_alloc(job->arena, 3 * sizeof *job->recipients);
	for (size_t i = 0; i < job->recipient_count; i++)
		job->recipients[i].address = str_from(addresses[i]);
	snprintf(path, sizeof path, "%s/message", root);
	job->content.file = open(path, O_RDWR | O_CREAT, 0600);
	job->content.size = strlen(message);
	assert_int_equal(pwrite(job->content.file, message, job->content.size, 0),
			 job->content.size);
	return job;
}

static struct config *new_config(void)
{
	struct config_problems problems;
	struct config *config = NULL;
	char text[200];

	snprintf(text, sizeof text,
		 "hostname = mx1.example.org\nuser = \"\"\n"
		 "service maildir { kind = maildir path = \"%s/%%d/%%u\" }\n",
		 root);
	assert_int_equal(config_parse("t", str_from(text), &config, &problems), 0);
	config_problems_clear(&problems);
	return config;
}

static struct deliver_local *set_up(void)
{
	memset(&play, 0, sizeof play);
	play.loop = os_loop_new();
	play.expected = JOBS;
	play.config = new_config();
	return deliver_local_new(play.loop, play.config, &play.config->services[0], NULL);
}

static void tear_down(struct deliver_local *local)
{
	deliver_local_free(local);
	os_loop_free(play.loop);
	config_free(play.config);
}

static void every_job_comes_to_its_end(void **state)
{
	struct deliver_local *local = set_up();

	(void)state;
	for (size_t i = 0; i < JOBS; i++)
		deliver_local_start(local, new_job(i));
	os_loop_run(play.loop);
	assert_int_equal(play.finished, JOBS);
	assert_int_equal(play.reports, 2 * JOBS);
	assert_int_equal(play.refused, 2 * JOBS / 3);
	assert_int_equal(play.stored, JOBS + JOBS / 3);
	tear_down(local);
}

static void lose(void *context)
{
	deliver_local_lost(context);
}

static void lost_jobs_are_finished_without_a_report(void **state)
{
	struct deliver_local *local = set_up();
	struct os_timer *timer = os_timer_new(play.loop, lose, local);

	(void)state;
	for (size_t i = 0; i < JOBS; i++)
		deliver_local_start(local, new_job(0));
	os_timer_start(timer, 0);
	os_loop_run(play.loop);
	assert_int_equal(play.finished, JOBS);
	assert_true(play.reports < JOBS);
	os_timer_free(timer);
	tear_down(local);
}

static void jobs_are_finished_when_the_stage_ends(void **state)
{
	struct deliver_local *local = set_up();

	(void)state;
	for (size_t i = 0; i < 10; i++)
		deliver_local_start(local, new_job(0));
	deliver_local_free(local);
	assert_int_equal(play.finished, 10);
	os_loop_free(play.loop);
	config_free(play.config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_job_comes_to_its_end),
		cmocka_unit_test(lost_jobs_are_finished_without_a_report),
		cmocka_unit_test(jobs_are_finished_when_the_stage_ends),
	};
	int failed;

	assert_int_equal(scratch_make(root), 0);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return scratch_remove(root) < 0 ? 1 : failed;
}
