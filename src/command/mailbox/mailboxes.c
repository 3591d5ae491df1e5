// SPDX-License-Identifier: ISC
#include "command/mailbox/mailboxes.h"
#include "base/buffer.h"
#include "base/table.h"
#include <stdlib.h>

enum { MAILBOXES_PAGE = 500 };

struct mailbox_listed {
	UT_hash_handle hh;
	size_t length;
	char key[]; /* user, NUL, folder */
};

void mailbox_list_add(struct mailbox_list *list, const struct record_mailbox *mailbox)
{
	struct buffer key CLEANUP(buffer_clear) = {0};
	struct mailbox_listed *known;

	buffer_append_str(&key, mailbox->user);
	buffer_append_byte(&key, '\0');
	buffer_append_str(&key, mailbox->folder);
	HASH_FIND(hh, list->table, buffer_data(&key), key.length, known);
	if (known != NULL)
		return;
	known = memory_alloc_zero(1, sizeof *known + key.length);
	known->length = key.length;
	memcpy(known->key, buffer_data(&key), key.length);
	HASH_ADD_KEYPTR(hh, list->table, known->key, known->length, known);
	if (list->arena == NULL)
		list->arena = arena_new();
	list->mailboxes =
		memory_resize(list->mailboxes, (list->count + 1) * sizeof *list->mailboxes);
	list->mailboxes[list->count++] = (struct record_mailbox){
		.user = arena_copy_str(list->arena, mailbox->user),
		.folder = arena_copy_str(list->arena, mailbox->folder),
	};
}

struct reading {
	struct mailbox_list *list;
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
		if (reading->user.length == 0 ||
		    str_equal(reading->user, listed->mailboxes[i].user))
			mailbox_list_add(reading->list, &listed->mailboxes[i]);
}

int mailbox_list_read(struct mailbox_list *list, struct record *record, struct str user)
{
	struct reading reading = {.list = list, .user = user};
	int error;

	do {
		const struct record_query query = {.after = reading.last, .limit = MAILBOXES_PAGE};

		reading.count = 0;
		error = record_list(record, &query, take_places_of_record, &reading);
	} while (error == 0 && reading.count == MAILBOXES_PAGE);
	return error;
}

void mailbox_list_clear(struct mailbox_list *list)
{
	struct mailbox_listed *place;
	struct mailbox_listed *after;

	HASH_ITER (hh, list->table, place, after) {
		HASH_DEL(list->table, place);
		free(place);
	}
	free(list->mailboxes);
	arena_free(list->arena);
	*list = (struct mailbox_list){.table = NULL};
}
