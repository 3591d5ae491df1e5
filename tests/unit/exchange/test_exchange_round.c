// SPDX-License-Identifier: ISC
/* What is written is read again as it was: records by chance, from a seed that is printed. */
#include "directory/record/key.h"
#include "exchange/reader.h"
#include "exchange/writer.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 2000, TARGETS = 6 };

static const char *const LOCALS[] = {
	"ann",     "bob.b",    "\"a b\"",     "\"a,b\"",      "\"x:y\"",  "|pipe",
	"#hash",   "/slash",   "a/b=c",       "owner",        "\"\\\"\"", "\"\\\\\"",
	"\"<a>\"", "\"(c)\"",  "j\xc3\xb6rg", "a+b",          "{brace",   "\"@\"",
	"\"a#b\"", "\"|x y\"", "'quote",      "\xe5\xb1\xb1", "if",       "a'b",
};
static const char *const DOMAINS[] = {"d.example", "e.example", "xn--bcher-kva.example"};
static const char *const TEXTS[] = {
	"Gone", "Say \"no\", please",           "a, b", "=1+1",
	"\\n",  "caf\xc3\xa9 \xf0\x9f\x98\x80", " x ",  "'",
};

static uint64_t chance = 1;

/* 0 to BOUND - 1 (xorshift64). */
static unsigned pick(size_t bound)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (unsigned)(chance % bound);
}

#define ANY(list) (list)[pick(COUNT_OF(list))]

static struct str address(struct arena *arena, const char *domain)
{
	struct buffer text = {0};
	struct str copy;

	buffer_append_format(&text, "%s@%s", ANY(LOCALS), domain);
	copy = arena_copy_str(arena, buffer_view(&text));
	buffer_clear(&text);
	return copy;
}

struct making {
	struct arena *arena;
	struct directory_field fields[TARGETS + 4];
	size_t count;
};

static void add(struct making *making, const char *name, struct str value)
{
	making->fields[making->count++] = (struct directory_field){str_from(name), value};
}

static void add_targets(struct making *making, unsigned count)
{
	while (count-- > 0)
		add(making, "target", address(making->arena, ANY(DOMAINS)));
}

static void add_kind(struct making *making, struct str owner)
{
	unsigned kind = pick(6);
	static const char *const names[] = {"mailbox", "forward", "alias",
					    "list",    "program", "refused"};

	add(making, "kind", str_from(names[kind]));
	if (kind == 0 && pick(2))
		add(making, "service", STR("maildir"));
	if (kind == 0 && pick(3) == 0)
		add(making, "mailbox", address(making->arena, "e.example"));
	if (kind == 1)
		add_targets(making, 1 + pick(TARGETS));
	if (kind == 2)
		add_targets(making, 1);
	if (kind == 3)
		add(making, "owner", owner);
	if (kind == 3 && pick(2))
		add(making, "verp", pick(2) ? STR("yes") : STR("no"));
	if (kind == 3 && pick(4) == 0)
		add(making, "post", pick(2) ? STR("members") : STR("owners"));
	if (kind == 4)
		add(making, "service", STR("filter"));
	if (kind == 5)
		add(making, "text", str_from(ANY(TEXTS)));
	if (kind == 5 && pick(2))
		add(making, "status", STR("4.7.1"));
	if (pick(2))
		add(making, "source", STR("tests"));
	if (pick(8) == 0)
		add(making, "state", pick(2) ? STR("disabled") : STR("deferred"));
}

static struct str join(struct arena *arena, const char *first, struct str rest)
{
	struct buffer text = {0};
	struct str copy;

	buffer_append_string(&text, first);
	buffer_append_str(&text, rest);
	copy = arena_copy_str(arena, buffer_view(&text));
	buffer_clear(&text);
	return copy;
}

static struct str fill_address(struct making *making)
{
	struct str key = address(making->arena, ANY(DOMAINS));

	if (key.data[0] == '"')
		add_kind(making, join(making->arena, "\"owner-", str_skip(key, 1)));
	else
		add_kind(making, join(making->arena, "owner-", key));
	return key;
}

static struct str fill_domain(struct making *making)
{
	unsigned kind = pick(3);

	add(making, "kind", kind == 0 ? STR("local") : kind == 1 ? STR("relay") : STR("alias"));
	if (kind == 2)
		add(making, "target", str_from(ANY(DOMAINS)));
	if (kind == 0 && pick(2))
		add(making, "service", STR("maildir"));
	return pick(4) ? str_from(ANY(DOMAINS)) : STR("localdomain");
}

static struct str fill_user(struct making *making)
{
	if (pick(2))
		add(making, "password",
		    STR("$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/"
			"O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"));
	if (pick(2))
		add(making, "password",
		    STR("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
			"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
			"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="));
	if (pick(2))
		add(making, "server", STR("s1"));
	if (pick(2))
		add(making, "name", str_from(ANY(TEXTS)));
	return str_from(ANY(LOCALS));
}

static struct str fill_member(struct making *making)
{
	return join(making->arena, "list@d.example ", address(making->arena, ANY(DOMAINS)));
}

/* A record by chance, checked; false when chance made one that there cannot be. */
static bool make(struct arena *arena, struct directory_record *record_out)
{
	struct making making = {.arena = arena};
	struct directory_record input = {.key.table = DIRECTORY_ADDRESS};
	const char *reason;

	switch (pick(6)) {
	case 0:
		input.key.table = DIRECTORY_DOMAIN;
		input.key.name = fill_domain(&making);
		break;
	case 1:
		input.key.table = DIRECTORY_USER;
		input.key.name = fill_user(&making);
		break;
	case 2:
		input.key.table = DIRECTORY_MEMBER;
		input.key.name = fill_member(&making);
		break;
	default:
		input.key.name = fill_address(&making);
	}
	input.fields = making.fields;
	input.field_count = making.count;
	return directory_record_check(&input, arena, record_out, &reason) == 0;
}

/* --- reading again --- */

static struct exchange_reader *read_text(enum exchange_format format, const struct buffer *text,
					 const struct exchange_settings *settings, int *file_out)
{
	struct exchange_reader *reader = NULL;
	int file = memfd_create("round", 0);

	assert_int_equal(write(file, buffer_data(text), text->length), (ssize_t)text->length);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	assert_int_equal(exchange_reader_new(format, "FILE", file, settings, &reader), 0);
	*file_out = file;
	return reader;
}

static bool is_same(const struct directory_record *a, const struct directory_record *b)
{
	if (a->key.table != b->key.table || !str_equal(a->key.name, b->key.name) ||
	    a->field_count != b->field_count)
		return false;
	for (size_t i = 0; i < a->field_count; i++)
		if (!str_equal(a->fields[i].name, b->fields[i].name) ||
		    !str_equal(a->fields[i].value, b->fields[i].value))
			return false;
	return true;
}

static void expect_record(struct exchange_reader *reader, const struct directory_record *record,
			  const struct buffer *text)
{
	struct exchange_entry entry;
	int result = exchange_reader_next(reader, &entry);

	if (result == 1 && is_same(&entry.record, record))
		return;
	fail_msg("%d " STR_FORMAT " of " STR_FORMAT, result, STR_ARGUMENTS(entry.problem),
		 STR_ARGUMENTS(buffer_view(text)));
}

/* --- all records, in the forms that say everything --- */

static void check_whole(enum exchange_format format)
{
	const struct exchange_settings settings = {.domain = NULL};
	struct arena *arena = arena_new();
	struct directory_record records[ROUNDS];
	struct exchange_reader *reader;
	struct exchange_entry entry;
	struct buffer text = {0};
	size_t count = 0;
	int file;

	exchange_write_head(format, &text);
	for (int i = 0; i < ROUNDS; i++) {
		if (!make(arena, &records[count]))
			continue;
		assert_null(exchange_write(format, &records[count], &settings, &text));
		count++;
	}
	assert_true(count > ROUNDS / 2);
	reader = read_text(format, &text, &settings, &file);
	for (size_t i = 0; i < count; i++)
		expect_record(reader, &records[i], &text);
	assert_int_equal(exchange_reader_next(reader, &entry), 0);
	exchange_reader_free(reader);
	close(file);
	buffer_clear(&text);
	arena_free(arena);
}

static void test_whole(void **state)
{
	(void)state;
	check_whole(EXCHANGE_JSON);
	check_whole(EXCHANGE_CSV);
}

/* --- one at a time, in the others --- */

/* As it comes back: without its source, a forward where it was an alias; "verp no" is the
 * default. */
static void reduce(struct arena *arena, struct directory_record *record, bool keeps_alias)
{
	struct directory_field *fields = arena_alloc(arena, record->field_count * sizeof *fields);
	size_t count = 0;

	for (size_t i = 0; i < record->field_count; i++) {
		fields[count] = record->fields[i];
		if (!keeps_alias && str_equal(fields[count].value, STR("alias")))
			fields[count].value = STR("forward");
		if (!str_equal(fields[count].name, STR("source")) &&
		    !str_equal(fields[count].name, STR("verp")))
			count++;
	}
	record->fields = fields;
	record->field_count = count;
}

/* The list's members and its owner's own alias behind it. */
static size_t write_members(struct arena *arena, const struct directory_record *list,
			    struct directory_record *members, struct buffer *text)
{
	size_t count = 0;

	for (unsigned i = pick(TARGETS); i > 0; i--) {
		struct directory_record input = {.key.table = DIRECTORY_MEMBER};
		struct buffer key = {0};
		const char *reason;

		buffer_append_str(&key, list->key.name);
		buffer_append_byte(&key, ' ');
		buffer_append_str(&key, address(arena, ANY(DOMAINS)));
		input.key.name = arena_copy_str(arena, buffer_view(&key));
		buffer_clear(&key);
		if (directory_record_check(&input, arena, &members[count], &reason) < 0)
			continue;
		exchange_write_member(str_skip(members[count].key.name, list->key.name.length + 1),
				      count == 0, text);
		count++;
	}
	exchange_write_list_end(text);
	buffer_append_str(text, directory_record_field(list, "owner"));
	buffer_append_string(text, ": x@e.example\n");
	return count;
}

/* Whether the form has it, and then that it comes back. */
static bool check_one(enum exchange_format format, struct arena *arena,
		      struct directory_record *record)
{
	const struct exchange_settings settings = {.domain = "d.example", .service = "maildir"};
	struct directory_record members[TARGETS];
	struct buffer text = {0};
	struct exchange_reader *reader;
	size_t count = 0;
	int file;
	bool is_list = exchange_write_is_list(format, record);

	if (exchange_write(format, record, &settings, &text) != NULL) {
		assert_int_equal(text.length, 0);
		return false;
	}
	if (is_list)
		count = write_members(arena, record, members, &text);
	reduce(arena, record, record->key.table == DIRECTORY_DOMAIN);
	reader = read_text(format, &text, &settings, &file);
	expect_record(reader, record, &text);
	for (size_t i = 0; i < count; i++)
		expect_record(reader, &members[i], &text);
	exchange_reader_free(reader);
	close(file);
	buffer_clear(&text);
	return true;
}

static void test_others(void **state)
{
	size_t written[EXCHANGE_FORMATS] = {0};

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		for (unsigned format = EXCHANGE_ALIASES; format < EXCHANGE_FORMATS; format++) {
			struct arena *arena = arena_new();
			struct directory_record record;

			if (make(arena, &record) && check_one(format, arena, &record))
				written[format]++;
			arena_free(arena);
		}
	}
	for (unsigned format = EXCHANGE_ALIASES; format < EXCHANGE_FORMATS; format++)
		assert_true(written[format] > ROUNDS / 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_others),
	};
	const char *given = getenv("SEED");
	unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);

	printf("SEED=%u\n", seed);
	chance = seed * UINT64_C(2654435761) + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
