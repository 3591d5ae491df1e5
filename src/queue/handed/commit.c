// SPDX-License-Identifier: ISC
/* A package that is being committed, and what becomes of it. */
#include "queue/handed/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static char *copy_numbers(struct str numbers)
{
	char *copy = memory_alloc(numbers.length + 1);

	memcpy(copy, numbers.data, numbers.length);
	copy[numbers.length] = '\0';
	return copy;
}

static struct queue_message_handed *make_handed(const struct queue_handed_name *name,
						struct str records)
{
	struct queue_message_handed *handed = memory_alloc_zero(1, sizeof *handed);

	snprintf(handed->node, sizeof handed->node, "%s", name->node->name);
	queue_handed_name_path(name, handed->path);
	buffer_append_str(&handed->records, records);
	return handed;
}

int queue_handed_begin(struct queue_message *message, const struct queue_package *package)
{
	struct queue_intake *intake = message->intake;
	struct handed_node *node = handed_node_find(intake, package->node);
	struct queue_handed_name *name;

	if (node == NULL || node->epoch == 0)
		return -ESTALE;
	name = handed_name_find(node, package->name);
	if (name != NULL)
		return name->state == QUEUE_HANDED_COMMITTING || name->state == QUEUE_HANDED_UNDONE
			       ? -EBUSY
			       : -EEXIST;
	name = handed_name_add(intake, node, package->name, message->data.number,
			       QUEUE_HANDED_COMMITTING);
	name->stage = package->stage;
	name->numbers = copy_numbers(package->numbers);
	message->handed = make_handed(name, package->records);
	return 0;
}

/* With these errors the package has not got a name (intake/commit.c). */
static bool is_without_trace(int result)
{
	return result == -ENOSPC || result == -EDQUOT || result == -E2BIG || result == -EBADMSG ||
	       result == -EMFILE;
}

void queue_handed_end(struct queue_intake *intake, uint64_t number, int result)
{
	struct queue_handed_name *name = queue_handed_of(intake, number);

	if (name == NULL || name->state != QUEUE_HANDED_COMMITTING)
		return;
	if (is_without_trace(result)) {
		queue_handed_forget(intake, name);
		return;
	}
	name->state = result == 0 ? QUEUE_HANDED_TAKEN : QUEUE_HANDED_UNDONE;
	name->node->undone += result < 0;
}

void queue_handed_report(struct queue_intake *intake, uint64_t number)
{
	struct queue_handed_name *name = queue_handed_of(intake, number);

	if (name != NULL)
		name->is_reported = true;
}
