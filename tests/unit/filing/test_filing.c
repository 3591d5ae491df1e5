// SPDX-License-Identifier: ISC
/*
 * Every order in which workers can file one message, up to a number of switches between them, with
 * every fault at every call, up to a number of faults: the message ends up in the mailbox once, and
 * whoever is told that it is filed finds it there. Under the sanitizers there is one less of
 * several switches, and of three faults.
 */
#include "base/arena.h"
#include "base/panic.h"
#include "filing/filing.h"
#include "filing_world.h"
#include "test.h"
#include "whole.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { CHOICES_MAX = 4000, STACK_SIZE = 256 << 10, TRIES = 12, STEPS_MAX = 1000 };

/* What is noted of a run beside calls. */
enum { IS_ANSWERED = WORLD_CALLS, WAITS };

/* A queue has the message, and tries until it is answered. */
struct player {
	ucontext_t context;
	char *stack;
	struct world_worker *worker;
	bool is_running, is_answered;
	bool is_in_doubt; /* a copy was lost before, and the process has not died since */
};

/* One run after another, each with the next list of choices. */
struct explorer {
	struct world world;
	struct player players[WORLD_WORKERS];
	unsigned count;   /* of the players */
	unsigned current; /* who has the turn */
	ucontext_t home;
	unsigned char choices[CHOICES_MAX], options[CHOICES_MAX];
	size_t length, at;
	unsigned faults, switches; /* allowed in a run */
	bool has_standby;          /* an asynchronous one, of the database */
	unsigned faults_left, switches_left;
	unsigned long runs;
	const char *problem;
	struct {
		unsigned char worker, what, fault;
	} steps[STEPS_MAX]; /* of the run, for people */
	size_t step_count;
};

static struct explorer *explorer;

/* ---- choices ---- */

static unsigned choose(unsigned options)
{
	struct explorer *e = explorer;

	if (options < 2)
		return 0;
	if (e->at == CHOICES_MAX)
		panic("a run has too many choices");
	if (e->at == e->length) {
		e->choices[e->length] = 0;
		e->options[e->length++] = (unsigned char)options;
	}
	return e->choices[e->at++];
}

static bool has_next(void)
{
	struct explorer *e = explorer;

	while (e->length > 0 && ++e->choices[e->length - 1] == e->options[e->length - 1])
		e->length--;
	return e->length > 0;
}

/* ---- turns ---- */

/* The Nth player after the current one that is running; the current one itself if there is none. */
static unsigned running_after(unsigned n)
{
	struct explorer *e = explorer;

	for (unsigned i = 1; i < e->count; i++) {
		unsigned at = (e->current + i) % e->count;

		if (e->players[at].is_running && n-- == 0)
			return at;
	}
	return e->current;
}

static void pass_turn(unsigned to)
{
	struct explorer *e = explorer;
	unsigned from = e->current;

	if (to == from)
		return;
	e->current = to;
	if (swapcontext(&e->players[from].context, &e->players[to].context) != 0)
		panic("no other stack");
}

static void turn(void *context)
{
	struct explorer *e = context;
	unsigned others = 0;
	unsigned choice;

	if (e->switches_left == 0)
		return;
	for (unsigned i = 0; i < e->count; i++)
		others += i != e->current && e->players[i].is_running;
	choice = choose(1 + others);
	if (choice == 0)
		return;
	e->switches_left--;
	pass_turn(running_after(choice - 1));
}

/* ---- faults ---- */

static const char *const CALLS[WORLD_CALLS] = {"begin", "lock",   "put",    "open",  "look",
					       "filed", "end",    "settle", "check", "commit",
					       "find",  "remove", "append"};
static const char FAULTS[WORLD_FAULTS + 1] = " dlruao";

static bool can_be(enum world_call call, enum world_fault fault)
{
	switch (fault) {
	case WORLD_REFUSED:
		return call >= WORLD_COMMIT;
	case WORLD_UNKNOWN:
		return call == WORLD_COMMIT || call == WORLD_APPEND;
	case WORLD_LATE_ON:
		return call == WORLD_APPEND && explorer->world.append_max_us > 0;
	case WORLD_OVER:
		return call == WORLD_COMMIT && explorer->has_standby;
	default:
		return true;
	}
}

static void note(unsigned worker, unsigned what, enum world_fault fault)
{
	struct explorer *e = explorer;

	if (e->step_count == STEPS_MAX)
		return;
	e->steps[e->step_count].worker = (unsigned char)worker;
	e->steps[e->step_count].what = (unsigned char)what;
	e->steps[e->step_count++].fault = (unsigned char)fault;
}

static void print_course(void)
{
	const struct explorer *e = explorer;

	for (size_t i = 0; i < e->step_count; i++) {
		unsigned what = e->steps[i].what;

		print_error(" %u%s%c", e->steps[i].worker,
			    what == IS_ANSWERED ? "OK"
			    : what == WAITS     ? "waits"
						: CALLS[what],
			    FAULTS[e->steps[i].fault]);
	}
	print_error("\n");
}

static enum world_fault judge(void *context, unsigned worker, enum world_call call)
{
	struct explorer *e = context;
	enum world_fault possible[WORLD_FAULTS];
	enum world_fault fault;
	unsigned count = 0;

	for (fault = WORLD_FINE; fault < WORLD_FAULTS; fault++)
		if (can_be(call, fault))
			possible[count++] = fault;
	fault = e->faults_left > 0 ? possible[choose(count)] : WORLD_FINE;
	e->faults_left -= fault != WORLD_FINE;
	note(worker, call, fault);
	return fault;
}

/* ---- a player ---- */

static void ignore(void *context, const struct filing_event *event)
{
	(void)context;
	(void)event;
}

static const char ID[] = "<1@example.org>", USER[] = "user@example.org";

/* One try: whether it was answered. */
static bool try_to_file(struct player *player)
{
	struct world_worker *worker = player->worker;
	const struct decode_identity identity = {.id = STR(ID)};
	const struct decode_message decoded = {.subject = STR("")};
	struct filing_copy copy = {.mailbox = {STR(USER), STR("INBOX")}, .recipient = STR(USER)};
	struct filing_message message = {.identity = &identity,
					 .decoded = &decoded,
					 .content = {.bytes = STR("\r\n"), .file = -1, .size = 2},
					 .sender = STR(""),
					 .is_in_doubt = player->is_in_doubt,
					 .copies = &copy,
					 .copy_count = 1};
	struct filing *filing = filing_new(&worker->record, &worker->store, ignore, NULL);

	filing_group(filing, &message, 1);
	filing_free(filing);
	player->is_in_doubt = !worker->is_dead && (player->is_in_doubt || message.is_lost);
	if (message.is_busy || worker->is_dead || copy.verdict.class != MAIL_OK)
		return false;
	if (world_count(worker->world, ID, USER) == 0)
		explorer->problem = "it is filed, and not there";
	return true;
}

static void play(void)
{
	struct explorer *e = explorer;
	unsigned own = e->current;
	struct player *player = &e->players[own];

	for (int i = 0; i < TRIES && !player->is_answered; i++) {
		world_revive(player->worker);
		player->is_answered = try_to_file(player);
		note(own, player->is_answered ? IS_ANSWERED : WAITS, WORLD_FINE);
		if (!player->is_answered)
			pass_turn(running_after(0));
	}
	player->is_running = false;
	if (running_after(0) != own)
		pass_turn(running_after(0));
	(void)setcontext(&e->home);
}

/* ---- a run ---- */

static void begin_run(const int64_t *clocks_us)
{
	struct explorer *e = explorer;

	e->at = 0;
	e->faults_left = e->faults;
	e->switches_left = e->switches;
	e->step_count = 0;
	e->current = 0;
	world_begin(&e->world);
	for (unsigned i = 0; i < e->count; i++) {
		struct player *player = &e->players[i];

		player->worker = &e->world.workers[i];
		player->worker->clock_us = clocks_us != NULL ? clocks_us[i] : 0;
		player->is_running = true;
		player->is_answered = false;
		player->is_in_doubt = false;
		if (getcontext(&player->context) != 0)
			panic("no context");
		player->context.uc_stack.ss_sp = player->stack;
		player->context.uc_stack.ss_size = STACK_SIZE;
		player->context.uc_link = NULL;
		makecontext(&player->context, play, 0);
	}
}

static void run(const int64_t *clocks_us)
{
	struct explorer *e = explorer;

	begin_run(clocks_us);
	if (swapcontext(&e->home, &e->players[0].context) != 0)
		panic("no other stack");
	e->runs++;
	for (unsigned i = 0; i < e->count; i++)
		if (!e->players[i].is_answered)
			e->problem = "a message is never answered";
	if (e->problem == NULL && world_count(&e->world, ID, USER) != 1)
		e->problem = "it is not there once";
	if (e->problem == NULL)
		return;
	print_course();
	fail_msg("%s", e->problem);
}

static void explore(unsigned players, unsigned faults, unsigned switches, const int64_t *clocks_us)
{
	struct explorer *e = explorer;

	e->count = players;
	e->faults = faults - (!TEST_IS_WHOLE && faults > 2);
	e->switches = switches - (!TEST_IS_WHOLE && switches > 1);
	e->length = 0;
	e->runs = 0;
	do
		run(clocks_us);
	while (has_next());
	print_message("%lu runs\n", e->runs);
}

static int set_up(void **state)
{
	explorer = memory_alloc_zero(1, sizeof *explorer);
	explorer->world.judge = judge;
	explorer->world.turn = turn;
	explorer->world.context = explorer;
	explorer->world.append_max_us = WORLD_APPEND_MAX;
	for (unsigned i = 0; i < WORLD_WORKERS; i++)
		explorer->players[i].stack = memory_alloc(STACK_SIZE);
	*state = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WORLD_WORKERS; i++)
		free(explorer->players[i].stack);
	free(explorer);
	return 0;
}

/* ---- what is explored ---- */

static void one_alone_with_faults(void **state)
{
	(void)state;
	explore(1, 3, 0, NULL);
}

static void several_without_faults(void **state)
{
	(void)state;
	explore(2, 0, 4, NULL);
	explore(3, 0, 3, NULL);
}

static void two_with_a_fault(void **state)
{
	(void)state;
	explore(2, 1, 2, NULL);
	explorer->world.append_max_us = 0;
	explore(2, 1, 2, NULL);
}

static void two_with_two_faults(void **state)
{
	(void)state;
	explore(2, 2, 1, NULL);
}

static void clocks_differ(void **state)
{
	static const int64_t behind[] = {0, -12 * HOUR_US, 0};
	static const int64_t ahead[] = {0, 12 * HOUR_US, 0};

	(void)state;
	explorer->world.append_max_us = 0;
	explore(2, 1, 2, behind);
	explore(2, 1, 2, ahead);
}

/* Who dies and is forgotten by the database, too, may file twice: one of both is allowed here. */
static void a_standby_takes_over(void **state)
{
	(void)state;
	explorer->has_standby = true;
	explorer->world.append_max_us = 0;
	explore(1, 1, 0, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_alone_with_faults, set_up, tear_down),
		cmocka_unit_test_setup_teardown(several_without_faults, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_with_a_fault, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_with_two_faults, set_up, tear_down),
		cmocka_unit_test_setup_teardown(clocks_differ, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_standby_takes_over, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
