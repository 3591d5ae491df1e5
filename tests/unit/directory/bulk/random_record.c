// SPDX-License-Identifier: ISC
#include "random_record.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "directory/record/rules.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TARGETS = 6, RULES_MAX = 32 };

static const char *const LOCALS[] = {
	"ann",     "bob.b",    "\"a b\"",     "\"a,b\"",      "\"x:y\"",  "|pipe",
	"#hash",   "/slash",   "a/b=c",       "owner",        "\"\\\"\"", "\"\\\\\"",
	"\"<a>\"", "\"(c)\"",  "j\xc3\xb6rg", "a+b",          "{brace",   "\"@\"",
	"\"a#b\"", "\"|x y\"", "'quote",      "\xe5\xb1\xb1", "if",       "a'b",
};
static const char *const DOMAINS[] = {"d.example", "e.example", "xn--bcher-kva.example",
				      "localdomain"};

static const char *const NODES[] = {"a1", "b2.example", "7"};

/* What each kind of value may be; ADDRESS and KIND are made otherwise. */
static const char *const SAMPLES[][8] = {
	[DIRECTORY_VALUE_DOMAIN] = {"d.example", "e.example", "xn--bcher-kva.example"},
	[DIRECTORY_VALUE_SENDERS] = {"@d.example", "ann@d.example @e.example"},
	[DIRECTORY_VALUE_SERVICE] = {"maildir", "filter"},
	[DIRECTORY_VALUE_NAME] = {"s1", "ann", "ann@d.example"},
	[DIRECTORY_VALUE_FLAG] = {"yes", "no"},
	[DIRECTORY_VALUE_STATUS] = {"4.7.1", "5.1.6"},
	[DIRECTORY_VALUE_TEXT] = {"Gone", "Say \"no\", please", "a, b", "=1+1", "\\n",
				  "caf\xc3\xa9 \xf0\x9f\x98\x80", " x ", "'"},
	[DIRECTORY_VALUE_PASSWORD] = {"$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/"
				      "O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
				      "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
				      "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
				      "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="},
	[DIRECTORY_VALUE_SOURCE] = {"tests", "ldap-1"},
	[DIRECTORY_VALUE_SERVER] = {"s.example:24", "[2001:db8::1]:2424"},
	[DIRECTORY_VALUE_QUOTA] = {"1G", "500M,1000", "none"},
	[DIRECTORY_VALUE_STATE] = {"active", "deferred", "disabled"},
	[DIRECTORY_VALUE_POST] = {"anyone", "members", "owners"},
	[DIRECTORY_VALUE_GROUP] = {"core", "out", "box-1"},
	[DIRECTORY_VALUE_WEIGHT] = {"1", "9", "100"},
	[DIRECTORY_VALUE_NODE_STATE] = {"active", "draining", "away"},
};

static uint64_t chance = 1;
static bool is_used[DIRECTORY_LISTED_TABLES][RULES_MAX];

#define ANY(list) (list)[random_pick(COUNT_OF(list))]

void random_seed(void)
{
	const char *given = getenv("SEED");
	unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);

	printf("SEED=%u\n", seed);
	chance = seed * UINT64_C(2654435761) + 1;
}

/* xorshift64 */
unsigned random_pick(size_t bound)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (unsigned)(chance % bound);
}

static struct str join(struct arena *arena, const char *first, struct str rest)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_string(&text, first);
	buffer_append_str(&text, rest);
	return arena_copy_str(arena, buffer_view(&text));
}

struct str random_address(struct arena *arena)
{
	const char *local = ANY(LOCALS);
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "%s@%s", local, DOMAINS[random_pick(3)]);
	return arena_copy_str(arena, buffer_view(&text));
}

struct making {
	struct arena *arena;
	struct str key;
	struct directory_field fields[DIRECTORY_FIELDS_MAX];
	size_t count;
};

/* Mostly as aliases have it: owner-NAME. */
static struct str pick_owner(const struct making *making)
{
	struct str key = making->key;

	if (random_pick(4) == 0)
		return random_address(making->arena);
	return key.data[0] == '"' ? join(making->arena, "\"owner-", str_skip(key, 1))
				  : join(making->arena, "owner-", key);
}

static struct str pick_value(const struct making *making, const struct directory_rule *rule)
{
	const char *const *samples = SAMPLES[rule->value];
	size_t count = 0;

	if (rule->value == DIRECTORY_VALUE_ADDRESS)
		return str_equal(str_from(rule->name), STR("owner"))
			       ? pick_owner(making)
			       : random_address(making->arena);
	while (count < COUNT_OF(SAMPLES[0]) && samples[count] != NULL)
		count++;
	if (count == 0)
		panic("no value for field %s: add it to SAMPLES", rule->name);
	return str_from(samples[random_pick(count)]);
}

static void add_field(struct making *making, const struct directory_rule *rule, const char *kind)
{
	unsigned count = rule->flags & DIRECTORY_RULE_SEVERAL ? 1 + random_pick(TARGETS) : 1;

	if (!(rule->flags & DIRECTORY_RULE_REQUIRED) && random_pick(3) > 0)
		return;
	while (count-- > 0)
		making->fields[making->count++] = (struct directory_field){
			str_from(rule->name), rule->value == DIRECTORY_VALUE_KIND
						      ? str_from(kind)
						      : pick_value(making, rule)};
}

/* One of the table's kinds; NULL: it has none. */
static const char *pick_kind(enum directory_table table)
{
	const char *kinds[RULES_MAX] = {NULL};
	size_t count = 0;

	for (const struct directory_rule *rule = directory_rules[table]; rule->value != 0; rule++)
		if (rule->kind != NULL && (count == 0 || kinds[count - 1] != rule->kind))
			kinds[count++] = rule->kind;
	return count > 0 ? kinds[random_pick(count)] : NULL;
}

static struct str pick_key(struct arena *arena, enum directory_table table)
{
	switch (table) {
	case DIRECTORY_DOMAIN:
		return str_from(ANY(DOMAINS));
	case DIRECTORY_MEMBER:
		return join(arena, "list@d.example ", random_address(arena));
	case DIRECTORY_USER:
	case DIRECTORY_SERVER:
		return str_from(ANY(LOCALS));
	case DIRECTORY_NODE:
		return str_from(ANY(NODES));
	default:
		return random_address(arena);
	}
}

static void note_used(const struct directory_record *record)
{
	struct str kind = directory_record_field(record, "kind");
	const struct directory_rule *rules = directory_rules[record->key.table];

	for (size_t i = 0; rules[i].value != 0; i++)
		if (rules[i].name != NULL &&
		    (rules[i].kind == NULL || str_equal(str_from(rules[i].kind), kind)) &&
		    directory_record_field(record, rules[i].name).length > 0)
			is_used[record->key.table][i] = true;
}

bool random_record(struct arena *arena, struct directory_record *record_out)
{
	/* addresses are half of them */
	enum directory_table table =
		random_pick(2) ? DIRECTORY_ADDRESS : 1 + random_pick(DIRECTORY_TABLES - 1);
	struct making *making = arena_alloc(arena, sizeof *making);
	const char *kind = pick_kind(table);
	const char *reason;

	*making = (struct making){.arena = arena, .key = pick_key(arena, table)};
	for (const struct directory_rule *rule = directory_rules[table]; rule->value != 0; rule++)
		if (rule->name != NULL && (rule->kind == NULL || rule->kind == kind))
			add_field(making, rule, kind);
	if (directory_record_check(
		    &(struct directory_record){{table, making->key}, making->fields, making->count},
		    arena, record_out, &reason) != 0)
		return false;
	note_used(record_out);
	return true;
}

const char *random_record_unused(void)
{
	static char text[80];

	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_TABLES; table++) {
		const struct directory_rule *rules = directory_rules[table];

		for (size_t i = 0; rules[i].value != 0; i++) {
			snprintf(text, sizeof text, "%s %s", directory_table_name(table),
				 rules[i].name != NULL ? rules[i].name : rules[i].kind);
			if (rules[i].name != NULL && !is_used[table][i])
				return text;
		}
	}
	return NULL;
}
