// SPDX-License-Identifier: ISC
#include "queue_portrait.h"
#include "mail/envelope.h"
#include "os/file/file.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 200, NAME_SIZE = 80, KNOWN_MAX = 50 };

static struct {
	struct queue_store *store;
	const char *place; /* being read */
	char names[NAMES_MAX][NAME_SIZE];
	size_t count;
	struct {
		uint64_t number;
		char who;
	} known[KNOWN_MAX];
	size_t known_count;
} portrait;

static char who_is(uint64_t number)
{
	for (size_t i = 0; i < portrait.known_count; i++)
		if (portrait.known[i].number == number)
			return portrait.known[i].who;
	return '?';
}

/* By the data in PATH. */
static void learn_who(uint64_t number, const char *path)
{
	char data[5] = "";
	int file = os_file_open(queue_store_directory(portrait.store), path, OS_FILE_READ);

	assert_true(file >= 0 && portrait.known_count < KNOWN_MAX);
	if (os_file_read(file, data, sizeof data, 0) == sizeof data &&
	    memcmp(data, "data", 4) == 0) {
		portrait.known[portrait.known_count].number = number;
		portrait.known[portrait.known_count++].who = data[4];
	}
	os_file_close(file);
}

static int learn_from_mess(void *context, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	(void)context;
	queue_store_path(portrait.store, QUEUE_MESS, NULL, number, path);
	learn_who(number, path);
	return 0;
}

static int learn_from_todo(void *context, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(portrait.store, QUEUE_TODO, context, number, path);
	learn_who(number, path);
	return 0;
}

static char *next_name(void)
{
	assert_true(portrait.count < NAMES_MAX);
	return portrait.names[portrait.count++];
}

static int add_number(void *context, uint64_t number)
{
	(void)context;
	snprintf(next_name(), NAME_SIZE, "%s/%c", portrait.place, who_is(number));
	return 0;
}

static int add_stray(void *context, const char *path)
{
	(void)context;
	snprintf(next_name(), NAME_SIZE, "%s (stray)", path);
	return 0;
}

static void add_folder(enum queue_folder folder, const char *name, const char *place)
{
	int result;

	portrait.place = place;
	result = queue_store_each(portrait.store, folder, name, add_number, add_stray, NULL);
	assert_int_equal(result, 0);
}

static int add_service(void *context, const char *name)
{
	char place[NAME_SIZE];

	(void)context;
	snprintf(place, sizeof place, "local/%s", name);
	add_folder(QUEUE_LOCAL, name, place);
	return 0;
}

/* "hold.457-1f", "info_1_457": the last number but the birth is that of a message. */
static int add_plain_name(void *context, const char *name)
{
	const char *last = strrchr(name, '_');
	size_t kept = last != NULL ? strcspn(name, "_") : strcspn(name, "0123456789");
	const char *number = last != NULL ? last + 1 : name + kept;

	(void)context;
	snprintf(next_name(), NAME_SIZE, "%s/%.*s%s%c", portrait.place, (int)kept, name,
		 last != NULL ? "_" : "", who_is(strtoull(number, NULL, 10)));
	return 0;
}

static void add_plain(const char *place)
{
	int result;

	portrait.place = place;
	result = os_file_list(queue_store_directory(portrait.store), place, add_plain_name, NULL);
	assert_true(result == 0 || result == -ENOENT);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

void queue_portrait(struct queue_store *store, struct buffer *out)
{
	portrait.store = store;
	portrait.count = portrait.known_count = 0;
	assert_int_equal(queue_store_each(store, QUEUE_MESS, NULL, learn_from_mess, NULL, NULL), 0);
	for (unsigned stage = 0; stage < MAIL_STAGE_COUNT; stage++) {
		char name[16];

		snprintf(name, sizeof name, "%s", mail_stage_name(stage));
		assert_int_equal(
			queue_store_each(store, QUEUE_TODO, name, learn_from_todo, NULL, name), 0);
	}
	for (unsigned stage = 0; stage < MAIL_STAGE_COUNT; stage++) {
		char place[NAME_SIZE];

		snprintf(place, sizeof place, "todo/%s", mail_stage_name(stage));
		add_folder(QUEUE_TODO, mail_stage_name(stage), place);
	}
	add_folder(QUEUE_MESS, NULL, "mess");
	add_folder(QUEUE_INFO, NULL, "info");
	add_folder(QUEUE_INTD, NULL, "intd");
	add_folder(QUEUE_REMOTE, NULL, "remote");
	add_folder(QUEUE_BOUNCE, NULL, "bounce");
	assert_int_equal(os_file_list(queue_store_directory(store), "local", add_service, NULL), 0);
	add_plain("trigger");
	add_plain("repair");
	add_plain(QUEUE_DAMAGED);
	add_plain(QUEUE_LITTER);
	qsort(portrait.names, portrait.count, NAME_SIZE, by_name);
	for (size_t i = 0; i < portrait.count; i++)
		buffer_append_format(out, "%s\n", portrait.names[i]);
}
