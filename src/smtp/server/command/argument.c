// SPDX-License-Identifier: ISC
/* What follows a verb: names, paths and parameters; parsed strictly, or leniently as real
 * clients write them. */
#include "base/panic.h"
#include "smtp/server/complete.h"
#include "smtp/server/internal.h"
#include <string.h>

bool smtp_argument_none(struct smtp_server *s, struct smtp_argument *argument)
{
	if (argument->text.length == 0)
		return true;
	smtp_reply(s, 501, "5.5.4", "No argument is allowed");
	return false;
}

bool smtp_argument_any(struct smtp_server *s, struct smtp_argument *argument)
{
	(void)s;
	(void)argument;
	return true;
}

bool smtp_argument_text(struct smtp_server *s, struct smtp_argument *argument)
{
	if (argument->text.length > 0)
		return true;
	smtp_reply(s, 501, "5.5.4", "An argument is missing");
	return false;
}

/* Real clients send many names that are not domains, with spaces and in any charset; the name is
 * made safe before it is used. In strict mode it must at least be a printable word. */
bool smtp_argument_helo(struct smtp_server *s, struct smtp_argument *argument)
{
	struct str name = argument->text;
	bool is_strict = s->service->rules.strict_addresses;
	bool is_valid = name.length > 0 && name.length <= MAIL_DOMAIN_MAX;

	for (size_t i = 0; is_valid && is_strict && i < name.length; i++)
		is_valid = name.data[i] > ' ' && name.data[i] <= '~';
	if (!is_valid)
		smtp_reply(s, 501, "5.5.4", "Give a domain or an address literal");
	return is_valid;
}

bool smtp_argument_chunk(struct smtp_server *s, struct smtp_argument *argument)
{
	struct str last = argument->text;
	struct str size;
	bool is_valid = str_split(&last, ' ', &size) && str_to_u64(size, &argument->size);

	last = str_trim(last);
	argument->is_last = last.length > 0;
	if (is_valid && (last.length == 0 || str_equal_nocase(last, STR("LAST"))))
		return true;
	smtp_reply_last(s, 501, "5.5.4", "Syntax: BDAT SIZE [LAST]");
	return false;
}

/* RFC 4422 section 3.1; some clients write it in lower case. */
static bool take_mechanism(struct smtp_server *s, struct str name)
{
	char *copy;

	if (name.length == 0 || name.length > SMTP_MECHANISM_MAX)
		return false;
	if (s->exchange == NULL)
		s->exchange = memory_alloc_zero(1, sizeof *s->exchange);
	copy = s->exchange->mechanism;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		copy[i] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
		c = copy[i];
		if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '-' && c != '_')
			return false;
	}
	s->exchange->mechanism_length = name.length;
	return true;
}

bool smtp_argument_auth(struct smtp_server *s, struct smtp_argument *argument)
{
	struct str rest = argument->text;
	struct str name = STR("");

	(void)str_split(&rest, ' ', &name);
	if (rest.data != NULL)
		argument->initial = str_trim(rest);
	if (take_mechanism(s, name) && str_find(argument->initial, ' ') < 0)
		return true;
	smtp_reply(s, 501, "5.5.4", "Syntax: AUTH MECHANISM [INITIAL-RESPONSE]");
	return false;
}

static struct str skip_argument_spaces(struct str s)
{
	while (s.length > 0 && s.data[0] == ' ')
		s = str_skip(s, 1);
	return s;
}

/* Takes "KEYWORD:" from the start of *TEXT; some clients leave the colon out. */
static bool take_keyword(const struct smtp_server *s, struct str *text, struct str keyword)
{
	struct str rest;
	bool has_colon;

	if (text->length < keyword.length ||
	    !str_equal_nocase(str_slice(text->data, keyword.length), keyword))
		return false;
	rest = str_skip(*text, keyword.length);
	if (!s->service->rules.strict_addresses)
		rest = skip_argument_spaces(rest);
	has_colon = rest.length > 0 && rest.data[0] == ':';
	if (!has_colon && (s->service->rules.strict_addresses || rest.length == 0 ||
			   (rest.data[0] != '<' && rest.data == text->data + keyword.length)))
		return false;
	*text = skip_argument_spaces(str_skip(rest, has_colon ? 1 : 0));
	return true;
}

/* The position of the '>' that is not in a quoted string, or -1. */
static ptrdiff_t find_path_end(struct str text)
{
	bool is_quoted = false;

	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '\\' && is_quoted)
			i++;
		else if (text.data[i] == '"')
			is_quoted = !is_quoted;
		else if (text.data[i] == '>' && !is_quoted)
			return (ptrdiff_t)i;
	}
	return -1;
}

/* Drops "@host,@host:" from *PATH: RFC 5321 appendix C requires that it be ignored. */
static bool strip_route(struct str *path)
{
	ptrdiff_t colon = str_find(*path, ':');
	struct str hosts;
	struct str host;

	if (path->length == 0 || path->data[0] != '@')
		return true;
	if (colon < 0)
		return false;
	hosts = str_slice(path->data, (size_t)colon);
	while (str_split(&hosts, ',', &host))
		if (host.length == 0 || host.data[0] != '@' ||
		    !mail_domain_is_valid(str_skip(host, 1)))
			return false;
	*path = str_skip(*path, (size_t)colon + 1);
	return path->length > 0;
}

/* An address without brackets, as printers and scripts send it. */
static bool cut_word(struct str *text, struct str *path_out)
{
	ptrdiff_t end = mail_address_end(*text);

	if (end <= 0)
		return false;
	*path_out = str_slice(text->data, (size_t)end);
	*text = str_skip(*text, (size_t)end);
	return true;
}

static bool cut_path(struct str *text, bool is_strict, struct str *path_out)
{
	ptrdiff_t end = find_path_end(*text);

	if (end < 1 || text->data[0] != '<')
		return false;
	*path_out = str_slice(text->data + 1, (size_t)end - 1);
	*text = str_skip(*text, (size_t)end + 1);
	return text->length == 0 || text->data[0] == ' ' || !is_strict;
}

/* "Scanner 2 <ann@example.org>", as in a header field: the rest from the bracket on, if a name is
 * before it. What has an @ there, or is a parameter's value, is no name. */
static struct str skip_name(struct str text)
{
	bool is_quoted = false;

	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (c == '\\' && is_quoted)
			i++;
		else if (c == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted && (c == '@' || c == '='))
			return text;
		else if (!is_quoted && c == '<')
			return str_skip(text, i);
	}
	return text;
}

/* Takes "<PATH>" from the start of *TEXT; what follows is empty or parameters. UTF-8 is allowed
 * here: whether this transaction allows it is known only from MAIL's parameters. */
static bool take_path(const struct smtp_server *s, struct str *text, unsigned flags,
		      struct mail_address *address_out)
{
	bool is_strict = s->service->rules.strict_addresses;
	bool is_bare;
	struct str path;

	if (!is_strict)
		*text = skip_name(*text);
	is_bare = !is_strict && text->length > 0 && text->data[0] != '<';
	if (!(is_bare ? cut_word(text, &path) : cut_path(text, is_strict, &path)))
		return false;
	flags |= MAIL_ADDRESS_UTF8 | (is_strict ? MAIL_ADDRESS_STRICT : MAIL_ADDRESS_ROOT);
	if (!is_strict)
		path = str_trim(path);
	return strip_route(&path) && mail_address_parse(path, flags, address_out) == 0;
}

/* Hosts and programs of our users write their users' names alone. */
static bool may_smtp_address_be_short(const struct smtp_server *s)
{
	return !s->service->rules.strict_addresses && smtp_peer_is_trusted(s);
}

/* qmail sends its double bounces so. */
static bool take_double_bounce(const struct smtp_server *s, struct str *text,
			       struct mail_address *address_out)
{
	const struct str path = STR("<#@[]>");

	if (s->service->rules.strict_addresses || !str_starts_with(*text, path))
		return false;
	*address_out = (struct mail_address){.text = str_slice(text->data + 1, path.length - 2)};
	*text = str_skip(*text, path.length);
	return true;
}

/* RFC 6531 section 3.5 */
static bool check_ascii(struct smtp_server *s, const struct smtp_argument *argument)
{
	struct str text = argument->address.text;

	for (size_t i = 0; i < text.length && !argument->is_utf8; i++) {
		if ((unsigned char)text.data[i] < 0x80)
			continue;
		smtp_reply(s, 553, "5.6.7", "The address needs SMTPUTF8");
		return false;
	}
	return true;
}

bool smtp_argument_sender(struct smtp_server *s, struct smtp_argument *argument)
{
	struct str text = argument->text;

	if (!take_keyword(s, &text, STR("FROM"))) {
		smtp_reply(s, 501, "5.5.4", "Syntax: MAIL FROM:<address>");
		return false;
	}
	if (!take_double_bounce(s, &text, &argument->address) &&
	    (!take_path(s, &text, MAIL_ADDRESS_NULL | MAIL_ADDRESS_NO_DOMAIN, &argument->address) ||
	     !smtp_complete_sender(s->service, may_smtp_address_be_short(s), &s->completed,
				   &argument->address))) {
		smtp_reply(s, 501, "5.1.7", "Bad sender address");
		return false;
	}
	return smtp_parameters_of_mail(s, text, argument) && check_ascii(s, argument);
}

bool smtp_argument_recipient(struct smtp_server *s, struct smtp_argument *argument)
{
	struct str text = argument->text;

	if (!take_keyword(s, &text, STR("TO"))) {
		smtp_reply(s, 501, "5.5.4", "Syntax: RCPT TO:<address>");
		return false;
	}
	if (!take_path(s, &text, MAIL_ADDRESS_NO_DOMAIN, &argument->address) ||
	    !smtp_complete_recipient(s->service, s->head.peer.context, may_smtp_address_be_short(s),
				     &s->completed, &argument->address)) {
		smtp_reply(s, 501, "5.1.3", "Bad recipient address");
		return false;
	}
	argument->is_utf8 = s->transaction->envelope->utf8;
	return check_ascii(s, argument) && smtp_parameters_of_rcpt(s, text, argument);
}
