// SPDX-License-Identifier: ISC
/*
 * tests/unit/command/command_node.h - a whole node beside the commands: its supervisor and all
 * programs, each of which is the test by another name.
 */
#ifndef TESTS_UNIT_COMMAND_NODE_H
#define TESTS_UNIT_COMMAND_NODE_H

#include "base/buffer.h"
#include <sys/types.h>

/* Starts one with the configuration ROOT/conf, and waits until it is ready, or has ended. If it
 * INHERITS, its service manager has kept sockets. */
void command_node_begin(const char *root, bool inherits);
/* Until TEXT is in its log once more than when this was called with it before. */
void command_node_wait(struct str text);
/* In a child: prints what the server at PLACE, a path or HOST:PORT, says to the lines of standard
 * input, each after an answer to the one before. */
_Noreturn void command_node_talk(const char *place);
/* Appends what it has told the service manager, and logged as its supervisor, since the last call;
 * a line each, without what is known by chance only. */
void command_node_hear(struct buffer *out);
/* Until it has ended, by itself or, at the end of the test, by SIGTERM. */
void command_node_end(bool is_told);

#endif
