// SPDX-License-Identifier: ISC
#include "login.h"
#include "base/text/base64.h"
#include "logins.h"
#include "mail.h"
#include "os/socket/socket.h"

enum { LINE = 256, PROBE = 4, PAUSES = 4 };

static const int64_t PAUSE_US = 240 * INT64_C(1000000);
/* A change is known within a second, and the session ends within another one; what says so is on
 * its way then. */
static const int64_t END_US = 3 * INT64_C(1000000);

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

bool login_say(struct talk *talk, int (*reply)(struct talk *talk), struct login *login_out)
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
	*login_out = (struct login){user, word};
	return code == 235;
}

static void complain(const struct login *login, const char *what, int code)
{
	char said[LINE];

	snprintf(said, sizeof said, "%s of %s, %s, who is gone", what, logins_name(login->user),
		 logins_word(login->word));
	ledger_complain(said, code);
}

void login_check_pause(const struct login *login, bool is_silent)
{
	if (is_silent && !logins_may_accept(login->user, login->word, kernel_now_us() - END_US))
		complain(login, "a session", 0);
}

void login_pause(struct talk *talk, const struct login *login)
{
	if (!kernel_one_in(PAUSES))
		return;
	task_sleep_until(kernel_now_us() + (int64_t)kernel_below((uint64_t)PAUSE_US));
	login_check_pause(login, talk->used == 0 && os_socket_wait(talk->socket, false, 0) != 0);
}

void login_check_mail(const struct login *login, int code, int64_t asked_us)
{
	if (code == 250 && !logins_may_accept(login->user, login->word, asked_us))
		complain(login, "MAIL", code);
}

/* Nodes that are stopped or hurt may end it there. */
void login_check_text(const struct login *login, int code)
{
	if (code == 421 && !ledger_is_disturbed() &&
	    !logins_may_accept(login->user, login->word, kernel_now_us()))
		complain(login, "the final dot", code);
}
