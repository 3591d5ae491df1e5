// SPDX-License-Identifier: ISC
/* Each question to the directory's server after each other one, in one session; with a client who
 * leaves while it is under way; and with a store that fails. */
#include "config/text.h"
#include "directory/server/internal.h"
#include "os/socket/socket.h"
#include "pairs.h"
#include "unit/directory/directory_peer.h"
#include "unit/directory/store/memory_store.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOKUP = DIRECTORY_ROLE_READ,
	ALL = LOOKUP | DIRECTORY_ROLE_LIST | DIRECTORY_ROLE_SECRET | DIRECTORY_ROLE_CHANGE,
	FIRST_VERSION = 500, /* no other number is as large, but times */
};

static const char *const RECORDS[] = {
	"domain d.test|kind local|service box",
	"address a@d.test|kind mailbox",
	"address f@d.test|kind forward|target a@d.test|target x@e.test",
	"address l@d.test|kind list|owner a@d.test",
	"address old@d.test|kind refused|text gone",
	"member l@d.test m@e.test",
	"member l@d.test n@e.test",
	"user ann|password $6$x$y|name Ann",
};

/* What some of the questions make besides. */
static const char *const MADE[] = {"user bob", "user c", "address new@d.test|kind mailbox"};

/* Up to four frames; "V" stands for the version before. */
static const char *const LIVES[][4] = {
	{"get|7|address|a@d.test"},
	{"get|7|address|no@d.test"},
	{"get|7|user|ann"},
	{"get|7|user|bob"},
	{"get|7|route|f@d.test"},
	{"get|7|route|no@d.test"},
	{"get|7|route|a@elsewhere.test"},
	{"get|7|route|l@d.test"},
	{"get|7|lacking|scram-sha-256"},
	{"get|7|lacking|no"},
	{"get|7|nothing|x"},
	{"get|7|domain|a b"},
	{"get|7|domain"},
	{"list|7|address|||1000"},
	{"list|7|address|a|a@d.test|2"},
	{"list|7|member|l@d.test ||1"},
	{"list|7|membership|m@e.test ||9"},
	{"list|7|address|||1001"},
	{"put|7|address|new@d.test|kind mailbox"},
	{"put|7|address|a@d.test|kind refused|text no"},
	{"put|7|address|a@d.test|kind strange"},
	{"put|7|address|a@d.test|kind"},
	{"put|7|nothing|a|b c", "ping|8"},
	{"edit|7|address|f@d.test|V|kind mailbox"},
	{"edit|7|address|f@d.test|1|kind mailbox"},
	{"edit|7|address|f@d.test|x|kind mailbox"},
	{"del|7|address|f@d.test"},
	{"del|7|address|no@d.test"},
	{"del|7|address|"},
	{"put|7|user|bob|name Bob", "del|8|user|bob", "get|9|user|bob", "get|10|route|a@d.test"},
	{"get|7|address|a@d.test", "put|8|address|a@d.test|kind refused|text no",
	 "get|9|address|a@d.test"},
	{"put|7|user|c|name C", "edit|8|user|c|V|name D", "put|9|user|c|name E",
	 "list|10|user|||9"},
	{"accept|7"},
	{"ping|7"},
	{"ping"},
	{"fetch|7"},
};

static struct {
	struct os_loop *loop;
	struct memory_store *store;
	struct config *config;
	struct directory_server *server;
	struct directory_peer *peer;
	struct buffer said;
	bool is_late;
	uint64_t before; /* the version */
} scene;

static struct directory_peer *connect_peer(unsigned roles)
{
	struct directory_transport transport;
	struct directory_peer *peer;
	int sockets[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
	directory_transport_plain(sockets[0], &transport);
	directory_server_accept(scene.server, &transport, roles, "uid 0");
	peer = directory_peer_new(scene.loop, sockets[1]);
	assert_true(strncmp(directory_peer_hear(peer), "hello|1|", 8) == 0);
	return peer;
}

static void put_records(void)
{
	for (size_t i = 0; i < COUNT_OF(RECORDS); i++)
		memory_store_put(scene.store, RECORDS[i]);
}

/* Not LOOP: late answers wait for memory_store_answer(). */
static void open_scene(struct os_loop *answers)
{
	struct config_problems problems;

	assert_int_equal(
		config_parse("t",
			     STR("hostname = mx.test\nservice box { kind = maildir path = /m/%u }\n"
				 "directory { ttl = 1d negative_ttl = 5m }\n"),
			     &scene.config, &problems),
		0);
	config_problems_clear(&problems);
	scene.store = memory_store_new(answers);
	while (scene.store->base.version < FIRST_VERSION)
		put_records();
	scene.server = directory_server_new(scene.loop, &scene.store->base, scene.config);
	scene.store->is_late = scene.is_late;
	scene.peer = connect_peer(ALL);
}

static void open_server(void)
{
	scene.loop = os_loop_new();
	open_scene(scene.loop);
}

static void close_server(void)
{
	if (scene.peer != NULL)
		directory_peer_free(scene.peer);
	directory_server_free(scene.server);
	memory_store_answer_all(scene.store);
	memory_store_free(scene.store);
	config_free(scene.config);
	os_loop_free(scene.loop);
	buffer_clear(&scene.said);
}

static void say(const char *frame)
{
	const char *word = strstr(frame, "|V|");
	char text[200];

	if (word != NULL)
		snprintf(text, sizeof text, "%.*s|%" PRIu64 "%s", (int)(word - frame), frame,
			 scene.before, word + 2);
	directory_peer_say(scene.peer, word != NULL ? text : frame);
}

/* With versions as what they are more than the one before. News are another matter: they depend on
 * what was asked before. */
static void note_heard(const char *frame)
{
	struct str rest = str_from(frame), word;

	if (strncmp(frame, "new|", 4) == 0)
		return;
	while (str_split(&rest, '|', &word)) {
		uint64_t number;
		bool is_version = str_to_u64(word, &number) && number >= scene.before &&
				  number <= scene.store->base.version;

		if (is_version)
			buffer_append_format(&scene.said, "V+%" PRIu64 "|", number - scene.before);
		else
			buffer_append_format(&scene.said, STR_FORMAT "|", STR_ARGUMENTS(word));
	}
	buffer_append_byte(&scene.said, '\n');
}

/* To the answer to a ping. */
static bool hear_until(const char *ping, const char *answer)
{
	const char *heard;

	directory_peer_say(scene.peer, ping);
	do {
		heard = directory_peer_hear(scene.peer);
		if (strncmp(heard, answer, strlen(answer)) == 0)
			return true;
		note_heard(heard);
	} while (strcmp(heard, "closed") != 0 && strcmp(heard, "nothing") != 0);
	return false;
}

static void hear_to_end(void)
{
	bool is_open = hear_until("ping|98", "ok|98|");

	for (size_t turns = 0; scene.server->questions_under_way > 0 && turns < 1000; turns++)
		directory_peer_turn(scene.loop, 0);
	if (is_open && hear_until("ping|99", "ok|99|"))
		return;
	directory_peer_free(scene.peer);
	scene.peer = connect_peer(ALL);
}

static void play_life(size_t number)
{
	const struct directory_server_counts before = scene.server->counts;
	const struct directory_server_counts *after = &scene.server->counts;

	buffer_reset(&scene.said);
	scene.before = scene.store->base.version;
	for (size_t i = 0; i < COUNT_OF(LIVES[number]) && LIVES[number][i] != NULL; i++)
		say(LIVES[number][i]);
	hear_to_end();
	buffer_append_format(&scene.said, "%u questions, %u errors, %u none, %u changes\n",
			     (unsigned)(after->questions - before.questions),
			     (unsigned)(after->errors - before.errors),
			     (unsigned)(after->answers_none - before.answers_none),
			     (unsigned)(after->changes - before.changes));
	put_records();
	for (size_t i = 0; i < COUNT_OF(MADE); i++) {
		memory_store_put(scene.store, MADE[i]);
		memory_store_remove(scene.store, MADE[i]);
	}
}

static const char *name_of_life(size_t number)
{
	return LIVES[number][0];
}

static const struct pairs lives = {
	.count = COUNT_OF(LIVES),
	.name = name_of_life,
	.open = open_server,
	.play = play_life,
	.close = close_server,
	.said = &scene.said,
};

static void each_question_after_each(void **state)
{
	(void)state;
	for (int late = 0; late <= 1; late++) {
		scene.is_late = late;
		check_pairs(&lives);
	}
	scene.is_late = false;
}

/* What is said at once of a single question is said late. */
static void each_question_to_a_slow_store(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(LIVES); i++) {
		struct buffer first CLEANUP(buffer_clear) = {0};

		for (int late = 0; late <= 1; late++) {
			scene.is_late = late;
			open_server();
			play_life(i);
			if (!late)
				buffer_append_str(&first, buffer_view(&scene.said));
			else if (LIVES[i][1] == NULL &&
				 !str_equal(buffer_view(&first), buffer_view(&scene.said)))
				fail_msg("%s: " STR_FORMAT, LIVES[i][0],
					 STR_ARGUMENTS(buffer_view(&scene.said)));
			close_server();
		}
	}
	scene.is_late = false;
}

/* ANSWERS of the store's have come when the client is gone. Others are served as before. */
static void leave_amid(size_t number, size_t answers)
{
	struct directory_peer *other;

	scene.is_late = true;
	scene.loop = os_loop_new();
	open_scene(NULL);
	scene.before = scene.store->base.version;
	for (size_t i = 0; i < COUNT_OF(LIVES[number]) && LIVES[number][i] != NULL; i++)
		say(LIVES[number][i]);
	directory_peer_turn(scene.loop, 1000);
	for (size_t i = 0; i < answers; i++)
		(void)memory_store_answer(scene.store);
	directory_peer_free(scene.peer);
	scene.peer = NULL;
	directory_peer_turn(scene.loop, 1000);
	for (size_t i = 0; i < 9; i++) {
		memory_store_answer_all(scene.store);
		directory_peer_turn(scene.loop, 0);
	}
	assert_int_equal(scene.server->questions_under_way, 0);
	assert_int_equal(scene.server->session_count, 0);
	scene.store->is_late = false;
	other = connect_peer(ALL);
	directory_peer_say(other, "get|1|user|ann");
	assert_true(strncmp(directory_peer_hear(other), "val|1|86400000|", 15) == 0);
	directory_peer_free(other);
	close_server();
}

static void who_leaves_amid_a_question(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(LIVES); i++)
		for (size_t answers = 0; answers <= 2; answers++)
			leave_amid(i, answers);
	scene.is_late = false;
}

#define UNKNOWN "; whether this was changed is not known"

/* What is said of each error of the store, of what is read and of changes. */
static void each_error_of_the_store(void **state)
{
	static const struct {
		int error;
		const char *read, *change;
	} rows[] = {
		{-ENOTCONN, NULL, "later|The data cannot be reached now" UNKNOWN},
		{-ETIMEDOUT, NULL, "later|No answer in time" UNKNOWN},
		{-EOPNOTSUPP, NULL, "storage|These data are kept in LDAP, and changed there"},
		{-EROFS, NULL, "storage|The data are read-only here"},
		{-EBUSY, NULL,
		 "storage|These data are not those that were seen before: restore them, or accept "
		 "them (stagepost directory accept)"},
		{-EPERM, NULL, "storage|The database denies this server that change"},
		{-ENOSPC, NULL, "storage|The disk is full"},
		{-ESTALE, NULL, "changed|The record has changed since that version"},
		{-EACCES, "denied|This server may not read that itself",
		 "denied|This server may not change that itself"},
		{-EBADMSG, "later|A record of it is malformed, see the log", NULL},
		{-EIO, NULL, NULL},
	};
	static const char *const questions[] = {
		"get|7|address|a@d.test", "get|7|user|ann",          "get|7|route|a@d.test",
		"list|7|address|||9",     "list|7|user|||1000",      "put|7|user|bob|name B",
		"del|7|user|ann",         "edit|7|user|ann|V|name B"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows) * COUNT_OF(questions); i++) {
		const char *question = questions[i % COUNT_OF(questions)];
		bool is_change = i % COUNT_OF(questions) >= 5;
		const char *wanted = is_change ? rows[i / COUNT_OF(questions)].change
					       : rows[i / COUNT_OF(questions)].read;
		char text[200];

		if (wanted == NULL)
			wanted = is_change ? "storage|The change could not be made durable"
					   : "later|The data cannot be reached now";
		snprintf(text, sizeof text, "err|7|%s", wanted);
		open_server();
		scene.before = scene.store->base.version;
		scene.store->error = rows[i / COUNT_OF(questions)].error;
		say(question);
		assert_string_equal(directory_peer_hear(scene.peer), text);
		assert_int_equal(scene.server->counts.errors, 1);
		scene.store->error = 0;
		directory_peer_say(scene.peer, "get|8|user|ann");
		assert_true(strncmp(directory_peer_hear(scene.peer), "val|8|", 6) == 0);
		close_server();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_question_after_each),
		cmocka_unit_test(each_question_to_a_slow_store),
		cmocka_unit_test(who_leaves_amid_a_question),
		cmocka_unit_test(each_error_of_the_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
