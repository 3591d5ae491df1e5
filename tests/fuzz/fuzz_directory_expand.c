// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_directory_expand.c - expansion over records made of the input, a few names that
 * point at one another in every way. It ends; its results are the same whether the store answers at
 * once or late; each is well formed and there once; what is refused for good is not also delivered.
 */
#include "base/panic.h"
#include "directory/expand/expand.h"
#include "input.h"
#include "unit/directory/store/memory_store.h"
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS_MAX = 24, TARGETS_MAX = 5 };

static struct config_service services[] = {
	{.name = "maildir", .kind = CONFIG_SERVICE_MAILDIR, .path = "/mail/%d/%u"},
	{.name = "filter", .kind = CONFIG_SERVICE_PIPE}};
static const char *listed[] = {"a", "b+x"};
static struct config_domain domains[] = {
	{.name = "all.example", .service = &services[0]},
	{.name = "some.example", .service = &services[0], .addresses = listed, .address_count = 2}};
static const struct config_domain *domain_index[] = {&domains[0], &domains[1]};
static const struct config config = {.hostname = "mx1.example",
				     .recipient_delimiter = "+",
				     .domains = domains,
				     .domain_count = 2,
				     .domain_index = domain_index,
				     .services = services,
				     .service_count = 2};

static const char *choose_domain(struct input *input)
{
	static const char *const names[] = {"d.example",   "e.example",    "f.example",
					    "all.example", "some.example", "mx1.example"};

	return names[input_byte(input) % COUNT_OF(names)];
}

static void append_address(struct input *input, struct buffer *out)
{
	static const char *const locals[] = {"a",       "b",  "a+x",        "b+x",
					     "\"a b\"", "+x", "postmaster", "jos\xc3\xa9"};

	buffer_append_string(out, locals[input_byte(input) % COUNT_OF(locals)]);
	buffer_append_format(out, "@%s", choose_domain(input));
}

static void append_targets(struct input *input, struct buffer *out)
{
	for (unsigned count = 1 + input_byte(input) % TARGETS_MAX; count > 0; count--) {
		buffer_append_string(out, "|target ");
		append_address(input, out);
	}
}

static void append_kind(struct input *input, struct buffer *out)
{
	static const char *const kinds[] = {
		"|kind mailbox",
		"|kind mailbox|service maildir",
		"|kind mailbox|service gone",
		"|kind mailbox|user ann",
		"|kind mailbox|user bob|mailbox box@d.example",
		"|kind list|owner o@d.example|verp yes",
		"|kind program|service filter",
		"|kind program|service maildir",
		"|kind refused|text No",
		"|kind refused|text Later|status 4.2.1",
	};
	unsigned choice = input_byte(input) % (COUNT_OF(kinds) + 4);

	if (choice < COUNT_OF(kinds)) {
		buffer_append_string(out, kinds[choice]);
	} else if (choice < COUNT_OF(kinds) + 2) {
		buffer_append_string(out, "|kind alias|target ");
		append_address(input, out);
	} else {
		buffer_append_string(out, "|kind forward");
		append_targets(input, out);
	}
}

static void append_record(struct input *input, struct buffer *out)
{
	static const char *const domain_kinds[] = {"local|service maildir", "local", "relay",
						   "local|service gone"};
	unsigned choice = input_byte(input) % 8;

	if (choice == 0) {
		buffer_append_format(out, "domain %s|kind %s", choose_domain(input),
				     domain_kinds[input_byte(input) % COUNT_OF(domain_kinds)]);
	} else if (choice == 1) {
		buffer_append_format(out, "domain %s", choose_domain(input));
		buffer_append_format(out, "|kind alias|target %s", choose_domain(input));
	} else if (choice == 2) {
		buffer_append_format(out, "address @%s", choose_domain(input));
		append_kind(input, out);
	} else if (choice == 3) {
		buffer_append_string(out, "user ann|server s1");
	} else if (choice == 4) {
		buffer_append_string(out, "server s1|service maildir");
	} else {
		buffer_append_string(out, "address ");
		append_address(input, out);
		append_kind(input, out);
	}
}

/* What the check refuses, an alias of itself for example, is left out. */
static void fill(struct input *input, struct memory_store *store)
{
	for (unsigned count = input_byte(input) % RECORDS_MAX; count > 0; count--) {
		struct buffer text = {0};

		append_record(input, &text);
		buffer_append_byte(&text, '\0');
		(void)memory_store_try_put(store, buffer_data(&text));
		buffer_clear(&text);
	}
}

static bool is_line_of(struct str text, struct str wanted)
{
	struct str line;

	while (str_split(&text, '\n', &line))
		if (str_equal(line, wanted))
			return true;
	return false;
}

/* Each is read as what was written, and comes once. */
static void on_expanded(void *context, int error, const struct directory_expansion *expansion)
{
	struct buffer *out = context;

	if (error < 0 || expansion->count == 0 ||
	    expansion->may_keep !=
		    (expansion->dependency_count > 0)) /* without, there are too many */
		panic("an expansion of %zu routes fails: %d", error < 0 ? 0 : expansion->count,
		      error);
	for (size_t i = 0; i < expansion->count; i++) {
		size_t start = out->length;
		struct directory_route route;
		struct buffer again = {0};

		directory_route_write(&expansion->routes[i], out);
		route = directory_route_read(str_skip(buffer_view(out), start));
		if (route.kind != expansion->routes[i].kind)
			panic("a route is read as one of another kind");
		directory_route_write(&route, &again);
		if (!str_equal(buffer_view(&again), str_skip(buffer_view(out), start)))
			panic("a route is read as another one: " STR_FORMAT,
			      STR_ARGUMENTS(buffer_view(&again)));
		if (is_line_of(str_slice(buffer_data(out), start), buffer_view(&again)))
			panic("a route comes twice");
		buffer_append_byte(out, '\n');
		buffer_clear(&again);
	}
	buffer_append_byte(out, '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {{(const char *)data, size}};
	struct memory_store *store = memory_store_new(NULL);
	struct directory_expander *expander = directory_expander_new(&store->base, &config);
	struct buffer address = {0};
	struct buffer at_once = {0};
	struct buffer late = {0};

	fill(&input, store);
	append_address(&input, &address);
	directory_expand(expander, buffer_view(&address), on_expanded, &at_once);
	directory_expander_reset(expander);
	store->is_late = true;
	directory_expand(expander, buffer_view(&address), on_expanded, &late);
	(void)memory_store_answer_all(store);
	if (late.length == 0)
		panic("an expansion does not end");
	check_equal(buffer_view(&at_once), buffer_view(&late), "results at once and late");
	directory_expander_free(expander);
	memory_store_free(store);
	buffer_clear(&address);
	buffer_clear(&at_once);
	buffer_clear(&late);
	return 0;
}
