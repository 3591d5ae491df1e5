// SPDX-License-Identifier: ISC
/*
 * program/reload_record.h - RUN/stagepost.reload, in which the supervisor tells
 * what became of the reloads that it was asked for by a signal.
 *
 * Each has a number, from 1. Who asks reads which have begun, and after his signal
 * waits until one that began later has ended: it has read the file that he wants
 * to be read. The file is replaced whole, so nobody reads half of it.
 */
#ifndef PROGRAM_RELOAD_RECORD_H
#define PROGRAM_RELOAD_RECORD_H

#include "base/attributes.h"
#include "base/buffer.h"
#include <stdint.h>
#include <sys/types.h>

struct reload_record {
	uint64_t begun; /* the number of the last one that began; 0: none did */
	uint64_t ended;
	bool is_refused;      /* the last one that ended; the old configuration is in force */
	struct buffer reason; /* why, a line for each; clear it */
};

#define RELOAD_RECORD_NAME "stagepost.reload"

void reload_record_clear(struct reload_record *record);
/* Replaces what is in the directory RUN; -errno. */
MUST_CHECK int reload_record_write(const char *run, const struct reload_record *record);
/* Appends to RECORD->reason. A record of somebody else's than OWNER is not believed: -EPERM. None
 * there: 0, and all zero. -EBADMSG, or another -errno. */
MUST_CHECK int reload_record_read(const char *run, uid_t owner, struct reload_record *record);

#endif
