// SPDX-License-Identifier: ISC
/* manager/wait/trigger_internal.h - between trigger.c and trigger_file.c. */
#ifndef MANAGER_WAIT_TRIGGER_INTERNAL_H
#define MANAGER_WAIT_TRIGGER_INTERNAL_H

#include "base/heap.h"
#include "base/table.h"
#include "manager/wait/trigger.h"

enum trigger_state { TRIGGER_SET, TRIGGER_PROBED, TRIGGER_RELEASED };

struct trigger {
	enum trigger_state state;
	char *name;
	char *until; /* NULL: its file was not asked */
	struct waiters waiters;
	const void *prober;              /* while PROBED */
	int64_t delay_us;                /* between the last attempt and the next */
	struct heap_node probe_at;       /* while SET, of a server: monotonic */
	bool is_seen;                    /* by the reading under way */
	bool is_wanted;                  /* somebody asked for it since the last probe */
	struct trigger *next, *previous; /* while RELEASED */
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
	struct trigger *by_name;   /* all */
	struct trigger *by_prober; /* those that are PROBED */
	struct trigger *released;  /* ring */
	struct heap probes;
	struct os_timer *timer;
	size_t of_programs;
	int64_t searched_us; /* when the last search began; monotonic */
	bool is_stopping;
};

/* The one called NAME is set in memory; its file is there. */
struct trigger *trigger_add(struct triggers *triggers, struct str name);
/* It is released; its file is gone. */
void trigger_drop(struct triggers *triggers, struct trigger *trigger);
/* Whoever is awake and wants one asks for it; at most once a second. */
void trigger_search(struct triggers *triggers);

/* A program has named it. */
bool trigger_is_of_program(struct str name);
/* TEXT with a NUL after it, for the caller to free. */
char *trigger_copy(struct str text);

#endif
