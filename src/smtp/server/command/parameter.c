// SPDX-License-Identifier: ISC
/* The parameters of MAIL and RCPT. */
#include "base/text/utf8.h"
#include "mail/text/xtext.h"
#include "smtp/server/internal.h"

enum {
	AUTH_MAX = 500,      /* bytes of a value, RFC 4954 section 3 */
	HOLD_UNTIL_MAX = 64, /* no time needs more */
	BY_MAX = 13,         /* RFC 2852: "+999999999;NT" */
};

/* Each is false when VALUE is wrong; its data is NULL when there was no '='. */
struct parameter {
	struct str name;
	bool (*parse)(struct str value, struct smtp_argument *argument);
	bool (*is_offered)(const struct smtp_server *s); /* NULL: in every session */
};

/* RFC 1870: up to 20 digits; a number that overflows is certainly too large. */
static bool parse_size_parameter(struct str value, struct smtp_argument *argument)
{
	if (value.length == 0 || value.length > 20)
		return false;
	for (size_t i = 0; i < value.length; i++)
		if (value.data[i] < '0' || value.data[i] > '9')
			return false;
	if (!str_to_u64(value, &argument->size))
		argument->size = UINT64_MAX;
	return true;
}

/* RFC 6152, where both values are treated alike: bytes are kept unchanged; RFC 3030. */
static bool parse_body_parameter(struct str value, struct smtp_argument *argument)
{
	argument->is_binary = str_equal_nocase(value, STR("BINARYMIME"));
	return argument->is_binary || str_equal_nocase(value, STR("7BIT")) ||
	       str_equal_nocase(value, STR("8BITMIME"));
}

/* RFC 6531 section 3.4 */
static bool parse_smtputf8(struct str value, struct smtp_argument *argument)
{
	argument->is_utf8 = true;
	return value.data == NULL;
}

/* RFC 8689 section 4.1 */
static bool parse_requiretls(struct str value, struct smtp_argument *argument)
{
	argument->requires_tls = true;
	return value.data == NULL;
}

/* RFC 6710 section 3 */
static bool parse_priority(struct str value, struct smtp_argument *argument)
{
	return mail_priority_parse(value, &argument->priority);
}

/* RFC 4865 section 3: seconds in at most nine digits, the first of which is not 0. */
static bool parse_hold_for(struct str value, struct smtp_argument *argument)
{
	uint64_t seconds;

	if (value.length == 0 || value.length > 9 || value.data[0] == '0' ||
	    !str_to_u64(value, &seconds))
		return false;
	argument->hold_us = (int64_t)seconds * SECOND_US;
	return true;
}

static bool parse_hold_until(struct str value, struct smtp_argument *argument)
{
	return value.length <= HOLD_UNTIL_MAX &&
	       timestamp_parse_rfc3339(value, &argument->release_us);
}

/* RFC 2852 */
static bool parse_by(struct str value, struct smtp_argument *argument)
{
	return value.length <= BY_MAX &&
	       mail_deadline_parse_by(value, &argument->by_seconds, &argument->deadline);
}

/* RFC 4954 section 5: who the client says has sent the message first. Nobody is trusted so far,
 * which is as if it said "<>". */
static bool parse_auth(struct str value, struct smtp_argument *argument)
{
	(void)argument;
	return value.length <= AUTH_MAX && mail_xtext_is_valid(value);
}

static bool offers_auth(const struct smtp_server *s)
{
	return s->service->auth != SMTP_AUTH_NONE;
}

static bool parse_ret_parameter(struct str value, struct smtp_argument *argument)
{
	bool is_full = str_equal_nocase(value, STR("FULL"));

	argument->ret = is_full ? MAIL_RET_FULL : MAIL_RET_HEADERS;
	return is_full || str_equal_nocase(value, STR("HDRS"));
}

/* Besides xtext also UTF-8 (RFC 6533 section 3). */
static bool is_utf8_xtext(struct str text)
{
	size_t length = 0;

	for (size_t i = 0; i < text.length; i += length) {
		bool is_ascii = (unsigned char)text.data[i] < 0x80;

		length = is_ascii ? mail_xtext_length(str_skip(text, i))
				  : utf8_length(str_skip(text, i));
		if (length == 0)
			return false;
	}
	return text.length > 0;
}

static bool parse_envid(struct str value, struct smtp_argument *argument)
{
	argument->envid = value;
	return value.length <= MAIL_ENVID_MAX && mail_xtext_is_valid(value);
}

static bool notify_flag(struct str word, unsigned *flag_out)
{
	static const struct {
		struct str name;
		unsigned flag;
	} words[] = {
		{STR("SUCCESS"), MAIL_NOTIFY_SUCCESS},
		{STR("FAILURE"), MAIL_NOTIFY_FAILURE},
		{STR("DELAY"), MAIL_NOTIFY_DELAY},
		{STR("NEVER"), MAIL_NOTIFY_NEVER},
	};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (!str_equal_nocase(word, words[i].name))
			continue;
		*flag_out = words[i].flag;
		return true;
	}
	return false;
}

static bool parse_notify_parameter(struct str value, struct smtp_argument *argument)
{
	struct str word;
	unsigned flag;

	while (str_split(&value, ',', &word)) {
		if (!notify_flag(word, &flag))
			return false;
		argument->notify |= flag;
	}
	return argument->notify == MAIL_NOTIFY_NEVER ||
	       (argument->notify > 0 && !(argument->notify & MAIL_NOTIFY_NEVER));
}

static bool is_address_type(struct str type)
{
	for (size_t i = 0; i < type.length; i++) {
		char c = type.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '-')
			return false;
	}
	return type.length > 0;
}

/* "rfc822;XTEXT"; with SMTPUTF8 "utf-8;" and UTF-8, too (RFC 6533 section 3). */
static bool parse_orcpt(struct str value, struct smtp_argument *argument)
{
	ptrdiff_t semicolon = str_find(value, ';');
	struct str address = str_skip(value, (size_t)(semicolon + 1));

	argument->original = value;
	return value.length <= MAIL_ORCPT_MAX && semicolon > 0 &&
	       is_address_type(str_slice(value.data, (size_t)semicolon)) &&
	       (argument->is_utf8 ? is_utf8_xtext(address) : mail_xtext_is_valid(address));
}

static const struct parameter mail_parameters[] = {
	{STR("SIZE"), parse_size_parameter, NULL},
	{STR("BODY"), parse_body_parameter, NULL},
	{STR("SMTPUTF8"), parse_smtputf8, NULL},
	{STR("RET"), parse_ret_parameter, NULL},
	{STR("ENVID"), parse_envid, NULL},
	{STR("AUTH"), parse_auth, offers_auth},
	{STR("REQUIRETLS"), parse_requiretls, smtp_offers_requiretls},
	{STR("MT-PRIORITY"), parse_priority, smtp_offers_priority},
	{STR("HOLDFOR"), parse_hold_for, smtp_offers_future_release},
	{STR("HOLDUNTIL"), parse_hold_until, smtp_offers_future_release},
	{STR("BY"), parse_by, smtp_offers_deliver_by},
};

static const struct parameter rcpt_parameters[] = {
	{STR("NOTIFY"), parse_notify_parameter, NULL},
	{STR("ORCPT"), parse_orcpt, NULL},
};

static size_t find_parameter(const struct smtp_server *s, const struct parameter *parameters,
			     size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++) {
		const struct parameter *one = &parameters[i];

		if (str_equal_nocase(name, one->name) &&
		    (one->is_offered == NULL || one->is_offered(s)))
			return i;
	}
	return count;
}

static bool parse_parameters(struct smtp_server *s, struct str text,
			     const struct parameter *parameters, size_t count,
			     struct smtp_argument *argument)
{
	unsigned seen = 0;
	struct str value;

	while (str_split(&text, ' ', &value)) {
		struct str name;
		size_t i;

		if (value.length == 0)
			continue;
		(void)str_split(&value, '=', &name);
		i = find_parameter(s, parameters, count, name);
		if (i == count) {
			smtp_reply(s, 555, "5.5.4", "Unknown parameter");
			return false;
		}
		if (seen & 1U << i || !parameters[i].parse(value, argument)) {
			smtp_reply(s, 501, "5.5.4", "Bad parameter");
			return false;
		}
		seen |= 1U << i;
	}
	return true;
}

/* A time that has passed is as good as none: the clocks differ. HOLDFOR ends with a whole second,
 * not before its time. */
static bool judge_release(struct smtp_server *s, struct smtp_argument *argument)
{
	const char *fault = NULL;
	int64_t now_us;

	if (argument->hold_us == 0 && argument->release_us == 0)
		return true;
	now_us = s->service->now_us();
	if (argument->hold_us > 0 && argument->release_us > 0)
		fault = "Only one of HOLDFOR and HOLDUNTIL";
	else if (argument->hold_us > s->service->release_max_us ||
		 argument->release_us > now_us + s->service->release_max_us)
		fault = "Too far in the future; EHLO says what is allowed";
	if (fault != NULL)
		smtp_reply(s, 501, "5.5.4", fault);
	if (argument->hold_us > 0)
		argument->release_us =
			(now_us + argument->hold_us + SECOND_US - 1) / SECOND_US * SECOND_US;
	else if (argument->release_us <= now_us)
		argument->release_us = 0;
	return fault == NULL;
}

/* What cannot be met is refused: whoever asks for it may do without the message. */
static bool judge_deadline(struct smtp_server *s, struct smtp_argument *argument)
{
	struct mail_deadline *deadline = &argument->deadline;
	bool returns = deadline->mode == MAIL_DEADLINE_RETURN;

	if (deadline->mode == MAIL_DEADLINE_NONE)
		return true;
	mail_deadline_set(deadline, argument->by_seconds, s->service->now_us());
	if (returns && argument->by_seconds <= 0)
		smtp_reply(s, 501, "5.5.4", "BY with R needs a time that is yet to come");
	else if (returns && argument->by_seconds < s->service->deliver_by_min)
		smtp_reply(s, 555, "5.5.4", "BY is sooner than can be met; EHLO says what can");
	else if (argument->release_us >= deadline->at_us && argument->release_us > 0)
		smtp_reply(s, 501, "5.5.4", "It would be released after the time of BY");
	else
		return true;
	return false;
}

static bool judge_body(struct smtp_server *s, const struct smtp_argument *argument)
{
	if (!argument->is_binary || s->service->offers_binary)
		return true;
	smtp_reply(s, 501, "5.5.4", "Bad parameter");
	return false;
}

bool smtp_parameters_of_mail(struct smtp_server *s, struct str text, struct smtp_argument *argument)
{
	return parse_parameters(s, text, mail_parameters, COUNT_OF(mail_parameters), argument) &&
	       judge_body(s, argument) && judge_release(s, argument) && judge_deadline(s, argument);
}

bool smtp_parameters_of_rcpt(struct smtp_server *s, struct str text, struct smtp_argument *argument)
{
	return parse_parameters(s, text, rcpt_parameters, COUNT_OF(rcpt_parameters), argument);
}
