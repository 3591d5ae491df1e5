// SPDX-License-Identifier: ISC
#include "place.h"
#include "disk_internal.h"
#include <search.h>
#include <stdio.h>
#include <string.h>

struct known {
	const void *thing;
	char place[PLACE_SIZE];
};

static void *places; /* a tree of struct known */

static int compare(const void *one, const void *other)
{
	const struct known *a = one;
	const struct known *b = other;

	return (a->thing > b->thing) - (a->thing < b->thing);
}

void place_of_path(const char *path, char out[PLACE_SIZE])
{
	snprintf(out, PLACE_SIZE, "%.*s", (int)strcspn(path, "/"), path);
}

void place_know(const void *thing, const char *path)
{
	struct known wanted = {.thing = thing};
	struct known **found = tfind(&wanted, &places, compare);
	struct known *made = NULL;

	if (found == NULL) {
		made = disk_alloc(sizeof *made);
		made->thing = thing;
		found = tsearch(made, &places, compare);
	}
	place_of_path(path, (*found)->place);
}

const char *place_of(const void *thing)
{
	struct known wanted = {.thing = thing};
	struct known **found = tfind(&wanted, &places, compare);

	return found != NULL ? (*found)->place : "";
}
