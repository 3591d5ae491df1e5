// SPDX-License-Identifier: ISC
#include "directory/bulk/format/lines.h"
#include "directory/bulk/reader.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* TEXT as a file without a name. */
static int file_of(struct str text)
{
	int file = memfd_create("exchange", 0);

	assert_true(file >= 0);
	assert_int_equal(write(file, text.data, text.length), (ssize_t)text.length);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	return file;
}

/* "3 address ann@d.example kind=forward target=a@b\n", or "3! what is wrong\n" */
static void append_entry(struct buffer *out, const struct bulk_entry *entry, bool is_problem)
{
	if (strcmp(entry->file, "FILE") != 0)
		buffer_append_format(out, "%s:", strrchr(entry->file, '/') + 1);
	buffer_append_format(out, "%u%s ", entry->line, is_problem ? "!" : "");
	if (is_problem) {
		buffer_append_str(out, entry->problem);
	} else {
		buffer_append_format(out, "%s ", directory_table_name(entry->record.key.table));
		buffer_append_str(out, entry->record.key.name);
		for (size_t i = 0; i < entry->record.field_count; i++)
			buffer_append_format(out, " " STR_FORMAT "=" STR_FORMAT,
					     STR_ARGUMENTS(entry->record.fields[i].name),
					     STR_ARGUMENTS(entry->record.fields[i].value));
	}
	buffer_append_byte(out, '\n');
}

static void read_all(enum bulk_format format, struct str text, const struct bulk_settings *settings,
		     struct buffer *out)
{
	struct bulk_reader *reader = NULL;
	struct bulk_entry entry;
	int file = file_of(text);
	int result;

	assert_int_equal(bulk_reader_new(format, "FILE", file, settings, &reader), 0);
	while ((result = bulk_reader_next(reader, &entry)) != 0) {
		assert_true(result == 1 || result == -EBADMSG);
		append_entry(out, &entry, result < 0);
	}
	bulk_reader_free(reader);
	close(file);
}

struct reading {
	const char *text;
	const char *found;
};

static void check_readings(enum bulk_format format, const struct reading *readings, size_t count,
			   const struct bulk_settings *settings)
{
	for (size_t i = 0; i < count; i++) {
		struct buffer out = {0};

		read_all(format, str_from(readings[i].text), settings, &out);
		if (!str_equal(buffer_view(&out), str_from(readings[i].found)))
			fail_msg("of\n%s\nfound\n" STR_FORMAT "expected\n%s", readings[i].text,
				 STR_ARGUMENTS(buffer_view(&out)), readings[i].found);
		buffer_clear(&out);
	}
}

#define FORWARD(key, target) "address " key " kind=forward target=" target "\n"
#define D                    "@d.example"

static const struct reading alias_readings[] = {
	{"", ""},
	{"# nothing\n\n   \n  # more\n", ""},
	{"root: ann", "1 " FORWARD("root" D, "ann" D)},
	{"root: ann\r\n", "1 " FORWARD("root" D, "ann" D)},
	{"Root:Ann@Elsewhere.Example\n", "1 " FORWARD("root" D, "ann@elsewhere.example")},
	{"a: b, c@e.example ,d\n", "1 " FORWARD("a" D, "b" D " target=c@e.example target=d" D)},
	/* lines that continue */
	{"a: b,\n\tc\n  ,d\nx: y\n",
	 "1 " FORWARD("a" D, "b" D " target=c" D " target=d" D) "4 " FORWARD("x" D, "y" D)},
	{"a: b,\n# between\n\n c\n", "1 " FORWARD("a" D, "b" D " target=c" D)},
	{"a: b,\\\nc\n", "1 " FORWARD("a" D, "b" D " target=c" D)},
	{"  a: b\n", "1! the line continues nothing\n"},
	/* names in quotes, comments, phrases */
	{"\"a b\": c\n", "1 " FORWARD("\"a b\"" D, "c" D)},
	{"\"a:b\": \"c,d\"" D "\n", "1 " FORWARD("\"a:b\"" D, "\"c,d\"" D)},
	{"a: Ann Lee <ann@e.example> (her, home), (x) bob\n",
	 "1 " FORWARD("a" D, "ann@e.example target=bob" D)},
	{"a: \"Lee, Ann\" <ann@e.example>\n", "1 " FORWARD("a" D, "ann@e.example")},
	{"j\xc3\xb6rg: J\xc3\x96RG@b\xc3\xbc"
	 "cher.example\n",
	 "1 " FORWARD("j\xc3\xb6rg" D, "j\xc3\xb6rg@xn--bcher-kva.example")},
	{"ann@other.example: bob\n", "1 " FORWARD("ann@other.example", "bob" D)},
	/* into the own mailbox, too */
	{"ann: \\ann, a@e.example\n", "1 " FORWARD("ann" D, "ann" D " target=a@e.example")},
	{"ann: \"\\Ann\"\n", "1 " FORWARD("ann" D, "ann" D)},
	{"ann: \\bob\n",
	 "1! \\bob passes that name's own alias by; only \\ann is allowed here, the "
	 "alias itself\n"},
	/* what cannot be carried over */
	{"a: |/usr/bin/vacation ann\nb: c\n",
	 "1! |/usr/bin/vacation ann is a program: make it a service of kind pipe in "
	 "stagepost.conf, "
	 "and the address one of kind program\n2 " FORWARD("b" D, "c" D)},
	{"a: b, \"|/bin/x y, z\"\n",
	 "1! |/bin/x y, z is a program: make it a service of kind pipe in stagepost.conf, and the "
	 "address one of kind program\n"},
	{"a: /var/mail/a\n", "1! /var/mail/a is a file: mailboxes are at services of kind maildir; "
			     "what is to be written "
			     "elsewhere goes to a service of kind pipe\n"},
	{"a: :include:/etc/list\n",
	 "1! :include:/etc/list is not read; --include reads it, or put its "
	 "addresses here\n"},
	{"a: :fail: no\n", "1! :fail: no is not known; of these only :include:/FILE is\n"},
	/* what is wrong */
	{"a:\n", "1! the alias has no target\n"},
	{"a: ,,\n", "1! the alias has no target\n"},
	{"a b\n", "1! no \"name: address, address\"\n"},
	{": b\n", "1! no \"name: address, address\"\n"},
	{"a: b c\n", "1! \"b c\" is no address; between two there is a comma\n"},
	{"a: b@@c\n", "1! field target is \"b@@c\"; allowed: an address, LOCAL@DOMAIN\n"},
	{"a;b: c\n",
	 "1! the key \"a;b" D "\" is none of table address; allowed: LOCAL@DOMAIN or @DOMAIN\n"},
	/* lists */
	{"l: a, b@e.example\nx: y\nowner-l: c\n",
	 "1 address l" D " kind=list owner=owner-l" D "\n1 member l" D " a" D "\n1 member l" D
	 " b@e.example\n2 " FORWARD("x" D, "y" D) "3 " FORWARD("owner-l" D, "c" D)},
	{"Owner-L: c\nl: a, |x\n",
	 "1 " FORWARD("owner-l" D, "c" D) "2 address l" D " kind=list owner=owner-l" D
					  "\n2 member l" D " a" D
					  "\n2! |x is a program: make it a service of kind pipe in "
					  "stagepost.conf, and the address one of kind program\n"},
	{"owner-l: c\nl: \\l\n",
	 "1 " FORWARD("owner-l" D, "c" D) "2 address l" D " kind=list owner=owner-l" D
					  "\n2! a list is no member of itself: give the mailbox an "
					  "address of its own\n"},
};

static void test_aliases(void **state)
{
	const struct bulk_settings settings = {.domain = "d.example"};

	(void)state;
	check_readings(BULK_ALIASES, alias_readings, COUNT_OF(alias_readings), &settings);
}

static void test_no_domain(void **state)
{
	const struct bulk_settings settings = {.source = "aliases"};
	static const struct reading readings[] = {
		{"a: b\n", "1! \"a\" has no domain; --domain says which one to add\n"},
		{"a" D ": b\n", "1! \"b\" has no domain; --domain says which one to add\n"},
		{"a" D ": b" D "\n",
		 "1 address a" D " kind=forward target=b" D " source=aliases\n"},
	};

	(void)state;
	check_readings(BULK_ALIASES, readings, COUNT_OF(readings), &settings);
}

static void write_file(const char *directory, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* "@" in TEXT stands for the directory of the files. */
static void check_include(const char *directory, const char *text, const char *found)
{
	const struct bulk_settings settings = {.domain = "d.example", .include = true};
	struct buffer whole = {0};
	struct buffer out = {0};

	for (; *text != '\0'; text++)
		if (*text == '@')
			buffer_append_string(&whole, directory);
		else
			buffer_append_byte(&whole, *text);
	read_all(BULK_ALIASES, buffer_view(&whole), &settings, &out);
	if (!str_equal(buffer_view(&out), str_from(found)))
		fail_msg("found\n" STR_FORMAT "expected\n%s", STR_ARGUMENTS(buffer_view(&out)),
			 found);
	buffer_clear(&whole);
	buffer_clear(&out);
}

static void test_include(void **state)
{
	char directory[SCRATCH_SIZE];
	char nested[128];

	(void)state;
	assert_int_equal(scratch_make(directory), 0);
	write_file(directory, "one", "# members\na, b@e.example\n\n  Cee <c@e.example>\n");
	snprintf(nested, sizeof nested, "n\n:include:%s/one\nm\n", directory);
	write_file(directory, "nested", nested);
	snprintf(nested, sizeof nested, "x, :include:%s/loop\n", directory);
	write_file(directory, "loop", nested);
	write_file(directory, "bad", "a\n\n|x\nb\n");

	check_include(
		directory, "f: :include:@/one, z\n",
		"1 " FORWARD("f" D, "a" D " target=b@e.example target=c@e.example target=z" D));
	check_include(directory, "f: \":include:@/nested\"\n",
		      "1 " FORWARD("f" D, "n" D " target=a" D
					  " target=b@e.example target=c@e.example target=m" D));
	check_include(
		directory, "owner-l: o\nl: :include:@/bad, z\n",
		"1 " FORWARD("owner-l" D, "o" D) "2 address l" D " kind=list owner=owner-l" D
						 "\nbad:1 member l" D " a" D
						 "\nbad:3! |x is a program: make it a service of "
						 "kind pipe in stagepost.conf, and the address "
						 "one of kind program\nbad:4 member l" D " b" D
						 "\n2 member l" D " z" D "\n");
	check_include(directory, "f: :include:one\n", "1! :include:one: a path begins with /\n");
	check_include(directory, "f: :include:/does/not/exist\n",
		      "1! :include:/does/not/exist: No such file or directory\n");
	{
		struct buffer out = {0};

		buffer_append_format(&out, "loop:1! :include:%s/loop includes itself", directory);
		buffer_append_byte(&out, '\n');
		buffer_append_byte(&out, '\0');
		check_include(directory, "f: :include:@/loop\n", buffer_data(&out));
		buffer_clear(&out);
	}
	assert_int_equal(scratch_remove(directory), 0);
}

static const struct reading postfix_readings[] = {
	{"", ""},
	{"# x\nann@a.example bob\n", "2 " FORWARD("ann@a.example", "bob" D)},
	{"ann@a.example\tb@b.example, c@c.example\n",
	 "1 " FORWARD("ann@a.example", "b@b.example target=c@c.example")},
	{"ann@a.example\n  b@b.example,\n  c\n",
	 "1 " FORWARD("ann@a.example", "b@b.example target=c" D)},
	{"@a.example all@b.example\n", "1 " FORWARD("@a.example", "all@b.example")},
	{"@a.example @b.example\n", "1 domain a.example kind=alias target=b.example\n"},
	{"a.example anything at all\n", "1 domain a.example kind=local\n"},
	/* Postfix wants both for an alias domain, in any order */
	{"a.example x\n@A.example @b.example\nc.example x\n",
	 "2 domain a.example kind=alias target=b.example\n3 domain c.example kind=local\n"},
	{"@a.example @b.example\nA.EXAMPLE x\n",
	 "1 domain a.example kind=alias target=b.example\n"},
	{"ann bob@b.example\n", "1 " FORWARD("ann" D, "bob@b.example")},
	{"\"a b\"@a.example c\n", "1 " FORWARD("\"a b\"@a.example", "c" D)},
	{"a.example bob@b.example\n", "1! \"a.example\" could be a domain or a user: write @DOMAIN "
				      "or USER@DOMAIN; after a domain "
				      "of ours no address is allowed\n"},
	{"ann@a.example @b.example\n",
	 "1! \"@b.example\" is a domain, and is allowed only alone after "
	 "another: @DOMAIN @DOMAIN\n"},
	{"ann@a.example\n", "1! \"ann@a.example\" has no value: \"key value, value\"\n"},
	{"/^a/ b\n",
	 "1! \"/^a/ b\" is a pattern; the keys of these maps are addresses and domains\n"},
	{"a@a.example b c\n", "1! \"b c\" is no address; between two there is a comma\n"},
	{"a@a.example ,\n", "1! field target is missing; allowed: an address, LOCAL@DOMAIN\n"},
};

static const struct reading mailbox_readings[] = {
	{"ann@a.example a.example/ann/\nb.example x\n@c.example c/all\n",
	 "1 address ann@a.example kind=mailbox service=maildir\n"
	 "2 domain b.example kind=local service=maildir\n"
	 "3 address @c.example kind=mailbox service=maildir\n"},
};

static void test_postfix(void **state)
{
	const struct bulk_settings settings = {.domain = "d.example"};
	const struct bulk_settings mailboxes = {.service = "maildir"};

	(void)state;
	check_readings(BULK_POSTFIX, postfix_readings, COUNT_OF(postfix_readings), &settings);
	check_readings(BULK_MAILBOXES, mailbox_readings, COUNT_OF(mailbox_readings), &mailboxes);
}

#define TABLES "domain address member user server node\n"

static const struct reading csv_readings[] = {
	{"", ""},
	{"table,key\n", ""},
	{"\xef\xbb\xbftable,key,kind\r\ndomain,A.example,local\r\n",
	 "2 domain a.example kind=local\n"},
	{"key,table, kind ,target,target\na@a.example,address,forward,b@b.example,c@c.example\n"
	 "d@a.example,address,alias,e@a.example\n",
	 "2 " FORWARD("a@a.example",
		      "b@b.example target=c@c.example") "3 address d@a.example kind=alias "
							"target=e@a.example\n"},
	{"table,key,kind,target\n\"address\",\"\"\"a,b\"\"@a.example\",forward,"
	 "\"b@b.example\nc@c.example\"\n\naddress,c@a.example,forward,d@a.example\n",
	 "2 " FORWARD("\"a,b\"@a.example",
		      "b@b.example target=c@c.example") "5 " FORWARD("c@a.example", "d@a.example")},
	{"table,key,kind,text\naddress,a@a.example,refused,\"Say \"\"no\"\", please\"\n",
	 "2 address a@a.example kind=refused text=Say \"no\", please\n"},
	{"table,key,kind\naddress,a\"b,mailbox\naddress,a@b.example,mailbox\n",
	 "2! cell 2: a quote within a cell: the cell must be in quotes, its own be doubled\n"
	 "3 address a@b.example kind=mailbox\n"},
	{"table,key,kind\naddress,\"a\"b,mailbox\n",
	 "2! cell 2: a comma is expected after the quote that ends a cell\n"},
	{"table,key,kind\naddress,\"a\n", "2! the last quote is not closed\n"},
	{"table,key\ndomain,a,b\n", "2! more cells than the first line has names: 2\n"},
	{"table,kind\nx,y\n", "1! no column is called \"key\"\n"},
	{"table,key,mail\nx,y\n", "1! no column is called \"mail\"; the first line names table, "
				  "key and fields of records\n"},
	{"table,key\nhost,a\n", "2! there is no table \"host\"; there are: " TABLES},
	{"key,kind\na@a.example,mailbox\n",
	 "2! no table is named here, nor by --table; there are: " TABLES},
	{"table,key,kind,server\naddress,a@a.example,mailbox,s\n",
	 "2! there is no field \"server\" of kind mailbox; allowed: kind, service, user, mailbox, "
	 "quota, source, state\n"},
};

static const struct reading json_readings[] = {
	{"", ""},
	{"\n \n", ""},
	{"{\"table\":\"domain\",\"key\":\"A.example\",\"kind\":\"local\"}\n",
	 "1 domain a.example kind=local\n"},
	{" { \"key\" : \"a@a.example\", \"table\":\"address\" ,\"kind\":\"forward\", \"target\" : "
	 "[ "
	 "\"b@b.example\" , \"c@c.example\" ] } ",
	 "1 " FORWARD("a@a.example", "b@b.example target=c@c.example")},
	{"{\"table\":\"address\",\"key\":\"\\\"a\\u0020b\\\"@a.example\",\"kind\":\"refused\","
	 "\"text\":\"\\u00e9\\ud83d\\ude00\\/\\\\\"}",
	 "1 address \"a b\"@a.example kind=refused text=\xc3\xa9\xf0\x9f\x98\x80/\\\n"},
	{"{\"table\":\"domain\",\"key\":\"a\\u0000b\",\"kind\":\"local\"}",
	 "1! the key \"a?b\" is none of table domain; allowed: a domain\n"},
	{"[1]", "1! column 1: a line is one object of JSON: "
		"{\"table\":\"address\",\"key\":\"ann@example.org\",...}\n"},
	{"{\"table\":1}", "1! column 10: a text in double quotes is expected\n"},
	{"{\"table\":\"a}", "1! column 13: a text does not end\n"},
	{"{\"table\":\"\\x\"}", "1! column 13: an escape that JSON does not have\n"},
	{"{\"table\":\"\\ud800\"}", "1! column 17: an escape that JSON does not have\n"},
	{"{\"table\" \"a\"}", "1! column 10: a colon is expected after a name\n"},
	{"{\"table\":[\"a\"}", "1! column 14: a list ends in ]\n"},
	{"{\"table\":\"a\"", "1! column 13: an object ends in }\n"},
	{"{\"table\":\"domain\"} x", "1! column 20: one object a line\n"},
	{"{\"table\":\"host\",\"key\":\"a\"}", "1! there is no table \"host\"; there are: " TABLES},
	{"{\"key\":\"a\"}", "1! no table is named here, nor by --table; there are: " TABLES},
	{"{\"table\":\"address\",\"key\":\"a@a.example\",\"kind\":\"mailbok\"}",
	 "1! field kind is \"mailbok\"; allowed: mailbox, forward, alias, list, program, "
	 "refused\n"},
};

static void test_tables(void **state)
{
	const struct bulk_settings settings = {.table = NULL};
	const struct bulk_settings table = {.table = "user", .source = "x"};
	static const struct reading named[] = {
		{"{\"key\":\"Ann\"}\n{\"table\":\"address\",\"key\":\"a@a.example\",\"kind\":"
		 "\"mailbox\"}\n{\"table\":\"address\",\"key\":\"a@a.example\",\"kind\":"
		 "\"mailbox\","
		 "\"source\":\"y\"}\n",
		 "1 user ann\n2 address a@a.example kind=mailbox source=x\n"
		 "3 address a@a.example kind=mailbox source=y\n"},
	};

	(void)state;
	check_readings(BULK_CSV, csv_readings, COUNT_OF(csv_readings), &settings);
	check_readings(BULK_JSON, json_readings, COUNT_OF(json_readings), &settings);
	check_readings(BULK_JSON, named, COUNT_OF(named), &table);
}

/* --- bounds --- */

static void append_targets(struct buffer *text, const char *prefix, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		buffer_append_format(text, "%s%sx%u@d.example", i > 0 ? "," : "", prefix, i);
	buffer_append_byte(text, '\n');
}

static void test_bounds(void **state)
{
	const struct bulk_settings settings = {.domain = "d.example"};
	struct buffer text = {0};
	struct buffer out = {0};

	(void)state;
	buffer_append_string(&text, "a: ");
	append_targets(&text, "", DIRECTORY_FIELDS_MAX - 1);
	buffer_append_string(&text, "b: ");
	append_targets(&text, "", DIRECTORY_FIELDS_MAX);
	buffer_append_string(&text, "c: ");
	append_targets(&text, "                                       ", 400000);
	buffer_append_string(&text, "d: e\n");
	read_all(BULK_ALIASES, buffer_view(&text), &settings, &out);
	buffer_append_byte(&out, '\0');
	assert_true(str_starts_with(buffer_view(&out), STR("1 address a@d.example")));
	assert_non_null(strstr(buffer_data(&out),
			       "\n2! more than 998 addresses; an alias with more is a list"));
	assert_non_null(strstr(buffer_data(&out), "\n3! the line has more than 16777216 bytes\n"
						  "4 address d@d.example "));
	buffer_clear(&text);
	buffer_clear(&out);
}

/* A row whose cell has an end of a line in it, of LENGTH bytes without the last. */
static void read_long_row(size_t length, struct buffer *out)
{
	static const char begin[] = "address,a@a.example,refused,\"\n", end[] = "\"\n";
	const struct bulk_settings settings = {.table = NULL};
	size_t count = length - (sizeof begin - 1) - (sizeof end - 2);
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_string(&text, "table,key,kind,text\n");
	buffer_append_string(&text, begin);
	memset(buffer_reserve(&text, count), 'x', count);
	buffer_commit(&text, count);
	buffer_append_string(&text, end);
	read_all(BULK_CSV, buffer_view(&text), &settings, out);
}

static void test_long_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};
		bool is_refused;

		read_long_row(BULK_LINE_MAX + i, &out);
		is_refused =
			memmem(buffer_data(&out), out.length, "has more than 16777216", 22) != NULL;
		assert_int_equal(is_refused, i == 1);
	}
}

/* A list may be longer than a line: one line of the file a member. */
static void test_long_list(void **state)
{
	const struct bulk_settings settings = {.domain = "d.example", .include = true};
	struct bulk_reader *reader = NULL;
	struct bulk_entry entry;
	char directory[SCRATCH_SIZE];
	char text[200];
	FILE *file;
	int aliases;
	size_t count = 0;

	(void)state;
	assert_int_equal(scratch_make(directory), 0);
	snprintf(text, sizeof text, "%s/members", directory);
	file = fopen(text, "w");
	assert_non_null(file);
	for (unsigned i = 0; i < 100000; i++)
		fprintf(file, "member-with-a-long-name-%u@e.example\n", i);
	assert_int_equal(fclose(file), 0);
	snprintf(text, sizeof text, "owner-l: o\nl: :include:%s/members\n", directory);
	aliases = file_of(str_from(text));
	assert_int_equal(bulk_reader_new(BULK_ALIASES, "FILE", aliases, &settings, &reader), 0);
	while (bulk_reader_next(reader, &entry) > 0)
		count++;
	assert_int_equal(count, 100002);
	bulk_reader_free(reader);
	close(aliases);
	assert_int_equal(scratch_remove(directory), 0);
}

static void test_formats(void **state)
{
	(void)state;
	for (unsigned format = 0; format < BULK_FORMATS; format++)
		assert_int_equal(bulk_format_find(str_from(bulk_format_name(format))), format);
	assert_int_equal(bulk_format_find(STR("xml")), BULK_FORMATS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_aliases),   cmocka_unit_test(test_no_domain),
		cmocka_unit_test(test_include),   cmocka_unit_test(test_postfix),
		cmocka_unit_test(test_tables),    cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_long_rows), cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
