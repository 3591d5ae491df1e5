// SPDX-License-Identifier: ISC
/*
 * program/talk/reload_record.h - RUN/stagepost.reload, in which the supervisor records the results
 * of reloads that were requested by a signal.
 *
 * Reloads are numbered from 1. A command that requests one first reads how many have begun, and
 * after its signal waits for the end of one that began later, which has read the present file. The
 * file is replaced atomically.
 */
#ifndef PROGRAM_TALK_RELOAD_RECORD_H
#define PROGRAM_TALK_RELOAD_RECORD_H

#include "base/attributes.h"
#include "base/buffer.h"
#include <stdint.h>
#include <sys/types.h>

struct reload_record {
	uint64_t begun; /* the number of the last one that began; 0: none */
	uint64_t ended;
	bool is_refused;      /* the last one that ended; the old configuration stays in force */
	struct buffer reason; /* why, a line for each problem; the caller clears it */
};

#define RELOAD_RECORD_NAME "stagepost.reload"

void reload_record_clear(struct reload_record *record);
/* Replaces the record in the directory RUN; -errno. */
MUST_CHECK int reload_record_write(const char *run, const struct reload_record *record);
/* Appends to RECORD->reason. -EPERM: the record does not belong to OWNER, and is not trusted. If
 * there is none: 0, and all zero. -EBADMSG, or another -errno. */
MUST_CHECK int reload_record_read(const char *run, uid_t owner, struct reload_record *record);

#endif
