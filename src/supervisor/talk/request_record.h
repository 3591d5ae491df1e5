// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/request_record.h - RUN/stagepost.reload and RUN/stagepost.upgrade, in which the
 * supervisor records what became of requests that it got by a signal, one file for each kind.
 *
 * The requests of a kind are numbered from 1. A command that makes one first reads how many have
 * begun, and after its signal waits for the end of one that began later, which has read the present
 * files. The record is replaced atomically.
 */
#ifndef SUPERVISOR_TALK_REQUEST_RECORD_H
#define SUPERVISOR_TALK_REQUEST_RECORD_H

#include "base/attributes.h"
#include "base/buffer.h"
#include <stdint.h>
#include <sys/types.h>

struct request_record {
	uint64_t begun; /* the number of the last one that began; 0: none */
	uint64_t ended;
	bool is_refused;      /* the last one that ended: what was before stays in force */
	struct buffer reason; /* why, a line for each problem; the caller clears it */
};

/* The kinds, by the names of their files. */
#define REQUEST_RELOAD  "stagepost.reload"
#define REQUEST_UPGRADE "stagepost.upgrade"

void request_record_clear(struct request_record *record);
/* Replaces the record of KIND in the directory RUN; -errno. */
MUST_CHECK int request_record_write(const char *run, const char *kind,
				    const struct request_record *record);
/* Whether a supervisor has written one. */
bool request_record_is_there(const char *run, const char *kind);
/* Appends to RECORD->reason. -EPERM: the record does not belong to OWNER, and is not trusted. If
 * there is none: 0, and all zero. -EBADMSG, or another -errno. */
MUST_CHECK int request_record_read(const char *run, const char *kind, uid_t owner,
				   struct request_record *record);

#endif
