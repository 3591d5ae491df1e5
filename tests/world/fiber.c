// SPDX-License-Identifier: ISC
/* A stack begins by setcontext(); from then on by _longjmp(), which asks the kernel for nothing.
 * But with a sanitizer, which takes that for the end of functions. */
#undef _FORTIFY_SOURCE /* its longjmp() refuses another stack */
#include "fiber.h"
#include <err.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* Only the pages that are touched cost memory. */
enum { STACK_SIZE = 1 << 20, GUARD_SIZE = 1 << 16, SPARES_MAX = 64 };

struct fiber {
	ucontext_t context; /* where it begins; with a sanitizer also where it goes on */
	jmp_buf place;
	bool has_begun;
	char *area; /* the guard, and the stack above it; NULL: the caller's own */
	const void *bottom;
	size_t size;
	void *shadow; /* the sanitizer's, while another one runs */
	void (*main)(void *argument);
	void *argument;
	struct fiber *next;
};

static struct fiber *came_from;
static struct fiber *running;
static struct {
	char *areas[SPARES_MAX];
	size_t count;
} spares;

static void begin_switch(struct fiber *from, struct fiber *to, bool is_last)
{
	came_from = from;
	running = to;
#ifdef __SANITIZE_ADDRESS__
	if (is_last)
		from->shadow = NULL;
	__sanitizer_start_switch_fiber(is_last ? NULL : &from->shadow, to->bottom, to->size);
#else
	(void)is_last;
#endif
}

static void end_switch(void)
{
#ifdef __SANITIZE_ADDRESS__
	const void *bottom;
	size_t size;

	__sanitizer_finish_switch_fiber(running->shadow, &bottom, &size);
	if (came_from->bottom == NULL) {
		came_from->bottom = bottom;
		came_from->size = size;
	}
#endif
}

static void begin(void)
{
	end_switch();
	running->main(running->argument);
	abort();
}

static char *take_area(void)
{
	char *area;

	if (spares.count > 0)
		return spares.areas[--spares.count];
	area = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED || mprotect(area, GUARD_SIZE, PROT_NONE) != 0)
		err(1, "no stack");
	return area;
}

struct fiber *fiber_new(void (*main)(void *argument), void *argument)
{
	struct fiber *fiber = calloc(1, sizeof *fiber);

	if (fiber == NULL)
		err(1, "no fiber");
	fiber->main = main;
	fiber->argument = argument;
	if (main == NULL)
		return fiber;
	fiber->area = take_area();
	fiber->bottom = fiber->area + GUARD_SIZE;
	fiber->size = STACK_SIZE;
	if (getcontext(&fiber->context) != 0)
		err(1, "getcontext");
	fiber->context.uc_stack.ss_sp = fiber->area + GUARD_SIZE;
	fiber->context.uc_stack.ss_size = STACK_SIZE;
	makecontext(&fiber->context, begin, 0);
	return fiber;
}

#ifdef __SANITIZE_ADDRESS__
/* What a fiber that never leaves by itself has of the sanitizer's is freed as if it left now. */
__attribute__((no_sanitize("address"))) static void free_shadow(const struct fiber *fiber)
{
	void *own;

	if (fiber->shadow == NULL)
		return;
	__sanitizer_start_switch_fiber(&own, fiber->bottom, fiber->size);
	__sanitizer_finish_switch_fiber(fiber->shadow, NULL, NULL);
	__sanitizer_start_switch_fiber(NULL, running->bottom, running->size);
	__sanitizer_finish_switch_fiber(own, NULL, NULL);
}
#endif

void fiber_free(struct fiber *fiber)
{
	if (fiber->area != NULL) {
#ifdef __SANITIZE_ADDRESS__
		free_shadow(fiber);
		__asan_unpoison_memory_region(fiber->bottom, fiber->size);
#endif
		if (spares.count < SPARES_MAX)
			spares.areas[spares.count++] = fiber->area;
		else
			munmap(fiber->area, GUARD_SIZE + STACK_SIZE);
	}
	free(fiber);
}

#ifdef __SANITIZE_ADDRESS__

static void save_and_go(struct fiber *from, struct fiber *to)
{
	if (swapcontext(&from->context, &to->context) != 0)
		err(1, "swapcontext");
}

static _Noreturn void go(struct fiber *to)
{
	setcontext(&to->context);
	err(1, "setcontext");
}

#else

static _Noreturn void go(struct fiber *to)
{
	if (to->has_begun)
		_longjmp(to->place, 1);
	to->has_begun = true;
	setcontext(&to->context);
	err(1, "setcontext");
}

static void save_and_go(struct fiber *from, struct fiber *to)
{
	from->has_begun = true;
	if (_setjmp(from->place) == 0)
		go(to);
}

#endif

void fiber_switch(struct fiber *from, struct fiber *to)
{
	begin_switch(from, to, false);
	save_and_go(from, to);
	end_switch();
}

void fiber_leave(struct fiber *from, struct fiber *to)
{
	begin_switch(from, to, true);
	go(to);
}
