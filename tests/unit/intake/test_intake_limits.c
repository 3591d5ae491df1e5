// SPDX-License-Identifier: ISC
/* A session and its class of hosts: when its name is waited for, who enters and who leaves, who is
 * asked to give way, and how all are counted anew. What counts is this test's. */
#include "limit/count.h"
#include "session_scene.h"
#include <utlist.h>

static struct {
	size_t class; /* of the session */
	bool needs_name, may_enter, is_open, is_slow, is_all_full;
	struct limit_total total;
	unsigned entered, left, lookups, gave_way, full, recounted, recounted_slowed, begun, ended;
	size_t entered_class, left_class, recounted_class;
} said;

size_t __wrap_limit_classes_find(const struct limit_classes *classes, struct str name,
				 const struct in6_addr *address);
size_t __wrap_limit_classes_find(const struct limit_classes *classes, struct str name,
				 const struct in6_addr *address)
{
	(void)classes, (void)address;
	assert_true(str_equal(name, session.name != NULL ? STR("name.test") : STR("")));
	return said.class;
}

bool __wrap_limit_classes_need_name(const struct limit_classes *classes,
				    const struct in6_addr *address);
bool __wrap_limit_classes_need_name(const struct limit_classes *classes,
				    const struct in6_addr *address)
{
	(void)classes, (void)address;
	return said.needs_name;
}

bool __wrap_limit_enter_in(struct limit_counter *counter, size_t class);
bool __wrap_limit_enter_in(struct limit_counter *counter, size_t class)
{
	assert_ptr_equal(counter, intake.counter);
	said.entered++;
	said.entered_class = class;
	return said.may_enter;
}

void __wrap_limit_leave_in(struct limit_counter *counter, size_t class);
void __wrap_limit_leave_in(struct limit_counter *counter, size_t class)
{
	assert_ptr_equal(counter, intake.counter);
	said.left++;
	said.left_class = class;
}

void __wrap_limit_total_of(const struct limit_memory *memory, uint64_t key,
			   struct limit_total *total_out);
void __wrap_limit_total_of(const struct limit_memory *memory, uint64_t key,
			   struct limit_total *total_out)
{
	(void)memory, (void)key;
	*total_out = said.total;
}

bool __wrap_limit_is_all_full(const struct limit_memory *memory,
			      const struct limit_classes *classes);
bool __wrap_limit_is_all_full(const struct limit_memory *memory,
			      const struct limit_classes *classes)
{
	(void)memory, (void)classes;
	return said.is_all_full;
}

void __wrap_limit_recount_in(struct limit_counter *counter, size_t class);
void __wrap_limit_recount_in(struct limit_counter *counter, size_t class)
{
	(void)counter;
	said.recounted++;
	said.recounted_class = class;
}

void __wrap_limit_recount_slowed(struct limit_counter *counter, size_t class);
void __wrap_limit_recount_slowed(struct limit_counter *counter, size_t class)
{
	(void)counter;
	assert_int_equal(class, said.class);
	said.recounted_slowed++;
}

void __wrap_limit_recount_begin(struct limit_counter *counter, const struct limit_memory *memory,
				const struct limit_classes *classes);
void __wrap_limit_recount_begin(struct limit_counter *counter, const struct limit_memory *memory,
				const struct limit_classes *classes)
{
	(void)counter, (void)memory, (void)classes;
	said.begun++;
}

void __wrap_limit_recount_end(struct limit_counter *counter);
void __wrap_limit_recount_end(struct limit_counter *counter)
{
	(void)counter;
	said.ended++;
}

void __wrap_limit_clients_use(struct limit_clients *clients, const struct limit_memory *memory);
void __wrap_limit_clients_use(struct limit_clients *clients, const struct limit_memory *memory)
{
	(void)clients, (void)memory;
}

void __wrap_intake_lookup_name(struct intake_session *named);
void __wrap_intake_lookup_name(struct intake_session *named)
{
	assert_ptr_equal(named, &session);
	said.lookups++;
}

bool __wrap_names_request_is_open(const struct names_request *request);
bool __wrap_names_request_is_open(const struct names_request *request)
{
	assert_ptr_equal(request, &session.name_request);
	return said.is_open;
}

bool __wrap_names_are_slow(const struct names *names);
bool __wrap_names_are_slow(const struct names *names)
{
	assert_ptr_equal(names, intake.names);
	return said.is_slow;
}

static void note_give_way(struct intake_session *slowed)
{
	(void)slowed;
	said.gave_way++;
}

static void note_full(void *context)
{
	assert_ptr_equal(context, &said);
	said.full++;
}

static void begin_limited(void)
{
	begin_anew();
	memset(&said, 0, sizeof said);
	intake.counter = (struct limit_counter *)(void *)&said;
	intake.classes = (const struct limit_classes *)(const void *)&said;
	intake.names = (struct names *)(void *)&said;
	intake.all_full = note_full;
	intake.context = &said;
	said.class = 1;
}

/* --- names --- */

static void names_are_waited_for_if_classes_need_them(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 64; n++) {
		bool asks = (n & 15) == 0;

		begin_limited();
		if ((n & 1) != 0)
			strcpy(session.address, OS_SOCKET_UNIX);
		if ((n & 2) != 0)
			intake.counter = NULL;
		if ((n & 4) != 0)
			intake.names = NULL;
		said.needs_name = (n & 8) == 0;
		said.is_open = (n & 16) == 0;
		said.is_slow = (n & 32) != 0;
		assert_int_equal(intake_limit_ask_name(&session), n == 0);
		assert_int_equal(said.lookups, asks);
	}
}

/* --- places --- */

/* Its places are three, with sessions in both directions. */
static void whoever_may_enters(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2 * 2 * 2 * 5 * 2; n++) {
		bool is_limited = n % 2 == 0, moves = n / 2 % 2 != 0, has_slowed = n / 4 % 2 != 0;
		struct intake_session slowed = {.limits.class = 1, .yield_place = note_give_way};
		bool may, is_full;

		begin_limited();
		said.may_enter = n / 40 % 2 == 0;
		said.is_all_full = n % 3 == 0;
		said.total = (struct limit_total){.in = n / 8 % 5, .out = 1};
		is_full = said.total.in + said.total.out >= 3;
		if (!is_limited)
			intake.counter = NULL;
		if (has_slowed)
			DL_APPEND2(intake.slowed, &slowed, limits.slowed_previous,
				   limits.slowed_next);
		session.limits.class = moves ? 0 : INTAKE_NO_CLASS;
		may = moves ? intake_limit_move(&session) : intake_limit_enter(&session);
		assert_int_equal(may, !is_limited || said.may_enter);
		assert_int_equal(said.entered, is_limited);
		assert_int_equal(session.limits.class, may && is_limited ? 1
						       : moves           ? 0
									 : INTAKE_NO_CLASS);
		assert_int_equal(said.left, moves && may && is_limited);
		assert_int_equal(said.gave_way, is_limited && has_slowed && is_full);
		assert_int_equal(said.full, is_limited && is_full && said.is_all_full);
		assert_int_equal(session.is_turned_away, is_limited && !said.may_enter);
		assert_int_equal(log_lines.length > 0, is_limited);
		buffer_clear(&log_lines);
	}
}

static void decisions_are_logged(void **state)
{
	(void)state;
	begin_limited();
	session.name = strdup("name.test");
	said.may_enter = false;
	said.total = (struct limit_total){.in = 2, .out = 1};
	assert_false(intake_limit_enter(&session));
	check_log("CLASS_DECIDED class=second direction=in result=refused in=2 out=1 "
		  "setting=refuse limit=3 client=192.0.2.7 client_port=4711 session=1:2 "
		  "name=name.test\n"
		  "~SESSION_REFUSED client=192.0.2.7 client_port=4711 session=1:2 "
		  "text=Too many sessions of its class class=second setting=refuse limit=3 "
		  "name=name.test\n");
	said.may_enter = true;
	assert_true(intake_limit_enter(&session));
	check_log("CLASS_DECIDED class=second direction=in result=counted in=2 out=1 "
		  "setting=refuse limit=3 client=192.0.2.7 client_port=4711 session=1:2 "
		  "name=name.test\n");
	/* to where it is, it need not move */
	assert_true(intake_limit_move(&session));
	check_log("");
	intake_limit_leave(&session);
	intake_limit_leave(&session);
	assert_int_equal(said.left, 1);
	assert_int_equal(said.left_class, 1);
	assert_int_equal(session.limits.class, INTAKE_NO_CLASS);
}

static void all_are_counted_anew(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 32; n++) {
		bool has_classes = (n & 1) == 0, is_counted = n == 0 || n == 16;

		begin_limited();
		session.named = (n & 2) != 0 ? note_then : NULL;
		world.is_closed = (n & 4) != 0;
		if ((n & 8) != 0)
			strcpy(session.address, OS_SOCKET_UNIX);
		session.limits.is_slowed = (n & 16) != 0;
		session.limits.class = 7;
		session.limits.rates_logged = 5;
		DL_APPEND2(intake.sessions, &session, previous, next);
		if (!has_classes)
			intake.counter = NULL;
		intake_set_limits(&intake, NULL, has_classes ? intake.classes : NULL);
		assert_int_equal(said.recounted, is_counted);
		assert_int_equal(said.recounted_slowed, is_counted && session.limits.is_slowed);
		assert_int_equal(session.limits.class, is_counted ? 1 : INTAKE_NO_CLASS);
		assert_int_equal(session.limits.rates_logged, 0);
		assert_int_equal(said.begun, has_classes);
		assert_int_equal(said.ended, has_classes);
		session.limits.is_slowed = false;
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_session)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(names_are_waited_for_if_classes_need_them),
		CASE(whoever_may_enters),
		CASE(decisions_are_logged),
		CASE(all_are_counted_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
