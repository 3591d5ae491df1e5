// SPDX-License-Identifier: ISC
/*
 * command/command.h - shared by the subcommands of "stagepost".
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "config/text.h"
#include "supervisor/start/status.h"
#include <stddef.h>
#include <stdio.h>

#define COMMAND_CONFIG_FILE "/etc/stagepost/stagepost.conf"

/* An option of a command. */
struct command_option {
	const char *name;     /* "--older", "-c" */
	const char *argument; /* its name in the help, or the allowed words separated by '|';
			       * NULL: no argument */
	const char *help;     /* without a full stop; NULL: as for the row before */
	size_t offset;        /* in the command's struct command_options: of a const char *,
			       * or, without an argument, of a bool */
};

/* An exit status. */
struct command_exit {
	int status;
	const char *meaning; /* NULL: end of the list */
};

/* --help, the manual and completion derive from this. */
struct command {
	const char *name;      /* "queue list" */
	const char *arguments; /* other than options */
	const char *summary;   /* one line */
	const char *help;      /* paragraphs; may be "" */
	int (*run)(const struct command *command, int argc, char **argv);
	const struct command_option *options; /* the last has a NULL name; NULL: none */
	const struct command_exit *exits;     /* NULL: the usual ones */
	const struct command *subcommands;    /* the last has a NULL name; NULL: none */
};

/* All of them; the last has a NULL name. */
extern const struct command commands[];
/* Makes them known to commands that list all, such as completion. */
void command_use(const struct command *table);
const struct command *command_all(void);

/* The parsed command line. A command with options of its own has a
 * struct that begins with this one. */
struct command_options {
	const char *config_file;
	bool json;
	int first; /* index of the first argument; options have been moved before it */
};

/* Rows of tables of options. */
#define COMMAND_OPTION_CONFIG                                                \
	{                                                                    \
		"-c", "FILE", "the configuration (" COMMAND_CONFIG_FILE ")", \
			offsetof(struct command_options, config_file)        \
	}
#define COMMAND_OPTION_JSON(help)                                            \
	{                                                                    \
		"--json", NULL, help, offsetof(struct command_options, json) \
	}
#define COMMAND_OPTION_END          \
	{                           \
		NULL, NULL, NULL, 0 \
	}

/* Only -c. */
extern const struct command_option command_config_options[];
/* Only -c and --json. */
extern const struct command_option command_json_options[];
/* 0, 1 and 2. */
extern const struct command_exit command_usual_exits[];

/* Parses the options of COMMAND, at any position, into OPTIONS, which the caller
 * has cleared or filled with defaults. True to continue; otherwise *STATUS_OUT is the
 * exit status (after --help or an error), and the output is printed. */
bool command_parse(const struct command *command, int argc, char **argv,
		   struct command_options *options, int *status_out);
/* Likewise for a command without arguments. */
bool command_parse_plain(const struct command *command, int argc, char **argv,
			 struct command_options *options, int *status_out);

/* "[-c FILE] [--json] ID": options and arguments of the usage line. */
void command_append_arguments(const struct command *command, struct buffer *out);
/* --help, and -h unless the command uses that letter. */
const struct command_option *command_help_options(const struct command *command);
/* Appends the output of --help. */
void command_append_help(const struct command *command, struct buffer *out);
/* Expands TEXT, the template of a manual page: a line "@WHAT COMMAND@" is replaced by what the
 * tables say about that command, in mdoc(7). False, with a reason in *WHY: something in it is
 * unknown. */
MUST_CHECK bool command_fill_manual(struct str text, struct buffer *out, struct buffer *why);
/* The command or subcommand called NAME; NULL: none. */
const struct command *command_find(struct str name);

/* Runs the subcommand of COMMAND that argv[1] names. */
int command_run_sub(const struct command *command, int argc, char **argv);
/* "90", "30m", "12h", "5d"; seconds by default. */
MUST_CHECK bool command_parse_time(const char *text, int64_t *time_us_out);
/* Prints "stagepost NAME: MESSAGE" and where to find help on standard error; COMMAND_USAGE. */
int command_usage(const struct command *command, const char *message);
/* "WHAT; allowed: a, b, c" of the COUNT names; valid until the next call. */
const char *command_allowed(const char *what, const char *(*name)(unsigned i), unsigned count);
/* Writes TEXT, which may be empty, to FILE; command_check_output() knows whether that went well. */
void command_write(FILE *file, struct str text);
/* STATUS, or, after an error message, COMMAND_FAILED in place of COMMAND_OK if something on
 * standard output was not written. */
int command_check_output(int status);
/* FILE, or the default configuration if it is NULL. NULL, after an error message: FILE was given by
 * a user with fewer rights than this program. */
const char *command_config_file(const char *file);
/* Becomes PROGRAM, of the folder of programs, with the same arguments; returns only after an error
 * message. */
void command_become(const struct command *command, const char *program, char **argv);
/* What is wrong with the file of the configuration. */
struct command_config_fault {
	struct buffer text; /* lines; "": nothing. The caller clears it */
	bool is_closed;     /* only that this user may not read it, or a file that it includes */
};

/* The configuration in FILE. While that is wrong or cannot be read, the last good one of a node
 * that has started with it (supervisor/talk/good_config.h): then FAULT->text is one line that says
 * so; or NULL, with all problems in FAULT->text. The caller has cleared *FAULT. */
struct config *command_config_in_force(const char *file, struct command_config_fault *fault);
/* Likewise, with FAULT->text on standard error. */
struct config *command_config(const char *file);
/* The configuration in FILE and nothing else, with its text (appended, see config_read()); -errno,
 * -EINVAL if the file is invalid, with all problems on standard error. */
MUST_CHECK int command_config_load(const char *file, struct buffer *text,
				   struct config **config_out);
/* Likewise, but PRINT says what is wrong; a problem without a file is FILE's. */
MUST_CHECK int
command_config_load_with(const char *file, struct buffer *text, struct config **config_out,
			 void (*print)(const struct config_problems *problems, const char *file));

extern const struct command_option command_serve_options[];
int command_serve(const struct command *command, int argc, char **argv);
extern const struct command_option command_config_print_options[];
extern const struct command_option command_check_options[];
extern const struct command_exit command_check_exits[];
int command_check(const struct command *command, int argc, char **argv);
int command_config_print(const struct command *command, int argc, char **argv);
int command_manual(const struct command *command, int argc, char **argv);
/* Prints what "mailq" shows; returns the exit status. */
int command_mailq_print(const char *config_file);

extern const struct command_option command_enqueue_options[];
int command_enqueue(const struct command *command, int argc, char **argv);
int command_completion(const struct command *command, int argc, char **argv);
extern const struct command_option command_trace_options[];
int command_trace(const struct command *command, int argc, char **argv);
extern const struct command_option command_transcript_options[];
extern const struct command_exit command_transcript_exits[];
int command_transcript(const struct command *command, int argc, char **argv);
extern const struct command_option command_limits_options[];
extern const struct command_exit command_limits_exits[];
int command_limits(const struct command *command, int argc, char **argv);
extern const struct command_option command_tls_options[];
extern const struct command_exit command_tls_exits[];
int command_tls(const struct command *command, int argc, char **argv);
extern const struct command_option command_tls_report_options[];
extern const struct command_exit command_tls_report_exits[];
int command_tls_report(const struct command *command, int argc, char **argv);
int command_reload(const struct command *command, int argc, char **argv);
extern const struct command_option command_upgrade_options[];
extern const struct command_exit command_upgrade_exits[];
int command_upgrade(const struct command *command, int argc, char **argv);
int command_stop(const struct command *command, int argc, char **argv);
int command_sendmail(const struct command *command, int argc, char **argv);

#endif
