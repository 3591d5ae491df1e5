// SPDX-License-Identifier: ISC
#include "directory/expand.h"
#include "memory_store.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct config_service services[] = {{.name = "maildir", .kind = CONFIG_SERVICE_MAILDIR},
					   {.name = "other", .kind = CONFIG_SERVICE_LMTP},
					   {.name = "filter", .kind = CONFIG_SERVICE_PIPE}};
static const char *listed[] = {"info", "o'neil", "sales", "sales+urgent"};
static struct config_domain domains[] = {
	{.name = "example.org", .service = &services[0]},
	{.name = "listed.example",
	 .service = &services[1],
	 .addresses = listed,
	 .address_count = COUNT_OF(listed)},
};
static const struct config_domain *domain_index[] = {&domains[0], &domains[1]};
static const struct config config = {.hostname = "mx1.example.org",
				     .domains = domains,
				     .domain_count = COUNT_OF(domains),
				     .domain_index = domain_index,
				     .services = services,
				     .service_count = COUNT_OF(services)};
static const struct config no_domains = {
	.hostname = "mx1.example.org", .services = services, .service_count = COUNT_OF(services)};

static const char *const records[] = {
	"domain d.example|kind local|service maildir",
	"domain e.example|kind local|service other",
	"domain bare.example|kind local",
	"domain lost.example|kind local|service gone",
	"domain relay.example|kind relay",
	"domain alias.example|kind alias|target d.example",
	"domain alias2.example|kind alias|target alias.example",
	"domain turn1.example|kind alias|target turn2.example",
	"domain turn2.example|kind alias|target turn1.example",
	"domain away.example|kind alias|target nowhere.example",
	"domain xn--bcher-kva.example|kind local|service maildir",
	"domain all.example|kind local|service maildir",
	"address @all.example|kind mailbox",
	"address ann@all.example|kind refused|text Ann has left|status 5.1.6",
	"domain box.example|kind local|service maildir",
	"address @box.example|kind mailbox|mailbox box@box.example",
	"domain to.example|kind local|service maildir",
	"address @to.example|kind alias|target ann@d.example",
	"domain shut.example|kind local|service maildir",
	"address @shut.example|kind refused|text All have left",
	"domain self.example|kind local|service maildir",
	"address @self.example|kind forward|target x@self.example",
	"address ann@d.example|kind mailbox",
	"address jos\xc3\xa9@d.example|kind mailbox",
	"address ann@xn--bcher-kva.example|kind mailbox",
	"address \"a b\"@d.example|kind mailbox",
	"address ann+own@d.example|kind mailbox|service other",
	"address told@d.example|kind mailbox|service other|mailbox t.old@e.example",
	"address lost@d.example|kind mailbox|service gone",
	"address a@bare.example|kind mailbox",
	"address a@lost.example|kind mailbox",
	"address user@d.example|kind mailbox|user ann",
	"address user2@d.example|kind mailbox|user bob|mailbox bob@e.example",
	"address user3@d.example|kind mailbox|user carol",
	"address user4@d.example|kind mailbox|user dave",
	"address user5@d.example|kind mailbox|user erin",
	"user ann|server s1",
	"user bob|server s1",
	"user carol",
	"user dave|server s2",
	"server s1|service other",
	("address fwd@d.example|kind forward|target fwd@d.example|target ann@d.example|target "
	 "x@nowhere.example"),
	("address fwd2@d.example|kind forward|target fwd@d.example|target ann@d.example|target "
	 "gone@d.example"),
	"address alias@d.example|kind alias|target ann@d.example",
	"address alias2@d.example|kind alias|target alias@d.example",
	"address gonealias@d.example|kind alias|target gone@d.example",
	"address out@d.example|kind alias|target x@nowhere.example",
	"address list@d.example|kind list|owner owner@d.example",
	"address verp@d.example|kind list|owner owner@d.example|verp yes",
	"address lists@d.example|kind forward|target list@d.example|target verp@d.example",
	"address prog@d.example|kind program|service filter",
	"address badprog@d.example|kind program|service maildir",
	"address no@d.example|kind refused|text Not for mail",
	"address later@d.example|kind refused|text Come again|status 4.2.1",
	"address ref@d.example|kind alias|target no@d.example",
	"address a@loop.example|kind mailbox",
	"domain loop.example|kind local|service maildir",
	"address l1@loop.example|kind alias|target l2@loop.example",
	"address l2@loop.example|kind alias|target l3@loop.example",
	"address l3@loop.example|kind alias|target l1@loop.example",
	"address in@loop.example|kind alias|target l2@loop.example",
	"address some@loop.example|kind forward|target l1@loop.example|target a@loop.example",
	"address p@loop.example|kind forward|target q@loop.example|target r@loop.example",
	"address q@loop.example|kind alias|target r@loop.example",
	"address r@loop.example|kind alias|target q@loop.example",
	("address dia@d.example|kind forward|target alias@d.example|target alias2@d.example|target "
	 "told@d.example|target told@d.example"),
	"address info@relay.example|kind alias|target ann@d.example",
	"address rel@relay.example|kind mailbox",
	"address info@listed.example|kind alias|target ann@d.example",
	"address extra@listed.example|kind mailbox|service maildir",
	"address ann@example.org|kind refused|text Gone",
	"address slash@d.example|kind mailbox|mailbox a/b@d.example",
	("address far@d.example|kind alias|target "
	 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz@d.example"),
	NULL,
};

static const struct {
	const char *address;
	const char *results; /* "; " between, without "on" */
} cases[] = {
	/* mailboxes, and how their names come out */
	{"ann@d.example", "local maildir ann@d.example"},
	{"Ann@D.Example", "local maildir Ann@D.Example"},
	{"\"ann\"@d.example", "local maildir \"ann\"@d.example"},
	{"JOSE\xcc\x81@d.example", "local maildir jos\xc3\xa9@d.example"},
	{"ann@B\xc3\x9c"
	 "CHER.example",
	 "local maildir ann@xn--bcher-kva.example"},
	{"\"a\\ b\"@d.example", "local maildir \"a\\ b\"@d.example"},
	{"\"a b+c\"@d.example", "local maildir \"a b+c\"@d.example"},
	{"told@d.example", "local other t.old@e.example"},
	{"told+x@d.example", "local other t.old+x@e.example"},
	{"a@bare.example",
	 "refuse 4.3.5 a@bare.example Domain bare.example names no service for its mailboxes"},
	{"a@lost.example", "refuse 4.3.5 a@lost.example The configuration has no service \"gone\""},
	{"lost@d.example", "refuse 4.3.5 lost@d.example The configuration has no service \"gone\""},
	{"slash@d.example", "refuse 5.1.3 slash@d.example No mailbox can have such a name"},
	/* who does not exist */
	{"gone@d.example", "refuse 5.1.1 gone@d.example No such user here"},
	{"Gone+x@d.example", "refuse 5.1.1 Gone+x@d.example No such user here"},
	{"+ann@d.example", "refuse 5.1.1 +ann@d.example No such user here"},
	{"a b@d.example", "refuse 5.1.3 a b@d.example The recipient is no address"},
	{"ann", "refuse 5.1.3 ann The recipient is no address"},
	/* not ours */
	{"ann@nowhere.example", "elsewhere"},
	{"ann@[192.0.2.1]", "elsewhere"},
	{"ann@sub.d.example", "elsewhere"},
	{"ann@xn--.example", "elsewhere"},
	/* extensions */
	{"ann+Tag@d.example", "local maildir ann+Tag@d.example"},
	{"ann+own@d.example", "local other ann+own@d.example"},
	{"alias+tag@d.example", "local maildir ann+tag@d.example"},
	{"alias+own@d.example", "local other ann+own@d.example"},
	{"fwd+x@d.example", "local maildir fwd@d.example; local maildir ann@d.example; remote "
			    "x@nowhere.example"},
	{"list+x@d.example", "list list@d.example owner owner@d.example"},
	{"out+tag@d.example", "remote x+tag@nowhere.example"},
	{"far+abcdefghijk@d.example",
	 "refuse 5.1.1 abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz+abcdefghijk@d.example "
	 "No such user here"},
	{"far+abcdefghijkl@d.example",
	 "refuse 5.1.3 far+abcdefghijkl@d.example The address is too long"},
	/* catch-alls */
	{"any@all.example", "local maildir any@all.example"},
	{"any+x@all.example", "local maildir any+x@all.example"},
	{"ann@all.example", "refuse 5.1.6 ann@all.example Ann has left"},
	{"ann+x@all.example", "refuse 5.1.6 ann+x@all.example Ann has left"},
	{"any@box.example", "local maildir box@box.example"},
	{"any+x@box.example", "local maildir box+x@box.example"},
	{"any@to.example", "local maildir ann@d.example"},
	{"any@shut.example", "refuse 5.7.1 any@shut.example All have left"},
	{"any@self.example", "refuse 5.4.6 x@self.example The address leads to itself: "
			     "x@self.example > x@self.example"},
	/* postmaster exists */
	{"postmaster@d.example", "local maildir postmaster@d.example"},
	{"PostMaster+x@d.example", "local maildir PostMaster+x@d.example"},
	{"postmaster@shut.example", "local maildir postmaster@shut.example"},
	{"postmaster@box.example", "local maildir box@box.example"},
	{"postmaster@alias.example", "local maildir postmaster@d.example"},
	{"postmaster@relay.example", "remote postmaster@relay.example"},
	{"postmaster", "local maildir postmaster@example.org"},
	{"postmaster@mx1.example.org", "local maildir postmaster@example.org"},
	/* domains */
	{"x@relay.example", "remote x@relay.example"},
	{"rel@relay.example", "remote rel@relay.example"},
	{"info@relay.example", "local maildir ann@d.example"},
	{"ann@alias.example", "local maildir ann@d.example"},
	{"ann+T@alias2.example", "local maildir ann+t@d.example"},
	{"gone@alias.example", "refuse 5.1.1 gone@d.example No such user here"},
	{"ann@turn1.example", "refuse 5.4.6 ann@turn1.example The address leads to itself: "
			      "ann@turn1.example > ann@turn2.example > ann@turn1.example"},
	{"ann@away.example", "remote ann@nowhere.example"},
	/* users and servers */
	{"user@d.example", "local other user@d.example"},
	{"user+x@d.example", "local other user+x@d.example"},
	{"user2@d.example", "local other bob@e.example"},
	{"user3@d.example", "local maildir user3@d.example"},
	{"user4@d.example",
	 "refuse 4.3.5 user4@d.example The directory has no server \"s2\", where the mailbox is"},
	{"user5@d.example",
	 "refuse 4.3.5 user5@d.example The directory has no user \"erin\", whose mailbox it is"},
	/* forwards and aliases */
	{"fwd@d.example", "local maildir fwd@d.example; local maildir ann@d.example; remote "
			  "x@nowhere.example"},
	{"fwd2@d.example", "local maildir fwd@d.example; local maildir ann@d.example; remote "
			   "x@nowhere.example; refuse 5.1.1 gone@d.example No such user here"},
	{"alias2@d.example", "local maildir ann@d.example"},
	{"gonealias@d.example", "refuse 5.1.1 gone@d.example No such user here"},
	{"dia@d.example", "local maildir ann@d.example; local other t.old@e.example"},
	/* lists, programs, refusals */
	{"list@d.example", "list list@d.example owner owner@d.example"},
	{"verp@alias.example", "list verp@d.example owner owner@d.example verp yes"},
	{"lists@d.example", "list list@d.example owner owner@d.example; list verp@d.example owner "
			    "owner@d.example verp yes"},
	{"prog@d.example", "local filter prog@d.example"},
	{"Prog+x@d.example", "local filter Prog+x@d.example"},
	{"badprog@d.example", "refuse 4.3.5 badprog@d.example Service maildir runs no program"},
	{"no@d.example", "refuse 5.7.1 no@d.example Not for mail"},
	{"later@d.example", "refuse 4.2.1 later@d.example Come again"},
	{"ref@d.example", "refuse 5.7.1 no@d.example Not for mail"},
	/* loops */
	{"l1@loop.example",
	 "refuse 5.4.6 l1@loop.example The address leads to itself: "
	 "l1@loop.example > l2@loop.example > l3@loop.example > l1@loop.example"},
	{"in@loop.example",
	 "refuse 5.4.6 l2@loop.example The address leads to itself: "
	 "l2@loop.example > l3@loop.example > l1@loop.example > l2@loop.example"},
	{"some@loop.example",
	 "refuse 5.4.6 l1@loop.example The address leads to itself: l1@loop.example > "
	 "l2@loop.example > l3@loop.example > l1@loop.example; local maildir a@loop.example"},
	{"p@loop.example", "refuse 5.4.6 q@loop.example The address leads to itself: "
			   "q@loop.example > r@loop.example > q@loop.example"},
	/* domains of the configuration come first, records of their addresses, too */
	{"bob@example.org", "local maildir bob@example.org"},
	{"ann@example.org", "refuse 5.7.1 ann@example.org Gone"},
	{"info@listed.example", "local maildir ann@d.example"},
	{"sales@listed.example", "local other sales@listed.example"},
	{"sales+x@listed.example", "local other sales+x@listed.example"},
	{"extra@listed.example", "local maildir extra@listed.example"},
	{"extra+x@listed.example", "local maildir extra+x@listed.example"},
	{"none@listed.example", "refuse 5.1.1 none@listed.example No such user here"},
};

struct answer {
	unsigned count;
	int error;
	bool may_keep;
	uint64_t version;
	char *results; /* "; " between */
	char *depends; /* the same, without "on " */
	size_t result_count;
};

static void add_text(char **text, struct str more)
{
	struct buffer joined = {0};

	buffer_append_format(&joined, "%s%s" STR_FORMAT, *text, **text != '\0' ? "; " : "",
			     STR_ARGUMENTS(more));
	buffer_append_byte(&joined, '\0');
	free(*text);
	*text = strdup(buffer_data(&joined));
	buffer_clear(&joined);
}

static void on_expanded(void *context, int error, const struct directory_expansion *expansion)
{
	struct answer *answer = context;

	answer->count++;
	answer->error = error;
	assert_int_equal(error == 0, expansion != NULL);
	for (size_t i = 0; error == 0 && i < expansion->count; i++) {
		struct str result = expansion->results[i];
		bool is_dependency = str_starts_with(result, STR("on "));

		answer->result_count += !is_dependency;
		if (is_dependency || answer->result_count < 20)
			add_text(is_dependency ? &answer->depends : &answer->results,
				 is_dependency ? str_skip(result, 3) : result);
	}
	if (error == 0) {
		answer->may_keep = expansion->may_keep;
		answer->version = expansion->version;
	}
}

static struct answer answer_new(void)
{
	return (struct answer){.results = strdup(""), .depends = strdup("")};
}

static void answer_clear(struct answer *answer)
{
	free(answer->results);
	free(answer->depends);
	*answer = answer_new();
}

static void answer_free(struct answer *answer)
{
	free(answer->results);
	free(answer->depends);
}

/* What hears of the store's changes, as a server does. */
static void on_changed(void *context, const struct directory_key *keys, const uint64_t *versions,
		       size_t count)
{
	(void)versions;
	for (size_t i = 0; i < count; i++)
		directory_expander_changed(context, &keys[i]);
}

static void on_reset(void *context)
{
	directory_expander_reset(context);
}

static void on_state(void *context, bool is_up)
{
	(void)context;
	(void)is_up;
}

static const struct directory_store_handler handler = {on_changed, on_reset, on_state};

struct scene {
	struct memory_store *store;
	struct directory_expander *expander;
	struct answer answer;
};

static void scene_open(struct scene *scene, const char *const *lines, bool is_late)
{
	scene->store = memory_store_new(NULL);
	for (size_t i = 0; lines[i] != NULL; i++)
		memory_store_put(scene->store, lines[i]);
	scene->store->is_late = is_late;
	scene->expander = directory_expander_new(&scene->store->base, &config);
	scene->store->base.handler = &handler;
	scene->store->base.context = scene->expander;
	scene->answer = answer_new();
}

static void scene_close(struct scene *scene)
{
	directory_expander_free(scene->expander);
	memory_store_free(scene->store);
	answer_free(&scene->answer);
}

static void scene_begin(struct scene *scene, const char *address)
{
	answer_clear(&scene->answer);
	directory_expand(scene->expander, str_from(address), on_expanded, &scene->answer);
}

static void scene_ask(struct scene *scene, const char *address)
{
	scene_begin(scene, address);
	assert_int_equal(scene->answer.count, scene->store->is_late ? scene->answer.count : 1);
	(void)memory_store_answer_all(scene->store);
	assert_int_equal(scene->answer.count, 1);
}

static void addresses_become(void **state)
{
	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct scene scene;

			scene_open(&scene, records, is_late);
			for (int round = 0; round < 2; round++) { /* the second by the cache */
				scene_ask(&scene, cases[i].address);
				assert_int_equal(scene.answer.error, 0);
				assert_true(scene.answer.may_keep);
				assert_int_equal(scene.answer.version, scene.store->base.version);
				if (strcmp(scene.answer.results, cases[i].results) != 0)
					fail_msg("%s: %s", cases[i].address, scene.answer.results);
			}
			scene_close(&scene);
		}
	}
}

/* All questions at once, each answer alone: none disturbs another. */
static void many_are_under_way(void **state)
{
	struct answer answers[COUNT_OF(cases)];
	struct scene scene;

	(void)state;
	scene_open(&scene, records, true);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		answers[i] = answer_new();
		directory_expand(scene.expander, str_from(cases[i].address), on_expanded,
				 &answers[i]);
	}
	(void)memory_store_answer_all(scene.store);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_string_equal(answers[i].results, cases[i].results);
		answer_free(&answers[i]);
	}
	scene_close(&scene);
}

static void without_a_store_the_configuration_answers(void **state)
{
	static const struct {
		const char *address;
		const char *results;
	} alone[] = {
		{"ann@example.org", "local maildir ann@example.org"},
		{"Ann@EXAMPLE.org", "local maildir Ann@EXAMPLE.org"},
		{"\"ann\"@example.org", "local maildir \"ann\"@example.org"},
		{"info@listed.example", "local other info@listed.example"},
		{"INFO@listed.example", "local other INFO@listed.example"},
		{"info+tag@listed.example", "local other info+tag@listed.example"},
		{"sales+urgent@listed.example", "local other sales+urgent@listed.example"},
		{"O'Neil@listed.example", "local other O'Neil@listed.example"},
		{"inf@listed.example", "refuse 5.1.1 inf@listed.example No such user here"},
		{"infos@listed.example", "refuse 5.1.1 infos@listed.example No such user here"},
		{"+info@listed.example", "refuse 5.1.1 +info@listed.example No such user here"},
		{"PostMaster@listed.example", "local other PostMaster@listed.example"},
		{"postmaster", "local maildir postmaster@example.org"},
		{"Postmaster", "local maildir postmaster@example.org"},
		{"postmaster@", "local maildir postmaster@example.org"},
		{"Postmaster@mx1.example.org", "local maildir postmaster@example.org"},
		{"ann@mx1.example.org", "elsewhere"},
		{"ann@sub.example.org", "elsewhere"},
		{"ann@[192.0.2.1]", "elsewhere"},
		{"ann", "refuse 5.1.3 ann The recipient is no address"},
		{"ann@", "refuse 5.1.3 ann@ The recipient is no address"},
		{"@example.org", "refuse 5.1.3 @example.org The recipient is no address"},
		{"", "refuse 5.1.3  The recipient is no address"},
		{"../ann@example.org",
		 "refuse 5.1.3 ../ann@example.org No mailbox can have such a name"},
		{"\"..\"@example.org",
		 "refuse 5.1.3 \"..\"@example.org No mailbox can have such a name"},
		{"\"a/b\"@example.org",
		 "refuse 5.1.3 \"a/b\"@example.org No mailbox can have such a name"},
		{"\"ann@example.org", "refuse 5.1.3 \"ann@example.org The recipient is no address"},
		{"a..b@example.org", "local maildir a..b@example.org"},
	};
	struct directory_expander *expander = directory_expander_new(NULL, &config);
	struct answer answer = answer_new();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(alone); i++) {
		answer_clear(&answer);
		directory_expand(expander, str_from(alone[i].address), on_expanded, &answer);
		assert_int_equal(answer.count, 1);
		assert_string_equal(answer.results, alone[i].results);
		assert_string_equal(answer.depends, "");
		assert_int_equal(answer.version, 0);
	}
	directory_expander_configure(expander, &no_domains);
	answer_clear(&answer);
	directory_expand(expander, STR("postmaster"), on_expanded, &answer);
	assert_string_equal(answer.results, "refuse 5.1.1 postmaster There is no postmaster: this "
					    "host has no local domain");
	directory_expander_free(expander);
	answer_free(&answer);
}

static void answers_say_on_what_they_depend(void **state)
{
	static const struct {
		const char *address;
		const char *depends;
	} dependent[] = {
		{"Ann@D.example", "domain d.example; address ann@d.example"},
		{"x+y@d.example", "domain d.example; address x+y@d.example; address @d.example; "
				  "address x@d.example"},
		{"x@d.example", "domain d.example; address x@d.example; address @d.example"},
		{"x@nowhere.example", "domain nowhere.example"},
		{"x@[192.0.2.1]", ""},
		{"user@d.example", "domain d.example; address user@d.example; user ann; server s1"},
		{"user5@d.example", "domain d.example; address user5@d.example; user erin"},
		{"alias@alias.example", "domain alias.example; domain d.example; address "
					"alias@d.example; address ann@d.example"},
		{"out@d.example",
		 "domain d.example; address out@d.example; domain nowhere.example"},
		{"ann@example.org", "address ann@example.org"},
		{"bob@example.org", "address bob@example.org; address @example.org"},
		{"postmaster", "domain mx1.example.org; address postmaster@example.org; address "
			       "@example.org"},
	};

	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, records, is_late);
		for (size_t i = 0; i < COUNT_OF(dependent); i++) {
			directory_expander_reset(scene.expander); /* the order is that of asking */
			scene_ask(&scene, dependent[i].address);
			assert_string_equal(scene.answer.depends, dependent[i].depends);
		}
		scene_close(&scene);
	}
}

/* A record for COUNT targets, or a chain of as many. */
static void put_forward(struct memory_store *store, const char *name, unsigned count)
{
	struct buffer text = {0};

	buffer_append_format(&text, "address %s@d.example|kind forward", name);
	for (unsigned i = 0; i < count; i++)
		buffer_append_format(&text, "|target %s%u@far%u.example", name, i, i % 10);
	buffer_append_byte(&text, '\0');
	memory_store_put(store, buffer_data(&text));
	buffer_clear(&text);
}

static void put_chain(struct memory_store *store, const char *name, unsigned steps)
{
	char text[200];

	for (unsigned i = 0; i < steps; i++) {
		snprintf(text, sizeof text,
			 "address %s%u@d.example|kind alias|target %s%u@d.example", name, i, name,
			 i + 1);
		memory_store_put(store, text);
	}
	snprintf(text, sizeof text, "address %s%u@d.example|kind mailbox", name, steps);
	memory_store_put(store, text);
}

static void fan_out_is_bounded(void **state)
{
	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, records, is_late);
		put_forward(scene.store, "halfa", DIRECTORY_TARGETS_MAX / 2);
		put_forward(scene.store, "halfb", DIRECTORY_TARGETS_MAX / 2);
		memory_store_put(scene.store, "address full@d.example|kind forward|target "
					      "halfa@d.example|target halfb@d.example");
		memory_store_put(
			scene.store,
			"address over@d.example|kind forward|target halfa@d.example|target "
			"halfb@d.example|target ann@d.example");
		scene_ask(&scene, "full@d.example");
		assert_int_equal(scene.answer.result_count, DIRECTORY_TARGETS_MAX);
		assert_true(scene.answer.may_keep); /* ten domains only */
		scene_ask(&scene, "over@d.example");
		assert_string_equal(scene.answer.results,
				    "refuse 5.4.6 over@d.example The address becomes more others "
				    "than are allowed");
		scene_close(&scene);
	}
}

static void forwards_of_forwards_are_bounded(void **state)
{
	struct scene scene;
	struct buffer text = {0};
	char name[20];

	(void)state;
	scene_open(&scene, records, false);
	buffer_append_string(&text, "address tree@d.example|kind forward");
	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof name, "leaf%u-", i);
		put_forward(scene.store, name, 400);
		buffer_append_format(&text, "|target %s@d.example", name);
	}
	buffer_append_byte(&text, '\0');
	memory_store_put(scene.store, buffer_data(&text));
	scene_ask(&scene, "tree@d.example");
	assert_string_equal(scene.answer.results, "refuse 5.4.6 tree@d.example The address becomes "
						  "more others than are allowed");
	buffer_clear(&text);
	scene_close(&scene);
}

static void depth_is_bounded(void **state)
{
	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, records, is_late);
		put_chain(scene.store, "c", DIRECTORY_DEPTH_MAX);
		put_chain(scene.store, "x", DIRECTORY_DEPTH_MAX + 1);
		put_chain(scene.store, "y", 300);
		scene_ask(&scene, "c0@d.example");
		assert_string_equal(scene.answer.results, "local maildir c50@d.example");
		scene_ask(&scene, "x0@d.example");
		assert_string_equal(scene.answer.results,
				    "refuse 5.4.6 x50@d.example The address is more steps away "
				    "than are allowed");
		scene.store->gets = 0;
		scene_ask(&scene, "y0@d.example");
		assert_string_equal(scene.answer.results,
				    "refuse 5.4.6 y50@d.example The address is more steps away "
				    "than are allowed");
		assert_true(scene.store->gets < 60);
		scene_close(&scene);
	}
}

/* A loop whose text would not fit is told by its beginning and its end. */
static void long_loops_are_told_shortly(void **state)
{
	struct scene scene;
	char text[200];

	(void)state;
	scene_open(&scene, records, false);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(text, sizeof text,
			 "address address-number-%u@d.example|kind alias|target "
			 "address-number-%u@d.example",
			 i, (i + 1) % 40);
		memory_store_put(scene.store, text);
	}
	scene_ask(&scene, "address-number-3@d.example");
	assert_true(strlen(scene.answer.results) < 450);
	assert_non_null(strstr(scene.answer.results, "itself: address-number-3@d.example > "
						     "address-number-4@d.example"));
	assert_non_null(strstr(scene.answer.results, " > ... > address-number-3@d.example"));
	scene_close(&scene);
}

static void what_depends_on_too_much_is_not_kept(void **state)
{
	struct scene scene;
	char text[400];

	(void)state;
	scene_open(&scene, records, false);
	put_chain(scene.store, "c", 49);
	for (unsigned i = 0; i < 2; i++) {
		struct buffer record = {0};

		/* the forward, its domain, and 62 or 63 more domains */
		buffer_append_string(&record, "address many@d.example|kind forward");
		for (unsigned j = 0; j < 62 + i; j++)
			buffer_append_format(&record, "|target a@d%u.example", j);
		buffer_append_byte(&record, '\0');
		memory_store_put(scene.store, buffer_data(&record));
		scene_ask(&scene, "many@d.example");
		assert_int_equal(scene.answer.result_count, 62 + i);
		assert_int_equal(scene.answer.may_keep, i == 0);
		snprintf(text, sizeof text, "%.20s", scene.answer.depends);
		assert_string_equal(text, i == 0 ? "domain d.example; ad" : "");
		buffer_clear(&record);
	}
	scene_close(&scene);
}

static void errors_are_told(void **state)
{
	static const char *const asked[] = {"ann@d.example", "ann@nowhere.example",
					    "alias@d.example", "ann@example.org"};

	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, records, is_late);
		for (size_t i = 0; i < COUNT_OF(asked); i++) {
			scene_ask(&scene, asked[i]); /* what is kept does not hide it */
			memory_store_set_up(scene.store, false);
			scene_ask(&scene, asked[i]);
			assert_int_equal(scene.answer.error, -ENOTCONN);
			memory_store_set_up(scene.store, true);
			scene_ask(&scene, asked[i]);
			assert_int_equal(scene.answer.error, 0);
		}
		scene_close(&scene);
	}
}

/* The data change after each number of answers that the store gives: what was seen before
 * and after is not kept. */
static void a_change_meanwhile_is_not_kept(void **state)
{
	unsigned answered = 0;
	bool is_done = false;

	(void)state;
	for (; !is_done; answered++) {
		struct scene scene;

		scene_open(&scene, records, true);
		scene_begin(&scene, "alias2@d.example");
		for (unsigned i = 0; i < answered; i++)
			(void)memory_store_answer(scene.store);
		is_done = scene.answer.count > 0;
		memory_store_put(scene.store, "address alias2@d.example|kind mailbox");
		(void)memory_store_answer_all(scene.store);
		assert_int_equal(scene.answer.count, 1);
		/* before it was asked for, it is not yet depended on */
		assert_int_equal(scene.answer.may_keep, is_done || answered == 0);
		assert_string_equal(scene.answer.results,
				    is_done || answered > 1 ? "local maildir ann@d.example"
							    : "local maildir alias2@d.example");
		scene_close(&scene);
	}
	assert_int_equal(answered, 5);
}

/* An alias and what it stands for are renamed: nobody is told that there is no such user. */
static void a_rename_meanwhile_refuses_nobody(void **state)
{
	static const char *const names[] = {"n0@d.example", "n1@d.example"};
	bool is_done = false;

	(void)state;
	for (unsigned answered = 0; !is_done; answered++) {
		struct scene scene;
		char text[100];

		scene_open(&scene, records, true);
		memory_store_put(scene.store, "address n0@d.example|kind mailbox");
		memory_store_put(scene.store,
				 "address renamed@d.example|kind alias|target n0@d.example");
		scene_begin(&scene, "renamed@d.example");
		for (unsigned i = 0; i < answered; i++)
			(void)memory_store_answer(scene.store);
		is_done = scene.answer.count > 0;
		memory_store_put(scene.store, "address n1@d.example|kind mailbox");
		memory_store_put(scene.store,
				 "address renamed@d.example|kind alias|target n1@d.example");
		memory_store_remove(scene.store, "address n0@d.example");
		(void)memory_store_answer_all(scene.store);
		assert_int_equal(scene.answer.error, 0);
		snprintf(text, sizeof text, "local maildir %s", names[!is_done]);
		assert_string_equal(scene.answer.results, text);
		scene_close(&scene);
	}
}

/* Without a word from the store: by the versions of its answers. And there is an end to it. */
static void data_that_do_not_stand_still_refuse_nobody(void **state)
{
	struct scene scene;
	unsigned answers = 0;

	(void)state;
	scene_open(&scene, records, true);
	scene.store->base.handler = NULL;
	scene_begin(&scene, "gonealias@d.example");
	do
		memory_store_put(scene.store, "user someone");
	while (memory_store_answer(scene.store) && ++answers < 1000);
	assert_int_equal(scene.answer.error, -ETIMEDOUT);
	assert_true(answers < 100);
	scene_begin(&scene, "alias@d.example"); /* what refuses nothing is good enough */
	do
		memory_store_put(scene.store, "user someone");
	while (memory_store_answer(scene.store));
	assert_string_equal(scene.answer.results, "local maildir ann@d.example");
	scene_close(&scene);
}

static void a_change_of_something_else_does_not_matter(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, records, true);
	scene_begin(&scene, "ann@d.example");
	memory_store_put(scene.store, "address bob@d.example|kind mailbox");
	(void)memory_store_answer_all(scene.store);
	assert_true(scene.answer.may_keep);
	scene_begin(&scene, "ann@d.example");
	memory_store_replace(scene.store, "memory-2"); /* and it is not "no such user" */
	(void)memory_store_answer_all(scene.store);
	assert_string_equal(scene.answer.results, "elsewhere");
	scene_close(&scene);
}

static void domains_are_remembered_until_they_change(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, records, false);
	scene_ask(&scene, "gone@d.example");
	scene_ask(&scene, "x@nowhere.example");
	scene.store->gets = 0;
	scene_ask(&scene, "gone2@d.example");
	assert_int_equal(scene.store->gets, 1);
	scene_ask(&scene, "y@nowhere.example");
	assert_int_equal(scene.store->gets, 1);
	memory_store_put(scene.store, "domain nowhere.example|kind local|service maildir");
	memory_store_put(scene.store, "address @nowhere.example|kind mailbox");
	scene_ask(&scene, "y@nowhere.example");
	assert_string_equal(scene.answer.results, "local maildir y@nowhere.example");
	memory_store_remove(scene.store, "address @nowhere.example");
	scene_ask(&scene, "y@nowhere.example");
	assert_string_equal(scene.answer.results,
			    "refuse 5.1.1 y@nowhere.example No such user here");
	memory_store_remove(scene.store, "domain nowhere.example");
	scene_ask(&scene, "y@nowhere.example");
	assert_string_equal(scene.answer.results, "elsewhere");
	scene_close(&scene);
}

static void more_domains_than_are_remembered(void **state)
{
	struct scene scene;
	char address[40];

	(void)state;
	scene_open(&scene, records, false);
	for (unsigned i = 0; i < 10100; i++) {
		snprintf(address, sizeof address, "a@d%u.example", i);
		scene_ask(&scene, address);
	}
	scene.store->gets = 0;
	scene_ask(&scene, "a@d10099.example");
	assert_int_equal(scene.store->gets, 0);
	scene_ask(&scene, "a@d0.example");
	assert_int_equal(scene.store->gets, 1);
	scene_close(&scene);
}

/* Another configuration while the store is asked: the answer is by the new one. */
static void the_configuration_changes_meanwhile(void **state)
{
	struct scene scene;
	struct config *old = malloc(sizeof *old);

	(void)state;
	scene_open(&scene, records, true);
	*old = config;
	directory_expander_configure(scene.expander, old);
	scene_begin(&scene, "bob@example.org");
	directory_expander_configure(scene.expander, &no_domains);
	free(old);
	(void)memory_store_answer_all(scene.store);
	assert_int_equal(scene.answer.count, 1);
	assert_string_equal(scene.answer.results, "elsewhere");
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_become),
		cmocka_unit_test(many_are_under_way),
		cmocka_unit_test(without_a_store_the_configuration_answers),
		cmocka_unit_test(answers_say_on_what_they_depend),
		cmocka_unit_test(fan_out_is_bounded),
		cmocka_unit_test(forwards_of_forwards_are_bounded),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(long_loops_are_told_shortly),
		cmocka_unit_test(what_depends_on_too_much_is_not_kept),
		cmocka_unit_test(errors_are_told),
		cmocka_unit_test(a_change_meanwhile_is_not_kept),
		cmocka_unit_test(a_rename_meanwhile_refuses_nobody),
		cmocka_unit_test(data_that_do_not_stand_still_refuse_nobody),
		cmocka_unit_test(a_change_of_something_else_does_not_matter),
		cmocka_unit_test(domains_are_remembered_until_they_change),
		cmocka_unit_test(more_domains_than_are_remembered),
		cmocka_unit_test(the_configuration_changes_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
