// SPDX-License-Identifier: ISC
/* launch - starts the programs of pipe services for "pipe" (deliver/launch/launch.h), as their
 * users: the only process that may change to other users and that has no sandbox, since its
 * programs would inherit it. It reads no mail. */
#include "base/panic.h"
#include "deliver/launch/launcher.h"
#include "supervisor/child/child.h"

static const int64_t STOP_CHECK_US = SECOND_US / 20;

struct launch_program {
	struct child *child;
	struct deliver_launcher *launcher;
	struct os_timer *stop_check;
};

static struct deliver_launcher_peer peer_of_launcher(const struct child *child)
{
	return (struct deliver_launcher_peer){child_user(child, "pipe"), &child->tokens};
}

static void end_launcher(struct launch_program *program)
{
	os_timer_stop(program->stop_check);
	deliver_launcher_free(program->launcher);
	program->launcher = NULL;
	os_loop_stop(program->child->loop);
}

static void check_stop_of_launcher(void *context)
{
	struct launch_program *program = context;

	if (deliver_launcher_running(program->launcher) > 0)
		os_timer_start(program->stop_check, STOP_CHECK_US);
	else
		end_launcher(program);
}

static int start_launcher(struct child *child)
{
	struct launch_program *program = memory_alloc_zero(1, sizeof *program);
	struct deliver_launcher_peer peer = peer_of_launcher(child);

	child->state = program;
	program->child = child;
	program->stop_check = os_timer_new(child->loop, check_stop_of_launcher, program);
	program->launcher = deliver_launcher_new(child->loop, child_socket(child, "launch"),
						 child->config, &peer);
	child_ready(child);
	return 0;
}

static void reload_launcher(struct child *child, const struct config *old)
{
	struct launch_program *program = child->state;
	struct deliver_launcher_peer peer = peer_of_launcher(child);

	(void)old;
	deliver_launcher_configure(program->launcher, child->config, &peer);
}

/* "pipe" has ended already, or its last service is gone and its programs may finish. */
static void stop_launcher(struct child *child)
{
	struct launch_program *program = child->state;

	deliver_launcher_drain(program->launcher);
	check_stop_of_launcher(program);
}

static size_t pending_programs_of_launcher(const struct child *child)
{
	const struct launch_program *program = child->state;

	return program->launcher != NULL ? deliver_launcher_running(program->launcher) : 0;
}

static void hurry_launcher(struct child *child)
{
	struct launch_program *program = child->state;

	if (program->launcher != NULL)
		end_launcher(program);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"launch",       NULL,
						     start_launcher, reload_launcher,
						     stop_launcher,  pending_programs_of_launcher,
						     hurry_launcher};

	return child_main(argc, argv, &program);
}
