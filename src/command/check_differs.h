// SPDX-License-Identifier: ISC
/*
 * command/check_differs.h - what of a configuration's file is not in force, because the
 * node that runs was not told of it.
 */
#ifndef COMMAND_CHECK_DIFFERS_H
#define COMMAND_CHECK_DIFFERS_H

#include "config/text.h"

/* Calls EACH with a problem for each setting, or for a section that is only in one of them, in
 * which CONFIG, parsed from TEXT, differs from RUNNING; its texts last until EACH returns. What is
 * not for everybody to read (config_print_public()) is not compared. Returns how many there are. */
size_t check_differs(const struct config *config, struct str text, const struct config *running,
		     void (*each)(void *context, const struct config_problem *problem),
		     void *context);

#endif
