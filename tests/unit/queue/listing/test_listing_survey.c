// SPDX-License-Identifier: ISC
/* Counting a queue a little at a time, against what is known of its messages. */
#include "listing_scene.h"
#include "queue/listing/survey.h"
#include "test.h"
#include <stdio.h>
#include <unistd.h>

static unsigned steps;

static struct listing_survey *survey_all(void)
{
	static const char *const services[] = {"box", "not/a/service"};
	struct listing_survey *survey =
		listing_survey_new(listing_scene_store, services, COUNT_OF(services));
	int result;

	steps = 0;
	do
		result = listing_survey_step(survey);
	while (result > 0 && ++steps < 100000);
	assert_int_equal(result, 0);
	return survey;
}

static uint64_t count_at(const struct listing_survey_result *result, const char *name)
{
	for (size_t i = 0; i < result->place_count; i++)
		if (strcmp(result->places[i].name, name) == 0)
			return result->places[i].messages;
	fail_msg("no place %s", name);
	return 0;
}

static int count_number(void *context, uint64_t number)
{
	uint64_t *count = context;

	(void)number;
	(*count)++;
	return 0;
}

/* All names there, in one go. */
static uint64_t names_in(enum queue_folder folder, const char *name)
{
	uint64_t count = 0;

	assert_int_equal(
		queue_store_each(listing_scene_store, folder, name, count_number, NULL, &count), 0);
	return count;
}

static void each_place_has_its_messages(void **state)
{
	struct listing_survey *survey = survey_all();
	const struct listing_survey_result *result = listing_survey_result(survey);
	uint64_t at_stage[MAIL_STAGE_COUNT] = {0};
	uint64_t at_s5 = 0;
	int64_t oldest_us = INT64_MAX;

	(void)state;
	for (size_t i = 0; i < LISTING_SCENE_MESSAGES; i++) {
		if (listing_scene_messages[i].control == NULL)
			at_stage[listing_scene_messages[i].stage]++;
		else
			at_s5++;
		if (listing_scene_born(i) < oldest_us)
			oldest_us = listing_scene_born(i);
	}
	for (enum mail_stage stage = 0; stage < MAIL_STAGE_COUNT; stage++)
		assert_int_equal(count_at(result, mail_stage_name(stage)), at_stage[stage]);
	assert_true(at_s5 > 0 && names_in(QUEUE_REMOTE, NULL) > 0);
	assert_int_equal(count_at(result, "preprocessed"), at_s5);
	assert_int_equal(count_at(result, "remote"), names_in(QUEUE_REMOTE, NULL));
	for (size_t i = 0; i < result->place_count; i++)
		if (strncmp(result->places[i].name, "local ", 6) == 0)
			assert_int_equal(result->places[i].messages,
					 names_in(QUEUE_LOCAL, result->places[i].name + 6));
	assert_int_equal(result->messages, LISTING_SCENE_MESSAGES);
	assert_int_equal(result->oldest_us, oldest_us);
	assert_int_equal(result->unread, 0);
	assert_true(result->bytes > 0);
	listing_survey_free(survey);
}

/* No step looks at more than one name. */
static void no_step_takes_long(void **state)
{
	(void)state;
	listing_survey_free(survey_all());
	assert_true(steps >= LISTING_SCENE_MESSAGES + MAIL_STAGE_COUNT + 2);
	listing_survey_free(NULL);
}

/* Stages, those that are preprocessed, remote mail, and as many services as there is room for. */
static void places_have_a_bound(void **state)
{
	static const char *services[LISTING_SURVEY_PLACES_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(services); i++)
		services[i] = "none";
	for (size_t more = 0; more <= 1; more++) {
		size_t count = LISTING_SURVEY_PLACES_MAX - MAIL_STAGE_COUNT - 2 + more;
		struct listing_survey *survey =
			listing_survey_new(listing_scene_store, services, count);

		assert_int_equal(listing_survey_result(survey)->place_count,
				 LISTING_SURVEY_PLACES_MAX);
		listing_survey_free(survey);
	}
}

/* Messages of one birth; more than a survey has room for are only counted. */
static void a_message_is_found_by_its_birth(void **state)
{
	(void)state;
	for (size_t i = 0; i < LISTING_SCENE_MESSAGES; i++) {
		struct listing_survey *survey = listing_survey_new(listing_scene_store, NULL, 0);
		const struct listing_survey_found *found;
		size_t count = 0;
		size_t there;

		listing_survey_look_for(survey, listing_scene_born(i));
		while (listing_survey_step(survey) > 0)
			;
		there = listing_survey_found(survey, &found);
		for (size_t j = 0; j < LISTING_SCENE_MESSAGES; j++)
			count += listing_scene_born(j) == listing_scene_born(i);
		assert_int_equal(
			there, count < LISTING_SURVEY_FOUND_MAX ? count : LISTING_SURVEY_FOUND_MAX);
		assert_int_equal(found[0].id.born_us, listing_scene_born(i));
		assert_int_equal(found[0].is_queued, listing_scene_messages[i].control == NULL);
		listing_survey_free(survey);
	}
}

static void what_is_unreadable_is_counted(void **state)
{
	struct listing_survey *survey;
	char path[QUEUE_PATH_SIZE];
	size_t i = 0;

	(void)state;
	while (listing_scene_messages[i].control == NULL)
		i++;
	queue_store_path(listing_scene_store, QUEUE_MESS, NULL, listing_scene_numbers[i], path);
	assert_int_equal(unlinkat(queue_store_directory(listing_scene_store), path, 0), 0);
	survey = survey_all();
	assert_int_equal(listing_survey_result(survey)->messages, LISTING_SCENE_MESSAGES);
	assert_int_equal(listing_survey_result(survey)->unread, 1);
	listing_survey_free(survey);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_has_its_messages),
		cmocka_unit_test(no_step_takes_long),
		cmocka_unit_test(places_have_a_bound),
		cmocka_unit_test(a_message_is_found_by_its_birth),
		cmocka_unit_test(what_is_unreadable_is_counted), /* last: it takes the data of one
								  */
	};

	return cmocka_run_group_tests(tests, listing_scene_open, listing_scene_close);
}
