// SPDX-License-Identifier: ISC
#include "record_contract.h"
#include "decode/identity.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct record_contract *backend;

static struct {
	struct record *a, *b;
	struct record_token token_a, token_b;
} world;

static const struct record_place INBOX = {{"scuba@example.org", 17}, {"INBOX", 5}};
static const struct record_place SENT = {{"lisa@example.com", 16}, {"Sent", 4}};

static int set_up(void **state)
{
	(void)state;
	backend->empty();
	world.a = backend->connect();
	world.b = backend->connect();
	memset(world.token_a.bytes, 0xa0, RECORD_TOKEN_SIZE);
	memset(world.token_b.bytes, 0, RECORD_TOKEN_SIZE);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_free(world.a);
	record_free(world.b);
	return 0;
}

#define assert_fine(record, call)                                                               \
	do {                                                                                    \
		int error_ = (call);                                                            \
		if (error_ != 0)                                                                \
			fail_msg("%s: %s: %s", #call, strerror(-error_), record_error(record)); \
	} while (0)

static struct lock_name name_of(const char *text)
{
	struct lock_name name;

	lock_name_make(str_from(text), &name);
	return name;
}

static struct decode_participant participants[] = {
	{DECODE_FROM, {"lisa@example.com", 16}, {"Lisa", 4}},
	{DECODE_TO, {"scuba@example.org", 17}, {"", 0}},
	{DECODE_CC, {"doug@example.org", 16}, {"Doug \xc3\x84", 7}},
};
static struct decode_part parts[] = {
	{.number = {"1", 1}, .type = {"text/plain", 10}, .charset = {"utf-8", 5}, .size = 10},
	{.number = {"2", 1},
	 .type = {"image/png", 9},
	 .disposition = {"attachment", 10},
	 .filename = {"a.png", 5},
	 .size = 4000000000},
};
static const struct decode_message decoded = {
	.subject = {"Our next Meeting", 16},
	.date_us = 1234567890123456,
	.participants = participants,
	.participant_count = 3,
	.parts = parts,
	.part_count = 2,
};

static struct record_message message_of(const char *id, unsigned char digest)
{
	struct record_message message = {.id = str_from(id),
					 .size = 1000,
					 .recorded_us = 1700000000000000,
					 .sender = STR("lisa@example.com"),
					 .decoded = &decoded};

	memset(message.digest, digest, sizeof message.digest);
	return message;
}

static int64_t put(struct record *record, const struct record_message *message)
{
	int64_t number;
	bool is_new;
	unsigned different;

	assert_fine(record, record_put(record, message, &number, &is_new, &different));
	return number;
}

/* A message recorded and opened in INBOX by A, committed. */
static struct record_filing opened(const char *id)
{
	struct record_message message = message_of(id, 1);
	struct record_filing filing;

	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_open(world.a, put(world.a, &message), &INBOX, &world.token_a,
					 1000, &filing));
	assert_fine(world.a, record_commit(world.a));
	return filing;
}

/* ---- messages ---- */

static void a_message_is_recorded_once(void **state)
{
	struct record_message message = message_of("<1@example.com>", 1);
	struct record_message other = message_of("<1@example.com>", 2);
	struct record_message another = message_of("<2@example.com>", 1);
	int64_t number, again, number_other;
	bool is_new;
	unsigned different;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_put(world.a, &message, &number, &is_new, &different));
	assert_true(is_new);
	assert_int_equal(different, 0);
	assert_fine(world.a, record_put(world.a, &message, &again, &is_new, &different));
	assert_false(is_new);
	assert_int_equal(again, number);
	assert_fine(world.a, record_put(world.a, &other, &number_other, &is_new, &different));
	assert_true(is_new);
	assert_int_not_equal(number_other, number);
	assert_int_equal(different, 1);
	assert_fine(world.a, record_put(world.a, &another, &again, &is_new, &different));
	assert_true(is_new);
	assert_int_equal(different, 0);
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_put(world.b, &message, &again, &is_new, &different));
	assert_false(is_new);
	assert_int_equal(again, number);
	assert_int_equal(different, 1);
	record_rollback(world.b);
}

static void message_ids_are_compared_byte_by_byte(void **state)
{
	static const char *const ids[] = {"<a@example.com>",  "<A@example.com>",
					  "<a@example.com> ", "'; DROP TABLE message; --",
					  "\"`$1?1{x}%s\\",   "<\xc3\xa4@x>"};

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		struct record_message message = message_of(ids[i], 1);
		int64_t number;
		bool is_new;
		unsigned different;

		assert_fine(world.a, record_put(world.a, &message, &number, &is_new, &different));
		assert_true(is_new);
		assert_int_equal(different, 0);
	}
	assert_fine(world.a, record_commit(world.a));
}

static void what_is_rolled_back_was_not(void **state)
{
	struct record_message message = message_of("<1@example.com>", 1);
	int64_t number;
	bool is_new;
	unsigned different;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	(void)put(world.a, &message);
	record_rollback(world.a);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_put(world.a, &message, &number, &is_new, &different));
	assert_true(is_new);
	record_rollback(world.a);
}

static void an_invalid_message_id_is_refused(void **state)
{
	struct record_message message = message_of("<1@example.com>", 1);
	struct record_message fine = message_of("<1@example.com>", 1);
	struct record_filing filing;
	const struct record_place place = {STR("\xff@example.org"), STR("INBOX")};
	char longest[DECODE_ID_MAX + 1];
	int64_t number;
	bool is_new;
	unsigned different;

	(void)state;
	memset(longest, 'x', sizeof longest);
	assert_fine(world.a, record_begin(world.a));
	message.id = STR("<a\0b@example.com>");
	assert_int_equal(record_put(world.a, &message, &number, &is_new, &different), -EINVAL);
	message.id = str_slice(longest, sizeof longest);
	assert_int_equal(record_put(world.a, &message, &number, &is_new, &different), -EINVAL);
	message.id = str_slice(longest, DECODE_ID_MAX);
	number = put(world.a, &message);
	assert_int_equal(record_open(world.a, number, &place, &world.token_a, 1, &filing), -EINVAL);
	(void)put(world.a, &fine);
	assert_fine(world.a, record_commit(world.a));
}

/* ---- filing ---- */

static void a_row_goes_from_filing_to_filed(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	struct record_filing look;

	(void)state;
	assert_int_equal(filing.state, RECORD_FILING);
	assert_true(filing.is_new && filing.is_ours);
	assert_int_equal(filing.others, 0);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_look(world.a, filing.number, &world.token_a, &look));
	assert_int_equal(look.state, RECORD_FILING);
	assert_true(look.is_ours);
	assert_fine(world.a,
		    record_filed(world.a, filing.number, &world.token_a, STR("7:12"), 2000));
	assert_fine(world.a, record_commit(world.a));

	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_int_equal(look.state, RECORD_FILED);
	assert_int_equal(look.number, filing.number);
	assert_true(str_equal(look.copy, STR("7:12")));
	assert_int_equal(look.filed_us, 2000);
	assert_false(look.is_ours);
	assert_int_equal(look.others, 0);
	record_rollback(world.b);
}

static void nobody_is_noted_at_what_is_filed(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	struct record_message message = message_of("<1@example.com>", 1);
	struct record_filing again;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 2000));
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_open(world.b, put(world.b, &message), &INBOX, &world.token_b,
					 3000, &again));
	assert_int_equal(again.number, filing.number);
	assert_int_equal(again.state, RECORD_FILED);
	assert_false(again.is_new || again.is_ours);
	assert_true(str_equal(again.copy, STR("x")));
	assert_fine(world.b, record_commit(world.b));
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &again));
	assert_false(again.is_ours);
	record_rollback(world.b);
}

static void attempts_of_others_are_seen_until_they_end(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	struct record_message message = message_of("<1@example.com>", 1);
	struct record_filing look;

	(void)state;
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_open(world.b, put(world.b, &message), &INBOX, &world.token_b,
					 3000, &look));
	assert_false(look.is_new);
	assert_true(look.is_ours);
	assert_int_equal(look.others, 1);
	assert_int_equal(look.last_us, 1000);
	assert_fine(world.b, record_settle(world.b, filing.number, 1000));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_int_equal(look.others, 1);
	assert_fine(world.b, record_filed(world.b, filing.number, &world.token_b, STR("x"), 4000));
	assert_fine(world.b, record_commit(world.b));

	/* a third one finds it filed, and somebody's attempt: it is noted, too */
	assert_fine(world.b, record_begin(world.b));
	world.token_b.bytes[0] = 3;
	assert_fine(world.b, record_open(world.b, put(world.b, &message), &INBOX, &world.token_b,
					 5000, &look));
	assert_int_equal(look.state, RECORD_FILED);
	assert_true(look.is_ours);
	assert_int_equal(look.others, 1);
	assert_fine(world.b, record_settle(world.b, filing.number, 1001));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_int_equal(look.others, 0);
	assert_int_equal(look.last_us, 0);
	assert_true(look.is_ours);
	assert_fine(world.b, record_end(world.b, filing.number, &world.token_b));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_false(look.is_ours);
	assert_fine(world.b, record_commit(world.b));
}

static void a_row_that_was_removed_is_missed(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	struct record_message message = message_of("<1@example.com>", 1);
	struct record_filing look;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_unfile(world.a, filing.number));
	assert_int_equal(record_look(world.a, filing.number, &world.token_a, &look), -ENOENT);
	assert_int_equal(record_filed(world.a, filing.number, &world.token_a, STR("x"), 1),
			 -ENOENT);
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_open(world.a, put(world.a, &message), &INBOX, &world.token_a,
					 1000, &look));
	assert_true(look.is_new);
	assert_true(look.number > filing.number);
	record_rollback(world.a);
}

static void mailboxes_are_told_apart(void **state)
{
	static const struct record_place places[] = {
		{{"a@example.org", 13}, {"INBOX", 5}},    {{"A@example.org", 13}, {"INBOX", 5}},
		{{"a@example.org", 13}, {"inbox", 5}},    {{"a@example.org", 13}, {"INBOX ", 6}},
		{{"a@example.org", 13}, {"\xc3\xa4", 2}}, {{"a@example.org", 13}, {"a", 1}},
	};
	struct record_message message = message_of("<1@example.com>", 1);
	struct record_filing filing;
	int64_t number;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	number = put(world.a, &message);
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		assert_fine(world.a,
			    record_open(world.a, number, &places[i], &world.token_a, 1, &filing));
		assert_true(filing.is_new);
	}
	assert_fine(world.a, record_commit(world.a));
}

/* ---- locks ---- */

static void a_lock_excludes_until_the_transaction_ends(void **state)
{
	struct lock_name one = name_of("<1@example.com>");
	struct lock_name two = name_of("<2@example.com>");

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.a, record_lock(world.a, &one));
	assert_fine(world.a, record_lock(world.a, &one));
	assert_int_equal(record_lock(world.b, &one), -EAGAIN);
	assert_fine(world.b, record_lock(world.b, &two));
	assert_int_equal(record_lock(world.a, &two), -EAGAIN);
	assert_fine(world.a, record_check(world.a));
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.b, record_lock(world.b, &one));
	record_rollback(world.b);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_lock(world.a, &one));
	assert_fine(world.a, record_lock(world.a, &two));
	record_rollback(world.a);
}

static void a_lock_says_who_has_it(void **state)
{
	struct lock_name one = name_of("<1@example.com>");
	struct arena *arena = arena_new();
	struct str holder;

	(void)state;
	assert_fine(world.b, record_holder(world.b, &one, arena, &holder));
	assert_int_equal(holder.length, 0);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_lock(world.a, &one));
	assert_fine(world.b, record_holder(world.b, &one, arena, &holder));
	assert_int_not_equal(holder.length, 0);
	record_rollback(world.a);
	assert_fine(world.b, record_holder(world.b, &one, arena, &holder));
	assert_int_equal(holder.length, 0);
	arena_free(arena);
}

static void a_lock_dies_with_its_process(void **state)
{
	struct lock_name one = name_of("<1@example.com>");
	int ready[2];
	char byte;
	pid_t child;
	int error;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		struct record *record = backend->connect();
		struct record_message message = message_of("<1@example.com>", 1);
		int64_t number;
		bool is_new;
		unsigned different;

		if (record_begin(record) == 0 && record_lock(record, &one) == 0 &&
		    record_put(record, &message, &number, &is_new, &different) == 0 &&
		    write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_fine(world.a, record_begin(world.a));
	assert_int_equal(record_lock(world.a, &one), -EAGAIN);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* a server notices when it reads from the connection */
	for (int i = 0; (error = record_lock(world.a, &one)) == -EAGAIN && i < 5000; i++)
		usleep(1000);
	assert_fine(world.a, error);
	opened("<1@example.com>");
	record_rollback(world.a);
}

/* Who has lost the connection has lost the turn, and notices before he appends. */
static void who_loses_the_connection_loses_the_turn(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	struct lock_name one = name_of("<1@example.com>");
	struct record_filing look;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_lock(world.a, &one));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 1));
	backend->server->lose_connections();
	assert_int_equal(record_check(world.a), -ENOTCONN);
	assert_int_not_equal(strlen(record_error(world.a)), 0);
	assert_int_equal(record_look(world.a, filing.number, &world.token_a, &look), -ENOTCONN);
	assert_int_equal(record_commit(world.a), -ENOTCONN);
	record_rollback(world.a);
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_lock(world.b, &one));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_int_equal(look.state, RECORD_FILING);
	assert_fine(world.b, record_commit(world.b));
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_lock(world.a, &one));
	record_rollback(world.a);
}

static void a_connection_that_was_lost_meanwhile_is_made_again(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	struct record_filing look;

	(void)state;
	backend->server->lose_connections();
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_look(world.a, filing.number, &world.token_a, &look));
	record_rollback(world.a);
}

static void a_commit_without_connection_fails(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	struct record_filing look;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 1));
	backend->server->lose_connections();
	assert_int_equal(record_commit(world.a), -ENOTCONN);
	record_rollback(world.a);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_look(world.a, filing.number, &world.token_a, &look));
	assert_int_equal(look.state, RECORD_FILING);
	assert_true(look.is_ours);
	record_rollback(world.a);
}

static void looking_waits_for_no_writer(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	struct record_message other = message_of("<2@example.com>", 1);
	struct record_filing look;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	(void)put(world.a, &other);
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_fine(world.b, record_commit(world.b));
	assert_fine(world.a, record_commit(world.a));
}

/* Texts of decoders and clients, as bad as can be: what is stored is valid. */
static void any_text_is_stored(void **state)
{
	static struct decode_participant bad[] = {
		{DECODE_FROM, {"\xff\0@ex\xc3", 7}, {"\xed\xa0\x80", 3}},
		{DECODE_TO, {"", 0}, {"", 0}},
	};
	static char huge[5000];
	const struct decode_message worst = {.subject = {huge, sizeof huge},
					     .participants = bad,
					     .participant_count = 2,
					     .problem = {"\0", 1}};
	struct record_message message = message_of("<1@example.com>", 1);

	(void)state;
	memset(huge, 0xe4, sizeof huge);
	message.decoded = &worst;
	message.sender = STR("\xc3(@\xf0\x9f\x98\x80");
	assert_fine(world.a, record_begin(world.a));
	(void)put(world.a, &message);
	assert_fine(world.a, record_commit(world.a));
}

static void as_many_rows_as_a_message_may_have(void **state)
{
	struct decode_participant *many = calloc(DECODE_PARTICIPANT_MAX, sizeof *many);
	struct decode_part *all = calloc(DECODE_PART_MAX, sizeof *all);
	const struct decode_message full = {.participants = many,
					    .participant_count = DECODE_PARTICIPANT_MAX,
					    .parts = all,
					    .part_count = DECODE_PART_MAX};
	struct record_message message = message_of("<1@example.com>", 1);

	(void)state;
	for (size_t i = 0; i < DECODE_PARTICIPANT_MAX; i++)
		many[i] = participants[i % 3];
	for (size_t i = 0; i < DECODE_PART_MAX; i++)
		all[i] = parts[i % 2];
	message.decoded = &full;
	assert_fine(world.a, record_begin(world.a));
	(void)put(world.a, &message);
	assert_fine(world.a, record_commit(world.a));
	free(many);
	free(all);
}

/* ---- lists ---- */

struct seen {
	unsigned count;
	int64_t last;
	size_t places, participants, parts;
	char subject[100], folder[100];
};

static void see(void *context, const struct record_listed *listed)
{
	struct seen *seen = context;

	seen->count++;
	assert_true(listed->number > seen->last);
	seen->last = listed->number;
	seen->places = listed->place_count;
	seen->participants = listed->message.decoded->participant_count;
	seen->parts = listed->message.decoded->part_count;
	snprintf(seen->subject, sizeof seen->subject, STR_FORMAT,
		 STR_ARGUMENTS(listed->message.decoded->subject));
	if (listed->place_count > 0)
		snprintf(seen->folder, sizeof seen->folder, STR_FORMAT,
			 STR_ARGUMENTS(listed->places[0].folder));
}

static struct seen list(struct record_query query)
{
	struct seen seen = {0};

	if (query.limit == 0)
		query.limit = 100;
	assert_fine(world.b, record_list(world.b, &query, see, &seen));
	return seen;
}

static void messages_are_found_again(void **state)
{
	struct seen seen;
	struct record_filing filing = opened("<1@example.com>");

	(void)state;
	(void)opened("<2@example.com>");
	seen = list((struct record_query){.id = "<1@example.com>"});
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.places, 1);
	assert_int_equal(seen.participants, 3);
	assert_int_equal(seen.parts, 2);
	assert_string_equal(seen.subject, "Our next Meeting");
	assert_string_equal(seen.folder, "INBOX");
	seen = list((struct record_query){.from = "lisa@example.com"});
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.parts, 0);
	assert_int_equal(list((struct record_query){.from = "example.com"}).count, 2);
	assert_int_equal(list((struct record_query){.from = "example.org"}).count, 0);
	assert_int_equal(list((struct record_query){.to = "doug@example.org"}).count, 2);
	assert_int_equal(list((struct record_query){.to = "lisa@example.com"}).count, 0);
	assert_int_equal(list((struct record_query){.subject = "NEXT m"}).count, 2);
	assert_int_equal(list((struct record_query){.subject = "%"}).count, 0);
	assert_int_equal(list((struct record_query){.place = &INBOX}).count, 2);
	assert_int_equal(list((struct record_query){.place = &SENT}).count, 0);
	assert_int_equal(list((struct record_query){.until_us = 1700000000000000}).count, 0);
	assert_int_equal(list((struct record_query){.since_us = 1700000000000000}).count, 2);
	seen = list((struct record_query){.limit = 1});
	assert_int_equal(seen.count, 1);
	assert_int_equal(list((struct record_query){.after = seen.last}).count, 1);
	assert_int_equal(list((struct record_query){.id = "' OR 1=1 --"}).count, 0);
	assert_true(filing.number > 0);
}

static void old_messages_are_removed_once_they_are_filed(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	unsigned count = 9;

	(void)state;
	assert_fine(world.b, record_prune(world.b, 1800000000000000, 10, &count));
	assert_int_equal(count, 0);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 2000));
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.b, record_prune(world.b, 1700000000000000, 10, &count));
	assert_int_equal(count, 0);
	assert_fine(world.b, record_prune(world.b, 1800000000000000, 10, &count));
	assert_int_equal(count, 1);
	assert_int_equal(list((struct record_query){.limit = 1}).count, 0);
	assert_fine(world.a, record_begin(world.a));
	assert_int_equal(record_look(world.a, filing.number, &world.token_a, &filing), -ENOENT);
	record_rollback(world.a);
}

/* ---- errors of databases, each once ---- */

static void run_number(const char *format, int64_t number)
{
	char text[200];

	snprintf(text, sizeof text, format, (long long)number);
	backend->run(text);
}

/* As a message can be filed that another one had failed with ERROR. */
static void assert_usable(const struct record_filing *filing)
{
	record_rollback(world.a);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing->number, &world.token_a, STR("x"), 1));
	assert_fine(world.a, record_commit(world.a));
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void of_two_that_wait_for_each_other_one_gives_up(void **state)
{
	struct record_filing one = opened("<1@example.com>");
	struct record_filing two = opened("<2@example.com>");
	char text[100];

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, one.number, &world.token_a, STR("x"), 1));
	backend->run("BEGIN");
	backend->run("UPDATE message SET size = size + 1");
	backend->run("UPDATE participant SET name = 'x'");
	run_number("UPDATE filing SET opened_us = 5 WHERE number = %lld", two.number);
	snprintf(text, sizeof text, "UPDATE filing SET opened_us = 5 WHERE number = %lld",
		 (long long)one.number);
	backend->server->send(text);
	assert_int_equal(record_filed(world.a, two.number, &world.token_a, STR("x"), 1), -EDEADLK);
	assert_int_equal(record_commit(world.a), -EDEADLK);
	record_rollback(world.a);
	backend->server->receive();
	backend->run("ROLLBACK");
	assert_usable(&one);
}

static void a_serialization_failure_is_to_be_tried_again(void **state)
{
	struct record_filing filing = opened("<1@example.com>");

	(void)state;
	backend->server->set_unserializable(true);
	assert_fine(world.a, record_begin(world.a));
	assert_int_equal(record_end(world.a, filing.number, &world.token_a), -EDEADLK);
	record_rollback(world.a);
	backend->server->set_unserializable(false);
	assert_usable(&filing);
}

static void nobody_waits_for_longer_than_his_time(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	int64_t since_ms;

	(void)state;
	backend->run("BEGIN");
	run_number("UPDATE filing SET opened_us = 5 WHERE number = %lld", filing.number);
	assert_fine(world.a, record_begin(world.a));
	since_ms = now_ms();
	assert_int_equal(record_filed(world.a, filing.number, &world.token_a, STR("x"), 1),
			 -ETIMEDOUT);
	assert_true(now_ms() - since_ms < 2 * RECORD_CONTRACT_TIMEOUT_MS);
	backend->run("ROLLBACK");
	assert_usable(&filing);
}

static void a_server_that_hangs_is_left(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	int64_t since_ms;
	int error;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_check(world.a));
	backend->server->freeze(true);
	since_ms = now_ms();
	error = record_check(world.a);
	backend->server->freeze(false);
	assert_true(error == -ETIMEDOUT || error == -ENOTCONN);
	assert_true(now_ms() - since_ms < 2 * RECORD_CONTRACT_TIMEOUT_MS);
	assert_usable(&filing);
}

/* Whether a commit came about that was not answered is not known. */
static void a_commit_without_answer_is_unknown(void **state)
{
	struct record_filing filing = opened("<1@example.com>");

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 1));
	backend->server->freeze(true);
	assert_int_equal(record_commit(world.a), -ENOTCONN);
	backend->server->freeze(false);
	assert_usable(&filing);
}

static void a_database_may_be_read_only(void **state)
{
	struct record_filing filing = opened("<1@example.com>");

	(void)state;
	backend->server->set_read_only(true);
	backend->server->lose_connections();
	assert_int_equal(record_begin(world.a), -EROFS);
	assert_int_equal(record_check(world.a), -EROFS);
	backend->server->set_read_only(false);
	assert_usable(&filing);
}

static void a_server_may_have_too_many_connections(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	struct record *other = backend->connect();

	(void)state;
	backend->server->set_full(true);
	assert_int_equal(record_begin(other), -EUSERS);
	record_rollback(other);
	backend->server->set_full(false);
	assert_fine(other, record_begin(other));
	assert_usable(&filing);
	record_free(other);
}

static int fill(const char *path)
{
	static char block[1 << 16];
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (size_t size = sizeof block; size > 0; size = size > 1 ? size / 2 : 0)
		while (write(file, block, size) > 0)
			;
	(void)fsync(file);
	return file;
}

static void a_disk_may_be_full(void **state)
{
	struct record_filing filing = opened("<1@example.com>");
	char path[200];
	int error = 0;
	int file;

	(void)state;
	snprintf(path, sizeof path, "%s/filler", backend->disk);
	file = fill(path);
	for (int i = 0; i < 100000 && error == 0; i++) {
		char id[40];
		struct record_message message;
		int64_t number;
		bool is_new;
		unsigned different;

		snprintf(id, sizeof id, "<full-%d@example.com>", i);
		message = message_of(id, 1);
		error = record_begin(world.a);
		if (error == 0)
			error = record_put(world.a, &message, &number, &is_new, &different);
		if (error == 0)
			error = record_commit(world.a);
	}
	close(file);
	(void)unlink(path);
	if (error != -ENOSPC)
		fail_msg("%s: %s", strerror(-error), record_error(world.a));
	assert_usable(&filing);
}

/* ---- tables ---- */

static void tables_of_a_newer_version_are_left_alone(void **state)
{
	struct record_filing filing = opened("<1@example.com>");

	(void)state;
	backend->run("UPDATE record_meta SET version = 1000");
	assert_int_equal(record_begin(world.b), -EPROTO);
	assert_non_null(strstr(record_error(world.b), "1000"));
	record_rollback(world.b);
	backend->run("UPDATE record_meta SET version = 1");
	assert_fine(world.b, record_begin(world.b));
	record_rollback(world.b);
	assert_true(filing.number > 0);
}

static void tables_of_others_are_left_alone(void **state)
{
	struct record_message message = message_of("<1@example.com>", 1);

	(void)state;
	backend->run("CREATE TABLE message(subject varchar(10))");
	assert_int_equal(record_begin(world.a), -EPROTO);
	record_rollback(world.a);
	backend->run("DROP TABLE message");
	assert_fine(world.a, record_begin(world.a));
	(void)put(world.a, &message);
	assert_fine(world.a, record_commit(world.a));
}

/* As if the process had died amid making them. */
static void half_made_tables_are_completed(void **state)
{
	(void)state;
	(void)opened("<1@example.com>");
	backend->run("DROP TABLE attempt");
	backend->run("UPDATE record_meta SET version = 0");
	assert_fine(world.b, record_begin(world.b));
	record_rollback(world.b);
	(void)opened("<2@example.com>");
	assert_int_equal(list((struct record_query){.place = &INBOX}).count, 2);
}

/* ---- many at once ---- */

enum { WORKERS = 4, STORIES = 25, ROOM = 4096 };

/* Stands for the mailboxes: how often each story's message was appended to Sent. */
struct mailbox {
	int appended[STORIES];
	int inside[STORIES]; /* workers that have the lock */
	int overlaps;
	int failures;
};

static bool is_again(int error)
{
	return error == -EAGAIN || error == -EDEADLK;
}

/* One story of one worker: 0, or an error of record/record.h. */
static int file_one(struct record *record, struct mailbox *mailbox, int story,
		    const struct record_token *token)
{
	char id[40];
	struct record_message message;
	struct lock_name name;
	struct record_filing filing;
	int64_t number;
	bool is_new;
	unsigned different;
	int error;

	snprintf(id, sizeof id, "<%d@example.com>", story);
	message = message_of(id, 1);
	name = name_of(id);
	if ((error = record_begin(record)) != 0 || (error = record_lock(record, &name)) != 0)
		return error;
	if (__atomic_add_fetch(&mailbox->inside[story], 1, __ATOMIC_SEQ_CST) != 1)
		__atomic_add_fetch(&mailbox->overlaps, 1, __ATOMIC_SEQ_CST);
	if ((error = record_put(record, &message, &number, &is_new, &different)) == 0 &&
	    (error = record_open(record, number, &SENT, token, 1, &filing)) == 0 &&
	    filing.state != RECORD_FILED) {
		__atomic_add_fetch(&mailbox->appended[story], 1, __ATOMIC_SEQ_CST);
		error = record_filed(record, filing.number, token, STR("x"), 1);
	}
	__atomic_sub_fetch(&mailbox->inside[story], 1, __ATOMIC_SEQ_CST);
	return error == 0 ? record_commit(record) : error;
}

static void work(struct mailbox *mailbox, int worker)
{
	struct record *record = backend->connect();
	struct record_token token = {0};

	for (int story = 0; story < STORIES; story++) {
		int error;

		token.bytes[0] = (unsigned char)worker;
		token.bytes[1] = (unsigned char)story;
		while (is_again(error = file_one(record, mailbox, story, &token))) {
			record_rollback(record);
			usleep(500);
		}
		if (error != 0) {
			fprintf(stderr, "worker %d: %s: %s\n", worker, strerror(-error),
				record_error(record));
			__atomic_add_fetch(&mailbox->failures, 1, __ATOMIC_SEQ_CST);
		}
	}
	record_free(record);
}

static void of_all_at_once_one_appends(void **state)
{
	struct mailbox *mailbox = mmap(NULL, sizeof *mailbox, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t workers[WORKERS];

	(void)state;
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = fork();
		if (workers[i] == 0) {
			work(mailbox, i);
			_exit(0);
		}
	}
	for (int i = 0; i < WORKERS; i++) {
		int status;

		waitpid(workers[i], &status, 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(mailbox->failures, 0);
	assert_int_equal(mailbox->overlaps, 0);
	for (int story = 0; story < STORIES; story++)
		assert_int_equal(mailbox->appended[story], 1);
	assert_int_equal(list((struct record_query){.place = &SENT}).count, STORIES);
	munmap(mailbox, sizeof *mailbox);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static int run_with_server(const struct record_contract_server *server)
{
	const struct CMUnitTest tests[] = {
		CASE(who_loses_the_connection_loses_the_turn),
		CASE(a_connection_that_was_lost_meanwhile_is_made_again),
		CASE(a_commit_without_connection_fails),
		CASE(of_two_that_wait_for_each_other_one_gives_up),
		CASE(nobody_waits_for_longer_than_his_time),
		CASE(a_server_that_hangs_is_left),
		CASE(a_commit_without_answer_is_unknown),
		CASE(a_database_may_be_read_only),
		CASE(a_server_may_have_too_many_connections),
		CASE(a_disk_may_be_full),
	};
	const struct CMUnitTest serializable[] = {
		CASE(a_serialization_failure_is_to_be_tried_again),
	};
	int failed = cmocka_run_group_tests_name("with a server", tests, NULL, NULL);

	if (server->set_unserializable != NULL)
		failed += cmocka_run_group_tests_name("serializable", serializable, NULL, NULL);
	return failed;
}

int record_contract_run(const char *name, const struct record_contract *contract)
{
	const struct CMUnitTest tests[] = {
		CASE(a_message_is_recorded_once),
		CASE(message_ids_are_compared_byte_by_byte),
		CASE(what_is_rolled_back_was_not),
		CASE(an_invalid_message_id_is_refused),
		CASE(a_row_goes_from_filing_to_filed),
		CASE(nobody_is_noted_at_what_is_filed),
		CASE(attempts_of_others_are_seen_until_they_end),
		CASE(a_row_that_was_removed_is_missed),
		CASE(mailboxes_are_told_apart),
		CASE(a_lock_excludes_until_the_transaction_ends),
		CASE(a_lock_says_who_has_it),
		CASE(a_lock_dies_with_its_process),
		CASE(looking_waits_for_no_writer),
		CASE(any_text_is_stored),
		CASE(as_many_rows_as_a_message_may_have),
		CASE(messages_are_found_again),
		CASE(old_messages_are_removed_once_they_are_filed),
		CASE(tables_of_a_newer_version_are_left_alone),
		CASE(tables_of_others_are_left_alone),
		CASE(half_made_tables_are_completed),
		CASE(of_all_at_once_one_appends),
	};
	int failed;

	backend = contract;
	failed = cmocka_run_group_tests_name(name, tests, NULL, NULL);
	return contract->server != NULL ? failed + run_with_server(contract->server) : failed;
}
