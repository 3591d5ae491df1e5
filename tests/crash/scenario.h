// SPDX-License-Identifier: ISC
/*
 * tests/crash/scenario.h - lives of messages, run once for each fault. Every
 * one goes on after an error as the daemons would.
 */
#ifndef TESTS_CRASH_SCENARIO_H
#define TESTS_CRASH_SCENARIO_H

#include "ledger.h"

struct scenario {
	const char *name;
	void (*run)(void);
	uint32_t spares;
	bool is_empty_disk; /* no queue yet */
	bool is_by_hand;    /* names are removed as a damaged disk would */
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* Set by the campaign: called when a promise has changed. */
extern void (*scenario_look)(void);

/* What comes after a power cut: recovery, then new messages. Runs while a
 * scenario is in a call. */
void scenario_aftermath(void);

/* A disk with a queue on it, all durable. */
struct disk *scenario_prepare(void);

#endif
