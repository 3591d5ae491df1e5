// SPDX-License-Identifier: ISC
/*
 * tests/transcript/order.c - every command in every state: its reply's code, and
 * the state that it leads to. Replies to DATA tell the states apart.
 */
#include "session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAIL     "MAIL FROM:<a@b>\r\n"
#define RCPT     "RCPT TO:<c@d>\r\n"
#define LARGE    "12345678901234567890" /* over the size limit */
#define ENVELOPE "EHLO x\r\n" MAIL RCPT

static const char states[] = "cgsrbf";

/* What a reply to DATA begins with in each of them. */
static const char *const signs[] = {
	"503 5.5.1 Send ", "503 5.5.1 Send MAIL",   "5", "354 ",
	"503 5.5.1 BDAT",  "503 5.5.1 The message",
};

static const struct session_answer no_file[] = {
	{SMTP_QUESTION_OPEN, false, {MAIL_WAIT, "4.3.1", "No space left"}}};
static const struct session_answer no_recipient[] = {
	{SMTP_QUESTION_RECIPIENT, false, {MAIL_FAIL, "5.1.1", "No such user"}}};

/* The ways into a state. */
static const struct way {
	const char *name;
	char state;
	const char *text;
	const struct session_answer *answers; /* one or none */
} ways[] = {
	{"connected", 'c', "", NULL},
	{"greeted", 'g', "EHLO x\r\n", NULL},
	{"MAIL accepted", 's', "EHLO x\r\n" MAIL, NULL},
	{"RCPT accepted", 'r', ENVELOPE, NULL},
	{"BDAT accepted", 'b', ENVELOPE "BDAT 1\r\nx", NULL},
	{"BDAT refused", 'f', ENVELOPE "BDAT 20\r\n" LARGE, NULL},
	{"greeting refused", 'c', "EHLO\r\n", NULL},
	{"MAIL refused", 'g', "EHLO x\r\nMAIL FROM:<a>\r\n", NULL},
	{"RCPT refused", 's', ENVELOPE, no_recipient},
	{"DATA refused", 'r', ENVELOPE "DATA\r\n", no_file},
	{"no file for BDAT", 'f', ENVELOPE "BDAT 1\r\nx", no_file},
	{"BDAT refused, then reset", 'g', ENVELOPE "BDAT 20\r\n" LARGE "RSET\r\n", NULL},
	{"last BDAT refused", 'g', ENVELOPE "BDAT 20 LAST\r\n" LARGE, NULL},
	{"all of BDAT refused", 'g', ENVELOPE "BDAT 20\r\n" LARGE "BDAT 1 LAST\r\nx", NULL},
	{"message by DATA", 'g', ENVELOPE "DATA\r\nx\r\n.\r\n", NULL},
	{"message refused", 'g', ENVELOPE "DATA\r\nx\ny\r\n.\r\n", NULL},
	{"message by BDAT", 'g', ENVELOPE "BDAT 1 LAST\r\nx", NULL},
	{"reset in a message", 'g', ENVELOPE "BDAT 1\r\nxRSET\r\n", NULL},
	{"greeting in a message", 'g', ENVELOPE "BDAT 1\r\nxEHLO y\r\n", NULL},
};

/* For each state the code and the next state; '.': the same, 'd': in the data,
 * 'x': closed. What follows a BDAT would say QUIT. */
static const struct command {
	const char *text;
	const char *outcomes[6];
} commands[] = {
	{"EHLO y\r\n", {"250g", "250g", "250g", "250g", "250g", "250g"}},
	{MAIL, {"503.", "250s", "503.", "503.", "503.", "503."}},
	{"MAIL FROM:<a>\r\n", {"503.", "501.", "503.", "503.", "503.", "503."}},
	{RCPT, {"503.", "503.", "250r", "250r", "503.", "503."}},
	{"RCPT TO:<c>\r\n", {"503.", "503.", "501.", "501.", "503.", "503."}},
	{"DATA\r\n", {"503.", "503.", "554.", "354d", "503.", "503."}},
	{"DATA x\r\n", {"503.", "503.", "554.", "501.", "503.", "503."}},
	{"BDAT 0\r\n", {"503.", "503.", "554.", "250b", "250b", "503."}},
	{"BDAT 0 LAST\r\n", {"503.", "503.", "554.", "250g", "250g", "503g"}},
	{"BDAT 6\r\nQUIT\r\n", {"503.", "503.", "554.", "250b", "250b", "503."}},
	{"BDAT 6 LAST\r\nQUIT\r\n", {"503.", "503.", "554.", "250g", "250g", "503g"}},
	{"BDAT 18\r\nQUIT\r\nQUIT\r\nQUIT\r\n", {"503.", "503.", "554.", "552f", "552f", "503."}},
	{"BDAT 18 LAST\r\nQUIT\r\nQUIT\r\nQUIT\r\n",
	 {"503.", "503.", "554.", "552g", "552g", "503g"}},
	{"BDAT x\r\n", {"501x", "501x", "501x", "501x", "501x", "501x"}},
	{"RSET\r\n", {"250c", "250g", "250g", "250g", "250g", "250g"}},
	{"RSET x\r\n", {"501.", "501.", "501.", "501.", "501.", "501."}},
	{"NOOP\r\n", {"250.", "250.", "250.", "250.", "250.", "250."}},
	{"VRFY x\r\n", {"252.", "252.", "252.", "252.", "252.", "252."}},
	{"EXPN x\r\n", {"502.", "502.", "502.", "502.", "502.", "502."}},
	{"HELP\r\n", {"214.", "214.", "214.", "214.", "214.", "214."}},
	{"FOO\r\n", {"500.", "500.", "500.", "500.", "500.", "500."}},
	{"QUIT\r\n", {"221x", "221x", "221x", "221x", "221x", "221x"}},
};

/* Sends TEXT, in LMTP with its own greeting; the replies to it. */
static struct str send_text(struct session *session, const char *text)
{
	size_t before = session->output.length;
	char *copy = strdup(text);
	bool is_lmtp = session->service.protocol == SMTP_PROTOCOL_LMTP;

	for (char *at = copy; is_lmtp && (at = strstr(at, "EHLO")) != NULL; at++)
		*at = 'L';
	session_feed(session, copy, strlen(copy));
	free(copy);
	return str_skip(buffer_view(&session->output), before);
}

static bool is_in(struct session *session, char state)
{
	size_t i;

	if (state == 'x')
		return smtp_server_is_closed(session->server);
	if (state == 'd')
		return str_starts_with(send_text(session, ".\r\n"), STR("250 "));
	i = (size_t)(strchr(states, state) - states);
	return str_starts_with(send_text(session, "DATA\r\n"), str_from(signs[i])) &&
	       (state != 's' ||
		str_ends_with_nocase(buffer_view(&session->output), STR("recipients\r\n")));
}

/* By LMTP the last chunk of a message is answered for each recipient that was accepted, with why
 * the message is refused (RFC 2033 section 4.3). "---": not at all. */
static const char *outcome_of(enum smtp_protocol protocol, const struct way *way,
			      const struct command *command)
{
	if (protocol == SMTP_PROTOCOL_LMTP && strstr(command->text, " LAST") != NULL) {
		if (way->state == 'g' || way->state == 's')
			return "---g";
		if (way->state == 'f')
			return way->answers != NULL ? "452g" : "552g";
	}
	return command->outcomes[strchr(states, way->state) - states];
}

static bool is_reply(struct str reply, struct str code)
{
	return str_equal(code, STR("---")) ? reply.length == 0 : str_starts_with(reply, code);
}

static bool try(enum smtp_protocol protocol, const struct way *way, const struct command *command)
{
	const char *outcome = outcome_of(protocol, way, command);
	char state = outcome[3] == '.' ? way->state : outcome[3];
	bool is_lmtp = protocol == SMTP_PROTOCOL_LMTP;
	struct str code =
		is_lmtp && strncmp(outcome, "554", 3) == 0 ? STR("503") : str_slice(outcome, 3);
	struct session session;
	struct str reply;
	bool good;

	session_init(&session);
	session.service.protocol = protocol;
	session.service.limits.message_size = 16;
	session.answers = way->answers;
	session.answer_count = way->answers != NULL;
	session_start(&session);
	smtp_server_start(session.server);
	session_settle(&session);
	send_text(&session, way->text);
	reply = send_text(&session, command->text);
	good = is_reply(reply, code) && session.fault == NULL;
	if (!good || !is_in(&session, state)) {
		good = false;
		printf("%s, then %.12s: not %s\n" STR_FORMAT "\n", way->name, command->text,
		       outcome, STR_ARGUMENTS(buffer_view(&session.output)));
	}
	session_clear(&session);
	return good;
}

int main(void)
{
	unsigned tried = 0;
	unsigned failed = 0;

	for (size_t i = 0; i < COUNT_OF(ways); i++)
		for (size_t j = 0; j < COUNT_OF(commands); j++) {
			tried += 2;
			failed += !try(SMTP_PROTOCOL_SMTP, &ways[i], &commands[j]);
			failed += !try(SMTP_PROTOCOL_LMTP, &ways[i], &commands[j]);
		}
	printf("%u of %u pairs as they should be\n", tried - failed, tried);
	return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
