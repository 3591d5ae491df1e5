// SPDX-License-Identifier: ISC
/* manager/wait/trigger/internal.h - what trigger.c and file.c share. */
#ifndef MANAGER_WAIT_TRIGGER_INTERNAL_H
#define MANAGER_WAIT_TRIGGER_INTERNAL_H

#include "base/heap.h"
#include "base/table.h"
#include "manager/wait/trigger/trigger.h"

enum trigger_state { TRIGGER_SET, TRIGGER_PROBED, TRIGGER_RELEASED };

struct trigger {
	enum trigger_state state;
	char *name;
	char *until; /* NULL: its file has not been read */
	struct waiters waiters;
	const void *prober;              /* while PROBED */
	int64_t delay_us;                /* between the last attempt and the next */
	struct heap_node probe_at;       /* while SET, of a server: monotonic */
	bool is_seen;                    /* by the current reading of the directory */
	bool is_wanted;                  /* somebody asked for it since the last probe */
	size_t turn_count;               /* of a class of hosts */
	uint64_t *domains;               /* hashes of those whose mail waits for a server, or has */
	unsigned domain_count;           /* TRIGGER_DOMAINS_MAX: of any domain */
	struct trigger *next, *previous; /* while RELEASED; of a class of hosts, always */
	UT_hash_handle hh;               /* by name */
	UT_hash_handle by_prober;        /* while PROBED */
};

struct triggers {
	struct os_loop *loop;
	struct queue_store *store;
	struct sleepers *sleepers;
	int64_t probe_delay_us;
	const struct trigger_handler *handler;
	void *context;
	struct trigger *by_name;    /* all */
	struct trigger *by_prober;  /* the PROBED ones */
	struct trigger *released;   /* ring */
	struct trigger *of_classes; /* those that are set */
	struct turn *turns;         /* by who has them */
	struct heap probes;
	struct os_timer *timer;
	size_t of_programs;
	int64_t searched_us; /* when the last search began; monotonic */
	bool is_read;        /* once at least: what was there when this process began is known */
	bool is_stopping;
};

/* Sets the trigger NAME in memory; its file exists. */
struct trigger *trigger_add(struct triggers *triggers, struct str name);
/* Releases it; its file is gone. */
void trigger_drop(struct triggers *triggers, struct trigger *trigger);
/* Has every message that is awake ask for its triggers; at most once a second. */
void trigger_search(struct triggers *triggers);

/* WHO has a turn there; it has ended, or all (trigger NULL: everywhere) have. */
void trigger_begin_turn(struct triggers *triggers, struct trigger *trigger, const void *who);
void trigger_end_turn(struct triggers *triggers, const void *who);
void trigger_end_turns(struct triggers *triggers, const struct trigger *trigger);

/* Whether a program has named it. */
bool trigger_is_of_program(struct str name);
/* TEXT with a NUL after it; freed by the caller. */
char *trigger_copy(struct str text);

#endif
