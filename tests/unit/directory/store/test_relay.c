// SPDX-License-Identifier: ISC
/* Other servers as a store. In the place of the client stands this file: questions wait until
 * a test answers them, or are answered at once. */
#include "directory/expand/expand.h"
#include "directory/store/relay/relay.h"
#include "os/clock.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASKED_MAX = 64, TEXT_MAX = 400, SECOND = 1000000, SLACK = 2 * SECOND };

struct directory_question_private {
	int used;
};

static struct directory_question_private private;

static struct asked {
	char text[TEXT_MAX]; /* "get user ann" */
	struct directory_question *question;
} asked[ASKED_MAX];
static size_t asked_count;
static const struct directory_answer_text *at_once; /* NULL: later */

static const struct directory_client_handler *client_handler;
static void *client_context;
static void (*watcher)(void *context, uint64_t version, struct str table, struct str key);
static void *watcher_context;
static const char *identity;
static uint64_t client_version;
static bool is_syncing;

struct directory_client *directory_client_new(struct os_loop *loop, const char *const *servers,
					      size_t server_count,
					      const struct directory_dialer *dialer,
					      const struct directory_client_handler *handler,
					      void *context)
{
	(void)loop;
	(void)dialer;
	assert_int_equal(server_count, 1);
	assert_string_equal(servers[0], "dir1.example.org:7071");
	client_handler = handler;
	client_context = context;
	return (struct directory_client *)&private;
}

void directory_client_watch(struct directory_client *client,
			    void (*changed)(void *context, uint64_t version, struct str table,
					    struct str key),
			    void *context)
{
	(void)client;
	watcher = changed;
	watcher_context = context;
}

uint64_t directory_client_version(const struct directory_client *client)
{
	(void)client;
	return client_version;
}

struct str directory_client_identity(const struct directory_client *client)
{
	(void)client;
	return str_from(identity);
}

const char *const *directory_client_servers(const struct directory_client *client)
{
	(void)client;
	return NULL;
}

const char *directory_client_server(const struct directory_client *client)
{
	(void)client;
	return NULL;
}

bool directory_client_is_syncing(const struct directory_client *client)
{
	(void)client;
	return is_syncing;
}

void directory_client_free(struct directory_client *client)
{
	(void)client;
	assert_int_equal(asked_count, 0); /* all cancelled */
}

static void ask(struct directory_question *question, const char *format, ...) PRINTF_LIKE(2, 3);

static void ask(struct directory_question *question, const char *format, ...)
{
	va_list arguments;

	assert_true(asked_count < ASKED_MAX);
	assert_null(question->private);
	va_start(arguments, format);
	vsnprintf(asked[asked_count].text, TEXT_MAX, format, arguments);
	va_end(arguments);
	if (at_once != NULL) {
		question->answered(question->context, at_once);
		return;
	}
	question->private = &private;
	asked[asked_count++].question = question;
}

void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question)
{
	(void)client;
	/* who asks the relay is to hear of its vain waiting */
	assert_true(patience_us > 0 && patience_us < DIRECTORY_PATIENCE_US);
	ask(question, "get %s " STR_FORMAT, table, STR_ARGUMENTS(key));
}

void directory_client_put(struct directory_client *client, const char *table, struct str key,
			  const struct str *fields, size_t field_count,
			  struct directory_question *question)
{
	char text[TEXT_MAX] = "";
	size_t length = 0;

	(void)client;
	for (size_t i = 0; i < field_count; i++)
		length += (size_t)snprintf(text + length, sizeof text - length, " <" STR_FORMAT ">",
					   STR_ARGUMENTS(fields[i]));
	ask(question, "put %s " STR_FORMAT "%s", table, STR_ARGUMENTS(key), text);
}

void directory_client_edit(struct directory_client *client, const char *table, struct str key,
			   uint64_t version, const struct str *fields, size_t field_count,
			   struct directory_question *question)
{
	(void)client;
	(void)fields;
	ask(question, "edit %s " STR_FORMAT " %llu %zu", table, STR_ARGUMENTS(key),
	    (unsigned long long)version, field_count);
}

void directory_client_remove(struct directory_client *client, const char *table, struct str key,
			     struct directory_question *question)
{
	(void)client;
	ask(question, "del %s " STR_FORMAT, table, STR_ARGUMENTS(key));
}

void directory_client_list(struct directory_client *client, const char *table, struct str prefix,
			   struct str after, size_t limit, struct directory_question *question)
{
	(void)client;
	ask(question, "list %s " STR_FORMAT " " STR_FORMAT " %zu", table, STR_ARGUMENTS(prefix),
	    STR_ARGUMENTS(after), limit);
}

static void forget(size_t index)
{
	memmove(&asked[index], &asked[index + 1], (--asked_count - index) * sizeof *asked);
}

void directory_question_cancel(struct directory_client *client, struct directory_question *question)
{
	(void)client;
	if (question->private == NULL)
		return;
	question->private = NULL;
	for (size_t i = 0; i < asked_count; i++)
		if (asked[i].question == question) {
			forget(i);
			return;
		}
	fail();
}

/* Answers the oldest question, which must be TEXT. */
static void answer(const char *text, const struct directory_answer_text *given)
{
	struct directory_question *question = asked[0].question;

	assert_true(asked_count > 0);
	assert_string_equal(asked[0].text, text);
	forget(0);
	question->private = NULL;
	question->answered(question->context, given);
}

/* --- whoever uses the store --- */

static char said[2000]; /* what was called */
static struct directory_store *store;
static int64_t until_us;

static void say(const char *format, ...) PRINTF_LIKE(1, 2);

static void say(const char *format, ...)
{
	size_t length = strlen(said);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(said + length, sizeof said - length, format, arguments);
	va_end(arguments);
}

static void assert_said(const char *expected)
{
	assert_string_equal(said, expected);
	said[0] = '\0';
}

static void say_record(const struct directory_record *record)
{
	if (record == NULL) {
		say(" -");
		return;
	}
	say(" " STR_FORMAT "{", STR_ARGUMENTS(record->key.name));
	for (size_t i = 0; i < record->field_count; i++)
		say("%s" STR_FORMAT "=" STR_FORMAT, i > 0 ? "," : "",
		    STR_ARGUMENTS(record->fields[i].name), STR_ARGUMENTS(record->fields[i].value));
	say("}");
}

static void on_changed(void *context, const struct directory_key *keys, const uint64_t *versions,
		       size_t count)
{
	assert_ptr_equal(context, &store);
	for (size_t i = 0; i < count; i++)
		say("changed %s " STR_FORMAT " %u\n", directory_table_name(keys[i].table),
		    STR_ARGUMENTS(keys[i].name), (unsigned)versions[i]);
}

static void on_reset(void *context)
{
	(void)context;
	say("reset %s %u\n", store->identity, (unsigned)store->version);
}

static void on_state(void *context, bool is_up)
{
	(void)context;
	assert_int_equal(store->is_up, is_up);
	say(is_up ? "up %s %u\n" : "down %s %u\n", store->identity, (unsigned)store->version);
}

static void got(void *context, int error, const struct directory_record *const *records,
		uint64_t version)
{
	size_t count = *(size_t *)context;

	say("got %d", error);
	until_us = store->until_us;
	if (error != 0)
		assert_null(records);
	else
		say(" %u", (unsigned)version);
	for (size_t i = 0; records != NULL && i < count; i++)
		say_record(records[i]);
	say("\n");
}

static void listed(void *context, int error, const struct directory_page *page, uint64_t version)
{
	(void)context;
	say("listed %d %u", error, (unsigned)version);
	for (size_t i = 0; i < page->count; i++)
		say_record(&page->records[i]);
	for (size_t i = 0; i < page->malformed_count; i++)
		say(" !" STR_FORMAT "(" STR_FORMAT ")", STR_ARGUMENTS(page->malformed[i].key),
		    STR_ARGUMENTS(page->malformed[i].reason));
	say("\n");
}

static void say_route(const struct directory_route *route)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	directory_route_write(route, &text);
	say(" <" STR_FORMAT ">", STR_ARGUMENTS(buffer_view(&text)));
}

static void expanded(void *context, int error, const struct directory_expansion *expansion)
{
	(void)context;
	say("expanded %d", error);
	until_us = store->until_us;
	if (error == 0)
		say(" %u %s", (unsigned)expansion->version, expansion->may_keep ? "keep" : "once");
	for (size_t i = 0; error == 0 && i < expansion->count; i++)
		say_route(&expansion->routes[i]);
	for (size_t i = 0; error == 0 && i < expansion->dependency_count; i++)
		say(" <on %s " STR_FORMAT ">",
		    directory_table_name(expansion->dependencies[i].table),
		    STR_ARGUMENTS(expansion->dependencies[i].name));
	say("\n");
}

static void changed(void *context, int error, const bool *existed, uint64_t version)
{
	(void)context;
	say("done %d %d %u\n", error, error == 0 && existed[0], (unsigned)version);
}

static void missed(void *context, int error, const struct directory_key *keys,
		   const uint64_t *versions, size_t count)
{
	(void)context;
	say("missed %d", error);
	for (size_t i = 0; i < count; i++)
		say(" %u:" STR_FORMAT, (unsigned)versions[i], STR_ARGUMENTS(keys[i].name));
	say("\n");
}

static void tell_new(uint64_t version, const char *table, const char *key)
{
	client_version = version > client_version ? version : client_version;
	watcher(watcher_context, version, str_from(table), str_from(key));
}

static void tell_state(bool is_up)
{
	client_handler->state(client_context, is_up);
}

static void ask_missed(uint64_t version)
{
	store->operations->missed(store, version, 1000, missed, NULL);
}

/* --- tests --- */

static int open_store(void **state)
{
	static const char *servers[] = {"dir1.example.org:7071"};
	static const struct directory_store_handler handler = {on_changed, on_reset, on_state};

	(void)state;
	identity = "";
	client_version = 0;
	is_syncing = false;
	at_once = NULL;
	said[0] = '\0';
	store = store_relay_new(NULL, servers, 1, NULL);
	store->handler = &handler;
	store->context = &store;
	identity = "first";
	client_version = 100;
	tell_state(true);
	assert_said("up first 100\n");
	return 0;
}

static int close_store(void **state)
{
	(void)state;
	store->operations->free(store);
	return 0;
}

static const struct str ann[] = {{"kind mailbox", 12}, {"service maildir", 15}};
static const struct str dependencies[] = {{"domain example.org", 18},
					  {"address ann@example.org", 23}};

static void assert_until(int64_t ttl_us)
{
	int64_t left_us = until_us - os_clock_monotonic_us();

	assert_true(left_us <= ttl_us && left_us > ttl_us - SLACK);
	assert_int_equal(store->until_us, 0);
}

static void records_are_read(void **state)
{
	const struct directory_answer_text found = {.exists = true,
						    .results = ann,
						    .result_count = 2,
						    .ttl_us = 60 * (int64_t)SECOND,
						    .version = 101};
	const struct directory_answer_text none = {.ttl_us = 10 * (int64_t)SECOND, .version = 102};
	const struct directory_key keys[] = {
		{DIRECTORY_ADDRESS, STR("ann@example.org")},
		{DIRECTORY_USER, STR("bob")},
	};
	size_t count = 1;

	(void)state;
	store->operations->get(store, keys, 1, got, &count);
	assert_said("");
	answer("get address ann@example.org", &found);
	assert_said("got 0 100 ann@example.org{kind=mailbox,service=maildir}\n");
	assert_until(60 * (int64_t)SECOND);

	count = 2; /* as old as the older, and ends with the first */
	store->operations->get(store, keys, 2, got, &count);
	answer("get address ann@example.org", &found);
	assert_said("");
	answer("get user bob", &none);
	assert_said("got 0 100 ann@example.org{kind=mailbox,service=maildir} -\n");
	assert_until(10 * (int64_t)SECOND);

	/* all changes up to the version of an answer have been pushed */
	tell_new(101, "user", "eve");
	assert_said("changed user eve 101\n");
	at_once = &found;
	store->operations->get(store, keys, 2, got, &count);
	assert_said("got 0 101 ann@example.org{kind=mailbox,service=maildir} "
		    "bob{kind=mailbox,service=maildir}\n");
}

static void errors_are_passed_on(void **state)
{
	static const struct {
		enum directory_error error;
		const char *read;
		const char *changed;
	} cases[] = {
		{DIRECTORY_ERROR_LATER, "-107", "-107"}, /* ENOTCONN */
		{DIRECTORY_ERROR_DENIED, "-13", "-13"},  /* EACCES */
		{DIRECTORY_ERROR_STORAGE, "-5", "-5"},   /* EIO */
		{DIRECTORY_ERROR_BAD, "-5", "-5"},
	};
	const struct directory_key keys[] = {
		{DIRECTORY_USER, STR("ann")},
		{DIRECTORY_USER, STR("bob")},
	};
	const struct directory_change change = {true, {.key = keys[0]}};
	const struct directory_answer_text found = {.exists = true, .version = 100};
	size_t count = 2;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct directory_answer_text bad = {.error = cases[i].error,
							  .error_text = "?"};
		char expected[100];

		store->operations->get(store, keys, 2, got, &count);
		answer("get user ann", i % 2 == 0 ? &bad : &found);
		answer("get user bob", i % 2 == 0 ? &found : &bad);
		snprintf(expected, sizeof expected, "got %s\n", cases[i].read);
		assert_said(expected);
		store->operations->route(store, STR("ann@example.org"), expanded, NULL);
		answer("get route ann@example.org", &bad);
		snprintf(expected, sizeof expected, "expanded %s\n", cases[i].read);
		assert_said(expected);
		store->operations->list(store, DIRECTORY_USER, STR(""), STR(""), 10, listed, NULL);
		answer("list user   10", &bad);
		snprintf(expected, sizeof expected, "listed %s 100\n", cases[i].read);
		assert_said(expected);
		store->operations->change(store, &change, 1, changed, NULL);
		answer("del user ann", &bad);
		snprintf(expected, sizeof expected, "done %s 0 0\n", cases[i].changed);
		assert_said(expected);
	}
}

static void routes_are_not_looked_into(void **state)
{
	static const struct str results[] = {{"local maildir ann@example.org", 29},
					     {"hologram x", 10}};
	struct directory_answer_text given = {.exists = true,
					      .results = results,
					      .result_count = 2,
					      .dependencies = dependencies,
					      .dependency_count = 2,
					      .ttl_us = 60 * (int64_t)SECOND,
					      .version = 107};

	(void)state;
	store->operations->route(store, STR("Ann@example.org"), expanded, NULL);
	answer("get route Ann@example.org", &given);
	assert_said("expanded 0 100 keep <local maildir ann@example.org> <hologram x> "
		    "<on domain example.org> <on address ann@example.org>\n");
	assert_until(60 * (int64_t)SECOND);
	given.ttl_us = 0;
	given.dependency_count = 0;
	given.result_count = 1;
	at_once = &given;
	store->operations->route(store, STR("Ann@example.org"), expanded, NULL);
	assert_said("expanded 0 100 once <local maildir ann@example.org>\n");
	assert_until(0);
}

static void pages_are_read(void **state)
{
	static const struct str results[] = {
		{"! Abe", 5},    {"reason it is so", 15}, {"= ann", 5}, {"password x", 10},
		{"name A N", 8}, {"! an\nn", 6},          {"= ben", 5}, {"= cleo", 6},
		{"name C", 6},   {"newword", 7}};
	const struct directory_answer_text given = {
		.exists = true, .results = results, .result_count = 10, .version = 103};
	const struct directory_answer_text empty = {.exists = true, .version = 103};

	(void)state;
	store->operations->list(store, DIRECTORY_USER, STR("a"), STR("aa"), 3, listed, NULL);
	answer("list user a aa 3", &given);
	assert_said("listed 0 100 ann{password=x,name=A N} ben{} cleo{name=C,newword=}"
		    " !Abe(it is so) !an\nn()\n");
	store->operations->list(store, DIRECTORY_USER, STR("z"), STR(""), 3, listed, NULL);
	answer("list user z  3", &empty);
	assert_said("listed 0 100\n");
}

static void changes_are_sent_on(void **state)
{
	static const struct directory_field fields[] = {{{"kind", 4}, {"forward", 7}},
							{{"target", 6}, {"b@example.org", 13}}};
	const struct directory_change put = {
		.record = {{DIRECTORY_ADDRESS, STR("ann@example.org")}, fields, 2}};
	const struct directory_change edit = {
		.record = put.record, .is_conditional = true, .since = 103};
	const struct directory_change removal = {.is_removal = true,
						 .record.key = {DIRECTORY_USER, STR("ann")}};
	const struct directory_answer_text stale = {.error = DIRECTORY_ERROR_CHANGED};
	const struct directory_answer_text done = {.exists = true, .version = 104};
	const struct directory_answer_text none = {.exists = false, .version = 104};

	(void)state;
	assert_int_equal(store->change_max, 1);
	store->operations->change(store, &put, 1, changed, NULL);
	answer("put address ann@example.org <kind forward> <target b@example.org>", &done);
	assert_said("done 0 1 104\n");
	store->operations->change(store, &removal, 1, changed, NULL);
	answer("del user ann", &none);
	assert_said("done 0 0 104\n");
	store->operations->change(store, &edit, 1, changed, NULL);
	answer("edit address ann@example.org 103 2", &stale);
	assert_said("done -116 0 0\n"); /* ESTALE */
}

static void what_was_missed_is_told(void **state)
{
	(void)state;
	ask_missed(100);
	assert_said("missed 0\n");
	ask_missed(99); /* before the relay began */
	ask_missed(101);
	assert_said("missed -116\nmissed -116\n"); /* ESTALE */
	tell_new(101, "user", "ann");
	tell_new(102, "user", "ann");
	tell_new(102, "user", "bob"); /* a change of two records */
	tell_new(103, "hologram", "x");
	assert_said("changed user ann 101\nchanged user ann 102\nchanged user bob 102\n");
	assert_int_equal(store->version, 103);
	ask_missed(100);
	ask_missed(101);
	ask_missed(102);
	ask_missed(103);
	assert_said("missed 0 101:ann 102:ann 102:bob\nmissed 0 102:ann 102:bob\nmissed 0\n"
		    "missed 0\n");
	store->operations->missed(store, 100, 2, missed, NULL); /* more than may be told */
	assert_said("missed -116\n");
}

static void a_new_connection_fills_the_gap(void **state)
{
	(void)state;
	tell_new(101, "user", "ann");
	tell_state(false);
	assert_said("changed user ann 101\ndown first 101\n");
	ask_missed(100); /* who knows what has changed since */
	assert_said("missed -116\n");
	client_version = 105;
	is_syncing = true;
	tell_state(true);
	tell_new(105, "user", "eve"); /* while the others are still being pushed */
	tell_new(102, "user", "bob");
	tell_new(101, "user", "ann");
	assert_said("up first 101\nchanged user eve 105\nchanged user bob 102\n");
	ask_missed(105); /* nobody can have heard that yet */
	assert_said("missed -116\n");
	tell_new(104, "user", "cleo");
	tell_new(105, "user", "eve");
	is_syncing = false;
	ask_missed(100);
	ask_missed(105);
	assert_said("changed user cleo 104\n"
		    "missed 0 101:ann 102:bob 104:cleo 105:eve\nmissed 0\n");
	assert_int_equal(store->version, 105);
}

static void other_data_begin_anew(void **state)
{
	(void)state;
	tell_new(101, "user", "ann");
	tell_state(false);
	identity = "second";
	client_version = 7;
	tell_state(true);
	assert_said("changed user ann 101\ndown first 101\nreset second 7\nup second 7\n");
	ask_missed(7);
	ask_missed(6);
	ask_missed(101);
	assert_said("missed 0\nmissed -116\nmissed -116\n");
	client_version = 9; /* the same data, and it cannot be told what has changed */
	watcher(watcher_context, 9, STR(""), STR(""));
	ask_missed(7);
	ask_missed(9);
	assert_said("reset second 9\nmissed -116\nmissed 0\n");
}

/* Behind other relays it grows; what data they are has to stay readable. */
static void a_long_identity_is_cut(void **state)
{
	static const char first[] = "6b86b273-ff34-4ce1-9d6b-804eff5a3f57+0123456789abcdef"
				    "+0123456789abcdef+0123456789abcdef";
	static const char other[] = "6b86b273-ff34-4ce1-9d6b-804eff5a3f57+0123456789abcdef"
				    "+0123456789abcdef+0123456789abcdee";
	char before[sizeof store->identity];

	(void)state;
	tell_state(false);
	identity = first;
	tell_state(true);
	assert_int_equal(strlen(store->identity), 36 + 1 + 16);
	assert_int_equal(strncmp(store->identity, first, 37), 0);
	memcpy(before, store->identity, sizeof before);
	said[0] = '\0';
	tell_state(false);
	tell_state(true);
	assert_null(strstr(said, "reset"));
	assert_string_equal(store->identity, before);
	tell_state(false);
	identity = other;
	tell_state(true);
	assert_non_null(strstr(said, "reset"));
	assert_string_not_equal(store->identity, before);
}

static void only_the_newest_changes_are_kept(void **state)
{
	enum { MANY = STORE_RELAY_CHANGES_MAX + 10 };
	size_t first = strlen("missed 0");

	(void)state;
	for (uint64_t i = 1; i <= MANY; i++) {
		char name[32];

		snprintf(name, sizeof name, "u%u", (unsigned)i);
		tell_new(100 + i, "user", name);
		said[0] = '\0';
	}
	ask_missed(100 + 9);
	assert_said("missed -116\n");
	store->operations->missed(store, 100 + MANY - 2, 2, missed, NULL);
	assert_int_equal(strncmp(said, "missed 0", first), 0);
	assert_non_null(strstr(said, "16493:u16393 16494:u16394\n"));
	said[0] = '\0';
	store->operations->missed(store, 100 + 10, STORE_RELAY_CHANGES_MAX, missed, NULL);
	assert_non_null(strstr(said, "missed 0 111:u11 "));
}

static void what_is_under_way_ends_with_the_store(void **state)
{
	const struct directory_key keys[] = {
		{DIRECTORY_USER, STR("ann")},
		{DIRECTORY_USER, STR("bob")},
	};
	const struct directory_answer_text none = {.version = 100};
	size_t count = 2;

	(void)state;
	store->operations->get(store, keys, 2, got, &count);
	store->operations->get(store, keys, 2, got, &count);
	store->operations->route(store, STR("ann@example.org"), expanded, NULL);
	store->operations->list(store, DIRECTORY_USER, STR(""), STR(""), 10, listed, NULL);
	answer("get user ann", &none);
	assert_int_equal(asked_count, 5);
	assert_said("");
}

int main(void)
{
#define WITH_STORE(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
	const struct CMUnitTest tests[] = {
		WITH_STORE(records_are_read),
		WITH_STORE(errors_are_passed_on),
		WITH_STORE(routes_are_not_looked_into),
		WITH_STORE(pages_are_read),
		WITH_STORE(changes_are_sent_on),
		WITH_STORE(what_was_missed_is_told),
		WITH_STORE(a_new_connection_fills_the_gap),
		WITH_STORE(other_data_begin_anew),
		WITH_STORE(a_long_identity_is_cut),
		WITH_STORE(only_the_newest_changes_are_kept),
		WITH_STORE(what_is_under_way_ends_with_the_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
