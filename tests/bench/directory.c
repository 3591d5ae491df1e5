// SPDX-License-Identifier: ISC
/*
 * tests/bench/directory.c - how fast the directory finds out what becomes of an address:
 * expander and SQLite store, without the protocol.
 *
 * usage: directory PATH [ADDRESSES [MEMBERS [SECONDS [WHAT]]]]
 *
 * Fills the file PATH, if it is not there, with ADDRESSES (1,000,000) in 100 domains, one in
 * ten of them an alias, and a list of MEMBERS (100,000). Then asks for random addresses,
 * SECONDS (3) for each kind, in batches as a server gets them, and lists the members; only
 * WHAT, where that is given ("mailboxes"). Prints
 * "NAME NUMBER UNIT"; times are those of the processor.
 */
#include "base/panic.h"
#include "directory/expand/expand.h"
#include "directory/store/sqlite/sqlite.h"
#include "os/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DOMAINS = 100, BATCH = 64, PAGE = 1000, NAME_SIZE = 64 };

static struct config_service service = {
	.name = "maildir", .kind = CONFIG_SERVICE_MAILDIR, .path = "/mail/%d/%u"};
static const struct config config = {.hostname = "mx1.example.org",
				     .recipient_delimiter = "+",
				     .services = &service,
				     .service_count = 1};

struct bench {
	struct os_loop *loop;
	struct directory_store *store;
	struct directory_expander *expander;
	unsigned long addresses, members;
	double seconds;
	const char *only; /* NULL: everything */
	uint64_t state;   /* of the numbers, cheap ones */
	unsigned long results, refused;
	struct buffer last; /* member of a page */
	size_t page;
};

static double processor_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t number(struct bench *bench)
{
	bench->state ^= bench->state << 13;
	bench->state ^= bench->state >> 7;
	bench->state ^= bench->state << 17;
	return bench->state;
}

static struct str name_address(char name[NAME_SIZE], unsigned long i)
{
	return str_slice(name,
			 (size_t)snprintf(name, NAME_SIZE, "user%lu@d%lu.example", i, i % DOMAINS));
}

static void stop(void *context)
{
	os_loop_stop(context);
}

static void turn(struct bench *bench)
{
	struct os_timer *timer = os_timer_new(bench->loop, stop, bench->loop);

	os_timer_start(timer, 0);
	os_loop_run(bench->loop);
	os_timer_free(timer);
}

/* ---- filling ---- */

static void on_changed(void *context, int error, const bool *existed, uint64_t version)
{
	(void)context;
	(void)existed;
	(void)version;
	if (error < 0)
		panic("a change failed: %s", strerror(-error));
}

struct gathered {
	struct directory_change changes[PAGE];
	size_t count;
	struct arena *arena;
};

static void put_gathered(struct bench *bench, struct gathered *gathered)
{
	bench->store->operations->change(bench->store, gathered->changes, gathered->count,
					 on_changed, NULL);
	turn(bench);
	gathered->count = 0;
	arena_reset(gathered->arena);
}

static void put(struct bench *bench, struct gathered *gathered, enum directory_table table,
		struct str key, const struct directory_field *fields, size_t count)
{
	struct directory_record record = {{table, key}, fields, count};

	gathered->changes[gathered->count++].record =
		directory_record_copy(gathered->arena, &record);
	if (gathered->count == PAGE)
		put_gathered(bench, gathered);
}

static void put_domains(struct bench *bench, struct gathered *gathered)
{
	const struct directory_field fields[] = {{STR("kind"), STR("local")},
						 {STR("service"), STR("maildir")}};
	char name[NAME_SIZE];

	for (unsigned i = 0; i < DOMAINS; i++) {
		snprintf(name, sizeof name, "d%u.example", i);
		put(bench, gathered, DIRECTORY_DOMAIN, str_from(name), fields, 2);
	}
}

static void put_addresses(struct bench *bench, struct gathered *gathered)
{
	const struct directory_field mailbox = {STR("kind"), STR("mailbox")};
	char name[NAME_SIZE];
	char target[NAME_SIZE];

	for (unsigned long i = 0; i < bench->addresses; i++) {
		const struct directory_field alias[] = {
			{STR("kind"), STR("alias")}, {STR("target"), name_address(target, i + 1)}};

		put(bench, gathered, DIRECTORY_ADDRESS, name_address(name, i),
		    i % 10 == 0 ? alias : &mailbox, i % 10 == 0 ? 2 : 1);
	}
}

static void put_members(struct bench *bench, struct gathered *gathered)
{
	char name[NAME_SIZE];

	for (unsigned long i = 0; i < bench->members; i++) {
		snprintf(name, sizeof name, "list@d0.example member%lu@m%lu.example", i, i % 1000);
		put(bench, gathered, DIRECTORY_MEMBER, str_from(name), NULL, 0);
	}
}

static void fill(struct bench *bench)
{
	struct gathered *gathered = memory_alloc_zero(1, sizeof *gathered);
	double begin = processor_seconds();

	gathered->arena = arena_new();
	put_domains(bench, gathered);
	put_addresses(bench, gathered);
	put_members(bench, gathered);
	put_gathered(bench, gathered);
	printf("put %.0f records/s\n", (double)(DOMAINS + bench->addresses + bench->members) /
					       (processor_seconds() - begin));
	arena_free(gathered->arena);
	free(gathered);
}

/* ---- asking ---- */

static void on_expanded(void *context, int error, const struct directory_expansion *expansion)
{
	struct bench *bench = context;

	if (error < 0)
		panic("a lookup failed: %s", strerror(-error));
	bench->results += expansion->count;
	bench->refused += expansion->routes[0].kind == DIRECTORY_ROUTE_REFUSE;
}

enum kind { MAILBOXES, ALIASES, UNKNOWN, EXTENSIONS, ELSEWHERE };

static struct str name_of(struct bench *bench, enum kind kind, char name[NAME_SIZE])
{
	unsigned long i = number(bench) % bench->addresses;

	switch (kind) {
	case MAILBOXES:
		return name_address(name, i % 10 == 0 ? i + 1 : i);
	case ALIASES:
		return name_address(name, i - i % 10);
	case UNKNOWN:
		snprintf(name, NAME_SIZE, "nobody%lu@d%lu.example", i, i % DOMAINS);
		break;
	case EXTENSIONS:
		i = i % 10 == 0 ? i + 1 : i;
		snprintf(name, NAME_SIZE, "user%lu+x@d%lu.example", i, i % DOMAINS);
		break;
	case ELSEWHERE:
		snprintf(name, NAME_SIZE, "user%lu@e%lu.example", i, i % 5000);
		break;
	}
	return str_from(name);
}

static void ask(struct bench *bench, enum kind kind, const char *what)
{
	char names[BATCH][NAME_SIZE];
	struct str asked[BATCH];
	double spent = 0;
	unsigned long count = 0;

	if (bench->only != NULL && strcmp(bench->only, what) != 0)
		return;
	bench->refused = 0;
	while (spent < bench->seconds) {
		double begin;

		for (unsigned i = 0; i < BATCH; i++)
			asked[i] = name_of(bench, kind, names[i]);
		begin = processor_seconds();
		bench->store->operations->begin(bench->store);
		for (unsigned i = 0; i < BATCH; i++)
			directory_expand(bench->expander, asked[i], on_expanded, bench);
		bench->store->operations->end(bench->store);
		spent += processor_seconds() - begin;
		count += BATCH;
	}
	if (bench->refused != (kind == UNKNOWN ? count : 0))
		panic("%s: %lu of %lu are refused", what, bench->refused, count);
	printf("%s %.0f lookups/s\n", what, (double)count / spent);
}

static void on_listed(void *context, int error, const struct directory_page *page, uint64_t version)
{
	struct bench *bench = context;

	(void)version;
	if (error < 0)
		panic("a page failed: %s", strerror(-error));
	bench->page = page->count;
	buffer_reset(&bench->last);
	if (page->count > 0)
		buffer_append_str(&bench->last, page->records[page->count - 1].key.name);
}

static void list_members(struct bench *bench)
{
	double begin = processor_seconds();
	unsigned long count = 0;

	if (bench->only != NULL && strcmp(bench->only, "members") != 0)
		return;
	while (processor_seconds() - begin < bench->seconds) {
		struct buffer after = {0};
		unsigned long all = 0;

		do {
			bench->store->operations->list(bench->store, DIRECTORY_MEMBER,
						       STR("list@d0.example "), buffer_view(&after),
						       PAGE, on_listed, bench);
			buffer_reset(&after);
			buffer_append_str(&after, buffer_view(&bench->last));
			all += bench->page;
		} while (bench->page == PAGE);
		buffer_clear(&after);
		if (all != bench->members)
			panic("the list has %lu members", all);
		count += all;
	}
	printf("members %.0f a second\n", (double)count / (processor_seconds() - begin));
}

/* Resident: of the process alone, and pages of the file that it shares with the kernel. */
static void print_memory(void)
{
	static const char *const lines[] = {"VmRSS:", "RssAnon:", "RssFile:"};
	FILE *file = fopen("/proc/self/status", "r");
	char line[200];

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		for (size_t i = 0; i < COUNT_OF(lines); i++)
			if (strncmp(line, lines[i], strlen(lines[i])) == 0)
				printf("memory.%s %ld MiB\n", lines[i],
				       strtol(line + strlen(lines[i]), NULL, 10) / 1024);
	if (file != NULL)
		fclose(file);
}

int main(int argc, char **argv)
{
	struct bench bench = {
		.addresses = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000,
		.members = argc > 3 ? strtoul(argv[3], NULL, 10) : 100000,
		.seconds = argc > 4 ? strtod(argv[4], NULL) : 3,
		.only = argc > 5 ? argv[5] : NULL,
		.state = os_random_u64() | 1,
		.loop = os_loop_new(),
	};
	struct buffer why = {0};

	if (argc < 2)
		panic("usage: directory PATH [ADDRESSES [MEMBERS [SECONDS [WHAT]]]]");
	if (store_sqlite_open(bench.loop, argv[1], &bench.store, &why) < 0)
		panic(STR_FORMAT, STR_ARGUMENTS(buffer_view(&why)));
	bench.expander = directory_expander_new(bench.store, &config);
	if (bench.store->version == 0)
		fill(&bench);
	ask(&bench, MAILBOXES, "mailboxes");
	ask(&bench, EXTENSIONS, "extensions");
	ask(&bench, ALIASES, "aliases");
	ask(&bench, UNKNOWN, "unknown");
	ask(&bench, ELSEWHERE, "elsewhere");
	list_members(&bench);
	print_memory();
	buffer_clear(&bench.last);
	directory_expander_free(bench.expander);
	bench.store->operations->free(bench.store);
	os_loop_free(bench.loop);
	return 0;
}
