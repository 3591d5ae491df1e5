// SPDX-License-Identifier: ISC
/*
 * command/directory/directory.h - shared by the subcommands of "stagepost directory".
 */
#ifndef COMMAND_DIRECTORY_DIRECTORY_H
#define COMMAND_DIRECTORY_DIRECTORY_H

#include "command/command.h"
#include "directory/bulk/pages.h"

/* A command's connection to the directory of this node. */
struct command_directory {
	struct config *config;
	struct bulk_server server;
};

/* Starts to connect to the directory process of the configuration in FILE. False, after an error
 * message: the configuration is invalid or has no section "directory". A process that does not
 * answer is noticed with the first question. Answers are not cached. */
bool command_directory_open(const char *file, struct command_directory *directory_out);
void command_directory_close(struct command_directory *directory);
/* Prints "stagepost NAME: " and bulk_server_problem() on standard error; COMMAND_FAILED. */
int command_directory_failed(const struct command *command,
			     const struct command_directory *directory);

extern const struct command command_directory_subcommands[];

/* What is said of a name of a table that there is not, or that cannot be listed; of a format: WHAT.
 * Valid until the next such call. */
const char *command_directory_no_table(void);
const char *command_directory_no_listed_table(void);
const char *command_directory_no_format(const char *what);

/* The directory did not answer, or it refused. */
enum { COMMAND_DIRECTORY_UNANSWERED = 3 };

/* How often a record is read and changed while others change it, or the server that answers has not
 * heard of their changes; and the pause between. */
enum { COMMAND_DIRECTORY_ATTEMPTS = 100, COMMAND_DIRECTORY_PAUSE_MS = 20 };

extern const struct command_option command_directory_get_options[];
int command_directory_get(const struct command *command, int argc, char **argv);
extern const struct command_option command_directory_change_options[];
extern const struct command_option command_directory_put_options[];
int command_directory_put(const struct command *command, int argc, char **argv);
int command_directory_set(const struct command *command, int argc, char **argv);
int command_directory_del(const struct command *command, int argc, char **argv);
extern const struct command_option command_directory_list_options[];
int command_directory_list(const struct command *command, int argc, char **argv);
extern const struct command_option command_directory_accept_options[];
int command_directory_accept(const struct command *command, int argc, char **argv);
int command_directory_watch(const struct command *command, int argc, char **argv);
extern const struct command_option command_directory_stats_options[];
int command_directory_stats(const struct command *command, int argc, char **argv);
int command_directory_status(const struct command *command, int argc, char **argv);

extern const struct command_option command_directory_import_options[];
int command_directory_import(const struct command *command, int argc, char **argv);
extern const struct command_option command_directory_export_options[];
int command_directory_export(const struct command *command, int argc, char **argv);
extern const struct command_option command_directory_passwd_options[];
int command_directory_passwd(const struct command *command, int argc, char **argv);

/* The program that does the work of "directory repair". */
#define COMMAND_DIRECTORY_PROGRAM "directory-command"

struct command_directory_repair_options {
	struct command_options common;
	bool applies;
};

extern const struct command_option command_directory_repair_options[];
int command_directory_repair(const struct command *command, int argc, char **argv);

extern const struct command_option command_directory_check_options[];
int command_directory_check(const struct command *command, int argc, char **argv);
/* Warns on standard error if the record, which was put with FIELDS ("NAME VALUE"), names something
 * that does not exist. COMMAND_OK, or COMMAND_DIRECTORY_UNANSWERED. */
int command_directory_warn(const struct command *command, struct command_directory *directory,
			   const char *table, const char *key, const struct str *fields,
			   size_t count);

extern const struct command command_node_subcommands[];

extern const struct command_option command_newaliases_options[];
/* With the configuration in FILE; DOMAIN may be NULL. Returns the exit status, of sysexits(3). */
int command_newaliases_run(const char *file, const char *domain);
int command_newaliases(const struct command *command, int argc, char **argv);

#endif
