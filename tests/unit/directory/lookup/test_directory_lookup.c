// SPDX-License-Identifier: ISC
/* What is made of a directory server's answers; the client is one of this test's own. */
#include "base/panic.h"
#include "directory/lookup/lookup.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTIONS_MAX = 8 };

struct directory_client {
	const struct directory_client_handler *handler;
	void *context;
};

struct directory_question_private {
	char text[1200];
	struct directory_question *question; /* NULL: cancelled or answered */
};

static struct directory_question_private asked[QUESTIONS_MAX];
static size_t asked_count;
static const struct directory_answer_text *at_once; /* NULL: later */

struct directory_client *directory_client_new(struct os_loop *loop, const char *const *servers,
					      size_t server_count,
					      const struct directory_dialer *dialer,
					      const struct directory_client_handler *handler,
					      void *context)
{
	struct directory_client *client = memory_alloc_zero(1, sizeof *client);

	(void)loop;
	assert_int_equal(server_count, 1);
	assert_string_equal(servers[0], "unix:/run/directory");
	assert_null(dialer);
	client->handler = handler;
	client->context = context;
	return client;
}

void directory_client_free(struct directory_client *client)
{
	for (size_t i = 0; i < asked_count; i++)
		assert_null(asked[i].question);
	free(client);
}

void directory_client_when_greeted(struct directory_client *client, void (*call)(void *context),
				   void *context)
{
	(void)client, (void)call, (void)context;
}

static void ask(const char *text, struct directory_question *question)
{
	struct directory_question_private *private = &asked[asked_count];

	assert_true(asked_count < QUESTIONS_MAX);
	if (at_once != NULL) {
		question->answered(question->context, at_once);
		return;
	}
	asked_count++;
	snprintf(private->text, sizeof private->text, "%s", text);
	private->question = question;
	question->private = private;
}

void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question)
{
	char text[1200];

	assert_non_null(client);
	assert_true(patience_us > 0);
	snprintf(text, sizeof text, "get %s " STR_FORMAT, table, STR_ARGUMENTS(key));
	ask(text, question);
}

void directory_client_list(struct directory_client *client, const char *table, struct str prefix,
			   struct str after, size_t limit, struct directory_question *question)
{
	char text[1200];

	assert_non_null(client);
	snprintf(text, sizeof text, "list %s [" STR_FORMAT "] [" STR_FORMAT "] %zu", table,
		 STR_ARGUMENTS(prefix), STR_ARGUMENTS(after), limit);
	ask(text, question);
}

void directory_question_cancel(struct directory_client *client, struct directory_question *question)
{
	assert_non_null(client);
	assert_non_null(question->private);
	question->private->question = NULL;
	question->private = NULL;
}

static void tell(size_t index, const struct directory_answer_text *answer)
{
	struct directory_question *question = asked[index].question;

	assert_non_null(question);
	asked[index].question = NULL;
	question->private = NULL;
	question->answered(question->context, answer);
}

/* --- a fixture --- */

static struct config_reach servers[] = {{.name = "s.test", .port = 24}};
static struct config_service services[] = {{.name = "maildir"},
					   {.name = "other"},
					   {.name = "box",
					    .kind = CONFIG_SERVICE_LMTP,
					    .servers = servers,
					    .server_count = COUNT_OF(servers)}};
static struct config_domain domains[] = {{.name = "here.test", .service = &services[0]}};
static const struct config_domain *domain_index[] = {domains};
static struct config config = {
	.hostname = "mx.test",
	.recipient_delimiter = "+",
	.services = services,
	.service_count = COUNT_OF(services),
	.domains = domains,
	.domain_count = 1,
	.domain_index = domain_index,
	.directory = {.backend = CONFIG_BACKEND_SQLITE},
};
static struct os_loop *loop;
static struct directory *directory;
static char outcome[65536];
static unsigned calls;

static int set_up(void **state)
{
	(void)state;
	config.directory.backend = CONFIG_BACKEND_SQLITE;
	loop = os_loop_new();
	directory = directory_new(loop, &config, "/run/directory");
	asked_count = 0;
	at_once = NULL;
	calls = 0;
	outcome[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	directory_free(directory);
	os_loop_free(loop);
	return 0;
}

static void add(const char *format, ...) PRINTF_LIKE(1, 2);
static void add(const char *format, ...)
{
	size_t used = strlen(outcome);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(outcome + used, sizeof outcome - used, format, arguments);
	va_end(arguments);
}

static void found(void *context, const struct directory_result *result)
{
	static const char *const answers[] = {"found", "elsewhere", "refused", "unknown"};

	(void)context;
	calls++;
	add("%s %s%s", answers[result->answer], result->verdict.status,
	    result->is_away ? " away" : "");
	for (size_t i = 0; i < result->target_count; i++) {
		const struct directory_target *target = &result->targets[i];

		switch (target->kind) {
		case DIRECTORY_TARGET_LOCAL:
			add("; " STR_FORMAT "%s" STR_FORMAT ":", STR_ARGUMENTS(target->service),
			    target->server.length > 0 ? " at " : "", STR_ARGUMENTS(target->server));
			break;
		case DIRECTORY_TARGET_REMOTE:
			add("; remote:");
			break;
		case DIRECTORY_TARGET_LIST:
			add("; list%s%s " STR_FORMAT ":", target->verp ? "+" : "",
			    target->post == DIRECTORY_POST_MEMBERS  ? "?"
			    : target->post == DIRECTORY_POST_OWNERS ? "!"
								    : "",
			    STR_ARGUMENTS(target->owner));
			break;
		case DIRECTORY_TARGET_NONE:
			add("; %s:", target->verdict.status);
			break;
		}
		add(STR_FORMAT, STR_ARGUMENTS(target->address));
	}
}

static struct directory_answer_text answer_of(struct str *results, size_t count)
{
	return (struct directory_answer_text){.exists = true,
					      .results = results,
					      .result_count = count,
					      .ttl_us = 1000,
					      .version = 7};
}

/* TEXT: results, a line each. */
static size_t split_lines(const char *text, struct str *results, size_t max)
{
	struct str rest = str_from(text);
	size_t count = 0;

	while (count < max && str_split(&rest, '\n', &results[count]))
		count++;
	return count;
}

static void answers_are_read(void **state)
{
	static const struct {
		const char *results;
		const char *outcome;
	} cases[] = {
		{"local maildir ann@a.test", "found 2.1.5; maildir:ann@a.test"},
		{"remote ann@b.test\nlocal other \"a b\"@a.test",
		 "found 2.1.5; remote:ann@b.test; other:\"a b\"@a.test"},
		{"local maildir a b@a.test", "unknown 4.3.0"},
		{"remote j\xc3\xb6rg@b.test", "found 2.1.5; remote:j\xc3\xb6rg@b.test"},
		{"list l@a.test owner o@a.test post owners",
		 "found 2.1.5; list! o@a.test:l@a.test"},
		{"list l@a.test owner o@a.test verp yes post members",
		 "found 2.1.5; list+? o@a.test:l@a.test"},
		{"list l@a.test owner o@a.test verp yes", "found 2.1.5; list+ o@a.test:l@a.test"},
		{"list l@a.test owner o@a.test", "found 2.1.5; list o@a.test:l@a.test"},
		{"list \"my list\"@a.test owner \"the owner\"@a.test",
		 "found 2.1.5; list \"the owner\"@a.test:\"my list\"@a.test"},
		{"list l@a.test", "found 2.1.5; list :l@a.test"},
		{"elsewhere", "elsewhere 2.1.5"},
		{"refuse 5.1.1 ann@a.test No such user here", "refused 5.1.1; 5.1.1:ann@a.test"},
		{"refuse 5.1.1 postmaster There is none", "refused 5.1.1; 5.1.1:"},
		{"refuse 5.1.3 - The recipient is no address", "refused 5.1.3; 5.1.3:"},
		{"refuse 5.4.6 a@a.test a@a.test > b@a.test > a@a.test\nremote c@b.test",
		 "found 2.1.5; 5.4.6:a@a.test; remote:c@b.test"},
		{"refuse 4.4.6 a@a.test a@a.test > b@a.test > a@a.test\nremote c@b.test",
		 "unknown 4.4.6"},
		{"refuse 5.1.1 a@a.test No\nrefuse 5.1.2 b@a.test No",
		 "refused 5.1.1; 5.1.1:a@a.test; 5.1.2:b@a.test"},
		{"refuse 4.2.1 ann@a.test Moving", "unknown 4.2.1"},
		{"remote c@b.test\nrefuse 4.2.1 ann@a.test Moving", "unknown 4.2.1"},
		/* a service that we do not have; what lists are sent on by has no other name */
		{"local gone ann@a.test", "unknown 4.3.5"},
		{"remote b@b.test\nlocal gone ann@a.test", "unknown 4.3.5"},
		{"local list ann@a.test", "unknown 4.3.5"},
		{"server box s.test:24 ann@a.test", "found 2.1.5; box at s.test:24:ann@a.test"},
		{"server box t.test:24 ann@a.test", "unknown 4.3.5"},
		{"server maildir s.test:24 ann@a.test", "unknown 4.3.5"},
		{"server gone s.test:24 ann@a.test", "unknown 4.3.5"},
		{"server box S.test:24 ann@a.test", "unknown 4.3.0"},
		{"server box s.test ann@a.test", "unknown 4.3.0"},
		{"server box s.test:24", "unknown 4.3.0"},
		{"server box s.test:24 ann", "unknown 4.3.0"},
		/* nonsense */
		{"", "unknown 4.3.0"},
		{"nonsense", "unknown 4.3.0"},
		{"local maildir", "unknown 4.3.0"},
		{"local maildir ann", "unknown 4.3.0"},
		{"local  ann@a.test", "unknown 4.3.0"},
		{"remote ann@a.test\r", "unknown 4.3.0"},
		{"remote <ann@a.test>", "unknown 4.3.0"},
		{"remote @a.test", "unknown 4.3.0"},
		{"remote ann@a test", "unknown 4.3.0"},
		{"list l@a.test o@a.test", "unknown 4.3.0"},
		{"list l@a.test owner", "unknown 4.3.0"},
		{"refuse 5.1.1", "unknown 4.3.0"},
		{"refuse 2.1.5 ann@a.test Fine", "unknown 4.3.0"},
		{"refuse 5.1.1111 ann@a.test Fine", "unknown 4.3.0"},
		{"elsewhere\nremote ann@b.test", "unknown 4.3.0"},
		{"remote a@b.test\nnonsense", "unknown 4.3.0"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_request request = {0};
		struct str results[8];
		struct directory_answer_text answer =
			answer_of(results, split_lines(cases[i].results, results, 8));

		outcome[0] = '\0';
		asked_count = 0;
		directory_lookup(directory, STR("x@a.test"), found, NULL, &request);
		assert_string_equal(asked[0].text, "get route x@a.test");
		assert_string_equal(outcome, "");
		tell(0, &answer);
		if (strcmp(outcome, cases[i].outcome) != 0)
			print_message("%s\n", cases[i].results);
		assert_string_equal(outcome, cases[i].outcome);
		assert_null(request.directory);
		/* the same at once */
		outcome[0] = '\0';
		at_once = &answer;
		directory_lookup(directory, STR("x@a.test"), found, NULL, &request);
		assert_string_equal(outcome, cases[i].outcome);
		at_once = NULL;
	}
}

static void too_many_targets_are_refused(void **state)
{
	static struct str results[DIRECTORY_TARGETS_MAX + 1];
	struct directory_request request = {0};
	struct directory_answer_text answer = answer_of(results, COUNT_OF(results));

	(void)state;
	for (size_t i = 0; i < COUNT_OF(results); i++)
		results[i] = STR("remote a@b.test");
	at_once = &answer;
	directory_lookup(directory, STR("x@a.test"), found, NULL, &request);
	assert_memory_equal(outcome, "unknown 4.4.6", 13);
}

/* Nobody is refused for a directory that is away. */
static void no_answer_is_no_refusal(void **state)
{
	static const struct {
		enum directory_error error;
		const char *outcome;
	} cases[] = {
		{DIRECTORY_ERROR_LATER, "unknown 4.4.3 away"},
		{DIRECTORY_ERROR_DENIED, "unknown 4.3.5 away"},
		{DIRECTORY_ERROR_BAD, "unknown 4.4.3 away"},
		{DIRECTORY_ERROR_STORAGE, "unknown 4.4.3 away"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_answer_text answer = {.error = cases[i].error,
						       .error_text = "because"};
		struct directory_request request = {0};

		outcome[0] = '\0';
		at_once = &answer;
		directory_lookup(directory, STR("x@a.test"), found, NULL, &request);
		assert_string_equal(outcome, cases[i].outcome);
	}
}

static void a_cancelled_question_is_not_answered(void **state)
{
	struct directory_request request = {0};

	(void)state;
	directory_lookup(directory, STR("x@a.test"), found, NULL, &request);
	directory_request_cancel(&request);
	assert_null(asked[0].question);
	directory_request_cancel(&request);
	assert_int_equal(calls, 0);
}

static void a_section_may_come_and_go(void **state)
{
	struct directory_request request = {0};

	(void)state;
	config.directory.backend = CONFIG_BACKEND_NONE;
	directory_configure(directory, &config);
	directory_lookup(directory, STR("ann@here.test"), found, NULL, &request);
	assert_string_equal(outcome, "found 2.1.5; maildir:ann@here.test");
	config.directory.backend = CONFIG_BACKEND_SQLITE;
	directory_configure(directory, &config);
	directory_lookup(directory, STR("ann@here.test"), found, NULL, &request);
	assert_string_equal(asked[0].text, "get route ann@here.test");
	directory_request_cancel(&request);
}

/* --- members --- */

static void listed(void *context, const struct directory_members *members)
{
	(void)context;
	calls++;
	if (!members->is_known) {
		add("%s", members->verdict.status);
		return;
	}
	for (size_t i = 0; i < members->count; i++)
		add(STR_FORMAT ";", STR_ARGUMENTS(members->members[i]));
	add("%s", members->is_end ? "end" : "more");
}

static void members_are_listed_by_pages(void **state)
{
	static struct str many[DIRECTORY_LIST_MAX];
	struct directory_members_request request = {0};
	struct str some[] = {STR("= \"my list\"@a.test bob@b.test"), STR("source import"),
			     STR("= \"my list\"@a.test \"c d\"@b.test")};
	struct str other[] = {STR("= m@a.test bob@b.test"), STR("= l@a.test bob@b.test")};
	struct directory_answer_text answer = answer_of(some, 3);

	(void)state;
	directory_list_members(directory, STR("\"my list\"@a.test"), STR(""), listed, NULL,
			       &request);
	assert_string_equal(asked[0].text, "list member [\"my list\"@a.test ] [] 1000");
	tell(0, &answer);
	assert_string_equal(outcome, "bob@b.test;\"c d\"@b.test;end");
	directory_list_members(directory, STR("l@a.test"), STR("\"c d\"@b.test"), listed, NULL,
			       &request);
	assert_string_equal(asked[1].text,
			    "list member [l@a.test ] [l@a.test \"c d\"@b.test] 1000");
	for (size_t i = 0; i < COUNT_OF(many); i++)
		many[i] = STR("= l@a.test m@b.test");
	answer = answer_of(many, COUNT_OF(many));
	outcome[0] = '\0';
	tell(1, &answer);
	assert_string_equal(outcome + strlen(outcome) - 5, ";more");
	/* another's */
	directory_list_members(directory, STR("l@a.test"), STR(""), listed, NULL, &request);
	answer = answer_of(other, 2);
	outcome[0] = '\0';
	tell(2, &answer);
	assert_string_equal(outcome, "4.4.3");
	answer = (struct directory_answer_text){.error = DIRECTORY_ERROR_LATER};
	at_once = &answer;
	outcome[0] = '\0';
	directory_list_members(directory, STR("l@a.test"), STR(""), listed, NULL, &request);
	assert_string_equal(outcome, "4.4.3");
	at_once = NULL;
	directory_list_members(directory, STR("l@a.test"), STR(""), listed, NULL, &request);
	directory_members_cancel(&request);
}

/* --- back again --- */

static struct directory_answer_text look_answers[3];
static struct directory_client client_of_test;

static void back(void *context)
{
	(void)context;
	add("back");
	os_loop_stop(loop);
}

static void say(void *context)
{
	size_t *next = context;

	if (asked_count > *next && asked[*next].question != NULL) {
		assert_string_equal(asked[*next].text, "list domain [] [] 1");
		tell(*next, &look_answers[*next]);
		(*next)++;
	}
}

static void poll(void *context);
struct poller {
	struct os_timer *timer;
	size_t next;
};

static void poll(void *context)
{
	struct poller *poller = context;

	say(&poller->next);
	os_timer_start(poller->timer, 1000);
}

static void who_waits_is_told_when_it_is_back(void **state)
{
	struct poller poller = {0};

	(void)state;
	(void)client_of_test;
	look_answers[0] = (struct directory_answer_text){.error = DIRECTORY_ERROR_LATER};
	look_answers[1] = (struct directory_answer_text){.error = DIRECTORY_ERROR_LATER};
	look_answers[2] = (struct directory_answer_text){.exists = true};
	poller.timer = os_timer_new(loop, poll, &poller);
	os_timer_start(poller.timer, 1000);
	directory_await(directory, back, NULL);
	directory_await(directory, back, NULL);
	os_loop_run(loop);
	assert_string_equal(outcome, "back");
	assert_int_equal(poller.next, 3);
	os_timer_free(poller.timer);
}

static void the_configuration_is_always_there(void **state)
{
	(void)state;
	config.directory.backend = CONFIG_BACKEND_NONE;
	directory_configure(directory, &config);
	directory_await(directory, back, NULL);
	os_loop_run(loop);
	assert_string_equal(outcome, "back");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_are_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_targets_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_answer_is_no_refusal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_cancelled_question_is_not_answered, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_section_may_come_and_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(members_are_listed_by_pages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_waits_is_told_when_it_is_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_configuration_is_always_there, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
