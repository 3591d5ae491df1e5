// SPDX-License-Identifier: ISC
#include "smtp/client/slower.h"
#include "base/attributes.h"
#include "mail/verdict.h"
#include <string.h>
#include <strings.h>

/* A row applies when all that it has applies. */
static const struct {
	unsigned code;      /* 0: any of 4yz */
	const char *status; /* how it begins; "": any, or none */
	const char *words;  /* "": any */
} slower_rows[] = {
	{421, "4.7.", ""},     /* Google, Yahoo, Apple; Postfix (anvil): too many connections */
	{0, "4.7.5", ""},      /* Microsoft: 4.7.500 to 4.7.599, server busy, throttled */
	{0, "4.7.6", ""},      /* Microsoft: 4.7.650, rate limited by reputation */
	{0, "4.7.28", ""},     /* Google: an unusual rate of mail */
	{0, "", "rate limit"}, /* Microsoft: RP-001, RP-002; Rspamd, Haraka */
	{0, "", "rate-limit"},
	{0, "", "ratelimit"},
	{0, "", "sending rate"},
	{0, "", "message rate"},
	{0, "", "connection rate"},   /* Sendmail: connection rate limit exceeded */
	{0, "", "connection limit"},  /* Microsoft: RP-003 */
	{0, "", "unusual rate"},      /* Google */
	{0, "", "unexpected volume"}, /* Yahoo: TSS04 */
	{0, "", "throttl"},           /* Comcast, Mimecast */
	{0, "", "slow down"},         /* Orange */
	{0, "", "too much mail"},     /* Postfix (anvil) */
	{0, "", "too many connections"},
	{0, "", "too many concurrent"},    /* Exim, Sendmail */
	{0, "", "concurrent connections"}, /* Exchange: 4.3.2 */
	{0, "", "too many sessions"},
	{0, "", "too many messages"},
	{0, "", "too many recipients from"}, /* Postfix (anvil), not: in one message */
	{0, "", "too frequent"},
	{421, "", "try again later"},
	{421, "", "try later"},
};

static const char *const greylistings[] = {"greylist", "graylist", "grey-list", "gray-list"};

static bool has_words(struct str text, const char *words)
{
	size_t length = strlen(words);

	for (size_t i = 0; i + length <= text.length; i++)
		if (strncasecmp(text.data + i, words, length) == 0)
			return true;
	return false;
}

/* Its enhanced status, or empty. */
static struct str status_of_reply_text(struct str text)
{
	size_t length = 0;

	while (length < text.length && text.data[length] != ' ' && text.data[length] != '\n')
		length++;
	text.length = length;
	return mail_status_is_valid(text) ? text : STR("");
}

bool smtp_client_is_greylisting(struct str text)
{
	for (size_t i = 0; i < COUNT_OF(greylistings); i++)
		if (has_words(text, greylistings[i]))
			return true;
	return false;
}

/* What is about one mailbox, or the first attempt, is not, whatever else is said. */
static bool is_slower(unsigned code, struct str status, struct str text)
{
	if (str_starts_with(status, STR("4.2.")) || smtp_client_is_greylisting(text))
		return false;
	for (size_t i = 0; i < COUNT_OF(slower_rows); i++)
		if ((slower_rows[i].code == 0 || slower_rows[i].code == code) &&
		    str_starts_with(status, str_from(slower_rows[i].status)) &&
		    has_words(text, slower_rows[i].words))
			return true;
	return false;
}

/* --- for how long --- */

static const struct {
	const char *word; /* how it begins */
	int64_t seconds;
} units[] = {{"s", 1}, {"min", 60}, {"m ", 60}, {"h", 3600}};

/* "30 seconds", "5 min", "60s"; 0: it is no time. */
static int64_t time_at(struct str text)
{
	int64_t number = 0;
	size_t i = 0;

	while (i < text.length && text.data[i] >= '0' && text.data[i] <= '9' && i < 9)
		number = number * 10 + (text.data[i++] - '0');
	if (i == 0)
		return 0;
	text = str_skip(text, i);
	if (text.length > 0 && text.data[0] == ' ')
		text = str_skip(text, 1);
	for (i = 0; i < COUNT_OF(units); i++)
		if (text.length >= strlen(units[i].word) &&
		    strncasecmp(text.data, units[i].word, strlen(units[i].word)) == 0)
			return number * units[i].seconds * 1000000;
	return 0;
}

/* After a word that a time follows. */
static int64_t time_in(struct str text)
{
	static const char *const before[] = {" in ", " after ", " wait ", "retry-after: "};

	for (size_t i = 0; i < text.length; i++)
		for (size_t j = 0; j < COUNT_OF(before); j++) {
			size_t length = strlen(before[j]);
			int64_t us = 0;

			if (text.length - i > length &&
			    strncasecmp(text.data + i, before[j], length) == 0)
				us = time_at(str_skip(text, i + length));
			if (us > 0)
				return us;
		}
	return 0;
}

bool smtp_client_is_slower(unsigned code, struct str text, int64_t *wait_us_out)
{
	int64_t wait_us;

	if (code / 100 != 4 || !is_slower(code, status_of_reply_text(text), text))
		return false;
	wait_us = time_in(text);
	*wait_us_out = wait_us < SMTP_CLIENT_SLOWER_MAX_US ? wait_us : SMTP_CLIENT_SLOWER_MAX_US;
	return true;
}
