// SPDX-License-Identifier: ISC
/*
 * limit/layout.h - which areas the rows of limit/memory.h have: one for each kind of limit that a
 * configuration sets.
 */
#ifndef LIMIT_LAYOUT_H
#define LIMIT_LAYOUT_H

#include "config/config.h"
#include "limit/memory.h"

/* The areas for CONFIG; none if it limits nothing. */
struct limit_layout limit_layout_of(const struct config *config);

#endif
