// SPDX-License-Identifier: ISC
#include "recorded.h"
#include "command.h"
#include "files.h"
#include "judge.h"
#include "letter.h"
#include "mail.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

#define RECORD "/var/lib/stagepost/record/record.db"
/* The number is what a letter's Message-ID begins with, after its bracket. */
#define COPIES                                                                           \
	"SELECT substr(message_id, 2) || ' ' || owner || ' ' || state || ' ' ||"         \
	" (SELECT count(*) FROM participant WHERE participant.message = message.number)" \
	" || ' ' || problem FROM filing JOIN message ON message.number = filing.message" \
	" JOIN mailbox ON mailbox.number = filing.mailbox ORDER BY filing.number"

#define SENT "/var/mail/client.example/world/.Sent" /* of CLIENT_SENDER */

enum { LINE_SIZE = 512, PARTICIPANTS = 2, WAIT_SECONDS = 10 };

/* --- the sender's copies --- */

/* How many copies of each message are in the sender's folder of a node; by number. */
struct sent {
	unsigned *counts;
	uint64_t size;
};

/* What was given up. */
static struct given_up {
	struct given_up *next;
	const struct machine *node;
	unsigned long long number;
} * given_up;

void recorded_given_up(const struct machine *node, const char *line)
{
	const char *id = strstr(line, " message_id=<");
	struct given_up *one = calloc(1, sizeof *one);

	if (one == NULL)
		err(1, "no memory");
	*one = (struct given_up){.next = given_up, .node = node, .number = UINT64_MAX};
	if (id != NULL)
		sscanf(id, " message_id=<%llu@", &one->number);
	given_up = one;
}

void recorded_end(void)
{
	while (given_up != NULL) {
		struct given_up *one = given_up;

		given_up = one->next;
		free(one);
	}
}

static bool was_given_up(const struct machine *node, unsigned long long number)
{
	for (const struct given_up *one = given_up; one != NULL; one = one->next)
		if (one->node == node && one->number == number)
			return true;
	return false;
}

static void count_sent(struct sent *sent, uint64_t number)
{
	if (number >= sent->size) {
		const uint64_t size = 2 * number + 64;

		sent->counts = realloc(sent->counts, size * sizeof *sent->counts);
		if (sent->counts == NULL)
			err(1, "no memory");
		memset(sent->counts + sent->size, 0, (size - sent->size) * sizeof *sent->counts);
		sent->size = size;
	}
	sent->counts[number]++;
}

static void read_sent(struct machine *node, const char *box, struct sent *sent)
{
	char path[512];
	size_t size = 0;
	char *names;

	snprintf(path, sizeof path, SENT "/%s", box);
	names = files_names(node, path, &size);
	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1) {
		size_t length;
		char *text;

		snprintf(path, sizeof path, SENT "/%s/%s", box, names + i);
		text = files_read(node, path, &length);
		if (text == NULL)
			errx(1, "%s cannot be read", path);
		count_sent(sent, letter_number(text));
		free(text);
	}
	if (names != NULL)
		disk_list_free(names);
}

/* Whether one of NUMBER is there, that no line was about. */
static bool take_sent(const struct sent *sent, uint64_t number)
{
	if (number >= sent->size || sent->counts[number] != 1)
		return false;
	sent->counts[number] = 0;
	return true;
}

static void check_sent(const struct machine *node, const struct sent *sent)
{
	for (uint64_t number = 0; number < sent->size; number++)
		if (sent->counts[number] > 0 && !ledger_has_moved(number))
			judge_object(JUDGE_RECORD,
				     "%s: message %llu was filed %u times for its sender, which is "
				     "not what is recorded",
				     node->name, (unsigned long long)number, sent->counts[number]);
}

/* --- the record --- */

static void check_line(const struct machine *node, const struct sent *sent, const char *line)
{
	char owner[64];
	char state[16];
	unsigned long long number;
	unsigned participants;
	int length = 0;

	if (sscanf(line, "%llu@world.example> %63s %15s %u%n", &number, owner, state, &participants,
		   &length) != 4) {
		judge_object(JUDGE_RECORD, "%s: \"%s\" is not understood", node->name, line);
		return;
	}
	if (strcmp(state, "filed") != 0 &&
	    (ledger_has_moved(number) ||
	     (strcmp(owner, CLIENT_SENDER) == 0 && was_given_up(node, number))))
		return;
	if (strcmp(state, "filed") != 0)
		judge_object(JUDGE_RECORD, "%s: message %llu for %s is recorded as %s", node->name,
			     number, owner, state);
	else if (strcmp(owner, CLIENT_SENDER) == 0 ? !take_sent(sent, number)
						   : !ledger_record(number, owner))
		judge_object(JUDGE_RECORD, "%s: message %llu for %s is recorded, and should not be",
			     node->name, number, owner);
	if (participants != PARTICIPANTS && strlen(line + length) <= 1)
		judge_object(JUDGE_RECORD, "%s: message %llu has %u participants, and no problem",
			     node->name, number, participants);
}

void recorded_check(struct machine *node, const char *lines)
{
	char line[LINE_SIZE];
	struct sent sent = {0};

	read_sent(node, "new", &sent);
	read_sent(node, "cur", &sent);

	for (; *lines != '\0'; lines += strcspn(lines, "\n") + 1) {
		snprintf(line, sizeof line, "%.*s", (int)strcspn(lines, "\n"), lines);
		check_line(node, &sent, line);
	}
	check_sent(node, &sent);
	free(sent.counts);
}

void recorded_check_all(void)
{
	const uint64_t missing = ledger_unrecorded();

	if (missing > 0)
		judge_object(JUDGE_RECORD, "%llu copies are filed, and not recorded",
			     (unsigned long long)missing);
}

static void read_all(void *context, int status, const char *output)
{
	struct machine *node = context;

	if (status != 0)
		judge_object(JUDGE_RECORD, "%s: the record cannot be read: %s", node->name, output);
	else
		recorded_check(node, output);
}

void recorded_look_at_end(struct machine *node)
{
	static const char *const arguments[] = {RECORD, COPIES, NULL};

	if (!files_exist(node, RECORD))
		return;
	command_run(node, "sql", arguments, read_all, node);
	world_run(kernel_now_us() + WAIT_SECONDS * INT64_C(1000000));
}
