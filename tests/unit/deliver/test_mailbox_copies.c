// SPDX-License-Identifier: ISC
/* The copies of a message, and what of them is the configuration's: a table of addresses, and all
 * orders of a few. */
#include "deliver/mailbox/copies.h"
#include "unit/config/config_outcome.h"

static const char SERVICES[] =
	HOST "service box { kind = mailbox path = \"/m/%d/%u\" sent = local sent_folder = Out }\n"
	     "record { backend = sqlite path = \"/r\" }\n";

static void the_senders_copy_outlives_the_configuration(void **state)
{
	struct config *config = config_of(SERVICES);
	struct config_service service = config->services[0];
	struct arena *arena = arena_new();
	struct decode_identity identity = {.from = STR("ann@a.test")};
	struct decode_message decoded = {.subject = STR("")};
	struct filing_message message = {.identity = &identity, .decoded = &decoded};
	struct mailbox_rules_fields fields;
	struct mailbox_copies copies;
	struct str sender;
	size_t sent;

	(void)state;
	mailbox_rules_fields(config, arena, &fields);
	mailbox_copies_begin(&copies, &message, 1, config, &service, &fields, arena);
	assert_int_equal(mailbox_copies_add(&copies, STR("bob@a.test")), 0);
	sender = mailbox_copies_sender(&copies);
	assert_true(str_equal(sender, STR("ann@a.test")));
	/* a reload, while the directory is asked for the sender */
	service = (struct config_service){.sent_folder = "gone"};
	config_free(config);
	sent = mailbox_copies_add_sent(&copies, sender);
	assert_int_equal(sent, 1);
	assert_true(str_equal(message.copies[sent].mailbox.folder, STR("Out")));
	assert_true(str_equal(message.copies[sent].mailbox.user, STR("ann@a.test")));
	assert_true(str_equal(message.copies[0].mailbox.folder, STR("INBOX")));
	arena_free(arena);
}

static const char PLACES[] =
	HOST "service box { kind = mailbox path = \"/m/%d/%u\" sent = all }\n"
	     "service det { kind = mailbox path = \"/d/%d/%u\" detail_folders = yes folder = In\n"
	     "flags = { seen, flagged } over_quota = refuse sent = none }\n"
	     "service far { kind = imap address = 127.0.0.1:143 security = plain login = \"%a\"\n"
	     "password_file = /p flags = flagged }\n"
	     "record { backend = sqlite path = \"/r\" }\n"
	     "rule tag { detail = \"x*\" folder = \"Lists/%x\" flags = { draft, seen } }\n"
	     "rule eve { recipient = \"eve@*\" folder = Spam flags = draft sent = no }\n"
	     "rule joe { recipient = \"joe@*\" folder = \"a.b\" sent = no }\n"
	     "rule may { recipient = \"may@*\" }\n";

enum { IN_BOX, IN_DETAILS, IN_FAR, SERVICES_COUNT };

static const struct place_case {
	const char *address, *user, *purpose, *rule;
	struct {
		const char *folder;
		bool is_choice;
		unsigned flags;
	} in[SERVICES_COUNT];
} places[] = {
	{"ann@a.test",
	 "ann@a.test",
	 "to",
	 "",
	 {{"INBOX", false, 0}, {"In", false, 3}, {"INBOX", false, 2}}},
	{"Ann@A.Test",
	 "ann@a.test",
	 "to",
	 "",
	 {{"INBOX", false, 0}, {"In", false, 3}, {"INBOX", false, 2}}},
	{"ann+Lists@a.test",
	 "ann@a.test",
	 "to+lists",
	 "",
	 {{"INBOX", false, 0}, {"Lists", true, 3}, {"INBOX", false, 2}}},
	{"ann+a.b@a.test",
	 "ann@a.test",
	 "to+a.b",
	 "",
	 {{"INBOX", false, 0}, {"In", false, 3}, {"INBOX", false, 2}}},
	{"ann+xY@a.test",
	 "ann@a.test",
	 "to+xy",
	 "tag",
	 {{"Lists/xY", true, 5}, {"Lists/xY", true, 5}, {"Lists/xY", true, 5}}},
	{"ann+x.y@a.test",
	 "ann@a.test",
	 "to+x.y",
	 "tag",
	 {{"INBOX", false, 5}, {"In", false, 5}, {"INBOX", false, 5}}},
	{"eve@a.test",
	 "eve@a.test",
	 "to",
	 "eve",
	 {{"Spam", false, 4}, {"Spam", false, 4}, {"Spam", false, 4}}},
	{"eve+a.b@a.test",
	 "eve@a.test",
	 "to+a.b",
	 "eve",
	 {{"Spam", false, 4}, {"Spam", false, 4}, {"Spam", false, 4}}},
	{"joe@a.test",
	 "joe@a.test",
	 "to",
	 "joe",
	 {{"INBOX", false, 0}, {"In", false, 3}, {"a.b", false, 2}}},
	{"joe+fan@a.test",
	 "joe@a.test",
	 "to+fan",
	 "joe",
	 {{"INBOX", false, 0}, {"fan", true, 3}, {"a.b", false, 2}}},
	{"may+fan@a.test",
	 "may@a.test",
	 "to+fan",
	 "may",
	 {{"INBOX", false, 0}, {"fan", true, 3}, {"INBOX", false, 2}}},
	{"ann@b.test",
	 "ann@b.test",
	 "to",
	 "",
	 {{"INBOX", false, 0}, {"In", false, 3}, {"INBOX", false, 2}}},
	{"ann", NULL, NULL, NULL, {{NULL, false, 0}, {NULL, false, 0}, {NULL, false, 0}}},
};

static struct {
	struct config *config;
	struct arena *arena;
	struct decode_identity identity;
	struct decode_message decoded;
	struct filing_message message; /* the same through all lives */
	struct mailbox_copies copies;
	size_t service;
} play;

static void play_start(void)
{
	memset(&play, 0, sizeof play);
	play.config = config_of(PLACES);
	play.arena = arena_new();
	play.identity.from = STR("sue@a.test");
	play.decoded.subject = STR("");
	play.message.identity = &play.identity;
	play.message.decoded = &play.decoded;
}

static void play_end(void)
{
	arena_free(play.arena);
	config_free(play.config);
}

static void begin_copies(size_t service, size_t recipients)
{
	struct mailbox_rules_fields fields;

	play.service = service;
	mailbox_rules_fields(play.config, play.arena, &fields);
	mailbox_copies_begin(&play.copies, &play.message, recipients, play.config,
			     &play.config->services[service], &fields, play.arena);
	assert_int_equal(play.message.copy_count, 0);
}

static void assert_text(struct str found, const char *wanted)
{
	if (!str_equal(found, str_from(wanted)))
		fail_msg(STR_FORMAT " is not %s", STR_ARGUMENTS(found), wanted);
}

static void check_place(const struct place_case *wanted)
{
	size_t service = play.service;
	size_t index = mailbox_copies_add(&play.copies, str_from(wanted->address));
	const struct filing_copy *copy;

	if (wanted->user == NULL) {
		assert_int_equal(index, MAILBOX_NO_COPY);
		return;
	}
	assert_true(index < play.message.copy_count);
	copy = &play.message.copies[index];
	assert_text(copy->mailbox.user, wanted->user);
	assert_text(copy->decision.purpose, wanted->purpose);
	assert_text(copy->decision.rule, wanted->rule);
	assert_text(copy->mailbox.folder, wanted->in[service].folder);
	assert_text(copy->other_folder, service == IN_DETAILS ? "In" : "INBOX");
	assert_int_equal(copy->is_choice, wanted->in[service].is_choice);
	assert_int_equal(copy->decision.flags, wanted->in[service].flags);
	assert_int_equal(copy->refuses_over_quota, service == IN_DETAILS);
	assert_null(copy->quota);
}

static void a_copy_is_where_its_address_and_rule_say(void **state)
{
	(void)state;
	play_start();
	for (size_t service = 0; service < SERVICES_COUNT; service++) {
		for (size_t i = 0; i < COUNT_OF(places); i++) {
			begin_copies(service, 1);
			check_place(&places[i]);
		}
		begin_copies(service, COUNT_OF(places));
		for (size_t i = 0; i < COUNT_OF(places); i++)
			check_place(&places[i]);
		assert_int_equal(play.message.copy_count, COUNT_OF(places) - 2);
	}
	play_end();
}

/* Each order of four recipients by NUMBER, of whom two may have one copy; the model is a list of
 * the first ones. */
static void check_order(size_t number)
{
	static const size_t of[] = {0, 1, 2, 4, 11, 12}; /* of places */
	const struct place_case *kept[4];
	size_t count = 0;

	begin_copies(IN_BOX, 4);
	for (size_t i = 0; i < 4; i++, number /= COUNT_OF(of)) {
		const struct place_case *one = &places[of[number % COUNT_OF(of)]];
		size_t at = 0;

		while (one->user != NULL && at < count &&
		       (strcmp(kept[at]->user, one->user) != 0 ||
			strcmp(kept[at]->purpose, one->purpose) != 0))
			at++;
		if (one->user != NULL && at == count)
			kept[count++] = one;
		assert_int_equal(mailbox_copies_add(&play.copies, str_from(one->address)),
				 one->user != NULL ? at : MAILBOX_NO_COPY);
		assert_int_equal(play.message.copy_count, count);
		for (size_t j = 0; j < count; j++)
			assert_text(play.message.copies[j].recipient, kept[j]->address);
	}
}

static void spellings_of_one_address_have_one_copy(void **state)
{
	(void)state;
	play_start();
	for (size_t number = 0; number < 6 * 6 * 6 * 6; number++)
		check_order(number);
	play_end();
}

/* The sender's is kept if any recipient's rule says so, whatever the order. */
static void a_rule_keeps_the_senders_copy(void **state)
{
	static const struct {
		const char *address;
		bool keeps;
	} of[] = {{"ann@a.test", true},
		  {"ann+x@a.test", true},
		  {"eve@a.test", false},
		  {"joe@a.test", false}};

	(void)state;
	play_start();
	for (size_t i = 0; i < 3 * COUNT_OF(of) * COUNT_OF(of); i++) {
		size_t one = i / 3 % COUNT_OF(of);
		size_t other = i / 3 / COUNT_OF(of);
		bool keeps = of[one].keeps || of[other].keeps;

		begin_copies(i % 3 == 2 ? IN_DETAILS : IN_BOX, 2);
		play.identity.is_automatic = i % 3 == 1;
		assert_text(mailbox_copies_sender(&play.copies), "");
		mailbox_copies_add(&play.copies, str_from(of[one].address));
		mailbox_copies_add(&play.copies, str_from(of[other].address));
		assert_text(mailbox_copies_sender(&play.copies),
			    keeps && i % 3 == 0 ? "sue@a.test" : "");
	}
	play_end();
}

/* It is another copy than the one that he has as a recipient, and without a mailbox there is none.
 */
static void the_sender_may_be_a_recipient(void **state)
{
	const struct mail_quota quota = {.bytes = 7};
	const struct filing_copy *copy;

	(void)state;
	play_start();
	begin_copies(IN_BOX, 1);
	assert_int_equal(mailbox_copies_add(&play.copies, STR("sue@a.test")), 0);
	assert_int_equal(mailbox_copies_add_sent(&play.copies, STR("sue")), MAILBOX_NO_COPY);
	assert_int_equal(mailbox_copies_add_sent(&play.copies, STR("sue@a.test")), 1);
	assert_int_equal(mailbox_copies_add_sent(&play.copies, STR("Sue@A.test")), 1);
	assert_int_equal(play.message.copy_count, 2);
	copy = &play.message.copies[1];
	assert_text(copy->recipient, "");
	assert_text(copy->decision.purpose, "sent");
	assert_text(copy->decision.rule, "");
	assert_text(copy->mailbox.folder, "Sent");
	assert_int_equal(copy->decision.flags, MAILSTORE_SEEN);
	assert_true(copy->refuses_over_quota);
	assert_false(copy->is_choice);
	mailbox_copies_limit(&play.copies, 1, &quota);
	assert_null(play.message.copies[0].quota);
	assert_ptr_not_equal(copy->quota, &quota);
	assert_int_equal(copy->quota->bytes, 7);
	play_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_senders_copy_outlives_the_configuration),
		cmocka_unit_test(a_copy_is_where_its_address_and_rule_say),
		cmocka_unit_test(spellings_of_one_address_have_one_copy),
		cmocka_unit_test(a_rule_keeps_the_senders_copy),
		cmocka_unit_test(the_sender_may_be_a_recipient),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
