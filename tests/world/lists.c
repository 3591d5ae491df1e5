// SPDX-License-Identifier: ISC
#include "lists.h"
#include "changes.h"
#include "mail.h"
#include "people.h"
#include <err.h>
#include <string.h>

enum { ABSENT = CHANGES_ABSENT, PRESENT };
enum { ADDRESS_SIZE = 64, SEATS_MAX = 64, SETUP_SIZE = 16384, STATEMENT_SIZE = 512 };

#define KEEPER(index) "keeper" index "@one.example"

static const struct {
	const char *name;
	const char *owner;
	const char *post;
	const char *verp;
	const char *keeper;
} lists[LISTS] = {
	{"list0@" LISTS_DOMAIN, "owner0@hop.example", "anyone", "yes", KEEPER("0")},
	{"list1@" LISTS_DOMAIN, "owner1@hop.example", "members", "no", KEEPER("1")},
	{"list2@" LISTS_DOMAIN, CLIENT_SENDER, "owners", "no", KEEPER("2")},
	{"list3@" LISTS_DOMAIN, "owner3@hop.example", "owners", "no", KEEPER("3")},
};

/* No two have the same local part, nor one that somebody else has. */
static const char *const members[] = {
	CLIENT_SENDER,
	"member0@hop.example",
	"member1@one.example",
	"member2@pipes.one.example",
	"member3@far.example",
	HOP_REFUSED "-member4@hop.example",
	HOP_LATER "-member5@hop.example",
	HOP_NEVER "-member6@host.example",
	"member7@two.example", /* where there is a second node */
	"member8@pipes.two.example",
	KEEPER("0"),
	KEEPER("1"),
	KEEPER("2"),
	KEEPER("3"),
};
enum { MEMBERS = sizeof members / sizeof members[0] - LISTS, OF_SECOND_NODE = 2 };

static const struct {
	size_t outer, inner;
} nested[] = {{0, 1}, {1, 0}, {1, 2}, {2, 3}};
enum { NESTED = sizeof nested / sizeof nested[0] };

/* A record of table member. */
struct seat {
	size_t list;
	const char *member;
	bool is_first; /* since the lists are there */
	struct changes changes;
};

static struct {
	struct seat seats[SEATS_MAX];
	size_t count;
	bool is_ready;
	int64_t ready_us;
	char setup[SETUP_SIZE];
} all;

/* --- what people do --- */

static void add_seat(size_t list, const char *member)
{
	if (all.count == SEATS_MAX)
		errx(1, "too many members of lists");
	all.seats[all.count++] =
		(struct seat){.list = list, .member = member, .is_first = kernel_one_in(2)};
}

static void add_statement(const char *text)
{
	const size_t used = strlen(all.setup);

	if (used + strlen(text) >= sizeof all.setup)
		errx(1, "too many statements for lists");
	memcpy(all.setup + used, text, strlen(text) + 1);
}

static void add_member(size_t list, const char *member)
{
	char text[STATEMENT_SIZE];

	snprintf(text, sizeof text,
		 "INSERT OR REPLACE INTO member(list, member) VALUES ('%s', '%s');",
		 lists[list].name, member);
	add_statement(text);
}

static void add_list(size_t list)
{
	char text[STATEMENT_SIZE];

	snprintf(text, sizeof text,
		 "INSERT OR REPLACE INTO address(address, kind, owner, post, verp) "
		 "VALUES ('%s', 'list', '%s', '%s', '%s');",
		 lists[list].name, lists[list].owner, lists[list].post, lists[list].verp);
	add_statement(text);
	add_member(list, lists[list].keeper);
}

static void write_setup(void)
{
	add_statement("BEGIN IMMEDIATE;");
	for (size_t i = 0; i < LISTS; i++)
		add_list(i);
	for (size_t i = 0; i < all.count; i++)
		if (all.seats[i].is_first)
			add_member(all.seats[i].list, all.seats[i].member);
	add_statement("INSERT OR REPLACE INTO domain(name, kind, service) "
		      "VALUES ('" LISTS_DOMAIN "', 'local', 'maildir'); COMMIT");
}

void lists_begin(size_t nodes)
{
	const size_t count = MEMBERS - (nodes > 1 ? 0 : OF_SECOND_NODE);

	for (size_t i = 0; i < LISTS; i++)
		for (size_t k = 0; k < count; k++)
			add_seat(i, members[k]);
	for (size_t i = 0; i < NESTED; i++)
		add_seat(nested[i].outer, lists[nested[i].inner].name);
	write_setup();
}

void lists_end(void)
{
	for (size_t i = 0; i < all.count; i++)
		changes_clear(&all.seats[i].changes);
	memset(&all, 0, sizeof all);
}

const char *lists_setup(void)
{
	return all.is_ready || all.count == 0 ? NULL : all.setup;
}

void lists_set_up(void)
{
	all.is_ready = true;
	all.ready_us = kernel_now_us();
	for (size_t i = 0; i < all.count; i++)
		if (all.seats[i].is_first)
			changes_note(&all.seats[i].changes, PRESENT);
}

static void use_command(struct seat *seat, const char *key, unsigned meaning, struct machine *node,
			void (*done)(bool is_good))
{
	const char *arguments[] = {
		"directory", meaning == ABSENT ? "del" : "put", "--table", "member", key, NULL};

	changes_make(&seat->changes, meaning, &(struct change_order){key, node, false, arguments},
		     done);
}

/* "OR REPLACE": it may be there, by a command that nobody answered. */
static void use_sql(struct seat *seat, const char *key, unsigned meaning, struct machine *store,
		    void (*done)(bool is_good))
{
	char statement[STATEMENT_SIZE];
	const char *arguments[] = {PEOPLE_STORE, statement, NULL};

	snprintf(statement, sizeof statement,
		 meaning == ABSENT
			 ? "DELETE FROM member WHERE list = '%s' AND member = '%s'"
			 : "INSERT OR REPLACE INTO member(list, member) VALUES ('%s', '%s')",
		 lists[seat->list].name, seat->member);
	changes_make(&seat->changes, meaning, &(struct change_order){key, store, true, arguments},
		     done);
}

static void change_seat(struct seat *seat, unsigned meaning, struct machine *node,
			struct machine *store, void (*done)(bool is_good))
{
	char key[2 * ADDRESS_SIZE];

	snprintf(key, sizeof key, "%s %s", lists[seat->list].name, seat->member);
	if (kernel_one_in(3))
		use_sql(seat, key, meaning, store, done);
	else
		use_command(seat, key, meaning, node, done);
}

static struct seat *find_failed(unsigned *meaning_out)
{
	for (size_t i = 0; i < all.count; i++)
		if (changes_have_failed(&all.seats[i].changes, meaning_out))
			return &all.seats[i];
	return NULL;
}

bool lists_have_failed(void)
{
	unsigned meaning;

	return find_failed(&meaning) != NULL;
}

void lists_change(struct machine *node, struct machine *store, void (*done)(bool is_good))
{
	unsigned meaning;
	struct seat *seat = find_failed(&meaning);

	if (seat == NULL) {
		seat = &all.seats[kernel_below(all.count)];
		meaning = kernel_one_in(2) ? ABSENT : PRESENT;
	}
	change_seat(seat, meaning, node, store, done);
}

/* --- what is true --- */

bool lists_are_ready(void)
{
	return all.is_ready && changes_are_known(all.ready_us, kernel_now_us());
}

const char *lists_name(size_t index)
{
	return lists[index].name;
}

const char *lists_owner(size_t index)
{
	static const char *const names[LISTS] = {"owner0", "owner1", CLIENT_SENDER, "owner3"};

	return names[index];
}

static size_t index_of(const char *list)
{
	for (size_t i = 0; i < LISTS; i++)
		if (strcmp(lists[i].name, list) == 0)
			return i;
	return LISTS;
}

bool lists_have(const char *address)
{
	return index_of(address) < LISTS;
}

const char *lists_member(size_t index)
{
	return index < sizeof members / sizeof members[0] ? members[index] : NULL;
}

bool lists_is_keeper(const char *list, const char *address)
{
	return strcmp(lists[index_of(list)].keeper, address) == 0;
}

static const struct seat *find_seat(size_t list, const char *member)
{
	for (size_t i = 0; i < all.count; i++)
		if (all.seats[i].list == list && strcmp(all.seats[i].member, member) == 0)
			return &all.seats[i];
	return NULL;
}

static bool may_have(size_t list, const char *member, int64_t since_us)
{
	const struct seat *seat = find_seat(list, member);

	return lists_is_keeper(lists[list].name, member) ||
	       (seat != NULL && changes_may_mean(&seat->changes, 1u << PRESENT, since_us));
}

static bool must_have(size_t list, const char *member, int64_t since_us)
{
	const struct seat *seat = find_seat(list, member);

	return lists_is_keeper(lists[list].name, member) ||
	       (seat != NULL && !changes_may_mean(&seat->changes, 1u << ABSENT, since_us));
}

/* The lists, a bit each, that LIST has in it as HAS says, itself too. */
static unsigned reach(size_t list, int64_t since_us,
		      bool (*has)(size_t list, const char *member, int64_t since_us))
{
	unsigned found = 1u << list;

	for (size_t turn = 0; turn < LISTS; turn++)
		for (size_t i = 0; i < NESTED; i++)
			if ((found & 1u << nested[i].outer) != 0 &&
			    has(nested[i].outer, lists[nested[i].inner].name, since_us))
				found |= 1u << nested[i].inner;
	return found;
}

static bool reaches(const char *list, const char *address, int64_t since_us,
		    bool (*has)(size_t list, const char *member, int64_t since_us))
{
	const unsigned found = reach(index_of(list), since_us, has);

	for (size_t i = 0; i < LISTS; i++)
		if ((found & 1u << i) != 0 && has(i, address, since_us))
			return true;
	return false;
}

bool lists_may_reach(const char *list, const char *address, int64_t since_us)
{
	return reaches(list, address, since_us, may_have);
}

bool lists_must_reach(const char *list, const char *address, int64_t since_us)
{
	return reaches(list, address, since_us, must_have);
}

bool lists_may_change(const char *list, int64_t since_us)
{
	return reach(index_of(list), since_us, may_have) !=
	       reach(index_of(list), since_us, must_have);
}

bool lists_may_accept(const char *list, int64_t since_us)
{
	const size_t index = index_of(list);

	return strcmp(lists[index].post, "anyone") == 0 ||
	       strcmp(lists[index].owner, CLIENT_SENDER) == 0 ||
	       (strcmp(lists[index].post, "members") == 0 &&
		lists_may_reach(list, CLIENT_SENDER, since_us));
}

bool lists_may_refuse(const char *list, int64_t since_us)
{
	const size_t index = index_of(list);

	if (strcmp(lists[index].post, "anyone") == 0 ||
	    strcmp(lists[index].owner, CLIENT_SENDER) == 0)
		return false;
	return strcmp(lists[index].post, "owners") == 0 ||
	       !lists_must_reach(list, CLIENT_SENDER, since_us);
}

/* With an extension that names a member it is the owner's, too. */
static bool is_owner(size_t list, const char *address)
{
	const char *owner = lists[list].owner;
	const size_t length = strcspn(owner, "@");

	return strcmp(owner, address) == 0 ||
	       (strcmp(lists[list].verp, "yes") == 0 && strncmp(owner, address, length) == 0 &&
		address[length] == '+');
}

bool lists_own(const char *address)
{
	for (size_t i = 0; i < LISTS; i++)
		if (is_owner(i, address))
			return true;
	return false;
}

bool lists_may_tell(const char *list, const char *member, const char *address, int64_t since_us)
{
	const unsigned found = reach(index_of(list), since_us, may_have);

	for (size_t i = 0; i < LISTS; i++)
		if ((found & 1u << i) != 0 && is_owner(i, address) && may_have(i, member, since_us))
			return true;
	return false;
}
