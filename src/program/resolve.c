// SPDX-License-Identifier: ISC
/* resolve - maps addresses for the submit and arrive stages. */
#include "deliver/resolve.h"
#include "base/panic.h"
#include "supervisor/child/child.h"
#include <stdlib.h>

struct resolve {
	struct directory *directory;
	struct deliver_resolve *resolver;
};

static int start_resolve_process(struct child *child)
{
	struct resolve *resolve = memory_alloc_zero(1, sizeof *resolve);
	char path[108];

	child->state = resolve;
	child_path(child, "directory", path);
	resolve->directory = directory_new(child->loop, child->config, path);
	child_path(child, "send", path);
	resolve->resolver = deliver_resolve_new(child->loop, path, child_token(child, "resolve"),
						resolve->directory);
	child_ready(child);
	return 0;
}

static void reload_resolve_process(struct child *child, const struct config *old)
{
	struct resolve *resolve = child->state;

	(void)old;
	directory_configure(resolve->directory, child->config);
}

static void stop_resolve_process(struct child *child)
{
	struct resolve *resolve = child->state;

	deliver_resolve_free(resolve->resolver);
	directory_free(resolve->directory);
	free(resolve);
	os_loop_stop(child->loop);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"resolve", NULL, start_resolve_process,
						     reload_resolve_process, stop_resolve_process};

	return child_main(argc, argv, &program);
}
