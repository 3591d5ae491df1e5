// SPDX-License-Identifier: ISC
/* Jobs that wait, their recipients with one mailbox, and batches of deliveries: all orders of small
 * sizes against what the header says. The helper's side is played here. */
#include "base/panic.h"
#include "deliver/local/group.h"
#include "test.h"
#include <stdlib.h>

enum { MOST = 5, LIST_STEPS = 10 };

static struct {
	bool is_reported[MOST];
	const struct mail_verdict *why[MOST];
	unsigned finished;
	unsigned told;
} play;

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	assert_null(trigger);
	assert_in_range(index, 0, job->recipient_count - 1);
	assert_false(play.is_reported[index]);
	assert_int_equal(play.finished, 0);
	play.is_reported[index] = true;
	play.why[index] = verdict;
}

void deliver_helper_tell(struct deliver_helper_job *job)
{
	assert_non_null(job);
	play.told++;
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	assert_non_null(job);
	play.finished++;
}

/* Each bit of ORDER: one more, or the first one is taken. */
static void check_list(unsigned order)
{
	struct local_entry entries[LIST_STEPS];
	struct local_list list = {0};
	size_t added = 0;
	size_t taken = 0;

	memset(entries, 0xaa, sizeof entries);
	for (unsigned i = 0; i < LIST_STEPS; i++) {
		if ((order >> i & 1) != 0)
			local_list_append(&list, &entries[added++]);
		else if (taken == added)
			assert_null(local_list_take(&list));
		else
			assert_ptr_equal(local_list_take(&list), &entries[taken++]);
	}
	while (taken < added)
		assert_ptr_equal(local_list_take(&list), &entries[taken++]);
	assert_null(local_list_take(&list));
}

static void who_waits_longest_is_first(void **state)
{
	(void)state;
	for (unsigned order = 0; order < 1U << LIST_STEPS; order++)
		check_list(order);
}

/* FIRST of each recipient, by NUMBER; false: no recipient can have such ones. */
static bool set_firsts(size_t number, size_t count, size_t *first)
{
	for (size_t i = 0; i < count; i++, number /= MOST) {
		first[i] = number % MOST;
		if (first[i] > i || first[first[i]] != first[i])
			return false;
	}
	return true;
}

/* The recipients with a delivery of their own are done, from START on round about; with bit I of
 * LOST recipient I is given up. */
static void check_ends(struct local_entry *entry, size_t start, unsigned lost)
{
	static const struct mail_verdict why[MOST];
	size_t count = entry->job->recipient_count;
	size_t done = 0;

	memset(&play, 0, sizeof play);
	entry->left = count;
	for (size_t i = 0; i < count; i++) {
		size_t index = (start + i) % count;

		if (entry->first[index] != index)
			continue;
		assert_int_equal(play.finished, 0);
		local_entry_finish_one(entry, index, (lost >> index & 1) != 0 ? NULL : &why[index]);
		for (size_t j = 0; j < count; j++)
			done += entry->first[j] == index;
		assert_int_equal(play.finished, done == count);
	}
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(play.is_reported[i], (lost >> entry->first[i] & 1) == 0);
		if (play.is_reported[i])
			assert_ptr_equal(play.why[i], &why[entry->first[i]]);
	}
}

static void each_recipient_is_reported_with_his_mailbox(void **state)
{
	size_t first[MOST];
	struct deliver_helper_job job = {0};
	struct local_entry entry = {.job = &job, .first = first};

	(void)state;
	for (size_t count = 1, numbers = MOST; count <= MOST; count++, numbers *= MOST) {
		job.recipient_count = count;
		for (size_t number = 0; number < numbers; number++)
			if (set_firsts(number, count, first))
				for (unsigned i = 0; i < count << count; i++)
					check_ends(&entry, i % count, i / (unsigned)count);
	}
}

static const struct os_process_user OWNER[] = {
	{.change = true, .uid = 7, .gid = 1},
	{.change = true, .uid = 7, .gid = 3},
	{.change = true, .uid = 8, .gid = 2},
};
static struct deliver_helper_recipient recipients[MOST];
static struct deliver_quota quotas[MOST];
static struct deliver_helper_job jobs[2];
static struct local_entry entries[2];

static void make_jobs(void)
{
	static const char *const paths[] = {"/0", "/1", "/2", "/3", "/4"};

	for (size_t i = 0; i < MOST; i++) {
		recipients[i].address = str_from(paths[i]);
		recipients[i].via = str_from(paths[MOST - 1 - i]);
		quotas[i] = (struct deliver_quota){.is_counted = i % 2 == 0};
	}
	for (size_t i = 0; i < 2; i++) {
		jobs[i] = (struct deliver_helper_job){.recipients = recipients,
						      .recipient_count = MOST,
						      .sender = i > 0 ? STR("s@t") : STR(""),
						      .content = {.file = 5, .size = 70 + i},
						      .binary = i > 0};
		entries[i] = (struct local_entry){
			.job = &jobs[i],
			.refuses_over_quota = i == 0,
			.site_key = {i + 1, 3},
			.wanted = {.quotas = i == 0 ? quotas : NULL},
		};
	}
}

/* COUNT targets, whose owners NUMBER says. */
static struct local_batch new_batch(size_t number, size_t count)
{
	struct local_batch batch = {.group = {.count = count}};

	batch.targets = memory_alloc_zero(count + 1, sizeof *batch.targets);
	for (size_t i = 0; i < count; i++, number /= COUNT_OF(OWNER))
		batch.targets[i] =
			(struct local_target){.entry = &entries[i % 2],
					      .index = i,
					      .path = str_from(recipients[i].address.data),
					      .owner = OWNER[number % COUNT_OF(OWNER)]};
	local_batch_fill(&batch);
	return batch;
}

static const struct mail_quota *quota_of(const struct local_target *target)
{
	return target->entry == &entries[0] && target->index % 2 == 0 ? &quotas[target->index].quota
								      : NULL;
}

static void check_delivery(const struct local_batch *batch, size_t i)
{
	const struct local_target *target = &batch->targets[i];
	const struct maildir_delivery *delivery = &batch->group.deliveries[i];
	const struct deliver_helper_job *job = target->entry->job;

	assert_memory_equal(&batch->group.owners[i], &target->owner, sizeof target->owner);
	assert_ptr_equal(delivery->path.data, target->path.data);
	assert_ptr_equal(delivery->sender.data, job->sender.data);
	assert_ptr_equal(delivery->recipient.data, recipients[target->index].address.data);
	assert_ptr_equal(delivery->via.data, recipients[target->index].via.data);
	assert_memory_equal(&delivery->site_key, &target->entry->site_key,
			    sizeof delivery->site_key);
	assert_int_equal(delivery->content.size, job->content.size);
	assert_int_equal(delivery->is_binary, job->binary);
	assert_int_equal(delivery->refuses_over_quota, target->entry->refuses_over_quota);
	assert_ptr_equal(delivery->quota, quota_of(target));
}

/* It has those of WANTED, each once, by their owners. */
static void check_batch(const struct local_batch *batch, unsigned wanted)
{
	unsigned found = 0;

	for (size_t i = 0; i < batch->group.count; i++) {
		const struct os_process_user *owner = &batch->targets[i].owner;

		assert_int_equal(found >> batch->targets[i].index & 1, 0);
		found |= 1U << batch->targets[i].index;
		check_delivery(batch, i);
		if (i > 0)
			assert_true(owner[0].uid > batch->targets[i - 1].owner.uid ||
				    (owner->uid == batch->targets[i - 1].owner.uid &&
				     owner->gid >= batch->targets[i - 1].owner.gid));
	}
	assert_int_equal(found, wanted);
}

static unsigned indices_of(const struct local_batch *batch, size_t first, size_t end)
{
	unsigned found = 0;

	for (size_t i = first; i < end; i++)
		found |= 1U << batch->targets[i].index;
	return found;
}

static bool may_go(void *context, struct local_target *target)
{
	return (*(unsigned *)context >> target->index & 1) != 0;
}

static void check_kept(size_t number, size_t count)
{
	for (unsigned wanted = 0; wanted < 1U << count; wanted++) {
		struct local_batch batch = new_batch(number, count);

		check_batch(&batch, (1U << count) - 1);
		local_batch_keep(&batch, may_go, &wanted);
		check_batch(&batch, wanted);
		local_batch_clear(&batch);
		assert_true(batch.targets == NULL && batch.group.deliveries == NULL);
		assert_true(batch.group.owners == NULL && batch.group.count == 0);
	}
}

static void check_split(size_t number, size_t count)
{
	for (size_t end = 0; end <= count; end++) {
		struct local_batch batch = new_batch(number, count);
		unsigned head = indices_of(&batch, 0, end);
		unsigned tail = indices_of(&batch, end, count);
		struct local_batch rest = local_batch_split(&batch, end);

		check_batch(&batch, head);
		check_batch(&rest, tail);
		assert_int_equal(rest.targets != NULL, end < count);
		local_batch_clear(&batch);
		local_batch_clear(&rest);
	}
}

static void batches_are_kept_and_split_by_owner(void **state)
{
	(void)state;
	make_jobs();
	for (size_t count = 0, numbers = 1; count <= MOST; count++, numbers *= COUNT_OF(OWNER))
		for (size_t number = 0; number < numbers; number++) {
			check_kept(number, count);
			check_split(number, count);
		}
}

/* Deliveries [FIRST, END) of COUNT, the one of recipient 1 moved elsewhere. */
static void check_finished(size_t first, size_t end, size_t count, bool is_lost)
{
	static size_t self[] = {0, 1, 2, 3, 4};
	struct local_batch batch = new_batch(0, count);

	memset(&play, 0, sizeof play);
	for (size_t i = 0; i < count; i++) {
		batch.targets[i].entry = i == 1 ? NULL : &entries[0];
		batch.targets[i].index = i;
	}
	entries[0].first = self;
	entries[0].left = MOST;
	local_batch_finish(&batch, first, end, is_lost);
	for (size_t i = 0; i < count; i++) {
		bool is_done = i >= first && i < end && i != 1;

		assert_int_equal(play.is_reported[i], is_done && !is_lost);
		if (play.is_reported[i])
			assert_ptr_equal(play.why[i], &batch.group.deliveries[i].verdict);
	}
	assert_int_equal(entries[0].left, MOST - (end - first) + (first <= 1 && 1 < end));
	if (first > 1) {
		local_batch_tell(&batch, first, end);
		assert_int_equal(play.told, end - first);
	}
	local_batch_clear(&batch);
}

static void a_part_is_reported_given_up_and_told(void **state)
{
	(void)state;
	make_jobs();
	for (size_t count = 0; count <= MOST; count++)
		for (size_t first = 0; first <= count; first++)
			for (size_t end = first; end <= count; end++) {
				check_finished(first, end, count, false);
				check_finished(first, end, count, true);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_longest_is_first),
		cmocka_unit_test(each_recipient_is_reported_with_his_mailbox),
		cmocka_unit_test(batches_are_kept_and_split_by_owner),
		cmocka_unit_test(a_part_is_reported_given_up_and_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
