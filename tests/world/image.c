// SPDX-License-Identifier: ISC
/*
 * The variables of the product. All of them stand in one section of this program
 * (world_state; see product.ld). A process's own are put there before it runs, and put away when
 * one of another process does.
 */
#include "kernel.h"
#include <err.h>
#include <stdlib.h>

/* Of programs without any code of the product the section is empty. */
extern char __start_world_state[] __attribute__((weak));
extern char __stop_world_state[] __attribute__((weak));

static char *pristine;
static struct process *inside;

static size_t image_size(void)
{
	return (size_t)(__stop_world_state - __start_world_state);
}

/* The sanitizer's zones between variables are copied, too. */
__attribute__((no_sanitize("address", "undefined"))) static void copy(char *to, const char *from)
{
	const size_t words = image_size() / sizeof(uint64_t);
	const size_t rest = image_size() % sizeof(uint64_t);
	volatile uint64_t *target = (volatile uint64_t *)(void *)to;
	const uint64_t *source = (const uint64_t *)(const void *)from;

	for (size_t i = 0; i < words; i++)
		target[i] = source[i];
	for (size_t i = image_size() - rest; i < image_size(); i++)
		((volatile char *)to)[i] = from[i];
}

static char *allocate(void)
{
	char *image = malloc(image_size() + 1);

	if (image == NULL)
		err(1, "no memory");
	return image;
}

void image_begin(void)
{
	pristine = allocate();
	copy(pristine, __start_world_state);
}

void image_end(void)
{
	copy(__start_world_state, pristine);
	free(pristine);
}

char *image_new(void)
{
	char *image = allocate();

	copy(image, pristine);
	return image;
}

void image_enter(struct process *process)
{
	if (process->image == NULL || process == inside)
		return;
	if (inside != NULL)
		copy(inside->image, __start_world_state);
	copy(__start_world_state, process->image);
	inside = process;
}

void image_free(struct process *process)
{
	if (process == inside)
		inside = NULL;
	free(process->image);
	process->image = NULL;
}
