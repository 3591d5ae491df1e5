// SPDX-License-Identifier: ISC
/*
 * What a trusted proxy says of its client: XCLIENT and XFORWARD, as Postfix's XCLIENT_README and
 * XFORWARD_README describe them. After XCLIENT the session is that client's, and begins anew; what
 * XFORWARD says is only for the log, until the message is done.
 */
#include "base/panic.h"
#include "mail/unicode.h"
#include "smtp/server/internal.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes xtext into OUT with SIZE bytes. What is not printable ASCII or could end a word of the
 * log or of a header becomes '?'. False: malformed or too long. */
static bool decode_xtext(struct str text, char *out, size_t size)
{
	size_t length = 0;

	for (size_t i = 0; i < text.length; i++) {
		int c = (unsigned char)text.data[i];

		if (c == '+') {
			int high = i + 2 < text.length ? digit_of(text.data[i + 1]) : -1;
			int low = i + 2 < text.length ? digit_of(text.data[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			c = high * 16 + low;
			i += 2;
		}
		if (length + 1 >= size)
			return false;
		out[length++] =
			(char)(c > ' ' && c <= '~' && strchr("<>()\\\"", c) == NULL ? c : '?');
	}
	out[length] = '\0';
	return length > 0;
}

static bool is_unavailable(const char *value)
{
	return strcmp(value, "[UNAVAILABLE]") == 0 || strcmp(value, "[TEMPUNAVAIL]") == 0;
}

static bool keep_claimed_value(char *place, const char *value)
{
	snprintf(place, SMTP_CLAIM_TEXT_SIZE, "%s", is_unavailable(value) ? "" : value);
	return true;
}

static bool take_claim_name(struct smtp_claim *claim, const char *value)
{
	return keep_claimed_value(claim->name, value);
}

static bool take_claim_address(struct smtp_claim *claim, const char *value)
{
	bool is_ipv6 = strncasecmp(value, "IPV6:", strlen("IPV6:")) == 0;
	struct in_addr ipv4;

	claim->is_unknown = is_unavailable(value);
	if (claim->is_unknown)
		return keep_claimed_value(claim->address, "");
	if (is_ipv6 && inet_pton(AF_INET6, value + strlen("IPV6:"), &claim->mapped) == 1)
		return keep_claimed_value(claim->address, value + strlen("IPV6:"));
	if (is_ipv6 || inet_pton(AF_INET, value, &ipv4) != 1)
		return false;
	memset(&claim->mapped, 0, 10);
	memset(claim->mapped.s6_addr + 10, 0xff, 2);
	memcpy(claim->mapped.s6_addr + 12, &ipv4, sizeof ipv4);
	return keep_claimed_value(claim->address, value);
}

static bool take_port(struct smtp_claim *claim, const char *value)
{
	uint64_t port = 0;

	if (!is_unavailable(value) && (!str_to_u64(str_from(value), &port) || port > UINT16_MAX))
		return false;
	claim->port = (uint16_t)port;
	return true;
}

static bool take_protocol(struct smtp_claim *claim, const char *value)
{
	(void)claim;
	return strcasecmp(value, "SMTP") == 0 || strcasecmp(value, "ESMTP") == 0 ||
	       is_unavailable(value);
}

static bool take_helo(struct smtp_claim *claim, const char *value)
{
	return keep_claimed_value(claim->helo, value);
}

static bool take_claim_login(struct smtp_claim *claim, const char *value)
{
	return keep_claimed_value(claim->login, value);
}

static bool take_ident(struct smtp_claim *claim, const char *value)
{
	return keep_claimed_value(claim->ident, value);
}

static bool take_source(struct smtp_claim *claim, const char *value)
{
	(void)claim;
	return strcasecmp(value, "LOCAL") == 0 || strcasecmp(value, "REMOTE") == 0 ||
	       is_unavailable(value);
}

/* Where the client has connected to is of no use here. */
static bool take_nothing_of_claim(struct smtp_claim *claim, const char *value)
{
	(void)claim;
	(void)value;
	return true;
}

enum { XCLIENT = 1, XFORWARD = 2 };

static const struct {
	const char *name;
	unsigned verbs;
	bool (*take)(struct smtp_claim *claim, const char *value);
} attributes[] = {
	{"NAME", XCLIENT | XFORWARD, take_claim_name},
	{"ADDR", XCLIENT | XFORWARD, take_claim_address},
	{"PORT", XCLIENT | XFORWARD, take_port},
	{"PROTO", XCLIENT | XFORWARD, take_protocol},
	{"HELO", XCLIENT | XFORWARD, take_helo},
	{"LOGIN", XCLIENT, take_claim_login},
	{"DESTADDR", XCLIENT, take_nothing_of_claim},
	{"DESTPORT", XCLIENT, take_nothing_of_claim},
	{"IDENT", XFORWARD, take_ident},
	{"SOURCE", XFORWARD, take_source},
};

static bool take_claim_attribute(struct smtp_claim *claim, unsigned verb, struct str word)
{
	char value[SMTP_CLAIM_TEXT_SIZE];
	struct str name;

	if (!str_split(&word, '=', &name) || word.data == NULL ||
	    !decode_xtext(word, value, sizeof value))
		return false;
	for (size_t i = 0; i < COUNT_OF(attributes); i++)
		if ((attributes[i].verbs & verb) != 0 &&
		    str_equal_nocase(name, str_from(attributes[i].name)))
			return attributes[i].take(claim, value);
	return false;
}

/* Changes *CLAIM, which may not be there yet, by what TEXT says: false, and nothing, if an
 * attribute is wrong. The login of one client is not that of the next. */
static bool parse_claim(struct smtp_claim **claim, unsigned verb, struct str text)
{
	struct smtp_claim changed = {0};
	struct str word;

	if (*claim != NULL)
		changed = **claim;
	changed.login[0] = '\0';
	while (str_split(&text, ' ', &word))
		if (word.length > 0 && !take_claim_attribute(&changed, verb, word))
			return false;
	if (*claim == NULL)
		*claim = memory_alloc(sizeof **claim);
	**claim = changed;
	return true;
}

static void begin_session_anew(struct smtp_server *s)
{
	smtp_auth_forget(s);
	if (s->claim->login[0] != '\0')
		smtp_auth_set_user(s, s->claim->login);
	free(s->head.helo);
	s->head.helo = NULL;
	free(s->head.forwarded); /* of the client before */
	s->head.forwarded = NULL;
	s->is_extended = false;
	smtp_server_enter(s, SMTP_STATE_CONNECTED);
	smtp_reply_banner(s);
}

enum smtp_step smtp_on_xclient(struct smtp_server *s, const struct smtp_argument *argument)
{
	const struct mail_verdict *verdict;

	if (s->transaction != NULL)
		return smtp_reply(s, 503, "5.5.1", "A transaction has begun, send RSET first");
	if (s->answer == NULL && !parse_claim(&s->claim, XCLIENT, argument->text))
		return smtp_reply(s, 501, "5.5.4", "An attribute is unknown, or its value wrong");
	if (!smtp_ask_client(s, s->claim, &verdict))
		return SMTP_STEP_WAIT;
	if (verdict->class != MAIL_OK)
		return smtp_reply_last(s, 421, verdict->status, verdict->text);
	begin_session_anew(s);
	return SMTP_STEP_DONE;
}

enum smtp_step smtp_on_xforward(struct smtp_server *s, const struct smtp_argument *argument)
{
	if (s->transaction != NULL)
		return smtp_reply(s, 503, "5.5.1", "A transaction has begun, send RSET first");
	if (!parse_claim(&s->head.forwarded, XFORWARD, argument->text))
		return smtp_reply(s, 501, "5.5.4", "An attribute is unknown, or its value wrong");
	return smtp_reply(s, 250, "2.0.0", "Ok");
}

static bool is_node(struct str node, struct mail_domain *form)
{
	if (!mail_domain_form(node, form) || memchr(form->text, '.', form->length) == NULL)
		return false;
	for (size_t i = 0; i < form->length; i++) {
		char c = form->text[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '.' && c != '-' &&
		    c != '_')
			return false;
	}
	return true;
}

/* RFC 1985. "@DOMAIN" is DOMAIN with all below it, which is what DOMAIN means here, too. */
enum smtp_step smtp_on_etrn(struct smtp_server *s, const struct smtp_argument *argument)
{
	const struct mail_verdict *verdict;
	struct str node = argument->text;
	struct mail_domain form;
	char text[MAIL_DOMAIN_MAX + 64];

	if (node.length > 0 && node.data[0] == '@')
		node = str_skip(node, 1);
	if (!is_node(node, &form))
		return smtp_reply(s, 501, "5.5.4", "Give the domain whose mail is wanted");
	if (!s->head.peer.may_etrn) {
		snprintf(text, sizeof text, "Node %.*s not allowed: not from here",
			 (int)form.length, form.text);
		return smtp_reply(s, 459, "4.7.1", text);
	}
	if (!smtp_ask_release(s, str_slice(form.text, form.length), &verdict))
		return SMTP_STEP_WAIT;
	snprintf(text, sizeof text,
		 verdict->class == MAIL_OK ? "Queuing for node %.*s started"
					   : "Unable to queue messages for node %.*s",
		 (int)form.length, form.text);
	return smtp_reply(s, verdict->class == MAIL_OK ? 250 : 458, verdict->status, text);
}
