// SPDX-License-Identifier: ISC
/* Who looks into the mailboxes of a node. */
#include "files.h"
#include "mail.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

enum { FILED = 3 };

/* A message that was seen. */
struct seen {
	struct machine *machine;
	char *path;
	char *place;
	uint64_t number;
};

static struct {
	struct seen *list; /* in the order of machines and paths */
	size_t count;
	size_t size;
} seen;

static int order(const struct seen *one, const struct machine *machine, const char *path)
{
	int names = strcmp(one->machine->name, machine->name);

	return names != 0 ? names : strcmp(one->path, path);
}

/* Where PATH is, or would be. */
static size_t place_of(const struct machine *machine, const char *path)
{
	size_t low = 0;
	size_t high = seen.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (order(&seen.list[middle], machine, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void read_message(struct machine *machine, const char *path, const char *recipient)
{
	size_t place = place_of(machine, path);
	size_t size;
	char *text;

	if (place < seen.count && order(&seen.list[place], machine, path) == 0)
		return;
	text = files_read(machine, path, &size);
	if (text == NULL)
		errx(1, "%s cannot be read", path);
	if (seen.count == seen.size) {
		seen.size = seen.size == 0 ? 1024 : 2 * seen.size;
		seen.list = realloc(seen.list, seen.size * sizeof *seen.list);
		if (seen.list == NULL)
			err(1, "no memory");
	}
	memmove(&seen.list[place + 1], &seen.list[place], (seen.count - place) * sizeof *seen.list);
	seen.list[place] = (struct seen){machine, strdup(path), strdup(recipient),
					 ledger_deliver(recipient, text, size)};
	seen.count++;
	free(text);
}

/* The reader of a mailbox moves some of what is new to cur/ (maildir(5)). */
static void file_away(struct machine *machine, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	struct seen moved = seen.list[place_of(machine, path)];
	size_t place = place_of(machine, path);
	char to[2048];

	snprintf(to, sizeof to, "%.*scur/%s:2,S", (int)(name - path - 4), path, name);
	if (!files_move(machine, path, to))
		return;
	free(moved.path);
	memmove(&seen.list[place], &seen.list[place + 1],
		(seen.count - place - 1) * sizeof *seen.list);
	seen.count--;
	place = place_of(machine, to);
	moved.path = strdup(to);
	memmove(&seen.list[place + 1], &seen.list[place], (seen.count - place) * sizeof *seen.list);
	seen.list[place] = moved;
	seen.count++;
}

static void read_box(struct machine *machine, const char *path, const char *recipient)
{
	size_t size = 0;
	char *names = files_names(machine, path, &size);
	char file[2048];

	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1) {
		snprintf(file, sizeof file, "%s/%s", path, names + i);
		read_message(machine, file, recipient);
		if (kernel_one_in(FILED))
			file_away(machine, file);
	}
	if (names != NULL)
		disk_list_free(names);
}

static void read_domain(struct machine *machine, const char *path, const char *domain)
{
	size_t size = 0;
	char *users = files_names(machine, path, &size);
	char box[1024];
	char recipient[256];

	for (size_t i = 0; users != NULL && i < size; i += strlen(users + i) + 1) {
		snprintf(box, sizeof box, "%s/%s/new", path, users + i);
		snprintf(recipient, sizeof recipient, "%s@%s", users + i, domain);
		read_box(machine, box, recipient);
	}
	if (users != NULL)
		disk_list_free(users);
}

void mailboxes_read(struct machine *machine, const char *path)
{
	size_t size = 0;
	char *domains = files_names(machine, path, &size);
	char folder[512];

	for (size_t i = 0; domains != NULL && i < size; i += strlen(domains + i) + 1) {
		snprintf(folder, sizeof folder, "%s/%s", path, domains + i);
		read_domain(machine, folder, domains + i);
	}
	if (domains != NULL)
		disk_list_free(domains);
}

void mailboxes_check(struct machine *machine)
{
	size_t kept = 0;

	for (size_t i = 0; i < seen.count; i++) {
		if (seen.list[i].machine != machine || files_exist(machine, seen.list[i].path)) {
			seen.list[kept++] = seen.list[i];
			continue;
		}
		ledger_take_back(seen.list[i].number, seen.list[i].place);
		free(seen.list[i].path);
		free(seen.list[i].place);
	}
	seen.count = kept;
}

void mailboxes_end(void)
{
	for (size_t i = 0; i < seen.count; i++) {
		free(seen.list[i].path);
		free(seen.list[i].place);
	}
	free(seen.list);
	memset(&seen, 0, sizeof seen);
}
