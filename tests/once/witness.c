// SPDX-License-Identifier: ISC
#include "witness.h"
#include "base/panic.h"
#include "filing/lock/file.h"
#include "os/random.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { INSIDE_MAX = 64 }; /* rows of one name that have not left */

struct witness {
	struct record_sql *section, *own;
	struct lock_file *file; /* NULL: by rows */
	struct lock_name name;
	int64_t token;
	bool is_inside;
};

struct witness *witness_new(const struct config *config, struct record *record,
			    struct record *second)
{
	struct witness *witness = memory_alloc_zero(1, sizeof *witness);
	char path[4096];

	witness->section = (struct record_sql *)(void *)record;
	witness->own = (struct record_sql *)(void *)second;
	if (config->record.backend != CONFIG_RECORD_SQLITE)
		return witness;
	snprintf(path, sizeof path, "%s-witness", config->record.path);
	if (lock_file_open(path, &witness->file) != 0)
		panic("cannot open %s", path);
	return witness;
}

void witness_free(struct witness *witness)
{
	lock_file_close(witness->file);
	free(witness);
}

/* --- rows --- */

static int ask(struct record_sql *sql, const char *text, const struct record_value *values,
	       size_t count, record_row *row, void *context)
{
	struct record_call call = record_call_of(text, values, count, row, context);

	return sql->driver->run(sql, &call);
}

struct others {
	int64_t tokens[INSIDE_MAX];
	size_t count;
};

static void take_other(void *context, const struct record_value *values, size_t count)
{
	struct others *others = context;

	(void)count;
	if (others->count == INSIDE_MAX)
		panic("too many died in one section");
	others->tokens[others->count++] = values[0].number;
}

static void take_number(void *context, const struct record_value *values, size_t count)
{
	(void)count;
	*(int64_t *)context = values[0].number;
}

/* Whether the one who entered as TOKEN, and had not left, still is inside: its row is locked, or it
 * has left meanwhile. */
static int is_inside(struct witness *witness, int64_t token, bool *out)
{
	const struct record_value value = record_number(token);
	bool is_postgresql = witness->own->driver->dialect->has_numbers;
	int64_t is_left = 1;
	int error = ask(witness->own,
			is_postgresql ? "SELECT is_left FROM once_section WHERE token = ?1"
					" FOR SHARE SKIP LOCKED"
				      : "SELECT is_left FROM once_section WHERE token = ?1"
					" LOCK IN SHARE MODE SKIP LOCKED",
			&value, 1, take_number, &is_left);

	*out = is_left != 0;
	return error;
}

static int note_overlap(struct witness *witness, int64_t other)
{
	const struct record_value values[] = {record_number(witness->token), record_number(other)};

	fprintf(stderr, "overlap: %s\n", witness->name.text);
	return ask(witness->own, "INSERT INTO once_overlap(token, other) VALUES(?1, ?2)", values, 2,
		   NULL, NULL);
}

static int look_around(struct witness *witness)
{
	const struct record_value values[] = {
		{.kind = RECORD_TEXT, .bytes = str_from(witness->name.text)},
		record_number(witness->token)};
	struct others others = {.count = 0};
	int error = ask(witness->own,
			"SELECT token FROM once_section WHERE name = ?1 AND token <> ?2"
			" AND is_left = 0",
			values, 2, take_other, &others);

	for (size_t i = 0; i < others.count && error == 0; i++) {
		bool is_other_inside = false;

		error = is_inside(witness, others.tokens[i], &is_other_inside);
		if (error == 0 && is_other_inside)
			error = note_overlap(witness, others.tokens[i]);
	}
	return error;
}

static int enter_row(struct witness *witness)
{
	const struct record_value values[] = {
		record_number(witness->token),
		{.kind = RECORD_TEXT, .bytes = str_from(witness->name.text)}};
	int64_t is_locked = 0;
	int error;

	witness->own->failed = 0;
	error = witness->own->driver->connect(witness->own);
	if (error == 0)
		error = ask(witness->own,
			    "INSERT INTO once_section(token, name, is_left) VALUES(?1, ?2, 0)",
			    values, 2, NULL, NULL);
	if (error == 0)
		error = ask(witness->section,
			    "SELECT token FROM once_section WHERE token = ?1 FOR UPDATE", values, 1,
			    take_number, &is_locked);
	if (error == 0 && is_locked != witness->token)
		panic("the row that was inserted is not there");
	return error == 0 ? look_around(witness) : error;
}

/* --- entering and leaving --- */

int witness_enter(struct witness *witness, const struct lock_name *name)
{
	int error;

	if (witness->is_inside)
		return 0;
	witness->name = *name;
	witness->token = (int64_t)(os_random_u64() >> 2);
	witness->is_inside = true;
	if (witness->file == NULL)
		return enter_row(witness) == 0 ? 0 : -ENOTCONN;
	error = lock_file_take(witness->file, name);
	if (error == -EAGAIN)
		fprintf(stderr, "overlap: %s\n", name->text);
	return error == 0 || error == -EAGAIN ? 0 : -ENOTCONN;
}

int witness_leave(struct witness *witness)
{
	const struct record_value value = record_number(witness->token);

	if (!witness->is_inside || witness->file != NULL) {
		witness_forget(witness);
		return 0;
	}
	witness->is_inside = false;
	return ask(witness->section, "UPDATE once_section SET is_left = 1 WHERE token = ?1", &value,
		   1, NULL, NULL);
}

void witness_forget(struct witness *witness)
{
	witness->is_inside = false;
	if (witness->file != NULL)
		lock_file_release_all(witness->file);
}
