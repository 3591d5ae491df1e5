// SPDX-License-Identifier: ISC
/*
 * world/image.h - the variables of the product's programs.
 *
 * Each program with all of the product that it uses is an object, all of whose variables stand in
 * one section (make_product): a number of whole pages. Each process of it has pages of its own for
 * that, in a file in memory; those of the one that runs are mapped there. That costs time, so there
 * are several such objects of a program, and processes share them only when there are more.
 */
#ifndef WORLD_IMAGE_H
#define WORLD_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

struct process;

enum { WORLD_SLOTS_MAX = 512 };

struct world_image {
	/* of the section */
	char *start;
	char *stop;
	int (*main)(int argc, char **argv);
	/* its os/socket/connector.h, which is the real one */
	bool (*asks)(void);
	int (*connect)(const char *path, int kind);
	struct world_image *other; /* the next one of the same program; NULL after the last */
	/* the rest is image.c's; 0 at first */
	size_t users;
	char *pristine;
	int file;
	bool is_taken[WORLD_SLOTS_MAX];
	const struct process *inside;
	struct world_image *next;
};

/* The one of IMAGE and its others with the fewest users, and in it pages as the program begins
 * with: their number. */
struct world_image *image_new(struct world_image *image, size_t *slot_out);
/* PROCESS's variables are in their place; another's of the same program are put away. */
void image_enter(const struct process *process);
void image_free(const struct process *process);
/* All are as before the first image_new(). */
void image_end(void);

#endif
