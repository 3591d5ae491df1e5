// SPDX-License-Identifier: ISC
/*
 * world/judge.h - what the judges of a world object to. Each has a word in the sums and in the log.
 */
#ifndef WORLD_JUDGE_H
#define WORLD_JUDGE_H

#include <stdint.h>

enum judge {
	JUDGE_STATES,   /* states.h */
	JUDGE_WAITING,  /* accounts.h */
	JUDGE_ATTEMPTS, /* waits.h */
	JUDGE_TURNS,    /* turns.h */
	JUDGE_GROWTH,   /* growth.h */
	JUDGE_LOG,      /* accounts.h */
	JUDGE_COMMANDS, /* listings.h */
	JUDGE_REPLIES,  /* replies.h */
	JUDGE_RECORD,   /* recorded.h */
	JUDGE_DAMAGE,   /* damages.h */
	JUDGE_COUNT
};

/* Nobody has objected yet. */
void judge_begin(void);
__attribute__((format(printf, 2, 3))) void judge_object(enum judge judge, const char *format, ...);
/* Objections of JUDGE. */
uint64_t judge_count(enum judge judge);
uint64_t judge_count_all(void);
/* Prints "; objections: WORD COUNT, ..." of those that have any. */
void judge_print(void);

#endif
