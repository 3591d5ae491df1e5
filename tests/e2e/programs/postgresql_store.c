// SPDX-License-Identifier: ISC
/*
 * tests/e2e/programs/postgresql_store.c - a store in PostgreSQL, driven by lines (store_lines.h).
 *
 *   postgresql_store [--known] [--sandbox [FILE...] --] DATABASE...
 *
 * With --known it has seen the data before, and only holds them if they are not complete.
 * With --sandbox it has, once the store is made, the rights of the process
 * directory-postgresql: it may read only the FILES. One line more:
 *
 *   ID ttl SECONDS                 ID; see store_postgresql_set_ttl()
 */
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/store/postgresql/postgresql.h"
#include "log/event.h"
#include "os/sandbox/sandbox.h"
#include "store_lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct directory_store *store;

static bool take_line(const struct str *words, size_t count)
{
	if (count != 3 || !str_equal(words[1], STR("ttl")))
		return false;
	store_postgresql_set_ttl(store, (int64_t)store_lines_number(words[2]) * SECOND_US);
	printf(STR_FORMAT "\n", STR_ARGUMENTS(words[0]));
	return true;
}

/* Takes the words about the sandbox off, and returns how many. */
static int read_sandbox(char **argv, struct os_sandbox_path *paths)
{
	int count = 0;

	if (argv[1] == NULL || strcmp(argv[1], "--sandbox") != 0)
		return -1;
	while (argv[2 + count] != NULL && strcmp(argv[2 + count], "--") != 0) {
		paths[count] = (struct os_sandbox_path){argv[2 + count], OS_SANDBOX_READ};
		count++;
	}
	return count;
}

static void enter_sandbox(const struct os_sandbox_path *paths, int count)
{
	const struct os_sandbox sandbox = {OS_SANDBOX_CONNECT | OS_SANDBOX_DNS | OS_SANDBOX_OPEN,
					   paths, (size_t)count};
	unsigned lacks;

	if (os_sandbox_enter(&sandbox, &lacks) < 0)
		panic("no sandbox");
}

int main(int argc, char **argv)
{
	struct os_loop *loop = os_loop_new();
	struct os_sandbox_path paths[10];
	bool is_known = argc > 1 && strcmp(argv[1], "--known") == 0;
	int path_count = read_sandbox(argv + is_known, paths);
	int first = (path_count < 0 ? 1 : path_count + 3) + is_known;

	log_open("store", LOG_INFO_LEVEL);
	os_loop_set_idle(loop, log_flush);
	if (store_postgresql_new(loop, (const char *const *)argv + first, (size_t)(argc - first),
				 &store) < 0)
		return EXIT_FAILURE;
	store->is_known = is_known;
	if (path_count >= 0)
		enter_sandbox(paths, path_count);
	store_lines_run(loop, store, take_line);
	os_loop_free(loop);
	return EXIT_SUCCESS;
}
