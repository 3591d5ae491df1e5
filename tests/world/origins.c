// SPDX-License-Identifier: ISC
#include "origins.h"
#include "files.h"
#include "judge.h"
#include "queue_files.h"
#include "settings.h"
#include <stdlib.h>
#include <string.h>

enum { WORD = 128 };

static struct {
	struct machine *machines[NODES_MAX];
	const char *hosts[NODES_MAX];
	size_t count;
	uint64_t checked;
} origins;

void origins_begin(void)
{
	memset(&origins, 0, sizeof origins);
}

void origins_add(struct machine *machine, const char *host)
{
	origins.machines[origins.count] = machine;
	origins.hosts[origins.count++] = host;
}

uint64_t origins_checked(void)
{
	return origins.checked;
}

/* What the last line FIELD of TEXT says: the envelope is the end of a file. */
static bool find_word(const char *text, size_t size, const char *field, char word[WORD])
{
	const char *end = text + size;
	const char *found = NULL;

	for (const char *at = text; (at = memmem(at, (size_t)(end - at), field, strlen(field)));) {
		at += strlen(field);
		found = at;
	}
	if (found != NULL)
		snprintf(word, WORD, "%.*s", (int)strcspn(found, " \n"), found);
	return found != NULL;
}

static bool read_word(struct machine *machine, const char *path, const char *field, char word[WORD])
{
	size_t size = 0;
	char *text = files_read(machine, path, &size);
	const bool is_there = text != NULL && find_word(text, size, field, word);

	free(text);
	return is_there;
}

static struct machine *machine_of(const char *host, size_t length)
{
	for (size_t i = 0; i < origins.count; i++)
		if (strlen(origins.hosts[i]) == length &&
		    strncmp(origins.hosts[i], host, length) == 0)
			return origins.machines[i];
	return NULL;
}

/* The sender's file of the message of which PACKAGE, "HOST/ID" and perhaps ".FIRST", is all or a
 * part. */
static struct machine *find_sent(char *package, char *path, size_t size)
{
	const size_t host = strcspn(package, "/");
	struct machine *sender = machine_of(package, host);
	uint64_t number;

	if (sender == NULL || package[host] == '\0')
		return NULL;
	package[host + strcspn(package + host, ".")] = '\0';
	number = strtoull(package + host + 1, NULL, 10);
	if (queue_file_is_damaged(sender, number) || !queue_file_find(sender, number, path, size))
		return NULL;
	return sender;
}

void origins_check(struct machine *machine, const char *path)
{
	char package[WORD];
	char origin[WORD];
	char wanted[WORD];
	char sent[512];
	struct machine *sender;

	if (origins.count == 0 || !read_word(machine, path, "\nhanded: ", package))
		return;
	sender = find_sent(package, sent, sizeof sent);
	if (sender == NULL)
		return;
	if (!read_word(sender, sent, "\norigin: ", wanted))
		snprintf(wanted, sizeof wanted, "%s", package);
	origins.checked++;
	if (!read_word(machine, path, "\norigin: ", origin) || strcmp(origin, wanted) != 0)
		judge_object(JUDGE_STATES, "%s: %s has another origin than %s", machine->name, path,
			     wanted);
}
