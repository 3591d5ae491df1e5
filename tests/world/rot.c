// SPDX-License-Identifier: ISC
#include "rot.h"
#include "accounts.h"
#include "command.h"
#include "damages.h"
#include "files.h"
#include "mail.h"
#include "node.h"
#include "queue_folder.h"
#include "rot_files.h"
#include "states.h"
#include "waits.h"
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SECOND = 1000000;
static const int64_t MENDING_US = 600 * INT64_C(1000000);

enum { REPAIRS = 4, OLD_ONES = 64, BITS = 8, TRIES = 8, NUMBER_LENGTH = 24 };

/* What was at a place some time ago. */
struct old_file {
	char path[ROT_PATH];
	char *text;
	size_t size;
};

struct rotting {
	struct rotting *next;
	struct machine *node;
	int64_t calm_from_us;
	int64_t each_us;
	bool is_to_repair; /* before the next start */
	void (*repaired)(void *context);
	void *context;
	struct old_file old[OLD_ONES];
};

static struct {
	uint64_t stream;
	uint64_t left;
	struct rotting *all;
} rot;

static uint64_t below(uint64_t bound)
{
	return kernel_random_of(&rot.stream) % bound;
}

/* --- what changes --- */

static void flip(char *text, size_t size)
{
	static const uint64_t bits[] = {1, 1, 1, 2, BITS};

	for (uint64_t left = bits[below(sizeof bits / sizeof bits[0])]; left > 0; left--)
		text[below(size)] ^= (char)(1 << below(BITS));
}

/* A block of TEXT is that of OTHER, or empty. */
static void exchange(char *text, size_t size, const struct rot_file *other)
{
	static const size_t sizes[] = {1, 16, 64, 512, 4096};
	const size_t length = sizes[below(sizeof sizes / sizeof sizes[0])];
	const size_t begin = below(size) / length * length;

	for (size_t i = begin; i < begin + length && i < size; i++)
		text[i] = other != NULL && i < other->size ? other->text[i] : '\0';
}

static void note(const struct rotting *self, const struct rot_file *file, enum damage_part part,
		 const char *what)
{
	world_log("rot", "%s: %s %s, of %zu bytes", self->node->name, file->path, what, file->size);
	kernel_mix_number(file->number);
	damages_add(self->node, file->number, file->id, file->message, part);
	states_damaged(self->node, file->number);
	accounts_damaged(self->node, file->number);
}

static enum damage_part part_of(const struct rot_file *file)
{
	return file->folder == TODO || file->folder == MESS ? DAMAGE_DATA : DAMAGE_RECORDS;
}

/* FILE has TEXT. */
static bool put(const struct rotting *self, const struct rot_file *file, const char *text,
		size_t size, const char *what)
{
	if ((size == file->size && memcmp(text, file->text, size) == 0) ||
	    disk_rot(self->node->disk, file->path, text, size) < 0)
		return false;
	note(self, file, part_of(file), what);
	return true;
}

static bool change(const struct rotting *self, const struct rot_file *file, const char *what)
{
	struct rot_file other = {.text = NULL};
	size_t size = file->size;
	char *text = malloc(size + 1);
	bool is_done;

	if (text == NULL)
		err(1, "no memory");
	memcpy(text, file->text, size);
	if (strcmp(what, "is cut") == 0)
		size = below(size);
	else if (strcmp(what, "has other bits") == 0)
		flip(text, size);
	else if (strcmp(what, "has a block of another") == 0 &&
		 rot_file_choose(self->node, file->folder, below, &other))
		exchange(text, size, &other);
	else
		exchange(text, size, NULL);
	is_done = put(self, file, text, size, what);
	rot_file_clear(&other);
	free(text);
	return is_done;
}

/* --- what it was --- */

static struct old_file *find_old(struct rotting *self, const char *path)
{
	for (size_t i = 0; i < OLD_ONES; i++)
		if (strcmp(self->old[i].path, path) == 0)
			return &self->old[i];
	return NULL;
}

static void remember(struct rotting *self, const struct rot_file *file)
{
	struct old_file *old = &self->old[below(OLD_ONES)];

	if (find_old(self, file->path) != NULL)
		return;
	free(old->text);
	snprintf(old->path, sizeof old->path, "%s", file->path);
	old->text = malloc(file->size + 1);
	if (old->text == NULL)
		err(1, "no memory");
	memcpy(old->text, file->text, file->size);
	old->size = file->size;
}

/* Only where it can be told from the right one: nothing else of the message was changed. */
static bool put_back(struct rotting *self, const struct rot_file *file)
{
	const struct old_file *old = find_old(self, file->path);

	return old != NULL && (file->folder == MESS || file->folder == INFO) &&
	       damages_of_id(self->node, file->id) == NULL &&
	       put(self, file, old->text, old->size, "is what it was before");
}

/* --- names --- */

static bool lose_name(const struct rotting *self, const struct rot_file *file)
{
	const struct damage *damage = damages_of_id(self->node, file->id);

	if (file->folder == TODO || (damage != NULL && (damage->parts & DAMAGE_NAME) != 0) ||
	    !disk_is_durable(self->node->disk, file->path))
		return false;
	/* before the name is gone, so that nobody objects */
	note(self, file, DAMAGE_NAME, "is gone");
	return disk_rot_name(self->node->disk, file->path) == 0;
}

/* --- when --- */

/* Something of FILE: whether it has. */
static bool rot_file(struct rotting *self, const struct rot_file *file)
{
	static const char *const ways[] = {
		"has other bits",      "has other bits",         "is empty in a block",
		"is empty in a block", "has a block of another", "is cut",
	};
	const uint64_t way = below(sizeof ways / sizeof ways[0] + 2);

	if (way == sizeof ways / sizeof ways[0])
		return lose_name(self, file);
	if (way > sizeof ways / sizeof ways[0])
		return put_back(self, file);
	return file->size > 0 && change(self, file, ways[way]);
}

static bool strike(struct rotting *self)
{
	bool is_done = false;

	for (unsigned i = 0; !is_done && i < TRIES; i++) {
		struct rot_file file;
		const enum queue_folder folder = rot_file_place(below(ROT_PLACES));

		if (!rot_file_choose(self->node, folder, below, &file))
			continue;
		is_done = rot_file(self, &file);
		if (!is_done)
			remember(self, &file);
		rot_file_clear(&file);
	}
	return is_done;
}

static void rot_on(void *context)
{
	struct rotting *self = context;
	bool is_done;

	if (kernel_now_us() >= self->calm_from_us || rot.left == 0)
		return;
	is_done = !self->node->disk_has_stopped && strike(self);
	rot.left -= is_done;
	/* where there is nothing now there may be something soon */
	kernel_at(kernel_now_us() + 1 +
			  (int64_t)below(2 * (uint64_t)(is_done ? self->each_us : 10 * SECOND)),
		  rot_on, self);
}

/* --- who mends it --- */

static void bounced(void *context, int status, const char *output)
{
	struct rotting *self = context;

	waits_order(self->node, false);
	world_log("rot", "%s: damaged mail is returned: status %d, %.*s", self->node->name, status,
		  (int)strcspn(output, "\n"), output);
}

static void return_damaged(void *context)
{
	static const char *const arguments[] = {
		"queue", "bounce", "--reason", "disk of this host has damaged", "--yes", NULL};
	struct rotting *self = context;

	waits_order(self->node, true);
	command_run(self->node, "stagepost", arguments, bounced, self);
}

/* All is good: what is left is damaged, or soon gone. */
static void mend(void *context)
{
	struct rotting *self = context;
	struct process *supervisor = node_supervisor(self->node);

	if (damages_are_there() && left_in_queue(self->node) > 0) {
		self->is_to_repair = true;
		if (supervisor != NULL) {
			world_log("rot", "stops %s, to repair its queue", self->node->name);
			process_signal(supervisor, SIGTERM);
			accounts_moved(self->node);
		}
		kernel_at(kernel_now_us() + MENDING_US / 2, return_damaged, self);
	}
	kernel_at(kernel_now_us() + MENDING_US, mend, self);
}

static void repaired(void *context, int status, const char *output)
{
	struct rotting *self = context;

	world_log("rot", "%s: repair: status %d, %zu bytes", self->node->name, status,
		  strlen(output));
	damages_hear_repair(self->node, output);
	self->is_to_repair = self->is_to_repair && strstr(output, "{\"sum\":") == NULL;
	self->repaired(self->context);
}

bool rot_repairs(struct machine *node, void (*call)(void *context), void *context)
{
	static const char *const arguments[] = {"queue", "repair", "--json", NULL};
	struct rotting *self = rot.all;

	while (self != NULL && self->node != node)
		self = self->next;
	if (self == NULL || !files_exist(node, "/var/queue/format") ||
	    (!self->is_to_repair && below(REPAIRS) > 0))
		return false;
	self->repaired = call;
	self->context = context;
	command_run(node, "stagepost", arguments, repaired, self);
	return true;
}

void rot_begin(uint64_t seed, uint64_t rots)
{
	rot.stream = seed;
	rot.left = rots;
}

void rot_add_node(struct machine *node, int64_t calm_from_us, int64_t each_us)
{
	struct rotting *self = calloc(1, sizeof *self);

	if (self == NULL)
		err(1, "no memory");
	self->node = node;
	self->calm_from_us = calm_from_us;
	self->each_us = each_us;
	self->next = rot.all;
	rot.all = self;
	kernel_at(1 + (int64_t)below((uint64_t)each_us), rot_on, self);
	kernel_at(calm_from_us + MENDING_US, mend, self);
}

void rot_end(void)
{
	while (rot.all != NULL) {
		struct rotting *self = rot.all;

		rot.all = self->next;
		for (size_t i = 0; i < OLD_ONES; i++)
			free(self->old[i].text);
		free(self);
	}
}
