// SPDX-License-Identifier: ISC
/* A package that its node does not have any more: its name goes. */
#include "os/file/file.h"
#include "queue/handed/internal.h"
#include <errno.h>

static struct queue_handed_name *find_settled(const struct queue_intake *intake, struct str node,
					      struct str name)
{
	const struct handed_node *found = handed_node_find(intake, node);

	return found != NULL ? handed_name_find(found, name) : NULL;
}

/* Of a message that has not ended, or whose last name is still there: it becomes like any other. */
static int unlink_handed_name(struct queue_intake *intake, const struct queue_handed_name *name)
{
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_handed_name_path(name, path);
	result = os_file_unlink(intake->store->directory, path);
	if (name->state == QUEUE_HANDED_ENDING && (result == 0 || result == -ENOENT)) {
		queue_handed_path(name->node->name, name->name, false, path);
		result = os_file_unlink(intake->store->directory, path);
	}
	queue_spare_mark_node(intake, name->node->name);
	return result == -ENOENT ? 0 : result;
}

/* Whether its file has no other name: 1, 0 or -errno. One in mess/ may have to go yet. */
static int is_last_name(const struct queue_intake *intake, const struct queue_handed_name *name)
{
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;
	int result;

	if (name->state != QUEUE_HANDED_ENDED)
		return 0;
	queue_handed_name_path(name, path);
	result = os_file_info_at(intake->store->directory, path, &info);
	if (result == -ENOENT)
		return 0;
	return result < 0 ? result : info.links == 1;
}

static int settle_name(struct queue_intake *intake, struct queue_handed_name *name)
{
	int result = is_last_name(intake, name);

	if (result >= 0)
		result = result > 0 ? queue_message_remove_ended(intake, name)
				    : unlink_handed_name(intake, name);

	if (result == 0)
		queue_handed_forget(intake, name);
	return result;
}

static bool is_unfinished(const struct queue_handed_name *name)
{
	return name->state == QUEUE_HANDED_COMMITTING || name->state == QUEUE_HANDED_UNDONE;
}

int queue_handed_settle(struct queue_intake *intake, struct str node, struct str name)
{
	struct queue_handed_name *found = find_settled(intake, node, name);

	return found == NULL || is_unfinished(found) ? 0 : settle_name(intake, found);
}

int queue_handed_drop(struct queue_intake *intake, struct str node, struct str name)
{
	struct queue_handed_name *found = find_settled(intake, node, name);
	enum mail_stage stage;
	uint64_t number;
	int result;

	if (found == NULL || found->state != QUEUE_HANDED_TAKEN || found->is_reported)
		return queue_handed_settle(intake, node, name);
	stage = found->stage;
	number = found->number;
	result = settle_name(intake, found);
	return result == 0 ? queue_message_remove_queued(intake, stage, number) : result;
}
