// SPDX-License-Identifier: ISC
/* Who of a job's recipients is tried in which transaction at which server, against a plain list of
 * what each has been told; and as many as a transaction may have. The helper's side is played here.
 */
#include "base/panic.h"
#include "deliver/remote/attempt/recipients.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { MOST = 250, PLAYS = 20000, FEW = 5, REPLIES = 4, SERVERS = 4 };

static uint64_t random_state;
static struct deliver_helper_recipient recipients[MOST];
static struct deliver_helper_job job;
static struct mail_verdict
	replies[REPLIES]; /* the engine's memory, which each transaction uses anew */

/* The model: what is true of each recipient, and the order in which they are tried. */
static struct {
	char reported[MOST][8]; /* the text of the report; "": none */
	char deferred[MOST][8]; /* the last reply of who was set aside */
	size_t queue[MOST], aside[MOST];
	size_t queue_count, aside_count;
} model;
static char reported[MOST][8];

static uint32_t random_below(uint32_t bound)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % bound);
}

void deliver_helper_report(struct deliver_helper_job *of, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	assert_ptr_equal(of, &job);
	assert_null(trigger);
	assert_true(index < job.recipient_count);
	assert_false(recipients[index].is_reported);
	recipients[index].is_reported = true;
	snprintf(reported[index], sizeof reported[index], "%.7s", verdict->text);
}

/* Those with a bit in DONE are reported already. */
static void begin_play(struct remote_recipients *tried, size_t count, unsigned done)
{
	memset(recipients, 0, sizeof recipients);
	memset(&model, 0, sizeof model);
	memset(reported, 0, sizeof reported);
	job = (struct deliver_helper_job){
		.recipients = recipients, .recipient_count = count, .arena = arena_new()};
	for (size_t i = 0; i < count; i++) {
		recipients[i].address = str_slice(&"abcdefgh"[i % 8], 1);
		recipients[i].original = str_slice(&"ABCDEFGH"[i % 8], i % 3 > 0);
		recipients[i].via = str_slice(&"stuvwxyz"[i % 8], i % 3 < 2 && i % 4 > 0);
		recipients[i].notify = (unsigned)i;
		recipients[i].is_reported = i < FEW && (done >> i & 1) != 0;
		if (!recipients[i].is_reported)
			model.queue[model.queue_count++] = i;
	}
	remote_recipients_init(tried, &job);
	assert_ptr_equal(tried->job, &job);
}

static void check_reports(void)
{
	for (size_t i = 0; i < job.recipient_count; i++)
		assert_string_equal(reported[i], model.reported[i]);
}

static void end_play(void)
{
	check_reports();
	arena_free(job.arena);
}

/* What was said of an original address stays; else it is the one that was mapped, if one was. */
static void check_original(struct str original, const struct deliver_helper_recipient *from)
{
	char mapped[] = "rfc822;x";

	if (from->original.length > 0 || from->via.length == 0) {
		assert_ptr_equal(original.data, from->original.data);
		assert_int_equal(original.length, from->original.length);
		return;
	}
	mapped[sizeof mapped - 2] = from->via.data[0];
	assert_true(str_equal(original, str_from(mapped)));
}

static void check_transaction(struct remote_recipients *tried, uint32_t most)
{
	size_t bound = most == 0 || most > 100 ? 100 : most;
	size_t wanted = model.queue_count < bound ? model.queue_count : bound;

	assert_int_equal(remote_recipients_has_more(tried), model.queue_count > 0);
	assert_int_equal(remote_recipients_next(tried, most), wanted);
	remote_recipients_begin(tried, most);
	assert_int_equal(tried->count, wanted);
	assert_false(tried->is_anew);
	for (size_t i = 0; i < wanted; i++) {
		const struct smtp_client_recipient *to = &tried->transaction[i];
		const struct deliver_helper_recipient *from = &recipients[model.queue[i]];

		assert_ptr_equal(to->address.data, from->address.data);
		check_original(to->original, from);
		assert_int_equal(to->notify, from->notify);
		assert_true(to->verdict == NULL && to->again == SMTP_CLIENT_LATER);
		assert_false(to->is_slower || to->is_passed_on || to->is_timed || to->is_asked ||
			     to->is_accepted);
	}
}

/* The engine's part: one of few replies for each. */
static void answer_transaction(struct remote_recipients *tried)
{
	for (size_t i = 0; i < REPLIES; i++)
		snprintf(replies[i].text, sizeof replies[i].text, "%u", random_below(1000000));
	for (size_t i = 0; i < tried->count; i++) {
		struct smtp_client_recipient *to = &tried->transaction[i];

		to->verdict = &replies[random_below(REPLIES)];
		to->again = (enum smtp_client_again)random_below(4);
		to->is_slower = to->again == SMTP_CLIENT_ELSEWHERE && random_below(2) == 0;
		to->is_passed_on = random_below(2) == 0;
		to->is_timed = random_below(2) == 0;
	}
}

static bool is_again(const struct smtp_client_recipient *to)
{
	return to->again == SMTP_CLIENT_HERE || to->again == SMTP_CLIENT_ANEW;
}

/* The same for the model; true: a new session is needed. */
static bool settle_model(const struct remote_recipients *tried, bool elsewhere, bool keeps_slower)
{
	size_t rest[MOST];
	size_t rest_count = 0;
	bool is_anew = false;

	for (size_t i = 0; i < tried->count; i++) {
		const struct smtp_client_recipient *to = &tried->transaction[i];
		size_t number = model.queue[i];

		is_anew |= to->again == SMTP_CLIENT_ANEW;
		if (is_again(to)) {
			rest[rest_count++] = number;
		} else if (to->again == SMTP_CLIENT_ELSEWHERE && to->is_slower && keeps_slower) {
			continue;
		} else if (to->again == SMTP_CLIENT_ELSEWHERE && elsewhere) {
			model.aside[model.aside_count++] = number;
			snprintf(model.deferred[number], sizeof model.deferred[number], "%.7s",
				 to->verdict->text);
		} else {
			snprintf(model.reported[number], sizeof model.reported[number], "%.7s",
				 to->verdict->text);
		}
	}
	for (size_t i = tried->count; i < model.queue_count; i++)
		rest[rest_count++] = model.queue[i];
	memcpy(model.queue, rest, rest_count * sizeof rest[0]);
	model.queue_count = rest_count;
	return is_anew;
}

static void play_transaction(struct remote_recipients *tried, uint32_t most, bool elsewhere)
{
	bool keeps_slower = random_below(4) == 0;
	size_t before[MOST];
	bool is_anew;

	check_transaction(tried, most);
	answer_transaction(tried);
	memcpy(before, model.queue, sizeof before);
	for (size_t i = 0; i < tried->count; i++) { /* as another transaction left it */
		recipients[before[i]].is_passed_on = random_below(2) == 0;
		recipients[before[i]].is_timed = random_below(2) == 0;
	}
	is_anew = settle_model(tried, elsewhere, keeps_slower);
	remote_recipients_settle(tried, elsewhere, keeps_slower);
	assert_int_equal(tried->is_anew, is_anew);
	assert_int_equal(remote_recipients_has_more(tried), model.queue_count > 0);
	check_reports();
	for (size_t i = 0; i < tried->count; i++) {
		const struct smtp_client_recipient *to = &tried->transaction[i];

		assert_int_equal(recipients[before[i]].is_passed_on, to->is_passed_on);
		assert_int_equal(recipients[before[i]].is_timed, to->is_timed);
	}
}

static void turn_to_next_server(struct remote_recipients *tried)
{
	assert_int_equal(remote_recipients_turn(tried), model.aside_count > 0);
	if (model.aside_count == 0)
		return;
	memcpy(model.queue, model.aside, sizeof model.queue);
	model.queue_count = model.aside_count;
	model.aside_count = 0;
}

/* Who was set aside and has no other report gets the last reply. */
static void report_deferred(struct remote_recipients *tried)
{
	remote_recipients_report_deferred(tried);
	for (size_t i = 0; i < job.recipient_count; i++)
		if (model.reported[i][0] == '\0')
			memcpy(model.reported[i], model.deferred[i], sizeof model.reported[i]);
}

/* Some servers one after the other, each with some transactions. */
static void play_job(size_t count, unsigned done)
{
	struct remote_recipients tried;

	begin_play(&tried, count, done);
	for (size_t server = 0; server < SERVERS && model.queue_count > 0; server++) {
		for (size_t i = 0; i < 6 && model.queue_count > 0; i++)
			play_transaction(&tried, random_below(FEW + 2), server + 1 < SERVERS);
		if (model.queue_count > 0)
			break; /* the attempt ends */
		turn_to_next_server(&tried);
	}
	report_deferred(&tried);
	end_play();
}

static void each_is_told_what_the_last_server_said(void **state)
{
	(void)state;
	random_state = 1;
	for (size_t i = 0; i < PLAYS; i++) {
		size_t count = 1 + i % FEW;

		play_job(count, random_below((1U << count) - 1)); /* at least one is left */
	}
}

static void a_transaction_has_a_hundred_at_most(void **state)
{
	static const struct {
		size_t count;
		uint32_t most;
		size_t each[4];
	} cases[] = {
		{100, 0, {100}},         {101, 0, {100, 1}},
		{200, 100, {100, 100}},  {250, 101, {100, 100, 50}},
		{250, 99, {99, 99, 52}}, {250, UINT32_MAX, {100, 100, 50}},
		{3, 1, {1, 1, 1}},
	};

	(void)state;
	assert_int_equal(REMOTE_RECIPIENTS_MAX, 100);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct remote_recipients tried;

		begin_play(&tried, cases[i].count, 0);
		for (size_t j = 0; j < 4 && cases[i].each[j] > 0; j++) {
			check_transaction(&tried, cases[i].most);
			assert_int_equal(tried.count, cases[i].each[j]);
			for (size_t k = 0; k < tried.count; k++)
				tried.transaction[k].verdict = &replies[0];
			settle_model(&tried, false, false);
			remote_recipients_settle(&tried, false, false);
		}
		assert_false(remote_recipients_has_more(&tried));
		end_play();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_told_what_the_last_server_said),
		cmocka_unit_test(a_transaction_has_a_hundred_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
