// SPDX-License-Identifier: ISC
/*
 * queue/repair/internal.h - what the files of the repair share.
 */
#ifndef QUEUE_REPAIR_INTERNAL_H
#define QUEUE_REPAIR_INTERNAL_H

#include "queue/control/control.h"
#include "queue/internal.h"
#include "queue/repair.h"

enum {
	REPAIR_GROUP = 256,             /* messages between two syncs */
	REPAIR_INFO = MAIL_STAGE_COUNT, /* the place after the stages */
	REPAIR_PATH_SIZE = 512,
};

struct repair_move {
	uint64_t number; /* the true number */
	uint64_t old;
	unsigned place; /* a stage, or REPAIR_INFO */
};

struct repair {
	struct queue_store *store;
	const struct queue_repair *options;
	char (*services)[QUEUE_SERVICE_MAX + 1]; /* those with a directory, also of old
						  * configurations */
	size_t service_count;
	struct repair_move group[REPAIR_GROUP];
	size_t group_count;
	unsigned place; /* the one being walked */
	uint64_t seen;
};

/* repair.c: sets services, to be freed in any case. */
MUST_CHECK int repair_learn_services(struct repair *repair);
/* message.c: everything on the filesystem becomes durable. */
MUST_CHECK int repair_barrier(struct repair *repair);
/* The control file's name in the queue, and in repair/. */
void repair_control_path(const struct repair *repair, unsigned place, uint64_t number,
			 char path[QUEUE_PATH_SIZE]);
/* Its data file's name in the queue. */
void repair_data_path(const struct repair *repair, unsigned place, uint64_t number,
		      char path[QUEUE_PATH_SIZE]);
void repair_entry_path(const struct repair_move *move, char path[QUEUE_PATH_SIZE]);
/* Where NUMBER's control file is: 0; -ENOENT. */
MUST_CHECK int repair_find(const struct repair *repair, uint64_t number, unsigned *place_out);
/* Reads and checks it against PLACE and the number it must have. -EBADMSG: damaged. */
MUST_CHECK int repair_load(const struct repair *repair, unsigned place, uint64_t number,
			   struct buffer *text, struct queue_control **control_out);
/* A message is in the queue with its true NUMBER: "kept" of struct queue_repair. */
MUST_CHECK int repair_tell_kept(const struct repair *repair, uint64_t old, uint64_t number);
/* aside.c: creates a directory of the queue, durably; no error when it exists. */
MUST_CHECK int repair_make_directory(struct repair *repair, const char *name);
/* Moves PATH to damaged/; no error when it is gone. */
MUST_CHECK int repair_set_aside(struct repair *repair, const char *path, const char *why);
/* The same for NUMBER's name in PLACE. */
MUST_CHECK int repair_set_place_aside(struct repair *repair, enum queue_folder folder,
				      const char *name, uint64_t number, const char *why);
/* The same for every name of NUMBER in the queue except its data file in mess/. */
MUST_CHECK int repair_set_names_aside(struct repair *repair, uint64_t number, const char *why);
/* Removes the local and remote names of NUMBER. */
MUST_CHECK int repair_drop_sides(const struct repair *repair, uint64_t number);

struct os_file_info;
/* package.c: the message's name in handed/, if it has one, leads to its data file, which is INFO.
 */
MUST_CHECK int repair_link_package(const struct repair *repair,
				   const struct mail_envelope *envelope, unsigned place,
				   const struct os_file_info *info);

/* out.c: steps 1 to 3 for the group, which is then empty. */
MUST_CHECK int repair_out(struct repair *repair);
/* Resumes the moves in repair/ that were interrupted before step 3 was done. */
MUST_CHECK int repair_resume_out(struct repair *repair);
/* in.c: steps 4 to 6 for all in repair/. */
MUST_CHECK int repair_in(struct repair *repair);
/* Calls EACH with every control file in repair/, STRAY with other names. */
MUST_CHECK int repair_each_entry(struct repair *repair,
				 int (*each)(void *context, const struct repair_move *move),
				 int (*stray)(void *context, const char *name), void *context);

#endif
