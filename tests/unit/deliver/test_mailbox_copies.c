// SPDX-License-Identifier: ISC
/* The copies of a message, and what of them is the configuration's. */
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
	assert_true(str_equal(message.copies[sent].place.folder, STR("Out")));
	assert_true(str_equal(message.copies[sent].place.user, STR("ann@a.test")));
	assert_true(str_equal(message.copies[0].place.folder, STR("INBOX")));
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_senders_copy_outlives_the_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
