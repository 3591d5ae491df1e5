// SPDX-License-Identifier: ISC
/*
 * A model of clients over a session, its engine and its socket: commands in pieces and
 * pipelined, clients that read slowly or not at all, close one side or both, answers of the
 * directory and the queue at once, late or never. From every state that is reached something is
 * watched or an answer is on its way, and a timer runs; each command gets its reply; and
 * whatever a client does, its session ends.
 */
#include "base/panic.h"
#include "fake_loop.h"
#include "intake/proxy.h"
#include "intake/session.h"
#include "intake_scene.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 4000, TOKENS_MAX = 2000, STEPS_MAX = 400000, TIMERS_MAX = 4000 };

enum token_kind {
	TOKEN_COMMAND,
	TOKEN_BODY,  /* what follows 354; not sent after another reply */
	TOKEN_BYTES, /* no reply: a PROXY header */
};

struct token {
	enum token_kind kind;
	size_t from, to; /* in the script */
	bool waits;      /* for the replies to all before it */
};

/* Whom the session talks to. */
static struct {
	struct intake intake;
	int socket;

	struct buffer script;
	struct token tokens[TOKENS_MAX];
	size_t token_count, token; /* the one that is being sent */
	size_t sent;               /* bytes of the script */
	bool is_mute;              /* reads nothing */
	bool shuts;                /* its side, when all is sent */
	enum pending leaves_amid;  /* closes both sides while that is asked; or nothing */
	bool has_left;

	size_t expected, replies; /* replies to what was sent whole; that came */
	unsigned last_code;
	bool is_refused; /* the session was: by 421, 221, or 554 in place of the banner */
	char line[16];
	size_t line_length;
} scene;

/* --- the client's script --- */

static struct token *add(enum token_kind kind, const char *text)
{
	struct token *token = &scene.tokens[scene.token_count++];

	assert_true(scene.token_count <= TOKENS_MAX);
	*token = (struct token){.kind = kind, .from = scene.script.length};
	buffer_append_string(&scene.script, text);
	token->to = scene.script.length;
	return token;
}

static void add_bytes(size_t count)
{
	while (count-- > 0)
		buffer_append_string(&scene.script, fake_random(40) > 0 ? "x" : "\r\n");
	scene.tokens[scene.token_count - 1].to = scene.script.length;
}

static void add_chunks(void)
{
	for (unsigned left = 1 + fake_random(3); left > 0; left--) {
		size_t size = fake_random(3) > 0 ? fake_random(300) : fake_random(100000);
		char *place;

		buffer_append_format(&scene.script, "%s", "");
		add(TOKEN_COMMAND, "");
		buffer_append_format(&scene.script, "BDAT %zu%s\r\n", size,
				     left == 1 ? " LAST" : "");
		place = buffer_reserve(&scene.script, size);
		memset(place, 'x', size);
		buffer_commit(&scene.script, size);
		scene.tokens[scene.token_count - 1].to = scene.script.length;
	}
}

static void add_data(void)
{
	struct token *body;

	add(TOKEN_COMMAND, "DATA\r\n");
	body = add(TOKEN_BODY,
		   fake_random(2) ? "From: a@client.test\r\n\r\n" : "Subject: x\r\n\r\n");
	body->waits = true;
	add_bytes(fake_random(3) > 0 ? fake_random(300) : fake_random(20000));
	buffer_append_string(&scene.script, "\r\n.\r\n");
	body->to = scene.script.length;
}

static void add_transaction(void)
{
	static const char *const idle[] = {"NOOP\r\n", "RSET\r\n", "VRFY x\r\n", "WHAT\r\n",
					   "RCPT TO:<\r\n"};
	unsigned recipients = fake_random(12) == 0 ? 500 + fake_random(400) : 1 + fake_random(6);

	add(TOKEN_COMMAND, "MAIL FROM:<a@client.test>\r\n");
	while (recipients-- > 0)
		add(TOKEN_COMMAND, "RCPT TO:<b@server.test>\r\n");
	if (fake_random(4) == 0)
		add(TOKEN_COMMAND, idle[fake_random(COUNT_OF(idle))]);
	if (fake_random(2) == 0)
		add_data();
	else
		add_chunks();
}

/* Each line has one reply, whatever it is taken for. */
static void add_auth(void)
{
	static const char *const lines[] = {
		"AUTH PLAIN AGEAYg==\r\n", "AUTH LOGIN\r\n", "YQ==\r\n", "\r\n", "*\r\n",
		"AUTH PLAIN ?\r\n"};

	for (unsigned left = 1 + fake_random(6); left > 0; left--)
		add(TOKEN_COMMAND, lines[fake_random(COUNT_OF(lines))]);
}

static void write_script(bool has_proxy)
{
	if (has_proxy)
		add(TOKEN_BYTES, "PROXY TCP4 192.0.2.7 192.0.2.8 4711 25\r\n");
	add(TOKEN_COMMAND, fake_random(4) > 0 ? "EHLO client.test\r\n" : "HELO client.test\r\n")
		->waits = has_proxy || fake_random(50) > 0; /* or it talks early */
	for (unsigned left = fake_random(3); left > 0; left--) {
		if (fake_random(3) == 0)
			add_auth();
		add_transaction();
	}
	if (fake_random(3) > 0)
		add(TOKEN_COMMAND, "QUIT\r\n");
}

/* --- the client --- */

static void take_reply_line(void)
{
	unsigned code = (unsigned)strtoul(scene.line, NULL, 10);

	assert_true(scene.line_length >= 4 && code >= 200 && code < 600);
	if (scene.line[3] != ' ')
		return;
	scene.replies++;
	scene.last_code = code;
	if (code == 421 || code == 221 || (code == 554 && scene.replies == 1))
		scene.is_refused = true;
}

static void client_reads(void)
{
	char bytes[512];
	size_t count = fake_peer_read(scene.socket, bytes, 1 + fake_random(sizeof bytes));

	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '\n') {
			take_reply_line();
			scene.line_length = 0;
			memset(scene.line, 0, sizeof scene.line);
		} else if (scene.line_length < sizeof scene.line - 1) {
			scene.line[scene.line_length++] = bytes[i];
		}
	}
}

/* Passes by what the replies leave no reason for; whether there is something to be sent. */
static bool client_has_more(void)
{
	while (scene.token < scene.token_count) {
		const struct token *token = &scene.tokens[scene.token];

		if (token->waits && scene.sent <= token->from && scene.replies != scene.expected)
			return false;
		if (token->kind != TOKEN_BODY || scene.sent > token->from || scene.last_code == 354)
			return true;
		scene.sent = token->to;
		scene.token++;
	}
	return false;
}

static void client_writes(void)
{
	size_t end = scene.tokens[scene.token].to;
	size_t wanted;

	/* as much as needs no reply first */
	for (size_t i = scene.token + 1; i < scene.token_count && !scene.tokens[i].waits; i++)
		end = scene.tokens[i].to;
	wanted = fake_random(3) == 0 ? end - scene.sent : fake_random(200) + 1;
	if (wanted > end - scene.sent)
		wanted = end - scene.sent;
	scene.sent +=
		fake_peer_write(scene.socket, buffer_data(&scene.script) + scene.sent, wanted);
	while (scene.token < scene.token_count && scene.sent >= scene.tokens[scene.token].to)
		scene.expected += scene.tokens[scene.token++].kind != TOKEN_BYTES;
}

/* --- the play --- */

static void check(void)
{
	if (intake_scene.has_ended) {
		assert_int_equal(fake_timers(), 0);
		return;
	}
	assert_true(fake_watched(scene.socket) != OS_WATCH_NONE ||
		    intake_scene.pending != PENDING_NONE || intake_scene.name != NULL);
	assert_true(fake_timers() > 0);
}

/* One thing that may happen without that time passes; false when there is none. */
static bool play_one(void)
{
	enum { WRITE, READ, SHUT, LEAVE, WATCH, ANSWER, NAME, END_LOGIN } actions[8];
	unsigned count = 0;

	if (client_has_more() && fake_peer_room(scene.socket) > 0)
		actions[count++] = WRITE;
	if (!scene.is_mute && fake_peer_unread(scene.socket) > 0)
		actions[count++] = READ;
	if (scene.shuts && scene.token == scene.token_count)
		actions[count++] = SHUT;
	if (!scene.has_left && intake_scene.pending != PENDING_NONE &&
	    intake_scene.pending == scene.leaves_amid)
		actions[count++] = LEAVE;
	if (fake_watch_is_ready(scene.socket))
		actions[count++] = WATCH;
	if (intake_scene.pending != PENDING_NONE && intake_scene.answers != ANSWERS_NEVER)
		actions[count++] = ANSWER;
	if (intake_scene.name != NULL && intake_scene.answers != ANSWERS_NEVER)
		actions[count++] = NAME;
	if (count == 0)
		return false;
	if (intake_scene.told != NULL && fake_random(100) == 0)
		actions[count++] = END_LOGIN;
	switch (actions[fake_random(count)]) {
	case WRITE:
		client_writes();
		break;
	case READ:
		client_reads();
		break;
	case SHUT:
		fake_peer_shut(scene.socket);
		scene.shuts = false;
		break;
	case LEAVE:
		fake_peer_close(scene.socket);
		scene.has_left = true;
		break;
	case WATCH:
		fake_play_watch(scene.socket);
		break;
	case ANSWER:
		intake_scene_answer();
		break;
	case NAME:
		intake_scene_say_name();
		break;
	case END_LOGIN:
		intake_scene_end_login();
		break;
	}
	check();
	return true;
}

static void play(void)
{
	for (unsigned steps = 0; play_one(); steps++)
		assert_true(steps < STEPS_MAX);
}

/* Nothing more happens but that time passes: each command has its reply, but for those behind
 * a last one. */
static void check_replies(bool has_shut)
{
	if (scene.is_mute || scene.has_left || intake_scene.pending != PENDING_NONE ||
	    intake_scene.name != NULL)
		return;
	if (intake_scene.has_ended)
		assert_true(scene.is_refused || has_shut);
	if (!scene.is_refused) {
		assert_int_equal(scene.replies, scene.expected);
		assert_int_equal(scene.token, scene.token_count);
	}
	if (scene.last_code != 334)
		assert_null(intake_scene.exchange);
	assert_true(intake_scene.has_ended == (scene.is_refused || has_shut));
}

static void bring_to_end(void)
{
	unsigned way = fake_random(4);

	intake_scene.answers = ANSWERS_LATE;
	if (way == 1)
		fake_peer_close(scene.socket);
	if (way == 2)
		intake_stop(&scene.intake);
	if (way == 3 && intake_session_find_idle(&scene.intake) != NULL)
		intake_session_refuse(intake_session_find_idle(&scene.intake));
	check();
	play();
	for (unsigned timers = 0; !intake_scene.has_ended; timers++) {
		assert_true(timers < TIMERS_MAX);
		fake_play_timer();
		check();
		play();
	}
}

static size_t posts, users, logins, senders, lookups; /* in all runs */

static void run(uint64_t seed, const struct smtp_service *service, const struct config *config)
{
	static const uint32_t rooms[] = {1, 7, 100, 2000, 20000, 60000};
	union os_socket_address peer;
	uint32_t least;
	bool has_proxy;
	bool shuts;

	fake_begin(seed);
	memset(&scene, 0, sizeof scene);
	intake_scene_begin();
	has_proxy = fake_random(8) == 0;
	scene.is_mute = fake_random(20) == 0;
	scene.shuts = shuts = fake_random(3) == 0;
	scene.leaves_amid =
		(enum pending)(fake_random(4) > 0 ? PENDING_NONE : fake_random(PENDING_COMMIT) + 1);
	intake_scene.answers = (enum answers)(fake_random(10) > 0 ? fake_random(2) : ANSWERS_NEVER);
	scene.expected = 1; /* the banner */
	scene.intake = (struct intake){.engine = &intake_engine_smtp,
				       .config = config,
				       .clients = limit_clients_new(),
				       .session_ended = intake_scene_ended};
	if (fake_random(3) > 0) /* only whether there is somebody to be asked counts */
		scene.intake.names = (struct names *)&scene;
	if (fake_random(5) > 0)
		scene.intake.auth = (struct auth *)&scene;
	intake_scene.has_slow_names = fake_random(4) == 0;
	intake_scene.free_bytes = seed % 2 == 0 ? 1 << 20 : 1 << 30;
	intake_scene.has_lists = fake_random(3) == 0;
	intake_scene.has_stamps = fake_random(2) == 0;
	write_script(has_proxy);
	least = scene.script.length > 20000 ? 3 : 0; /* byte by byte is for short ones */
	scene.socket = fake_connect(rooms[least + fake_random(COUNT_OF(rooms) - least)],
				    rooms[least + fake_random(COUNT_OF(rooms) - least)]);
	if (fake_random(30) == 0) /* it stops in the middle */
		scene.token_count = fake_random((uint32_t)scene.token_count) + 1;
	assert_true(os_socket_address_parse("192.0.2.1", 4711, &peer));
	if (has_proxy)
		intake_proxy_new(&scene.intake, service, intake_scene_plain(), scene.socket, &peer);
	else
		intake_session_new(&scene.intake, service, intake_scene_plain(), scene.socket,
				   &peer, STR(""));
	assert_int_equal(intake_scene.lookups, 0); /* of the name of who has not spoken */
	check();
	play();
	check_replies(shuts);
	if (!intake_scene.has_ended)
		bring_to_end();
	assert_true(fake_is_closed(scene.socket));
	assert_int_equal(scene.intake.session_count, 0);
	limit_clients_free(scene.intake.clients); /* all have left */
	posts += intake_scene.posts;
	users += intake_scene.users;
	logins += intake_scene.logins;
	senders += intake_scene.senders;
	assert_true(intake_scene.lookups <= 1);
	lookups += intake_scene.lookups;
	assert_null(intake_scene.exchange);
	buffer_clear(&scene.script);
}

/* Of every kind of server. */
static void run_seed(uint64_t seed)
{
	static const enum smtp_auth_rule rules[] = {SMTP_AUTH_OFFERED, SMTP_AUTH_REQUIRED,
						    SMTP_AUTH_NONE, SMTP_AUTH_OFFERED};
	const struct smtp_service service = {.auth = rules[seed % 4],
					     .mechanisms = intake_auth_mechanisms,
					     .sender_rule = (enum smtp_sender_rule)(seed % 3),
					     .completes = seed % 2 == 0,
					     .repairs = seed % 2 == 0,
					     .hostname = "server.test",
					     .protocol = seed % 7 == 0 ? SMTP_PROTOCOL_SUBMISSION
								       : SMTP_PROTOCOL_SMTP,
					     .limits = {.recipients = 1000,
							.hops = 30,
							.line = 4096,
							.command_timeout = 300,
							.data_timeout = 300,
							.errors = seed % 5 == 0 ? 10 : 100000}};
	const struct config config = {.smtp_timeout = 300,
				      .proxy_timeout = 10,
				      .maxsessions_client = 2,
				      .maxunfinished_client = 10,
				      .smtp_min_rate = seed % 3 == 0 ? 100 : 0};

	run(seed, &service, &config);
}

static void test_clients(void **state)
{
	(void)state;
	fake_seeds(SEEDS, run_seed);
	assert_true(posts > 0);
	assert_true(users > 0);
	assert_true(logins > 0);
	assert_true(senders > 0);
	assert_true(lookups > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_clients, fake_tell_seed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
