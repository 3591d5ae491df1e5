// SPDX-License-Identifier: ISC
/*
 * queue/cleaner/internal.h - what the files of the cleaner share.
 */
#ifndef QUEUE_CLEANER_INTERNAL_H
#define QUEUE_CLEANER_INTERNAL_H

#include "queue/cleaner.h"
#include "queue/control/control.h"
#include "queue/internal.h"
#include "queue/number_table.h"

struct os_file_list;

struct queue_cleaner {
	struct queue_store *store;
	const char *const *services;
	size_t service_count;
	const struct queue_cleaner_handler *handler;
	void *context;
	uint32_t x;
	size_t phase;
	struct os_file_list *list; /* of the current phase, or NULL */
	size_t judged;             /* entries of the table */
	struct number_table table;
	bool has_failed;
	bool is_finished;
	int error; /* of the current step */
};

/* What is left of a message that is neither at S4 nor at S5. */
struct remains {
	uint64_t number;
	bool has_data; /* in mess/, under its true number */
	uint64_t data_size;
	struct buffer text;             /* the envelope after the data; owned */
	struct queue_control *envelope; /* the same, parsed, if it is whole and of this number or of
					 * the one before a repair; owned, or NULL */
	struct queue_control *control;  /* the first of its control files that is whole and belongs
					 * to  the data; owned, or NULL */
	size_t copy;                    /* whose name is that of cleaner_folder() */
	uint64_t copy_inode;
	bool has_bounce;  /* failures that were not reported */
	bool has_names;   /* any but that in mess/ */
	bool was_waiting; /* one that a message has at S5, and not before */
	bool has_unread;  /* a control file that cannot be read, and was not under construction; or
			   * that of another number */
	bool is_marked;   /* as ended */
	bool is_of_earlier; /* the data were put back from an earlier message; ENVELOPE is NULL */
};

/* remains.c: the folders of all names but that in mess/, those of control files first, in the order
 * in which one is trusted; and how many there are. */
size_t cleaner_folder_count(const struct queue_cleaner *cleaner);
enum queue_folder cleaner_folder(const struct queue_cleaner *cleaner, size_t i,
				 const char **name_out);
/* Looks at all that is left of NUMBER. 1: it is a message at S4 or S5, or its data have another
 * number (the queue was copied); 0: *REMAINS_OUT, to be cleared; -errno. */
MUST_CHECK int cleaner_look(const struct queue_cleaner *cleaner, uint64_t number,
			    struct remains *remains_out);
void cleaner_clear(struct remains *remains);

/* rebuild.c: makes the name in info/ again, from the control file or from the envelope of the data,
 * whichever REMAINS has. With that name it is a message at S5, of which somebody must be told even
 * if cleaner_sync_info() fails then. */
MUST_CHECK int cleaner_rebuild(const struct queue_cleaner *cleaner, const struct remains *remains);

/* Makes NUMBER's name in info/ a control file with TEXT, which is durable; the name is so after
 * cleaner_sync_info(). */
MUST_CHECK int cleaner_write_control(struct queue_store *store, uint64_t number, struct str text);
MUST_CHECK int cleaner_sync_info(const struct queue_store *store, uint64_t number);
/* Appends a map by which all recipients of ENVELOPE, which gets them in its arena, are to be mapped
 * again, because of WHY. */
MUST_CHECK int cleaner_map_later(struct buffer *text, struct mail_envelope *envelope,
				 const char *why);

/* report.c: queues a message without data, in which all that was open in REMAINS->control has
 * failed. *NUMBER_OUT is set as soon as it is at S5, also if its name may not be durable (-errno).
 */
MUST_CHECK int cleaner_report(const struct queue_cleaner *cleaner, const struct remains *remains,
			      uint64_t *number_out);

/* The same without data, whose checksum it keeps: all its recipients are to be mapped, and nothing
 * can be delivered to them. */
MUST_CHECK int cleaner_stand_in(struct queue_store *store, const struct queue_control *control,
				uint64_t *number_out);

/* move.c: moves all names to the directory ASIDE; PATH_OUT is what tells most. */
MUST_CHECK int cleaner_move(const struct queue_cleaner *cleaner, const struct remains *remains,
			    const char *aside, char path_out[QUEUE_ASIDE_PATH_SIZE]);
/* Removes NUMBER's name in FOLDER, durably; no error when it is gone. */
MUST_CHECK int cleaner_drop(const struct queue_cleaner *cleaner, enum queue_folder folder,
			    const char *name, uint64_t number);

/* judge.c: looks at NUMBER, whose names do not match, and removes, rebuilds or moves them. */
MUST_CHECK int cleaner_judge(const struct queue_cleaner *cleaner, uint64_t number);

#endif
