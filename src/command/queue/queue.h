// SPDX-License-Identifier: ISC
/*
 * command/queue/queue.h - shared by the subcommands of "stagepost queue".
 */
#ifndef COMMAND_QUEUE_QUEUE_H
#define COMMAND_QUEUE_QUEUE_H

#include "command/command.h"
#include "queue/listing/listing.h"

/* Opens the queue of CONFIG_FILE for reading; NULL, after an error message. */
struct queue_store *command_queue_open(const char *config_file);
struct queue_store *command_queue_open_to_read(const struct config *config);
/* Likewise for changes, as the queue's owner: becomes that user if started as
 * root. */
struct queue_store *command_queue_open_for_change(const struct config *config);
/* The same, and makes the directories that a copy lacks. */
struct queue_store *command_queue_open_to_repair(const struct config *config);
/* The first step of that; false, after an error message. */
bool command_queue_become_owner(const struct config *config);
/* Prints that WHAT failed with ERROR (-errno); COMMAND_FAILED. */
int command_queue_failed(const char *what, int error);
/* Moves TEXT to standard output. */
void command_queue_flush(struct buffer *text);

/* The tables of options and of the subcommands themselves. */
extern const struct command_option command_queue_list_options[];
extern const struct command_option command_queue_show_options[];
extern const struct command_option command_queue_release_options[];
extern const struct command_option command_queue_order_options[];
extern const struct command_option command_queue_hold_options[];
extern const struct command_option command_queue_repair_options[];
extern const struct command_option command_queue_stats_options[];
extern const struct command command_queue_subcommands[];
extern const struct command command_trigger_subcommands[];

enum { QUEUE_DRAIN_LEFT = 3 }; /* exit status of drain */
extern const struct command_option command_queue_drain_options[];
extern const struct command_exit command_queue_drain_exits[];

int command_queue_drain(const struct command *command, int argc, char **argv);
int command_queue_list(const struct command *command, int argc, char **argv);
int command_queue_show(const struct command *command, int argc, char **argv);
/* hold, release, retry, bounce, remove */
int command_queue_order(const struct command *command, int argc, char **argv);
/* Takes both locks of the queue at PATH; false, after an error message. */
bool command_queue_lock(struct queue_store *store, const char *path);

int command_queue_adopt(const struct command *command, int argc, char **argv);
int command_queue_repair(const struct command *command, int argc, char **argv);
int command_queue_stats(const struct command *command, int argc, char **argv);

#endif
