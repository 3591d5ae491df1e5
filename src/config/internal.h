// SPDX-License-Identifier: ISC
/*
 * config/internal.h - how the text of a configuration becomes a struct config.
 *
 *   source.c puts the files that are included into one text; lines.c knows where
 *            its lines are from
 *   token.c  reads it as a row of tokens
 *   parse.c  makes a struct config_tree of them: every value still text, with
 *            its line
 *   build.c  makes the structs of the sections
 *   fill.c   reads each value by its row of the table into its struct
 *   check.c  checks what concerns more than one setting
 *
 *   explain.c  tells what stands in the text, for people
 *
 * Each step adds what it finds wrong to the same struct config_problems.
 */
#ifndef CONFIG_INTERNAL_H
#define CONFIG_INTERNAL_H

#include "config/schema.h"
#include "config/value.h"

enum { CONFIG_TEXT_MAX = 4 * 1024 * 1024, CONFIG_FILES_MAX = 1000, CONFIG_PROBLEMS_MAX = 1000 };

/* problem.c; SETTING may be NULL, MESSAGE and ALLOWED (may be NULL) are copied. */
void config_problem_add(struct config_problems *problems, unsigned line, const char *setting,
			struct str found, const char *message, const char *allowed);
/* Whether no more problems are kept. */
bool config_problems_are_full(const struct config_problems *problems);
/* Puts the problems in order of their lines, when all have been added, and then says of which file
 * each line is. */
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

/* In front of the line of the file and its name. */
#define CONFIG_LINES_MARK "#\f"
/* lines.c: where the lines of a text of config_read() are from, in ARENA, with views of TEXT;
 * NULL: nothing in it is included. */
const struct config_lines *config_lines_of(struct str text, struct arena *arena);
/* LINES may be NULL. */
struct config_place config_lines_find(const struct config_lines *lines, unsigned line);

struct config_tree_value {
	struct str text;
	unsigned line;
	struct config_tree_value *next;
};

struct config_tree_use { /* a setting that stands in the file */
	unsigned line;   /* 0: it does not */
	bool is_repeated;
	struct config_tree_value *first;
	struct config_tree_value *last;
	size_t count;
};

struct config_tree_section {
	enum config_section kind;
	const char *title; /* "" for the root */
	size_t number;     /* from 0, in order of the file */
	unsigned line;
	struct config_tree_use *uses; /* one for each row of the section */
	struct config_tree_section *next;
};

struct config_tree {
	struct arena *arena;
	struct config_tree_section root;
	struct config_tree_section *first; /* sections in order of the file */
	struct config_tree_section *last;
};

/* parse.c: reads TEXT into TREE, which is to be cleared either way. False after an error of syntax:
 * reported, and what follows it is not read. Names that do not exist, settings that are repeated
 * and empty lists are reported, too, and the rest is read. */
bool config_tree_parse(struct config_tree *tree, struct str text, struct config_problems *problems);

/* tree.c */
void config_tree_init(struct config_tree *tree);
/* A section after the others; TITLE is of TREE's arena or a constant. */
struct config_tree_section *config_tree_add(struct config_tree *tree, enum config_section kind,
					    const char *title, unsigned line);
/* One more value of a setting; TEXT is of TREE's arena. */
void config_tree_append(struct config_tree *tree, struct config_tree_use *use, const char *text,
			unsigned line);

/* Builds TREE of TEXT, a configuration that config_parse() has accepted. */
void config_tree_read(struct config_tree *tree, struct str text);
void config_tree_clear(struct config_tree *tree);

struct config_tree_found {
	const struct config_tree_section *section;
	const struct config_setting *row;
};
/* The setting called NAME as problems call it; false: its section does not stand in the text, or
 * has no such setting (then *OUT has the section, if it does). */
bool config_tree_find(const struct config_tree *tree, const char *name,
		      struct config_tree_found *out);

/* How often and where SETTING, which exists, stands in SECTION. */
const struct config_tree_use *config_tree_use(const struct config_tree_section *section,
					      const char *setting);

/* Fills CONFIG, whose arena is set, from TREE. */
void config_build(struct config *config, const struct config_tree *tree,
		  struct config_problems *problems);
/* Reads the settings of one section into the struct at BASE. */
void config_fill_section(struct config *config, const struct config_tree_section *section,
			 void *base, struct config_problems *problems);
void config_check(struct config *config, const struct config_tree *tree,
		  struct config_problems *problems);

/* print.c: as they stand in a file. */
void config_print_quoted(struct str text, struct buffer *out);
void config_print_value(const struct config_setting *setting, const void *place,
			struct buffer *out);

/* check_kind.c: the settings of a section by the kind of which the struct at BASE is. */
void config_check_kinds(const void *base, const struct config_tree_section *section,
			struct config_problems *problems);
/* check_program.c: what SERVICE, of kind pipe, runs. */
void config_check_program(const struct config *config, const struct config_service *service,
			  const struct config_tree_section *section,
			  struct config_problems *problems);
/* check_directory.c */
void config_check_directory(const struct config *config, const struct config_tree *tree,
			    struct config_problems *problems);
/* The first section directory, which counts, or NULL. */
const struct config_tree_section *config_directory_section(const struct config_tree *tree);

#endif
