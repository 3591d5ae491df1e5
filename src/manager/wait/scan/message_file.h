// SPDX-License-Identifier: ISC
/*
 * manager/wait/scan/message_file.h - looks at a message's own files: a name in a directory's list
 * may be gone by now.
 *
 * A file that cannot be examined (that is logged) is assumed to exist and to be due: whoever reads
 * it finds out.
 */
#ifndef MANAGER_WAIT_SCAN_MESSAGE_FILE_H
#define MANAGER_WAIT_SCAN_MESSAGE_FILE_H

#include "queue/store.h"
#include "queue/walk.h"

/* Whether todo/STAGE has the message; any stage. */
bool message_file_is_at(struct queue_store *store, enum mail_stage stage, uint64_t number);
bool message_file_is_in_todo(struct queue_store *store, uint64_t number);
/* The time in info/ at which the message is due, and when that was noted. WALK, if not NULL, is at
 * its name. False: no such file. */
bool message_file_due(struct queue_store *store, const struct queue_walk *walk, uint64_t number,
		      int64_t *due_us_out, int64_t *noted_us_out);

#endif
