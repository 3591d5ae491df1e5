// SPDX-License-Identifier: ISC
/*
 * program/command_directory.h - what the subcommands of "stagepost directory" share.
 */
#ifndef PROGRAM_COMMAND_DIRECTORY_H
#define PROGRAM_COMMAND_DIRECTORY_H

#include "exchange/pages.h"
#include "program/command.h"

/* The directory of this node, as a command asks it. */
struct command_directory {
	struct config *config;
	struct exchange_server server;
};

/* Begins to connect to the directory process of the configuration in FILE. False: the configuration
 * is wrong or has no section "directory", and that is said. What does not answer is found when it
 * is asked. Nothing is kept of answers. */
bool command_directory_open(const char *file, struct command_directory *directory_out);
void command_directory_close(struct command_directory *directory);
/* "stagepost NAME: WHY" on standard error, for what exchange_server_problem() says; COMMAND_FAILED.
 */
int command_directory_failed(const struct command *command,
			     const struct command_directory *directory);

extern const struct command command_directory_subcommands[];

/* The directory did not answer, or has refused. */
enum { COMMAND_DIRECTORY_UNANSWERED = 3 };

extern const struct command_option command_directory_get_options[];
int command_directory_get(const struct command *command, int argc, char **argv);
extern const struct command_option command_directory_change_options[];
int command_directory_put(const struct command *command, int argc, char **argv);
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

extern const struct command_option command_directory_check_options[];
int command_directory_check(const struct command *command, int argc, char **argv);
/* Warns on standard error of what the record, which was put and has FIELDS ("NAME VALUE"), names
 * and what is not there. COMMAND_OK, or COMMAND_DIRECTORY_UNANSWERED. */
int command_directory_warn(const struct command *command, struct command_directory *directory,
			   const char *table, const char *key, const struct str *fields,
			   size_t count);

extern const struct command_option command_newaliases_options[];
/* By the configuration in FILE; DOMAIN may be NULL. The exit status, of sysexits(3). */
int command_newaliases_run(const char *file, const char *domain);
int command_newaliases(const struct command *command, int argc, char **argv);

#endif
