// SPDX-License-Identifier: ISC
/*
 * queue/control/record.h - what the writer and the reader of control files share.
 */
#ifndef QUEUE_CONTROL_RECORD_H
#define QUEUE_CONTROL_RECORD_H

#include "queue/control/control.h"

/* No byte below 0x20, no 0x7f. */
bool queue_text_is_clean(struct str text);
/* The same, without spaces, not empty. */
bool queue_word_is_clean(struct str word);
/* The position of the '>' that ends the address at the start of TEXT, ignoring those in a quoted
 * string. -1: there is none. */
ptrdiff_t queue_address_end(struct str text);

/* Reading a line from left to right; each removes what it read from the start of *REST. A word;
 * a number from 1 to UINT32_MAX; "<ADDRESS>", then the end or a space; "NAME=VALUE"; the same or
 * "NAME" alone, whose value is then empty. */
bool record_word(struct str *rest, struct str *word_out);
bool record_number(struct str *rest, uint32_t *value_out);
bool record_address(struct str *rest, struct str *address_out);
bool record_parameter(struct str *rest, struct str *name_out, struct str *value_out);
bool record_option(struct str *rest, struct str *name_out, struct str *value_out);
/* The next line of *TEXT; false when there is none that ends with a newline. */
bool control_next_line(struct str *text, struct str *line_out);
/* Whether LINE was cut, and ended when that was seen (QUEUE_CONTROL_CANCEL). */
bool control_is_cut(struct str line);
/* "NAME: VALUE" or "NAME:" */
bool record_split(struct str line, struct str *name_out, struct str *value_out);

/* Writing: NAME and WORD, nothing when WORD is empty; BEFORE and a time, in seconds. */
void record_write_word(struct buffer *out, const char *name, struct str word);
void record_write_time(struct buffer *out, const char *before, int64_t time_us);
bool record_word_is_optional(struct str word);
/* A word, or empty, that cannot be mistaken for a "NAME=VALUE" before it. */
bool record_status_is_valid(struct str status);

/* A status and text that several outcomes share. */
struct control_said {
	uint32_t number;
	struct str trigger;
	struct str status;
	struct str text;
};

struct control_reader {
	struct queue_control *control;
	struct mail_envelope *envelope;
	uint32_t of_birth;   /* queue_checksum_of_birth() */
	bool is_queued;      /* at S4 */
	struct str records;  /* of format 2: what follows the head */
	unsigned unreadable; /* lines of these whose checksum is wrong */
	bool has_mark;       /* a synced record */
	uint64_t marked;     /* the bytes of RECORDS that a synced record calls durable */
	uint64_t mapped;     /* the bytes of RECORDS before the end of the map */
	uint64_t followed;   /* the bytes before the last record that an earlier writer synced */
	int64_t born_us;
	unsigned seen;                /* of the head's records */
	struct queue_delivery *block; /* owned; the map records read so far */
	size_t block_count;
	size_t block_capacity;
	size_t block_lost;                 /* lines among them whose checksum is wrong */
	size_t map_lost;                   /* deliveries of the map that cannot be read */
	uint32_t highest;                  /* number of a delivery in any record */
	struct queue_delivery **by_number; /* in the arena */
	struct control_said *said;         /* owned; ordered by number */
	size_t said_count;
	size_t said_capacity;
};

/* mend.c: puts deliveries of which nothing is known into the map, after its LOST records could not
 * be read (SIZE_MAX: an unknown number). Numbers above HIGHEST were never used. */
void control_mend_map(struct queue_control *control, size_t lost, uint32_t highest);
/* progress.c: takes what was read of the map for all that can be read, though its end is lost. */
void control_end_map(struct control_reader *reader);
/* progress.c: one line after "end:". */
void control_read_progress(struct control_reader *reader, struct str line);
/* synced.c: LINE of the records, without its checksum, which was right, before it is read: what it
 * says of the bytes before it. */
void control_note_durable(struct control_reader *reader, struct str line);
/* synced.c: all lines have been read; which of those that cannot be read are damage. NUMBER: that
 * of the first line of the records in the file. */
void control_judge_unreadable(struct control_reader *reader, unsigned number);

#endif
