// SPDX-License-Identifier: ISC
/* How long sessions wait for their clients, and which of them loses its place: sessions to which
 * anything happens in any order, against a plain account of what each client has been waited for.
 * The clock, the timers and the engine are this test's. */
#include "base/timestamp.h"
#include "intake/internal.h"
#include "os/clock.h"
#include "test.h"
#include <string.h>
#include <utlist.h>

enum {
	SESSIONS_MAX = 20,
	STEPS = 400,
	SEEDS = 300,
	LOOKS = 16,
	MESSAGE_SECONDS = 3,
	REPLY_SECONDS = 5
};

/* How long a client was waited for since it began, or since the last message. */
struct meter {
	int64_t from_us; /* -1: it is not waited for */
	int64_t waited_us;
	uint64_t bytes;
};

static struct client {
	struct intake_session session;
	struct smtp_server_head head;
	bool is_receiving; /* as its engine has it */
	uint32_t seconds;
	int64_t timer_us; /* -1: it does not run */
	/* what is expected */
	struct meter message, idle;
	int64_t deadline_us;
	bool was_receiving;
	size_t unsent;
} clients[SESSIONS_MAX];

static struct config config = {.smtp_timeout = REPLY_SECONDS};
static struct intake intake;
static struct intake_session *slowed;
static int64_t now_us;
static uint64_t random_state;

static uint32_t pick(uint32_t bound)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % bound;
}

/* --- beside it --- */

int64_t os_clock_monotonic_us(void)
{
	return now_us;
}

static struct client *client_of(const struct intake_session *session)
{
	return (struct client *)(void *)((char *)(uintptr_t)session -
					 offsetof(struct client, session));
}

void os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	assert_true(delay_us >= 0);
	((struct client *)(void *)timer)->timer_us = now_us + delay_us;
}

bool os_timer_is_running(const struct os_timer *timer)
{
	return ((const struct client *)(const void *)timer)->timer_us >= 0;
}

struct intake_session *intake_slow_first(const struct intake *asked, ptrdiff_t class)
{
	assert_ptr_equal(asked, &intake);
	assert_int_equal(class, INTAKE_NO_CLASS);
	return slowed;
}

static bool engine_is_receiving(const struct intake_session *session)
{
	return client_of(session)->is_receiving;
}

static uint32_t engine_timeout(const struct intake_session *session)
{
	return client_of(session)->seconds;
}

static const struct intake_engine engine = {.is_receiving = engine_is_receiving,
					    .timeout_seconds = engine_timeout};

/* --- the account --- */

static void meter_wait(struct meter *meter)
{
	if (meter->from_us < 0)
		meter->from_us = now_us;
}

static void meter_take(struct meter *meter, uint64_t count)
{
	if (meter->from_us >= 0)
		meter->waited_us += now_us - meter->from_us;
	meter->from_us = -1;
	meter->bytes += count;
}

/* Whole seconds that its bytes are worth count against what it was waited for. */
static int64_t meter_left(const struct meter *meter, int64_t allowed_us, uint32_t rate)
{
	int64_t lost_us =
		rate == 0 ? 0 : meter->waited_us - (int64_t)(meter->bytes / rate) * 1000000;

	return lost_us > 0 ? allowed_us - lost_us : allowed_us;
}

static bool meter_is_over(const struct meter *meter, int64_t allowed_us, uint32_t rate)
{
	return meter->from_us >= 0 &&
	       now_us - meter->from_us >= meter_left(meter, allowed_us, rate);
}

static int64_t meter_total(const struct meter *meter)
{
	return meter->from_us < 0 ? meter->waited_us : meter->waited_us + now_us - meter->from_us;
}

/* --- what happens --- */

static void follow(struct client *client)
{
	static const char text[50];
	bool is_more;

	client->is_receiving = pick(2) > 0;
	buffer_reset(&client->head.output);
	buffer_append(&client->head.output, text, pick(3) * 10);
	is_more = client->head.output.length > client->unsent;
	if (client->is_receiving != client->was_receiving || (is_more && !client->is_receiving))
		client->message = (struct meter){.from_us = -1};
	client->was_receiving = client->is_receiving;
	client->unsent = client->head.output.length;
	intake_deadline_follow(&client->session);
	assert_int_equal(client->session.unsent, client->unsent);
	assert_int_equal(client->session.message.is_receiving, client->was_receiving);
}

static void receive(struct client *client)
{
	uint64_t count = pick(4) * 40;

	meter_take(&client->message, count);
	meter_take(&client->idle, count);
	intake_deadline_receive(&client->session, count);
}

static void set(struct client *client)
{
	struct intake_session *session = &client->session;
	bool is_turn, is_kept = pick(3) == 0;
	int64_t former_us = client->timer_us;

	session->question.is_asking = pick(4) == 0;
	session->commits = pick(4) == 0;
	session->tls.handshake_until_us =
		pick(5) == 0 ? now_us + pick(5) * SECOND_US - SECOND_US : 0;
	buffer_reset(&session->kept);
	if (is_kept)
		buffer_append_byte(&session->kept, 'k');
	client->seconds = pick(3) == 0 ? 0 : MESSAGE_SECONDS;
	is_turn = client->seconds > 0 && !session->question.is_asking;
	if (is_turn && !is_kept)
		meter_wait(&client->message);
	if ((is_turn && !is_kept) || client->unsent > 0)
		meter_wait(&client->idle);
	client->deadline_us =
		now_us + meter_left(&client->message,
				    (is_turn ? MESSAGE_SECONDS : REPLY_SECONDS) * SECOND_US,
				    config.smtp_min_rate);
	if (session->tls.handshake_until_us > 0)
		client->deadline_us = session->tls.handshake_until_us;
	intake_deadline_set(session);
	assert_int_equal(session->deadline_us, client->deadline_us);
	/* it is not moved while it fires early enough */
	if (former_us >= 0 && session->timer_us <= client->deadline_us &&
	    former_us <= client->deadline_us)
		assert_int_equal(client->timer_us, former_us);
	else
		assert_int_equal(client->timer_us,
				 client->deadline_us > now_us ? client->deadline_us : now_us);
}

static void fire(struct client *client)
{
	struct intake_session *session = &client->session;
	bool is_ours = session->question.is_asking || session->commits > 0;
	int64_t left_us = client->deadline_us - now_us;
	bool has_passed;

	client->timer_us = -1;
	has_passed = intake_deadline_has_passed(session);
	assert_int_equal(has_passed, left_us <= 0 && !is_ours);
	if (has_passed)
		return;
	assert_int_equal(client->timer_us, now_us + (left_us > 0 ? left_us : SECOND_US));
	assert_int_equal(session->timer_us, client->timer_us);
}

/* Those that wait for us, or send well, go to the end of the line; behind the first that is merely
 * young are only younger ones. */
static void look_for_idle(size_t count)
{
	struct client *line[SESSIONS_MAX];
	struct client *found = NULL;
	struct intake_session *session;
	size_t i = 0;

	DL_FOREACH2 (intake.sessions, session, next)
		line[i++] = client_of(session);
	assert_int_equal(i, count);
	for (unsigned looks = 0; looks < LOOKS && count > 0; looks++) {
		struct client *first = line[0];
		bool is_ours = first->session.question.is_asking || first->session.commits > 0;

		if (!is_ours && meter_is_over(&first->idle, SECOND_US, config.smtp_min_rate)) {
			found = first;
			break;
		}
		if (!is_ours && meter_total(&first->idle) < SECOND_US)
			break;
		memmove(line, line + 1, (count - 1) * sizeof *line);
		line[count - 1] = first;
	}
	assert_ptr_equal(intake_session_find_idle(&intake), found != NULL ? &found->session : NULL);
	i = 0;
	DL_FOREACH2 (intake.sessions, session, next)
		assert_ptr_equal(client_of(session), line[i++]);
	assert_int_equal(i, count);
	slowed = &clients[1].session; /* who was made to wait goes first */
	assert_ptr_equal(intake_session_find_idle(&intake), slowed);
	slowed = NULL;
}

static void begin_anew(size_t count)
{
	intake = (struct intake){.config = &config};
	now_us = 7 * SECOND_US;
	for (size_t i = 0; i < count; i++) {
		struct client *client = &clients[i];

		*client = (struct client){
			.timer_us = -1, .message = {.from_us = -1}, .idle = {.from_us = -1}};
		client->session.intake = &intake;
		client->session.engine = &engine;
		client->session.head = &client->head;
		client->session.timer = (struct os_timer *)(void *)client;
		DL_APPEND2(intake.sessions, &client->session, previous, next);
	}
}

/* --- tests --- */

/* It came first, and sends a long message. */
static void who_is_busy_does_not_hide_who_is_idle(void **state)
{
	(void)state;
	config.smtp_min_rate = 1000;
	begin_anew(2);
	clients[0].seconds = clients[1].seconds = MESSAGE_SECONDS;
	intake_deadline_set(&clients[1].session);
	for (unsigned i = 0; i < 20; i++) {
		intake_deadline_set(&clients[0].session);
		now_us += SECOND_US / 10;
		intake_deadline_receive(&clients[0].session, 1000);
		assert_ptr_equal(intake_session_find_idle(&intake),
				 i < 9 ? NULL : &clients[1].session);
	}
}

static void clients_are_waited_for_as_accounted(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		size_t count;

		random_state = seed;
		count = pick(3) == 0 ? SESSIONS_MAX : pick(5);
		config.smtp_min_rate = pick(3) * 50;
		begin_anew(count);
		look_for_idle(count);
		for (unsigned step = 0; step < STEPS && count > 0; step++) {
			struct client *client = &clients[pick((uint32_t)count)];
			static const int64_t spans[] = {0, 0, 1, 499999, 500000, 1000000};

			now_us += spans[pick(COUNT_OF(spans))];
			if (client->timer_us >= 0 && client->timer_us <= now_us)
				fire(client);
			switch (pick(5)) {
			case 0:
				follow(client);
				break;
			case 1:
				receive(client);
				break;
			case 2:
				look_for_idle(count);
				break;
			default:
				set(client);
			}
		}
		for (size_t i = 0; i < count; i++) {
			buffer_clear(&clients[i].head.output);
			buffer_clear(&clients[i].session.kept);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_busy_does_not_hide_who_is_idle),
		cmocka_unit_test(clients_are_waited_for_as_accounted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
