// SPDX-License-Identifier: ISC
/* Quotas of a job's mailboxes, with a directory that answers when the test lets it. */
#include "base/panic.h"
#include "deliver/quotas.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static struct directory_quota_request *asked[4];
static size_t asked_count, cancelled, finished;

bool directory_is_served(const struct directory *directory)
{
	return directory != NULL;
}

void directory_find_quota(struct directory *directory, struct str address,
			  directory_quota_found *found, void *context,
			  struct directory_quota_request *request)
{
	(void)directory;
	(void)address;
	request->found = found;
	request->context = context;
	asked[asked_count++] = request;
}

void directory_quota_cancel(struct directory_quota_request *request)
{
	(void)request;
	cancelled++;
}

static void on_ready(void *context, void *owner)
{
	*(void **)context = owner;
}

static void on_given_up(void *context, void *owner)
{
	(void)context;
	(void)owner;
	finished++;
}

struct play {
	struct arena *arena;
	struct str addresses[3];
	struct deliver_quotas_wanted wanted;
	void *ready; /* the owner */
	struct deliver_quotas *quotas;
};

static void begin(struct play *play)
{
	asked_count = cancelled = finished = 0;
	*play = (struct play){.arena = arena_new()};
	play->wanted = (struct deliver_quotas_wanted){play, play->arena, play->addresses, 3, NULL};
	play->quotas = deliver_quotas_new(on_ready, on_given_up, &play->ready);
}

static void end(struct play *play)
{
	deliver_quotas_free(play->quotas);
	arena_free(play->arena);
}

static void answer(size_t i, enum directory_quota_answer kind, uint64_t bytes)
{
	asked[i]->found(asked[i]->context, kind, &(struct mail_quota){.bytes = bytes});
}

/* The service that was asked for is freed by a reload before the answers come. */
static void settings_of_the_time_of_asking_count(void **state)
{
	struct config_service *service = memory_alloc_zero(1, sizeof *service);
	char *text = memory_copy_string("5K,2");
	int directory;
	struct play play;

	(void)state;
	begin(&play);
	service->quota = text;
	deliver_quotas_find(play.quotas, (struct directory *)(void *)&directory, service,
			    &play.wanted);
	memset(text, 'x', 4);
	free(text);
	memset(service, 0, sizeof *service);
	free(service);
	assert_int_equal(asked_count, 3);
	answer(1, DIRECTORY_QUOTA_FOUND, 77);
	answer(0, DIRECTORY_QUOTA_NONE, 0);
	assert_null(play.ready);
	answer(2, DIRECTORY_QUOTA_UNKNOWN, 0);
	assert_ptr_equal(play.ready, &play);
	assert_true(play.wanted.quotas[0].is_counted);
	assert_int_equal(play.wanted.quotas[0].quota.bytes, 5120);
	assert_int_equal(play.wanted.quotas[0].quota.messages, 2);
	assert_int_equal(play.wanted.quotas[1].quota.bytes, 77);
	assert_false(play.wanted.quotas[2].is_counted);
	end(&play);
}

static void what_waits_is_finished(void **state)
{
	const struct config_service service = {.quota = "none"};
	int directory;
	struct play play;

	(void)state;
	begin(&play);
	deliver_quotas_find(play.quotas, (struct directory *)(void *)&directory, &service,
			    &play.wanted);
	end(&play);
	assert_int_equal(cancelled, 3);
	assert_int_equal(finished, 1);
	assert_null(play.ready);
}

static void nothing_is_asked_without_a_quota_or_a_directory(void **state)
{
	const struct config_service uncounted = {.quota = ""};
	const struct config_service counted = {.quota = "1G"};
	struct play play;

	(void)state;
	begin(&play);
	deliver_quotas_find(play.quotas, NULL, &uncounted, &play.wanted);
	assert_ptr_equal(play.ready, &play);
	assert_null(play.wanted.quotas);
	deliver_quotas_find(play.quotas, NULL, &counted, &play.wanted);
	assert_int_equal(play.wanted.quotas[2].quota.bytes, 1 << 30);
	assert_int_equal(asked_count, 0);
	end(&play);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_of_the_time_of_asking_count),
		cmocka_unit_test(what_waits_is_finished),
		cmocka_unit_test(nothing_is_asked_without_a_quota_or_a_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
