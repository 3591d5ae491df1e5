// SPDX-License-Identifier: ISC
/* What "send" tells of its queue: when a survey of the disk is made, and what an answer has of it.
 */
#include "manager/link/status.h"
#include "queue/listing/survey.h"
#include "told_helpers.h"
#include "unit/fake_loop.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* In the place of queue/listing/survey.h: one that has so many steps, then this end. */
struct listing_survey {
	unsigned steps;
	int64_t wanted_us;
};

static unsigned survey_steps;
static int survey_end;
static unsigned surveys;
static struct listing_survey_place places[STATUS_PLACES_MAX + 1];
static struct listing_survey_result survey_result;

struct listing_survey *listing_survey_new(struct queue_store *store, const char *const *services,
					  size_t service_count)
{
	struct listing_survey *survey = calloc(1, sizeof *survey);

	(void)store;
	assert_int_equal(service_count, 1);
	assert_string_equal(services[0], "box");
	assert_non_null(survey);
	survey->steps = survey_steps;
	surveys++;
	return survey;
}

int listing_survey_step(struct listing_survey *survey)
{
	fake_pass(SECOND_US / 1000);
	return survey->steps > 0 ? (survey->steps--, 1) : survey_end;
}

const struct listing_survey_result *listing_survey_result(const struct listing_survey *survey)
{
	(void)survey;
	return &survey_result;
}

static const struct listing_survey_found found_on_disk = {.id = {7, 1000}};

void listing_survey_look_for(struct listing_survey *survey, int64_t born_us)
{
	survey->wanted_us = born_us;
}

size_t listing_survey_found(const struct listing_survey *survey,
			    const struct listing_survey_found **found_out)
{
	*found_out = &found_on_disk;
	return survey->wanted_us == found_on_disk.id.born_us;
}

void listing_survey_free(struct listing_survey *survey)
{
	free(survey);
}

static struct status *status;
static size_t described; /* bytes that are known in memory */

static void describe(void *context, struct buffer *out)
{
	(void)context;
	if (described == 0)
		return;
	buffer_append_string(out,
			     buffer_data(out)[out->length - 1] == '{' ? "\"m\":\"" : ",\"m\":\"");
	memset(buffer_reserve(out, described), 'x', described);
	buffer_commit(out, described);
	buffer_append_byte(out, '"');
}

static size_t services_of(void *context, const char *const **names_out)
{
	static const char *const names[] = {"box"};

	(void)context;
	*names_out = names;
	return 1;
}

static unsigned message_lines; /* of ten bytes, with their newline */

static void describe_message(void *context, int64_t born_us,
			     const struct listing_survey_found *found, size_t count,
			     void (*each)(void *receiver, struct str line), void *receiver)
{
	char line[32];

	(void)context;
	snprintf(line, sizeof line, "born %lld", (long long)born_us);
	each(receiver, str_from(line));
	for (size_t i = 0; i < count; i++) {
		snprintf(line, sizeof line, "found %llu", (unsigned long long)found[i].id.number);
		each(receiver, str_from(line));
	}
	for (unsigned i = 0; i < message_lines; i++) {
		snprintf(line, sizeof line, "line%05u", i);
		each(receiver, str_from(line));
	}
}

static const struct status_handler handler = {describe, describe_message, services_of};

static int begin_status(void **state)
{
	(void)state;
	fake_begin(1);
	survey_steps = 0;
	survey_end = 0;
	surveys = told_count = 0;
	described = 0;
	message_lines = 0;
	survey_result = (struct listing_survey_result){.places = places};
	status = status_new(NULL, NULL, NULL, &handler, NULL);
	return 0;
}

static int end_status(void **state)
{
	(void)state;
	status_free(status);
	buffer_clear(&told_body);
	return 0;
}

static bool ask_about(uint32_t question, const char *message)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, question);
	pack_str(&body, str_from(message));
	return status_ask(status, "noded", buffer_view(&body));
}

static void ask(uint32_t question)
{
	assert_true(ask_about(question, ""));
}

/* The text of the last answer. */
static const char *answer(uint32_t question)
{
	static char text[64 * 1024];
	struct unpack body = {buffer_view(&told_body), false};
	struct str told;

	assert_int_equal(told_type, IPC_JOB_STATUS_IS);
	assert_string_equal(told_service, "noded");
	assert_int_equal(unpack_u32(&body), question);
	told = unpack_str(&body);
	assert_true(unpack_is_whole(&body) && told.length < sizeof text);
	memcpy(text, told.data, told.length);
	text[told.length] = '\0';
	return text;
}

/* Until nothing more is due within a minute. */
static void play_all(void)
{
	while (fake_timers() > 0)
		fake_play_timer();
}

static void an_answer_has_a_survey(void **state)
{
	(void)state;
	places[0] = (struct listing_survey_place){"arrive", 2};
	places[1] = (struct listing_survey_place){"submit", 0};
	places[2] = (struct listing_survey_place){"local box", 3};
	survey_result.place_count = 3;
	survey_result.messages = 5;
	survey_result.bytes = 77;
	survey_result.unread = 1;
	survey_result.oldest_us = 1700000000 * (int64_t)SECOND_US;
	survey_steps = 100;
	ask(7);
	assert_int_equal(told_count, 0);
	play_all();
	assert_int_equal(told_count, 1);
	assert_non_null(strstr(answer(7),
			       "\"messages\":5,\"bytes\":77,\"oldest\":\"2023-11-14T22:13:20Z\","
			       "\"unread\":1,\"places\":[{\"name\":\"arrive\",\"messages\":2},"
			       "{\"name\":\"local box\",\"messages\":3}]}"));
}

static void a_new_survey_serves_all_who_ask(void **state)
{
	(void)state;
	survey_steps = 10;
	ask(1);
	ask(2);
	play_all();
	assert_int_equal(told_count, 2);
	ask(3);
	play_all();
	assert_int_equal(told_count, 3);
	assert_int_equal(surveys, 1);
	fake_pass(STATUS_KEPT_US);
	ask(4);
	play_all();
	assert_int_equal(surveys, 2);
}

/* Who asks gets what is in memory, and later a survey, however long it takes. */
static void nobody_waits_long_for_a_survey(void **state)
{
	(void)state;
	described = 3;
	survey_steps = 5000;
	ask(1);
	fake_advance(STATUS_PATIENCE_US + SECOND_US / 100);
	assert_int_equal(told_count, 1);
	assert_string_equal(answer(1), "{\"m\":\"xxx\"}");
	play_all();
	assert_int_equal(surveys, 1);
	ask(2);
	play_all();
	assert_non_null(strstr(answer(2), "\"messages\":0"));
	assert_int_equal(surveys, 1);
}

static void a_disk_that_fails_is_no_survey(void **state)
{
	(void)state;
	survey_end = -EIO;
	ask(1);
	play_all();
	assert_string_equal(answer(1), "{}");
	survey_end = 0;
	ask(2);
	play_all();
	assert_non_null(strstr(answer(2), "\"messages\":0"));
}

static void after_the_stop_nothing_is_read(void **state)
{
	(void)state;
	survey_steps = 1000;
	ask(1);
	status_stop(status);
	ask(2);
	play_all();
	assert_int_equal(told_count, 2);
	assert_string_equal(answer(2), "{}");
	assert_int_equal(surveys, 1);
	assert_false(status_ask(status, "noded", STR("x")));
}

/* 3e8: the birth of what is on the disk, 1000 microseconds. */
static void a_message_is_looked_for(void **state)
{
	(void)state;
	survey_steps = 10;
	assert_true(ask_about(1, "9-3e8"));
	play_all();
	assert_string_equal(answer(1), "{\"message\":{\"searched\":true,\"lines\":[\"born 1000\","
				       "\"found 7\"]}}");
	assert_true(ask_about(2, "9-3e9"));
	play_all();
	assert_string_equal(answer(2),
			    "{\"message\":{\"searched\":true,\"lines\":[\"born 1001\"]}}");
	assert_int_equal(surveys, 2);
	ask(3); /* by the survey that has looked for it */
	play_all();
	assert_int_equal(surveys, 2);
	assert_false(ask_about(4, "9"));
	assert_false(ask_about(4, "x"));
}

/* A survey that has begun for others begins anew; while one message is looked for, others are not.
 */
static void a_search_takes_its_time(void **state)
{
	(void)state;
	survey_steps = 5000;
	ask(1);
	assert_true(ask_about(2, "9-3e8"));
	assert_int_equal(surveys, 2);
	assert_true(ask_about(3, "9-3e9"));
	assert_int_equal(surveys, 2);
	fake_advance(STATUS_PATIENCE_US + SECOND_US / 100);
	assert_int_equal(told_count, 3);
	assert_string_equal(answer(3),
			    "{\"message\":{\"searched\":false,\"lines\":[\"born 1001\"]}}");
	assert_true(ask_about(4, "9-3e8"));
	fake_advance(STATUS_PATIENCE_US + SECOND_US / 100);
	assert_string_equal(answer(4), "{\"message\":{\"searched\":false,\"lines\":[\"born 1000\","
				       "\"found 7\"]}}");
}

static void the_latest_lines_are_told(void **state)
{
	(void)state;
	for (unsigned more = 0; more <= 1; more++) {
		message_lines = STATUS_LINES_MAX / 10 - 1 + more; /* and that of its birth */
		assert_true(ask_about(1, "9-3e9"));
		play_all();
		assert_int_equal(strstr(answer(1), "born 1001") != NULL, more == 0);
		assert_non_null(strstr(answer(1), "\"line00001\""));
	}
}

static void askers_and_answers_have_bounds(void **state)
{
	(void)state;
	survey_steps = 5000;
	for (uint32_t i = 0; i < STATUS_ASKERS_MAX; i++)
		ask(i);
	assert_int_equal(told_count, 0);
	ask(STATUS_ASKERS_MAX);
	assert_int_equal(told_count, STATUS_ASKERS_MAX);
	play_all();
	assert_int_equal(told_count, STATUS_ASKERS_MAX + 1);
	survey_result.place_count = STATUS_PLACES_MAX + 1;
	for (size_t i = 0; i < survey_result.place_count; i++) {
		snprintf(places[i].name, sizeof places[i].name, "p%zu", i);
		places[i].messages = 1;
	}
	ask(1);
	play_all();
	assert_non_null(strstr(answer(1), "\"p63\""));
	assert_null(strstr(answer(1), "\"p64\""));
	survey_result.place_count = 0;
	described = 0;
	ask(2);
	play_all();
	described = IPC_JOB_STATUS_MAX - strlen(answer(2)) - strlen(",\"m\":\"\"");
	for (unsigned more = 0; more <= 1; more++, described++) {
		ask(3);
		play_all();
		assert_int_equal(strcmp(answer(3),
					"{\"problem\":\"what is known of the queue is too "
					"long\"}") == 0,
				 more == 1);
	}
}

int main(void)
{
#define SCENE(name) cmocka_unit_test_setup_teardown(name, begin_status, end_status)
	const struct CMUnitTest tests[] = {
		SCENE(an_answer_has_a_survey),         SCENE(a_new_survey_serves_all_who_ask),
		SCENE(nobody_waits_long_for_a_survey), SCENE(a_disk_that_fails_is_no_survey),
		SCENE(after_the_stop_nothing_is_read), SCENE(a_message_is_looked_for),
		SCENE(a_search_takes_its_time),        SCENE(the_latest_lines_are_told),
		SCENE(askers_and_answers_have_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
