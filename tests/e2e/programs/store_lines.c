// SPDX-License-Identifier: ISC
#include "store_lines.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/random.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct os_loop *loop;
static struct directory_store *store;
static struct buffer input;
static bool (*other_line)(const struct str *words, size_t count);

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
	question->table = directory_table_find_listed(table);
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

static void on_listed(void *context, int error, const struct directory_page *page, uint64_t version)
{
	struct question *question = context;

	begin_answer(question, error, version);
	for (size_t i = 0; i < page->count; i++)
		print_record(&page->records[i]);
	end_answer(question);
}

uint64_t store_lines_number(struct str text)
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
				(size_t)store_lines_number(words[5]), on_listed, question);
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

static void do_edit(const struct str *words)
{
	struct arena *arena = arena_new();
	struct get *get = memory_alloc_zero(1, sizeof *get);
	struct directory_change change = {.is_conditional = true};

	get->question = ask(words[0], words[2]);
	get->count = 1;
	change.since = store_lines_number(words[3]);
	read_record(get->question->table, words[4], arena, &change.record);
	change.record.key.table = get->question->table;
	store->operations->change(store, &change, 1, on_changed, get);
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
	bench.keys = store_lines_number(words[4]);
	bench.answered = bench.found = 0;
	bench.begun_us = os_clock_monotonic_us();
	bench.until_us = bench.begun_us + (int64_t)store_lines_number(words[5]) * SECOND_US;
	for (uint64_t i = store_lines_number(words[6]); i > 0; i--)
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

static void do_line(struct str line)
{
	struct str words[STORE_LINES_WORDS_MAX];
	size_t count = 0;

	while (count < STORE_LINES_WORDS_MAX && str_split(&line, '\t', &words[count]))
		count++;
	if (count >= 4 && str_equal(words[1], STR("get")))
		do_get(words, count);
	else if (count == 6 && str_equal(words[1], STR("list")))
		do_list(words);
	else if (count >= 4 && str_equal(words[1], STR("put")))
		do_change(words, count, false);
	else if (count == 5 && str_equal(words[1], STR("edit")))
		do_edit(words);
	else if (count >= 4 && str_equal(words[1], STR("del")))
		do_change(words, count, true);
	else if (count == 4 && str_equal(words[1], STR("missed")))
		store->operations->missed(store, store_lines_number(words[2]),
					  (size_t)store_lines_number(words[3]), on_missed,
					  ask(words[0], STR("")));
	else if (count == 7 && str_equal(words[1], STR("bench")))
		do_bench(words);
	else if (count == 2 && str_equal(words[1], STR("state")))
		printf(STR_FORMAT "\t%s\t%s\t%llu\t%lld\n", STR_ARGUMENTS(words[0]),
		       store->is_up ? "up" : "down", store->identity,
		       (unsigned long long)store->version,
		       (long long)(os_clock_monotonic_us() - store->fresh_us));
	else if (count == 2 && str_equal(words[1], STR("accept"))) {
		store->operations->accept(store);
		printf(STR_FORMAT "\n", STR_ARGUMENTS(words[0]));
	} else if (other_line == NULL || !other_line(words, count))
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

void store_lines_run(struct os_loop *the_loop, struct directory_store *the_store,
		     bool (*other)(const struct str *words, size_t count))
{
	static const struct directory_store_handler handler = {heard_changed, heard_reset,
							       heard_state};
	struct os_watch *watch;

	loop = the_loop;
	store = the_store;
	other_line = other;
	store->handler = &handler;
	watch = os_watch_new(loop, STDIN_FILENO, OS_WATCH_READ, on_input, NULL);
	os_loop_run(loop);
	os_watch_free(watch);
	store->operations->free(store);
	buffer_clear(&input);
	free(bench.id);
	free(bench.format);
}
