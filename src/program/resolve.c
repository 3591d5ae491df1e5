// SPDX-License-Identifier: ISC
/* resolve - maps addresses for the submit and arrive stages. */
#include "stage/resolve.h"
#include "program/child.h"

static int start(struct child *child)
{
	char path[108];

	child_path(child, "send", path);
	child->state = stage_resolve_new(child->loop, path, child->config);
	child_ready(child);
	return 0;
}

static void reload(struct child *child, const struct config *old)
{
	(void)old;
	stage_resolve_configure(child->state, child->config);
}

static void stop(struct child *child)
{
	stage_resolve_free(child->state);
	os_loop_stop(child->loop);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"resolve", NULL, start, reload, stop};

	return child_main(argc, argv, &program);
}
