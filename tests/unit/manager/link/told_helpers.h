// SPDX-License-Identifier: ISC
/* tests/unit/manager/link/told_helpers.h - in the place of manager/link/helper.h: what helpers are
 * told is written down. */
#ifndef TESTS_UNIT_MANAGER_LINK_TOLD_HELPERS_H
#define TESTS_UNIT_MANAGER_LINK_TOLD_HELPERS_H

#include "manager/link/helper.h"
#include "test.h"

static bool told_helpers_are_there;
static struct buffer told_body; /* the last */
static const char *told_service;
static enum ipc_job told_type;
static unsigned told_count;

bool helpers_have(const struct helpers *helpers, const char *service)
{
	(void)helpers;
	(void)service;
	return told_helpers_are_there;
}

void helpers_tell(struct helpers *helpers, const char *service, enum ipc_job type, struct str body)
{
	(void)helpers;
	told_service = service;
	told_type = type;
	told_count++;
	buffer_clear(&told_body);
	buffer_append_str(&told_body, body);
}

#endif
