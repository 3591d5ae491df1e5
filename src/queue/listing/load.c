// SPDX-License-Identifier: ISC
/* Reads one message's files while the system may change them. */
#include "queue/listing/internal.h"
#include "queue/update.h"
#include <errno.h>

int listing_load(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
		 struct queue_control **control_out, unsigned *line_out)
{
	struct queue_control *control = NULL;
	int result = queue_update_load(store, stage, number, &control, line_out);

	if (result < 0)
		return result;
	/* at S5 the file of a control file is never reused */
	result = stage != NULL ? queue_update_is_still(store, stage, control->envelope->id) : 1;
	if (result == 1) {
		*control_out = control;
		return 0;
	}
	queue_control_free(control);
	return result == 0 ? -ENOENT : result;
}
