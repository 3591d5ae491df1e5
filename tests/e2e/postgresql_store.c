// SPDX-License-Identifier: ISC
/*
 * tests/e2e/postgresql_store.c - a store in PostgreSQL, driven by lines.
 *
 *   postgresql_store [--sandbox [FILE...] --] DATABASE...
 *
 * With --sandbox it has, once the store is made, the rights of the process
 * directory-postgresql: it may read only the FILES.
 *
 * A line of standard input is words between tabs; what came of it is a line that begins
 * with the same ID, sooner or later:
 *
 *   ID get TABLE KEY...            ID ERROR VERSION RECORD...   RECORD: "KEY|NAME VALUE|..." or "-"
 *   ID list TABLE PREFIX AFTER LIMIT   the same
 *   ID put TABLE RECORD...         ID ERROR VERSION yes|no...   existed
 *   ID del TABLE KEY...            the same
 *   ID missed VERSION LIMIT        ID ERROR VERSION TABLE KEY...
 *   ID bench TABLE FORMAT KEYS SECONDS DEPTH
 *                                  ID gets a second, DEPTH at a time of keys FORMAT with a number
 *   ID ttl SECONDS                 ID; see store_postgresql_set_ttl()
 *   ID state                       ID up|down IDENTITY VERSION, microseconds since it was fresh
 *
 * Lines that begin with "*" tell what the handler heard: "* up", "* down",
 * "* changed VERSION TABLE KEY", "* reset IDENTITY VERSION". The program ends at the end of input.
 */
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/sandbox.h"
#include "store/postgresql.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 2000 };

static struct os_loop *loop;
static struct directory_store *store;
static struct buffer input;

struct question {
	char *id;
	enum directory_table table;
};

static struct bench {
	char *id;
	enum directory_table table;
	char *format;
	uint64_t keys, answered, found;
	int64_t begun_us, until_us;
	size_t under_way;
} bench;

static struct question *ask(struct str id, struct str table)
{
	struct question *question = memory_alloc_zero(1, sizeof *question);

	question->id = strndup(id.data, id.length);
	question->table = directory_table_find(table);
	return question;
}

static void begin_answer(struct question *question, int error, uint64_t version)
{
	printf("%s\t%s\t%llu", question->id, error == 0 ? "0" : strerrorname_np(-error),
	       (unsigned long long)version);
}

static void end_answer(struct question *question)
{
	putchar('\n');
	fflush(stdout);
	free(question->id);
	free(question);
}

static void print_record(const struct directory_record *record)
{
	printf("\t" STR_FORMAT, STR_ARGUMENTS(record->key.name));
	for (size_t i = 0; i < record->field_count; i++)
		printf("|" STR_FORMAT " " STR_FORMAT, STR_ARGUMENTS(record->fields[i].name),
		       STR_ARGUMENTS(record->fields[i].value));
}

static struct directory_key *keys_of(enum directory_table table, const struct str *words,
				     size_t count)
{
	struct directory_key *keys = memory_alloc_zero(count + 1, sizeof *keys);

	for (size_t i = 0; i < count; i++)
		keys[i] = (struct directory_key){table, words[i]};
	return keys;
}

struct get {
	struct question *question;
	size_t count;
};

static void on_got(void *context, int error, const struct directory_record *const *records,
		   uint64_t version)
{
	struct get *get = context;

	begin_answer(get->question, error, version);
	for (size_t i = 0; error == 0 && i < get->count; i++) {
		if (records[i] != NULL)
			print_record(records[i]);
		else
			printf("\t-");
	}
	end_answer(get->question);
	free(get);
}

static void do_get(const struct str *words, size_t count)
{
	struct get *get = memory_alloc_zero(1, sizeof *get);
	struct directory_key *keys;

	get->question = ask(words[0], words[2]);
	get->count = count - 3;
	keys = keys_of(get->question->table, words + 3, get->count);
	store->operations->get(store, keys, get->count, on_got, get);
	free(keys);
}

static void on_listed(void *context, int error, const struct directory_record *records,
		      size_t count, uint64_t version)
{
	struct question *question = context;

	begin_answer(question, error, version);
	for (size_t i = 0; i < count; i++)
		print_record(&records[i]);
	end_answer(question);
}

static uint64_t number(struct str text)
{
	uint64_t value = 0;

	if (!str_to_u64(text, &value))
		panic("not a number: " STR_FORMAT, STR_ARGUMENTS(text));
	return value;
}

static void do_list(const struct str *words)
{
	struct question *question = ask(words[0], words[2]);

	store->operations->list(store, question->table, words[3], words[4],
				(size_t)number(words[5]), on_listed, question);
}

static void on_changed(void *context, int error, const bool *existed, uint64_t version)
{
	struct get *get = context;

	begin_answer(get->question, error, version);
	for (size_t i = 0; error == 0 && i < get->count; i++)
		printf("\t%s", existed[i] ? "yes" : "no");
	end_answer(get->question);
	free(get);
}

static void read_record(enum directory_table table, struct str text, struct arena *arena,
			struct directory_record *out)
{
	struct directory_field fields[100];
	struct directory_record raw = {{table, {0}}, fields, 0};
	const char *reason = NULL;
	struct str field;

	(void)str_split(&text, '|', &raw.key.name);
	while (str_split(&text, '|', &field)) {
		(void)str_split(&field, ' ', &fields[raw.field_count].name);
		fields[raw.field_count++].value = field;
	}
	if (directory_record_check(&raw, arena, out, &reason) < 0)
		panic("%s", reason);
}

static void do_change(const struct str *words, size_t count, bool is_removal)
{
	struct arena *arena = arena_new();
	struct get *get = memory_alloc_zero(1, sizeof *get);
	struct directory_change *changes = memory_alloc_zero(count, sizeof *changes);

	get->question = ask(words[0], words[2]);
	get->count = count - 3;
	for (size_t i = 0; i < get->count; i++) {
		changes[i].is_removal = is_removal;
		changes[i].record.key = (struct directory_key){get->question->table, words[i + 3]};
		if (!is_removal)
			read_record(get->question->table, words[i + 3], arena, &changes[i].record);
	}
	store->operations->change(store, changes, get->count, on_changed, get);
	free(changes);
	arena_free(arena);
}

static void on_missed(void *context, int error, const struct directory_key *keys,
		      const uint64_t *versions, size_t count)
{
	struct question *question = context;

	begin_answer(question, error, store->version);
	for (size_t i = 0; i < count; i++)
		printf("\t%llu %s " STR_FORMAT, (unsigned long long)versions[i],
		       directory_table_name(keys[i].table), STR_ARGUMENTS(keys[i].name));
	end_answer(question);
}

/* ---- how fast ---- */

static void bench_got(void *context, int error, const struct directory_record *const *records,
		      uint64_t version);

static void bench_ask(void)
{
	char name[200];
	struct directory_key key = {bench.table, {0}};

	snprintf(name, sizeof name, bench.format, (int)os_random_below(bench.keys));
	key.name = str_from(name);
	bench.under_way++;
	store->operations->get(store, &key, 1, bench_got, NULL);
}

static void bench_got(void *context, int error, const struct directory_record *const *records,
		      uint64_t version)
{
	int64_t now = os_clock_monotonic_us();

	(void)context;
	(void)version;
	bench.under_way--;
	bench.answered += error == 0;
	bench.found += error == 0 && records[0] != NULL;
	if (now < bench.until_us) {
		bench_ask();
	} else if (bench.under_way == 0) {
		printf("%s\t%lld\t%llu\t%llu\n", bench.id,
		       (long long)((int64_t)bench.answered * SECOND_US / (now - bench.begun_us)),
		       (unsigned long long)bench.answered, (unsigned long long)bench.found);
		fflush(stdout);
	}
}

static void do_bench(const struct str *words)
{
	free(bench.id);
	free(bench.format);
	bench.id = strndup(words[0].data, words[0].length);
	bench.table = directory_table_find(words[2]);
	bench.format = strndup(words[3].data, words[3].length);
	bench.keys = number(words[4]);
	bench.answered = bench.found = 0;
	bench.begun_us = os_clock_monotonic_us();
	bench.until_us = bench.begun_us + (int64_t)number(words[5]) * SECOND_US;
	for (uint64_t i = number(words[6]); i > 0; i--)
		bench_ask();
}

/* ---- the whole ---- */

static void heard_changed(void *context, const struct directory_key *keys, const uint64_t *versions,
			  size_t count)
{
	(void)context;
	for (size_t i = 0; i < count; i++)
		printf("*\tchanged\t%llu\t%s\t" STR_FORMAT "\n", (unsigned long long)versions[i],
		       directory_table_name(keys[i].table), STR_ARGUMENTS(keys[i].name));
	fflush(stdout);
}

static void heard_reset(void *context)
{
	(void)context;
	printf("*\treset\t%s\t%llu\n", store->identity, (unsigned long long)store->version);
	fflush(stdout);
}

static void heard_state(void *context, bool is_up)
{
	(void)context;
	printf("*\t%s\n", is_up ? "up" : "down");
	fflush(stdout);
}

static void do_ttl(const struct str *words)
{
	store_postgresql_set_ttl(store, (int64_t)number(words[2]) * SECOND_US);
	printf(STR_FORMAT "\n", STR_ARGUMENTS(words[0]));
}

static void do_line(struct str line)
{
	struct str words[WORDS_MAX];
	size_t count = 0;

	while (count < WORDS_MAX && str_split(&line, '\t', &words[count]))
		count++;
	if (count >= 4 && str_equal(words[1], STR("get")))
		do_get(words, count);
	else if (count == 6 && str_equal(words[1], STR("list")))
		do_list(words);
	else if (count >= 4 && str_equal(words[1], STR("put")))
		do_change(words, count, false);
	else if (count >= 4 && str_equal(words[1], STR("del")))
		do_change(words, count, true);
	else if (count == 4 && str_equal(words[1], STR("missed")))
		store->operations->missed(store, number(words[2]), (size_t)number(words[3]),
					  on_missed, ask(words[0], STR("")));
	else if (count == 7 && str_equal(words[1], STR("bench")))
		do_bench(words);
	else if (count == 3 && str_equal(words[1], STR("ttl")))
		do_ttl(words);
	else if (count == 2 && str_equal(words[1], STR("state")))
		printf(STR_FORMAT "\t%s\t%s\t%llu\t%lld\n", STR_ARGUMENTS(words[0]),
		       store->is_up ? "up" : "down", store->identity,
		       (unsigned long long)store->version,
		       (long long)(os_clock_monotonic_us() - store->fresh_us));
	else
		panic("what?");
	fflush(stdout);
}

static void on_input(void *context, unsigned events)
{
	ssize_t got = read(STDIN_FILENO, buffer_reserve(&input, 1 << 16), 1 << 16);
	ptrdiff_t end;

	(void)context;
	(void)events;
	if (got <= 0) {
		os_loop_stop(loop);
		return;
	}
	buffer_commit(&input, (size_t)got);
	while ((end = str_find(buffer_view(&input), '\n')) >= 0) {
		do_line(str_slice(buffer_data(&input), (size_t)end));
		buffer_consume(&input, (size_t)end + 1);
	}
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
	struct os_sandbox_path paths[10];
	int path_count = read_sandbox(argv, paths);
	int first = path_count < 0 ? 1 : path_count + 3;
	static const struct directory_store_handler handler = {heard_changed, heard_reset,
							       heard_state};
	struct os_watch *watch;

	log_open("store", LOG_INFO_LEVEL);
	loop = os_loop_new();
	os_loop_set_idle(loop, log_flush);
	if (store_postgresql_new(loop, (const char *const *)argv + first, (size_t)(argc - first),
				 &store) < 0)
		return EXIT_FAILURE;
	if (path_count >= 0)
		enter_sandbox(paths, path_count);
	store->handler = &handler;
	watch = os_watch_new(loop, STDIN_FILENO, OS_WATCH_READ, on_input, NULL);
	os_loop_run(loop);
	os_watch_free(watch);
	store->operations->free(store);
	buffer_clear(&input);
	free(bench.id);
	free(bench.format);
	os_loop_free(loop);
	return EXIT_SUCCESS;
}
