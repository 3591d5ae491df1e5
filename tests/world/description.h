// SPDX-License-Identifier: ISC
/*
 * world/description.h - open descriptions, and the tables of descriptors that lead to them.
 *
 * A description is what descriptors mean: it lives as long as one leads to it, from any process or
 * from a packet on its way.
 */
#ifndef WORLD_DESCRIPTION_H
#define WORLD_DESCRIPTION_H

#include "kernel.h"
#include "os/loop.h"

struct description;

struct description_kind {
	const char *name;
	/* What is ready, of OS_WATCH_READ and OS_WATCH_WRITE. NULL: always both. */
	unsigned (*poll)(struct description *description);
	/* Nobody has it any more: frees it. */
	void (*close)(struct description *description);
	/* NULL: -EINVAL. */
	ssize_t (*read)(struct description *description, void *data, size_t size);
	ssize_t (*write)(struct description *description, const void *data, size_t size);
	unsigned mode; /* S_IF... */
};

struct description {
	const struct description_kind *kind;
	size_t references;
	uint64_t inode;
	struct os_watch *watches;
};

void description_init(struct description *description, const struct description_kind *kind);
void description_drop(struct description *description);
/* Something may be ready now: those who watch look. */
void description_changed(struct description *description);
unsigned description_poll(struct description *description);

/* The running process's descriptor for DESCRIPTION, whose one reference it takes, the lowest that
 * is free; -EMFILE, and the reference is dropped. */
int table_add(struct description *description);
/* The same at a number, of PROCESS, which has none there. Takes a reference of its own. */
void table_put(struct process *process, int number, struct description *description);
/* What DESCRIPTOR of the running process leads to; NULL when it is none. */
struct description *table_find(int descriptor);
/* The same if it is of KIND. */
struct description *table_of_kind(int descriptor, const struct description_kind *kind);
int table_close(int descriptor);
int table_copy(int descriptor, int lowest);
void table_close_all(struct process *process);

/* Waits until one of EVENTS is ready at DESCRIPTOR: 0; -ETIMEDOUT, -EBADF. Below 0: for ever. */
int table_wait(int descriptor, unsigned events, int64_t timeout_us);

/* --- what the loops have (loop.c) --- */

struct os_watch {
	struct os_loop *loop; /* NULL: TASK waits in table_wait() */
	struct task *task;
	struct process *process;
	struct description *description; /* NULL: gone */
	unsigned events;
	void (*call)(void *context, unsigned events);
	void *context;
	struct os_watch *next_of_description;
	struct os_watch *next_of_process;
	bool is_due;
	struct os_watch *next_due;
};

void watch_link(struct os_watch *watch, struct description *description);
void watch_unlink(struct os_watch *watch);
/* Its description may be ready. */
void watch_due(struct os_watch *watch);
/* The loops, watches and timers of PROCESS hear nothing any more. */
void loop_forget_process(struct process *process);
/* SIGNAL is told to who watches for it; false when nobody does. */
bool loop_signal(struct process *process, int number);

/* --- kernel.c, for process.c --- */

void kernel_drop_tasks(struct process *process);
void process_end_all(void);

/* --- listen.c, for kernel.c: connections that are not decided are no more. */
void listen_end(void);

#endif
