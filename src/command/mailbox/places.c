// SPDX-License-Identifier: ISC
#include "command/mailbox/places.h"
#include "base/buffer.h"
#include "base/table.h"
#include <stdlib.h>

enum { PAGE = 500 };

struct mailbox_place {
	UT_hash_handle hh;
	size_t length;
	char key[]; /* user, NUL, folder */
};

static void append_key(struct buffer *out, const struct record_place *place)
{
	buffer_append_str(out, place->user);
	buffer_append_byte(out, '\0');
	buffer_append_str(out, place->folder);
}

void mailbox_places_add(struct mailbox_places *places, const struct record_place *place)
{
	struct buffer key CLEANUP(buffer_clear) = {0};
	struct mailbox_place *known;

	append_key(&key, place);
	HASH_FIND(hh, places->table, buffer_data(&key), key.length, known);
	if (known != NULL)
		return;
	known = memory_alloc_zero(1, sizeof *known + key.length);
	known->length = key.length;
	memcpy(known->key, buffer_data(&key), key.length);
	HASH_ADD_KEYPTR(hh, places->table, known->key, known->length, known);
	if (places->arena == NULL)
		places->arena = arena_new();
	places->places =
		memory_resize(places->places, (places->count + 1) * sizeof *places->places);
	places->places[places->count++] = (struct record_place){
		.user = arena_copy_str(places->arena, place->user),
		.folder = arena_copy_str(places->arena, place->folder),
	};
}

struct reading {
	struct mailbox_places *places;
	struct str user;
	int64_t last;
	unsigned count;
};

static void take_places_of_record(void *context, const struct record_listed *listed)
{
	struct reading *reading = context;

	reading->last = listed->number;
	reading->count++;
	for (size_t i = 0; i < listed->place_count; i++)
		if (reading->user.length == 0 || str_equal(reading->user, listed->places[i].user))
			mailbox_places_add(reading->places, &listed->places[i]);
}

int mailbox_places_read(struct mailbox_places *places, struct record *record, struct str user)
{
	struct reading reading = {.places = places, .user = user};
	int error;

	do {
		const struct record_query query = {.after = reading.last, .limit = PAGE};

		reading.count = 0;
		error = record_list(record, &query, take_places_of_record, &reading);
	} while (error == 0 && reading.count == PAGE);
	return error;
}

void mailbox_places_clear(struct mailbox_places *places)
{
	struct mailbox_place *place;
	struct mailbox_place *after;

	HASH_ITER (hh, places->table, place, after) {
		HASH_DEL(places->table, place);
		free(place);
	}
	free(places->places);
	arena_free(places->arena);
	*places = (struct mailbox_places){.table = NULL};
}
