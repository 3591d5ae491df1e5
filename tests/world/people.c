// SPDX-License-Identifier: ISC
#include "people.h"
#include "changes.h"
#include "command.h"
#include "lists.h"
#include "logins.h"
#include <stdlib.h>
#include <string.h>

#define FORWARDS "hop.example"

static const int64_t SECOND = 1000000;
static const int64_t AWAY_US = 300 * INT64_C(1000000);
static const int64_t AGAIN_US = 5 * INT64_C(1000000);
enum { USER_SIZE = 64, ARGUMENTS = 8, NODES_MAX = 6, ACCIDENT = 40, COPIES = 20, TO_LOGINS = 4 };

enum meaning { ABSENT = CHANGES_ABSENT, MAILBOX, FORWARDED, REFUSED, MEANINGS };

struct user {
	char name[USER_SIZE]; /* with its domain */
	struct changes changes;
};

static struct {
	struct machine *nodes[NODES_MAX];
	size_t node_count;
	int64_t pause_us;
	int64_t quiet_from_us;
	struct user users[PEOPLE_USERS];
	void (*accident)(struct machine *node, const char *store, void (*done)(void));
	bool (*changer)(void (*done)(bool is_good));
	int64_t domain_us; /* when it was confirmed; 0: not yet */
	bool has_lists;
	bool has_logins;
	int64_t lists_from_us; /* they are being made */
} people;

/* --- changes --- */

static void plan(int64_t delay_us);

static struct machine *some_node(void)
{
	return people.nodes[kernel_below(people.node_count)];
}

static void change_done(bool is_good)
{
	plan(is_good ? (int64_t)kernel_below(2 * (uint64_t)people.pause_us) : AGAIN_US);
}

static void use_command(struct user *user, enum meaning meaning, const char *target)
{
	static const char *const fields[MEANINGS][4] = {
		[MAILBOX] = {"kind=mailbox"},
		[FORWARDED] = {"kind=forward"},
		[REFUSED] = {"kind=refused", "text=moved away"},
	};
	const char *arguments[ARGUMENTS] = {"directory", meaning == ABSENT ? "del" : "put",
					    user->name, fields[meaning][0], fields[meaning][1]};
	char field[USER_SIZE + 16];

	snprintf(field, sizeof field, "target=%s", target);
	if (meaning == FORWARDED)
		arguments[4] = field;
	if (meaning != ABSENT)
		arguments[arguments[4] != NULL ? 5 : 4] = "--replace";
	changes_make(&user->changes, meaning,
		     &(struct change_order){user->name, some_node(), false, arguments},
		     change_done);
}

/* In the database itself, beside the process that serves it. */
static void use_sql(struct user *user, enum meaning meaning, const char *target)
{
	static const char *const kinds[MEANINGS] = {
		[MAILBOX] = "'mailbox', NULL",
		[FORWARDED] = "'forward', NULL",
		[REFUSED] = "'refused', 'moved away'",
	};
	char statements[1024];
	const char *arguments[] = {PEOPLE_STORE, statements, NULL};
	int used = snprintf(statements, sizeof statements,
			    "BEGIN IMMEDIATE; DELETE FROM target WHERE address = '%s'; "
			    "DELETE FROM address WHERE address = '%s';",
			    user->name, user->name);

	if (meaning != ABSENT)
		used += snprintf(statements + used, sizeof statements - (size_t)used,
				 "INSERT INTO address(address, kind, text) VALUES ('%s', %s);",
				 user->name, kinds[meaning]);
	if (meaning == FORWARDED)
		used += snprintf(statements + used, sizeof statements - (size_t)used,
				 "INSERT INTO target(address, position, target) VALUES "
				 "('%s', 0, '%s');",
				 user->name, target);
	snprintf(statements + used, sizeof statements - (size_t)used, "COMMIT");
	changes_make(&user->changes, meaning,
		     &(struct change_order){user->name, people.nodes[0], true, arguments},
		     change_done);
}

static void change_user(struct user *user, enum meaning meaning)
{
	char target[USER_SIZE + 16];

	snprintf(target, sizeof target, "%.*s@" FORWARDS, (int)strcspn(user->name, "@"),
		 user->name);
	if (kernel_one_in(3))
		use_sql(user, meaning, target);
	else
		use_command(user, meaning, target);
}

/* --- an accident --- */

/* All records go, and come back a while later, instead of what somebody whom nobody answered has
 * put in their place: until then mail waits, and nobody hears that he is not there. A command may
 * have failed after its end: the next one finds out. */
static void plan_step(int64_t delay_us, void (*step)(void *context))
{
	kernel_at(kernel_now_us() + delay_us, step, NULL);
}

static void bring_back(void *context);

static void back_done(void *context, int status, const char *output)
{
	(void)context;
	world_log("people", "all is there again: status %d%s%.*s", status,
		  *output != '\0' ? ", " : "", (int)strcspn(output, "\n"), output);
	if (status == 0 || strstr(output, "no such table") != NULL)
		plan(AGAIN_US);
	else
		plan_step(AGAIN_US, bring_back);
}

static void bring_back(void *context)
{
	static const char *const arguments[] = {
		PEOPLE_STORE,
		"BEGIN IMMEDIATE;"
		"DELETE FROM domain; DELETE FROM address; DELETE FROM target;"
		"DELETE FROM member; DELETE FROM password; DELETE FROM \"user\";"
		"INSERT INTO domain SELECT * FROM gone_domain; DROP TABLE gone_domain;"
		"INSERT INTO address SELECT * FROM gone_address; DROP TABLE gone_address;"
		"INSERT INTO target SELECT * FROM gone_target; DROP TABLE gone_target;"
		"INSERT INTO member SELECT * FROM gone_member; DROP TABLE gone_member;"
		"INSERT INTO \"user\" SELECT * FROM gone_user; DROP TABLE gone_user;"
		"INSERT INTO password SELECT * FROM gone_password; DROP TABLE gone_password; "
		"COMMIT",
		NULL};

	(void)context;
	command_run(people.nodes[0], "sql", arguments, back_done, NULL);
}

static void away_done(void *context, int status, const char *output)
{
	(void)context;
	world_log("people", "all is gone: status %d%s%.*s", status, *output != '\0' ? ", " : "",
		  (int)strcspn(output, "\n"), output);
	plan_step((int64_t)kernel_below((uint64_t)AWAY_US), bring_back);
}

static void take_away(void)
{
	static const char *const arguments[] = {
		PEOPLE_STORE,
		"BEGIN IMMEDIATE;"
		"CREATE TABLE gone_domain AS SELECT * FROM domain;"
		"CREATE TABLE gone_address AS SELECT * FROM address;"
		"CREATE TABLE gone_target AS SELECT * FROM target;"
		"CREATE TABLE gone_member AS SELECT * FROM member;"
		"CREATE TABLE gone_user AS SELECT * FROM \"user\";"
		"CREATE TABLE gone_password AS SELECT * FROM password;"
		"DELETE FROM domain; DELETE FROM address; DELETE FROM target;"
		"DELETE FROM member; DELETE FROM password; DELETE FROM \"user\"; COMMIT",
		NULL};

	command_run(people.nodes[0], "sql", arguments, away_done, NULL);
}

/* --- what they do --- */

static void go_on(void)
{
	plan(AGAIN_US);
}

/* A change that failed is tried again, until all know what is true. */
static void change_something(void *context)
{
	struct user *user = &people.users[kernel_below(PEOPLE_USERS)];
	unsigned meaning;

	(void)context;
	for (size_t i = 0; i < PEOPLE_USERS; i++)
		if (changes_have_failed(&people.users[i].changes, &meaning)) {
			change_user(&people.users[i], (enum meaning)meaning);
			return;
		}
	if (people.changer != NULL && people.changer(change_done))
		return;
	if (lists_have_failed())
		return lists_change(some_node(), people.nodes[0], change_done);
	if (logins_have_failed())
		return logins_change(some_node(), change_done);
	if (kernel_now_us() >= people.quiet_from_us)
		return;
	if (kernel_one_in(ACCIDENT))
		take_away();
	else if (people.accident != NULL && kernel_one_in(COPIES))
		people.accident(people.nodes[0], PEOPLE_STORE, go_on);
	else if (people.has_logins && kernel_one_in(TO_LOGINS))
		logins_change(some_node(), change_done);
	else if (people.has_lists && kernel_one_in(2))
		lists_change(some_node(), people.nodes[0], change_done);
	else
		change_user(user, (enum meaning)kernel_below(MEANINGS));
}

static void domain_done(void *context, int status, const char *output)
{
	(void)context;
	world_log("people", "domain: status %d%s%.*s", status, *output != '\0' ? ", " : "",
		  (int)strcspn(output, "\n"), output);
	if (status == 0)
		people.domain_us = kernel_now_us();
	plan(status == 0 ? 0 : AGAIN_US);
}

static void make_domain(void *context)
{
	static const char *const arguments[] = {"directory",       "put",         "--table",
						"domain",          PEOPLE_DOMAIN, "kind=local",
						"service=maildir", NULL};

	(void)context;
	command_run(some_node(), "stagepost", arguments, domain_done, NULL);
}

/* Done while the disk fails it may be lost (changes.c): then it is done again. */
static void lists_done(void *context, int status, const char *output)
{
	const bool is_good =
		status == 0 && people.nodes[0]->disk_fails_until_us < people.lists_from_us;

	(void)context;
	world_log("people", "lists: status %d%s%.*s", status, *output != '\0' ? ", " : "",
		  (int)strcspn(output, "\n"), output);
	if (is_good)
		lists_set_up();
	people.has_lists = is_good;
	plan(is_good ? 0 : AGAIN_US);
}

static void make_lists(void *context)
{
	const char *arguments[] = {PEOPLE_STORE, lists_setup(), NULL};

	(void)context;
	people.lists_from_us = kernel_now_us();
	command_run(people.nodes[0], "sql", arguments, lists_done, NULL);
}

static void plan(int64_t delay_us)
{
	kernel_at(kernel_now_us() + delay_us,
		  people.domain_us == 0   ? make_domain
		  : lists_setup() != NULL ? make_lists
					  : change_something,
		  NULL);
}

void people_add_node(struct machine *node)
{
	people.nodes[people.node_count++] = node;
}

void people_add_accident(void (*act)(struct machine *node, const char *store, void (*done)(void)))
{
	people.accident = act;
}

void people_add_changer(bool (*change)(void (*done)(bool is_good)))
{
	people.changer = change;
}

void people_be_quiet(void)
{
	if (people.quiet_from_us > kernel_now_us())
		people.quiet_from_us = kernel_now_us();
}

void people_know_logins(void)
{
	people.has_logins = true;
}

void people_start(int64_t pause_us, int64_t quiet_from_us)
{
	people.pause_us = pause_us;
	people.quiet_from_us = quiet_from_us;
	changes_begin();
	for (int i = 0; i < PEOPLE_USERS; i++)
		snprintf(people.users[i].name, USER_SIZE, "user%d@" PEOPLE_DOMAIN, i);
	plan(SECOND);
}

void people_end(void)
{
	for (size_t i = 0; i < PEOPLE_USERS; i++)
		changes_clear(&people.users[i].changes);
	memset(&people, 0, sizeof people);
}

/* --- what is true --- */

static struct user *find(const char *recipient)
{
	for (size_t i = 0; i < PEOPLE_USERS; i++)
		if (strcmp(people.users[i].name, recipient) == 0)
			return &people.users[i];
	return NULL;
}

bool people_have(const char *recipient)
{
	const char *at = strchr(recipient, '@');

	return at != NULL && strcmp(at + 1, PEOPLE_DOMAIN) == 0;
}

/* Whether RECIPIENT may have had a meaning of MEANINGS, a bit each, for somebody who asked at
 * SINCE_US or later. */
static bool may_mean(const char *recipient, unsigned meanings, int64_t since_us)
{
	struct user *user = find(recipient);

	if (people.domain_us == 0 || !changes_are_known(people.domain_us, since_us))
		return true; /* nobody has said what the domain is */
	if (user == NULL)
		return (meanings & 1u << ABSENT) != 0;
	return changes_may_mean(&user->changes, meanings, since_us);
}

bool people_may_accept(const char *recipient, int64_t since_us)
{
	return may_mean(recipient, 1u << MAILBOX | 1u << FORWARDED, since_us);
}

bool people_may_refuse(const char *recipient, int64_t since_us)
{
	return may_mean(recipient, 1u << ABSENT | 1u << REFUSED, since_us);
}

/* A forward leads to the same user of the next hop. */
static bool is_forward(const char *recipient, const char *place)
{
	size_t length = strcspn(recipient, "@");

	return strncmp(recipient, place, length) == 0 && strcmp(place + length, "@" FORWARDS) == 0;
}

bool people_may_deliver(const char *recipient, const char *place, int64_t since_us)
{
	if (people.domain_us == 0)
		return false;
	if (strcmp(recipient, place) == 0)
		return may_mean(recipient, 1u << MAILBOX, since_us);
	return is_forward(recipient, place) && may_mean(recipient, 1u << FORWARDED, since_us);
}
