// SPDX-License-Identifier: ISC
/*
 * The variables of the product. All of them stand in one section of this program
 * (world_state; see product.ld). Each process has pages of its own for it, in a file in memory;
 * those of the one that runs are mapped there.
 */
#include "kernel.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS_MAX = 4096 };

/* Of programs without any code of the product the section is empty. */
extern char __start_world_state[] __attribute__((weak));
extern char __stop_world_state[] __attribute__((weak));

static struct {
	int file;
	char *pristine;
	size_t size;
	bool is_taken[SLOTS_MAX];
	const struct process *inside;
} images;

/* The sanitizer's zones between variables are copied, too. */
__attribute__((no_sanitize("address", "undefined"))) static void
copy(volatile uint64_t *to, const volatile uint64_t *from, size_t size)
{
	for (size_t i = 0; i < size / sizeof *to; i++)
		to[i] = from[i];
}

/* The addresses are the linker's: no array's, to the compiler. */
static char *place(void)
{
	char *volatile start = __start_world_state;

	return start;
}

void image_begin(void)
{
	char *volatile stop = __stop_world_state;

	images.size = (size_t)(stop - place());
	images.inside = NULL;
	if (images.size == 0)
		return;
	images.pristine = malloc(images.size);
	images.file = memfd_create("images", MFD_CLOEXEC);
	if (images.pristine == NULL || images.file < 0)
		err(1, "images");
	copy((void *)images.pristine, (void *)place(), images.size);
}

void image_end(void)
{
	if (images.size == 0)
		return;
	if (mmap(place(), images.size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		err(1, "images");
	copy((void *)place(), (void *)images.pristine, images.size);
	free(images.pristine);
	close(images.file);
	memset(&images, 0, sizeof images);
}

size_t image_new(void)
{
	size_t slot = 0;
	size_t done = 0;

	if (images.size == 0)
		errx(1, "this program has nothing of the product");
	while (slot < SLOTS_MAX && images.is_taken[slot])
		slot++;
	if (slot == SLOTS_MAX)
		errx(1, "too many processes");
	while (done < images.size) {
		ssize_t count = pwrite(images.file, images.pristine + done, images.size - done,
				       (off_t)(slot * images.size + done));

		if (count <= 0)
			err(1, "images");
		done += (size_t)count;
	}
	images.is_taken[slot] = true;
	return slot;
}

void image_enter(const struct process *process)
{
	if (!process->program->has_image || process == images.inside)
		return;
	if (mmap(place(), images.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, images.file,
		 (off_t)(process->image * images.size)) == MAP_FAILED)
		err(1, "images");
	images.inside = process;
}

void image_free(const struct process *process)
{
	if (!process->program->has_image)
		return;
	images.is_taken[process->image] = false;
	if (process == images.inside)
		images.inside = NULL;
}
