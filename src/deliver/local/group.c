// SPDX-License-Identifier: ISC
#include "deliver/local/group.h"
#include "base/panic.h"
#include <stdlib.h>

void local_list_append(struct local_list *list, struct local_entry *entry)
{
	if (list->first == NULL)
		list->last = &list->first;
	entry->next = NULL;
	*list->last = entry;
	list->last = &entry->next;
}

struct local_entry *local_list_take(struct local_list *list)
{
	struct local_entry *entry = list->first;

	if (entry != NULL)
		list->first = entry->next;
	return entry;
}

void local_entry_finish_one(struct local_entry *entry, size_t index, const struct mail_verdict *why)
{
	for (size_t i = index; i < entry->job->recipient_count; i++) {
		if (entry->first[i] != index)
			continue;
		if (why != NULL)
			deliver_helper_report(entry->job, i, why, NULL);
		entry->left--;
	}
	if (entry->left == 0)
		deliver_helper_finish(entry->job);
}

void local_batch_finish(const struct local_batch *batch, size_t first, size_t end, bool is_lost)
{
	for (size_t i = first; i < end; i++)
		if (batch->targets[i].entry != NULL)
			local_entry_finish_one(batch->targets[i].entry, batch->targets[i].index,
					       is_lost ? NULL
						       : &batch->group.deliveries[i].verdict);
}

void local_batch_clear(struct local_batch *batch)
{
	free(batch->group.deliveries);
	free(batch->group.owners);
	free(batch->targets);
	*batch = (struct local_batch){0};
}

static int compare_owners(const void *a, const void *b)
{
	const struct os_process_user *one = &((const struct local_target *)a)->owner;
	const struct os_process_user *other = &((const struct local_target *)b)->owner;

	if (one->uid != other->uid)
		return one->uid < other->uid ? -1 : 1;
	return (one->gid > other->gid) - (one->gid < other->gid);
}

void local_batch_fill(struct local_batch *batch)
{
	size_t count = batch->group.count;

	qsort(batch->targets, count, sizeof *batch->targets, compare_owners);
	batch->group.deliveries = memory_alloc_zero(count + 1, sizeof(struct maildir_delivery));
	batch->group.owners = memory_alloc_zero(count + 1, sizeof(struct os_process_user));
	for (size_t i = 0; i < count; i++) {
		const struct local_target *target = &batch->targets[i];
		const struct local_entry *entry = target->entry;
		const struct deliver_helper_job *job = entry->job;
		const struct deliver_quota *quota =
			entry->wanted.quotas != NULL ? &entry->wanted.quotas[target->index] : NULL;

		batch->group.owners[i] = target->owner;
		batch->group.deliveries[i] = (struct maildir_delivery){
			.path = target->path,
			.sender = job->sender,
			.recipient = job->recipients[target->index].address,
			.via = job->recipients[target->index].via,
			.site_key = entry->site_key,
			.content = job->content,
			.is_binary = job->binary,
			.quota = quota != NULL && quota->is_counted ? &quota->quota : NULL,
			.refuses_over_quota = entry->refuses_over_quota,
		};
	}
}

void local_batch_keep(struct local_batch *batch,
		      bool (*may_go)(void *context, struct local_target *), void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < batch->group.count; i++)
		if (may_go(context, &batch->targets[i]))
			batch->targets[kept++] = batch->targets[i];
	if (kept == batch->group.count)
		return;
	free(batch->group.deliveries);
	free(batch->group.owners);
	batch->group.count = kept;
	local_batch_fill(batch);
}

struct local_batch local_batch_split(struct local_batch *batch, size_t end)
{
	struct local_batch rest = {0};
	size_t count = batch->group.count - end;

	if (count == 0)
		return rest;
	rest.targets = memory_alloc_zero(count, sizeof *rest.targets);
	for (size_t i = 0; i < count; i++)
		rest.targets[i] = batch->targets[end + i];
	rest.group.count = count;
	local_batch_fill(&rest);
	batch->group.count = end;
	return rest;
}

void local_batch_tell(const struct local_batch *batch, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		deliver_helper_tell(batch->targets[i].entry->job);
}
