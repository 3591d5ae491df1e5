// SPDX-License-Identifier: ISC
/*
 * world/kernel.h - the simulated kernel: time, chance, processes, descriptors.
 *
 * One world lives in a host process, in one thread. A simulated process is one or more tasks, each
 * on a stack of its own, of which one runs at a time; which is next is decided by the seed. A task
 * runs until it waits: in its event loop, for a socket, for a time. Time stands still while
 * somebody can run, but for a few microseconds for each turn, and jumps to the next event else.
 *
 * Everything that is decided or moved is mixed into a fingerprint: two runs with the same seed
 * have the same one.
 */
#ifndef WORLD_KERNEL_H
#define WORLD_KERNEL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { WORLD_NAME_SIZE = 32, WORLD_DESCRIPTORS_MAX = 4096, WORLD_SIGNALS = 65 };

struct description;
struct disk;
struct event;
struct memory;
struct os_loop;
struct os_signal_watch;
struct os_timer;
struct os_watch;
struct process;
struct task;
struct world_image;

/* A program that can be run: one of the product's, whose processes have variables of their own
 * (image.h), or what main() would be of another one. */
struct world_program {
	const char *name;
	int (*main)(int argc, char **argv); /* NULL: the image's */
	struct world_image *image;          /* or NULL */
};

/* A machine: what its processes share. */
struct machine {
	char name[WORLD_NAME_SIZE];
	struct disk *disk;      /* files.h; NULL: it has none */
	int64_t wall_offset_us; /* of its wall clock from the world's time */
	uint32_t address;       /* IPv4, in host order */
	uint64_t boots;
	size_t descriptors; /* what a process may have open */
	/* Until then its disk fails with DISK_ERROR once in DISK_ODDS calls of processes: */
	int64_t disk_fails_until_us;
	int disk_error;
	uint64_t disk_odds;
	void (*disk_failed)(const struct machine *machine); /* is told of each; or NULL */
	/* Each line that a node of it says; or NULL. */
	void (*heard)(struct machine *machine, const char *line);
	/* Each packet that PROCESS, one of its, sends from one end of a connection to the other;
	 * or NULL. */
	void (*packet)(const struct process *process, uint64_t from, uint64_t to, const void *data,
		       size_t size);
	bool is_looked_at;     /* by a judge, in the middle of a call: no faults */
	bool disk_has_stopped; /* it takes no changes until the power is cut */
	struct machine *next;
};

#define WORLD_PROGRAM_USER "program" /* the only user who is known by name */

struct process {
	pid_t pid;
	struct process *parent; /* NULL: nobody waits for its end */
	bool is_orphan;         /* it had one, which has ended */
	struct machine *machine;
	const struct world_program *program;
	struct task *tasks;
	char **arguments;
	struct world_image
		*image; /* with its variables; NULL: its program is none of the product's */
	size_t slot;    /* of them in the image */
	struct memory *memory;
	size_t descriptors_lacking; /* of what its machine lets it have open */
	struct description **descriptors;
	size_t descriptor_count; /* of which the table has room */
	size_t open_count;
	struct os_watch *watches;
	struct os_timer *timers;
	struct os_signal_watch *signals;
	bool ignored[WORLD_SIGNALS];
	bool is_frozen;
	int64_t frozen_us; /* since when */
	bool has_ended;
	bool dies_with_parent;
	int status;                              /* as of waitpid() */
	uint64_t turns;                          /* how often one of its tasks ran */
	void *context;                           /* of who started it: inhabitants */
	void (*on_end)(struct process *process); /* has_ended, with its STATUS; or NULL */
	struct process *next;
};

/* --- a world --- */

void world_begin(uint64_t seed, FILE *log);
/* Until WHEN_US, or until nothing can happen any more; what was still to happen then happens in
 * the next call. */
void world_run(int64_t when_us);
/* Ends the call of world_run() soon. */
void world_stop(void);
/* world_run() ends at the next line of the log that has TEXT in it, borrowed; NULL: none. */
void world_stop_at(const char *text);
bool world_has_stopped(void);
/* Every process is gone, and all that they had. */
void world_end(void);
uint64_t world_fingerprint(void);
/* A line of the log: the time, who, TEXT. */
__attribute__((format(printf, 2, 3))) void world_log(const char *who, const char *format, ...);
void world_log_text(const char *who, const char *text, size_t length);

/* --- time and chance --- */

int64_t kernel_now_us(void);
uint64_t kernel_random(void);
/* The next number of *STREAM, any number at first: of what is decided without a change of what the
 * seed decides besides. */
uint64_t kernel_random_of(uint64_t *stream);
/* 0 to BOUND - 1. */
uint64_t kernel_below(uint64_t bound);
/* Once in N. */
bool kernel_one_in(uint64_t n);
void kernel_mix(const void *data, size_t size);
void kernel_mix_number(uint64_t number);

/* CALL comes at WHEN_US, in nobody's name. Whoever may cancel it keeps what is returned until
 * then; after the call it is gone. */
struct event *kernel_at(int64_t when_us, void (*call)(void *context), void *context);
/* NULL is allowed. */
void kernel_cancel(struct event *event);

/* --- tasks --- */

struct task {
	struct process *process;
	struct fiber *fiber;
	void (*call)(void *context);
	void *context;
	size_t place; /* among those that can run; SIZE_MAX: it waits */
	bool has_ended;
	struct event *alarm; /* of task_wait_until() */
	struct task *next;
};

/* The one that runs; NULL: the kernel, or an event. */
struct task *kernel_task(void);
struct process *kernel_process(void);
struct task *task_new(struct process *process, void (*call)(void *context), void *context);
/* TASK can go on. */
void task_wake(struct task *task);
/* The running task waits until somebody wakes it. */
void task_wait(void);
/* The same, or until WHEN_US. */
void task_wait_until(int64_t when_us);
/* The running task lets others run, and goes on at WHEN_US. */
void task_sleep_until(int64_t when_us);

/* --- processes --- */

void world_add_program(const struct world_program *program);
const struct world_program *world_find_program(const char *name);
struct machine *machine_new(const char *name, uint32_t address);
/* Starts PROGRAM; ARGUMENTS end with NULL. */
struct process *process_new(struct machine *machine, struct process *parent,
			    const struct world_program *program, const char *const *arguments,
			    void *context);
struct process *process_find(pid_t pid);
/* The processes, also those that have ended and are waited for. */
struct process *process_first(void);
void process_signal(struct process *process, int number);
/* Ends it as of now; a task that runs must not return to it. */
void process_end(struct process *process, int status);
/* Forgets one that has ended. */
void process_forget(struct process *process);
/* Ends the running process: exit(), abort(). */
_Noreturn void process_leave(int status);
void process_freeze(struct process *process, bool is_frozen);

/* --- memory of a process --- */

struct memory *memory_new(void);
void memory_free_all(struct memory *memory);
/* Blocks that are allocated. */
size_t memory_count(const struct memory *memory);
/* What the running process has allocated goes with it. */
void *world_malloc(size_t size);
void *world_calloc(size_t count, size_t size);
void *world_realloc(void *old, size_t size);
void world_free(void *block);
char *world_strdup(const char *text);

#endif
