// SPDX-License-Identifier: ISC
#include "replies.h"
#include "judge.h"
#include <string.h>

enum { HOSTS_MAX = 4, KEPT = 64, REPLY_SIZE = 256, ODDS = 60 };

/* --- what is said --- */

struct row {
	enum replies_point point;
	const char *text; /* %s: whom the command names */
};

/* In their words, shortened: of Google, Yahoo, Microsoft, and of rspamd and Postfix in front of
 * others. */
static const struct row rows[] = {
	{REPLIES_GREETING, "421 4.7.0 Too many concurrent connections from your address"},
	{REPLIES_GREETING, "421 4.3.2 Service not available, too many connections"},
	{REPLIES_EHLO, "421 4.7.0 Try again later, closing connection"},
	{REPLIES_MAIL, "450 4.7.1 <%s>: Sender address rejected: sending rate too high"},
	{REPLIES_MAIL, "451 4.7.1 Received too many messages from a new or untrusted sender"},
	{REPLIES_MAIL, "421 4.7.26 Mail from this sender is unauthenticated, it is rate limited"},
	{REPLIES_RCPT, "450 4.7.1 <%s>: Recipient rejected: recipient rate limit exceeded"},
	{REPLIES_RCPT, "450 4.2.1 The user receives mail too quickly, send again later"},
	{REPLIES_RCPT, "452 4.2.2 The recipient's inbox is out of storage space"},
	{REPLIES_RCPT, "451 4.3.0 recipient rate limit exceeded"},
	{REPLIES_DATA, "451 4.3.0 Mail server temporarily rejected the message"},
	{REPLIES_TEXT, "421 4.7.0 This message is suspicious due to the nature of its content"},
	{REPLIES_TEXT, "421 4.7.28 An unusual rate of mail containing one of your links"},
	{REPLIES_TEXT, "451 4.7.1 Ratelimit \"to\" exceeded"},
	{REPLIES_TEXT, "451 4.3.0 recipient rate limit exceeded"},
};

/* A session has had enough, or a transaction has, whatever the code. */
static const struct row enough[] = {
	{REPLIES_MAIL, "452 4.5.3 Too many messages sent in this session"},
	{REPLIES_MAIL, "550 5.5.3 Too many messages sent in this session"},
	{REPLIES_MAIL, "554 5.5.3 Maximum number of messages per session exceeded"},
	{REPLIES_DATA, "452 4.4.5 Maximum number of messages per session exceeded"},
	{REPLIES_RCPT, "452 4.5.3 Too many recipients"},
	{REPLIES_RCPT, "552 5.5.3 Too many recipients"},
	{REPLIES_RCPT, "550 5.5.3 Too many recipients"},
	{REPLIES_RCPT, "554 5.5.3 Too many recipients"},
};

static const char *choose(const struct row *from, size_t count, enum replies_point point,
			  const char *whom)
{
	static char reply[REPLY_SIZE];
	const struct row *chosen = NULL;
	uint64_t fitting = 0;
	int length;

	for (size_t i = 0; i < count; i++)
		if (from[i].point == point && kernel_one_in(++fitting))
			chosen = &from[i];
	if (chosen == NULL)
		return NULL;
	length = snprintf(reply, sizeof reply - 2,
			  strstr(chosen->text, "%s") != NULL ? "%.*s%s%s" : "%.*s",
			  (int)strcspn(chosen->text, "%"), chosen->text, whom,
			  strstr(chosen->text, "%s") != NULL ? strstr(chosen->text, "%s") + 2 : "");
	memcpy(reply + length, "\r\n", 3);
	return reply;
}

const char *replies_choose(enum replies_point point, struct replies_count count, const char *whom)
{
	const bool is_enough = point == REPLIES_RCPT ? count.recipients >= REPLIES_RECIPIENTS
						     : count.messages >= REPLIES_MESSAGES;

	if (is_enough && point != REPLIES_TEXT)
		return choose(enough, sizeof enough / sizeof enough[0], point, whom);
	return kernel_one_in(ODDS) ? choose(rows, sizeof rows / sizeof rows[0], point, whom) : NULL;
}

/* --- what was said --- */

static struct host {
	uint32_t address;
	int64_t justified_us; /* the last time that it has said something about itself; 0: never */
	char sender[64];      /* who was answered no since it has taken something; "": nobody */
	struct {
		int64_t us;
		char text[REPLY_SIZE];
	} said[KEPT];
	size_t next;
} hosts[HOSTS_MAX];

void replies_begin(void)
{
	memset(hosts, 0, sizeof hosts);
}

/* NULL: there is none, and no room. */
static struct host *host_of(uint32_t address)
{
	for (size_t i = 0; i < HOSTS_MAX; i++) {
		if (hosts[i].address == 0)
			hosts[i].address = address;
		if (hosts[i].address == address)
			return &hosts[i];
	}
	return NULL;
}

void replies_note(uint32_t address, enum replies_point point, const char *sender, const char *reply)
{
	struct host *host = host_of(address);
	const bool is_first = host != NULL && host->sender[0] == '\0';

	if (host == NULL)
		return;
	host->said[host->next % KEPT].us = kernel_now_us();
	snprintf(host->said[host->next % KEPT].text, REPLY_SIZE, "%.*s", (int)strcspn(reply, "\r"),
		 reply);
	host->next++;
	if (point <= REPLIES_EHLO || (!is_first && strcmp(host->sender, sender) != 0))
		host->justified_us = kernel_now_us();
	if (is_first)
		snprintf(host->sender, sizeof host->sender, "%s", sender);
}

void replies_taken(uint32_t address)
{
	struct host *host = host_of(address);

	if (host != NULL)
		host->sender[0] = '\0';
}

/* --- the judge --- */

static bool is_recent(int64_t us)
{
	return us > 0 && kernel_now_us() - us < REPLIES_RECENT_US;
}

/* Whether TEXT has the words of a reply, without its code. */
static bool has_said(const struct host *host, const char *text)
{
	for (size_t i = 0; i < KEPT; i++)
		if (is_recent(host->said[i].us) && strlen(host->said[i].text) > 4 &&
		    strstr(text, host->said[i].text + 4) != NULL)
			return true;
	return false;
}

static bool is_any(bool (*is)(const struct host *host, const char *text), const char *text)
{
	for (size_t i = 0; i < HOSTS_MAX && hosts[i].address != 0; i++)
		if (is(&hosts[i], text))
			return true;
	return false;
}

static bool is_justified(const struct host *host, const char *text)
{
	(void)text;
	return is_recent(host->justified_us);
}

void replies_judge(const struct machine *machine, const char *name, const char *text)
{
	if (!is_any(is_justified, ""))
		judge_object(JUDGE_REPLIES,
			     "%s: %s is throttled, and has said nothing about itself",
			     machine->name, name);
	if (text == NULL || !is_any(has_said, text))
		judge_object(JUDGE_REPLIES, "%s: %s is throttled, and its words are not told",
			     machine->name, name);
}
