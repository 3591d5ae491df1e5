// SPDX-License-Identifier: ISC
/*
 * queue/update_internal.h - between the parts of the updates.
 */
#ifndef QUEUE_UPDATE_INTERNAL_H
#define QUEUE_UPDATE_INTERNAL_H

#include "queue/update.h"

/* Appends RECORDS to a file opened for it, in a line of their own. *STANDS_OUT, also after an
 * error: whether something of them stands in it. */
MUST_CHECK int update_append(const struct queue_store *store, int file, struct str records,
			     bool *stands_out);

/* Before a failure is noted for a message: -ESTALE when the update means another. */
MUST_CHECK int update_check_identity(struct queue_store *store, const struct queue_update *update);

/* Makes the control file of a message that becomes S5, in intd/: the file, open, or
 * -errno. */
MUST_CHECK int update_make_control(struct queue_store *store, const struct queue_update *update);

/* Makes the control file of a message at S5 anew, in intd/: the same. */
MUST_CHECK int update_make_whole(struct queue_store *store, const struct queue_update *update);
/* Takes it away again, if it did not get further. */
void update_drop_whole(struct queue_store *store, const struct queue_update *update);

/* Appends to that of a message at S5: the file, open, or -errno; -ESTALE as above. Sets
 * update->is_in_doubt when something of it stands there, also without an error. */
MUST_CHECK int update_append_control(struct queue_store *store, struct queue_update *update);

#endif
