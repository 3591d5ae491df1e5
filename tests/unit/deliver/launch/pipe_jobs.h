/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/deliver/launch/pipe_jobs.h - jobs of a pipe service, in the place of deliver/helper.h:
 * each recipient is reported once, by what the test says before.
 */
#ifndef TESTS_UNIT_PIPE_JOBS_H
#define TESTS_UNIT_PIPE_JOBS_H

#include "deliver/pipe/pipe.h"

enum { JOBS = 3, RECIPIENTS = 3, JOBS_OUTPUT_MAX = 20 };

extern struct test_job {
	struct deliver_helper_job job;
	struct deliver_helper_recipient recipients[RECIPIENTS];
	char names[RECIPIENTS][32]; /* "rJOB.RECIPIENT@a.test" */
	bool is_open;
	bool is_bad; /* its data are not what was queued */
} jobs[JOBS];

/* The service is "box", and runs /bin/prog for 7 seconds at most. */
extern struct config_transport jobs_transport;
extern const struct config_service jobs_service;
extern const struct config jobs_config;
extern bool jobs_go_on;          /* each is reported before its end */
extern char jobs_expected[300];  /* the report that comes now: "STATUS TEXT|TRIGGER" */
extern struct buffer jobs_text;  /* of the message, with CRLF */
extern struct buffer jobs_given; /* as programs get it, without the two lines on top */

/* A service that is in use, with the launcher ready. */
struct deliver_pipe *jobs_begin(const struct config *config);
void jobs_make_message(size_t lines);
/* A job of that many recipients is begun. IS_BAD: its data are in a file, and not what was queued.
 */
struct test_job *jobs_open(struct deliver_pipe *pipe, size_t number, size_t recipients,
			   bool is_bad);
void jobs_forget(struct test_job *of);
void jobs_end(struct deliver_pipe *pipe);

#endif
