// SPDX-License-Identifier: ISC
/* The judge of states, after a power cut: what bounce/ is for. */
#include "accounts.h"
#include "files.h"
#include "judge.h"
#include "states.h"
#include <stdlib.h>
#include <string.h>

/* As a text without NULs: a power cut leaves some in a line that was being appended. */
static char *read_in(struct machine *machine, const char *folder, uint64_t number)
{
	char path[128];
	size_t size = 0;
	char *text;

	snprintf(path, sizeof path, "/var/queue/%s/%llu/%llu", folder,
		 (unsigned long long)(number % STATES_SPLIT), (unsigned long long)number);
	text = files_read(machine, path, &size);
	for (size_t i = 0; text != NULL && i < size; i++)
		if (text[i] == '\0')
			text[i] = '?';
	return text;
}

/* How many lines of TEXT begin with WORD. */
static size_t count_lines(const char *text, const char *word)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
		count += at > text && at[-1] == '\n';
	return count;
}

/* Whether one of its deliveries is still to be tried. */
static bool is_open(const char *control)
{
	const char *mapped = strstr(control, "\nmapped: ");
	const char *count = mapped != NULL ? strstr(mapped, "count=") : NULL;

	return count != NULL &&
	       strtoull(count + strlen("count="), NULL, 10) >
		       count_lines(control, "done: ") + count_lines(control, "fail: ");
}

/* The first failure that CONTROL has and BOUNCES have not, up to its number; false: none. */
static bool find_missing(const char *control, const char *bounces, char *out, size_t size)
{
	static const char word[] = "\nfail: ";

	for (const char *at = control; (at = strstr(at, word)) != NULL;) {
		at++;
		if (strchr(at, '\n') == NULL)
			return false; /* torn */
		snprintf(out, size, "%.*s ", (int)strcspn(at + sizeof word - 2, " ") + 6, at);
		if (bounces == NULL || strstr(bounces, out) == NULL)
			return true;
	}
	return false;
}

void states_check_failures(struct machine *machine, uint64_t number)
{
	char *control = read_in(machine, "info", number);
	char *bounces = read_in(machine, "bounce", number);
	char missing[64];

	/* when none is left to be tried they may have been reported */
	if (control != NULL && is_open(control) &&
	    find_missing(control, bounces, missing, sizeof missing))
		judge_object(JUDGE_STATES, "%s: message %llu: bounce/ does not know \"%s\"",
			     machine->name, (unsigned long long)number, missing);
	free(control);
	free(bounces);
}
