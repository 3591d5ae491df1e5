// SPDX-License-Identifier: ISC
/*
 * tests/unit/filing/filing_world.h - a database and mailboxes in memory, for workers that take
 * turns and fail as they are told. The only time is the number of calls, so that clocks can differ.
 */
#ifndef TESTS_UNIT_FILING_WORLD_H
#define TESTS_UNIT_FILING_WORLD_H

#include "base/timestamp.h"
#include "filing/filing.h"

enum {
	WORLD_WORKERS = 3,
	WORLD_ROWS = 4,
	WORLD_COPIES = 24,
	WORLD_CHANGES = 16, /* of a transaction */
	WORLD_LATE = 6,     /* calls until a late append takes effect */
};
#define WORLD_CALL_US    MINUTE_US
#define WORLD_APPEND_MAX ((WORLD_LATE + 1) * WORLD_CALL_US)

enum world_call {
	WORLD_BEGIN,
	WORLD_LOCK,
	WORLD_PUT,
	WORLD_OPEN,
	WORLD_LOOK,
	WORLD_FILED,
	WORLD_END,
	WORLD_SETTLE,
	WORLD_CHECK,
	WORLD_COMMIT,
	WORLD_FIND,
	WORLD_REMOVE,
	WORLD_APPEND,
	WORLD_CALLS,
};

/* Of one call; those after LOST are of some calls only. */
enum world_fault {
	WORLD_FINE,
	WORLD_DEATH,   /* the process died before it: nothing it does has an effect any more */
	WORLD_LOST,    /* the connection was lost before it, and the database has noticed */
	WORLD_REFUSED, /* it fails, and has no effect: commit (a deadlock), append, find, remove */
	WORLD_UNKNOWN, /* commit and append: it takes effect, and nobody says so */
	WORLD_LATE_ON, /* append: likewise, but some calls later */
	WORLD_OVER, /* commit: an asynchronous standby takes over, without it and the one before */
	WORLD_FAULTS,
};

struct world_row {
	char id[40], user[40]; /* "": there is none */
	enum record_state state;
	char copy[MAILSTORE_COPY_SIZE];
	struct {
		struct record_token token;
		int64_t began_us;
	} attempts[WORLD_CHANGES];
	size_t attempt_count;
};

struct world_database {
	struct world_row rows[WORLD_ROWS];
};

struct world_change {
	enum world_call call;
	size_t row;
	struct record_token token;
	int64_t time_us;
	struct world_row text; /* of an open: what the row is for; of a filed: its copy */
};

struct world_worker {
	struct record record;   /* the first member */
	struct mailstore store; /* likewise, behind it */
	struct world *world;
	unsigned number;
	int64_t clock_us; /* how far its clock is ahead */
	bool is_dead, is_begun;
	struct world_change changes[WORLD_CHANGES];
	size_t change_count;
};

struct world_copy {
	char name[24], id[40], user[40];
	bool is_there;
	uint64_t due; /* the call at which it appears; 0: it has */
};

struct world {
	/* What becomes of the call that WORKER makes; then others may have a turn, and then it is
	 * made. */
	enum world_fault (*judge)(void *context, unsigned worker, enum world_call call);
	void (*turn)(void *context); /* or NULL */
	void *context;
	struct world_database database, before[2]; /* the last commit, and the one before */
	struct world_worker *locks[WORLD_ROWS];    /* who has the lock of each row's message */
	uint64_t lock_keys[WORLD_ROWS];
	char ids[WORLD_ROWS][40]; /* of messages: their numbers begin with 1 */
	struct world_copy copies[WORLD_COPIES];
	size_t copy_count;
	int64_t append_max_us; /* of the store */
	uint64_t calls;
	uint64_t made[WORLD_CALLS]; /* how often each was made */
	struct world_worker workers[WORLD_WORKERS];
};

/* All clocks agree, and nothing is in it: who judges, and the store, are as they were. */
void world_begin(struct world *world);
/* The worker's process begins anew. */
void world_revive(struct world_worker *worker);
/* How many copies USER has of the message ID: also of those that are on their way. */
size_t world_count(const struct world *world, const char *id, const char *user);

/* For the two halves. */
enum world_fault world_step(struct world_worker *worker, enum world_call call);
void world_set_store(struct world_worker *worker);

#endif
