// SPDX-License-Identifier: ISC
/*
 * world/changes.h - what a record of the directory may mean at a time, after changes of which some
 * failed and some were not answered.
 *
 * A meaning is a small number that its owner defines; CHANGES_ABSENT is that of a record that
 * nobody has made. A change that was confirmed is true from then on, one whose command failed may
 * be. One that nobody answered may be made late, after others that were confirmed meanwhile.
 */
#ifndef WORLD_CHANGES_H
#define WORLD_CHANGES_H

#include "kernel.h"

enum { CHANGES_ABSENT = 0 };

/* Of one record; all zero: nobody has made it. */
struct changes {
	struct change *newest;
};

/* How a change is made: by a command of the product on any node, or in the database itself. */
struct change_order {
	const char *name; /* of the record, for the log */
	struct machine *machine;
	bool is_sql;
	const char *const *arguments; /* of "stagepost", or of "sql"; they end with NULL */
};

/* Makes the record mean MEANING, by ORDER, of which nothing is used afterwards. DONE comes when
 * its command has ended: whether it is confirmed. One change at a time. */
void changes_make(struct changes *changes, unsigned meaning, const struct change_order *order,
		  void (*done)(bool is_good));
/* The newest one failed, and with which meaning: somebody should try it again. */
bool changes_have_failed(const struct changes *changes, unsigned *meaning_out);
/* Whether the record may have had one of MEANINGS, a bit each, for somebody who asked for it at
 * SINCE_US or later. */
bool changes_may_mean(const struct changes *changes, unsigned meanings, int64_t since_us);
/* The record has MEANING now, as has been confirmed in another way. */
void changes_note(struct changes *changes, unsigned meaning);
void changes_clear(struct changes *changes);

/* Nothing was done to a machine so far. */
void changes_begin(void);
/* Something was done to a machine: for a while changes may be known late. */
void changes_excuse(void);
/* So late they are known then, not for three minutes. */
void changes_are_late_by(int64_t us);
/* Whether who asks at SINCE_US knows what was confirmed at CONFIRMED_US. */
bool changes_are_known(int64_t confirmed_us, int64_t since_us);

#endif
