// SPDX-License-Identifier: ISC
/* Each call of a store on an IMAP server after each other one that succeeded, or failed in any way,
 * with its kept connections: it must go as with a new store. */
#include "base/timestamp.h"
#include "filing/decode/identity.h"
#include "filing/mailstore/imap.h"
#include "imap_server.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CALLS_MAX = 14 };

#define server  imap_server
#define MESSAGE "Message-ID: <1@x.test>\nSubject: one\n\nhello\n"
#define OTHER   "Message-ID: <2@x.test>\nSubject: two\n\nhello\n"

static struct {
	struct mailstore *store;
	struct arena *arena;
	int64_t now_us;
} world;

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return ++world.now_us;
}

int __wrap_os_socket_wait(int socket, bool for_writing, int64_t limit_us);
int __wrap_os_socket_wait(int socket, bool for_writing, int64_t limit_us)
{
	(void)socket, (void)for_writing;
	world.now_us += limit_us;
	return -ETIMEDOUT;
}

static void open_store(void)
{
	const struct mailstore_imap_settings settings = {.host = "imap.test",
							 .address = "",
							 .port = 143,
							 .tls = MAILSTORE_IMAP_STARTTLS,
							 .authorities = "",
							 .login = "%a",
							 .password = "secret",
							 .prefix = "",
							 .timeout_s = 10};

	world.store = mailstore_imap_new(&settings);
}

/* --- calls --- */

static struct mailstore_location place_of(const char *user, const char *folder, const char *text,
					  struct decode_identity *identity)
{
	struct ipc_content content = {.bytes = str_from(text), .file = -1, .size = strlen(text)};

	assert_int_equal(decode_identify(&content, world.arena, identity), 0);
	return (struct mailstore_location){.user = str_from(user),
					   .folder = str_from(folder),
					   .id = identity->id,
					   .digest = identity->digest};
}

static void append(const char *user, const char *folder, const char *text, struct buffer *out)
{
	struct decode_identity identity;
	struct mailstore_append one = {
		.location = place_of(user, folder, text, &identity),
		.content = {.bytes = str_from(text), .file = -1, .size = strlen(text)},
		.date_us = 1234567890 * SECOND_US};

	mailstore_append(world.store, &one, 1, NULL);
	buffer_append_format(out, "%d %s %s, unknown %d, away %d, refused %d, copy %s\n",
			     (int)one.verdict.class, one.verdict.status, one.verdict.text,
			     one.is_unknown, one.is_away, one.is_refused, one.copy);
}

static void note_error(int error, struct buffer *out)
{
	buffer_append_format(out, "error %d %s, away %d\n", error,
			     error < 0 ? world.store->error : "",
			     error < 0 && world.store->is_away);
}

static void find(const char *user, const char *folder, struct buffer *out)
{
	struct mailstore_found *found = NULL;
	struct decode_identity identity;
	struct mailstore_location place = place_of(user, folder, MESSAGE, &identity);
	size_t count = 0;

	note_error(mailstore_find(world.store, &place, world.arena, &found, &count), out);
	for (size_t i = 0; i < count; i++)
		buffer_append_format(out, "found %s\n", found[i].copy);
}

static void remove_copy(const char *user, const char *folder, struct buffer *out)
{
	const struct imap_server_box *box = imap_server_find(user, folder);
	struct decode_identity identity;
	struct mailstore_location place = place_of(user, folder, MESSAGE, &identity);
	char copy[60] = "7:7";

	if (box != NULL && box->count > 0)
		snprintf(copy, sizeof copy, "%llu:%llu", (unsigned long long)box->validity,
			 (unsigned long long)box->messages[0].uid);
	note_error(mailstore_remove(world.store, &place, copy), out);
}

static const struct life {
	const char *name;
	enum { APPEND, FIND, REMOVE } kind;
	const char *user, *folder;
	const char *refuses_append, *refuses_select;
	CURLcode login;
} lives[] = {
	{"an append", APPEND, "ann@a.test", "INBOX"},
	{"an append of another", APPEND, "bob@a.test", "Sent"},
	{"an append to a new folder", APPEND, "ann@a.test", "Lists/dev"},
	{"a refused append", APPEND, "ann@a.test", "Sent", .refuses_append = "NO [OVERQUOTA] full"},
	{"a search", FIND, "ann@a.test", "Sent"},
	{"a search of nothing", FIND, "bob@a.test", "Sent"},
	{"a refused search", FIND, "ann@a.test", "Sent", .refuses_select = "NO not now"},
	{"a removal", REMOVE, "ann@a.test", "Sent"},
	{"a removal of nothing", REMOVE, "bob@a.test", "Sent"},
	{"a refused login", APPEND, "eve@a.test", "INBOX", .login = CURLE_LOGIN_DENIED},
	{"a server that is away", FIND, "eve@a.test", "Sent", .login = CURLE_COULDNT_CONNECT},
	{"another refused login", FIND, "eve@a.test", "Sent", .login = CURLE_LOGIN_DENIED},
};

static void play_life(const struct life *life, struct buffer *out)
{
	server.refuses_append = life->refuses_append;
	server.refuses_select = life->refuses_select;
	server.login = life->login;
	if (life->kind == APPEND)
		append(life->user, life->folder, OTHER, out);
	else if (life->kind == FIND)
		find(life->user, life->folder, out);
	else
		remove_copy(life->user, life->folder, out);
}

/* What is in all mailboxes. */
static void note_boxes(struct buffer *out)
{
	for (size_t i = 0; i < server.box_count; i++) {
		const struct imap_server_box *box = &server.boxes[i];

		buffer_append_format(out, "%s %s:", box->user, box->name);
		for (size_t k = 0; k < box->count; k++)
			buffer_append_format(out, " %llu %zu",
					     (unsigned long long)box->messages[k].uid,
					     box->messages[k].length);
		buffer_append_byte(out, '\n');
	}
}

/* FIRST, whose CALLth call fails so, and then SECOND; whether there is such a call. */
static bool play_pair(const struct life *first, enum imap_server_fault fault, unsigned call,
		      const struct life *second, bool is_warm, bool is_renewed, struct buffer *out)
{
	struct buffer before CLEANUP(buffer_clear) = {0};
	bool is_there;

	world.now_us = 0;
	world.arena = arena_new();
	imap_server_begin();
	imap_server_put(imap_server_make("ann@a.test", "Sent"), MESSAGE);
	imap_server_put(imap_server_make("bob@a.test", "INBOX"), MESSAGE);
	open_store();
	if (is_warm)
		find("ann@a.test", "Sent", &before); /* so that there is a connection of hers */
	server.calls = 0;
	server.fault = fault;
	server.fails_at = call;
	play_life(first, &before);
	is_there = server.calls >= call;
	server.fails_at = 0;
	if (is_renewed) {
		mailstore_free(world.store);
		open_store();
	}
	play_life(second, out);
	note_boxes(out);
	mailstore_free(world.store);
	imap_server_end();
	arena_free(world.arena);
	return is_there;
}

static bool check_pair(const struct life *first, enum imap_server_fault fault, unsigned call,
		       const struct life *second, bool is_warm)
{
	struct buffer alone CLEANUP(buffer_clear) = {0};
	struct buffer after CLEANUP(buffer_clear) = {0};
	bool is_there = play_pair(first, fault, call, second, is_warm, true, &alone);

	assert_int_equal(play_pair(first, fault, call, second, is_warm, false, &after), is_there);
	if (!str_equal(buffer_view(&alone), buffer_view(&after)))
		fail_msg("%s, fault %d of call %u; then %s\n--- with a new store\n" STR_FORMAT
			 "--- with the same\n" STR_FORMAT,
			 first->name, (int)fault, call, second->name,
			 STR_ARGUMENTS(buffer_view(&alone)), STR_ARGUMENTS(buffer_view(&after)));
	return is_there;
}

/* After one of which a call failed by one of the faults FROM to TO; how many pairs. */
static unsigned play_faults(enum imap_server_fault from, enum imap_server_fault to)
{
	unsigned played = 0;

	for (size_t i = 0; i < 2 * COUNT_OF(lives) * COUNT_OF(lives); i++) {
		const struct life *first = &lives[i / 2 / COUNT_OF(lives)];
		const struct life *second = &lives[i / 2 % COUNT_OF(lives)];
		bool is_warm = i % 2 == 1;

		for (enum imap_server_fault fault = from; fault <= to; fault++)
			for (unsigned call = 1; call < CALLS_MAX; call++) {
				if (!check_pair(first, fault, call, second, is_warm))
					break;
				played++;
			}
	}
	return played;
}

static void each_after_each_other_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(lives) * COUNT_OF(lives); i++)
		(void)check_pair(&lives[i / 2 / COUNT_OF(lives)], IMAP_SERVER_FINE, 0,
				 &lives[i / 2 % COUNT_OF(lives)], i % 2 == 1);
}

static void each_after_one_that_was_lost(void **state)
{
	(void)state;
	assert_true(play_faults(IMAP_SERVER_CLOSES, IMAP_SERVER_ANSWERS_AND_CLOSES) >
		    5 * COUNT_OF(lives) * COUNT_OF(lives));
}

static void each_after_one_without_a_right_answer(void **state)
{
	(void)state;
	assert_true(play_faults(IMAP_SERVER_HANGS, IMAP_SERVER_FAULTS - 1) >
		    5 * COUNT_OF(lives) * COUNT_OF(lives));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_after_each_other_one),
		cmocka_unit_test(each_after_one_that_was_lost),
		cmocka_unit_test(each_after_one_without_a_right_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
