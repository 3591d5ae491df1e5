// SPDX-License-Identifier: ISC
/* A next hop that is not always good. */
#include "mail.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "replies.h"
#include "talk.h"
#include <err.h>
#include <string.h>

enum { PORT = 25, BACKLOG = 64, ODDITY = 40, RECIPIENTS_MAX = 100, SHARE = 4, DAYS = 3 };

static const int64_t HOUR_US = INT64_C(3600000000);
static const int64_t IDLE_US = 300 * INT64_C(1000000);
static const int64_t SLOW_US = 30 * INT64_C(1000000);
static const int64_t DAY_US = 86400 * INT64_C(1000000);
static const int64_t LATEST_US =
	2 * 86400 * INT64_C(1000000);                   /* a message may wait for seven days */
static const int64_t LATER_US = 600 * INT64_C(1000000); /* in one of SHARE such spans */

struct transaction {
	char sender[64];
	char recipients[RECIPIENTS_MAX][64];
	size_t count;
	bool is_begun;     /* MAIL was accepted: what was sent with one that was not is refused */
	unsigned messages; /* taken in this session */
};

/* Whether something goes wrong now. */
static bool is_odd(const struct hop *hop)
{
	return kernel_now_us() < hop->earnest_from_us && kernel_one_in(ODDITY);
}

/* One day in three it has time: mail that is tried every few hours, for seven days, comes in. */
static bool has_day(int64_t now_us)
{
	return now_us / DAY_US % DAYS == DAYS - 1;
}

/* Whether it has no time now for those who come later. */
static bool is_busy(const struct hop *hop, const char *line)
{
	const int64_t now_us = kernel_now_us();

	if (now_us >= hop->earnest_from_us)
		return false;
	return (strstr(line, "<" HOP_LATEST) != NULL && now_us < LATEST_US) ||
	       ((strstr(line, "<" HOP_LATER) != NULL || strstr(line, "<" HOP_NEVER) != NULL) &&
		now_us / LATER_US % SHARE != 0 && !has_day(now_us));
}

/* The address that LINE has. */
static void read_address(const char *line, char out[64])
{
	const char *begin = strchr(line, '<');

	snprintf(out, 64, "%.*s", begin != NULL ? (int)strcspn(begin + 1, ">") : 0,
		 begin != NULL ? begin + 1 : "");
}

/* The judge knows of it. */
static bool refuse(struct talk *talk, const struct transaction *transaction,
		   enum replies_point point, const char *reply)
{
	replies_note(kernel_process()->machine->address, point, transaction->sender, reply);
	return talk_say(talk, reply);
}

/* Whether it says no at POINT, as providers do. *GOES_ON_OUT: the session does. */
static bool says_no(const struct hop *hop, struct talk *talk, const struct transaction *transaction,
		    enum replies_point point, bool *goes_on_out)
{
	const struct replies_count count = {transaction->messages, (unsigned)transaction->count};
	const char *reply;

	if (!hop->is_provider || kernel_now_us() >= hop->earnest_from_us)
		return false;
	reply = replies_choose(point, count);
	if (reply == NULL)
		return false;
	*goes_on_out = refuse(talk, transaction, point, reply) && strncmp(reply, "421", 3) != 0;
	return true;
}

/* Nearly the longest that a reply may be, as some are. It names the recipient, so that no other has
 * the same: all of it is kept with each attempt. */
#define WORDS      "this is greylisting, as you may read in our rules; "
#define MANY_WORDS WORDS WORDS WORDS WORDS WORDS WORDS WORDS WORDS

static bool refuse_at_length(struct talk *talk)
{
	const char *recipient = strchr(talk->line, '<');
	char reply[sizeof MANY_WORDS + 96];

	snprintf(reply, sizeof reply, "450 %.64s: " MANY_WORDS "\r\n", recipient);
	return talk_say(talk, reply);
}

static const char *answer_recipient(const struct hop *hop, struct transaction *transaction,
				    const char *line)
{
	const char *begin = strchr(line, '<');

	if (begin == NULL)
		return "501 nobody\r\n";
	if (is_odd(hop) || is_busy(hop, line))
		return "450 greylisted\r\n";
	if (strstr(line, "<" HOP_REFUSED) != NULL || strstr(line, "<" HOP_NEVER) != NULL)
		return "550 nobody of that name\r\n";
	if (transaction->count == RECIPIENTS_MAX)
		return "452 so many at once\r\n";
	snprintf(transaction->recipients[transaction->count++], 64, "%.*s",
		 (int)strcspn(begin + 1, ">"), begin + 1);
	return "250 yes\r\n";
}

/* The text up to its "." line, unstuffed; NULL when the client has gone. */
static char *hear_text(struct talk *talk, size_t *size_out)
{
	char *text = NULL;
	size_t used = 0;

	for (;;) {
		const char *line = talk->line;
		size_t length;

		if (!talk_hear(talk, IDLE_US)) {
			world_free(text);
			return NULL;
		}
		if (strcmp(line, ".") == 0)
			break;
		line += line[0] == '.';
		length = strlen(line);
		text = world_realloc(text, used + length + 2);
		memcpy(text + used, line, length);
		text[used + length] = '\n';
		used += length + 1;
	}
	if (text == NULL)
		text = world_calloc(1, 1);
	else
		text = world_realloc(text, used + 1);
	text[used] = '\0';
	*size_out = used;
	return text;
}

/* What is accepted counts, even when the reply to it is lost: the sender has an excuse. */
static bool take_message(const struct hop *hop, struct talk *talk, struct transaction *transaction)
{
	size_t size;
	char *text;
	bool goes_on;

	if (transaction->count == 0)
		return talk_say(talk, "503 for whom\r\n");
	if (says_no(hop, talk, transaction, REPLIES_DATA, &goes_on))
		return goes_on;
	if (!talk_say(talk, "354 go on\r\n"))
		return false;
	text = hear_text(talk, &size);
	if (text == NULL)
		return false;
	if (says_no(hop, talk, transaction, REPLIES_TEXT, &goes_on)) {
		world_free(text);
		transaction->count = 0;
		transaction->is_begun = false;
		return goes_on;
	}
	if (is_odd(hop)) {
		world_free(text);
		return kernel_one_in(2) &&
		       refuse(talk, transaction, REPLIES_TEXT, "451 not now\r\n");
	}
	for (size_t i = 0; i < transaction->count; i++)
		ledger_deliver(transaction->recipients[i], text, size);
	world_free(text);
	transaction->count = 0;
	transaction->is_begun = false;
	transaction->messages++;
	replies_taken(kernel_process()->machine->address);
	return talk_say(talk, "250 taken\r\n");
}

static const struct {
	const char *verb;
	enum replies_point point;
} points[] = {{"EHLO", REPLIES_EHLO}, {"MAIL", REPLIES_MAIL}, {"RCPT", REPLIES_RCPT}};

/* Where the command in LINE is answered. */
static enum replies_point point_of(const char *line)
{
	for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
		if (strncasecmp(line, points[i].verb, 4) == 0)
			return points[i].point;
	return REPLIES_DATA;
}

static bool answer(const struct hop *hop, struct talk *talk, struct transaction *transaction)
{
	const char *line = talk->line;
	bool goes_on;

	if (strncasecmp(line, "MAIL", 4) == 0)
		read_address(line, transaction->sender);
	if (is_odd(hop)) {
		if (kernel_one_in(3))
			return false;
		if (kernel_one_in(2))
			return refuse(talk, transaction, point_of(line), "421 gone\r\n") && false;
		task_sleep_until(kernel_now_us() + (int64_t)kernel_below((uint64_t)SLOW_US));
	}
	if (strncasecmp(line, "DATA", 4) == 0)
		return take_message(hop, talk, transaction);
	if (strncasecmp(line, "QUIT", 4) == 0)
		return talk_say(talk, "221 bye\r\n") && false;
	if (strncasecmp(line, "MAIL", 4) == 0 || strncasecmp(line, "RSET", 4) == 0) {
		transaction->count = 0;
		transaction->is_begun = false;
	}
	if (strncasecmp(line, "RCPT", 4) == 0 && !transaction->is_begun)
		return talk_say(talk, "503 from whom\r\n");
	for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
		if (strncasecmp(line, points[i].verb, 4) == 0 &&
		    says_no(hop, talk, transaction, points[i].point, &goes_on))
			return goes_on;
	transaction->is_begun |= strncasecmp(line, "MAIL", 4) == 0;
	if (strncasecmp(line, "RCPT", 4) == 0 && is_busy(hop, line) &&
	    strstr(line, "<" HOP_LATEST) != NULL)
		return refuse_at_length(talk);
	if (strncasecmp(line, "RCPT", 4) == 0)
		return talk_say(talk, answer_recipient(hop, transaction, line));
	if (strncasecmp(line, "EHLO", 4) == 0)
		return talk_say(talk, "250-hop.example\r\n250-PIPELINING\r\n250 8BITMIME\r\n");
	return talk_say(talk, "250 yes\r\n");
}

struct visit {
	const struct hop *hop;
	int socket;
};

static void serve_visit(void *context)
{
	struct visit *visit = context;
	struct transaction transaction = {0};
	struct talk talk = {.socket = visit->socket};
	bool goes_on;

	if (!says_no(visit->hop, &talk, &transaction, REPLIES_GREETING, &goes_on) &&
	    talk_say(&talk, "220 hop.example ESMTP\r\n"))
		while (talk_hear(&talk, IDLE_US) && answer(visit->hop, &talk, &transaction))
			;
	os_socket_close(visit->socket);
	world_free(visit);
}

static int run_hop(int argc, char **argv)
{
	struct hop *hop = kernel_process()->context;
	union os_socket_address address = {0};
	union os_socket_address peer;
	int listening;

	(void)argc;
	(void)argv;
	address.v4.sin_family = AF_INET;
	address.v4.sin_port = htons(PORT);
	address.v4.sin_addr.s_addr = htonl(kernel_process()->machine->address);
	listening = os_socket_listen(&address, BACKLOG);
	for (;;) {
		int socket;

		while (os_socket_wait(listening, false, HOUR_US) < 0)
			;
		socket = os_socket_accept(listening, &peer);
		if (socket >= 0) {
			struct visit *visit = world_malloc(sizeof *visit);

			if (visit == NULL)
				err(1, "no memory");
			*visit = (struct visit){hop, socket};
			(void)task_new(kernel_process(), serve_visit, visit);
		}
	}
}

void hop_start(struct machine *machine, struct hop *hop)
{
	static const struct world_program program = {"hop", run_hop, NULL};
	static const char *const arguments[] = {"hop", NULL};

	process_new(machine, NULL, &program, arguments, hop);
}
