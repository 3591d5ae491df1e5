// SPDX-License-Identifier: ISC
/* The judge of damage: what the log, and repairs, say of it. */
#include "damages.h"
#include "judge.h"
#include "mail.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_SIZE = 128 };

/* What is said of a message with these events. */
static const struct {
	const char *event;
	bool parts; /* it is in the queue no more */
} events[] = {
	{"data_damaged", false},    {"records_damaged", false}, {"message_damaged", false},
	{"message_rebuilt", false}, {"message_lost", true},     {"message_litter", true},
};

/* The value of FIELD in LINE, or "". */
static void find_field(const char *line, const char *field, char out[VALUE_SIZE])
{
	char wanted[32];
	const char *found;

	snprintf(wanted, sizeof wanted, " %s=", field);
	found = strstr(line, wanted);
	snprintf(out, VALUE_SIZE, "%.*s",
		 found != NULL ? (int)strcspn(found + strlen(wanted), " ") : 0,
		 found != NULL ? found + strlen(wanted) : "");
}

/* The number at the end of PATH in the queue, damaged/ or litter/, where another file of its name
 * has a dot and a number more. */
static uint64_t number_of_path(const char *path)
{
	const char *at = strrchr(path, '/');

	if (at == NULL)
		return 0;
	while (strchr(at + 1, '_') != NULL)
		at = strchr(at + 1, '_');
	return strtoull(at + 1, NULL, 10);
}

/* Whose damage LINE is about: what says the birth is the surest. */
static struct damage *find_damage(const struct machine *machine, const char *line)
{
	char id[VALUE_SIZE], number[VALUE_SIZE], path[VALUE_SIZE];
	struct damage *found;

	find_field(line, "id", id);
	find_field(line, "number", number);
	find_field(line, "path", path);
	found = id[0] != '\0' ? damages_of_id(machine, id) : NULL;
	if (found == NULL && id[0] != '\0')
		found = damages_of_number(machine, strtoull(id, NULL, 10));
	if (found == NULL && number[0] != '\0')
		found = damages_of_number(machine, strtoull(number, NULL, 10));
	if (found == NULL && path[0] != '\0')
		found = damages_of_number(machine, number_of_path(path));
	return found;
}

/* Only the log tells, of what is in the queue still: who repairs it reads what is printed now. */
static void take(const struct machine *machine, const char *line, bool parts, bool tells)
{
	char id[VALUE_SIZE];
	struct damage *damage = find_damage(machine, line);

	if (damage == NULL && machine->boots > 0 &&
	    (strstr(line, "message_litter") != NULL || strstr(line, "set_aside") != NULL))
		return; /* a power cut leaves the same */
	if (damage == NULL) {
		judge_object(JUDGE_DAMAGE, "%s calls damaged what is whole: %.300s", machine->name,
			     line);
		return;
	}
	damage->is_told |= tells || parts;
	damage->is_parted |= parts;
	find_field(line, "id", id);
	if (id[0] != '\0' && strtoull(id, NULL, 10) != damage->number)
		damage->instead = strtoull(id, NULL, 10);
}

/* An empty file in todo/ is what a failed sync leaves, too: it is cleaned away. */
static void take_cleaned(const struct machine *machine, const char *line)
{
	struct damage *damage;
	char path[VALUE_SIZE];

	find_field(line, "path", path);
	damage = strncmp(path, "todo/", 5) == 0 ? damages_of_number(machine, number_of_path(path))
						: NULL;
	if (damage != NULL)
		damage->is_told = damage->is_parted = true;
}

void damages_hear(const struct machine *machine, const char *event, const char *line)
{
	if (strcmp(event, "queue_cleaned") == 0)
		take_cleaned(machine, line);
	for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
		if (strcmp(event, events[i].event) == 0)
			take(machine, line, events[i].parts, true);
}

static void hear_json(const struct machine *machine, const char *line)
{
	world_log("repair", "%s: %s", machine->name, line);
	static const char aside[] = "{\"set_aside\":\"";
	static const char lost[] = "{\"lost\":";
	static const char damage[] = "\"path\":\"";
	char text[VALUE_SIZE];
	const char *path = strstr(line, damage);

	if (strncmp(line, lost, sizeof lost - 1) == 0)
		snprintf(text, sizeof text, " number=%.*s",
			 (int)strspn(line + sizeof lost - 1, "0123456789"), line + sizeof lost - 1);
	else if (strncmp(line, aside, sizeof aside - 1) == 0)
		snprintf(text, sizeof text, " event=set_aside path=%.*s",
			 (int)strcspn(line + sizeof aside - 1, "\""), line + sizeof aside - 1);
	else if (path != NULL)
		snprintf(text, sizeof text, " path=%.*s",
			 (int)strcspn(path + sizeof damage - 1, "\""), path + sizeof damage - 1);
	else
		return;
	take(machine, text, path == NULL || line[2] == 'l', false);
}

void damages_hear_repair(const struct machine *machine, const char *output)
{
	while (*output != '\0') {
		char line[4096];
		const size_t length = strcspn(output, "\n");

		snprintf(line, sizeof line, "%.*s", (int)length, output);
		hear_json(machine, line);
		output += length + (output[length] == '\n');
	}
}
