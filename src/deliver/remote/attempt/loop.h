// SPDX-License-Identifier: ISC
/*
 * deliver/remote/attempt/loop.h - mail that comes back, and the mark by which it will be known
 * (header/loop.h).
 *
 * Only what an address of ours leads to another host is marked: then the job is for that address
 * alone (manager/deliver.c). What is passed on for its own recipient goes as it came.
 */
#ifndef DELIVER_REMOTE_ATTEMPT_LOOP_H
#define DELIVER_REMOTE_ATTEMPT_LOOP_H

#include "base/hash.h"
#include "deliver/helper.h"

/* Of JOB, for another host: it fails if its message was led on to there before; otherwise it gets
 * Delivered-To and mark. CHUNK: REMOTE_CHUNK_SIZE bytes of working memory. False: there is nobody
 * left. */
MUST_CHECK bool remote_loop_lead_on(struct hash_key key, struct deliver_helper_job *job,
				    char *chunk);
/* Of JOB, for a server where the mailboxes are: those who had the message before fail. */
MUST_CHECK bool remote_loop_deliver(struct hash_key key, struct deliver_helper_job *job,
				    char *chunk);

#endif
