// SPDX-License-Identifier: ISC
/* As whom a user may send; the directory's client is this test's own. */
#include "directory/lookup/sender.h"
#include "lookup_scene.h"
#include "test.h"
#include <string.h>

static struct {
	const char *away; /* the table that has no answer */
	size_t questions;
	size_t others; /* who gets mail for crowd@a.test before ann@a.test */
} world;

/* The directory: of each key what is answered. */
static const struct {
	const char *table, *key;
	const char *results[3];
} records[] = {
	{"user", "ann", {"send_as shared@a.test @granted.test"}},
	{"user", "bob@a.test", {"name Bob"}},
	{"address", "ann@a.test", {"kind mailbox", "user ann"}},
	{"address", "ann2@a.test", {"kind mailbox", "user ann", "mailbox other@a.test"}},
	{"address", "bob@a.test", {"kind mailbox"}},
	{"address", "eve@a.test", {"kind mailbox", "user eve"}},
	{"address", "ann+eve@a.test", {"kind alias"}},
	{"address", "ann+me@a.test", {"kind alias"}},
	{"address", "bob+eve@a.test", {"kind alias"}},
	{"address", "shared+eve@a.test", {"kind alias"}},
	{"route", "ann@a.test", {"local maildir ann@a.test"}},
	{"route", "ann+eve@a.test", {"local maildir eve@a.test"}},
	{"route", "ann+me@a.test", {"local maildir ann@a.test"}},
	{"route", "bob+eve@a.test", {"local maildir eve@a.test"}},
	{"route", "shared+eve@a.test", {"local maildir eve@a.test"}},
	{"route", "eve@a.test", {"local maildir eve@a.test"}},
	{"route", "alias@a.test", {"local maildir ann@a.test"}},
	{"route", "ann-x@a.test", {"local maildir ann+x@a.test"}},
	{"route",
	 "team@a.test",
	 {"local maildir eve@a.test", "remote far@b.test", "local maildir ann@a.test"}},
	{"route", "others@a.test", {"local maildir eve@a.test", "remote ann@b.test"}},
	{"route", "list@a.test", {"list list@a.test owner ann@a.test"}},
	{"route", "bobs@a.test", {"local maildir bob@a.test"}},
	{"route", "far@b.test", {"elsewhere"}},
	{"route", "shared@a.test", {"list shared@a.test owner eve@a.test"}},
	{"route", "gone@a.test", {"refuse 5.1.1 gone@a.test No such user"}},
	{"route", "slow@a.test", {"refuse 4.2.1 slow@a.test Wait"}},
};

static void answer(const struct directory_question_private *asked,
		   struct directory_answer_text *text, struct str *results)
{
	assert_false(asked->is_list);
	world.questions++;
	if (world.away != NULL && strcmp(asked->table, world.away) == 0)
		text->error = DIRECTORY_ERROR_LATER;
	for (size_t i = 0; i < COUNT_OF(records) && text->error == 0; i++) {
		if (strcmp(records[i].table, asked->table) != 0 ||
		    strcmp(records[i].key, asked->key) != 0)
			continue;
		text->exists = true;
		while (text->result_count < 3 && records[i].results[text->result_count] != NULL) {
			results[text->result_count] =
				str_from(records[i].results[text->result_count]);
			text->result_count++;
		}
	}
	if (strcmp(asked->table, "route") == 0 && strcmp(asked->key, "crowd@a.test") == 0) {
		text->exists = true;
		while (text->result_count < world.others)
			results[text->result_count++] = STR("local maildir eve@a.test");
		results[text->result_count++] = STR("local maildir ann@a.test");
	}
	if (!text->exists && text->error == 0 && strcmp(asked->table, "route") == 0)
		fail_msg("nobody knows the route of %s", asked->key);
}

/* --- a fixture --- */

static struct directory_sender_request request;

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	lookup_scene_open(answer);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_null(request.sending);
	lookup_scene_close();
	return 0;
}

static void judged(void *context, const struct mail_verdict *verdict)
{
	assert_ptr_equal(context, &lookup_scene);
	assert_string_equal(lookup_scene.outcome, "");
	strcpy(lookup_scene.outcome, verdict->status);
}

static const char *judge_all(const char *user, const char *const *senders, size_t count)
{
	struct str texts[4];

	for (size_t i = 0; i < count; i++)
		texts[i] = str_from(senders[i]);
	lookup_scene.outcome[0] = '\0';
	directory_sender_ask(lookup_scene.directory, str_from(user), texts, count, judged,
			     &lookup_scene, &request);
	lookup_scene_tell_all();
	return lookup_scene.outcome;
}

static const char *judge(const char *user, const char *sender)
{
	return judge_all(user, &sender, 1);
}

/* --- tests --- */

static void addresses_have_users(void **state)
{
	static const struct {
		const char *user, *sender, *status;
	} cases[] = {
		/* mailboxes, by the field, also where the service is told another name */
		{"ann", "ann@a.test", "2.1.0"},
		{"ann", "ANN@A.Test", "2.1.0"},
		{"ann", "ann+x@a.test", "2.1.0"},
		{"ann", "ann2@a.test", "2.1.0"},
		{"ann", "eve@a.test", "5.7.1"},
		/* by the key, known without a question */
		{"bob@a.test", "bob@a.test", "2.1.0"},
		{"bob@a.test", "bob+x@a.test", "2.1.0"},
		{"bob@a.test", "bobs@a.test", "2.1.0"},
		{"bob@a.test", "ann@a.test", "5.7.1"},
		/* what leads to them, also among others */
		{"ann", "alias@a.test", "2.1.0"},
		{"ann", "ann-x@a.test", "2.1.0"},
		{"ann", "team@a.test", "2.1.0"},
		{"eve", "team@a.test", "2.1.0"},
		{"ann", "others@a.test", "5.7.1"},
		{"ann", "list@a.test", "5.7.1"},
		{"ann", "far@b.test", "5.7.1"},
		{"ann", "gone@a.test", "5.7.1"},
		/* grants */
		{"ann", "shared@a.test", "2.1.0"},
		{"ann", "shared+x@a.test", "2.1.0"},
		{"ann", "anything@granted.test", "2.1.0"},
		{"eve", "shared@a.test", "5.7.1"},
		/* with an extension, but a record of its own */
		{"ann", "ann+eve@a.test", "5.7.1"},
		{"ann", "ann+me@a.test", "2.1.0"},
		{"bob@a.test", "bob+eve@a.test", "5.7.1"},
		{"ann", "shared+eve@a.test", "5.7.1"},
		{"eve", "ann+eve@a.test", "2.1.0"},
		/* no addresses */
		{"ann", "", "5.7.1"},
		{"ann", "ann", "5.7.1"},
		{"ann", "a b@a.test", "5.7.1"},
		/* as a proxy may write them */
		{"Ann", "ann@a.test", "2.1.0"},
		{"BOB@a.TEST", "bob@a.test", "2.1.0"},
		{"", "ann@a.test", "5.7.1"},
		{"a b@", "ann@a.test", "5.7.1"},
		/* an unknown user */
		{"nobody", "ann@a.test", "5.7.1"},
	};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
		const char *sender = cases[i / 2].sender;

		lookup_scene.is_late = i % 2 == 1;
		if (strcmp(judge(cases[i / 2].user, sender), cases[i / 2].status) != 0)
			fail_msg("%s as %s: %s", cases[i / 2].user, sender, lookup_scene.outcome);
	}
}

static void so_many_targets_are_looked_at(void **state)
{
	(void)state;
	world.others = DIRECTORY_SENDER_TARGETS_MAX - 1;
	assert_string_equal(judge("ann", "crowd@a.test"), "2.1.0");
	world.others++;
	assert_string_equal(judge("ann", "crowd@a.test"), "5.7.1");
}

static void all_must_be_his(void **state)
{
	static const char *const good[] = {"ann@a.test", "alias@a.test", "x@granted.test"};
	static const char *const bad[] = {"ann@a.test", "eve@a.test", "x@granted.test"};

	(void)state;
	assert_string_equal(judge_all("ann", good, 3), "2.1.0");
	assert_string_equal(judge_all("ann", bad, 3), "5.7.1");
	lookup_scene.is_late = true;
	assert_string_equal(judge_all("ann", good, 3), "2.1.0");
	assert_string_equal(judge_all("ann", bad, 3), "5.7.1");
}

static void without_an_answer_mail_waits(void **state)
{
	static const char *const tables[] = {"user", "address", "route"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(tables); i++) {
		world.away = tables[i];
		assert_string_equal(judge("ann", "alias@a.test"), "4.4.3");
		assert_string_equal(judge("bob@a.test", "bob@a.test"), "2.1.0");
	}
	world.away = NULL;
	assert_string_equal(judge("ann", "slow@a.test"), "4.2.1");
}

static void what_is_known_is_not_asked(void **state)
{
	(void)state;
	assert_string_equal(judge("bob@a.test", "bob@a.test"), "2.1.0");
	assert_int_equal(world.questions, 0);
	assert_string_equal(judge("bob@a.test", "bob+x@a.test"), "2.1.0");
	assert_int_equal(world.questions, 1); /* whether it has a record of its own */
}

static void a_check_can_be_cancelled(void **state)
{
	static const char *const senders[] = {"ann@a.test", "alias@a.test", "shared@a.test"};

	(void)state;
	lookup_scene.is_late = true;
	for (size_t i = 0; i < COUNT_OF(senders); i++) {
		struct str sender = str_from(senders[i]);

		for (size_t steps = 0; steps < 4; steps++) {
			lookup_scene.late_count = 0;
			directory_sender_ask(lookup_scene.directory, STR("eve"), &sender, 1, judged,
					     &lookup_scene, &request);
			for (size_t j = 0; j < steps && j < lookup_scene.late_count; j++)
				lookup_scene_tell(j);
			directory_sender_cancel(&request);
			lookup_scene.outcome[0] = '\0';
			lookup_scene_expect_cancelled(steps);
		}
	}
	directory_sender_cancel(&request);
}

static void without_a_directory_the_name_counts(void **state)
{
	(void)state;
	lookup_scene.config.directory.backend = CONFIG_BACKEND_NONE;
	assert_string_equal(judge("ann", "ann@mx.test"), "2.1.0");
	assert_string_equal(judge("ann", "Ann+x@MX.test"), "2.1.0");
	assert_string_equal(judge("ann", "ann@other.test"), "5.7.1");
	assert_string_equal(judge("ann@other.test", "ann@other.test"), "2.1.0");
	assert_string_equal(judge("ann@other.test", "ann@mx.test"), "5.7.1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(addresses_have_users, set_up, tear_down),
		cmocka_unit_test_setup_teardown(so_many_targets_are_looked_at, set_up, tear_down),
		cmocka_unit_test_setup_teardown(all_must_be_his, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_an_answer_mail_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_known_is_not_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_check_can_be_cancelled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_a_directory_the_name_counts, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
