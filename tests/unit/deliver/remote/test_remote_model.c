// SPDX-License-Identifier: ISC
/*
 * A model of servers over attempts, sessions, their pool and the client's engine: several
 * servers of which some refuse, stay mute or close, replies in pieces, connections that last
 * for some messages only, more recipients than one transaction takes. What each recipient is
 * to be told follows from the plan of a seed. From every state that is reached a timer runs;
 * each recipient is reported once; what a server took is never given back, also when the
 * transport drains in the midst of it. No connection outlives its configuration,
 * but for the transaction that it carries.
 */
#include "base/panic.h"
#include "base/timestamp.h"
#include "fake_loop.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "remote_scene.h"
#include "test.h"
#include "whole.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = TEST_IS_WHOLE ? 3000 : 1000, JOBS = 3, STEPS_MAX = 1000000, TIMERS_MAX = 2000 };

/* --- the job --- */

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	assert_ptr_equal(job, scene.job);
	assert_false(job->recipients[index].is_reported);
	job->recipients[index].is_reported = true;
	scene.verdicts[index] = *verdict;
	scene.triggers[index] = trigger;
}

void deliver_helper_tell_said(const struct deliver_helper_job *job, const struct ipc_job_said *said)
{
	(void)job;
	(void)said;
}

void deliver_helper_report_rest(struct deliver_helper_job *job, const struct mail_verdict *verdict,
				const char *trigger)
{
	for (size_t i = 0; i < job->recipient_count; i++)
		if (!job->recipients[i].is_reported)
			deliver_helper_report(job, i, verdict, trigger);
}

/* --- the finder --- */

static void find_now(void)
{
	struct remote_attempt *attempt = scene.wanted;

	scene.wanted = NULL;
	scene.tried = 0;
	remote_attempt_try(attempt, scene.servers, scene.candidate_count, "host.x");
}

static void find(void *context, struct remote_attempt *attempt)
{
	(void)context;
	scene.wanted = attempt;
	if (!scene.finds_late)
		find_now();
}

static void end_finding(void *context)
{
	(void)context;
	scene.wanted = NULL;
}

static const struct remote_finder finder = {find, end_finding};

/* --- what is expected --- */

static enum mail_verdict_class class_of(unsigned code)
{
	if (code == 552) /* without a status of its own: too many recipients */
		return MAIL_WAIT;
	return code < 300 ? MAIL_OK : code < 500 ? MAIL_WAIT : MAIL_FAIL;
}

/* What the servers say one after the other: the first that does not defer decides, and at most
 * four are asked, or as many as answer in ten minutes. */
static unsigned code_of(size_t i, bool *is_rcpt_out)
{
	unsigned code = 0;
	unsigned asked = 0;

	for (size_t c = 0; c < scene.candidate_count && asked < (scene.is_lmtp ? 1 : 4); c++) {
		if (scene.kinds[c] != KIND_GOOD)
			continue;
		asked++;
		*is_rcpt_out = scene.rcpt[c][i] != 250;
		code = *is_rcpt_out ? scene.rcpt[c][i] : scene.final[c][scene.is_lmtp ? i : 0];
		if (class_of(code) != MAIL_WAIT || (code == 552 && !*is_rcpt_out))
			break;
	}
	return code;
}

static void check_served(size_t i)
{
	bool is_rcpt = false;
	unsigned code = code_of(i, &is_rcpt);
	enum mail_verdict_class class = code == 552 && !is_rcpt ? MAIL_FAIL : class_of(code);

	assert_null(scene.triggers[i]);
	if (scene.verdicts[i].class == MAIL_WAIT &&
	    (scene.is_given_up || os_clock_monotonic_us() - scene.begin_us >= 10 * MINUTE_US))
		return;
	assert_int_equal(scene.verdicts[i].class, class);
	assert_int_equal(scene.is_taken[i], class == MAIL_OK);
	if (class == MAIL_OK)
		assert_int_equal(scene.job->recipients[i].is_passed_on, scene.has_extensions);
}

/* Servers found anew are tried in another order: those that were silent come last. */
static bool is_of_silent(const char *text)
{
	for (size_t c = 0; c < scene.candidate_count; c++)
		if ((scene.kinds[c] == KIND_MUTE && strstr(text, "greeting") != NULL) ||
		    (scene.kinds[c] == KIND_MUTE_TO_CONNECT && strstr(text, "timeout") != NULL))
			return true;
	return false;
}

/* What no server took: told as the best of what they said, and waited for as long as none
 * was there. */
static void check_unserved(size_t i)
{
	bool was_there = false;
	bool is_hopeless = true;
	const char *text = "greeting";

	for (size_t c = 0; c < scene.candidate_count; c++) {
		was_there |= scene.kinds[c] > KIND_LAST_UNREACHED ||
			     scene.kinds[c] == KIND_NO_DESCRIPTOR;
		is_hopeless &= scene.kinds[c] == KIND_GREETS_521 && !scene.is_lmtp;
		if (scene.kinds[c] == KIND_NO_DESCRIPTOR)
			text = "Too many open files";
		else if (scene.kinds[c] == KIND_REFUSES_NOW || scene.kinds[c] == KIND_REFUSES_LATER)
			text = "Connection refused";
		else if (scene.kinds[c] == KIND_MUTE_TO_CONNECT)
			text = "timeout";
		else if (scene.kinds[c] == KIND_GREETS_521 && scene.is_lmtp)
			text = "521";
		else if (scene.kinds[c] != KIND_GREETS_521)
			text = scene.kinds[c] == KIND_GREETS_421 ? "421" : "greeting";
	}
	assert_int_equal(scene.verdicts[i].class, is_hopeless ? MAIL_FAIL : MAIL_WAIT);
	assert_true(is_hopeless || strstr(scene.verdicts[i].text, text) != NULL ||
		    is_of_silent(scene.verdicts[i].text));
	assert_true((scene.triggers[i] != NULL) == !was_there);
	assert_false(scene.is_taken[i]);
}

static bool is_served(void)
{
	for (size_t c = 0; c < scene.candidate_count; c++)
		if (scene.kinds[c] == KIND_GOOD)
			return true;
	return false;
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	assert_ptr_equal(job, scene.job);
	for (size_t i = 0; i < job->recipient_count; i++) {
		if (!job->recipients[i].is_reported) {
			assert_true(scene.is_given_up);
			assert_false(scene.is_taken[i]);
		} else if (is_served()) {
			check_served(i);
		} else {
			check_unserved(i);
		}
	}
	scene.job = NULL;
	arena_free(job->arena);
	free(job);
}

/* No section destination is configured, and no server says that it gets too much. */
void deliver_helper_finish_busy(struct deliver_helper_job *job, int64_t wait_us, uint32_t flags,
				const char *reason)
{
	(void)job;
	(void)flags;
	fail_msg("busy for %lld us: %s", (long long)wait_us, reason);
}

/* --- the play --- */

/* As long as a job is under way a timer runs, or its servers are searched. */
static void check(void)
{
	assert_true(scene.job == NULL || scene.wanted != NULL || fake_timers() > 0);
}

static bool play_peer(size_t number)
{
	struct peer *peer = &scene.peers[number];
	int socket = FIRST_SOCKET + (int)number;

	if (!fake_is_closed(socket) && fake_random(2) && fake_watch_is_ready(socket))
		fake_play_watch(socket);
	else if (scene_may_hear(number))
		scene_hear(number);
	else if (peer->output.length > 0 && fake_peer_room(socket) > 0)
		scene_say(number);
	else if (peer->is_over && peer->output.length == 0 && fake_peer_room(socket) > 0)
		fake_peer_close(socket);
	else
		return false;
	return true;
}

static bool is_anything_ready(void)
{
	for (size_t i = 0; i < scene.peer_count; i++) {
		int socket = FIRST_SOCKET + (int)i;
		const struct peer *peer = &scene.peers[i];

		if (scene_may_hear(i) || (peer->output.length > 0 && fake_peer_room(socket) > 0) ||
		    (!fake_is_closed(socket) && ((peer->is_over && fake_peer_room(socket) > 0) ||
						 fake_watch_is_ready(socket))))
			return true;
	}
	return scene.wanted != NULL;
}

static void configure(void)
{
	static const struct config config = {
		.hostname = "client.test", .remote_connect_timeout = 30, .convert_8bit = true};

	remote_client_configure(&scene.client, &config, 300 * SECOND_US);
	for (size_t i = 0; i < scene.peer_count; i++)
		if (scene.peers[i].transactions_max == 0)
			scene.peers[i].transactions_max = scene.peers[i].transactions + 1;
}

static void play(bool drains, unsigned configure_at)
{
	unsigned drain_at = drains ? fake_random(400) : UINT32_MAX;
	unsigned timers = 0;

	for (unsigned steps = 0; scene.job != NULL; steps++) {
		assert_true(steps < STEPS_MAX);
		if (steps == drain_at) {
			scene.is_given_up = true;
			remote_client_drain(&scene.client);
		} else if (steps == configure_at) {
			scene.is_outdated = true;
			configure();
		} else if (scene.wanted != NULL && fake_random(3) == 0) {
			find_now();
		} else if (scene.peer_count > 0 &&
			   play_peer(fake_random(4) ? scene.peer_count - 1
						    : fake_random((uint32_t)scene.peer_count))) {
			;
		} else if (!is_anything_ready()) {
			assert_true(++timers < TIMERS_MAX);
			fake_play_timer();
		}
		check();
	}
}

static void start_job(void)
{
	struct deliver_helper_job *job = memory_alloc_zero(1, sizeof *job);

	job->arena = arena_new();
	job->sender = str_from(scene_senders[scene.sender]);
	job->utf8 = scene.is_utf8;
	job->ret = MAIL_RET_HEADERS;
	job->envid = STR("e1");
	job->destination = STR("d.test");
	job->content = (struct ipc_content){.file = 7, .size = scene.size};
	job->recipient_count = scene.recipient_count;
	job->recipients = arena_alloc(job->arena, job->recipient_count * sizeof *job->recipients);
	for (size_t i = 0; i < job->recipient_count; i++) {
		char address[32];

		snprintf(address, sizeof address, "r%zu@d.test", i);
		job->recipients[i].address = arena_copy_str(job->arena, str_from(address));
		job->recipients[i].original = STR("rfc822;o");
		job->recipients[i].notify = MAIL_NOTIFY_SUCCESS;
	}
	memset(scene.is_taken, 0, sizeof scene.is_taken);
	scene.is_outdated = false;
	scene.job = job;
	scene.begin_us = os_clock_monotonic_us();
	remote_attempt_start(&scene.client, scene.is_lmtp ? SMTP_CLIENT_LMTP : SMTP_CLIENT_SMTP,
			     job, fake_random(4) ? "key" : "other", &finder, NULL);
	check();
}

static void plan(uint64_t seed)
{
	static const unsigned rcpt[] = {250, 250, 250, 250, 450, 550, 552};
	static const unsigned final[] = {250, 250, 250, 452, 554, 552, 421};
	bool has_good = fake_random(3) > 0;

	scene.is_lmtp = seed % 4 == 0;
	scene.has_pipelining = fake_random(2);
	scene.finds_late = fake_random(2);
	scene.hears_one_by_one = fake_random(2);
	scene.messages_max = fake_random(2) ? 1 + fake_random(3) : 0;
	scene.size = 50 * (uint64_t)(1 + fake_random(fake_random(5) ? 100 : 4000));
	scene.has_extensions = fake_random(2);
	scene.is_utf8 = fake_random(2);
	scene.sender = fake_random(3);
	scene.high = fake_random(2) ? UINT64_MAX : 10 + 200 * (uint64_t)fake_random(10);
	if (scene.high < UINT64_MAX && fake_random(3) == 0)
		scene.high = scene.size - 3; /* the last one */
	if (scene.size > REMOTE_CHUNK_SIZE && fake_random(3) == 0)
		scene.high = REMOTE_CHUNK_SIZE; /* the first of a chunk */
	scene.recipient_count =
		fake_random(4) ? 1 + fake_random(5) : 1 + fake_random(RECIPIENTS_MAX);
	scene.candidate_count = 1 + fake_random(CANDIDATES_MAX);
	for (size_t c = 0; c < scene.candidate_count; c++) {
		scene.kinds[c] = (enum kind)(1 + fake_random(KINDS - 1));
		assert_true(os_socket_address_parse("192.0.2.1", (uint16_t)(c + 1),
						    &scene.servers[c].address));
		scene.servers[c].host = "server.test";
		scene.room[c] = fake_random(3)               ? UINT32_MAX
				: scene.recipient_count > 20 ? 40
							     : 1 + fake_random(5);
		for (size_t i = 0; i < scene.recipient_count; i++) {
			scene.rcpt[c][i] = rcpt[fake_random(COUNT_OF(rcpt))];
			scene.final[c][i] =
				final[fake_random(COUNT_OF(final) - (scene.is_lmtp ? 1 : 0))];
		}
	}
	if (has_good)
		for (size_t goods = 1 + fake_random(CANDIDATES_MAX); goods > 0; goods--)
			scene.kinds[fake_random((uint32_t)scene.candidate_count)] = KIND_GOOD;
}

static bool are_all_closed(void)
{
	for (size_t i = 0; i < scene.peer_count; i++)
		if (!fake_is_closed(FIRST_SOCKET + (int)i))
			return false;
	return true;
}

static void run(uint64_t seed)
{
	bool drains;

	fake_begin(seed);
	memset(&scene, 0, sizeof scene);
	plan(seed);
	scene_plan_text();
	drains = fake_random(4) == 0;
	remote_client_init(&scene.client, NULL);
	configure();
	for (unsigned left = JOBS; left > 0; left--) {
		start_job();
		play(drains && left == 1, seed % 4 == left ? (unsigned)seed % 400 : UINT32_MAX);
		assert_true(!(scene.is_given_up || scene.is_outdated) || are_all_closed());
		while (fake_random(3) == 0 &&
		       fake_timers() > 0) /* connections that wait too long */
			fake_play_timer();
	}
	remote_client_clear(&scene.client);
	buffer_clear(&scene.text);
	assert_int_equal(fake_timers(), 0);
	assert_true(are_all_closed());
	for (size_t i = 0; i < scene.peer_count; i++) {
		buffer_clear(&scene.peers[i].input);
		buffer_clear(&scene.peers[i].output);
	}
}

static void test_servers(void **state)
{
	(void)state;
	fake_seeds(SEEDS, run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_servers, fake_tell_seed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
