// SPDX-License-Identifier: ISC
/* remote - delivers to other hosts. */
#include "deliver/remote.h"
#include "log/event.h"
#include "program/child.h"
#include <stdlib.h>

struct remote_program {
	struct child *child;
	struct deliver_remote *remote;
	struct deliver_helper *helper;
	struct os_timer *stop_check;
};

enum { CONCURRENCY = 2000 };

static const int64_t STOP_CHECK_US = SECOND_US / 20;

static struct remote_program program_state;

static void on_job(void *context, struct deliver_helper_job *job)
{
	struct remote_program *program = context;

	deliver_remote_start(program->remote, job);
}

static void on_lost(void *context)
{
	struct remote_program *program = context;

	deliver_remote_give_up(program->remote);
}

static void on_drain(void *context)
{
	struct remote_program *program = context;

	deliver_remote_drain(program->remote);
}

static const struct deliver_helper_handler handler = {on_job, on_drain, on_lost};

static void end(struct remote_program *program)
{
	os_timer_stop(program->stop_check);
	deliver_remote_free(program->remote);
	deliver_helper_free(program->helper);
	program->remote = NULL;
	program->helper = NULL;
	os_loop_stop(program->child->loop);
}

/* What a server is deciding about may come to its end. */
static void check_stop(void *context)
{
	struct remote_program *program = context;

	if (deliver_helper_job_count(program->helper) == 0)
		end(program);
	else
		os_timer_start(program->stop_check, STOP_CHECK_US);
}

/* The system's files about the DNS are read here, once. */
static int open_resolver(struct child *child)
{
	child->state = &program_state;
	return deliver_remote_new(child->loop, child->config, &program_state.remote);
}

static int start(struct child *child)
{
	struct remote_program *program = child->state;
	char path[108];

	child_path(child, "send", path);
	program->child = child;
	program->stop_check = os_timer_new(child->loop, check_stop, program);
	program->helper =
		deliver_helper_new(child->loop,
				   &(struct deliver_helper_call){path, child_token(child, "remote"),
								 "remote", CONCURRENCY},
				   &handler, program);
	child_ready(child);
	return 0;
}

static void reload(struct child *child, const struct config *old)
{
	struct remote_program *program = child->state;

	(void)old;
	deliver_remote_configure(program->remote, child->config);
}

static void stop(struct child *child)
{
	struct remote_program *program = child->state;

	deliver_helper_retire(program->helper);
	check_stop(program);
}

static size_t pending(const struct child *child)
{
	const struct remote_program *program = child->state;

	return program->helper != NULL ? deliver_helper_job_count(program->helper) : 0;
}

static void hurry(struct child *child)
{
	end(child->state);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"remote", open_resolver, start, reload,
						     stop,     pending,       hurry};

	return child_main(argc, argv, &program);
}
