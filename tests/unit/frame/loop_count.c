// SPDX-License-Identifier: ISC
/* Counts loops. */
#include "instead.h"
#include "kept.h"
#include "os/loop.h"

struct os_loop *real_loop_new(void) REAL(os_loop_new);
void real_loop_free(struct os_loop *loop) REAL(os_loop_free);

struct os_loop *counted_loop_new(void) INSTEAD_OF(os_loop_new);
void counted_loop_free(struct os_loop *loop) INSTEAD_OF(os_loop_free);

struct os_loop *counted_loop_new(void)
{
	struct os_loop *loop = real_loop_new();

	kept_add("loop", loop, 0);
	return loop;
}

void counted_loop_free(struct os_loop *loop)
{
	kept_remove(loop);
	real_loop_free(loop);
}
