// SPDX-License-Identifier: ISC
#include "directory/record/record.h"
#include "test.h"
#include "unit/directory/store/record_text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static unsigned in_form; /* that were found out the short way */

static void check_form(const char *text, const char *form)
{
	bool is_alike;
	struct arena *arena = arena_new();
	struct directory_record input = record_of_text(arena, text);
	struct directory_record record;
	struct directory_record copy;
	const char *reason = "";
	struct buffer out = {0};

	if (directory_record_check(&input, arena, &record, &reason) != 0)
		fail_msg("%s: %s", text, reason);
	copy = directory_record_copy(arena, &record);
	is_alike = directory_record_is_in_form(&input, false, &out);
	assert_false(is_alike && strcmp(text, form) != 0);
	in_form += is_alike;
	buffer_reset(&out);
	record_append_text(&out, &copy);
	buffer_append_byte(&out, '\0');
	assert_string_equal(buffer_data(&out), form);
	buffer_clear(&out);
	arena_free(arena);
}

static void records_have_one_form(void **state)
{
	static const struct {
		const char *text;
		const char *form; /* NULL: the same */
	} cases[] = {
		{"domain Example.org|kind local", "domain example.org|kind local"},
		{"domain example.org|service maildir|kind local",
		 "domain example.org|kind local|service maildir"},
		{"domain example.org|kind relay", NULL},
		{"domain example.org|kind alias|target B\xc3\xbc"
		 "cher.example",
		 "domain example.org|kind alias|target xn--bcher-kva.example"},
		{"address Ann@Example.org|kind mailbox", "address ann@example.org|kind mailbox"},
		{"address @Example.org|kind mailbox|mailbox Ann@Example.org|user Ann",
		 "address @example.org|kind mailbox|user ann|mailbox ann@example.org"},
		{"address a@d.example|target C@d.example|kind forward|target B@d.example",
		 "address a@d.example|kind forward|target c@d.example|target b@d.example"},
		{"address a@d.example|kind forward|target a@d.example", NULL},
		{"address a@d.example|kind alias|target \"B\"@d.example",
		 "address a@d.example|kind alias|target b@d.example"},
		{"address a@d.example|kind list|verp yes|owner O@d.example",
		 "address a@d.example|kind list|owner o@d.example|verp yes"},
		{"address a@d.example|kind program|service filter", NULL},
		{"address a@d.example|source aliases|kind forward|target b@d.example",
		 "address a@d.example|kind forward|target b@d.example|source aliases"},
		{"address a@d.example|kind refused|text Gone to b\xc3\xbc"
		 "cher",
		 NULL},
		{"address a@d.example|kind refused|text Later|status 4.2.1", NULL},
		{"address a@d.example|kind list|post members|owner o@d.example",
		 "address a@d.example|kind list|owner o@d.example|post members"},
		{"address a@d.example|state disabled|kind forward|target b@d.example|source x",
		 "address a@d.example|kind forward|target b@d.example|source x|state disabled"},
		{"user ann|state deferred|name Ann", "user ann|name Ann|state deferred"},
		{"member L@d.example M@e.example", "member l@d.example m@e.example"},
		{"user Ann|server S1|password $y$j9T$x$y|name Ann B\xc3\xbc"
		 "cher|password "
		 "SCRAM-SHA-256$4096:c2FsdA==$YQ==:Yg==",
		 "user ann|password $y$j9T$x$y|password "
		 "SCRAM-SHA-256$4096:c2FsdA==$YQ==:Yg==|server s1"
		 "|name Ann B\xc3\xbc"
		 "cher"},
		{"user ann@example.org", NULL},
		{"user ann|send_as a@d.example @e.example", NULL},
		{"user ann|send_as  A@D.example  @E.Example ",
		 "user ann|send_as a@d.example @e.example"},
		{"server s1|service maildir", NULL},
		{"server s1|address B\xc3\xbc"
		 "cher.Example:24|service box",
		 "server s1|service box|address xn--bcher-kva.example:24"},
		{"server s1|service box|address [2001:DB8:0::7]:024",
		 "server s1|service box|address [2001:db8::7]:24"},
		{"server s1|service box|address 192.0.2.7:24", NULL},
		{"node A1.Example|state away|weight 010|group core|address B\xc3\xbc"
		 "cher.Example:627|group out",
		 "node a1.example|address xn--bcher-kva.example:627|group core|group out|weight 10"
		 "|state away"},
		{"node 7|address [2001:db8::7]:627", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *form = cases[i].form != NULL ? cases[i].form : cases[i].text;

		check_form(cases[i].text, form);
		check_form(form, form);
	}
	assert_true(in_form > COUNT_OF(cases)); /* most of those that are, twice */
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text;
		const char *reason;
	} cases[] = {
		{"none a|x y",
		 "there is no such table; allowed: domain, address, member, user, server, node"},
		{"domain a b|kind local",
		 "the key \"a b\" is none of table domain; allowed: a domain"},
		{"address a|kind mailbox",
		 "the key \"a\" is none of table address; allowed: LOCAL@DOMAIN or @DOMAIN"},
		{"member a@b.example",
		 "the key \"a@b.example\" is none of table member; allowed: two "
		 "addresses with a space between, LIST and MEMBER"},
		{"user a b", "the key \"a b\" is none of table user; allowed: a local part or an "
			     "address"},
		{"domain d.example|service x",
		 "field kind is missing; allowed: local, relay, alias"},
		{"domain d.example|kind mailbox",
		 "field kind is \"mailbox\"; allowed: local, relay, alias"},
		{"address a@d.example|kind Mailbox", "field kind is \"Mailbox\"; allowed: mailbox, "
						     "forward, alias, list, program, refused"},
		{"domain d.example|kind local|kind local", "field kind comes again; allowed: once"},
		{"domain d.example|kind relay|service x",
		 "there is no field \"service\" of kind relay; allowed: kind"},
		{"domain d.example|kind alias", "field target is missing; allowed: a domain"},
		{"domain d.example|kind alias|target d.example",
		 "field target is the record's own key; allowed: another"},
		{"address a@d.example|kind alias|target A@d.example",
		 "field target is the record's own key; allowed: another"},
		{"address a@d.example|kind alias|target b@d.example|target c@d.example",
		 "field target comes again; allowed: once"},
		{"address a@d.example|kind forward",
		 "field target is missing; allowed: an address, LOCAL@DOMAIN"},
		{"address a@d.example|kind forward|target b",
		 "field target is \"b\"; allowed: an address, LOCAL@DOMAIN"},
		{"address a@d.example|kind forward|target @b.example",
		 "field target is \"@b.example\"; allowed: an address, LOCAL@DOMAIN"},
		{"address a@d.example|kind mailbox|service a b",
		 "field service is \"a b\"; allowed: a service: 1 to 32 of a-z, 0-9, _ and -"},
		{"address a@d.example|kind mailbox|service a|user b",
		 "there are both fields service and user; allowed: one of them"},
		{"address @d.example|kind list|owner o@d.example",
		 "field kind is \"list\" for a whole domain; allowed: a list with an address of "
		 "its "
		 "own"},
		{"address a@d.example|kind list",
		 "field owner is missing; allowed: an address, LOCAL@DOMAIN"},
		{"address a@d.example|kind list|owner o@d.example|verp maybe",
		 "field verp is \"maybe\"; allowed: yes, no"},
		{"address a@d.example|kind refused|text a\r\nb",
		 "field text is \"a??b\"; allowed: a line of text, at most 400 bytes"},
		{"address a@d.example|kind refused|text ",
		 "field text is \"\"; allowed: a line of text, at most 400 bytes"},
		{"address a@d.example|kind list|owner o@d.example|post all",
		 "field post is \"all\"; allowed: anyone, members, owners"},
		{"address a@d.example|kind mailbox|post members",
		 "there is no field \"post\" of kind mailbox; allowed: kind, service, user, "
		 "mailbox, quota, source, state"},
		{"address a@d.example|kind mailbox|state off",
		 "field state is \"off\"; allowed: active, deferred, disabled"},
		{"user ann|state Disabled",
		 "field state is \"Disabled\"; allowed: active, deferred, disabled"},
		{"address a@d.example|kind refused|text x|status 2.0.0",
		 "field status is \"2.0.0\"; allowed: 4.x.x or 5.x.x"},
		{"member a@d.example A@d.example",
		 "the list is its own member; allowed: another address"},
		{"member a@d.example b@d.example|kind x",
		 "there is no field \"kind\"; there are no fields"},
		{"address a@d.example|kind mailbox|source A b",
		 "field source is \"A b\"; allowed: a word: 1 to 32 of a-z, 0-9 and -"},
		{"user ann|password secret", "field password is not right; allowed: a hash of "
					     "crypt(5), or SCRAM-SHA-256$... or "
					     "SCRAM-SHA-1$..., RFC 5803"},
		{"user ann|send_as a@d.example b",
		 "field send_as is \"a@d.example b\"; allowed: addresses, LOCAL@DOMAIN, or @DOMAIN "
		 "for all of a domain, with spaces between; at most 1024 bytes"},
		{"user ann|passwort x",
		 "there is no field \"passwort\"; allowed: password, server, name, send_as, state"},
		{"node a_1|address a:1",
		 "the key \"a_1\" is none of table node; allowed: a host name of "
		 "at most 64 of a-z, 0-9, - and ."},
		{"node a1|group core",
		 "field address is missing; allowed: HOST:PORT, with a name or an IPv4 address, or "
		 "[IPV6]:PORT"},
		{"node a1|address a:1|group Core",
		 "field group is \"Core\"; allowed: a group: 1 to 32 of a-z, 0-9, _ and -"},
		{"node a1|address a:1|weight 0", "field weight is \"0\"; allowed: 1 to 100"},
		{"node a1|address a:1|weight 101", "field weight is \"101\"; allowed: 1 to 100"},
		{"node a1|address a:1|weight 1 ", "field weight is \"1 \"; allowed: 1 to 100"},
		{"node a1|address a:1|weight ", "field weight is \"\"; allowed: 1 to 100"},
		{"node a1|address a:1|state deferred",
		 "field state is \"deferred\"; allowed: active, draining, away"},
		{"node a1|address a:1|weight 1|weight 2",
		 "field weight comes again; allowed: once"},
		{"server s1",
		 "field service is missing; allowed: a service: 1 to 32 of a-z, 0-9, _ "
		 "and -"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct arena *arena = arena_new();
		struct directory_record input = record_of_text(arena, cases[i].text);
		struct directory_record record = {.field_count = 77};
		struct buffer scratch = {0};
		const char *reason = NULL;

		if (directory_record_check(&input, arena, &record, &reason) != -EINVAL)
			fail_msg("%s is taken", cases[i].text);
		assert_false(directory_record_is_in_form(&input, false, &scratch));
		assert_string_equal(reason, cases[i].reason);
		assert_int_equal(record.field_count, 77);
		buffer_clear(&scratch);
		arena_free(arena);
	}
}

static void there_are_bounds(void **state)
{
	struct arena *arena = arena_new();
	struct directory_field *fields =
		arena_alloc(arena, (DIRECTORY_FIELDS_MAX + 1) * sizeof *fields);
	struct directory_record input = {
		{DIRECTORY_ADDRESS, STR("a@d.example")}, fields, DIRECTORY_FIELDS_MAX};
	struct directory_record record;
	char *text = arena_alloc(arena, 2000);
	const char *reason;

	(void)state;
	for (size_t i = 0; i <= DIRECTORY_FIELDS_MAX; i++)
		fields[i] = (struct directory_field){STR("target"), STR("b@d.example")};
	fields[0] = (struct directory_field){STR("kind"), STR("forward")};
	assert_int_equal(directory_record_check(&input, arena, &record, &reason), 0);
	assert_int_equal(record.field_count, DIRECTORY_FIELDS_MAX);
	input.field_count++;
	assert_int_equal(directory_record_check(&input, arena, &record, &reason), -EINVAL);
	assert_string_equal(reason, "there are 1001 fields; allowed: at most 1000");

	memset(text, 'x', 2000);
	fields[0] = (struct directory_field){STR("kind"), STR("refused")};
	fields[1] = (struct directory_field){STR("text"), str_slice(text, 400)};
	input.field_count = 2;
	assert_int_equal(directory_record_check(&input, arena, &record, &reason), 0);
	fields[1].value.length = 401;
	assert_int_equal(directory_record_check(&input, arena, &record, &reason), -EINVAL);
	assert_true(strlen(reason) < 200);
	arena_free(arena);
}

/* At each bound of a node and one beyond it. */
static void nodes_have_bounds(void **state)
{
	static const char *const reasons[] = {" is none of table node", "field weight is \"101\""};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		size_t length = DIRECTORY_NODE_NAME_MAX + (i == 1);
		struct arena *arena = arena_new();
		struct directory_field fields[] = {{STR("address"), STR("a.example:627")},
						   {STR("weight"), STR("1")}};
		char name[DIRECTORY_NODE_NAME_MAX + 2], weight[8];
		struct directory_record input = {
			{DIRECTORY_NODE, str_slice(name, length)}, fields, COUNT_OF(fields)};
		struct directory_record record;
		const char *reason;

		memset(name, 'a', sizeof name);
		name[1] = '.';
		snprintf(weight, sizeof weight, "%d", DIRECTORY_NODE_WEIGHT_MAX + (i == 3));
		fields[1].value = str_from(weight);
		assert_int_equal(directory_record_check(&input, arena, &record, &reason),
				 i % 2 == 0 ? 0 : -EINVAL);
		if (i % 2 != 0)
			assert_non_null(strstr(reason, reasons[i / 2]));
		arena_free(arena);
	}
}

static void tables_have_names(void **state)
{
	(void)state;
	for (enum directory_table t = DIRECTORY_DOMAIN; t < DIRECTORY_TABLES; t++)
		assert_int_equal(directory_table_find(str_from(directory_table_name(t))), t);
	assert_int_equal(directory_table_find(STR("")), DIRECTORY_NO_TABLE);
	assert_int_equal(directory_table_find(STR("route")), DIRECTORY_NO_TABLE);
	assert_int_equal(directory_table_find(STR("membership")), DIRECTORY_NO_TABLE);
	assert_int_equal(directory_table_find_listed(STR("membership")), DIRECTORY_MEMBERSHIP);
	assert_int_equal(directory_table_find_listed(STR("route")), DIRECTORY_NO_TABLE);
	assert_string_equal(directory_table_name(DIRECTORY_LISTED_TABLES), "");
}

static void fields_are_found(void **state)
{
	struct arena *arena = arena_new();
	struct directory_record record = record_of_text(
		arena, "address a@d.example|kind forward|target b@e.example|target c@e.example");

	(void)state;
	assert_true(str_equal(directory_record_field(&record, "target"), STR("b@e.example")));
	assert_int_equal(directory_record_field(&record, "targe").length, 0);
	arena_free(arena);
}

/* Names that several kinds have come once. */
static void tables_have_fields(void **state)
{
	struct buffer names = {0};
	const char *name;
	bool is_many;

	(void)state;
	for (size_t i = 0; (name = directory_table_field(DIRECTORY_ADDRESS, i, &is_many)) != NULL;
	     i++)
		buffer_append_format(&names, "%s%s ", name, is_many ? "+" : "");
	assert_true(str_equal(
		buffer_view(&names),
		STR("kind service user mailbox quota target+ owner verp post text status source "
		    "state ")));
	assert_null(directory_table_field(DIRECTORY_MEMBER, 0, NULL));
	assert_true(directory_table_field_is_many(DIRECTORY_USER, STR("password")));
	assert_false(directory_table_field_is_many(DIRECTORY_USER, STR("target")));
	buffer_clear(&names);
}

/* What a later version may have is not known to be harmless. */
static void states_are_read(void **state)
{
	static const struct {
		const char *text;
		enum directory_state state;
	} cases[] = {{"active", DIRECTORY_ACTIVE},
		     {"deferred", DIRECTORY_DEFERRED},
		     {"disabled", DIRECTORY_DISABLED},
		     {"asleep", DIRECTORY_DEFERRED},
		     {"", DIRECTORY_ACTIVE}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_field field = {STR("state"), str_from(cases[i].text)};
		struct directory_record record = {.fields = &field, .field_count = 1};

		assert_int_equal(directory_record_state(&record), cases[i].state);
		record.field_count = 0;
		assert_int_equal(directory_record_state(&record), DIRECTORY_ACTIVE);
	}
}

static void tables_are_described(void **state)
{
	struct buffer out = {0};

	(void)state;
	directory_record_describe(DIRECTORY_DOMAIN, &out);
	buffer_append_byte(&out, '\0');
	assert_string_equal(buffer_data(&out),
			    "kind, required: what the domain is to us: local, relay, alias\n"
			    "service (local): where its mailboxes are; a service: 1 to 32 of a-z, "
			    "0-9, _ and -\n"
			    "target (alias), required: the domain that it stands for; a domain\n");
	buffer_reset(&out);
	directory_record_describe(DIRECTORY_MEMBER, &out);
	assert_int_equal(out.length, 0);
	buffer_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_have_one_form), cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(there_are_bounds),      cmocka_unit_test(nodes_have_bounds),
		cmocka_unit_test(tables_have_names),     cmocka_unit_test(fields_are_found),
		cmocka_unit_test(tables_have_fields),    cmocka_unit_test(states_are_read),
		cmocka_unit_test(tables_are_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
