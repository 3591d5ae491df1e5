// SPDX-License-Identifier: ISC
#include "login.h"
#include "base/text/base64.h"
#include "logins.h"
#include "mail.h"

enum { LINE = 256, PROBE = 4 };

/* Mostly one who may be accepted. */
static void choose(size_t *user, size_t *word)
{
	*user = kernel_below(LOGINS);
	*word = kernel_below(LOGINS_WORDS);
	for (size_t i = 0; i < LOGINS_WORDS && !kernel_one_in(LOGINS_WORDS); i++)
		if (logins_may_accept(*user, i, kernel_now_us()))
			*word = i;
}

/* Who has not said who he is may not send. */
static bool probe(struct talk *talk, int (*reply)(struct talk *talk))
{
	int code;

	if (!talk_say(talk, "MAIL FROM:<" CLIENT_SENDER ">\r\n"))
		return false;
	code = reply(talk);
	if (code / 100 == 2)
		ledger_complain("MAIL without AUTH", code);
	return code == 530;
}

static bool say_plain(struct talk *talk, size_t user, size_t word)
{
	struct buffer text = {0};
	struct buffer line = {0};
	bool is_said;

	buffer_append_byte(&text, '\0');
	buffer_append_string(&text, logins_name(user));
	buffer_append_byte(&text, '\0');
	buffer_append_string(&text, logins_word(word));
	buffer_append_string(&line, "AUTH PLAIN ");
	base64_append(&line, buffer_view(&text));
	buffer_append_string(&line, "\r\n");
	is_said = talk_write(talk, buffer_data(&line), line.length);
	buffer_clear(&text);
	buffer_clear(&line);
	return is_said;
}

bool login_say(struct talk *talk, int (*reply)(struct talk *talk))
{
	const int64_t asked_us = kernel_now_us();
	size_t user;
	size_t word;
	char said[LINE];
	int code;

	choose(&user, &word);
	if ((kernel_one_in(PROBE) && !probe(talk, reply)) || !say_plain(talk, user, word))
		return false;
	code = reply(talk);
	snprintf(said, sizeof said, "AUTH %s, %s", logins_name(user), logins_word(word));
	world_log("login", "%s: %d", said, code);
	if ((code == 235 && !logins_may_accept(user, word, asked_us)) ||
	    (code / 100 == 5 && !logins_may_refuse(user, word, asked_us)))
		ledger_complain(said, code);
	return code == 235;
}
