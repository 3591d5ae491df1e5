// SPDX-License-Identifier: ISC
/*
 * config/text.h - the configuration as text: files are read and parsed, with all their problems;
 * values are printed and explained.
 */
#ifndef CONFIG_TEXT_H
#define CONFIG_TEXT_H

#include "config/config.h"

/* A position in a configuration. */
struct config_position {
	struct str file; /* empty: the main file, not an included one */
	unsigned line;   /* 0: none */
};

/* A problem in a configuration. */
struct config_problem {
	const char *file;    /* "": not an included one */
	unsigned line;       /* 0: the file as a whole */
	const char *setting; /* "listen smtp.address"; "": not about a setting */
	const char *found;   /* the text there; "": none */
	const char *message; /* what is wrong */
	const char *allowed; /* what is allowed; "": nothing to say */
	struct config_problem *next;
};

struct config_problems {
	struct config_problem *first; /* in order of lines */
	size_t count;
	size_t closed; /* of them: files that this user may not read */
	struct arena *arena;
	const char *file; /* for problems that are added while files are read; may be NULL */
	const struct config_lines *lines; /* of the text being parsed; may be NULL */
};

/* Appends the text of FILE to *TEXT_OUT, at most 4 MiB, with included files in place of their
 * "include" statements, and marks that say which line is from which file. -errno: FILE cannot be
 * read; -EINVAL: an include is wrong, which *PROBLEMS explain. */
MUST_CHECK int config_read(const char *file, struct buffer *text_out,
			   struct config_problems *problems);
/* Parses TEXT, the contents of the file named FILE. 0 and *CONFIG_OUT, which the
 * caller frees; or -EINVAL, with all problems in *PROBLEMS, not only the first. */
MUST_CHECK int config_parse(const char *file, struct str text, struct config **config_out,
			    struct config_problems *problems);
void config_problems_clear(struct config_problems *problems);

/* The position in TEXT, a configuration that config_parse() has accepted, of the setting called
 * NAME as in problems ("user", "service box.user"), or of its section if it is not set; the file is
 * a view of TEXT. */
struct config_position config_setting_position(struct str text, const char *name);

/* Appends a line "FILE:LINE: SETTING: MESSAGE: found FOUND; allowed: ALLOWED" for each problem. */
void config_problems_print(const struct config_problems *problems, const char *file,
			   struct buffer *out);

/* The whole configuration in force, including defaults, as a file that parses to
 * the same (stagepost config). */
void config_print(const struct config *config, struct buffer *out);
/* Likewise, for everybody to read: CONFIG_HIDDEN is in place of passwords and keys, and of values
 * that may have a password in them (SECRET in the table of settings). */
void config_print_public(const struct config *config, struct buffer *out);
/* Likewise, but only settings that differ from their defaults, each with its position in a comment;
 * CONFIG was parsed from TEXT, the contents of FILE. */
void config_print_changed(const struct config *config, const char *file, struct str text,
			  struct buffer *out);

/* Calls EACH for each kind of section that CONFIG has, "" for the settings outside of sections,
 * with a checksum of what config_print_public() prints of them. What each machine has of its own,
 * as its host name, does not count (OF_MACHINE in the table of settings), nor does section
 * directory: by which way it has these data. So nodes that are to do the same have the same. */
void config_each_checksum(const struct config *config,
			  void (*each)(void *context, const char *section, uint32_t checksum),
			  void *context);

/* A description of one setting. */
struct config_explanation {
	const char *name;
	struct buffer value; /* as in a file, with "{ }" for a list; empty: not set */
	const char *initial; /* the default, or in words how it is computed; NULL: none */
	struct config_position position; /* its file is a view of the text */
	struct buffer allowed;           /* in words */
	bool needs_restart;              /* to change it; otherwise a reload suffices */
	const char *meaning;
};

/* Describes the setting called NAME as in problems. False: there is none; *WHY says what is wrong
 * with NAME. The caller must clear *OUT in either case. */
MUST_CHECK bool config_explain(const struct config *config, struct str text, const char *name,
			       struct config_explanation *out, struct buffer *why);
void config_explanation_clear(struct config_explanation *explanation);

/* The directory of the setting run in TEXT, which may be wrong anywhere: what the last line that
 * sets it says, or the default. Memory is in ARENA. */
const char *config_guess_run(struct str text, struct arena *arena);

/* The name of a setting that differs but cannot change while a node runs; NULL: there is none. */
const char *config_fixed_change(const struct config *old, const struct config *new);

/* Prints the reference manual stagepost.conf(5) as mdoc, from the table. */
void config_print_manual(struct buffer *out);

#endif
