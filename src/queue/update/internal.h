// SPDX-License-Identifier: ISC
/*
 * queue/update/internal.h - what the files of the updates share.
 */
#ifndef QUEUE_UPDATE_INTERNAL_H
#define QUEUE_UPDATE_INTERNAL_H

#include "queue/update.h"

/* Appends RECORDS to an opened file, on a line of their own; *SIZE_OUT (may be NULL) is then its
 * size. *STANDS_OUT, also after an error: whether any part of them is in the file. */
MUST_CHECK int update_append(const struct queue_store *store, int file, struct str records,
			     bool *stands_out, uint64_t *size_out);

/* Before a failure is recorded for a message: -ESTALE when the update is for another message. */
MUST_CHECK int update_check_identity(struct queue_store *store, const struct queue_update *update);

/* Makes the control file of a message that goes to S5, in intd/: the open file, or -errno. */
MUST_CHECK int update_make_control(struct queue_store *store, struct queue_update *update);

/* The same with the complete control file of a message at S5. */
MUST_CHECK int update_make_whole(struct queue_store *store, struct queue_update *update);
/* Removes it again, if it was not renamed. */
void update_drop_whole(struct queue_store *store, const struct queue_update *update);

/* Appends to the control file of a message at S5: the open file, or -errno; -ESTALE as above.
 * Sets update->is_in_doubt when part of it is in the file, also without an error. */
MUST_CHECK int update_append_control(struct queue_store *store, struct queue_update *update);

#endif
