// SPDX-License-Identifier: ISC
#include "image.h"
#include "kernel.h"
#include <err.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct world_image *images;

static size_t size_of(const struct world_image *image)
{
	return (size_t)(image->stop - image->start);
}

/* The sanitizer's zones between variables are copied, too. */
__attribute__((no_sanitize("address", "undefined"))) static void copy(void *to, const void *from,
								      size_t size)
{
	volatile uint64_t *target = to;
	const volatile uint64_t *source = from;

	for (size_t i = 0; i < size / sizeof *target; i++)
		target[i] = source[i];
}

static void begin(struct world_image *image)
{
	image->pristine = malloc(size_of(image));
	image->file = memfd_create("image", MFD_CLOEXEC);
	if (image->pristine == NULL || image->file < 0)
		err(1, "image");
	copy(image->pristine, image->start, size_of(image));
	image->next = images;
	images = image;
}

void image_end(void)
{
	while (images != NULL) {
		struct world_image *image = images;

		images = image->next;
		if (mmap(image->start, size_of(image), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			err(1, "image");
		copy(image->start, image->pristine, size_of(image));
		free(image->pristine);
		close(image->file);
		image->pristine = NULL;
		image->users = 0;
	}
}

static size_t take_slot(struct world_image *image)
{
	size_t slot = 0;

	while (slot < WORLD_SLOTS_MAX && image->is_taken[slot])
		slot++;
	if (slot == WORLD_SLOTS_MAX)
		errx(1, "too many processes of a program");
	image->is_taken[slot] = true;
	return slot;
}

static void write_slot(const struct world_image *image, size_t slot)
{
	size_t done = 0;

	while (done < size_of(image)) {
		ssize_t count = pwrite(image->file, image->pristine + done, size_of(image) - done,
				       (off_t)(slot * size_of(image) + done));

		if (count <= 0)
			err(1, "image");
		done += (size_t)count;
	}
}

struct world_image *image_new(struct world_image *image, size_t *slot_out)
{
	for (struct world_image *one = image->other; one != NULL; one = one->other)
		if (one->users < image->users)
			image = one;
	if (image->pristine == NULL)
		begin(image);
	*slot_out = take_slot(image);
	write_slot(image, *slot_out);
	image->users++;
	return image;
}

void image_enter(const struct process *process)
{
	struct world_image *image = process->image;

	if (image == NULL || process == image->inside)
		return;
	if (mmap(image->start, size_of(image), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 image->file, (off_t)(process->slot * size_of(image))) == MAP_FAILED)
		err(1, "image");
	image->inside = process;
}

void image_free(const struct process *process)
{
	struct world_image *image = process->image;

	if (image == NULL)
		return;
	image->is_taken[process->slot] = false;
	image->users--;
	if (process == image->inside)
		image->inside = NULL;
}
