// SPDX-License-Identifier: ISC
/*
 * The cache of policies against a plain model: questions of each rank, outcomes of each kind,
 * time; of a few domains all that may follow, of many which look-ups wait for others. What is asked
 * and answered, in which order, what is on disk and what an operator is shown must agree after each
 * step. (test_sts_cache.c has clocks that are set.)
 */
#include "base/panic.h"
#include "fake_loop.h"
#include "log/event.h"
#include "os/clock.h"
#include "policy/sts/internal.h"
#include "policy/sts/store.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS = 900, REQUESTS = 4, SEEDS = 300, STEPS = 700 };

/* --- what is played --- */

struct sts_lookup {
	size_t domain;
	void (*done)(void *context, const struct sts_lookup_result *result);
	void *context;
	struct sts_lookup *next;
};

struct disk_cache {
	int unused;
};

static struct {
	struct disk_cache disk_cache;
	struct sts_cache *cache;
	struct sts_lookup *lookups;
	char files[DOMAINS][200]; /* on the disk_cache; "": none */
	char begun[20000];        /* the look-ups of this step: "3:id 7: " */
	size_t domains;
} world;

static size_t domain_of(const char *name)
{
	size_t number;

	assert_int_equal(sscanf(name, "d%zu.test", &number), 1);
	assert_true(number < world.domains);
	return number;
}

static size_t domain_of_str(struct str name)
{
	char text[40] = "";

	assert_true(name.length < sizeof text);
	memcpy(text, name.data, name.length);
	return domain_of(text);
}

int disk_cache_open(struct os_loop *loop, const char *path, struct disk_cache **disk_cache_out)
{
	(void)loop;
	assert_string_equal(path, "/disk_cache");
	*disk_cache_out = &world.disk_cache;
	return 0;
}

int disk_cache_each(struct disk_cache *disk_cache, size_t size_max,
		    void (*each)(void *context, struct str name, struct str text), void *context)
{
	(void)disk_cache;
	assert_int_equal(size_max, STS_STORE_SIZE_MAX);
	for (size_t i = 0; i < world.domains; i++) {
		char name[40];

		snprintf(name, sizeof name, "d%zu.test", i);
		if (world.files[i][0] != '\0')
			each(context, str_from(name), str_from(world.files[i]));
	}
	return 0;
}

void disk_cache_put(struct disk_cache *disk_cache, struct str name, struct str text)
{
	(void)disk_cache;
	assert_true(text.length < sizeof world.files[0]);
	snprintf(world.files[domain_of_str(name)], sizeof world.files[0], STR_FORMAT,
		 STR_ARGUMENTS(text));
}

void disk_cache_remove(struct disk_cache *disk_cache, struct str name)
{
	(void)disk_cache;
	world.files[domain_of_str(name)][0] = '\0';
}

void disk_cache_close(struct disk_cache *disk_cache)
{
	assert_ptr_equal(disk_cache, &world.disk_cache);
}

struct sts_lookup *
sts_lookup_new(struct dns_resolver *resolver, struct https *https, const char *domain,
	       const char *known,
	       void (*done)(void *context, const struct sts_lookup_result *result), void *context)
{
	struct sts_lookup *lookup = memory_alloc_zero(1, sizeof *lookup);

	(void)resolver;
	(void)https;
	*lookup = (struct sts_lookup){domain_of(domain), done, context, world.lookups};
	world.lookups = lookup;
	snprintf(world.begun + strlen(world.begun), sizeof world.begun - strlen(world.begun),
		 "%zu:%s ", lookup->domain, known);
	return lookup;
}

void sts_lookup_cancel(struct sts_lookup *lookup)
{
	struct sts_lookup **place = &world.lookups;

	if (lookup == NULL)
		return;
	while (*place != lookup)
		place = &(*place)->next;
	*place = lookup->next;
	free(lookup);
}

/* --- the model --- */

static struct domain {
	bool is_kept, is_used, is_looked_up, is_queued;
	unsigned id;
	int mode; /* of the policy */
	int64_t max_age_s, fetched_us, checked_us, wait_us;
	unsigned failures, rank;
	enum sts_problem problem;
	uint64_t asked_at, queued_at; /* turns, for the orders */
	struct request {
		struct sts_request request;
		bool is_open;
		unsigned done;
	} requests[REQUESTS];
} domains[DOMAINS];

static struct {
	uint64_t turns;
	int64_t sweep_us; /* the next one */
	char begun[20000];
	unsigned ids;
	size_t lookups;
	unsigned answers; /* expected in this step */
	unsigned answered;
} model;

static const char *const modes[] = {"none", "testing", "enforce"};

static bool is_valid_now(const struct domain *one)
{
	int64_t age_us = one->max_age_s * SECOND_US;

	return one->is_kept &&
	       os_clock_boot_us() < one->fetched_us + (age_us > MINUTE_US ? age_us : MINUTE_US);
}

static bool is_due_now(const struct domain *one)
{
	return os_clock_boot_us() >=
	       one->fetched_us + sts_policy_refresh_us(one->max_age_s * SECOND_US, one->is_used);
}

static void expect_lookup(struct domain *one)
{
	bool asks_for_change = is_valid_now(one) && !is_due_now(one);
	char known[20] = "";

	if (asks_for_change)
		snprintf(known, sizeof known, "%u", one->id);
	one->is_queued = false;
	one->is_looked_up = true;
	model.lookups++;
	snprintf(model.begun + strlen(model.begun), sizeof model.begun - strlen(model.begun),
		 "%zu:%s ", (size_t)(one - domains), known);
}

/* Higher ranks first, and each has some more places. */
static void expect_queued(void)
{
	for (unsigned rank = STS_RANKS; rank-- > 0;)
		while (model.lookups < 500 + rank * 50) {
			struct domain *first = NULL;

			for (size_t i = 0; i < world.domains; i++)
				if (domains[i].is_queued && domains[i].rank == rank &&
				    (first == NULL || domains[i].queued_at < first->queued_at))
					first = &domains[i];
			if (first == NULL)
				break;
			expect_lookup(first);
		}
}

static void expect_wish(struct domain *one, unsigned rank)
{
	if (one->is_looked_up || (one->is_queued && one->rank >= rank))
		return;
	one->is_queued = true;
	one->rank = rank;
	one->queued_at = model.turns++;
	expect_queued();
}

static void check_answer(const struct domain *one, const struct sts_answer *answer)
{
	char text[40];

	if (!is_valid_now(one)) {
		assert_int_equal(answer->kind, STS_NONE);
		assert_int_equal(answer->problem, one->problem);
		return;
	}
	assert_int_equal(answer->kind, STS_FOUND);
	assert_int_equal(answer->problem, one->problem);
	assert_string_equal(sts_mode_name(answer->mode), modes[one->mode]);
	snprintf(text, sizeof text, "%u", one->id);
	assert_true(str_equal(answer->id, str_from(text)));
	snprintf(text, sizeof text, "m%u.test *.n.test", one->id);
	assert_true(str_equal(answer->patterns, one->mode == 0 ? STR("") : str_from(text)) ||
		    str_equal(answer->patterns, str_from(text)));
	assert_int_equal(answer->until_us,
			 os_clock_wall_us() - os_clock_boot_us() + one->fetched_us +
				 (one->max_age_s > 60 ? one->max_age_s : 60) * SECOND_US);
}

static void on_cache_answer(void *context, const struct sts_answer *answer)
{
	struct request *request = context;

	request->done++;
	request->is_open = false;
	model.answered++;
	check_answer(&domains[(size_t)((char *)request - (char *)domains) / sizeof *domains],
		     answer);
}

/* After each step. */
static void check_step(void)
{
	assert_string_equal(world.begun, model.begun);
	assert_int_equal(model.answered, model.answers);
	world.begun[0] = model.begun[0] = '\0';
	model.answered = model.answers = 0;
	assert_int_equal(world.cache->lookups, model.lookups);
}

/* --- what may happen --- */

static void ask_cache(size_t i)
{
	struct domain *one = &domains[i];
	unsigned rank = fake_random(4) > 0 ? 0 : fake_random(STS_RANKS);
	struct request *request = NULL;
	char name[40];

	for (size_t n = 0; n < REQUESTS; n++)
		if (!one->requests[n].is_open)
			request = &one->requests[n];
	if (request == NULL)
		return;
	request->request = (struct sts_request){
		.done = on_cache_answer, .context = request, .rank = (enum sts_rank)rank};
	request->done = 0;
	request->is_open = true;
	one->is_used = true;
	one->asked_at = model.turns++;
	if (is_valid_now(one)) {
		if (os_clock_boot_us() >= one->wait_us &&
		    (one->checked_us == 0 || os_clock_boot_us() - one->checked_us >= HOUR_US))
			expect_wish(one, rank);
		model.answers++;
	} else if (!one->is_looked_up && !one->is_queued && os_clock_boot_us() < one->wait_us) {
		model.answers++;
	} else {
		expect_wish(one, rank);
	}
	snprintf(name, sizeof name, "d%zu.test", i);
	sts_cache_ask(world.cache, str_from(name), &request->request);
	check_step();
}

static void give_up_request(size_t i)
{
	struct request *request = &domains[i].requests[fake_random(REQUESTS)];

	if (!request->is_open)
		return;
	sts_request_cancel(&request->request);
	request->is_open = false;
	assert_int_equal(request->done, 0);
	sts_request_cancel(&request->request);
	check_step();
}

static bool has_requests(const struct domain *one)
{
	for (size_t n = 0; n < REQUESTS; n++)
		if (one->requests[n].is_open)
			return true;
	return false;
}

static void expect_fetched(struct domain *one)
{
	static const int64_t ages_s[] = {0, 60, 61, 3600, 86400, 7 * 86400};

	one->is_kept = true;
	one->id = ++model.ids;
	one->mode = (int)fake_random(3);
	one->max_age_s = ages_s[fake_random(6)];
	one->fetched_us = os_clock_boot_us();
	one->is_used = has_requests(one);
	one->asked_at = model.turns++;
}

static void expect_settled(struct domain *one)
{
	one->checked_us = os_clock_boot_us();
	one->failures = 0;
	one->problem = STS_PROBLEM_NONE;
}

static void expect_outcome(struct domain *one, const struct sts_lookup_result *result)
{
	int64_t pause_us = result->ttl * SECOND_US;

	one->is_looked_up = false;
	model.lookups--;
	switch (result->status) {
	case STS_LOOKUP_FETCHED:
		expect_settled(one);
		expect_fetched(one);
		break;
	case STS_LOOKUP_SAME:
		expect_settled(one);
		break;
	case STS_LOOKUP_NO_RECORD:
		expect_settled(one);
		pause_us = pause_us < 5 * MINUTE_US ? 5 * MINUTE_US : pause_us;
		one->wait_us = os_clock_boot_us() + (pause_us > HOUR_US ? HOUR_US : pause_us);
		break;
	case STS_LOOKUP_NO_ANSWER:
		one->wait_us = os_clock_boot_us() + MINUTE_US;
		break;
	case STS_LOOKUP_FAILED:
		pause_us = 5 * MINUTE_US;
		for (unsigned i = 0; i < one->failures && pause_us < HOUR_US; i++)
			pause_us *= 2;
		one->failures++;
		one->problem = result->problem;
		one->wait_us = os_clock_boot_us() + (pause_us < HOUR_US ? pause_us : HOUR_US);
		break;
	}
	for (size_t n = 0; n < REQUESTS; n++)
		model.answers += one->requests[n].is_open;
}

static void end_some_lookup(void)
{
	static char text[200], id[20];
	struct sts_lookup *lookup = world.lookups, copy;
	struct sts_lookup_result result = {.status = (enum sts_lookup_status)fake_random(5),
					   .ttl = fake_random(8000),
					   .id = "9",
					   .reason = "no reason",
					   .problem = (enum sts_problem)(1 + fake_random(2))};
	struct domain *one;

	for (uint32_t skip = fake_random(5); lookup != NULL && skip > 0 && lookup->next != NULL;
	     skip--)
		lookup = lookup->next;
	if (lookup == NULL)
		return;
	one = &domains[lookup->domain];
	expect_outcome(one, &result);
	if (result.status == STS_LOOKUP_FETCHED) {
		snprintf(text, sizeof text,
			 "version: STSv1\nmode: %s\nmx: m%u.test\nmx: *.n.test\nmax_age: %lld\n",
			 modes[one->mode], one->id, (long long)one->max_age_s);
		snprintf(id, sizeof id, "%u", one->id);
		result.id = id;
		result.text = str_from(text);
		assert_null(sts_policy_parse(result.text, &result.policy));
	}
	copy = *lookup;
	sts_lookup_cancel(lookup);
	expect_queued();
	copy.done(copy.context, &result);
	check_step();
}

/* Those with a policy, the one that was not asked for the longest first. */
static struct domain *next_kept(uint64_t after)
{
	struct domain *next = NULL;

	for (size_t i = 0; i < world.domains; i++)
		if (domains[i].is_kept && domains[i].asked_at > after &&
		    (next == NULL || domains[i].asked_at < next->asked_at))
			next = &domains[i];
	return next;
}

static void expect_sweep(void)
{
	unsigned begun = 0;

	for (struct domain *one = next_kept(0); one != NULL; one = next_kept(one->asked_at)) {
		if (one->is_looked_up || one->is_queued)
			continue;
		if (!is_valid_now(one)) {
			if (!has_requests(one))
				one->is_kept = false;
		} else if (is_due_now(one) && os_clock_boot_us() >= one->wait_us && begun < 50 &&
			   model.lookups < 250) {
			begun++;
			expect_wish(one, 0);
		}
	}
}

static void let_cache_time_pass(void)
{
	static const int64_t spans_us[] = {SECOND_US, MINUTE_US, 5 * MINUTE_US, HOUR_US, DAY_US};
	/* exactly so long, or a moment less, or some more */
	int64_t more_us = fake_random(2) == 0 ? (int64_t)fake_random(2) - 1 : fake_random(1000000);
	int64_t until_us = os_clock_boot_us() + spans_us[fake_random(5)] + more_us;

	/* no sweep is missed; most are without anything to do */
	while (model.sweep_us <= until_us) {
		fake_pass(model.sweep_us - os_clock_boot_us());
		expect_sweep();
		fake_advance(0);
		check_step();
		model.sweep_us += MINUTE_US;
		if (until_us - model.sweep_us > 20 * MINUTE_US) { /* a machine that was suspended */
			fake_pass(until_us - model.sweep_us - 10 * MINUTE_US);
			model.sweep_us = os_clock_boot_us();
		}
	}
	fake_pass(until_us - os_clock_boot_us());
}

static void check_what_is_kept(void)
{
	for (size_t i = 0; i < world.domains; i++) {
		const struct domain *one = &domains[i];
		struct buffer out = {0};
		struct str patterns;
		char name[40], expected[200];

		snprintf(name, sizeof name, "d%zu.test", i);
		assert_int_equal(sts_cache_describe(world.cache, str_from(name), &out, &patterns),
				 one->is_kept);
		assert_int_equal(world.files[i][0] != '\0', one->is_kept);
		if (one->is_kept) {
			snprintf(expected, sizeof expected,
				 "version: STSv1\nmode: %s\nmx: m%u.test\nmx: *.n.test\nmax_age: "
				 "%lld",
				 modes[one->mode], one->id, (long long)one->max_age_s);
			buffer_append_byte(&out, '\0');
			assert_string_equal(buffer_data(&out), expected);
			snprintf(expected, sizeof expected, "id: %u\n", one->id);
			assert_memory_equal(world.files[i], expected, strlen(expected));
		}
		buffer_clear(&out);
	}
}

static void begin_world(uint64_t seed, size_t count)
{
	fake_begin(seed);
	memset(domains, 0, sizeof domains);
	memset(&model, 0, sizeof model);
	memset(&world, 0, sizeof world);
	world.domains = count;
	model.turns = 1;
	world.cache = sts_cache_new(NULL, NULL, NULL, "/disk_cache");
	fake_advance(0); /* the first sweep */
	model.sweep_us = os_clock_boot_us() + MINUTE_US;
}

static void end_world(void)
{
	check_what_is_kept();
	sts_cache_free(world.cache);
	assert_null(world.lookups);
	assert_int_equal(fake_timers(), 0);
}

static void few_domains(uint64_t seed)
{
	begin_world(seed, 1 + seed % 6);
	for (unsigned step = 0; step < STEPS; step++) {
		size_t i = fake_random((uint32_t)world.domains);

		switch (fake_random(8)) {
		case 0:
		case 1:
		case 2:
			ask_cache(i);
			break;
		case 3:
			give_up_request(i);
			break;
		case 4:
			let_cache_time_pass();
			break;
		default:
			end_some_lookup();
		}
	}
	end_world();
}

static void all_that_may_follow(void **state)
{
	(void)state;
	fake_seeds(SEEDS, few_domains);
}

/* All at once, of any rank; then they end, and are refreshed. */
static void many_domains(uint64_t seed)
{
	begin_world(seed, DOMAINS);
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < DOMAINS; i++)
			ask_cache((i * 7 + seed) % DOMAINS);
		for (unsigned n = 0; n < 400; n++) {
			give_up_request(fake_random(DOMAINS));
			end_some_lookup();
			ask_cache(fake_random(DOMAINS));
		}
		while (world.lookups != NULL)
			end_some_lookup();
		for (unsigned n = 0; n < 12; n++)
			let_cache_time_pass();
	}
	end_world();
}

static void who_waits_for_others(void **state)
{
	(void)state;
	fake_seeds(2, many_domains);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(all_that_may_follow, fake_tell_seed),
		cmocka_unit_test_teardown(who_waits_for_others, fake_tell_seed),
	};

	log_open("test", LOG_ERROR_LEVEL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
