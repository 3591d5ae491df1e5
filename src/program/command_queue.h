// SPDX-License-Identifier: ISC
/*
 * program/command_queue.h - what the subcommands of "stagepost queue" share.
 */
#ifndef PROGRAM_COMMAND_QUEUE_H
#define PROGRAM_COMMAND_QUEUE_H

#include "listing/listing.h"
#include "program/command.h"

/* The queue that CONFIG_FILE names, for reading; NULL, and why is on standard error. */
struct queue_store *command_queue_open(const char *config_file);
/* Says that WHAT failed with ERROR (-errno); COMMAND_FAILED. */
int command_queue_failed(const char *what, int error);
/* Moves TEXT to standard output. */
void command_queue_flush(struct buffer *text);

int command_queue_list(const struct command *command, int argc, char **argv);
int command_queue_show(const struct command *command, int argc, char **argv);
int command_queue_stats(const struct command *command, int argc, char **argv);

#endif
