// SPDX-License-Identifier: ISC
/* The first step of a session against a plain description: all that may be said of a client before
 * its greeting, at once or after its name was awaited, or a rate has held it back. */
#include "limit/client.h"
#include "session_scene.h"

/* What is said of the client, and what was done. */
static struct {
	bool admits, trusts_all, lacks_tls, is_overloaded, has_room, asks_name, has_class, has_tls;
	bool is_proxy;
	enum intake_rate rate;
	void (*then)(struct intake_session *session);
	unsigned lacking, entered, left;
	uint64_t bytes;
	uint32_t most;
	char secured[20]; /* what was read before TLS; "-": it has not begun */
} said;

static const char slow_down[] = "slow down";

#define SAYS(name, type, member)        \
	bool __wrap_##name(type asked); \
	bool __wrap_##name(type asked)  \
	{                               \
		(void)asked;            \
		return said.member;     \
	}

SAYS(intake_security_trusts_all, const struct intake_security *, trusts_all)
SAYS(intake_security_lacks_tls, const struct intake_security *, lacks_tls)
SAYS(intake_limit_is_overloaded, const struct intake_session *, is_overloaded)
SAYS(intake_limit_ask_name, struct intake_session *, asks_name)
SAYS(intake_limit_enter, struct intake_session *, has_class)

bool __wrap_intake_security_admits(const struct intake_security *security,
				   const struct in6_addr *address);
bool __wrap_intake_security_admits(const struct intake_security *security,
				   const struct in6_addr *address)
{
	(void)security;
	assert_ptr_equal(address, &session.mapped);
	return said.admits;
}

bool __wrap_config_may_xclient(const struct config *asked, const struct in6_addr *address);
bool __wrap_config_may_xclient(const struct config *asked, const struct in6_addr *address)
{
	assert_ptr_equal(asked, &config);
	assert_ptr_equal(address, &session.mapped);
	return said.is_proxy;
}

void __wrap_intake_secure_log_lacking(const struct intake_session *lacking);
void __wrap_intake_secure_log_lacking(const struct intake_session *lacking)
{
	assert_ptr_equal(lacking, &session);
	said.lacking++;
}

bool __wrap_intake_secure_begin(struct intake_session *begun, struct str early);
bool __wrap_intake_secure_begin(struct intake_session *begun, struct str early)
{
	assert_ptr_equal(begun, &session);
	assert_true(early.length < sizeof said.secured);
	memcpy(said.secured, early.data, early.length);
	said.secured[early.length] = '\0';
	return said.has_tls;
}

enum intake_rate __wrap_intake_rate_of_connection(struct intake_session *judged,
						  void (*then)(struct intake_session *session),
						  const char **text_out);
enum intake_rate __wrap_intake_rate_of_connection(struct intake_session *judged,
						  void (*then)(struct intake_session *session),
						  const char **text_out)
{
	assert_ptr_equal(judged, &session);
	said.then = then;
	*text_out = slow_down;
	return said.rate;
}

struct limit_client *__wrap_limit_client_enter(struct limit_clients *clients,
					       const struct in6_addr *address, uint32_t most);
struct limit_client *__wrap_limit_client_enter(struct limit_clients *clients,
					       const struct in6_addr *address, uint32_t most)
{
	assert_ptr_equal(clients, intake.clients);
	assert_ptr_equal(address, &session.mapped);
	said.most = most;
	said.entered++;
	return said.has_room ? (struct limit_client *)(void *)&said : NULL;
}

void __wrap_limit_client_leave(struct limit_client *client);
void __wrap_limit_client_leave(struct limit_client *client)
{
	assert_ptr_equal(client, &said);
	said.left++;
}

void __wrap_limit_client_change_bytes(struct limit_client *client, uint64_t before, uint64_t after);
void __wrap_limit_client_change_bytes(struct limit_client *client, uint64_t before, uint64_t after)
{
	assert_ptr_equal(client, &said);
	said.bytes += after - before;
}

/* --- a plain description --- */

struct expected {
	const char *text, *setting; /* it is turned away, by a limit; NULL: it is not */
	bool stays;                 /* the session goes on, perhaps only to say TEXT */
	bool waits_for_name, waits_for_rate;
	bool is_logged; /* already */
};

static const char *const no_place = "Too many sessions, try again later";

/* Once its name is known, or not asked for. */
static struct expected after_name(bool is_implicit)
{
	if (!said.has_class)
		return (struct expected){.text = no_place, .stays = !is_implicit};
	if (said.rate == INTAKE_RATE_REFUSES)
		return (struct expected){
			.text = slow_down, .stays = !is_implicit, .is_logged = true};
	if (said.rate == INTAKE_RATE_WAITS)
		return (struct expected){.stays = true, .waits_for_rate = true};
	return (struct expected){.stays = !is_implicit || said.has_tls};
}

static struct expected from_the_beginning(bool is_implicit)
{
	bool stays = !is_implicit;

	if (!said.admits || (session.is_stranger && said.trusts_all))
		return (struct expected){.text = "The address is not in clients"};
	if (said.lacks_tls)
		return (struct expected){.text = "TLS is not possible now, try again later",
					 .stays = stays};
	if (intake.is_draining)
		return (struct expected){.text = "Down for maintenance, try again later",
					 .stays = stays};
	if (said.is_overloaded)
		return (struct expected){.text = "The load is too high, try again later",
					 .setting = "load_refuse",
					 .stays = stays};
	if (!said.has_room && !session.is_stranger)
		return (struct expected){
			.text = intake_too_many, .setting = "maxsessions_client", .stays = stays};
	if (said.asks_name)
		return (struct expected){.stays = true, .waits_for_name = true};
	return after_name(is_implicit);
}

static void check_outcome(const struct expected *expected, bool is_implicit)
{
	bool begins =
		expected->text == NULL && !expected->waits_for_name && !expected->waits_for_rate;

	assert_int_equal(world.turned_away, expected->text != NULL);
	if (expected->text != NULL)
		assert_string_equal(world.farewell, expected->text);
	if (expected->setting == NULL)
		assert_null(session.bound.setting);
	else
		assert_string_equal(session.bound.setting, expected->setting);
	assert_int_equal(session.is_turned_away, expected->is_logged);
	assert_int_equal(session.named != NULL, expected->waits_for_name);
	assert_int_equal(session.question.is_asking,
			 expected->waits_for_name || expected->waits_for_rate);
	assert_int_equal(session.limits.early.length, session.question.is_asking ? 5 : 0);
	assert_int_equal(world.started, begins && !is_implicit);
	assert_string_equal(world.early, begins && !is_implicit ? "early" : "");
	assert_string_equal(said.secured, begins && is_implicit ? "early" : "-");
}

/* What the bits of N say. */
static bool begin_client(unsigned n, enum intake_rate rate)
{
	bool is_implicit = (n & 1) != 0;

	begin_anew();
	memset(&said, 0, sizeof said);
	strcpy(said.secured, "-");
	config.load_refuse = 7;
	config.maxsessions_client = 8;
	said.rate = rate;
	said.admits = (n & 2) == 0;
	said.trusts_all = (n & 4) != 0;
	session.is_stranger = (n & 8) != 0;
	said.lacks_tls = (n & 16) != 0;
	intake.is_draining = (n & 32) != 0;
	said.is_overloaded = (n & 64) != 0;
	said.has_room = (n & 128) == 0;
	said.asks_name = (n & 256) != 0;
	said.has_class = (n & 512) == 0;
	said.has_tls = (n & 1024) == 0;
	session.tls.security = is_implicit ? (struct intake_security *)(void *)&said : NULL;
	return is_implicit;
}

/* It has waited; IS_CLOSED: the service has stopped meanwhile. */
static void check_going_on(void (*go_on)(struct intake_session *waiting), struct expected expected,
			   bool is_implicit, bool is_closed)
{
	bool has_failed = expected.text == NULL && !expected.stays && !is_closed;

	world.is_closed = is_closed;
	buffer_append_string(&world.head.output, "220 ");
	go_on(&session);
	assert_int_equal(world.pumped, 1);
	assert_int_equal(world.head.output.length, is_closed && is_implicit ? 0 : 4);
	if (is_closed) {
		assert_int_equal(world.turned_away + world.started, 0);
		assert_false(session.question.is_asking);
	} else if (is_implicit && (has_failed || expected.text != NULL)) {
		/* nothing can be said to it, but the engine is to end */
		assert_true(world.turned_away > 0);
		assert_string_equal(world.farewell, "TLS cannot begin");
	} else {
		check_outcome(&expected, is_implicit);
	}
	buffer_clear(&world.head.output);
}

static void check_client(unsigned n, enum intake_rate rate, bool is_closed)
{
	bool is_implicit = begin_client(n, rate);
	struct expected expected = from_the_beginning(is_implicit);
	struct expected then = {.stays = !is_implicit || said.has_tls};
	bool waits = expected.waits_for_name || expected.waits_for_rate;

	assert_int_equal(intake_session_admit(&session, STR("early")), expected.stays);
	check_outcome(&expected, is_implicit);
	assert_int_equal(said.lacking, expected.text != NULL && said.lacks_tls && said.admits &&
					       !(session.is_stranger && said.trusts_all));
	if (expected.setting != NULL)
		assert_int_equal(session.bound.value, *expected.setting == 'l' ? 7 : 8);
	if (expected.waits_for_name)
		check_going_on(session.named, after_name(is_implicit), is_implicit, is_closed);
	else if (waits)
		check_going_on(said.then, then, is_implicit, is_closed);
	buffer_clear(&session.limits.early);
}

static void all_that_may_be_said(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2048; n++)
		for (unsigned rate = INTAKE_RATE_PASSES; rate <= INTAKE_RATE_REFUSES; rate++)
			for (unsigned is_closed = 0; is_closed < 2; is_closed++)
				check_client(n, (enum intake_rate)rate, is_closed);
}

/* --- counted for its client --- */

static void who_has_an_address_is_counted(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 64; n++) {
		/* a proxy has one session for each of its clients */
		bool is_counted;
		bool had_client = (n & 32) != 0;
		bool has_place;

		(void)begin_client(0, INTAKE_RATE_PASSES);
		if ((n & 1) != 0)
			strcpy(session.address, OS_SOCKET_UNIX);
		session.is_claimed = (n & 2) != 0;
		said.is_proxy = (n & 6) != 0;
		is_counted = (n & 25) == 0 && (session.is_claimed || !said.is_proxy);
		session.may_relay = (n & 8) != 0;
		session.is_stranger = (n & 16) != 0;
		session.limits.client = had_client ? (struct limit_client *)(void *)&said : NULL;
		session.limits.unfinished = 99;
		config.maxsessions_client = n % 3 == 0 ? 0 : 5;
		said.has_room = n % 5 > 0;
		has_place = intake_session_count(&session);
		assert_int_equal(has_place, !is_counted || said.has_room);
		assert_int_equal(said.entered, is_counted);
		if (is_counted)
			assert_int_equal(said.most, n % 3 == 0 ? UINT32_MAX : 5);
		assert_int_equal(said.left, had_client);
		assert_true(said.bytes == (had_client ? -(uint64_t)99 : 0));
		assert_int_equal(session.limits.unfinished, had_client ? 0 : 99);
		assert_ptr_equal(session.limits.client, is_counted && said.has_room ? &said : NULL);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_session)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(all_that_may_be_said),
		CASE(who_has_an_address_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
