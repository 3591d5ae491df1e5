// SPDX-License-Identifier: ISC
/*
 * command/nodes/nodes.h - the picture of all nodes: what each says of itself, and in what they
 * differ.
 */
#ifndef COMMAND_NODES_NODES_H
#define COMMAND_NODES_NODES_H

#include "base/arena.h"
#include "command/command.h"

/* One node. Texts are in the picture's arena; empty: it does not say that. */
struct nodes_node {
	struct str name;
	struct str status; /* an object of JSON; empty: there is none */
	struct str reason; /* then: why */
	bool is_shown;     /* the command is about it */
	struct str release;
	struct str configuration; /* its version */
	struct str identity;      /* of the directory's data */
	struct str version;       /* of these */
	struct str state;
	struct str problem; /* why it does not know its queue */
	int64_t time_us;    /* its clock; 0: not said */
	int64_t asked_us;   /* ours, at that time */
};

struct nodes_picture {
	struct arena *arena;
	struct nodes_node *nodes;
	size_t count;
	struct str problem; /* why not all nodes were asked; empty: they were */
};

/* Reads ANSWERS (manager/link/answers.h), fetched at NOW_US, into *PICTURE_OUT, which the caller
 * clears. False: they are malformed. */
MUST_CHECK bool nodes_picture_read(struct str answers, int64_t now_us,
				   struct nodes_picture *picture_out);
void nodes_picture_clear(struct nodes_picture *picture);

/* The table for people, and what mail waits for; or an object of JSON a line. (print.c) */
void nodes_print_table(const struct nodes_picture *picture, int64_t now_us, struct buffer *out);
void nodes_print_json(const struct nodes_picture *picture, struct buffer *out);
/* In what the nodes differ that are to be alike: a sentence a line, or an object of JSON. All of
 * them count, also those that are not shown; a line is about one that is. (differ.c) */
void nodes_print_differences(const struct nodes_picture *picture, bool is_json, struct buffer *out);

/* Appends what all nodes know of the message ID to LINES, "NODE LINE" of a log each: asks by the
 * manager of the directory RUN. COMMAND_FAILED, after error messages: some do not say it. (lines.c)
 */
int nodes_lines_fetch(const struct command *command, const char *run, struct str id,
		      struct buffer *lines);

extern const struct command_option command_nodes_options[];
extern const struct command_exit command_nodes_exits[];
int command_nodes(const struct command *command, int argc, char **argv);

#endif
