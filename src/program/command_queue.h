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
struct queue_store *command_queue_open_to_read(const struct config *config);
/* The same to change something in it, as the queue's owner: becomes that user when
 * started as root. */
struct queue_store *command_queue_open_for_change(const struct config *config);
/* What that does first; false: why not is on standard error. */
bool command_queue_become_owner(const struct config *config);
/* Says that WHAT failed with ERROR (-errno); COMMAND_FAILED. */
int command_queue_failed(const char *what, int error);
/* Moves TEXT to standard output. */
void command_queue_flush(struct buffer *text);

/* The tables of options and of the subcommands themselves. */
extern const struct command_option command_queue_list_options[];
extern const struct command_option command_queue_show_options[];
extern const struct command_option command_queue_order_options[];
extern const struct command_option command_queue_hold_options[];
extern const struct command_option command_queue_repair_options[];
extern const struct command_option command_queue_stats_options[];
extern const struct command command_queue_subcommands[];
extern const struct command command_trigger_subcommands[];

int command_queue_list(const struct command *command, int argc, char **argv);
int command_queue_show(const struct command *command, int argc, char **argv);
/* hold, release, retry, bounce, remove */
int command_queue_order(const struct command *command, int argc, char **argv);
/* Takes both locks of the queue at PATH; false: why not is said. */
bool command_queue_lock(struct queue_store *store, const char *path);

int command_queue_adopt(const struct command *command, int argc, char **argv);
int command_queue_repair(const struct command *command, int argc, char **argv);
int command_queue_stats(const struct command *command, int argc, char **argv);

#endif
