// SPDX-License-Identifier: ISC
#include "policy/sts/cache.h"
#include "log/event.h"
#include "os/clock.h"
#include "policy/sts/internal.h"
#include "policy/sts/store.h"
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum {
	LOOKUPS_MAX = 500, /* at once; the others wait for their turn */
	RANK_MAX = 50,     /* besides, of each rank above the lowest */
	REFRESHES_MAX = 50 /* begun in a sweep */
};

static const int64_t CHECK_EVERY_US = HOUR_US;
static const int64_t NONE_LEAST_US = 5 * MINUTE_US;
static const int64_t NONE_MOST_US = HOUR_US;
static const int64_t NO_ANSWER_US = MINUTE_US;
static const int64_t FAILED_LEAST_US = 5 * MINUTE_US;
static const int64_t FAILED_MOST_US = HOUR_US;
static const int64_t SWEEP_US = MINUTE_US;

/* --- the policy of an entry --- */

static bool is_valid(const struct sts_entry *entry)
{
	return entry->is_kept && !sts_age_is_over(&entry->age);
}

static bool is_policy_due(const struct sts_entry *entry)
{
	return sts_age_is_due(&entry->age,
			      sts_policy_refresh_us(entry->policy.max_age_us, entry->is_used));
}

static void keep_stored_policy(struct sts_entry *entry, const struct sts_stored *stored)
{
	sts_entry_leave_list(entry);
	sts_policy_clear(&entry->policy);
	entry->policy = stored->policy;
	sts_age_begin(&entry->age, stored->fetched_us, stored->policy.max_age_us);
	memcpy(entry->id, stored->id, sizeof entry->id);
	entry->is_kept = true;
	entry->is_used = entry->requests != NULL;
	sts_entry_enter_list(entry);
	sts_entry_make_room(entry);
}

static void save_stored_policy(const struct sts_entry *entry, const struct sts_stored *stored)
{
	struct buffer file = {0};

	if (entry->cache->disk_cache == NULL)
		return;
	sts_store_format(stored, &file);
	disk_cache_put(entry->cache->disk_cache, str_from(entry->domain), buffer_view(&file));
	buffer_clear(&file);
}

static void answer_sts_request(const struct sts_entry *entry, struct sts_request *request)
{
	struct sts_answer known = {.kind = STS_NONE, .problem = entry->problem};

	if (is_valid(entry)) {
		known.kind = STS_FOUND;
		known.mode = entry->policy.mode;
		known.until_us = sts_age_end_us(&entry->age);
		known.id = str_from(entry->id);
		known.patterns = str_from(entry->policy.patterns);
	}
	request->done(request->context, &known);
}

static void answer_sts_requests(struct sts_entry *entry)
{
	while (entry->requests != NULL) {
		struct sts_request *request = entry->requests;

		sts_request_cancel(request);
		answer_sts_request(entry, request);
	}
}

/* --- lookups --- */

static void take_looked_up_policy(struct sts_entry *entry, const struct sts_lookup_result *result)
{
	struct sts_stored stored = {
		.fetched_us = os_clock_wall_us(), .text = result->text, .policy = result->policy};

	snprintf(stored.id, sizeof stored.id, "%s", result->id);
	log_event(EVENT_POLICY_FETCHED, log_string(domain, entry->domain),
		  log_string(mode, sts_mode_name(result->policy.mode)),
		  log_string(policy, result->id),
		  log_number(seconds, result->policy.max_age_us / SECOND_US));
	save_stored_policy(entry, &stored);
	keep_stored_policy(entry, &stored);
}

static void take_lookup_failure(struct sts_entry *entry, const struct sts_lookup_result *result)
{
	int64_t pause_us = FAILED_LEAST_US << (entry->failures < 8 ? entry->failures : 8);

	log_event_rated(EVENT_POLICY_FAILED, log_string(domain, entry->domain),
			log_string(policy, result->id), log_string(reason, result->reason));
	entry->failures++;
	entry->problem = result->problem;
	entry->wait_us =
		os_clock_boot_us() + (pause_us < FAILED_MOST_US ? pause_us : FAILED_MOST_US);
}

static void wait_for_record(struct sts_entry *entry, uint32_t ttl)
{
	int64_t pause_us = ttl * SECOND_US;

	if (pause_us < NONE_LEAST_US)
		pause_us = NONE_LEAST_US;
	if (pause_us > NONE_MOST_US)
		pause_us = NONE_MOST_US;
	entry->wait_us = os_clock_boot_us() + pause_us;
}

/* Without a failure. */
static void settle_checked_entry(struct sts_entry *entry)
{
	entry->checked_us = os_clock_boot_us();
	entry->failures = 0;
	entry->problem = STS_PROBLEM_NONE;
}

static void begin_queued(struct sts_cache *cache);

static void on_policy_lookup_result(void *context, const struct sts_lookup_result *result)
{
	struct sts_entry *entry = context;
	struct sts_cache *cache = entry->cache;

	entry->lookup = NULL;
	cache->lookups--;
	switch (result->status) {
	case STS_LOOKUP_FETCHED:
		settle_checked_entry(entry);
		take_looked_up_policy(entry, result);
		break;
	case STS_LOOKUP_SAME:
		settle_checked_entry(entry);
		break;
	case STS_LOOKUP_NO_RECORD: /* a known policy stays valid: RFC 8461 section 5.1 */
		settle_checked_entry(entry);
		wait_for_record(entry, result->ttl);
		break;
	case STS_LOOKUP_NO_ANSWER:
		entry->wait_us = os_clock_boot_us() + NO_ANSWER_US;
		break;
	case STS_LOOKUP_FAILED:
		take_lookup_failure(entry, result);
		break;
	}
	answer_sts_requests(entry);
	begin_queued(cache);
}

static void begin_policy_lookup(struct sts_entry *entry)
{
	struct sts_cache *cache = entry->cache;
	const char *known = is_valid(entry) && !is_policy_due(entry) ? entry->id : "";

	cache->lookups++;
	entry->lookup = sts_lookup_new(cache->resolver, cache->https, entry->domain, known,
				       on_policy_lookup_result, entry);
}

static void begin_queued(struct sts_cache *cache)
{
	for (size_t rank = STS_RANKS; rank-- > 0;)
		while (cache->queues[rank] != NULL &&
		       cache->lookups < LOOKUPS_MAX + rank * RANK_MAX) {
			struct sts_entry *entry = cache->queues[rank];

			sts_entry_leave_queue(entry);
			begin_policy_lookup(entry);
		}
}

/* Also if it waits already, with a lower rank. */
static void look_up(struct sts_entry *entry, enum sts_rank rank)
{
	struct sts_cache *cache = entry->cache;

	if (entry->lookup != NULL || (entry->is_queued && entry->rank >= rank))
		return;
	sts_entry_leave_queue(entry);
	entry->rank = rank;
	entry->is_queued = true;
	DL_APPEND2(cache->queues[rank], entry, queue_previous, queue_next);
	begin_queued(cache);
}

static bool may_look_up(const struct sts_entry *entry)
{
	return os_clock_boot_us() >= entry->wait_us;
}

static bool is_check_due(const struct sts_entry *entry)
{
	return may_look_up(entry) &&
	       (entry->checked_us == 0 || os_clock_boot_us() - entry->checked_us >= CHECK_EVERY_US);
}

void sts_cache_ask(struct sts_cache *cache, struct str domain, struct sts_request *request)
{
	struct sts_entry *entry = sts_entry_find(cache, domain);

	if (entry == NULL)
		entry = sts_entry_add(cache, domain);
	sts_entry_leave_list(entry);
	sts_entry_enter_list(entry);
	entry->is_used = true;
	sts_age_settle(&entry->age);
	if (is_valid(entry)) {
		if (is_check_due(entry))
			look_up(entry, request->rank);
		answer_sts_request(entry, request);
		return;
	}
	if (entry->lookup == NULL && !entry->is_queued && !may_look_up(entry)) {
		answer_sts_request(entry, request);
		return;
	}
	request->entry = entry;
	DL_APPEND2(entry->requests, request, previous, next);
	look_up(entry, request->rank);
}

void sts_request_cancel(struct sts_request *request)
{
	if (request->entry == NULL)
		return;
	DL_DELETE2(request->entry->requests, request, previous, next);
	request->entry = NULL;
}

bool sts_cache_describe(struct sts_cache *cache, struct str domain, struct buffer *out,
			struct str *patterns_out)
{
	const struct sts_entry *entry = sts_entry_find(cache, domain);
	struct str patterns;
	struct str pattern;

	if (entry == NULL || !entry->is_kept)
		return false;
	patterns = str_from(entry->policy.patterns);
	*patterns_out = patterns;
	buffer_append_format(out, "version: STSv1\nmode: %s\n", sts_mode_name(entry->policy.mode));
	while (patterns.length > 0 && str_split(&patterns, ' ', &pattern))
		buffer_append_format(out, "mx: " STR_FORMAT "\n", STR_ARGUMENTS(pattern));
	buffer_append_format(out, "max_age: %lld",
			     (long long)(entry->policy.max_age_us / SECOND_US));
	return true;
}

/* --- time, and the disk --- */

/* Questions come before refreshes, which leave room for them. */
static void on_sweep(void *context)
{
	struct sts_cache *cache = context;
	struct sts_entry *entry;
	struct sts_entry *next;
	unsigned begun = 0;

	DL_FOREACH_SAFE2 (cache->kept.first, entry, next, next) {
		if (entry->lookup != NULL || entry->is_queued)
			continue;
		sts_age_settle(&entry->age);
		if (!is_valid(entry)) {
			if (sts_age_is_over_for_good(&entry->age) && entry->requests == NULL)
				sts_entry_forget_policy(entry);
		} else if (is_policy_due(entry) && may_look_up(entry) && begun < REFRESHES_MAX &&
			   cache->lookups < LOOKUPS_MAX / 2) {
			begun++;
			look_up(entry, STS_RANK_REMOTE);
		}
	}
	os_timer_start(cache->sweep, SWEEP_US);
}

/* What it says of a damaged file is not known, so the policy is fetched again. */
static void load_stored_policy(void *context, struct str name, struct str file)
{
	struct sts_cache *cache = context;
	struct sts_entry *entry;
	struct sts_stored stored;
	const char *problem;

	if (name.length > STS_DOMAIN_MAX)
		return;
	problem = sts_store_parse(file, &stored);
	entry = sts_entry_add(cache, name);
	if (problem == NULL) {
		keep_stored_policy(entry, &stored);
		return;
	}
	log_event(EVENT_POLICY_DAMAGED, log_str(domain, name), log_string(reason, problem));
	disk_cache_remove(cache->disk_cache, name);
	look_up(entry, STS_RANK_REMOTE);
}

static void open_policy_disk_cache(struct sts_cache *cache, struct os_loop *loop, const char *path)
{
	int error = disk_cache_open(loop, path, &cache->disk_cache);

	if (error == 0)
		error = disk_cache_each(cache->disk_cache, STS_STORE_SIZE_MAX, load_stored_policy,
					cache);
	if (error < 0)
		log_event(EVENT_DISK_CACHE_ERROR, log_string(directory, path), log_error(error));
}

struct sts_cache *sts_cache_new(struct os_loop *loop, struct dns_resolver *resolver,
				struct https *https, const char *path)
{
	struct sts_cache *cache = memory_alloc_zero(1, sizeof *cache);

	cache->resolver = resolver;
	cache->https = https;
	cache->sweep = os_timer_new(loop, on_sweep, cache);
	open_policy_disk_cache(cache, loop, path);
	os_timer_start(cache->sweep, 0);
	return cache;
}

void sts_cache_free(struct sts_cache *cache)
{
	if (cache == NULL)
		return;
	while (cache->kept.first != NULL)
		sts_entry_drop(cache->kept.first);
	while (cache->plain.first != NULL)
		sts_entry_drop(cache->plain.first);
	disk_cache_close(cache->disk_cache);
	os_timer_free(cache->sweep);
	free(cache);
}
