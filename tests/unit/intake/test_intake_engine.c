// SPDX-License-Identifier: ISC
/* What the engine of SMTP does for a session: each of its calls reaches its server with what it was
 * called with and returns what that returned, and nothing else happens. */
#include "intake/internal.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct intake_session session;
static char notes[200]; /* who was called */
static char early_byte; /* what the client has sent */
static ssize_t early_count;
static const struct smtp_question *pending;
static struct smtp_question question;
static const struct mail_verdict verdict;
static const struct smtp_tls tls_facts;
static struct smtp_server_head head;
static bool yes;

#define SERVER  ((struct smtp_server *)(void *)&early_byte)
#define SERVICE ((const struct smtp_service *)(const void *)&notes)

static void note(const char *text)
{
	size_t length = strlen(notes);

	snprintf(notes + length, sizeof notes - length, "%s ", text);
}

static void check_notes(const char *expected)
{
	assert_string_equal(notes, expected);
	notes[0] = '\0';
}

/* --- beside it --- */

/* A call with nothing but the session or the server. */
#define BESIDE(name, type, expected)              \
	void name(type *whom)                     \
	{                                         \
		assert_ptr_equal(whom, expected); \
		note(#name);                      \
	}

BESIDE(intake_question_init, struct intake_session, &session)
BESIDE(intake_question_handle, struct intake_session, &session)
BESIDE(intake_question_spool_body, struct intake_session, &session)
BESIDE(intake_question_open, struct intake_session, &session)
BESIDE(intake_auth_handle_end, struct intake_session, &session)
BESIDE(intake_auth_forget, struct intake_session, &session)
BESIDE(intake_auth_end, struct intake_session, &session)
BESIDE(queue_client_abandon, struct queue_client_message, &session.message.queued)
BESIDE(directory_sender_cancel, struct directory_sender_request, &session.question.senders)
BESIDE(smtp_server_free, struct smtp_server, SERVER)
BESIDE(smtp_server_start, struct smtp_server, SERVER)
BESIDE(smtp_server_timeout, struct smtp_server, SERVER)
BESIDE(smtp_server_shutdown, struct smtp_server, SERVER)
BESIDE(smtp_server_drain, struct smtp_server, SERVER)

/* One that asks. */
#define ASKED(name, result, value)                    \
	result name(const struct smtp_server *server) \
	{                                             \
		assert_ptr_equal(server, SERVER);     \
		note(#name);                          \
		return value;                         \
	}

ASKED(smtp_server_is_ready, bool, yes)
ASKED(smtp_server_is_closed, bool, yes)
ASKED(smtp_server_is_receiving, bool, yes)
ASKED(smtp_server_wants_tls, bool, yes)
ASKED(smtp_server_timeout_seconds, uint32_t, 4000000000)
ASKED(smtp_server_question, const struct smtp_question *, pending)

struct smtp_server_head *smtp_server_head(struct smtp_server *server)
{
	assert_ptr_equal(server, SERVER);
	return &head;
}

struct smtp_server *smtp_server_new(const struct smtp_service *service, struct smtp_peer peer)
{
	assert_ptr_equal(service, SERVICE);
	assert_string_equal(peer.name, "name");
	assert_int_equal(peer.port, 77);
	note("new");
	return SERVER;
}

void smtp_server_early_talker(struct smtp_server *server, bool is_tls)
{
	assert_ptr_equal(server, SERVER);
	note(is_tls ? "early-tls" : "early");
}

size_t smtp_server_input(struct smtp_server *server, const char *data, size_t length)
{
	assert_ptr_equal(server, SERVER);
	assert_ptr_equal(data, notes);
	note("input");
	return length - 3;
}

void smtp_server_refuse_session(struct smtp_server *server, const char *text)
{
	assert_ptr_equal(server, SERVER);
	note(text);
}

void smtp_server_set_tls(struct smtp_server *server, const struct smtp_tls *tls)
{
	assert_ptr_equal(server, SERVER);
	assert_ptr_equal(tls, &tls_facts);
	note("tls");
}

void smtp_server_answer(struct smtp_server *server, const struct mail_verdict *given)
{
	assert_ptr_equal(server, SERVER);
	assert_ptr_equal(given, &verdict);
	note("answer");
}

uint64_t queue_client_unfinished(const struct queue_client_message *message)
{
	assert_ptr_equal(message, &session.message.queued);
	return UINT64_MAX - 1;
}

ssize_t tls_stream_read(struct tls_stream *stream, void *data, size_t size)
{
	assert_ptr_equal(stream, &session.tls.stream);
	assert_int_equal(size, 1);
	if (early_count > 0)
		*(char *)data = early_byte;
	note("read");
	return early_count;
}

static const struct intake_engine *engine(void)
{
	return &intake_engine_smtp;
}

static int set_up(void **state)
{
	(void)state;
	memset(&session, 0, sizeof session);
	session.server = SERVER;
	notes[0] = '\0';
	return 0;
}

/* --- tests --- */

static void a_session_begins_and_ends_with_its_server(void **state)
{
	const struct smtp_peer peer = {.name = "name", .port = 77};

	(void)state;
	session.server = NULL;
	engine()->begin(&session, SERVICE, &peer);
	assert_ptr_equal(session.server, SERVER);
	assert_ptr_equal(session.head, &head);
	check_notes("intake_question_init new ");
	engine()->cancel(&session);
	check_notes("directory_sender_cancel intake_auth_end queue_client_abandon ");
	engine()->free(&session);
	check_notes("smtp_server_free ");
}

/* What a client says before it was greeted, behind a proxy's header or not, and with TLS. */
static void who_speaks_first_is_known(void **state)
{
	static const struct {
		bool has_tls;
		const char *behind; /* a header of a proxy */
		char byte;
		ssize_t count; /* of what is read */
		const char *notes;
		bool is_at_end;
	} cases[] = {
		{false, "", 0, -EAGAIN, "read smtp_server_start ", false},
		{false, "", 0, 0, "read smtp_server_start ", false},
		{false, "", 0, -EPIPE, "read ", true},
		{false, "", 0, -ECONNRESET, "read ", true},
		{false, "", 'E', 1, "read early ", false},
		{false, "", 0, 1, "read early ", false},
		{false, "", 0x16, 1, "read early-tls ", false},
		{false, "", 0x15, 1, "read early ", false},
		{false, "", 0x17, 1, "read early ", false},
		{true, "", 0x16, 1, "read early ", false},
		{true, "", 'E', 1, "read early ", false},
		{true, "", 0, -EAGAIN, "read smtp_server_start ", false},
		{false, "E", 0x16, 1, "early ", false},
		{false, "\x16", 'E', 1, "early-tls ", false},
		{false, "E\x16", 0, 0, "early ", false},
		{false, "\x16Q", 0, -EPIPE, "early-tls ", false},
		{true, "\x16Q", 0, -EAGAIN, "early ", false},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		set_up(state);
		session.tls.stream.tls =
			cases[i].has_tls ? (struct tls_connection *)(void *)&head : NULL;
		early_byte = cases[i].byte;
		early_count = cases[i].count;
		engine()->start(&session, str_from(cases[i].behind));
		check_notes(cases[i].notes);
		assert_int_equal(session.is_at_end, cases[i].is_at_end);
	}
}

static void what_is_asked_the_server_says(void **state)
{
	const struct {
		bool (*call)(const struct intake_session *session);
		const char *notes;
	} cases[] = {
		{intake_engine_smtp.is_ready, "smtp_server_is_ready "},
		{intake_engine_smtp.is_closed, "smtp_server_is_closed "},
		{intake_engine_smtp.is_receiving, "smtp_server_is_receiving "},
		{intake_engine_smtp.wants_tls, "smtp_server_wants_tls "},
	};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
		yes = i % 2 > 0;
		assert_int_equal(cases[i / 2].call(&session), yes);
		check_notes(cases[i / 2].notes);
	}
	assert_int_equal(engine()->timeout_seconds(&session), 4000000000);
	check_notes("smtp_server_timeout_seconds ");
	assert_true(engine()->unfinished(&session) == UINT64_MAX - 1);
	assert_int_equal(engine()->input(&session, notes, 10), 7);
	check_notes("input ");
}

static void what_is_told_the_server_hears(void **state)
{
	(void)state;
	engine()->timeout(&session);
	check_notes("smtp_server_timeout ");
	engine()->shutdown(&session);
	check_notes("smtp_server_shutdown ");
	engine()->drain(&session);
	check_notes("smtp_server_drain ");
	engine()->refuse_session(&session, "away");
	check_notes("away ");
	engine()->set_tls(&session, &tls_facts); /* whoever had logged in has not now */
	check_notes("intake_auth_forget tls ");
	engine()->answer(&session, &verdict);
	check_notes("answer ");
	engine()->handle_question(&session);
	check_notes("intake_question_handle ");
	engine()->spool_body(&session);
	check_notes("intake_question_spool_body intake_auth_handle_end ");
	engine()->open(&session);
	check_notes("intake_question_open ");
}

/* Of all types, with a mechanism or none. */
static void questions_are_described(void **state)
{
	static const struct mail_envelope envelope;
	struct intake_asked asked;

	(void)state;
	memset(&asked, 1, sizeof asked);
	assert_false(engine()->asks(&session, &asked));
	check_notes("smtp_server_question ");
	pending = &question;
	for (unsigned type = 0; type < 16; type++)
		for (unsigned i = 0; i < 4; i++) {
			question = (struct smtp_question){.type = (enum smtp_question_type)type};
			question.envelope = i % 2 > 0 ? &envelope : NULL;
			if (type == SMTP_QUESTION_AUTH)
				question.mechanism = i / 2 > 0 ? STR("P") : STR("");
			memset(&asked, 1, sizeof asked);
			assert_true(engine()->asks(&session, &asked));
			assert_int_equal(asked.type, type);
			assert_ptr_equal(asked.envelope, question.envelope);
			assert_int_equal(asked.goes_on, type == SMTP_QUESTION_AUTH && i / 2 == 0);
			check_notes("smtp_server_question ");
		}
	pending = NULL;
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_begins_and_ends_with_its_server),
		TEST(who_speaks_first_is_known),
		TEST(what_is_asked_the_server_says),
		TEST(what_is_told_the_server_hears),
		TEST(questions_are_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
