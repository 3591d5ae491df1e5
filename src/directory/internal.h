// SPDX-License-Identifier: ISC
/* directory/internal.h - between the parts of directory/. */
#ifndef DIRECTORY_INTERNAL_H
#define DIRECTORY_INTERNAL_H

#include "directory/lookup.h"

/* Answers from the domains of the configuration (static.c). RESULT is empty and
 * has its arena. */
void directory_static_lookup(const struct config *config, struct str address,
			     struct directory_result *result);

/* Adds a target, its texts copied; DIRECTORY_REFUSED 5.4.6 once there are too
 * many. */
void directory_result_add(struct directory_result *result, const struct directory_target *target);

#endif
