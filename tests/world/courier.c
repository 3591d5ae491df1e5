// SPDX-License-Identifier: ISC
/* Who gives mail to a node by QMTP. */
#include "accounts.h"
#include "mail.h"
#include "os/socket/socket.h"
#include "talk.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 209, USERS = 20, AT_ONCE = 6, RECIPIENTS = 4, RECIPIENT_SIZE = 64, CUT = 10 };

static const int64_t ANSWER_US = 600 * INT64_C(1000000);
static const int64_t AFTER_US = 2 * INT64_C(1000000); /* what needs no answer gets none */

/* A text that grows, in the process's memory. */
struct text {
	char *data;
	size_t size;
};

static void append(struct text *text, const void *data, size_t size)
{
	text->data = world_realloc(text->data, text->size + size);
	memcpy(text->data + text->size, data, size);
	text->size += size;
}

static void append_netstring(struct text *text, const void *data, size_t size)
{
	char length[24];

	append(text, length, (size_t)snprintf(length, sizeof length, "%zu:", size));
	append(text, data, size);
	append(text, ",", 1);
}

/* A message that is being given. */
struct package {
	uint64_t number;
	size_t count; /* of recipients */
};

/* Lines end as in SMTP, which the first byte says, or as in files. */
static void append_message(struct text *text, uint64_t number)
{
	struct text message = {0};
	char *letter;
	const size_t size = ledger_text(number, &letter) - strlen(".\r\n");

	if (kernel_one_in(2)) {
		append(&message, "\r", 1);
		append(&message, letter, size);
	} else {
		append(&message, "\n", 1);
		for (size_t i = 0; i < size; i++)
			if (letter[i] != '\r')
				append(&message, letter + i, 1);
	}
	append_netstring(text, message.data, message.size);
	world_free(message.data);
	free(letter);
}

/* No two of them have the same user name. */
static void append_recipients(struct text *text, const struct client *client,
			      struct package *package)
{
	struct text recipients = {0};
	const size_t user = kernel_below(USERS);
	size_t domains = 0;

	while (client->domains[domains] != NULL)
		domains++;
	package->count = 1 + (kernel_one_in(3) ? kernel_below(RECIPIENTS) : 0);
	for (size_t i = 0; i < package->count; i++) {
		char recipient[RECIPIENT_SIZE];

		snprintf(recipient, sizeof recipient, "%s%zu@%s",
			 kernel_one_in(RECIPIENTS) ? HOP_REFUSED : "user", (user + i) % USERS,
			 client->domains[kernel_below(domains)]);
		ledger_add(package->number, recipient);
		append_netstring(&recipients, recipient, strlen(recipient));
	}
	append_netstring(text, recipients.data, recipients.size);
	world_free(recipients.data);
}

/* Whom it is for must be known before: it may be delivered before the client hears of it. */
static void append_package(struct text *text, const struct client *client, struct package *package)
{
	struct text recipients = {0};

	package->number = ledger_new();
	append_recipients(&recipients, client, package);
	append_message(text, package->number);
	append_netstring(text, CLIENT_SENDER, strlen(CLIENT_SENDER));
	append(text, recipients.data, recipients.size);
	world_free(recipients.data);
}

/* An answer for each recipient; only when all are K the message is promised. */
static bool hear_answers(const struct client *client, struct talk *talk,
			 const struct package *package)
{
	size_t promised = 0;

	for (size_t i = 0; i < package->count; i++) {
		const int64_t since_us = kernel_now_us();
		const bool is_heard = talk_hear_netstring(talk, ANSWER_US);

		waiting_check_client(client->address, since_us, "an answer");
		if (!is_heard)
			return false;
		if (talk->line[0] == 'K')
			promised++;
		else if (talk->line[0] != 'Z') /* all of them are somebody */
			ledger_complain(talk->line, talk->line[0]);
	}
	if (promised == package->count)
		client_note_promise(client, talk->line, package->number);
	return promised == package->count;
}

/* The next packages of the connection, the last one perhaps not to its end: how many are promised.
 */
static uint64_t give_at_once(const struct client *client, struct talk *talk, size_t count)
{
	struct package packages[AT_ONCE] = {0};
	struct text text = {0};
	const bool is_cut = kernel_one_in(CUT);
	uint64_t given = 0;
	size_t last = 0;
	bool is_written;

	for (size_t i = 0; i < count; i++) {
		last = text.size;
		append_package(&text, client, &packages[i]);
	}
	if (is_cut) {
		text.size = last + kernel_below(text.size - last);
		ledger_cut(packages[count - 1].number);
	}
	is_written = talk_write(talk, text.data, text.size);
	world_free(text.data);
	if (!is_written || (is_cut && kernel_one_in(2)))
		return 0; /* who has heard nothing has no promise */
	for (size_t i = 0; i < count - is_cut; i++)
		given += hear_answers(client, talk, &packages[i]);
	if (is_cut && talk_hear_netstring(talk, AFTER_US) && talk->line[0] == 'K')
		ledger_complain("half a package", 'K');
	return given;
}

static uint64_t give_some(struct client *client, uint64_t left)
{
	struct talk talk = {.socket = talk_connect(client->address, PORT)};
	const uint64_t most = left < AT_ONCE ? left : AT_ONCE;
	const size_t count = (size_t)(1 + kernel_below(most));
	uint64_t given = 0;

	if (talk.socket < 0) {
		waiting_check_client(client->address, client->connected_us, "a connection");
		return 0;
	}
	client->connected_us = kernel_now_us();
	given = give_at_once(client, &talk, count);
	if (given == count && given < left && kernel_one_in(2))
		given += give_at_once(client, &talk, 1);
	os_socket_close(talk.socket);
	return given;
}

void courier_start(struct machine *machine, struct client *client)
{
	static const struct world_program program = {"courier", client_run, NULL};
	static const char *const arguments[] = {"courier", NULL};

	client->give = give_some;
	process_new(machine, NULL, &program, arguments, client);
}
