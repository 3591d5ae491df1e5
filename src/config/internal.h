// SPDX-License-Identifier: ISC
/*
 * config/internal.h - the stages from the text of a configuration to a struct config.
 *
 *   parse/   source.c puts included files into one text; lines.c maps its lines to files; token.c
 *            splits it into tokens; parse.c makes them a struct config_tree: every value still
 *            text, with its line
 *   build/   build.c creates the structs of the sections; fill.c converts each value by its row of
 *            the table (schema/, type/)
 *   check/   checks what involves more than one setting
 *
 *   explain.c  describes settings, for people
 *
 * All stages add problems to the same struct config_problems.
 */
#ifndef CONFIG_INTERNAL_H
#define CONFIG_INTERNAL_H

#include "config/schema/schema.h"
#include "config/type/value.h"

enum { CONFIG_TEXT_MAX = 4 * 1024 * 1024, CONFIG_FILES_MAX = 1000, CONFIG_PROBLEMS_MAX = 1000 };

/* problem.c; SETTING may be NULL, MESSAGE and ALLOWED (may be NULL) are copied. */
void config_problem_add(struct config_problems *problems, unsigned line, const char *setting,
			struct str found, const char *message, const char *allowed);
/* Whether the maximum number of problems is reached. */
bool config_problems_are_full(const struct config_problems *problems);
/* Sorts the problems by line, after all have been added, and then maps the lines to files. */
void config_problems_sort(struct config_problems *problems);
/* "listen smtp.address"; SETTING may be NULL: the section itself. In the problems' arena. */
const char *config_problem_name(struct config_problems *problems, enum config_section section,
				const char *title, const char *setting);

/* Appends "line 5" or "line 5 of FILE", while a text is parsed. */
void config_problem_append_line(const struct config_problems *problems, unsigned line,
				struct buffer *out);
/* "given twice: first in line 5" */
void config_problem_add_repeated(struct config_problems *problems, unsigned line,
				 const char *setting, struct str found, unsigned first_line);

/* Begins a line that is followed by a line number and a file name. */
#define CONFIG_LINES_MARK "#\f"
/* parse/lines.c: the map of lines to files for a text of config_read(), in ARENA, with views of
 * TEXT; NULL: nothing was included. */
const struct config_lines *config_lines_of(struct str text, struct arena *arena);
/* Fills in the files that are included by CONFIG's; LINES may be NULL. */
void config_list_included(const struct config_lines *lines, struct config *config);
/* LINES may be NULL. */
struct config_position config_lines_find(const struct config_lines *lines, unsigned line);

struct config_tree_value {
	struct str text;
	unsigned line;
	struct config_tree_value *next;
};

struct config_tree_use { /* a setting in the file */
	unsigned line;   /* 0: it is not set */
	bool is_repeated;
	struct config_tree_value *first;
	struct config_tree_value *last;
	size_t count;
};

struct config_tree_section {
	enum config_section kind;
	const char *title; /* "" for the root */
	unsigned line;
	struct config_tree_use *uses; /* one for each row of the section */
	struct config_tree_section *next;
};

struct config_tree {
	struct arena *arena;
	struct config_tree_section root;
	struct config_tree_section *first; /* in the order of the file */
	struct config_tree_section *last;
};

/* parse/parse.c: parses TEXT into TREE, which must be cleared in either case. False after a syntax
 * error, which is reported, and ends the parsing. Unknown names, repeated settings and empty lists
 * are also reported, but parsing continues. */
bool config_tree_parse(struct config_tree *tree, struct str text, struct config_problems *problems);

/* parse/tree.c */
void config_tree_init(struct config_tree *tree);
/* Appends a section; TITLE is in TREE's arena or static. */
struct config_tree_section *config_tree_add(struct config_tree *tree, enum config_section kind,
					    const char *title, unsigned line);
/* Appends a value to a setting; TEXT is in TREE's arena. */
void config_tree_append(struct config_tree *tree, struct config_tree_use *use, const char *text,
			unsigned line);

/* Parses TEXT, a configuration that config_parse() has accepted, into TREE. */
void config_tree_read(struct config_tree *tree, struct str text);
void config_tree_clear(struct config_tree *tree);

struct config_tree_found {
	const struct config_tree_section *section;
	const struct config_setting *row;
};
/* Finds the setting called NAME as in problems; false: its section is not in the text, or has no
 * such setting (then *OUT has the section, if it exists). */
bool config_tree_find(const struct config_tree *tree, const char *name,
		      struct config_tree_found *out);

/* NULL: not a setting of SECTION. */
struct config_tree_use *config_tree_find_use(const struct config_tree_section *section,
					     struct str setting);
/* The values and line of SETTING, which must exist, in SECTION. */
const struct config_tree_use *config_tree_use(const struct config_tree_section *section,
					      const char *setting);

/* Fills CONFIG, whose arena is set, from TREE. */
void config_build(struct config *config, const struct config_tree *tree,
		  struct config_problems *problems);
/* Converts the settings of a section into the struct at BASE. */
void config_fill_section(struct config *config, const struct config_tree_section *section,
			 void *base, struct config_problems *problems);
void config_check(struct config *config, const struct config_tree *tree,
		  struct config_problems *problems);

void config_print_value(const struct config_setting *setting, const void *place,
			struct buffer *out);

/* problem.c: a problem of SETTING in SECTION, in its line, or that of the section where it is not
 * set. */
void config_problem_report(const struct config_tree_section *section, const char *setting,
			   const char *message, const char *allowed,
			   struct config_problems *problems);
/* About SECTION as such. */
void config_problem_report_section(const struct config_tree_section *section, const char *message,
				   const char *allowed, struct config_problems *problems);
/* check/row.c: checks the settings of sections against their kinds, and by their rows. */
void config_check_rows(const struct config *config, const struct config_tree *tree,
		       struct config_problems *problems);
/* check/complete.c: what is not given of listeners and of TLS. */
void config_complete_sections(struct config *config, const struct config_tree *tree);
/* check/program.c: checks the program of SERVICE, which is of kind pipe. */
void config_check_program(const struct config *config, const struct config_service *service,
			  const struct config_tree_section *section,
			  struct config_problems *problems);
/* check/record.c: section record, and the services that record. */
void config_check_record(const struct config *config, const struct config_tree *tree,
			 struct config_problems *problems);
/* build/class.c: adds the classes, and checks their order. */
void config_add_classes(struct config *config, const struct config_tree *tree,
			struct config_problems *problems);
/* check/source.c: adds the sources. */
void config_add_sources(struct config *config, const struct config_tree *tree,
			struct config_problems *problems);
/* After config_check(): completes them, and checks what names them. */
void config_check_sources(struct config *config, const struct config_tree *tree,
			  struct config_problems *problems);
/* check/check.c: no two of KEYS, one for each value of SETTING, are equal. */
void config_check_once(const struct config_tree_section *section, const char *setting,
		       const char *const *keys, struct config_problems *problems);
/* build/destination.c: adds the destinations. */
void config_add_destinations(struct config *config, const struct config_tree *tree,
			     struct config_problems *problems);
/* build/rate.c: adds the rates. */
void config_add_rates(struct config *config, const struct config_tree *tree,
		      struct config_problems *problems);
/* build/rule.c: adds the rules, after the services. */
void config_add_rules(struct config *config, const struct config_tree *tree,
		      struct config_problems *problems);
/* check/record.c: the flags of a copy. */
void config_check_flags(const char *const *flags, size_t count, bool may_be_none,
			const struct config_tree_section *section,
			struct config_problems *problems);
/* parse/route.c: how many bytes of TEXT, an element of smtproutes, come before its password; all of
 * them if there is none. */
size_t config_route_length(struct str text);

#endif
