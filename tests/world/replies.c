// SPDX-License-Identifier: ISC
#include "replies.h"
#include "accounts.h"
#include "judge.h"
#include <err.h>
#include <stdio.h>
#include <string.h>

enum { HOSTS_MAX = 4, KEPT = 1024, REPLY_SIZE = 256, ODDS = 60, ROWS_MAX = 256 };

/* --- what is said --- */

/* Replies of tests/common/provider_replies.txt that are for now: each may come at any point. Others
 * would be right to end in a report. */
static struct {
	char text[REPLY_SIZE];
} rows[ROWS_MAX];
static size_t row_count;

/* LINE: who, code, enhanced status or "-", text. */
static void read_row(const char *line)
{
	char code[4];
	char status[16];
	int text = 0;

	if (line[0] == '#' || sscanf(line, "%*s %3s %15s %n", code, status, &text) != 2 ||
	    code[0] != '4' || row_count == ROWS_MAX)
		return;
	snprintf(rows[row_count++].text, REPLY_SIZE, "%s %s%s%.*s", code,
		 status[0] == '-' ? "" : status, status[0] == '-' ? "" : " ",
		 (int)strcspn(line + text, "\n"), line + text);
}

static void read_rows(void)
{
	FILE *file = fopen(PROVIDER_REPLIES, "r");
	char line[REPLY_SIZE];

	if (file == NULL)
		err(1, "%s", PROVIDER_REPLIES);
	row_count = 0;
	while (fgets(line, sizeof line, file) != NULL)
		read_row(line);
	fclose(file);
}

struct row {
	enum replies_point point;
	const char *text;
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

static char answer[REPLY_SIZE + 2];

static const char *say(const char *text)
{
	snprintf(answer, sizeof answer, "%s\r\n", text);
	return answer;
}

/* NULL: it does not say so at POINT. */
static const char *say_enough(enum replies_point point)
{
	const char *text = NULL;
	uint64_t fitting = 0;

	for (size_t i = 0; i < sizeof enough / sizeof enough[0]; i++)
		if (enough[i].point == point && kernel_one_in(++fitting))
			text = enough[i].text;
	return text != NULL ? say(text) : NULL;
}

const char *replies_choose(enum replies_point point, struct replies_count count)
{
	const bool is_enough = point == REPLIES_RCPT ? count.recipients >= REPLIES_RECIPIENTS
						     : count.messages >= REPLIES_MESSAGES;

	if (is_enough && point != REPLIES_TEXT)
		return say_enough(point);
	return kernel_one_in(ODDS) ? say(rows[kernel_below(row_count)].text) : NULL;
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
	read_rows();
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
	if (point <= REPLIES_EHLO || (point == REPLIES_MAIL && strncmp(reply, "421", 3) == 0) ||
	    (!is_first && strcmp(host->sender, sender) != 0))
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

/* What a node of this world has said by TEXT, which nobody notes; NULL: another host has. */
static const char *words_of_node(const char *text)
{
	const char *said = NULL;

	for (const struct books *books = accounts_first(); books != NULL && said == NULL;
	     books = books->next) {
		const uint32_t address = books->machine->address;
		char before[40];

		snprintf(before, sizeof before, "[%u.%u.%u.%u] said: ", address >> 24,
			 address >> 16 & 0xff, address >> 8 & 0xff, address & 0xff);
		said = strstr(text, before);
		said = said != NULL ? said + strlen(before) : NULL;
	}
	return said;
}

void replies_judge(const struct machine *machine, const char *name, const char *text)
{
	const char *words = text != NULL ? words_of_node(text) : NULL;

	if (words != NULL) { /* one that stops ends its sessions so */
		if (strncmp(words, "421 ", 4) != 0)
			judge_object(JUDGE_REPLIES, "%s: %s is throttled, and has only said %s",
				     machine->name, name, words);
		return;
	}
	if (!is_any(is_justified, ""))
		judge_object(JUDGE_REPLIES,
			     "%s: %s is throttled, and has said nothing about itself",
			     machine->name, name);
	if (text == NULL || !is_any(has_said, text))
		judge_object(JUDGE_REPLIES, "%s: %s is throttled, and its words are not told",
			     machine->name, name);
}
