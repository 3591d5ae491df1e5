// SPDX-License-Identifier: ISC
/*
 * tests/unit/confine/sandbox_scene.h - processes that enter their sandboxes, and in the place of
 * the kernel (--wrap: sandbox_wraps in meson.build) what the test says.
 */
#ifndef TESTS_UNIT_SANDBOX_SCENE_H
#define TESTS_UNIT_SANDBOX_SCENE_H

#include "base/buffer.h"
#include "confine/internal.h"

struct sandbox_kernel {
	struct buffer lines; /* what os_sandbox_enter() was asked for */
	unsigned lacked;     /* by the kernel, known before; and what it reports */
	unsigned lacks;
	int result;
	const char *moved; /* the path that leads elsewhere by now */
	const char *lost;  /* of which nothing is known */
	const char *link;  /* that leads to /real/cert.pem */
	bool may_change_user;
};

extern struct sandbox_kernel kernel;

/* Of a node with few settings, and TEXT. */
struct config *sandbox_scene_config(const char *text);
struct sandbox *sandbox_scene_enter(const char *program, const struct config *config);
void sandbox_scene_leave(struct sandbox *sandbox);
/* For cmocka: after all tests. */
int sandbox_scene_forget(void **state);

#endif
