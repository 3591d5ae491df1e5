// SPDX-License-Identifier: ISC
#include "pipe_jobs.h"
#include "base/checksum.h"
#include "pipe_scene.h"
#include "test.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *command[] = {"/bin/prog", NULL};

struct test_job jobs[JOBS];
struct config_transport jobs_transport = {.name = "box", .concurrency = 1};
const struct config_service jobs_service = {.name = "box",
					    .command = command,
					    .command_count = 1,
					    .timeout = 7,
					    .output_max = JOBS_OUTPUT_MAX};
const struct config jobs_config = {.transports = &jobs_transport, .transport_count = 1};
bool jobs_go_on;
char jobs_expected[300];
struct buffer jobs_text;
struct buffer jobs_given;

static struct test_job *test_job_of(struct deliver_helper_job *job)
{
	return (struct test_job *)(void *)((char *)job - offsetof(struct test_job, job));
}

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	char reported[300];

	assert_true(test_job_of(job)->is_open && index < job->recipient_count);
	assert_false(job->recipients[index].is_reported);
	job->recipients[index].is_reported = true;
	snprintf(reported, sizeof reported, "%s %s|%s", verdict->status, verdict->text,
		 trigger != NULL ? trigger : "");
	assert_string_equal(reported, jobs_expected);
	jobs_expected[0] = '\0';
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	struct test_job *of = test_job_of(job);

	assert_true(of->is_open);
	of->is_open = false;
	for (size_t i = 0; i < job->recipient_count; i++)
		assert_true(!jobs_go_on || job->recipients[i].is_reported);
}

/* Only who is killed is forgotten while it runs. */
static void on_forgotten(struct scene_program *program)
{
	assert_true(program->is_killed);
	scene_clear_program(program);
}

struct deliver_pipe *jobs_begin(const struct config *config)
{
	signal(SIGPIPE, SIG_IGN);
	scene_service = jobs_service.name;
	scene_id = (struct mail_id){457, 1};
	scene_forgotten = on_forgotten;
	scene_is_ready = jobs_go_on = true;
	/* nobody looks into the client */
	return deliver_pipe_new(NULL, (struct launch_client *)jobs, config, &jobs_service);
}

void jobs_make_message(size_t lines)
{
	buffer_reset(&jobs_text);
	buffer_reset(&jobs_given);
	for (size_t i = 0; i < lines; i++) {
		buffer_append_format(&jobs_text, "line %zu\r\n", i);
		buffer_append_format(&jobs_given, "line %zu\n", i);
	}
}

struct test_job *jobs_open(struct deliver_pipe *pipe, size_t number, size_t recipients, bool is_bad)
{
	struct test_job *of = &jobs[number];
	struct str whole = buffer_view(&jobs_text);

	jobs_forget(of);
	memset(of, 0, sizeof *of);
	of->is_open = true;
	of->is_bad = is_bad;
	of->job = (struct deliver_helper_job){
		.id = scene_id,
		.sender = STR("s@x.example"),
		.recipients = of->recipients,
		.recipient_count = recipients,
		.content = {.bytes = whole, .file = -1, .size = whole.length},
		.arena = arena_new()};
	if (is_bad) {
		of->job.content.file = memfd_create("message", MFD_CLOEXEC);
		assert_true(of->job.content.file >= 0);
		assert_int_equal(write(of->job.content.file, whole.data, whole.length),
				 whole.length);
		of->job.content.has_checksum = true;
		of->job.content.checksum = checksum_extend(0, whole.data, whole.length) + 1;
	}
	for (size_t i = 0; i < recipients; i++) {
		snprintf(of->names[i], sizeof of->names[i], "r%zu.%zu@a.test", number, i);
		of->recipients[i].address = str_from(of->names[i]);
	}
	deliver_pipe_start(pipe, &of->job);
	return of;
}

void jobs_forget(struct test_job *of)
{
	assert_false(of->is_open);
	if (of->is_bad)
		close(of->job.content.file);
	if (of->job.arena != NULL)
		arena_free(of->job.arena);
	of->job.arena = NULL;
	of->is_bad = false;
}

/* Nothing is left. */
void jobs_end(struct deliver_pipe *pipe)
{
	jobs_go_on = false;
	deliver_pipe_free(pipe);
	for (size_t i = 0; i < SCENE_PROGRAMS; i++)
		scene_clear_program(&scene_programs[i]);
	for (size_t i = 0; i < JOBS; i++)
		jobs_forget(&jobs[i]);
	assert_int_equal(scene_watches(), 0);
	assert_false(scene_turn());
	buffer_clear(&jobs_text);
	buffer_clear(&jobs_given);
}
