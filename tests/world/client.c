// SPDX-License-Identifier: ISC
/* Who gives mail to a node. */
#include "accounts.h"
#include "lists.h"
#include "login.h"
#include "mail.h"
#include "os/socket/socket.h"
#include "people.h"
#include "states.h"
#include "talk.h"
#include <stdlib.h>
#include <string.h>

enum {
	SMTP_PORT = 25,
	LMTP_PORT = 24,
	SUBMISSION_PORT = 587,
	USERS = 20,
	ON_ONE_CONNECTION = 10,
	ODDITY = 12,
	CUT = 40,
	STRANGERS = 5
};
enum {
	SEVERAL = 3,
	FEW = 6,
	CROWDS = 60,
	CROWD = 200,
	RECIPIENTS_MAX = 1000,
	LATER = 6,
	TO_LISTS = 6
};
enum { RECIPIENT_SIZE = 64 };

static const int64_t AGAIN_US = 10 * INT64_C(1000000);

/* As talk_reply(); a node that lets its client wait is judged. */
static int hear_reply(struct talk *talk)
{
	const struct client *client = kernel_process()->context;
	const int64_t since_us = kernel_now_us();
	int reply = talk_reply(talk);

	waiting_check_client(client->address, since_us, "a reply");
	return reply;
}

static bool ask(struct talk *talk, const char *text, int code)
{
	return talk_say(talk, text) && hear_reply(talk) == code;
}

/* A message that is being given, and those who have been accepted for it. */
struct offer {
	uint64_t number;
	char (*recipients)[RECIPIENT_SIZE];
	size_t count;
	size_t accepted;
};

/* Of others nobody says, so that a node which is not set up yet may refuse them. */
static bool may_accept(const char *recipient, int64_t asked_us)
{
	return lists_have(recipient)    ? lists_may_accept(recipient, asked_us)
	       : people_have(recipient) ? people_may_accept(recipient, asked_us)
					: true;
}

static bool may_refuse(const char *recipient, int64_t asked_us)
{
	return lists_have(recipient)    ? lists_may_refuse(recipient, asked_us)
	       : people_have(recipient) ? people_may_refuse(recipient, asked_us)
					: true;
}

/* Hears the answer to "RCPT", which was asked at ASKED_US; what is no right answer is told. */
static void hear_recipient(struct talk *talk, struct offer *offer, size_t index, int64_t asked_us)
{
	const char *recipient = offer->recipients[index];
	int reply = hear_reply(talk);

	if ((reply == 250 && !may_accept(recipient, asked_us)) ||
	    (reply / 100 == 5 && !may_refuse(recipient, asked_us)))
		ledger_complain(recipient, reply);
	if (reply != 250)
		return;
	ledger_add(offer->number, recipient);
	offer->accepted++;
}

static bool say_recipient(struct talk *talk, const struct offer *offer, size_t index)
{
	char line[128];

	snprintf(line, sizeof line, "RCPT TO:<%s>\r\n", offer->recipients[index]);
	return talk_say(talk, line);
}

/* A report with many recipients has no room for the message: it names the envelope (RFC 3461). */
static bool say_sender(struct talk *talk, const struct offer *offer)
{
	char line[128];

	snprintf(line, sizeof line, "MAIL FROM:<" CLIENT_SENDER "> ENVID=%llu\r\n",
		 (unsigned long long)offer->number);
	return talk_say(talk, offer->count > FEW ? line : "MAIL FROM:<" CLIENT_SENDER ">\r\n");
}

/* The reply to MAIL, which was said at ASKED_US. */
static bool hear_sender(const struct client *client, struct talk *talk, int64_t asked_us)
{
	const int code = hear_reply(talk);

	if (client->is_submitter)
		login_check_mail(&client->login, code, asked_us);
	return code == 250;
}

static bool open_by_steps(const struct client *client, struct talk *talk, struct offer *offer)
{
	const int64_t mail_us = kernel_now_us();

	if (!say_sender(talk, offer) || !hear_sender(client, talk, mail_us))
		return false;
	for (size_t i = 0; i < offer->count; i++) {
		int64_t asked_us = kernel_now_us();

		if (!say_recipient(talk, offer, i))
			return false;
		hear_recipient(talk, offer, i, asked_us);
	}
	return offer->accepted > 0 && ask(talk, "DATA\r\n", 354);
}

/* RFC 2920: all commands, then all replies. */
static bool open_at_once(const struct client *client, struct talk *talk, struct offer *offer)
{
	int64_t asked_us = kernel_now_us();
	bool is_open = say_sender(talk, offer);

	for (size_t i = 0; i < offer->count; i++)
		is_open = is_open && say_recipient(talk, offer, i);
	if (!is_open || !talk_say(talk, "DATA\r\n") || !hear_sender(client, talk, asked_us))
		return false;
	for (size_t i = 0; i < offer->count; i++)
		hear_recipient(talk, offer, i, asked_us);
	return hear_reply(talk) == 354 && offer->accepted > 0;
}

/* What few clients say, and the answer to it. */
static bool say_oddity(struct talk *talk)
{
	static const struct {
		const char *line;
		int code;
	} oddities[] = {
		{"NOOP still here\r\n", 250},
		{"rset\r\n", 250},
		{"DATA\r\n", 503},
		{"RCPT TO:<user1@one.example>\r\n", 503},
		{"MAIL FROM:<client.example\r\n", 501},
		{"MAIL FROM:<a@client.example> COLOUR=red\r\n", 555},
		{"HELP ME\r\n", 214},
		{"GET / HTTP/1.0\r\n", 554}, /* and the session ends */
	};
	const size_t which = kernel_below(sizeof oddities / sizeof oddities[0]);
	int reply;

	if (!talk_say(talk, oddities[which].line))
		return false;
	reply = hear_reply(talk);
	if (reply != 0 && reply != 421 && reply != oddities[which].code)
		ledger_complain(oddities[which].line, reply);
	return reply == oddities[which].code;
}

void client_note_promise(const struct client *client, const char *reply, uint64_t number)
{
	static const char queued[] = "queued as ";
	const char *id = strstr(reply, queued);

	ledger_promise(number);
	if (id == NULL)
		return;
	states_promised(client->address, id + sizeof queued - 1, number);
	accounts_promised(client->address, id + sizeof queued - 1, number);
}

/* One reply; by LMTP one for each recipient, and the message is promised only if all are good. */
static bool hear_verdict(const struct client *client, struct talk *talk, const struct offer *offer)
{
	bool all = true;

	for (size_t i = 0; i < (client->is_lmtp ? offer->accepted : 1); i++) {
		const int reply = hear_reply(talk);

		all = all && reply == 250;
		if (client->is_submitter)
			login_check_text(&client->login, reply);
		if (reply == 0)
			return false;
	}
	return all;
}

static bool give_text(const struct client *client, struct talk *talk, const struct offer *offer)
{
	bool is_cut = kernel_one_in(CUT);
	char *text;
	size_t size = ledger_text(offer->number, &text);
	bool is_given;

	if (is_cut)
		ledger_cut(offer->number);
	is_given = talk_write(talk, text, is_cut ? kernel_below(size - 3) : size) && !is_cut &&
		   hear_verdict(client, talk, offer);
	free(text);
	if (is_given)
		client_note_promise(client, talk->line, offer->number);
	return is_given;
}

static bool give(const struct client *client, struct talk *talk, struct offer *offer)
{
	if (!client->is_lmtp && !client->is_submitter && kernel_one_in(ODDITY) && !say_oddity(talk))
		return false;
	if (client->is_submitter)
		login_pause(talk, &client->login);
	offer->number = ledger_new();
	return (kernel_one_in(3) ? open_at_once(client, talk, offer)
				 : open_by_steps(client, talk, offer)) &&
	       give_text(client, talk, offer);
}

static bool greet(struct client *client, struct talk *talk)
{
	return hear_reply(talk) == 220 &&
	       ask(talk, client->is_lmtp ? "LHLO client.example\r\n" : "EHLO client.example\r\n",
		   250) &&
	       (!client->is_submitter || login_say(talk, hear_reply, &client->login));
}

/* --- for whom --- */

/* How many recipients a message has: mostly one, else a few, seldom a crowd. */
static size_t choose_count(const struct client *client, size_t users)
{
	size_t count = 1;

	if (!client->is_single && kernel_one_in(SEVERAL))
		count += kernel_below(FEW);
	if (!client->is_single && kernel_one_in(CROWDS))
		count += kernel_below(CROWD);
	return count < users ? count : users;
}

/* Each of them has a user name that no other has: so a place where mail comes to says whose it
 * is. */
static void choose_recipients(const struct client *client, struct offer *offer)
{
	const size_t users = client->users > 0 ? client->users : USERS;
	const size_t all = users > CROWD ? users : CROWD;
	size_t user = kernel_below(users);
	size_t domains = 0;

	while (client->domains[domains] != NULL)
		domains++;
	offer->count = choose_count(client, client->users > 0 ? users : all);
	for (size_t i = 0; i < offer->count; i++) {
		const char *kind = kernel_one_in(STRANGERS) ? HOP_REFUSED
				   : kernel_one_in(LATER)   ? HOP_LATER
				   : kernel_one_in(LATER)   ? HOP_NEVER
							    : "user";

		do
			snprintf(offer->recipients[i], RECIPIENT_SIZE, "%s%d@%s", kind,
				 (int)((user + i) % (offer->count > users ? all : users)),
				 client->domains[kernel_below(domains)]);
		while (i >= FEW && people_have(offer->recipients[i])); /* few of them are there */
	}
}

/* One of them may be a list. */
static void choose_list(const struct client *client, struct offer *offer)
{
	if (client->knows_lists && lists_are_ready() && kernel_one_in(TO_LISTS))
		snprintf(offer->recipients[kernel_below(offer->count)], RECIPIENT_SIZE, "%s",
			 lists_name(kernel_below(LISTS)));
}

/* Its control file has to be written again and again. */
static void choose_great(struct offer *offer)
{
	static const char *const kinds[] = {"user",     HOP_REFUSED, HOP_NEVER,  HOP_LATER,
					    HOP_LATEST, HOP_LATEST,  HOP_LATEST, HOP_LATEST};

	offer->count = RECIPIENTS_MAX;
	for (size_t i = 0; i < offer->count; i++)
		snprintf(offer->recipients[i], RECIPIENT_SIZE, "%s%zu@hop.example",
			 kinds[kernel_below(sizeof kinds / sizeof kinds[0])], i);
}

/* One that was refused, or whose reply was lost, is another message. */
static uint64_t give_on(struct client *client, struct talk *talk, uint64_t left)
{
	const uint64_t wanted = 1 + kernel_below(ON_ONE_CONNECTION);
	struct offer offer = {.recipients = world_malloc(RECIPIENTS_MAX * RECIPIENT_SIZE)};
	uint64_t given = 0;

	while (given < wanted && given < left) {
		offer.accepted = 0;
		if (client->is_great)
			choose_great(&offer);
		else
			choose_recipients(client, &offer);
		choose_list(client, &offer);
		if (!give(client, talk, &offer))
			break;
		client->is_great = false;
		given++;
	}
	world_free(offer.recipients);
	return given;
}

static uint16_t port_of(const struct client *client)
{
	return client->is_lmtp ? LMTP_PORT : client->is_submitter ? SUBMISSION_PORT : SMTP_PORT;
}

static uint64_t give_some(struct client *client, uint64_t left)
{
	struct talk talk = {.socket = talk_connect(client->address, port_of(client))};
	uint64_t given = 0;

	if (talk.socket < 0) {
		waiting_check_client(client->address, client->connected_us, "a connection");
		return 0;
	}
	client->connected_us = kernel_now_us();
	if (greet(client, &talk)) {
		given = give_on(client, &talk, left);
		if (!kernel_one_in(4) && talk_say(&talk, "QUIT\r\n"))
			(void)hear_reply(&talk);
	}
	os_socket_close(talk.socket);
	return given;
}

int client_run(int argc, char **argv)
{
	struct client *client = kernel_process()->context;
	uint64_t left = client->count;

	(void)argc;
	(void)argv;
	while (left > 0) {
		uint64_t given = client->give(client, left);

		left -= given;
		task_sleep_until(kernel_now_us() +
				 (given == 0
					  ? AGAIN_US
					  : (int64_t)kernel_below(2 * (uint64_t)client->pause_us)));
	}
	client->is_done = true;
	return 0;
}

void client_start(struct machine *machine, struct client *client)
{
	static const struct world_program program = {"client", client_run, NULL};
	static const char *const arguments[] = {"client", NULL};

	client->give = give_some;
	process_new(machine, NULL, &program, arguments, client);
}
