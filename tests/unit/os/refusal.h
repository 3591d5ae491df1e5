// SPDX-License-Identifier: ISC
/*
 * unit/os/refusal.h - each call of the system that a function of os/ makes fails once, and what the
 * function then returns is compared with what its row says.
 *
 * (tests/faults/units has calls fail in all unit tests, and sees that nothing crashes or leaks:
 * what is returned it does not know.)
 */
#ifndef UNIT_OS_REFUSAL_H
#define UNIT_OS_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

struct refusal_case {
	const char *name;
	/* Calls the function between refusal_begin() and refusal_end(), and closes what it got: the
	 * same number each time, or -errno. */
	int (*run)(void);
	const char *again;   /* "openat64 fsync": made again after EINTR, all others fail by it */
	const char *ignored; /* their failure changes nothing that is returned */
	const char *other;   /* these fail it by another error than their own: */
	int other_error;
};

/* Each fails in the middle of nothing, by an error that no code expects, and by EINTR. After each
 * run as many descriptors are open as before. */
void refusal_try(const struct refusal_case *cases, size_t count);

/* Calls of this thread count between these two. */
void refusal_begin(void);
void refusal_end(void);
/* The call of that name has failed in this run. */
bool refusal_was(const char *name);
/* What a function leaves untouched when it fails: filled before it, and looked at after it. */
void refusal_fill(void *out, size_t size);
void refusal_check(int result, const void *out, size_t size);

/* The result of CALL, while calls count. */
#define REFUSED(call)                 \
	({                            \
		typeof(call) result_; \
		refusal_begin();      \
		result_ = (call);     \
		refusal_end();        \
		result_;              \
	})

#endif
