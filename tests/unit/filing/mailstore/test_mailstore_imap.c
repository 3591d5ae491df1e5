// SPDX-License-Identifier: ISC
/* The store on an IMAP server, which is in memory (imap_server.h): any order of appends, searches
 * and removals against what the server has; each call of the dialogue that fails; all bounds. The
 * library is played, and so is the clock. */
#include "base/timestamp.h"
#include "chance.h"
#include "filing/decode/identity.h"
#include "filing/mailstore/imap/internal.h"
#include "imap_server.h"
#include "test.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 4, FOLDERS = 3, TURNS = 1500, CALLS_MAX = 200 };

#define server imap_server

static struct {
	struct mailstore *store;
	struct arena *arena, *ids;
	char texts[TEXTS][120];
	struct decode_identity identities[TEXTS];
	int64_t now_us, waited_us;
} world;

static const char *const FOLDERS_OF[FOLDERS] = {"inBox", "Sent", "Lists/dev"};
static const char *const NAMES_OF[FOLDERS] = {"INBOX", "Sent", "Lists/dev"};

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return ++world.now_us;
}

int __wrap_os_socket_wait(int socket, bool for_writing, int64_t limit_us);
int __wrap_os_socket_wait(int socket, bool for_writing, int64_t limit_us)
{
	assert_int_equal(socket, IMAP_SERVER_SOCKET);
	(void)for_writing;
	world.waited_us = limit_us;
	world.now_us += limit_us;
	return -ETIMEDOUT;
}

/* ---- what is asked ---- */

static struct mailstore_imap_settings usual_settings(void)
{
	return (struct mailstore_imap_settings){.host = "imap.test",
						.address = "",
						.port = 143,
						.tls = MAILSTORE_IMAP_STARTTLS,
						.authorities = "",
						.login = "%a",
						.password = "secret",
						.prefix = "",
						.timeout_s = 10};
}

static struct mailstore_location place_of(const char *user, const char *folder, size_t text)
{
	return (struct mailstore_location){.user = str_from(user),
					   .folder = str_from(folder),
					   .id = world.identities[text].id,
					   .digest = world.identities[text].digest};
}

static struct mailstore_append append_of(const char *user, const char *folder, size_t text)
{
	struct str content = str_from(world.texts[text]);

	return (struct mailstore_append){
		.location = place_of(user, folder, text),
		.content = {.bytes = content, .file = -1, .size = content.length},
		.date_us = 1234567890 * SECOND_US};
}

static struct mailstore_append append_now(const char *folder, size_t text)
{
	struct mailstore_append append = append_of("ann@a.test", folder, text);

	mailstore_append(world.store, &append, 1, NULL);
	return append;
}

/* As they are in the mailbox. */
static void crlf_text(size_t text, char *out)
{
	for (const char *from = world.texts[text]; *from != '\0'; from++) {
		if (*from == '\n')
			*out++ = '\r';
		*out++ = *from;
	}
	*out = '\0';
}

static bool is_text(const struct imap_server_message *message, size_t text)
{
	char expected[300];

	crlf_text(text, expected);
	return message->length == strlen(expected) &&
	       memcmp(message->text, expected, message->length) == 0;
}

/* ---- a model ---- */

static void check_find(const char *user, size_t folder, size_t text)
{
	const struct imap_server_box *box = imap_server_find(user, NAMES_OF[folder]);
	struct mailstore_location location = place_of(user, FOLDERS_OF[folder], text);
	struct mailstore_found *found;
	size_t count = 99, known = 0;

	arena_reset(world.arena);
	if (mailstore_find(world.store, &location, world.arena, &found, &count) != 0)
		fail_msg("%s", world.store->error);
	for (size_t i = 0; box != NULL && i < box->count; i++) {
		char copy[60];

		if (!is_text(&box->messages[i], text))
			continue;
		assert_true(known < count);
		snprintf(copy, sizeof copy, "%" PRIu64 ":%" PRIu64, box->validity,
			 box->messages[i].uid);
		assert_string_equal(found[known++].copy, copy);
	}
	assert_int_equal(count, known);
}

static void check_append(const char *user, size_t folder, size_t text)
{
	struct mailstore_append append = append_of(user, FOLDERS_OF[folder], text);
	static const char *const flags[] = {"", "\\Seen", "\\Flagged", "\\Seen \\Flagged",
					    "\\Draft"};
	const struct imap_server_message *last;
	const struct imap_server_box *box;
	char copy[60] = "", with_crlf[300];

	if (chance(2) == 0) { /* it has its line ends already */
		crlf_text(text, with_crlf);
		append.content.bytes = str_from(with_crlf);
		append.content.size = append.content.bytes.length;
	}
	append.flags = (unsigned)chance(COUNT_OF(flags));
	mailstore_append(world.store, &append, 1, NULL);
	if (append.verdict.class != MAIL_OK)
		fail_msg("%s %s", append.verdict.status, append.verdict.text);
	assert_false(append.is_unknown || append.is_away || append.is_refused);
	box = imap_server_find(user, NAMES_OF[folder]);
	assert_non_null(box);
	last = &box->messages[box->count - 1];
	assert_true(is_text(last, text));
	assert_string_equal(last->flags, flags[append.flags]);
	assert_string_equal(last->date, "13-Feb-2009 23:31:30 +0000");
	if (server.says_uids)
		snprintf(copy, sizeof copy, "%" PRIu64 ":%" PRIu64, box->validity, last->uid);
	assert_string_equal(append.copy, copy);
}

/* A copy that is there, or one beside it. */
static void check_remove(const char *user, size_t folder)
{
	const struct imap_server_box *box = imap_server_find(user, NAMES_OF[folder]);
	struct mailstore_location location = place_of(user, FOLDERS_OF[folder], 0);
	size_t before = box != NULL ? box->count : 0, at = 0;
	uint64_t uid = 3 + chance(20),
		 validity = (box != NULL ? box->validity : 70) + (chance(5) == 0);
	bool is_there;
	char copy[60];

	while (at < before && box->messages[at].uid != uid)
		at++;
	is_there = at < before && validity == box->validity;
	snprintf(copy, sizeof copy, "%" PRIu64 ":%" PRIu64, validity, uid);
	assert_int_equal(mailstore_remove(world.store, &location, copy), is_there ? 0 : -ENOENT);
	assert_int_equal(box != NULL ? box->count : 0, before - is_there);
	for (at = 0; is_there && at < box->count; at++)
		assert_true(box->messages[at].uid != uid);
}

/* Of the logins whose connections are kept, those that were used last. */
static unsigned count_new_connections(size_t user)
{
	static size_t kept[IMAP_CONNECTIONS];
	static size_t count;
	size_t at = 0;
	bool is_new;

	if (server.opened == 0)
		count = 0;
	while (at < count && kept[at] != user)
		at++;
	is_new = at == count;
	if (is_new && count < IMAP_CONNECTIONS)
		count++;
	if (at == IMAP_CONNECTIONS)
		at--;
	memmove(kept + 1, kept, at * sizeof kept[0]);
	kept[0] = user;
	return is_new;
}

static void any_order(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t number = chance(IMAP_CONNECTIONS + 2), folder = chance(FOLDERS);
		unsigned expected = server.opened + count_new_connections(number);
		char user[30];

		snprintf(user, sizeof user, "user-%zu@a.test", number);
		server.chunk = 1 + chance(chance(2) == 0 ? 20 : 4000);
		server.is_extended = chance(2) == 0;
		server.says_twice = chance(4) == 0;
		server.says_uids = chance(8) > 0;
		server.extra = chance(3) == 0 ? "* 3 RECENT" : NULL;
		switch (chance(3)) {
		case 0:
			check_append(user, folder, chance(TEXTS));
			break;
		case 1:
			check_find(user, folder, chance(TEXTS));
			break;
		default:
			check_remove(user, folder);
		}
		assert_int_equal(server.opened, expected);
		assert_string_equal(server.password, "secret");
		assert_true(server.open <= IMAP_CONNECTIONS);
	}
}

/* ---- each call fails ---- */

static size_t count_text(size_t text)
{
	const struct imap_server_box *box = imap_server_find("ann@a.test", "Sent");
	size_t count = 0;

	for (size_t i = 0; box != NULL && i < box->count; i++)
		count += is_text(&box->messages[i], text);
	return count;
}

static bool tries_again(enum imap_server_fault fault)
{
	return fault == IMAP_SERVER_CLOSES || fault == IMAP_SERVER_LOSES ||
	       fault == IMAP_SERVER_SAYS_BYE;
}

static void check_faulty_append(bool is_kept)
{
	struct mailstore_append append = append_now("Sent", 1);
	size_t count = count_text(1);

	assert_false(append.is_away && (is_kept || append.is_unknown));
	if (append.verdict.class == MAIL_OK) {
		assert_int_equal(count, 1);
		assert_false(append.is_unknown);
		return;
	}
	assert_int_equal(append.verdict.class, MAIL_WAIT);
	assert_string_not_equal(append.verdict.text, "");
	assert_string_equal(append.copy, "");
	assert_true(count == 0 || append.is_unknown);
	if (is_kept && tries_again(server.fault))
		assert_true(append.is_unknown); /* otherwise it is done on a new one */
}

static void check_faulty_find(bool is_kept)
{
	struct mailstore_location location = place_of("ann@a.test", "Sent", 1);
	struct mailstore_found *found = NULL;
	size_t count = 77;
	int error;

	imap_server_put(imap_server_find("ann@a.test", "Sent"), world.texts[1]);
	error = mailstore_find(world.store, &location, world.arena, &found, &count);
	if (error == 0) {
		assert_int_equal(count, 1);
		return;
	}
	assert_int_equal(count, 77);
	assert_false(world.store->is_away && is_kept);
	assert_true(strncmp(world.store->error, "IMAP server imap.test: ", 23) == 0);
	assert_false(is_kept && tries_again(server.fault));
	if (server.fault == IMAP_SERVER_HANGS)
		assert_int_equal(error, -ETIMEDOUT);
	else
		assert_int_equal(error, server.fault == IMAP_SERVER_BABBLES ? -EPROTO : -ENOTCONN);
}

static void check_faulty_remove(bool is_kept)
{
	struct imap_server_box *box = imap_server_find("ann@a.test", "Sent");
	struct mailstore_location location = place_of("ann@a.test", "Sent", 1);
	char copy[60];
	int error;

	imap_server_put(box, world.texts[1]);
	snprintf(copy, sizeof copy, "%" PRIu64 ":%" PRIu64, box->validity,
		 box->messages[box->count - 1].uid);
	error = mailstore_remove(world.store, &location, copy);
	/* tried again it may have been removed already */
	assert_true(error == 0 || error == -ENOTCONN || error == -ETIMEDOUT || error == -EPROTO ||
		    (error == -ENOENT && is_kept));
	assert_int_equal(count_text(1), error == 0 || error == -ENOENT ? 0 : count_text(1));
	assert_int_equal(count_text(0), 1);
}

static int set_up(void **state);
static int tear_down(void **state);

/* Of OPERATION, on a new connection or on one that was kept; the next one finds nothing broken. */
static void fail_each_call(void (*operation)(bool is_kept), bool is_kept)
{
	for (enum imap_server_fault fault = IMAP_SERVER_CLOSES; fault < IMAP_SERVER_FAULTS; fault++)
		for (unsigned call = 1;; call++) {
			void *none = NULL;
			unsigned made;

			assert_true(call < CALLS_MAX);
			tear_down(&none);
			set_up(&none);
			imap_server_put(imap_server_make("ann@a.test", "Sent"), world.texts[0]);
			if (is_kept)
				assert_int_equal(append_now("INBOX", 2).verdict.class, MAIL_OK);
			server.calls = 0;
			server.fails_at = call;
			server.fault = fault;
			operation(is_kept);
			made = server.calls;
			server.fails_at = 0;
			assert_int_equal(append_now("Sent", 3).verdict.class, MAIL_OK);
			assert_int_equal(count_text(3), 1);
			if (made < call)
				break;
		}
}

static void each_call_fails(void **state)
{
	static void (*const operations[])(bool is_kept) = {check_faulty_append, check_faulty_find,
							   check_faulty_remove};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(operations); i++)
		for (int is_kept = 0; is_kept < 2; is_kept++)
			fail_each_call(operations[i], is_kept == 1);
}

/* ---- what servers are ---- */

static void folders_have_the_names_that_the_server_wants(void **state)
{
	static const struct {
		char separator;
		const char *namespace, *prefix, *folder, *name; /* NULL: there can be none */
	} rows[] = {
		{'/', NULL, "", "Sent", "Sent"},
		{'/', NULL, "", "Lists/dev", "Lists/dev"},
		{'.', NULL, "", "Lists/dev", "Lists.dev"},
		{'.', NULL, "", "a.b", NULL},
		{'\\', NULL, "", "Lists/dev", "Lists\\dev"},
		{'\0', NULL, "", "Sent", "Sent"},
		{'\0', NULL, "", "Lists/dev", NULL},
		{'.', "((\"INBOX.\" \".\")) NIL NIL", "", "Sent", "INBOX.Sent"},
		{'.', "((\"INBOX.\" \".\")) NIL NIL", "", "INBOX.Sent", NULL},
		{'/', "((\"INBOX/\" \"/\")) NIL NIL", "", "INBOX/Sent", "INBOX/Sent"},
		{'/', "((\"INBOX/\" \"/\")) NIL NIL", "", "inbox/Sent", "INBOX/Sent"},
		{'/', "((\"INBOX/\" \"/\")) NIL NIL", "", "INBOX", "INBOX"},
		{'/', "((\"INBOX/\" \"/\")) NIL NIL", "Mail/", "Sent", "Mail/Sent"},
		{'.', "((\"a\\\"b.\" \"/\")) NIL NIL", "", "x/y", "a\"b.x/y"},
		{'.', "((\"Mine.\" NIL)) NIL NIL", "", "x/y", "Mine.x.y"},
		{'.', "NIL NIL NIL", "", "x/y", "x.y"},
		{'.', "((Mine \"/\")) NIL NIL", "", "x/y", "x.y"},
		{'.', "((\"Mine.\" /)) NIL NIL", "", "x/y", "x.y"},
		{'.', "((\"no end", "", "x/y", "x.y"},
		{'.', "((\"\xc3\xa4.\" \".\"))", "", "x/y", "x.y"},
		{'.', "((\"a\tb.\" \".\"))", "", "x/y", "x.y"},
		{'.', "((\"a\x7f.\" \".\"))", "", "x/y", "x.y"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct mailstore_imap_settings settings = usual_settings();
		struct mailstore_append append;

		tear_down(state);
		set_up(state);
		mailstore_free(world.store);
		settings.prefix = rows[i].prefix;
		world.store = mailstore_imap_new(&settings);
		server.separator = rows[i].separator;
		server.namespace = rows[i].namespace;
		append = append_now(rows[i].folder, 0);
		if (rows[i].name == NULL) {
			assert_string_equal(append.verdict.status, "5.1.3");
			assert_true(append.is_refused);
			assert_int_equal(server.box_count, 0);
		} else if (server.box_count != 1 ||
			   strcmp(server.boxes[0].name, rows[i].name) != 0) {
			fail_msg("%zu: '%s'", i, server.boxes[0].name);
		}
	}
}

/* At the bound of a prefix, and beyond. */
static void a_prefix_has_a_longest(void **state)
{
	for (size_t length = IMAP_PREFIX_SIZE - 2; length <= IMAP_PREFIX_SIZE; length++) {
		char prefix[IMAP_PREFIX_SIZE + 1], line[IMAP_PREFIX_SIZE + 40];
		struct buffer expected = {0};

		tear_down(state);
		set_up(state);
		memset(prefix, 'x', length);
		prefix[length] = '\0';
		snprintf(line, sizeof line, "((\"%s\" \".\")) NIL NIL", prefix);
		server.namespace = line;
		buffer_append_format(&expected, "EXAMINE \"%sSent\"\n%c",
				     length < IMAP_PREFIX_SIZE ? prefix : "", '\0');
		server.refuses_select = "NO [NONEXISTENT] none";
		check_find("ann@a.test", 1, 0);
		buffer_append_byte(&server.dialogue, '\0');
		assert_non_null(strstr(buffer_data(&server.dialogue), buffer_data(&expected)));
		buffer_clear(&expected);
	}
}

static void refusals_have_meanings(void **state)
{
	static const struct {
		const char *answer, *quota;
		const char *status;
		bool is_refused, of_create, is_strict;
	} rows[] = {
		{"NO [OVERQUOTA] x", NULL, "4.2.2", false, false, false},
		{"NO [overquota] x", NULL, "5.2.2", false, false, true},
		{"NO [TOOBIG] x", NULL, "5.2.3", false, false, true},
		{"NO [NOPERM] x", NULL, "5.7.1", true, false, false},
		{"NO [NOPERM] x", NULL, "5.7.1", true, true, false},
		{"NO [INUSE] x", NULL, "4.3.0", false, true, false},
		{"NO [CORRUPTION] x", NULL, "4.3.0", true, false, false},
		{"NO [TRYCREATE] x", NULL, "4.2.1", true, false, false},
		{"BAD [OVERQUOTA] x", NULL, "4.3.0", false, false, false},
		{"BAD quota exceeded", NULL, "4.3.0", false, false, false},
		{"BAD x", NULL, "4.3.0", false, true, false},
		{"NO Quota is EXCEEDED now", NULL, "4.2.2", false, false, false},
		{"NO over quota", NULL, "5.2.2", false, false, true},
		{"NO over and over", NULL, "4.3.0", false, false, false},
		{"NO the message is too large", NULL, "5.2.3", false, false, false},
		{"NO Permission denied", NULL, "4.7.0", true, false, false},
		{"NO Permission denied", NULL, "4.7.0", true, true, false},
		{"NO I do not like it", NULL, "4.3.0", false, false, false},
		{"NO I do not like it", NULL, "4.3.0", true, true, false},
		/* the quota, whatever it says: a limit and one less; in KiB, of a message of some
		   bytes */
		{"NO x", "(STORAGE 10 10)", "4.2.2", false, false, false},
		{"NO x", "(STORAGE 9 10)", "4.3.0", false, false, false},
		{"NO x", "(STORAGE 11 10)", "4.2.2", false, false, false},
		{"NO x", "(MESSAGE 7 7)", "4.2.2", false, false, false},
		{"NO x", "(MESSAGE 6 7)", "4.3.0", false, false, false},
		{"NO x", "(MESSAGE 8 7)", "4.2.2", false, false, false},
		{"NO x", "(STORAGE 1 10 MESSAGE 7 7)", "4.2.2", false, false, false},
		{"NO x", "(STORAGE 10 10 MESSAGE 1 7)", "5.2.2", false, false, true},
		{"NO x", "(STORAGE ten 10)", "4.3.0", false, false, false},
		{"NO x", "()", "4.3.0", false, false, false},
		{"NO x", "STORAGE 10 10", "4.3.0", false, false, false},
		{"NO permission denied", "(STORAGE 1 10)", "4.7.0", true, false, false},
		{"NO x", "(STORAGE 10 10)", "4.3.0", true, true, false},
	};

	for (size_t i = 0; i < 2 * COUNT_OF(rows); i++) {
		const char *answer = rows[i / 2].answer;
		struct mailstore_append append = append_of("ann@a.test", "Sent", 0);

		tear_down(state);
		set_up(state);
		server.has_quota = rows[i / 2].quota != NULL;
		server.quota_line = rows[i / 2].quota;
		server.refuses_after_literal = i % 2 == 1;
		if (rows[i / 2].of_create) {
			server.refuses_create = answer;
		} else {
			(void)imap_server_make("ann@a.test", "Sent");
			server.refuses_append = answer;
		}
		append.refuses_over_quota = rows[i / 2].is_strict;
		mailstore_append(world.store, &append, 1, NULL);
		if (strcmp(append.verdict.status, rows[i / 2].status) != 0 ||
		    append.is_refused != rows[i / 2].is_refused)
			fail_msg("%s, %s: %s %d", answer, rows[i / 2].quota, append.verdict.status,
				 append.is_refused);
		assert_false(append.is_unknown || append.is_away);
		assert_int_equal(server.opened, 1);
		assert_int_equal(count_text(0), 0);
		/* nothing is made that is there, unless the server says that it is not */
		buffer_append_byte(&server.dialogue, '\0');
		assert_int_equal(strstr(buffer_data(&server.dialogue), "CREATE ") != NULL,
				 rows[i / 2].of_create || strstr(answer, "[TRYCREATE]") != NULL);
	}
}

/* ---- connections ---- */

static void logins_fail(void **state)
{
	static const struct {
		CURLcode code;
		const char *words;
		int error;
		bool is_away;
		const char *said;
	} rows[] = {
		{CURLE_LOGIN_DENIED, "S1 NO wrong\r\n", -EACCES, false, ": S1 NO wrong"},
		{CURLE_LOGIN_DENIED, "S1 NO not secret\r\n", -EACCES, false, "Login denied"},
		{CURLE_LOGIN_DENIED, "", -EACCES, false, "Login denied"},
		{CURLE_WEIRD_SERVER_REPLY, "220 hello\n", -EPROTO, true, ": 220 hello"},
		{CURLE_OPERATION_TIMEDOUT, "* OK hello", -ETIMEDOUT, true, "Timeout was reached"},
		{CURLE_PEER_FAILED_VERIFICATION, "", -EKEYREJECTED, true, ""},
		{CURLE_USE_SSL_FAILED, "", -EKEYREJECTED, true, ""},
		{CURLE_COULDNT_CONNECT, "", -ENOTCONN, true, ""},
		{CURLE_WRITE_ERROR, "", -EMSGSIZE, true, ""},
	};
	struct mailstore_location location = place_of("ann@a.test", "Sent", 0);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct mailstore_found *found;
		struct mailstore_append appends[3];
		size_t count;

		server.login = rows[i].code;
		server.login_words = rows[i].words;
		assert_int_equal(
			mailstore_find(world.store, &location, world.arena, &found, &count),
			rows[i].error);
		assert_int_equal(world.store->is_away, rows[i].is_away);
		assert_non_null(strstr(world.store->error, rows[i].said));
		assert_null(strstr(world.store->error, "secret"));
		assert_int_equal(server.open, 0);
		/* of several the first one tells */
		for (size_t k = 0; k < COUNT_OF(appends); k++)
			appends[k] = append_of("ann@a.test", "Sent", k);
		server.opened = 0;
		mailstore_append(world.store, appends, COUNT_OF(appends), NULL);
		assert_int_equal(server.opened, rows[i].is_away ? 1 : 3);
		for (size_t k = 0; k < COUNT_OF(appends); k++) {
			assert_int_equal(appends[k].verdict.class, MAIL_WAIT);
			assert_int_equal(appends[k].is_away, rows[i].is_away);
			assert_non_null(strstr(appends[k].verdict.text, rows[i].said));
		}
	}
	server.login = CURLE_OK;
	server.login_words = "";
	assert_int_equal(append_now("Sent", 0).verdict.class, MAIL_OK);
	assert_false(world.store->is_away);
}

/* What is said before a login, at its bound and beyond; a line of it in the error. */
static void a_greeting_has_an_end(void **state)
{
	char *words = calloc(1, (64 << 10) + 2);

	(void)state;
	for (int beyond = 0; beyond < 2; beyond++) {
		struct mailstore_append append;

		memset(words, 'x', (64U << 10) + (size_t)beyond);
		server.login_words = words;
		append = append_now("Sent", 0);
		assert_int_equal(append.verdict.class, beyond ? MAIL_WAIT : MAIL_OK);
		mailstore_free(world.store);
		world.store =
			mailstore_imap_new(&(struct mailstore_imap_settings){.host = "h",
									     .address = "",
									     .authorities = "",
									     .login = "%a",
									     .password = "",
									     .prefix = "",
									     .timeout_s = 1});
	}
	free(words);
	server.login_words = "";
}

static void the_library_is_told(void **state)
{
	static const struct {
		enum mailstore_imap_tls tls;
		const char *host, *address, *url, *resolve;
		long tls_said, verifies;
	} rows[] = {
		{MAILSTORE_IMAP_PLAIN, "imap.test", "", "imap://imap.test:143/", "", 0, 0},
		{MAILSTORE_IMAP_STARTTLS, "imap.test", "192.0.2.1", "imap://imap.test:143/",
		 "imap.test:143:192.0.2.1", CURLUSESSL_ALL, 1},
		{MAILSTORE_IMAP_IMPLICIT, "imap.test", "2001:db8::1", "imaps://imap.test:143/",
		 "imap.test:143:[2001:db8::1]", CURLUSESSL_ALL, 1},
		{MAILSTORE_IMAP_PLAIN, "2001:db8::1", "2001:db8::1", "imap://[2001:db8::1]:143/",
		 "", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct mailstore_imap_settings settings = usual_settings();

		mailstore_free(world.store);
		imap_server_end();
		imap_server_begin();
		settings.tls = rows[i].tls;
		settings.host = rows[i].host;
		settings.address = rows[i].address;
		settings.authorities = i % 2 == 1 ? "/etc/ca.pem" : "";
		settings.login = "%u*%d";
		settings.timeout_s = 7;
		world.store = mailstore_imap_new(&settings);
		assert_int_equal(world.store->append_max_us, 7 * SECOND_US + 5 * MINUTE_US);
		assert_int_equal(append_now("Sent", 0).verdict.class, MAIL_OK);
		assert_string_equal(server.url, rows[i].url);
		assert_string_equal(server.resolve, rows[i].resolve);
		assert_string_equal(server.user, "ann*a.test");
		assert_string_equal(server.authorities, i == 1 ? "/etc/ca.pem" : "");
		assert_int_equal(server.tls, rows[i].tls_said);
		assert_int_equal(server.verifies[0], rows[i].verifies);
		assert_int_equal(server.verifies[1], 2 * rows[i].verifies);
		assert_int_equal(server.version, rows[i].verifies ? CURL_SSLVERSION_TLSv1_2 : 0);
		assert_int_equal(server.times[0], 7000);
		assert_int_equal(server.times[1], 7000);
		assert_int_equal(server.times[2], 7);
	}
}

/* ---- bounds ---- */

static void a_command_has_its_time(void **state)
{
	(void)state;
	assert_int_equal(append_now("INBOX", 0).verdict.class, MAIL_OK);
	server.calls = 0;
	server.fails_at = 2;
	server.fault = IMAP_SERVER_HANGS;
	assert_int_equal(append_now("INBOX", 0).verdict.class, MAIL_WAIT);
	assert_in_range(world.waited_us, 10 * SECOND_US - 10, 10 * SECOND_US);
	assert_int_equal(server.shut, 1); /* it is not waited for at the end, too */
}

/* Of a connection that works the library may say the end. */
static void who_answers_hears_the_end(void **state)
{
	assert_int_equal(append_now("INBOX", 0).verdict.class, MAIL_OK);
	server.shut = 0;
	mailstore_free(world.store);
	assert_int_equal(server.open, 0);
	assert_int_equal(server.shut, 0);
	world.store = NULL;
	tear_down(state);
	set_up(state);
}

/* As many as are looked at, and one more. */
static void messages_with_one_id_are_counted(void **state)
{
	struct imap_server_box *box = imap_server_make("ann@a.test", "Sent");
	struct mailstore_location location = place_of("ann@a.test", "Sent", 0);
	struct mailstore_found *found;
	size_t count;

	(void)state;
	for (unsigned i = 0; i < IMAP_FOUND_MAX; i++)
		imap_server_put(box, world.texts[0]);
	assert_int_equal(mailstore_find(world.store, &location, world.arena, &found, &count), 0);
	assert_int_equal(count, IMAP_FOUND_MAX);
	imap_server_put(box, world.texts[0]);
	assert_int_equal(mailstore_find(world.store, &location, world.arena, &found, &count),
			 -E2BIG);
	assert_string_equal(world.store->error,
			    "IMAP server imap.test: too many messages have its Message-ID");
	assert_int_equal(server.open, 1);
}

static void a_message_may_be_too_large(void **state)
{
	struct mailstore_location location = place_of("ann@a.test", "Sent", 0);
	struct mailstore_found *found;
	size_t count;

	(void)state;
	imap_server_put(imap_server_make("ann@a.test", "Sent"), world.texts[0]);
	for (uint64_t beyond = 0; beyond < 2; beyond++) {
		server.says_size = IMAP_MESSAGE_MAX + beyond;
		assert_int_equal(
			mailstore_find(world.store, &location, world.arena, &found, &count),
			beyond > 0 ? -EMSGSIZE : 0);
	}
	assert_non_null(strstr(world.store->error, "too large to be compared"));
}

/* A line at its bound and beyond; answers that have no end. */
static void answers_have_bounds(void **state)
{
	char *line = calloc(1, 2 * IMAP_LINE_MAX);
	struct mailstore_append append;

	memset(line, 'x', IMAP_LINE_MAX - 2);
	memcpy(line, "* ", 2);
	server.extra = line;
	assert_int_equal(append_now("Sent", 0).verdict.class, MAIL_OK);
	memset(line + 2, 'x', IMAP_LINE_MAX + (16U << 10));
	append = append_now("Sent", 0);
	assert_int_equal(append.verdict.class, MAIL_WAIT);
	assert_non_null(strstr(append.verdict.text, "the server's line is too long"));
	tear_down(state);
	set_up(state);
	snprintf(line, 100, "* 1 FETCH {%d}", IMAP_ANSWERS_MAX + 1);
	server.extra = line;
	append = append_now("Sent", 0);
	assert_non_null(strstr(append.verdict.text, "the server sends more than it was asked for"));
	free(line);
}

static void what_has_no_message_id_is_found(void **state)
{
	struct imap_server_box *box = imap_server_make("ann@a.test", "INBOX");

	(void)state;
	assert_true(mailstore_compare_is_derived(
		&(struct mailstore_location){.id = world.identities[3].id}));
	check_find("ann@a.test", 0, 3);
	for (size_t i = 0; i < TEXTS; i++)
		check_append("ann@a.test", 0, i);
	check_append("ann@a.test", 0, 3);
	check_find("ann@a.test", 0, 3);
	assert_int_equal(box->count, TEXTS + 1);
}

static void what_no_server_takes(void **state)
{
	struct mailstore_append append = append_of("ann@a.test", "Sent", 0);
	struct mailstore_location location = place_of("ann@a.test", "Sent", 0);
	static const char *const copies[] = {"", "1", "1:", ":1", "1:0", "a:1", "1:a", "1:1:1"};

	(void)state;
	append.content.bytes = STR("a\0b\n");
	append.content.size = 4;
	mailstore_append(world.store, &append, 1, NULL);
	assert_string_equal(append.verdict.status, "5.6.3");
	assert_int_equal(server.opened, 0);
	append = append_of("ann@a.test", "Sent", 0);
	append.content.size++;
	append.content.bytes.data = NULL;
	append.content.bytes.length = 0;
	append.content.file = 1000; /* that is none */
	mailstore_append(world.store, &append, 1, NULL);
	assert_string_equal(append.verdict.status, "4.3.0");
	append = append_of("a\1b@a.test", "Sent", 0);
	mailstore_append(world.store, &append, 1, NULL);
	assert_string_equal(append.verdict.status, "5.1.3");
	for (size_t i = 0; i < COUNT_OF(copies); i++)
		assert_int_equal(mailstore_remove(world.store, &location, copies[i]), -ENOENT);
	assert_int_equal(server.opened, 0);
	server.has_uidplus = false;
	assert_int_equal(mailstore_remove(world.store, &location, "71:3"), -EOPNOTSUPP);
	assert_string_equal(
		world.store->error,
		"IMAP server imap.test: one message alone cannot be removed: the server "
		"does not have UIDPLUS");
}

static void a_mailbox_that_cannot_be_opened(void **state)
{
	static const struct {
		const char *answer;
		bool is_listed;
		int error;
	} rows[] = {{"NO [NONEXISTENT] x", true, 0},
		    {"NO x", false, 0},
		    {"NO x", true, -EIO},
		    {"BAD x", true, -EIO},
		    {"NO [NOPERM] x", true, -EIO}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct mailstore_location location = place_of("ann@a.test", "Sent", 0);
		struct mailstore_found *found;
		size_t count = 9;

		tear_down(state);
		set_up(state);
		if (rows[i].is_listed)
			imap_server_put(imap_server_make("ann@a.test", "Sent"), world.texts[0]);
		server.refuses_select = rows[i].answer;
		location = place_of("ann@a.test", "Sent", 0);
		assert_int_equal(
			mailstore_find(world.store, &location, world.arena, &found, &count),
			rows[i].error);
		assert_int_equal(count, rows[i].error == 0 ? 0 : 9);
		assert_int_equal(server.opened, 1);
	}
}

static int set_up(void **state)
{
	static const char *const texts[TEXTS] = {
		"Message-ID: <1@x.test>\nSubject: one\n\nhello\n",
		"Message-ID: <2@x.test>\nSubject: two\n\nhello\n",
		"Message-ID: <1@x.test>\nSubject: other\n\nhello\n", "Subject: none\n\nhello\n"};
	struct mailstore_imap_settings settings = usual_settings();

	(void)state;
	world.arena = arena_new();
	world.ids = arena_new();
	imap_server_begin();
	world.store = mailstore_imap_new(&settings);
	for (size_t i = 0; i < TEXTS; i++) {
		struct ipc_content content = {.bytes = str_from(texts[i]), .file = -1};

		content.size = content.bytes.length;
		snprintf(world.texts[i], sizeof world.texts[i], "%s", texts[i]);
		assert_int_equal(decode_identify(&content, world.ids, &world.identities[i]), 0);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	mailstore_free(world.store);
	assert_int_equal(server.open, 0);
	imap_server_end();
	arena_free(world.arena);
	arena_free(world.ids);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order),
		CASE(each_call_fails),
		CASE(folders_have_the_names_that_the_server_wants),
		CASE(a_prefix_has_a_longest),
		CASE(refusals_have_meanings),
		CASE(logins_fail),
		CASE(a_greeting_has_an_end),
		CASE(the_library_is_told),
		CASE(a_command_has_its_time),
		CASE(who_answers_hears_the_end),
		CASE(messages_with_one_id_are_counted),
		CASE(a_message_may_be_too_large),
		CASE(answers_have_bounds),
		CASE(what_has_no_message_id_is_found),
		CASE(what_no_server_takes),
		CASE(a_mailbox_that_cannot_be_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
