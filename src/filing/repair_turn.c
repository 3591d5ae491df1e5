// SPDX-License-Identifier: ISC
/* The turn of a message in a repair: a transaction with its lock. */
#include "filing/internal_repair.h"
#include "os/clock.h"
#include <errno.h>

enum { RETRY_MS = 50 }; /* for a lock that another one has */

int repair_begin(const struct filing_repair *repair, struct str id)
{
	int64_t until_us = os_clock_monotonic_us() + repair->lock_us;
	struct lock_name name;
	int error;

	lock_name_make(id, &name);
	for (;;) {
		error = record_begin(repair->record);
		if (error == 0)
			error = record_lock(repair->record, &name);
		if (error == 0)
			return 0;
		record_rollback(repair->record);
		if (error != -EAGAIN || os_clock_monotonic_us() >= until_us)
			return error;
		os_clock_pause_ms(RETRY_MS);
	}
}

int repair_end(const struct filing_repair *repair, int error)
{
	if (error == 0 && repair->applies)
		error = record_commit(repair->record);
	if (error != 0 || !repair->applies)
		record_rollback(repair->record);
	return error;
}

void repair_tell(const struct repair_mailbox *mailbox, enum filing_repair_kind kind, struct str id,
		 const char *copy, const char *text, bool is_repaired)
{
	const struct filing_repair *repair = mailbox->repair;

	repair->found(repair->context, &(struct filing_repair_finding){
					       .kind = kind,
					       .mailbox = mailbox->mailbox,
					       .id = id,
					       .copy = copy,
					       .text = text,
					       .is_repaired = is_repaired,
				       });
}
