// SPDX-License-Identifier: ISC
#include "manager/link/mapping.h"
#include "test.h"

enum { NOW_US = 5000 };

/* An envelope with recipients 1 to COUNT. */
static struct mapping begin(unsigned count)
{
	struct mail_envelope *envelope = mail_envelope_new();

	for (unsigned i = 0; i < count; i++)
		mail_envelope_add(envelope, STR("r@d.example"));
	assert_int_equal(envelope->recipients[count - 1].number, count);
	return (struct mapping){.envelope = envelope};
}

static bool add(struct mapping *mapping, uint32_t recipient, const char *address)
{
	const struct ipc_job_target target = {
		.recipient = recipient, .route = QUEUE_ROUTE_REMOTE, .address = str_from(address)};

	return mapping_add(mapping, &target, false, NOW_US);
}

#define TARGET(recipient_number, to, by, at, outcome)                               \
	{                                                                           \
		.recipient = (recipient_number), .route = (to), .service = STR(by), \
		.address = STR(at), .status = STR(outcome), .text = STR("why")      \
	}
#define AT_SERVER(to, by, named)                                                         \
	{                                                                                \
		.recipient = 1, .route = (to), .service = STR(by), .server = STR(named), \
		.address = STR("a@d.example")                                            \
	}

static void what_resolve_says_is_not_believed(void **state)
{
	static const struct {
		struct ipc_job_target target;
		bool is_taken;
	} cases[] = {
		{TARGET(1, QUEUE_ROUTE_REMOTE, "", "a@d.example", ""), true},
		{TARGET(1, QUEUE_ROUTE_LOCAL, "local", "a@d.example", ""), true},
		{TARGET(1, QUEUE_ROUTE_NONE, "", "a@d.example", "5.1.1"), true},
		{TARGET(1, QUEUE_ROUTE_NONE, "", "a@d.example", "2.0.0"), true},
		{TARGET(1, QUEUE_ROUTE_NONE, "", "a@d.example", "4.3.0"), true},
		{TARGET(2, QUEUE_ROUTE_REMOTE, "", "a@d.example", ""), true},
		{TARGET(0, QUEUE_ROUTE_REMOTE, "", "a@d.example", ""), false},
		{TARGET(3, QUEUE_ROUTE_REMOTE, "", "a@d.example", ""), false},
		{TARGET(1, QUEUE_ROUTE_NONE + 1, "", "a@d.example", "5.1.1"), false},
		{TARGET(1, QUEUE_ROUTE_NONE, "", "a@d.example", ""), false},
		{TARGET(1, QUEUE_ROUTE_REMOTE, "", "a@d.example", "5.1.1"), false},
		{TARGET(1, QUEUE_ROUTE_LOCAL, "", "a@d.example", ""), false},
		{TARGET(1, QUEUE_ROUTE_REMOTE, "local", "a@d.example", ""), false},
		{TARGET(1, QUEUE_ROUTE_LOCAL, "../local", "a@d.example", ""), false},
		{TARGET(1, QUEUE_ROUTE_REMOTE, "", "a@d.example>\n", ""), false},
		{AT_SERVER(QUEUE_ROUTE_LOCAL, "local", "s.example:24"), true},
		{AT_SERVER(QUEUE_ROUTE_LOCAL, "local", "unix:/run/lmtp"), false},
		{AT_SERVER(QUEUE_ROUTE_LOCAL, "local", "s.example"), false},
		{AT_SERVER(QUEUE_ROUTE_REMOTE, "", "s.example:24"), false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mapping mapping = begin(2);

		if (mapping_add(&mapping, &cases[i].target, false, NOW_US) != cases[i].is_taken)
			fail_msg("case %zu", i);
		assert_int_equal(mapping.count, cases[i].is_taken);
		mail_envelope_free(mapping.envelope);
	}
}

static void what_is_decided_is_an_outcome(void **state)
{
	static const struct {
		struct ipc_job_target target;
		bool too_old;
		enum queue_outcome outcome;
		bool is_unresolved;
		const char *status;
	} cases[] = {
		{TARGET(1, QUEUE_ROUTE_REMOTE, "", "a@d.example", ""), true, QUEUE_PENDING, false,
		 ""},
		{TARGET(1, QUEUE_ROUTE_NONE, "", "a@d.example", "2.0.0"), false, QUEUE_DONE, false,
		 "2.0.0"},
		{TARGET(1, QUEUE_ROUTE_NONE, "", "a@d.example", "5.1.1"), false, QUEUE_FAIL, false,
		 "5.1.1"},
		{TARGET(1, QUEUE_ROUTE_NONE, "", "a@d.example", "4.3.0"), false, QUEUE_PENDING,
		 true, "4.3.0"},
		{TARGET(1, QUEUE_ROUTE_NONE, "", "a@d.example", "4.3.0"), true, QUEUE_FAIL, false,
		 "5.4.7"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mapping mapping = begin(1);
		const struct queue_delivery *delivery;

		assert_true(mapping_add(&mapping, &cases[i].target, cases[i].too_old, NOW_US));
		delivery = &mapping.deliveries[0];
		assert_int_equal(delivery->outcome, cases[i].outcome);
		assert_int_equal(delivery->changed_us,
				 cases[i].outcome == QUEUE_PENDING ? 0 : NOW_US);
		assert_int_equal(mapping.is_unresolved, cases[i].is_unresolved);
		assert_true(str_equal(delivery->status, str_from(cases[i].status)));
		assert_int_equal(mapping.text.length,
				 cases[i].target.status.data[0] == '4' ? 3 : 0);
		mail_envelope_free(mapping.envelope);
	}
}

static void each_recipient_has_a_delivery(void **state)
{
	struct mapping mapping = begin(3);

	(void)state;
	assert_false(mapping_is_whole(&mapping));
	assert_true(add(&mapping, 3, "c@d.example"));
	assert_true(add(&mapping, 1, "a@d.example"));
	assert_true(add(&mapping, 1, "b@d.example")); /* as many as there are recipients */
	assert_false(mapping_is_whole(&mapping));
	assert_true(add(&mapping, 2, "a@d.example"));
	assert_true(mapping_is_whole(&mapping));
	mail_envelope_free(mapping.envelope);
}

/* Whose recipient has several gets a number after all recipients'. */
static void deliveries_are_numbered(void **state)
{
	static const struct {
		unsigned recipients;
		uint32_t of[6]; /* recipients, in the order of their answers; 0: the end */
		uint32_t numbers[6];
	} cases[] = {
		{1, {1}, {1}},
		{1, {1, 1}, {2, 3}},
		{3, {1, 2, 3}, {1, 2, 3}},
		{3, {3, 1, 2}, {1, 2, 3}},
		{3, {1, 2, 2, 3}, {1, 4, 5, 3}},
		{3, {3, 3, 1, 1, 2}, {4, 5, 2, 6, 7}},
		{2, {2, 2, 2, 1}, {1, 3, 4, 5}},
	};
	static const char *const names[] = {"a@d.example", "b@d.example", "c@d.example",
					    "d@d.example", "e@d.example", "f@d.example"};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mapping mapping = begin(cases[i].recipients);

		for (size_t k = 0; cases[i].of[k] != 0; k++)
			assert_true(add(&mapping, cases[i].of[k], names[k]));
		mapping_number(&mapping);
		for (size_t k = 0; k < mapping.count; k++) {
			const struct queue_delivery *delivery = &mapping.deliveries[k];

			assert_int_equal(delivery->number, cases[i].numbers[k]);
			if (k == 0)
				continue;
			assert_in_range(delivery->recipient, delivery[-1].recipient, UINT32_MAX);
			if (delivery->recipient == delivery[-1].recipient) /* in their order */
				assert_true(delivery->address.data[0] >
					    delivery[-1].address.data[0]);
		}
		mail_envelope_free(mapping.envelope);
	}
}

/* The recipient over the limit fails, and all after it; the others do not. */
static void too_many_deliveries_fail(void **state)
{
	struct mapping mapping = begin(3);
	const struct queue_delivery *last;

	(void)state;
	assert_true(add(&mapping, 1, "first@d.example"));
	for (unsigned i = 1; i < MAPPING_DELIVERIES_MAX; i++)
		assert_true(add(&mapping, 2, "a@d.example"));
	assert_int_equal(mapping.count, MAPPING_DELIVERIES_MAX);
	assert_false(mapping.is_overfull);
	for (unsigned i = 0; i < 2; i++)
		assert_true(add(&mapping, 2, "a@d.example"));
	assert_true(mapping.is_overfull);
	assert_int_equal(mapping.count, 2);
	last = &mapping.deliveries[1];
	assert_int_equal(last->recipient, 2);
	assert_int_equal(last->outcome, QUEUE_FAIL);
	assert_int_equal(last->route, QUEUE_ROUTE_NONE);
	assert_int_equal(last->changed_us, NOW_US);
	assert_true(str_equal(last->status, STR("5.4.6")));
	assert_true(add(&mapping, 3, "a@d.example"));
	assert_true(add(&mapping, 3, "b@d.example"));
	assert_int_equal(mapping.count, 3);
	assert_int_equal(mapping.deliveries[2].outcome, QUEUE_FAIL);
	assert_int_equal(mapping.deliveries[0].outcome, QUEUE_PENDING);
	assert_true(mapping_is_whole(&mapping));
	mapping_number(&mapping);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(mapping.deliveries[i].number, i + 1);
	mail_envelope_free(mapping.envelope);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_resolve_says_is_not_believed),
		cmocka_unit_test(what_is_decided_is_an_outcome),
		cmocka_unit_test(each_recipient_has_a_delivery),
		cmocka_unit_test(deliveries_are_numbered),
		cmocka_unit_test(too_many_deliveries_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
