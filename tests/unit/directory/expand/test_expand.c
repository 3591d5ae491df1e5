// SPDX-License-Identifier: ISC
/* What addresses become, by every rule of directory/expand/expand.h. */
#include "expand_scene.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define A_50     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A_202    A_50 A_50 A_50 A_50 "aa"
#define PLUS_32  "++++++++++++++++++++++++++++++++"
#define PLUS_128 PLUS_32 PLUS_32 PLUS_32 PLUS_32

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
	{"slash2@d.example", "refuse 5.1.3 slash2@d.example No mailbox can have such a name"},
	/* who does not exist */
	{"gone@d.example", "refuse 5.1.1 gone@d.example No such user here"},
	{"Gone+x@d.example", "refuse 5.1.1 Gone+x@d.example No such user here"},
	{"+ann@d.example", "refuse 5.1.1 +ann@d.example No such user here"},
	{"a b@d.example", "refuse 5.1.3 - The recipient is no address"},
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
	{"far+" A_202 "@d.example",
	 "refuse 5.1.1 abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz+" A_202 "@d.example "
	 "No such user here"},
	{"far+" A_202 "a@d.example",
	 "refuse 5.1.3 far+" A_202 "a@d.example The address is too long"},
	/* more bytes than RFC 5321 wants */
	{"ann+" A_202 "@d.example", "local maildir ann+" A_202 "@d.example"},
	{A_202 "@all.example", "local maildir " A_202 "@all.example"},
	{A_202 "@relay.example", "remote " A_202 "@relay.example"},
	{A_202 "@d.example", "refuse 5.1.1 " A_202 "@d.example No such user here"},
	/* catch-alls */
	{"any@all.example", "local maildir any@all.example"},
	{"any+x@all.example", "local maildir any+x@all.example"},
	{"ann@all.example", "refuse 5.1.6 ann@all.example Ann has left"},
	{"ann+x@all.example", "refuse 5.1.6 ann+x@all.example Ann has left"},
	{"any@box.example", "local maildir box@box.example"},
	{"any+x@box.example", "local maildir box+x@box.example"},
	{"any@to.example", "local maildir ann@d.example"},
	{"any@shut.example", "refuse 5.7.1 any@shut.example All have left"},
	{"any@self.example", "refuse 4.4.6 x@self.example The address leads to itself: "
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
	{"ann@turn1.example", "refuse 4.4.6 ann@turn1.example The address leads to itself: "
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
	{"user6@d.example", "server other s7.mail.example:24 user6@d.example"},
	{"user6+x@d.example", "server other s7.mail.example:24 user6+x@d.example"},
	{"user7@d.example",
	 "refuse 4.3.5 user7@d.example Server mail.example:24: service other may "
	 "not deliver there (setting servers)"},
	{"user8@d.example",
	 "refuse 4.3.5 user8@d.example Server s7.mail.example:24: service maildir "
	 "is not of kind lmtp"},
	/* forwards and aliases */
	{"fwd@d.example", "local maildir fwd@d.example; local maildir ann@d.example; remote "
			  "x@nowhere.example"},
	{"fwd2@d.example", "local maildir fwd@d.example; local maildir ann@d.example; remote "
			   "x@nowhere.example; refuse 5.1.1 gone@d.example No such user here"},
	{"same@d.example", "local maildir ann@d.example"},
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
	/* what a service cannot be given */
	{"prog+../../x@d.example",
	 "refuse 5.1.3 prog+../../x@d.example No mailbox can have such a name"},
	{"prog+-x@d.example", "refuse 5.1.3 prog+-x@d.example No mailbox can have such a name"},
	{"any@run.example", "local filter any@run.example"},
	{"-any@run.example", "refuse 5.1.3 -any@run.example No mailbox can have such a name"},
	{"-any@all.example", "local maildir -any@all.example"},
	{"any@once.example", "local once any@once.example"},
	{"any+a*b@once.example", "local once any+a*b@once.example"},
	{"\"any@all.example\"@once.example",
	 "refuse 5.1.3 \"any@all.example\"@once.example No mailbox can have such a name"},
	{"any*root@once.example",
	 "refuse 5.1.3 any*root@once.example No mailbox can have such a name"},
	{"badprog@d.example", "refuse 4.3.5 badprog@d.example Service maildir runs no program"},
	{"no@d.example", "refuse 5.7.1 no@d.example Not for mail"},
	{"later@d.example", "refuse 4.2.1 later@d.example Come again"},
	{"ref@d.example", "refuse 5.7.1 no@d.example Not for mail"},
	/* loops */
	{"l1@loop.example",
	 "refuse 4.4.6 l1@loop.example The address leads to itself: "
	 "l1@loop.example > l2@loop.example > l3@loop.example > l1@loop.example"},
	{"in@loop.example",
	 "refuse 4.4.6 l2@loop.example The address leads to itself: "
	 "l2@loop.example > l3@loop.example > l1@loop.example > l2@loop.example"},
	{"some@loop.example",
	 "refuse 4.4.6 l1@loop.example The address leads to itself: l1@loop.example > "
	 "l2@loop.example > l3@loop.example > l1@loop.example; local maildir a@loop.example"},
	{"p@loop.example", "refuse 4.4.6 q@loop.example The address leads to itself: "
			   "q@loop.example > r@loop.example > q@loop.example"},
	/* domains of the configuration come first, records of their addresses, too */
	{"bob@example.org", "local maildir bob@example.org"},
	{"ann@example.org", "refuse 5.7.1 ann@example.org Gone"},
	{"members@d.example", "list members@d.example owner owner@d.example verp yes post members"},
	{"owners+x@d.example", "list owners@d.example owner owner@d.example post owners"},
	{"open@d.example", "list open@d.example owner owner@d.example"},
	/* states */
	{"on@d.example", "local maildir on@d.example"},
	{"off@d.example", "refuse 5.2.1 off@d.example This address is disabled"},
	{"off+x@d.example", "refuse 5.2.1 off+x@d.example This address is disabled"},
	{"suspended@d.example",
	 "refuse 4.2.1 suspended@d.example This address takes no mail for now"},
	{"offalias@d.example", "refuse 5.2.1 offalias@d.example This address is disabled"},
	{"tooff@d.example", "refuse 5.2.1 off@d.example This address is disabled"},
	{"someoff@d.example", "refuse 5.2.1 off@d.example This address is disabled; "
			      "local maildir ann@d.example"},
	{"offlist@d.example", "refuse 5.2.1 offlist@d.example This address is disabled"},
	{"offuser@d.example", "refuse 5.2.1 offuser@d.example This address is disabled"},
	{"lateuser@d.example",
	 "refuse 4.2.1 lateuser@d.example This address takes no mail for now"},
	{"bob@all.example", "refuse 5.2.1 bob@all.example This address is disabled"},
	{"bob+x@all.example", "refuse 5.2.1 bob+x@all.example This address is disabled"},
	{"any@off.example", "refuse 5.2.1 any@off.example This address is disabled"},
	{"postmaster@off.example", "local maildir postmaster@off.example"},
	{"info@listed.example", "local maildir ann@d.example"},
	{"sales@listed.example", "local other sales@listed.example"},
	{"sales+x@listed.example", "local other sales+x@listed.example"},
	{"extra@listed.example", "local maildir extra@listed.example"},
	{"extra+x@listed.example", "local maildir extra+x@listed.example"},
	{"none@listed.example", "refuse 5.1.1 none@listed.example No such user here"},
};

static void addresses_become(void **state)
{
	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct scene scene;

			scene_open(&scene, is_late);
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

static const struct {
	const char *delimiters;
	const char *address;
	const char *results;
} delimited[] = {
	{"-", "ann-Tag@d.example", "local maildir ann+tag@d.example"},
	{"-", "ann-a-b@d.example", "local maildir ann+a-b@d.example"},
	{"-", "ann+Tag@d.example", "refuse 5.1.1 ann+Tag@d.example No such user here"},
	/* no extension: services are told that they must not split there */
	{"-", "ann+own@d.example", "local other \"ann\\+own\"@d.example"},
	{"-", "ann+own-x@d.example", "local other \"ann\\+own+x\"@d.example"},
	{"-", "+any@all.example", "local maildir \"\\+any\"@all.example"},
	{"-", "a+b-c+d@all.example", "local maildir \"a\\+b+c+d\"@all.example"},
	{"-", "a" PLUS_128 "@all.example",
	 "refuse 5.1.3 a" PLUS_128 "@all.example The address is too long"},
	{"-", "a+b@relay.example", "remote a+b@relay.example"},
	{"-", "alias-tag@d.example", "local maildir ann+tag@d.example"},
	{"-", "fwd-x@d.example",
	 "local maildir fwd@d.example; local maildir ann@d.example; "
	 "remote x@nowhere.example"},
	{"-", "out-tag@d.example", "remote x-tag@nowhere.example"},
	{"-", "told-x@d.example", "local other t.old+x@e.example"},
	{"-", "user-x@d.example", "local other user+x@d.example"},
	{"-", "Prog-x@d.example", "local filter prog+x@d.example"},
	{"-", "list-x@d.example", "list list@d.example owner owner@d.example"},
	{"-", "gone-x@d.example", "refuse 5.1.1 gone-x@d.example No such user here"},
	{"-", "-ann@d.example", "refuse 5.1.1 -ann@d.example No such user here"},
	{"-", "\"a b-c\"@d.example", "local maildir \"a b+c\"@d.example"},
	{"-", "any-x@all.example", "local maildir any+x@all.example"},
	{"-", "ann-x@all.example", "refuse 5.1.6 ann-x@all.example Ann has left"},
	{"-", "bob-x@example.org", "local maildir bob+x@example.org"},
	{"-", "sales-x@listed.example", "local other sales+x@listed.example"},
	{"-", "PostMaster-x@d.example", "local maildir postmaster+x@d.example"},
	{"-", "-any@all.example", "local maildir -any@all.example"},
	{"-", "bob-x@relay.example", "remote bob-x@relay.example"},
	{"-", "rel-x@relay.example", "remote rel-x@relay.example"},
	{"-", "old-x@relay.example", "remote new-x@relay.example"},
	{"+-", "ann-a+b@d.example", "local maildir ann+a+b@d.example"},
	{"+-", "ann+a-b@d.example", "local maildir ann+a-b@d.example"},
	{"", "ann@d.example", "local maildir ann@d.example"},
	{"", "ann+Tag@d.example", "refuse 5.1.1 ann+Tag@d.example No such user here"},
	{"", "ann+own@d.example", "local other \"ann\\+own\"@d.example"},
	{"", "A+b@all.example", "local maildir \"a\\+b\"@all.example"},
};

static void delimiters_are_those_of_the_configuration(void **state)
{
	struct config config = expand_config;
	struct scene scene;

	(void)state;
	scene_open(&scene, false);
	directory_expander_configure(scene.expander, &config);
	for (size_t i = 0; i < COUNT_OF(delimited); i++) {
		config.recipient_delimiter = delimited[i].delimiters;
		scene_ask(&scene, delimited[i].address);
		if (strcmp(scene.answer.results, delimited[i].results) != 0)
			fail_msg("\"%s\" %s: %s", delimited[i].delimiters, delimited[i].address,
				 scene.answer.results);
	}
	scene_close(&scene);
}

/* All questions at once, each answer alone: none disturbs another. */
static void many_are_under_way(void **state)
{
	struct answer answers[COUNT_OF(cases)];
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		answers[i] = answer_new();
		directory_expand(scene.expander, str_from(cases[i].address), answer_expanded,
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
		{"\"ann@example.org", "refuse 5.1.3 - The recipient is no address"},
		{"a..b@example.org", "local maildir a..b@example.org"},
	};
	struct directory_expander *expander = directory_expander_new(NULL, &expand_config);
	struct answer answer = answer_new();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(alone); i++) {
		answer_clear(&answer);
		directory_expand(expander, str_from(alone[i].address), answer_expanded, &answer);
		assert_int_equal(answer.count, 1);
		assert_string_equal(answer.results, alone[i].results);
		assert_string_equal(answer.depends, "");
		assert_int_equal(answer.version, 0);
	}
	directory_expander_configure(expander, &expand_no_domains);
	answer_clear(&answer);
	directory_expand(expander, STR("postmaster"), answer_expanded, &answer);
	assert_string_equal(answer.results, "refuse 5.1.1 postmaster There is no postmaster: this "
					    "host has no local domain");
	directory_expander_free(expander);
	answer_free(&answer);
}

/* Where all domains are the directory's: through it, here an alias, to the last one. */
static void the_host_s_postmaster_is_that_of_the_default_domain(void **state)
{
	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, is_late);
		directory_expander_configure(scene.expander, &expand_default_domain);
		scene_ask(&scene, "postmaster@mx1.example.org");
		assert_string_equal(scene.answer.results, "local maildir postmaster@d.example");
		assert_string_equal(scene.answer.depends,
				    "domain mx1.example.org; domain alias.example; domain "
				    "d.example; address postmaster@d.example; address @d.example");
		scene_ask(&scene, "ann@mx1.example.org");
		assert_string_equal(scene.answer.results, "elsewhere");
		memory_store_put(scene.store, "domain mx1.example.org|kind local|service other");
		scene_ask(&scene, "postmaster");
		assert_string_equal(scene.answer.results, "local other postmaster@mx1.example.org");
		scene_close(&scene);
	}
}

static void answers_say_on_what_they_depend(void **state)
{
	static const struct {
		const char *address;
		const char *depends;
	} dependent[] = {
		{"Ann@D.example", "domain d.example; address ann@d.example"},
		{"x+y@d.example", "domain d.example; address x+y@d.example; address x@d.example; "
				  "address @d.example"},
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

		scene_open(&scene, is_late);
		for (size_t i = 0; i < COUNT_OF(dependent); i++) {
			directory_expander_reset(scene.expander); /* the order is that of asking */
			scene_ask(&scene, dependent[i].address);
			assert_string_equal(scene.answer.depends, dependent[i].depends);
		}
		scene_close(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_become),
		cmocka_unit_test(delimiters_are_those_of_the_configuration),
		cmocka_unit_test(many_are_under_way),
		cmocka_unit_test(without_a_store_the_configuration_answers),
		cmocka_unit_test(answers_say_on_what_they_depend),
		cmocka_unit_test(the_host_s_postmaster_is_that_of_the_default_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
