// SPDX-License-Identifier: ISC
/* command/directory/ask.h - one question to the directory, and the end of the command. */
#ifndef COMMAND_DIRECTORY_ASK_H
#define COMMAND_DIRECTORY_ASK_H

#include "command/directory/directory.h"

#define DIRECTORY_TABLE_WORDS "domain|address|member|user|server"

struct directory_table_options {
	struct command_options common;
	const char *table;
	bool replace;
};

#define DIRECTORY_TABLE_OPTION(words, help)                                             \
	{                                                                               \
		"--table", words, help, offsetof(struct directory_table_options, table) \
	}

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

#endif
