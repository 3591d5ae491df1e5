// SPDX-License-Identifier: ISC
#include "queue_files.h"
#include "damages.h"
#include "files.h"
#include "states.h"
#include <stdlib.h>
#include <string.h>

bool queue_file_find(struct machine *machine, uint64_t number, char *path, size_t size)
{
	static const char *const folders[] = {"todo/arrive", "todo/submit", "mess"};

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		snprintf(path, size, "/var/queue/%s/%llu/%llu", folders[i],
			 (unsigned long long)(number % STATES_SPLIT), (unsigned long long)number);
		if (files_exist(machine, path))
			return true;
	}
	return false;
}

/* The damage of the message that NUMBER is now; NULL. */
static const struct damage *damage_of(const struct machine *machine, uint64_t number)
{
	const struct damage *damage = damages_of_number(machine, number);

	return damage != NULL && states_begun_us(machine, number) <= damage->since_us ? damage
										      : NULL;
}

bool queue_file_is_damaged(const struct machine *machine, uint64_t number)
{
	return damage_of(machine, number) != NULL;
}

bool queue_file_is_torn(const struct machine *machine, uint64_t number)
{
	const struct damage *damage = damages_of_number(machine, number);

	return queue_file_is_damaged(machine, number) ||
	       (damage != NULL && (damage->parts & DAMAGE_NAME) != 0);
}

uint64_t queue_file_message(struct machine *machine, uint64_t number)
{
	static const char header[] = "\nX-World: ";
	const struct damage *damage = damage_of(machine, number);
	uint64_t message = damage != NULL ? damage->message : UINT64_MAX;
	char path[512];
	const char *found;
	size_t size;
	char *text;

	if (damage != NULL || !queue_file_find(machine, number, path, sizeof path))
		return message;
	text = files_read(machine, path, &size);
	found = text != NULL ? memmem(text, size, header, sizeof header - 1) : NULL;
	if (found != NULL)
		message = strtoull(found + sizeof header - 1, NULL, 10);
	free(text);
	return message;
}
