// SPDX-License-Identifier: ISC
/*
 * faults/shim.h - what a test and the processes it breaks share in memory.
 *
 * A file that the variable STAGEPOST_SHIM names is mapped when the shim is loaded, and
 * nothing is opened later. tests/e2e/support/shim.py writes the same structure: change both.
 */
#ifndef FAULTS_SHIM_H
#define FAULTS_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SHIM_ENTRIES = 65536, SHIM_NAME = 20, SHIM_STACK = 14 };

enum shim_mode {
	SHIM_OFF = 0,
	SHIM_RECORD = 1, /* calls are written down */
	SHIM_ARMED = 2,  /* one call fails */
};

/* Instead of an errno. */
enum shim_action {
	SHIM_SHORT = -1, /* the call is made, for half of the bytes, or one */
	SHIM_LIE = -2,   /* the call is not made, and says that it was */
};

/* A call, by the program that makes it, its name in the library, and what its
 * descriptor is: "file", "directory", "stream", "pair" (of streams), "packet", "datagram",
 * "pipe", "other"; "" where it takes none. */
struct shim_call {
	char program[SHIM_NAME];
	char name[SHIM_NAME];
	char kind[SHIM_NAME];
};

/* Whose call it was, what it returned, and by which functions it was made: their addresses, the
 * innermost first.
 */
struct shim_trace {
	int64_t process;
	int64_t result;
	uint64_t stack[SHIM_STACK];
};

struct shim {
	_Atomic uint32_t mode;
	_Atomic uint32_t recorded; /* calls, of which the first SHIM_ENTRIES are kept */
	_Atomic uint32_t seen;     /* calls like the one that is to fail */
	_Atomic uint32_t fired;    /* how many of them failed */
	uint32_t number;           /* which of them is to fail, from 1 */
	int32_t action;            /* an errno, or one of shim_action */
	_Atomic int64_t clock_us;  /* added to the time of day */
	_Atomic int64_t passed_us; /* added to every clock */
	_Atomic int32_t wait_ms;   /* nobody waits longer for an event; 0: as he wants */
	_Atomic uint32_t load;     /* load average in hundredths; 0: the true one */
	struct shim_call call;
	struct shim_call entries[SHIM_ENTRIES];
	uint32_t is_traced; /* calls are written down also while one is to fail, each with its trace
			     */
	struct shim_trace traces[SHIM_ENTRIES];
};

/* What is to become of this call: 0 (it is made), or an action. FILE is its
 * descriptor, or -1. Leaves errno alone. */
int shim_ask(const char *name, int file);
/* What the call that was asked about last returned. Leaves errno alone. */
void shim_returned(int64_t result);
/* From now on this process's calls are neither written down nor fail, or they are again. */
void shim_pause(bool is_paused);
/* Microseconds to be added to the time of day, or to the other clocks. */
int64_t shim_clock(bool is_time_of_day);
/* How long somebody waits who would wait for MILLISECONDS, or for ever (-1). */
int shim_wait(int milliseconds);
/* The load average, in hundredths; 0: the true one. */
unsigned shim_load(void);
/* The function of the next library. */
void *shim_next(const char *name);

#endif
