// SPDX-License-Identifier: ISC
/*
 * tests/unit/intake/session_scene.h - a session whose engine and rates do what a test says, for
 * what stands beside intake/session.c; to be linked with --wrap for what has a __wrap_ here.
 */
#ifndef TESTS_UNIT_INTAKE_SESSION_SCENE_H
#define TESTS_UNIT_INTAKE_SESSION_SCENE_H

#include "base/timestamp.h"
#include "fake_loop.h"
#include "intake/internal.h"
#include "log_lines.h"
#include <stdlib.h>
#include <string.h>

enum { CHARGES_MAX = 4 };

static struct config_rate rules[70];
static struct config config = {.rates = rules, .rate_count = 70};
static struct intake intake;
static struct intake_session session;

static struct {
	bool is_asked;
	struct intake_asked question;
	struct smtp_server_head head;
	bool is_closed;
	unsigned answers, auth_refusals, pumped, then, turned_away;
	struct mail_verdict verdict;
	const char *farewell;
	unsigned shut_down, drained;
	struct smtp_tls tls;
	unsigned started; /* after EARLY */
	char early[20];
	/* rates */
	struct limit_ruling rulings[CHARGES_MAX];
	size_t taken;
	struct {
		enum config_rate_count count;
		uint64_t amount;
		int64_t now_us;
		struct limit_subject subject;
	} charges[CHARGES_MAX];
	unsigned noted;
	unsigned slow_in, hastened;
} world;

/* --- in the place of the rates and of a class --- */

static struct limit_ruling take(enum config_rate_count count, const struct limit_subject *subject,
				uint64_t amount, int64_t now_us)
{
	size_t i = world.taken++;

	assert_true(i < CHARGES_MAX);
	world.charges[i].count = count;
	world.charges[i].amount = amount;
	world.charges[i].now_us = now_us;
	world.charges[i].subject = *subject;
	return world.rulings[i];
}

struct limit_ruling __wrap_limit_rates_take(struct limit_rates *rates, enum config_rate_count count,
					    const struct limit_subject *subject, uint64_t amount,
					    int64_t now_us);
struct limit_ruling __wrap_limit_rates_take(struct limit_rates *rates, enum config_rate_count count,
					    const struct limit_subject *subject, uint64_t amount,
					    int64_t now_us)
{
	assert_ptr_equal(rates, intake.rates);
	return take(count, subject, amount, now_us);
}

struct limit_ruling __wrap_limit_rates_note(struct limit_rates *rates, enum config_rate_count count,
					    const struct limit_subject *subject, uint64_t amount,
					    int64_t now_us);
struct limit_ruling __wrap_limit_rates_note(struct limit_rates *rates, enum config_rate_count count,
					    const struct limit_subject *subject, uint64_t amount,
					    int64_t now_us)
{
	assert_ptr_equal(rates, intake.rates);
	world.noted++;
	return take(count, subject, amount, now_us);
}

const struct limit_class *__wrap_limit_classes_at(const struct limit_classes *classes,
						  size_t index);
const struct limit_class *__wrap_limit_classes_at(const struct limit_classes *classes, size_t index)
{
	static const struct limit_class all[] = {{.mask = "first"},
						 {.mask = "second", .refuse = 3}};

	(void)classes;
	return &all[index];
}

void __wrap_limit_slow_in(struct limit_counter *counter, size_t class);
void __wrap_limit_slow_in(struct limit_counter *counter, size_t class)
{
	(void)counter;
	assert_int_equal(class, session.limits.class);
	world.slow_in++;
}

void __wrap_limit_hasten_in(struct limit_counter *counter, size_t class);
void __wrap_limit_hasten_in(struct limit_counter *counter, size_t class)
{
	(void)counter;
	assert_int_equal(class, session.limits.class);
	world.hastened++;
}

void __wrap_intake_auth_refuse(struct intake_session *refused);
void __wrap_intake_auth_refuse(struct intake_session *refused)
{
	assert_ptr_equal(refused, &session);
	world.auth_refusals++;
}

bool __wrap_intake_security_is_implicit(const struct intake_security *security);
bool __wrap_intake_security_is_implicit(const struct intake_security *security)
{
	return security != NULL;
}

/* --- in the place of an engine --- */

static bool engine_asks(const struct intake_session *asked, struct intake_asked *out)
{
	(void)asked;
	if (world.is_asked)
		*out = world.question;
	return world.is_asked;
}

static void engine_answer(struct intake_session *answered, const struct mail_verdict *verdict)
{
	(void)answered;
	world.answers++;
	world.verdict = *verdict;
}

static bool engine_is_closed(const struct intake_session *asked)
{
	(void)asked;
	return world.is_closed;
}

static void engine_turn_away(struct intake_session *turned, const char *text)
{
	(void)turned;
	world.turned_away++;
	world.farewell = text;
}

static void engine_shutdown(struct intake_session *stopped)
{
	(void)stopped;
	world.shut_down++;
}

static void engine_drain(struct intake_session *drained)
{
	(void)drained;
	world.drained++;
}

static void engine_set_tls(struct intake_session *secured, const struct smtp_tls *tls)
{
	(void)secured;
	world.tls = *tls;
}

static void engine_start(struct intake_session *started, struct str early)
{
	(void)started;
	world.started++;
	assert_true(early.length < sizeof world.early);
	memcpy(world.early, early.data, early.length);
	world.early[early.length] = '\0';
}

static const struct intake_engine engine = {.asks = engine_asks,
					    .start = engine_start,
					    .shutdown = engine_shutdown,
					    .drain = engine_drain,
					    .set_tls = engine_set_tls,
					    .answer = engine_answer,
					    .is_closed = engine_is_closed,
					    .refuse_session = engine_turn_away};

static void note_pump(struct intake_session *pumped)
{
	assert_ptr_equal(pumped, &session);
	world.pumped++;
}

static inline void note_then(struct intake_session *pumped)
{
	assert_ptr_equal(pumped, &session);
	world.then++;
}

/* --- scene --- */

static void begin_anew(void)
{
	buffer_clear(&log_lines);
	memset(&world, 0, sizeof world);
	memset(&session, 0, sizeof session);
	intake = (struct intake){.config = &config, .rates = (struct limit_rates *)(void *)&world};
	session.intake = &intake;
	session.engine = &engine;
	session.head = &world.head;
	session.pump = note_pump;
	session.limits.class = INTAKE_NO_CLASS;
	session.port = 4711;
	strcpy(session.address, "192.0.2.7");
	strcpy(session.mark, "1:2");
}

static inline int set_up_session(void **state)
{
	(void)state;
	fake_begin(1);
	fake_advance(5 * SECOND_US);
	for (size_t i = 0; i < COUNT_OF(rules); i++)
		rules[i] = (struct config_rate){.name = "one"};
	rules[3] = (struct config_rate){.name = "three", .count = CONFIG_RATE_BYTES, .limit = 7};
	rules[66].name = "sixty-six";
	begin_anew();
	return 0;
}

static inline int tear_down_session(void **state)
{
	(void)state;
	os_timer_free(session.limits.held);
	free(session.name);
	buffer_clear(&log_lines);
	return fake_timers() > 0 ? -1 : 0;
}

#endif
