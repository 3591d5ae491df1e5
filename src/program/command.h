// SPDX-License-Identifier: ISC
/*
 * program/command.h - what the subcommands of "stagepost" share.
 */
#ifndef PROGRAM_COMMAND_H
#define PROGRAM_COMMAND_H

#include "config/config.h"

#define COMMAND_CONFIG_FILE "/etc/stagepost/stagepost.conf"

enum { COMMAND_OK = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2 };

struct command {
	const char *name;
	const char *arguments; /* for the usage line */
	const char *summary;   /* one line */
	const char *help;      /* paragraphs; may be "" */
	int (*run)(const struct command *command, int argc, char **argv);
};

/* All of them; the last has a NULL name. */
extern const struct command commands[];

struct command_options {
	const char *config_file;
	bool json;
	int first; /* index of the first argument that is no option; they all come last */
};

/* Reads, wherever they stand, -c FILE, --json (where ALLOW_JSON) and --help. COMMAND_OK to go on;
 * otherwise *STATUS_OUT is the exit status, and what there was to say is said. */
bool command_parse(const struct command *command, int argc, char **argv, bool allow_json,
		   struct command_options *options, int *status_out);
/* An option of one command. */
struct command_option {
	const char *name;     /* "--older" */
	const char *argument; /* what it is called in the help; NULL: none */
	const char *help;
	const char **value_out; /* of one with an argument */
	bool *flag_out;         /* of one without */
};

/* The same with more options: EXTRAS ends with a NULL name. --json is one of
 * them where it is wanted. */
bool command_parse_extra(const struct command *command, int argc, char **argv,
			 const struct command_option *extras, struct command_options *options,
			 int *status_out);
/* Runs the one of SUBCOMMANDS ("queue list"; the last has a NULL name) of COMMAND
 * ("queue") that argv[1] names. */
int command_run_sub(const struct command *command, const struct command *subcommands, int argc,
		    char **argv);
/* "stagepost NAME: MESSAGE" and where to find help, on standard error; COMMAND_USAGE. */
int command_usage(const struct command *command, const char *message);
/* FILE, or the usual configuration when it is NULL. Exits when FILE was named by
 * somebody with fewer rights than this program. */
const char *command_config_file(const char *file);
/* The configuration; or NULL, and every problem is on standard error. */
struct config *command_config(const char *file);

int command_serve(const struct command *command, int argc, char **argv);
int command_check(const struct command *command, int argc, char **argv);
int command_config_print(const struct command *command, int argc, char **argv);
int command_manual(const struct command *command, int argc, char **argv);
/* What "mailq" prints; the exit status. */
int command_mailq_print(const char *config_file);

int command_enqueue(const struct command *command, int argc, char **argv);
int command_completion(const struct command *command, int argc, char **argv);
int command_trace(const struct command *command, int argc, char **argv);
int command_reload(const struct command *command, int argc, char **argv);
int command_stop(const struct command *command, int argc, char **argv);
int command_trigger(const struct command *command, int argc, char **argv);
int command_queue(const struct command *command, int argc, char **argv);
int command_mailq(const struct command *command, int argc, char **argv);
int command_sendmail(const struct command *command, int argc, char **argv);
int command_version(const struct command *command, int argc, char **argv);

#endif
