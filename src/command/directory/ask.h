// SPDX-License-Identifier: ISC
/* command/directory/ask.h - one question to the directory, and the end of the command. */
#ifndef COMMAND_DIRECTORY_ASK_H
#define COMMAND_DIRECTORY_ASK_H

#include "command/directory/directory.h"

#define DIRECTORY_TABLE_WORDS "domain|address|member|user|server|node"

struct directory_table_options {
	struct command_options common;
	const char *table;
	bool replace;
	bool yes;            /* do not ask before something is removed */
	const char *timeout; /* of "node drain" */
};

#define DIRECTORY_TABLE_OPTION(words, help)                                             \
	{                                                                               \
		"--table", words, help, offsetof(struct directory_table_options, table) \
	}

/* Fields of a record, each "NAME VALUE". */
struct directory_record_fields {
	struct arena *arena; /* of those that the directory has; NULL for others */
	struct str fields[DIRECTORY_FIELDS_MAX];
	size_t count;
	uint64_t version; /* of the data when the directory had them */
};

/* One question and its answer. */
struct directory_asking {
	const struct command *command;
	struct directory_table_options options;
	struct command_directory directory;
	struct directory_question question;
	const char *key;
	int status;
};

/* Parses the command line; false: end with the status. */
MUST_CHECK bool directory_asking_parse(struct directory_asking *asking, int argc, char **argv);
/* Connects; ANSWERED is for directory_asking_end(). False: likewise. */
MUST_CHECK bool directory_asking_begin(struct directory_asking *asking,
				       directory_answered *answered);
/* Waits for the answer to the question, says what failed, and returns the status. */
int directory_asking_end(struct directory_asking *asking);
/* Of a question that changes: takes the status from its answer. */
void directory_asking_changed(void *asking, const struct directory_answer_text *answer);
void directory_asking_say_none(const struct directory_asking *asking);
/* Of a list: names a malformed record, for the status COMMAND_FAILED. */
void directory_asking_malformed(void *asking, enum directory_table table,
				const struct directory_malformed *malformed);
/* The key, and the fields that the command line has after it. False: end with the status. */
MUST_CHECK bool directory_asking_parse_record(struct directory_asking *asking, int argc,
					      char **argv, struct directory_record_fields *fields);
/* Between begin and end, instead of end: changes the record of the key. A field of CHANGES takes
 * the place of all that have its name; without a value it removes them. Others stay, also those
 * that others change meanwhile. MAY_MAKE: a record that does not exist is made; else it is an
 * error. Returns the status. */
int directory_asking_merge(struct directory_asking *asking,
			   const struct directory_record_fields *changes, bool may_make);

#endif
