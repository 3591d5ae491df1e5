// SPDX-License-Identifier: ISC
#include "manager/wait/scan/due_list.h"
#include "log/event.h"
#include <errno.h>

static void log_list_error(int result)
{
	if (result < 0)
		log_event(EVENT_QUEUE_ERROR, log_string(path, "intd/due"), log_error(result));
}

void due_list_begin(struct due_list *list, const struct queue_store *store)
{
	int result = -ENOENT;

	if (!list->has_begun)
		result = queue_due_open(&list->last, store);
	list->has_begun = true;
	if (result < 0) {
		log_list_error(result == -ENOENT ? 0 : result);
		queue_due_begin(&list->next, store);
	}
}

bool due_list_is_read(const struct due_list *list)
{
	return list->last.is_open;
}

bool due_list_find(struct due_list *list, uint64_t number, int64_t *due_us_out)
{
	return queue_due_find(&list->last, number, due_us_out);
}

void due_list_add(struct due_list *list, uint64_t number, int64_t due_us)
{
	log_list_error(queue_due_add(&list->next, number, due_us));
}

bool due_list_end(struct due_list *list)
{
	if (!list->last.is_open) {
		log_list_error(queue_due_end(&list->next));
		return false;
	}
	queue_due_close(&list->last);
	return true;
}

void due_list_clear(struct due_list *list)
{
	queue_due_close(&list->last);
	queue_due_drop(&list->next);
}
