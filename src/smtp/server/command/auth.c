// SPDX-License-Identifier: ISC
/*
 * The AUTH command (RFC 4954): the messages of a mechanism go to and fro in base64, one to a line,
 * and the driver judges them. What came is overwritten as soon as it is judged.
 */
#include "base/panic.h"
#include "base/text/base64.h"
#include "smtp/server/internal.h"
#include <stdlib.h>

bool smtp_auth_is_under_way(const struct smtp_server *s)
{
	return s->state & (SMTP_STATE_AUTH | SMTP_STATE_AUTH_LAST);
}

bool smtp_auth_is_missing(const struct smtp_server *s)
{
	return s->service->auth == SMTP_AUTH_REQUIRED && s->user == NULL && !s->peer.is_ours;
}

static void forget_exchange(struct smtp_server *s)
{
	if (s->exchange == NULL)
		return;
	buffer_clear(&s->exchange->message);
	free(s->exchange->user);
	free(s->exchange);
	s->exchange = NULL;
}

void smtp_auth_forget(struct smtp_server *s)
{
	forget_exchange(s);
	free(s->user);
	s->user = NULL;
}

void smtp_auth_set_user(struct smtp_server *s, const char *user)
{
	smtp_auth_forget(s);
	s->user = memory_copy_string(user);
}

static enum smtp_step end_exchange(struct smtp_server *s, unsigned code, const char *status,
				   const char *text)
{
	forget_exchange(s);
	smtp_server_enter(s, SMTP_STATE_GREETED);
	return smtp_reply(s, code, status, text);
}

static enum smtp_step accept_user(struct smtp_server *s)
{
	s->user = s->exchange->user;
	s->exchange->user = NULL;
	return end_exchange(s, 235, "2.7.0", "Authentication succeeded");
}

/* --- the driver's answers --- */

/* A mechanism may have a last word for the client, which sends an empty line for it (RFC 4954
 * section 4). */
static enum smtp_step on_auth_accepted(struct smtp_server *s, const struct smtp_auth_answer *answer)
{
	if (answer->user.length == 0 || memchr(answer->user.data, '\0', answer->user.length))
		panic("a client of the SMTP server is authenticated as nobody");
	s->exchange->user = memory_alloc_zero(answer->user.length + 1, 1);
	memcpy(s->exchange->user, answer->user.data, answer->user.length);
	if (answer->message.length == 0)
		return accept_user(s);
	smtp_server_enter(s, SMTP_STATE_AUTH_LAST);
	return smtp_reply_challenge(s, answer->message);
}

static enum smtp_step on_auth_refused(struct smtp_server *s, enum smtp_auth_outcome outcome)
{
	static const struct {
		unsigned code;
		const char *status;
		const char *text;
	} replies[] = {
		[SMTP_AUTH_FAILED] = {535, "5.7.8", "Authentication failed"},
		[SMTP_AUTH_TEMPORARY] = {454, "4.7.0", "Authentication is not possible now"},
		[SMTP_AUTH_MALFORMED] = {501, "5.5.2", "No valid message of this mechanism"},
		[SMTP_AUTH_UNKNOWN] = {504, "5.5.4", "Unknown mechanism"},
		[SMTP_AUTH_INSECURE] = {538, "5.7.11", "This mechanism needs TLS"},
		[SMTP_AUTH_TOO_WEAK] = {534, "5.7.9", "This user needs another mechanism"},
	};

	if (outcome >= COUNT_OF(replies) || replies[outcome].code == 0)
		panic("no answer to the client of the SMTP server: %u", (unsigned)outcome);
	return end_exchange(s, replies[outcome].code, replies[outcome].status,
			    replies[outcome].text);
}

static enum smtp_step conclude_auth_step(struct smtp_server *s,
					 const struct smtp_auth_answer *answer)
{
	buffer_clear(&s->exchange->message);
	switch (answer->outcome) {
	case SMTP_AUTH_CHALLENGE:
		return smtp_reply_challenge(s, answer->message);
	case SMTP_AUTH_ACCEPTED:
		return on_auth_accepted(s, answer);
	default:
		return on_auth_refused(s, answer->outcome);
	}
}

/* --- the client's messages --- */

static enum smtp_step pass_on_auth_response(struct smtp_server *s, struct str base64)
{
	const struct smtp_auth_answer *answer;

	s->exchange->message.is_secret = true;
	if (!base64_decode(base64, &s->exchange->message))
		return end_exchange(s, 501, "5.5.2", "That is not base64");
	return smtp_ask_auth(s, &answer) ? conclude_auth_step(s, answer) : SMTP_STEP_WAIT;
}

static bool may_encrypt(const struct smtp_server *s)
{
	return s->service->tls != SMTP_TLS_NONE && s->tls.version == NULL && s->peer.may_tls;
}

/* Whether nobody can authenticate now, though it is not the client's fault. Without any TLS it may
 * be: then that depends on where it comes from. */
static bool is_auth_away(const struct smtp_server *s)
{
	return s->service->tls != SMTP_TLS_NONE && !may_encrypt(s) &&
	       smtp_offers_mechanisms(s).length == 0;
}

/* Programs that are not offered AUTH go on without it: they must try again then, and not return
 * their mail to its senders. */
enum smtp_step smtp_auth_demand(struct smtp_server *s)
{
	if (is_auth_away(s))
		return smtp_reply(s, 454, "4.7.0",
				  "Authentication is required, and not possible now");
	return smtp_reply(s, 530, "5.7.0", "Authentication is required");
}

enum smtp_step smtp_auth_begin(struct smtp_server *s, const struct smtp_argument *argument)
{
	struct str initial = argument->initial;

	if (s->user != NULL)
		return smtp_reply(s, 503, "5.5.1", "You are authenticated already");
	if (s->transaction != NULL)
		return smtp_reply(s, 503, "5.5.1", "A transaction has begun, send RSET first");
	if (smtp_offers_mechanisms(s).length == 0)
		return may_encrypt(s) ? smtp_reply(s, 538, "5.7.11", "Send STARTTLS first")
				      : on_auth_refused(s, SMTP_AUTH_TEMPORARY);
	s->exchange->has_begun = false;
	s->exchange->has_initial = initial.length > 0;
	smtp_server_enter(s, SMTP_STATE_AUTH);
	return pass_on_auth_response(s, str_equal(initial, STR("=")) ? STR("") : initial);
}

static enum smtp_step on_response(struct smtp_server *s, struct str line)
{
	if (s->line_is_long)
		return end_exchange(s, 500, "5.5.6", "The line is too long");
	if (str_equal(line, STR("*")))
		return end_exchange(s, 501, "5.7.0", "Authentication cancelled");
	if (s->state == SMTP_STATE_AUTH)
		return pass_on_auth_response(s, line);
	return line.length == 0 ? accept_user(s)
				: end_exchange(s, 501, "5.5.2", "Only an empty line may follow");
}

enum smtp_step smtp_auth_go_on(struct smtp_server *s)
{
	const struct smtp_auth_answer *answer;

	if (smtp_take_auth_answer(s, &answer))
		return conclude_auth_step(s, answer);
	return on_response(s, buffer_view(&s->line));
}
