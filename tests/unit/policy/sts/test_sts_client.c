// SPDX-License-Identifier: ISC
/* Policies in time, and both sides of policy/sts/protocol.h, on a real loop with clocks that jump.
 * What the DNS and HTTPS servers say is played here. And what either side makes of the other when
 * that was taken over. */
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "ipc/pack.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "policy/sts/cache.h"
#include "policy/sts/client.h"
#include "policy/sts/lookup.h"
#include "policy/sts/server.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEXT(mx) "version: STSv1\nmode: enforce\nmax_age: 604800\nmx: " mx "\n"

static const int64_t WEEK_US = 7 * DAY_US;

static struct {
	struct os_loop *loop;
	struct os_timer *enough;
	char folder[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];   /* of the policies */
	char socket[SCRATCH_SIZE + 16]; /* of the server */
	int listening;
	struct sts_cache *cache;
	struct sts_server *server;
	struct sts_client *client;
	int64_t jump_us; /* of all clocks */
	/* the next lookup */
	enum sts_lookup_status says;
	const char *id;
	const char *text;
	bool is_silent;
	int64_t user;     /* of those who connect; -1: as it is */
	unsigned lookups; /* begun */
	unsigned open;
	char known[STS_ID_MAX + 1]; /* of the last one */
	/* a "policy" that was taken over */
	struct ipc_listener *listener;
	struct ipc_channel *channel;
	struct str answer;
	unsigned counted;
} world;

/* --- clocks --- */

static int64_t read_clock(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * SECOND_US + time.tv_nsec / 1000 + world.jump_us;
}

int64_t os_clock_wall_us(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t os_clock_monotonic_us(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t os_clock_boot_us(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

/* --- lookups --- */

struct sts_lookup {
	struct os_timer *timer;
	void (*done)(void *context, const struct sts_lookup_result *result);
	void *context;
};

void sts_lookup_cancel(struct sts_lookup *lookup)
{
	if (lookup == NULL)
		return;
	os_timer_free(lookup->timer);
	free(lookup);
	world.open--;
}

static void on_lookup(void *context)
{
	struct sts_lookup *lookup = context;
	struct sts_lookup copy = *lookup;
	struct sts_lookup_result result = {.status = world.says,
					   .ttl = 600,
					   .problem = STS_PROBLEM_FETCH,
					   .reason = "no reason",
					   .id = world.id};

	if (world.says == STS_LOOKUP_FETCHED) {
		result.text = str_from(world.text);
		assert_null(sts_policy_parse(result.text, &result.policy));
	}
	sts_lookup_cancel(lookup);
	copy.done(copy.context, &result);
}

struct sts_lookup *
sts_lookup_new(struct dns_resolver *resolver, struct https *https, const char *domain,
	       const char *known,
	       void (*done)(void *context, const struct sts_lookup_result *result), void *context)
{
	struct sts_lookup *lookup = memory_alloc_zero(1, sizeof *lookup);

	(void)resolver;
	(void)https;
	assert_true(strlen(domain) > 0);
	snprintf(world.known, sizeof world.known, "%s", known);
	*lookup = (struct sts_lookup){NULL, done, context};
	lookup->timer = os_timer_new(world.loop, on_lookup, lookup);
	if (!world.is_silent)
		os_timer_start(lookup->timer, 0);
	world.lookups++;
	world.open++;
	return lookup;
}

static void say(enum sts_lookup_status status, const char *id, const char *text)
{
	world.says = status;
	world.id = id;
	world.text = text;
}

/* --- the scene --- */

static void on_enough(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

static void run_for(int64_t time_us)
{
	os_timer_start(world.enough, time_us);
	os_loop_run(world.loop);
	os_timer_stop(world.enough);
}

struct asked {
	struct sts_request request;
	struct sts_question *question;
	unsigned done;
	struct sts_answer answer;
	char patterns[100];
	char id[STS_ID_MAX + 1];
};

static void on_answer(void *context, const struct sts_answer *answer)
{
	struct asked *asked = context;

	asked->done++;
	asked->question = NULL;
	asked->answer = *answer;
	snprintf(asked->patterns, sizeof asked->patterns, STR_FORMAT,
		 STR_ARGUMENTS(answer->patterns));
	snprintf(asked->id, sizeof asked->id, STR_FORMAT, STR_ARGUMENTS(answer->id));
}

static void begin(struct asked *asked, const char *domain)
{
	*asked = (struct asked){.request = {.done = on_answer, .context = asked}};
	sts_cache_ask(world.cache, str_from(domain), &asked->request);
}

static void wait_for(const struct asked *asked)
{
	for (unsigned i = 0; i < 200 && asked->done == 0; i++)
		run_for(SECOND_US / 100);
	assert_int_equal(asked->done, 1);
}

/* What the cache says of a.b, and whether a lookup was needed for that. */
static struct asked ask(bool is_known)
{
	struct asked asked;
	struct asked *copy = memory_alloc(sizeof *copy);

	begin(copy, "a.b");
	assert_int_equal(copy->done, is_known);
	wait_for(copy);
	run_for(SECOND_US / 100); /* a lookup behind it */
	asked = *copy;
	free(copy);
	return asked;
}

static void open_sts_cache(void)
{
	world.cache = sts_cache_new(world.loop, NULL, NULL, world.path);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	world.user = -1;
	world.jump_us = DAY_US; /* a machine that has just started has no hour to go back */
	assert_int_equal(scratch_make(world.folder), 0);
	snprintf(world.path, sizeof world.path, "%s/policies", world.folder);
	snprintf(world.socket, sizeof world.socket, "%s/policy", world.folder);
	world.loop = os_loop_new();
	world.enough = os_timer_new(world.loop, on_enough, NULL);
	world.listening = os_socket_listen_unix(world.socket, SOCK_SEQPACKET, 0600);
	assert_true(world.listening >= 0);
	open_sts_cache();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sts_client_free(world.client);
	sts_server_free(world.server);
	sts_cache_free(world.cache);
	ipc_channel_close(world.channel);
	ipc_listener_free(world.listener);
	assert_int_equal(world.open, 0);
	os_timer_free(world.enough);
	os_socket_close(world.listening);
	os_loop_free(world.loop);
	return scratch_remove(world.folder);
}

/* --- policies in time --- */

static void no_policy_is_kept_as_long_as_the_dns_says(void **state)
{
	(void)state;
	say(STS_LOOKUP_NO_RECORD, "", NULL);
	assert_int_equal(ask(false).answer.kind, STS_NONE);
	assert_int_equal(ask(true).answer.kind, STS_NONE);
	world.jump_us += 599 * SECOND_US;
	(void)ask(true);
	assert_int_equal(world.lookups, 1);
	world.jump_us += 2 * SECOND_US;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
	assert_int_equal(ask(false).answer.kind, STS_FOUND);
}

static void a_policy_is_looked_after_behind_answers(void **state)
{
	struct asked asked;

	(void)state;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
	asked = ask(false);
	assert_string_equal(asked.patterns, "mx.a.b");
	assert_string_equal(asked.id, "1");
	world.jump_us += HOUR_US - SECOND_US;
	(void)ask(true);
	assert_int_equal(world.lookups, 1);
	world.jump_us += 2 * SECOND_US;
	say(STS_LOOKUP_SAME, "1", NULL);
	(void)ask(true);
	assert_int_equal(world.lookups, 2);
	assert_string_equal(world.known, "1");
	(void)ask(true);
	assert_int_equal(world.lookups, 2);
	world.jump_us += HOUR_US;
	say(STS_LOOKUP_FETCHED, "2", TEXT("mx.c.d"));
	assert_string_equal(ask(true).patterns, "mx.a.b");
	assert_string_equal(ask(true).patterns, "mx.c.d");
	/* a day later it is fetched, whatever its id is */
	world.jump_us += DAY_US;
	(void)ask(true);
	assert_string_equal(world.known, "");
}

static void failures_keep_the_old_policy_until_its_end(void **state)
{
	struct asked asked;
	int64_t pause_us = 5 * MINUTE_US;

	(void)state;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
	(void)ask(false);
	world.jump_us += DAY_US;
	say(STS_LOOKUP_FAILED, "2", NULL);
	(void)ask(true);
	for (unsigned i = 2; i < 8; i++) {
		world.jump_us += pause_us - SECOND_US;
		asked = ask(true);
		assert_int_equal(world.lookups, i);
		assert_int_equal(asked.answer.kind, STS_FOUND);
		assert_int_equal(asked.answer.problem, STS_PROBLEM_FETCH);
		world.jump_us += 2 * SECOND_US;
		(void)ask(true);
		assert_int_equal(world.lookups, i + 1);
		pause_us = 2 * pause_us < HOUR_US ? 2 * pause_us : HOUR_US;
	}
	/* that there is no record does not end it either */
	world.jump_us += HOUR_US;
	say(STS_LOOKUP_NO_RECORD, "", NULL);
	(void)ask(true);
	assert_int_equal(ask(true).answer.kind, STS_FOUND);
	world.jump_us += WEEK_US;
	assert_int_equal(ask(false).answer.kind, STS_NONE);
}

static void a_failure_without_a_policy_is_none(void **state)
{
	struct asked asked;

	(void)state;
	say(STS_LOOKUP_FAILED, "1", NULL);
	asked = ask(false);
	assert_int_equal(asked.answer.kind, STS_NONE);
	assert_int_equal(asked.answer.problem, STS_PROBLEM_FETCH);
	(void)ask(true);
	assert_int_equal(world.lookups, 1);
	world.jump_us += 5 * MINUTE_US + SECOND_US;
	say(STS_LOOKUP_NO_ANSWER, "", NULL);
	assert_int_equal(ask(false).answer.kind, STS_NONE);
	world.jump_us += MINUTE_US + SECOND_US;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
	asked = ask(false);
	assert_int_equal(asked.answer.kind, STS_FOUND);
	assert_int_equal(asked.answer.problem, STS_PROBLEM_NONE);
}

/* Those that are due are fetched without a question, and those that have ended are gone. */
static void a_start_refreshes_what_is_due(void **state)
{
	char file[2 * SCRATCH_SIZE];
	struct os_file_info info;

	(void)state;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
	(void)ask(false);
	sts_cache_free(world.cache);
	snprintf(file, sizeof file, "%s/a.b", world.path);
	assert_int_equal(os_file_info_at(OS_FILE_HERE, file, &info), 0);
	world.jump_us += DAY_US; /* unused: half of its time */
	open_sts_cache();
	run_for(SECOND_US / 20);
	assert_int_equal(world.lookups, 1);
	sts_cache_free(world.cache);
	world.jump_us += 3 * DAY_US;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.c.d"));
	open_sts_cache();
	run_for(SECOND_US / 20);
	assert_int_equal(world.lookups, 2);
	assert_string_equal(ask(true).patterns, "mx.c.d");
	sts_cache_free(world.cache);
	world.jump_us += WEEK_US;
	open_sts_cache();
	run_for(SECOND_US / 20);
	assert_int_equal(world.lookups, 2);
	say(STS_LOOKUP_NO_RECORD, "", NULL);
	assert_int_equal(ask(false).answer.kind, STS_NONE);
}

/* It is used, and fetched again, so that it is not valid until the time that was wrong. */
static void a_policy_from_the_future_is_due(void **state)
{
	(void)state;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
	(void)ask(false);
	sts_cache_free(world.cache);
	world.jump_us -= HOUR_US / 2;
	open_sts_cache();
	run_for(SECOND_US / 20);
	assert_int_equal(world.lookups, 1);
	sts_cache_free(world.cache);
	world.jump_us -= HOUR_US;
	open_sts_cache();
	assert_string_equal(ask(true).patterns, "mx.a.b");
	run_for(SECOND_US / 20);
	assert_int_equal(world.lookups, 2);
	assert_string_equal(world.known, "");
}

static void questions_share_a_lookup(void **state)
{
	struct asked one;
	struct asked other;
	struct asked cancelled;

	(void)state;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
	begin(&one, "a.b");
	begin(&other, "a.b");
	begin(&cancelled, "a.b");
	sts_request_cancel(&cancelled.request);
	sts_request_cancel(&cancelled.request);
	wait_for(&one);
	wait_for(&other);
	assert_int_equal(world.lookups, 1);
	assert_int_equal(cancelled.done, 0);
}

/* ... although all others have to wait, and it has waited with them. */
static void what_is_urgent_does_not_wait(void **state)
{
	enum { MANY = 700 };
	static struct asked many[MANY];
	struct asked *again = memory_alloc_zero(1, sizeof *again);
	char domain[32];

	(void)state;
	world.is_silent = true;
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(domain, sizeof domain, "d%u.b", i);
		begin(&many[i], domain);
	}
	assert_int_equal(world.open, 500);
	world.is_silent = false;
	say(STS_LOOKUP_NO_RECORD, "", NULL);
	begin(again, domain);
	run_for(SECOND_US / 100);
	assert_int_equal(again->done, 0);
	sts_request_cancel(&again->request);
	again->request.rank = STS_RANK_OWNER;
	sts_cache_ask(world.cache, str_from(domain), &again->request);
	wait_for(again);
	assert_int_equal(many[MANY - 1].done, 1);
	assert_int_equal(many[MANY - 2].done, 0);
	assert_int_equal(world.open, 500);
	for (unsigned i = 0; i < MANY; i++)
		sts_request_cancel(&many[i].request);
	free(again);
}

/* However many domains are asked for, those that wait included. */
static void domains_are_bounded(void **state)
{
	enum { MORE = 300 };
	static struct asked many[STS_KEPT_MAX + MORE];
	char domain[32];

	(void)state;
	say(STS_LOOKUP_NO_RECORD, "", NULL);
	for (unsigned i = 0; i < STS_KEPT_MAX + MORE; i++) {
		snprintf(domain, sizeof domain, "d%u.b", i);
		begin(&many[i], domain);
	}
	assert_int_equal(world.open, 500);
	for (unsigned i = 0; i < STS_KEPT_MAX + MORE; i++)
		wait_for(&many[i]);
	/* the last is known, the first not any more once others have come */
	begin(&many[0], domain);
	assert_int_equal(many[0].done, 1);
	for (unsigned i = 0; i < MORE + 1; i++) {
		snprintf(domain, sizeof domain, "e%u.b", i);
		begin(&many[1], domain);
		wait_for(&many[1]);
	}
	begin(&many[0], "d0.b");
	assert_int_equal(many[0].done, 0);
	wait_for(&many[0]);
}

/* --- the protocol --- */

static void on_count(void *context, const struct tlsrpt_session *session)
{
	(void)context;
	assert_true(str_equal(session->domain, STR("a.b")));
	assert_int_equal(session->result, TLSRPT_DNSSEC_INVALID);
	assert_int_equal(session->policy, TLSRPT_TLSA);
	assert_true(str_equal(session->text, STR("3 1 1 AB")));
	assert_true(str_equal(session->greeting, STR("mail.a.b")));
	assert_int_equal(session->reason.length, TLSRPT_REASON_MAX);
	world.counted++;
}

static void serve_both(uid_t remote, uid_t owner)
{
	const struct sts_users users = {remote, owner};

	world.server = sts_server_new(world.loop, world.listening, world.cache, &users);
	sts_server_on_count(world.server, on_count, NULL);
}

static void serve(uid_t user)
{
	serve_both(user, user);
}

uid_t __real_os_socket_peer_user(int socket);
uid_t __wrap_os_socket_peer_user(int socket);
uid_t __wrap_os_socket_peer_user(int socket)
{
	return world.user >= 0 ? (uid_t)world.user : __real_os_socket_peer_user(socket);
}

static void begin_question(struct asked *asked, const char *domain)
{
	*asked = (struct asked){0};
	asked->question = sts_client_ask(world.client, str_from(domain), on_answer, asked);
	assert_int_equal(asked->done, 0);
}

static void answers_come_through(void **state)
{
	struct asked asked;
	char reason[TLSRPT_REASON_MAX + 1] = {0};
	struct tlsrpt_session session = {.domain = STR("a.b"),
					 .policy = TLSRPT_TLSA,
					 .text = STR("3 1 1 AB"),
					 .result = TLSRPT_DNSSEC_INVALID,
					 .greeting = STR("mail.a.b"),
					 .reason = str_slice(reason, sizeof reason)};

	(void)state;
	world.client = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
	say(STS_LOOKUP_FETCHED, "id1", TEXT("mx.a.b\nmx: *.c.d"));
	begin_question(&asked, "A.b"); /* waits for the server */
	run_for(SECOND_US / 10);
	assert_int_equal(asked.done, 0);
	serve(getuid());
	wait_for(&asked);
	assert_int_equal(asked.answer.kind, STS_FOUND);
	assert_int_equal(asked.answer.mode, STS_MODE_ENFORCE);
	assert_string_equal(asked.patterns, "mx.a.b *.c.d");
	assert_string_equal(asked.id, "id1");
	assert_in_range(asked.answer.until_us - os_clock_wall_us(), WEEK_US - MINUTE_US, WEEK_US);
	begin_question(&asked, "[192.0.2.1]"); /* has none, and is not asked for */
	wait_for(&asked);
	assert_int_equal(asked.answer.kind, STS_NONE);
	assert_int_equal(world.lookups, 1);
	sts_client_count(world.client, &session);
	for (unsigned i = 0; i < 100 && world.counted == 0; i++)
		run_for(SECOND_US / 100);
	assert_int_equal(world.counted, 1);
}

/* LENGTH bytes, of labels. */
static const char *long_domain(size_t length)
{
	static char domain[STS_DOMAIN_MAX + 2];

	for (size_t i = 0; i < length; i++)
		domain[i] = i % 50 == 49 ? '.' : 'd';
	domain[length] = '\0';
	return domain;
}

/* Longer ones have no policy, and are not asked about. */
static void a_domain_is_so_long(void **state)
{
	(void)state;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
	serve(getuid());
	world.client = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
	for (size_t length = STS_DOMAIN_MAX; length <= STS_DOMAIN_MAX + 1; length++) {
		struct asked asked;

		begin_question(&asked, long_domain(length));
		wait_for(&asked);
		assert_int_equal(asked.answer.kind,
				 length == STS_DOMAIN_MAX ? STS_FOUND : STS_NONE);
		assert_int_equal(world.lookups, 1);
	}
}

static void count_length(void *context, const struct tlsrpt_session *session)
{
	(void)context;
	world.counted += (unsigned)session->text.length;
}

/* What one process says to the other: a longer text is cut, and who sends one is not ours. */
static void a_text_for_reports_is_so_long(void **state)
{
	static char text[TLSRPT_TEXT_MAX + 1];
	struct tlsrpt_session session = {.domain = STR("a.b"), .policy = TLSRPT_TLSA};

	(void)state;
	memset(text, 'A', sizeof text);
	serve(getuid());
	sts_server_on_count(world.server, count_length, NULL);
	world.client = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
	run_for(SECOND_US / 10);
	for (unsigned i = 0; i < 2; i++) {
		session.text = str_slice(text, TLSRPT_TEXT_MAX + i);
		sts_client_count(world.client, &session);
		for (unsigned j = 0; j < 100 && world.counted <= i * TLSRPT_TEXT_MAX; j++)
			run_for(SECOND_US / 100);
		assert_int_equal(world.counted, (i + 1) * TLSRPT_TEXT_MAX);
	}
}

static void a_lost_question_is_asked_again(void **state)
{
	struct asked asked;
	struct asked cancelled;

	(void)state;
	serve(getuid());
	world.client = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
	world.is_silent = true;
	begin_question(&asked, "a.b");
	begin_question(&cancelled, "c.d");
	run_for(SECOND_US / 10);
	assert_int_equal(world.lookups, 2);
	sts_question_cancel(cancelled.question);
	sts_server_free(world.server);
	sts_cache_free(world.cache);
	world.is_silent = false;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
	open_sts_cache();
	serve(getuid());
	wait_for(&asked);
	assert_int_equal(asked.answer.kind, STS_FOUND);
	assert_int_equal(cancelled.done, 0);
	assert_int_equal(world.lookups, 3);
}

/* The timer of a question, by the real clock, would take too long: it is another's that fires. */
static void nobody_waits_for_ever(void **state)
{
	struct asked asked;
	struct asked other;

	(void)state;
	serve(getuid());
	world.client = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
	world.is_silent = true;
	begin_question(&asked, "a.b");
	run_for(SECOND_US / 10);
	world.jump_us += STS_PATIENCE_US + SECOND_US;
	begin_question(&other, "c.d");
	sts_question_cancel(other.question); /* the timer is set anew */
	wait_for(&asked);
	assert_int_equal(asked.answer.kind, STS_LATER);
}

static void a_stranger_may_not_ask(void **state)
{
	struct asked asked;

	(void)state;
	assert_int_equal(chmod(world.folder, 0755), 0);
	assert_int_equal(chmod(world.socket, 0777), 0);
	if (getuid() == 0) /* who may always */
		assert_int_equal(seteuid(65534), 0);
	serve(getuid() + 1);
	world.client = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
	begin_question(&asked, "a.b");
	run_for(SECOND_US / 5);
	assert_int_equal(asked.done, 0);
	assert_int_equal(world.lookups, 0);
	sts_question_cancel(asked.question);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

static void questions_are_bounded(void **state)
{
	static struct asked many[STS_OPEN_MAX + 2];
	char domain[32];

	(void)state;
	serve(getuid());
	world.client = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
	world.is_silent = true;
	for (unsigned i = 0; i < STS_OPEN_MAX + 2; i++) {
		snprintf(domain, sizeof domain, "d%u.b", i);
		begin_question(&many[i], domain);
	}
	wait_for(&many[STS_OPEN_MAX]);
	wait_for(&many[STS_OPEN_MAX + 1]);
	assert_int_equal(many[STS_OPEN_MAX].answer.kind, STS_LATER);
	assert_int_equal(many[STS_OPEN_MAX - 1].done, 0);
	for (unsigned i = 0; i < STS_OPEN_MAX; i++)
		sts_question_cancel(many[i].question);
}

/* "remote" may have been taken over. */
static void people_do_not_wait_for_remote(void **state)
{
	enum { MANY = 600 };
	static struct asked many[MANY];

	(void)state;
	for (unsigned is_person = 0; is_person < 2; is_person++) {
		struct asked asked;
		char domain[32];

		world.is_silent = true;
		for (unsigned i = 0; i < MANY; i++) {
			snprintf(domain, sizeof domain, "d%u.%u.b", i, is_person);
			begin(&many[i], domain);
		}
		world.is_silent = false;
		say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
		serve_both(getuid() + is_person, getuid());
		world.client = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
		begin_question(&asked, "a.b");
		run_for(SECOND_US / 5);
		assert_int_equal(asked.done, is_person);
		if (!is_person)
			sts_question_cancel(asked.question);
		for (unsigned i = 0; i < MANY; i++)
			sts_request_cancel(&many[i].request);
		sts_client_free(world.client);
		sts_server_free(world.server);
		world.server = NULL;
		world.client = NULL;
	}
}

enum { REMOTE = 100, OWNER = 101, ROOT = 0 };

/* MANY questions of the user; the clients are the caller's to free. */
static void flood(uid_t user, struct sts_client **clients, size_t count, unsigned many)
{
	static struct asked ignored[20000];
	static size_t used;

	world.user = user;
	for (size_t c = 0; c < count; c++) {
		world.client = clients[c] =
			sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
		for (unsigned i = 0; i < many / count; i++) {
			char domain[48];

			snprintf(domain, sizeof domain, "d%u.%zu.%u.b", i, c, user);
			assert_true(used < COUNT_OF(ignored));
			begin_question(&ignored[used++], domain);
		}
		for (unsigned i = 0; i < 20; i++)
			run_for(SECOND_US / 100);
	}
}

/* "remote", and a process that runs as the queue's owner, take all that they can get. */
static void nobody_takes_the_places_of_another_user(void **state)
{
	enum { REMOTES = 5, OWNERS = 5 };
	struct sts_client *clients[REMOTES + OWNERS];
	struct asked asked;

	(void)state;
	serve_both(REMOTE, OWNER);
	world.is_silent = true;
	flood(REMOTE, clients, REMOTES, 2000);
	assert_int_equal(world.open, 500);
	flood(OWNER, clients + REMOTES, OWNERS, REMOTES * STS_OPEN_MAX);
	assert_int_equal(world.open, 550);
	world.is_silent = false;
	say(STS_LOOKUP_FETCHED, "1", TEXT("mx.a.b"));
	world.user = ROOT;
	world.client = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
	begin_question(&asked, "root.b");
	for (unsigned i = 0; i < 100 && asked.done == 0; i++)
		run_for(SECOND_US / 100);
	assert_int_equal(asked.done, 1);
	assert_int_equal(asked.answer.kind, STS_FOUND);
	sts_client_free(world.client);
	for (size_t i = 0; i < COUNT_OF(clients); i++)
		sts_client_free(clients[i]); /* and with it its questions */
	world.client = NULL;
}

/* What a connection may ask is not multiplied by connections. */
static void questions_of_all_are_bounded(void **state)
{
	enum { EACH = STS_OPEN_MAX, CLIENTS = 5 };
	static struct asked many[CLIENTS][EACH];
	struct sts_client *clients[CLIENTS];
	unsigned done = 0;
	char domain[32];

	(void)state;
	serve(getuid());
	world.is_silent = true;
	for (unsigned c = 0; c < CLIENTS; c++) {
		clients[c] = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
		world.client = clients[c];
		for (unsigned i = 0; i < EACH; i++) {
			snprintf(domain, sizeof domain, "d%u.%u.b", i, c);
			begin_question(&many[c][i], domain);
		}
		for (unsigned i = 0; i < 20; i++)
			run_for(SECOND_US / 100);
	}
	world.client = NULL;
	for (unsigned c = 0; c < CLIENTS; c++) {
		for (unsigned i = 0; i < EACH; i++) {
			done += many[c][i].done;
			if (many[c][i].done == 0)
				sts_question_cancel(many[c][i].question);
		}
		sts_client_free(clients[c]);
	}
	assert_int_equal(done, EACH);
}

/* --- a "policy" that was taken over --- */

static void on_question(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	(void)context;
	ipc_channel_send(channel, STS_ANSWER, message->tag, world.answer, NULL, 0);
}

static void on_gone(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	world.channel = NULL;
	world.counted++;
}

static void on_connection(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_question, on_gone};

	(void)context;
	ipc_channel_close(world.channel);
	world.channel = ipc_channel_new(world.loop, socket, &handler, NULL);
}

static void malformed_answers_end_the_connection(void **state)
{
	struct buffer good = {0};
	struct asked asked;

	(void)state;
	pack_u32(&good, STS_FOUND);
	pack_u32(&good, STS_MODE_TESTING);
	pack_u64(&good, 1);
	pack_u32(&good, STS_PROBLEM_WEBPKI);
	pack_str(&good, STR("1"));
	pack_str(&good, STR("a.b"));
	world.listener = ipc_listener_new(world.loop, world.listening, on_connection, NULL);
	world.client = sts_client_new(world.loop, world.socket, STS_PATIENCE_US);
	for (size_t length = 0; length < good.length; length++) {
		unsigned ended = world.counted;

		world.answer = str_slice(buffer_data(&good), length);
		begin_question(&asked, "a.b");
		for (unsigned i = 0; i < 100 && world.counted == ended; i++)
			run_for(SECOND_US / 50);
		assert_true(world.counted > ended);
		assert_int_equal(asked.done, 0);
		sts_question_cancel(asked.question);
	}
	world.answer = buffer_view(&good);
	begin_question(&asked, "a.b");
	wait_for(&asked);
	assert_int_equal(asked.answer.problem, STS_PROBLEM_WEBPKI);
	buffer_clear(&good);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(no_policy_is_kept_as_long_as_the_dns_says),
		TEST(a_policy_is_looked_after_behind_answers),
		TEST(failures_keep_the_old_policy_until_its_end),
		TEST(a_failure_without_a_policy_is_none),
		TEST(a_start_refreshes_what_is_due),
		TEST(a_policy_from_the_future_is_due),
		TEST(questions_share_a_lookup),
		TEST(domains_are_bounded),
		TEST(what_is_urgent_does_not_wait),
		TEST(people_do_not_wait_for_remote),
		TEST(nobody_takes_the_places_of_another_user),
		TEST(questions_of_all_are_bounded),
		TEST(answers_come_through),
		TEST(a_domain_is_so_long),
		TEST(a_text_for_reports_is_so_long),
		TEST(a_lost_question_is_asked_again),
		TEST(nobody_waits_for_ever),
		TEST(a_stranger_may_not_ask),
		TEST(questions_are_bounded),
		TEST(malformed_answers_end_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
