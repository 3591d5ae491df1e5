// SPDX-License-Identifier: ISC
#include "recorded.h"
#include "command.h"
#include "files.h"
#include "judge.h"
#include "mail.h"
#include <string.h>

#define RECORD "/var/lib/stagepost/record/record.db"
/* The number is what a letter's Message-ID begins with, after its bracket. */
#define COPIES                                                                           \
	"SELECT substr(message_id, 2) || ' ' || owner || ' ' || state || ' ' ||"         \
	" (SELECT count(*) FROM participant WHERE participant.message = message.number)" \
	" || ' ' || problem FROM filing JOIN message ON message.number = filing.message" \
	" JOIN mailbox ON mailbox.number = filing.mailbox ORDER BY filing.number"

enum { LINE_SIZE = 512, PARTICIPANTS = 2, WAIT_SECONDS = 10 };

static void check_line(const struct machine *node, const char *line)
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
	if (strcmp(state, "filed") != 0)
		judge_object(JUDGE_RECORD, "%s: message %llu for %s is recorded as %s", node->name,
			     number, owner, state);
	else if (!ledger_record(number, owner))
		judge_object(JUDGE_RECORD, "%s: message %llu for %s is recorded, and should not be",
			     node->name, number, owner);
	if (participants != PARTICIPANTS && strlen(line + length) <= 1)
		judge_object(JUDGE_RECORD, "%s: message %llu has %u participants, and no problem",
			     node->name, number, participants);
}

void recorded_check(const struct machine *node, const char *lines)
{
	char line[LINE_SIZE];

	for (; *lines != '\0'; lines += strcspn(lines, "\n") + 1) {
		snprintf(line, sizeof line, "%.*s", (int)strcspn(lines, "\n"), lines);
		check_line(node, line);
	}
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
	const struct machine *node = context;

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
