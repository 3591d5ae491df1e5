// SPDX-License-Identifier: ISC
/* The table of commands: in which states each is allowed, and what it does. */
#include "base/panic.h"
#include "smtp/server/internal.h"
#include <stdlib.h>
#include <string.h>

/* For headers, control files and logs: characters that cannot occur in a domain or address
 * literal become '?'. */
static char *copy_safe(struct str name)
{
	char *copy = memory_alloc_zero(name.length + 1, 1);

	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];
		bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			       (c >= '0' && c <= '9') || (c != '\0' && strchr(".-_:[]", c) != NULL);

		copy[i] = is_safe ? c : '?';
	}
	return copy;
}

static enum smtp_step greet_smtp_client(struct smtp_server *s, const struct smtp_argument *argument,
					bool is_extended)
{
	free(s->head.helo);
	s->head.helo = copy_safe(argument->text);
	s->is_extended = is_extended;
	smtp_server_enter(s, SMTP_STATE_GREETED);
	return smtp_reply_greeting(s);
}

static enum smtp_step on_helo_command(struct smtp_server *s, const struct smtp_argument *argument)
{
	return greet_smtp_client(s, argument, false);
}

static enum smtp_step on_ehlo(struct smtp_server *s, const struct smtp_argument *argument)
{
	return greet_smtp_client(s, argument, true);
}

static enum smtp_step on_mail_command(struct smtp_server *s, const struct smtp_argument *argument)
{
	uint64_t bound = s->service->limits.message_size;
	const struct mail_verdict *verdict;

	if (s->is_draining)
		return smtp_reply_last(s, 421, "4.3.2", "Down for maintenance, try again later");
	if (bound > 0 && argument->size > bound) {
		s->limit = SMTP_LIMIT_MESSAGE_SIZE;
		return smtp_reply(s, 552, "5.3.4", "Message is over the size limit");
	}
	s->sender = argument->address.text;
	if (s->head.user != NULL) {
		bool is_held = smtp_sender_is_held(s) && !mail_sender_is_null(s->sender);

		if (!smtp_ask_senders(s, &s->sender, is_held ? 1 : 0, &verdict))
			return SMTP_STEP_WAIT;
		if (verdict->class != MAIL_OK)
			return smtp_reply_verdict(s, verdict);
	}
	smtp_transaction_begin(s, argument);
	smtp_server_enter(s, SMTP_STATE_SENDER);
	return smtp_reply(s, 250, "2.1.0", "Sender ok");
}

/* A recipient named twice gets the message once. */
static void add_recipient_once(struct smtp_transaction *t, const struct smtp_argument *argument)
{
	struct mail_recipient *recipient;

	t->accepted++;
	if (smtp_recipients_have(&t->recipients, t->envelope, argument->address.text))
		return;
	recipient = mail_envelope_add(t->envelope, argument->address.text);
	recipient->notify = argument->notify;
	recipient->original = arena_copy_str(t->envelope->arena, argument->original);
	smtp_recipients_added(&t->recipients, t->envelope);
}

static enum smtp_step on_rcpt(struct smtp_server *s, const struct smtp_argument *argument)
{
	const struct mail_verdict *verdict;

	if (s->transaction->accepted >= s->service->limits.recipients) {
		s->limit = SMTP_LIMIT_RECIPIENTS;
		return smtp_reply(s, 452, "4.5.3", "Too many recipients");
	}
	if (!smtp_ask_recipient(s, &argument->address, &verdict))
		return SMTP_STEP_WAIT;
	if (verdict->class != MAIL_OK)
		return smtp_reply_verdict(s, verdict);
	add_recipient_once(s->transaction, argument);
	smtp_server_enter(s, SMTP_STATE_RECIPIENTS);
	return smtp_reply(s, 250, "2.1.5", "Recipient ok");
}

static enum smtp_step on_data_command(struct smtp_server *s, const struct smtp_argument *argument)
{
	const struct mail_verdict *refusal;

	(void)argument;
	if (s->transaction->envelope->binary) /* RFC 3030 section 3 */
		return smtp_reply(s, 503, "5.5.1", "BINARYMIME needs BDAT");
	if (!smtp_ask_open(s, &refusal))
		return SMTP_STEP_WAIT;
	if (refusal != NULL)
		return smtp_reply_verdict(s, refusal);
	smtp_message_begin(s);
	smtp_server_enter(s, SMTP_STATE_DATA);
	return smtp_reply(s, 354, NULL, "End data with <CR><LF>.<CR><LF>");
}

/* Even in a wrong state its bytes follow. */
static enum smtp_step on_bdat(struct smtp_server *s, const struct smtp_argument *argument)
{
	const struct mail_verdict *refusal;

	if (s->state == SMTP_STATE_RECIPIENTS) {
		if (!smtp_ask_open(s, &refusal))
			return SMTP_STEP_WAIT;
		if (refusal != NULL)
			smtp_message_refuse(s, refusal);
		else
			smtp_message_begin(s);
		s->transaction->text.rules.form =
			s->transaction->envelope->binary ? SMTP_TEXT_BINARY : SMTP_TEXT_COUNTED;
	}
	return smtp_chunk_begin(s, argument);
}

/* What the client sends after it is encrypted, or was injected by somebody: then it is known here
 * already, and the session ends (RFC 3207 section 6). */
static enum smtp_step on_starttls_command(struct smtp_server *s,
					  const struct smtp_argument *argument)
{
	(void)argument;
	if (s->tls.version != NULL)
		return smtp_reply(s, 503, "5.5.1", "TLS has begun already");
	if (s->transaction != NULL)
		return smtp_reply(s, 503, "5.5.1", "A transaction has begun, send RSET first");
	if (!s->head.peer.may_tls)
		return smtp_reply(s, 454, "4.7.0", "TLS is not available now");
	if (s->line_has_more)
		return smtp_reply_last(s, 554, "5.5.0", "Nothing may follow STARTTLS but TLS");
	smtp_reply(s, 220, "2.0.0", "Ready to start TLS");
	smtp_server_enter(s, SMTP_STATE_STARTTLS);
	return SMTP_STEP_DONE;
}

static enum smtp_step on_rset(struct smtp_server *s, const struct smtp_argument *argument)
{
	(void)argument;
	if (s->state != SMTP_STATE_CONNECTED)
		smtp_server_enter(s, SMTP_STATE_GREETED);
	return smtp_reply(s, 250, "2.0.0", "Ok");
}

static enum smtp_step on_noop(struct smtp_server *s, const struct smtp_argument *argument)
{
	(void)argument;
	return smtp_reply(s, 250, "2.0.0", "Ok");
}

static enum smtp_step on_quit(struct smtp_server *s, const struct smtp_argument *argument)
{
	(void)argument;
	s->head.has_quit = true;
	return smtp_reply_last(s, 221, "2.0.0", "Bye");
}

static enum smtp_step on_vrfy(struct smtp_server *s, const struct smtp_argument *argument)
{
	(void)argument;
	return smtp_reply(s, 252, "2.5.2", "Send some mail, I will try my best");
}

static enum smtp_step on_expn(struct smtp_server *s, const struct smtp_argument *argument)
{
	(void)argument;
	return smtp_reply(s, 502, "5.5.1", "Lists are not expanded here");
}

static enum smtp_step on_help(struct smtp_server *s, const struct smtp_argument *argument)
{
	(void)argument;
	return smtp_reply(s, 214, "2.0.0", "See RFC 5321");
}

enum {
	SMTP = 1 << SMTP_PROTOCOL_SMTP | 1 << SMTP_PROTOCOL_SUBMISSION,
	LMTP = 1 << SMTP_PROTOCOL_LMTP,
	BOTH = SMTP | LMTP,

	CONNECTED = SMTP_STATE_CONNECTED,
	GREETED = SMTP_STATE_GREETED,
	SENDER = SMTP_STATE_SENDER,
	RECIPIENTS = SMTP_STATE_RECIPIENTS,
	BETWEEN = SMTP_STATE_BETWEEN,
	FAILED = SMTP_STATE_FAILED,
	ANY = CONNECTED | GREETED | SENDER | RECIPIENTS | BETWEEN | FAILED,
};

/* The protocol. */
enum verb_flag {
	IDLE = 1,       /* does not bring a message nearer */
	GROUP_LAST = 2, /* RFC 2920 section 3.1: must be the last of a group */
	SECURED = 4,    /* not without TLS or AUTH where these are required */
};

static const struct verb {
	struct str name;
	unsigned protocols;
	unsigned states;
	unsigned flags;
	bool (*parse)(struct smtp_server *s, struct smtp_argument *argument);
	enum smtp_step (*handle)(struct smtp_server *s, const struct smtp_argument *argument);
} verbs[] = {
	{STR("HELO"), SMTP, ANY, IDLE | GROUP_LAST, smtp_argument_helo, on_helo_command},
	{STR("EHLO"), SMTP, ANY, IDLE | GROUP_LAST, smtp_argument_helo, on_ehlo},
	{STR("LHLO"), LMTP, ANY, IDLE | GROUP_LAST, smtp_argument_helo, on_ehlo},
	{STR("STARTTLS"), BOTH, ANY & ~CONNECTED, IDLE | GROUP_LAST, smtp_argument_none,
	 on_starttls_command},
	{STR("AUTH"), BOTH, ANY & ~CONNECTED, IDLE | GROUP_LAST, smtp_argument_auth,
	 smtp_auth_begin},
	{STR("MAIL"), BOTH, GREETED, SECURED, smtp_argument_sender, on_mail_command},
	{STR("RCPT"), BOTH, SENDER | RECIPIENTS, SECURED, smtp_argument_recipient, on_rcpt},
	{STR("DATA"), BOTH, RECIPIENTS, GROUP_LAST | SECURED, smtp_argument_none, on_data_command},
	{STR("BDAT"), BOTH, ANY, 0, smtp_argument_chunk, on_bdat},
	{STR("ETRN"), SMTP, GREETED, IDLE | GROUP_LAST | SECURED, smtp_argument_text, smtp_on_etrn},
	{STR("XCLIENT"), BOTH, ANY, IDLE | GROUP_LAST, smtp_argument_text, smtp_on_xclient},
	{STR("XFORWARD"), BOTH, ANY & ~CONNECTED, IDLE, smtp_argument_text, smtp_on_xforward},
	{STR("RSET"), BOTH, ANY, IDLE, smtp_argument_none, on_rset},
	{STR("NOOP"), BOTH, ANY, IDLE, smtp_argument_any, on_noop},
	{STR("QUIT"), BOTH, ANY, 0, smtp_argument_none, on_quit},
	{STR("VRFY"), BOTH, ANY, IDLE | GROUP_LAST | SECURED, smtp_argument_text, on_vrfy},
	{STR("EXPN"), BOTH, ANY, IDLE | GROUP_LAST | SECURED, smtp_argument_any, on_expn},
	{STR("HELP"), BOTH, ANY, IDLE, smtp_argument_any, on_help},
};

static bool is_known_verb(const struct smtp_server *s, const struct verb *verb)
{
	if (verb->handle == on_starttls_command && s->service->tls == SMTP_TLS_NONE)
		return false;
	if (verb->handle == smtp_auth_begin && s->service->auth == SMTP_AUTH_NONE)
		return false;
	if (verb->handle == smtp_on_xclient && !s->head.peer.may_xclient)
		return false;
	if (verb->handle == smtp_on_xforward && !s->head.peer.may_xforward)
		return false;
	if (verb->handle == smtp_on_etrn && !s->service->has_etrn)
		return false;
	return verb->protocols & 1U << s->service->protocol;
}

static const struct verb *find_verb(const struct smtp_server *s, struct str name)
{
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		if (str_equal_nocase(name, verbs[i].name) && is_known_verb(s, &verbs[i]))
			return &verbs[i];
	return NULL;
}

static bool exceeds_commands(struct smtp_server *s)
{
	uint32_t bound = s->service->limits.commands;

	return bound > 0 && ++s->commands > bound;
}

static enum smtp_step refuse_more(struct smtp_server *s)
{
	s->limit = SMTP_LIMIT_COMMANDS;
	return smtp_reply_last(s, 421, "4.7.0", "Too many commands and no message");
}

/* After a malformed BDAT the position of the next command is unknown. */
static enum smtp_step refuse_line(struct smtp_server *s, struct str line, const char *status,
				  const char *text)
{
	const struct str chunk = STR("BDAT");

	if (line.length >= chunk.length &&
	    str_equal_nocase(str_slice(line.data, chunk.length), chunk))
		return smtp_reply_last(s, 500, status, text);
	return smtp_reply(s, 500, status, text);
}

/* A client that sends commands too early does not read our answers, like programs that blast out
 * mail, or somebody has injected commands. Whatever follows QUIT is not read, and the bytes of a
 * BDAT belong to it. */
static bool is_out_of_step(const struct smtp_server *s, const struct verb *verb, struct str line)
{
	if (!s->service->rules.ends_early)
		return false;
	if (verb == NULL && smtp_line_is_http(line))
		return true;
	if (!s->line_has_more || smtp_peer_is_trusted(s))
		return false;
	/* a proxy does not wait: what it says of its client is followed by what that has said */
	if (s->head.peer.may_xclient &&
	    (s->claim == NULL || (verb != NULL && verb->handle == smtp_on_xclient)))
		return false;
	if (verb != NULL && (verb->handle == on_quit || verb->handle == on_bdat))
		return false;
	return !s->is_extended || (verb != NULL && verb->flags & GROUP_LAST);
}

static struct str verb_name_of_line(struct str line)
{
	ptrdiff_t space = str_find(line, ' ');

	return space < 0 ? line : str_slice(line.data, (size_t)space);
}

/* Some clients separate words by tabs in MAIL and RCPT. A tab in a quoted string stays what it is:
 * wrong. */
static void replace_tabs(char *line, size_t length)
{
	bool is_quoted = false;

	for (size_t i = 0; i < length; i++) {
		if (line[i] == '\\' && is_quoted)
			i++;
		else if (line[i] == '"')
			is_quoted = !is_quoted;
		else if (line[i] == '\t' && !is_quoted)
			line[i] = ' ';
	}
}

/* A mistyped AUTH is no command, and a password that follows a refused one is none either. */
static void decide_shown(struct smtp_server *s, struct str line)
{
	struct str name = verb_name_of_line(line);
	bool is_known = find_verb(s, name) != NULL;
	bool is_secret = smtp_auth_is_under_way(s) || smtp_line_has_credentials(line);

	s->has_tried_auth |= is_secret;
	if (is_secret || (!is_known && (s->has_tried_auth || !smtp_line_is_word(name))))
		s->shown = 0;
	else
		s->shown = is_known || name.length == line.length ? SIZE_MAX : name.length;
}

void smtp_command_came(struct smtp_server *s)
{
	const struct smtp_watch *watch = &s->service->watch;
	struct str line = buffer_view(&s->line);
	char shown[SMTP_SHOWN_SIZE];

	if (!s->service->rules.strict_addresses && smtp_line_has_path(line))
		replace_tabs(buffer_data(&s->line), s->line.length);

	decide_shown(s, line);
	if (smtp_watch_is_on(watch))
		watch->line(s->head.peer.context, SMTP_SAID_BY_CLIENT,
			    smtp_command_shown(s, shown));
}

/* Whether the line is refused whatever its argument is. */
static bool is_command_refused(struct smtp_server *s, const struct verb *verb, struct str line,
			       enum smtp_step *step_out)
{
	if (is_out_of_step(s, verb, line))
		*step_out = smtp_reply_last(s, 554, "5.5.0", "Wait for answers before you go on");
	else if (s->tls.version == NULL && smtp_line_is_tls(line))
		*step_out = smtp_reply_last(s, 554, "5.5.0", SMTP_TLS_TOO_EARLY);
	else if (s->line_is_long)
		*step_out = refuse_line(s, line, "5.5.6", "The line is too long");
	else if (str_has_control(line))
		*step_out = refuse_line(s, line, "5.5.2", "Control characters, or a CR alone");
	else if (verb == NULL)
		*step_out = smtp_reply(s, 500, "5.5.1", "Unknown command");
	else if (verb->flags & SECURED && s->service->tls == SMTP_TLS_REQUIRED &&
		 s->tls.version == NULL)
		*step_out = smtp_reply_no_tls(s);
	else if (verb->flags & SECURED && smtp_auth_is_missing(s))
		*step_out = smtp_auth_demand(s);
	else if (!(verb->states & s->state))
		*step_out = smtp_reply_misplaced(s, verb->states == GREETED);
	else if (verb->flags & IDLE && exceeds_commands(s))
		*step_out = refuse_more(s);
	else
		return false;
	return true;
}

/* Its handler has asked, and runs again: what allowed it then may have changed by the answer. */
static bool is_answered(const struct smtp_server *s)
{
	return s->answer != NULL || s->has_opened || s->auth_answer != NULL;
}

enum smtp_step smtp_command(struct smtp_server *s)
{
	struct str line = buffer_view(&s->line);
	struct str name = verb_name_of_line(line);
	struct smtp_argument argument = {.text = str_trim(str_skip(line, name.length))};
	const struct verb *verb = find_verb(s, name);
	enum smtp_step step;

	if (smtp_auth_is_under_way(s))
		return smtp_auth_go_on(s);
	if (!is_answered(s) && is_command_refused(s, verb, line, &step))
		return step;
	if (verb == NULL || !verb->parse(s, &argument))
		return SMTP_STEP_DONE;
	return verb->handle(s, &argument);
}
