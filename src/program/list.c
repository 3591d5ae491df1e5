// SPDX-License-Identifier: ISC
/* list - sends mail for lists on to their members. */
#include "deliver/list.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "program/child.h"
#include <stdlib.h>

enum { CONCURRENCY = 100, STOCK = 4, STOP_CHECKS_MAX = 200 };

static const int64_t STOP_CHECK_US = SECOND_US / 20;

struct list_program {
	struct child *child;
	struct directory *directory;
	struct queue_client *queue;
	struct deliver_list *list;
	struct deliver_helper *helper;
	struct os_timer *stop_check;
	unsigned stop_checks;
};

static void on_job(void *context, struct deliver_helper_job *job)
{
	struct list_program *program = context;

	deliver_list_start(program->list, job);
}

static void on_lost(void *context)
{
	struct list_program *program = context;

	deliver_list_give_up(program->list);
}

static const struct deliver_helper_handler handler = {on_job, NULL, on_lost};

/* What is in flight may finish; not for ever. */
static void check_stop(void *context)
{
	struct list_program *program = context;

	if (deliver_helper_job_count(program->helper) > 0 &&
	    ++program->stop_checks <= STOP_CHECKS_MAX) {
		os_timer_start(program->stop_check, STOP_CHECK_US);
		return;
	}
	deliver_list_free(program->list);
	deliver_helper_free(program->helper);
	queue_client_free(program->queue);
	directory_free(program->directory);
	os_loop_stop(program->child->loop);
}

static int start(struct child *child)
{
	struct list_program *program = memory_alloc_zero(1, sizeof *program);
	char path[108];

	child->state = program;
	program->child = child;
	program->stop_check = os_timer_new(child->loop, check_stop, program);
	child_path(child, "directory", path);
	program->directory = directory_new(child->loop, child->config, path);
	child_path(child, "queue", path);
	program->queue = queue_client_new(child->loop, path, STOCK);
	program->list = deliver_list_new(child->loop, program->directory, program->queue);
	child_path(child, "send", path);
	program->helper =
		deliver_helper_new(child->loop,
				   &(struct deliver_helper_call){path, child_token(child, "list"),
								 CONFIG_LIST_SERVICE, CONCURRENCY},
				   &handler, program);
	child_ready(child);
	return 0;
}

static void reload(struct child *child, const struct config *old)
{
	struct list_program *program = child->state;

	(void)old;
	directory_configure(program->directory, child->config);
}

static void stop(struct child *child)
{
	struct list_program *program = child->state;

	deliver_helper_retire(program->helper);
	check_stop(program);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"list", NULL, start, reload, stop};

	return child_main(argc, argv, &program);
}
