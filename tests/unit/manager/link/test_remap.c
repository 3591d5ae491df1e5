// SPDX-License-Identifier: ISC
#include "manager/link/mapping.h"
#include "manager/link/remap.h"
#include "test.h"
#include <string.h>

enum { NOW_US = 5000, MOST = 8 };

/* A delivery in one line: what it is before, or what resolve answers. */
struct line {
	uint32_t recipient; /* 0: the end */
	uint32_t number;
	enum queue_outcome outcome;
	const char *service; /* NULL: remote */
	const char *address;
};

static struct queue_control *control_of(uint32_t recipients, const struct line *lines)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct queue_control *control = arena_alloc(envelope->arena, sizeof *control);

	*control = (struct queue_control){.envelope = envelope, .is_mapped = true};
	for (uint32_t i = 0; i < recipients; i++)
		mail_envelope_add(envelope, STR("r@d.example"));
	control->deliveries = arena_alloc(envelope->arena, MOST * sizeof *control->deliveries);
	for (; lines->recipient != 0; lines++)
		control->deliveries[control->delivery_count++] = (struct queue_delivery){
			.recipient = lines->recipient,
			.number = lines->number,
			.outcome = lines->outcome,
			.route = lines->service != NULL ? QUEUE_ROUTE_LOCAL : QUEUE_ROUTE_REMOTE,
			.service = lines->service != NULL ? str_from(lines->service) : STR(""),
			.address = str_from(lines->address),
			.until_us = lines->outcome == QUEUE_WAIT ? 99 * NOW_US : 0,
			.trigger = lines->outcome == QUEUE_WAIT ? STR("host.x") : STR(""),
			.is_requeued =
				lines->outcome == QUEUE_PENDING || lines->outcome == QUEUE_WAIT,
		};
	return control;
}

static void expect(size_t which, const struct remap *remap, const struct line *lines,
		   const char *is_new)
{
	size_t i = 0;

	for (; lines[i].recipient != 0; i++) {
		const struct queue_delivery *delivery = &remap->deliveries[i];

		if (i == remap->count || delivery->recipient != lines[i].recipient ||
		    delivery->number != lines[i].number || delivery->outcome != lines[i].outcome ||
		    delivery->is_requeued ||
		    !str_equal(delivery->address, str_from(lines[i].address)) ||
		    !str_equal(delivery->service,
			       lines[i].service != NULL ? str_from(lines[i].service) : STR("")) ||
		    remap->is_new[i] != (is_new[i] == 'n'))
			fail_msg("case %zu, delivery %zu: number %u of recipient %u", which, i,
				 delivery->number, delivery->recipient);
		if (delivery->outcome == QUEUE_WAIT) {
			assert_int_equal(delivery->until_us, NOW_US);
			assert_int_equal(delivery->trigger.length, 0);
		}
	}
	if (remap->count != i)
		fail_msg("case %zu: %zu deliveries", which, remap->count);
}

static void what_is_decided_stays(void **state)
{
	static const struct {
		uint32_t recipients;
		struct line before[5];
		struct line answer[5];
		struct line after[6];
		const char *is_new; /* 'n' for each that is */
	} cases[] = {
		{1, /* it leads elsewhere, and keeps the number of its recipient */
		 {{1, 1, QUEUE_WAIT, NULL, "a@d.example"}},
		 {{1, 1, QUEUE_PENDING, NULL, "b@d.example"}},
		 {{1, 1, QUEUE_PENDING, NULL, "b@d.example"}},
		 "n"},
		{1, /* it leads where it led: to be tried at once */
		 {{1, 1, QUEUE_WAIT, NULL, "a@d.example"}},
		 {{1, 1, QUEUE_PENDING, NULL, "a@D.example"}},
		 {{1, 1, QUEUE_WAIT, NULL, "a@d.example"}},
		 "o"},
		{1, /* another service is another way */
		 {{1, 1, QUEUE_WAIT, "one", "a@d.example"}},
		 {{1, 1, QUEUE_PENDING, "other", "a@d.example"}},
		 {{1, 1, QUEUE_PENDING, "other", "a@d.example"}},
		 "n"},
		{1, /* an alias: done and failed ones stay, and are not tried again by any way */
		 {{1, 2, QUEUE_DONE, "one", "a@d.example"},
		  {1, 3, QUEUE_FAIL, NULL, "b@d.example"},
		  {1, 4, QUEUE_WAIT, NULL, "c@d.example"}},
		 {{1, 2, QUEUE_PENDING, NULL, "a@d.example"},
		  {1, 3, QUEUE_PENDING, NULL, "b@d.example"},
		  {1, 4, QUEUE_PENDING, NULL, "e@d.example"}},
		 {{1, 2, QUEUE_DONE, "one", "a@d.example"},
		  {1, 3, QUEUE_FAIL, NULL, "b@d.example"},
		  {1, 5, QUEUE_PENDING, NULL, "e@d.example"}},
		 "oon"},
		{1, /* all that is new was decided before: nothing is left to do */
		 {{1, 2, QUEUE_DONE, NULL, "a@d.example"}, {1, 3, QUEUE_WAIT, NULL, "b@d.example"}},
		 {{1, 1, QUEUE_PENDING, NULL, "a@d.example"}},
		 {{1, 2, QUEUE_DONE, NULL, "a@d.example"}},
		 "o"},
		{3, /* only who has an open one is asked about; the numbers go on behind all */
		 {{1, 1, QUEUE_DONE, NULL, "a@d.example"},
		  {2, 7, QUEUE_WAIT, NULL, "b@d.example"},
		  {2, 8, QUEUE_WAIT, NULL, "c@d.example"},
		  {3, 3, QUEUE_FAIL, NULL, "e@d.example"}},
		 {{2, 2, QUEUE_PENDING, NULL, "c@d.example"},
		  {2, 3, QUEUE_PENDING, "one", "f@d.example"},
		  {2, 4, QUEUE_FAIL, NULL, "g@d.example"}},
		 {{1, 1, QUEUE_DONE, NULL, "a@d.example"},
		  {2, 8, QUEUE_WAIT, NULL, "c@d.example"},
		  {2, 9, QUEUE_PENDING, "one", "f@d.example"},
		  {2, 10, QUEUE_FAIL, NULL, "g@d.example"},
		  {3, 3, QUEUE_FAIL, NULL, "e@d.example"}},
		 "oonno"},
		{1, /* an address that leads nowhere now fails, though it waited */
		 {{1, 1, QUEUE_WAIT, NULL, "a@d.example"}},
		 {{1, 1, QUEUE_FAIL, NULL, "a@d.example"}},
		 {{1, 1, QUEUE_FAIL, NULL, "a@d.example"}},
		 "n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct queue_control *before = control_of(cases[i].recipients, cases[i].before);
		struct queue_control *answer = control_of(cases[i].recipients, cases[i].answer);
		struct remap remap;

		for (size_t k = 0; k < answer->delivery_count; k++)
			answer->deliveries[k].is_requeued = false;
		remap = remap_merge(before, answer->deliveries, answer->delivery_count, NOW_US);
		expect(i, &remap, cases[i].after, cases[i].is_new);
		queue_control_free(before);
		queue_control_free(answer);
	}
}

/* REDIRECTED: the numbers of deliveries that failed, as the postmaster has no mailbox there. */
static void a_postmasters_mail_goes_to_the_nodes(void **state)
{
	static const struct {
		const char *redirected;
		struct line before[5];
		struct line answer[5];
		struct line after[5];
		const char *is_new;
	} cases[] = {
		{"1", /* it keeps the number of its recipient */
		 {{1, 1, QUEUE_WAIT, "one", "postmaster@d.example"}},
		 {{1, 1, QUEUE_PENDING, "other", "postmaster@e.example"}},
		 {{1, 1, QUEUE_PENDING, "other", "postmaster@e.example"}},
		 "n"},
		{"1", /* he is the node's, and has no mailbox */
		 {{1, 1, QUEUE_WAIT, "one", "postmaster@d.example"}},
		 {{1, 1, QUEUE_PENDING, "one", "postmaster@d.example"}},
		 {{1, 1, QUEUE_FAIL, "one", "postmaster@d.example"}},
		 "n"},
		{"1", /* the node has none: what the service has said is reported */
		 {{1, 1, QUEUE_WAIT, "one", "postmaster@d.example"}},
		 {{1, 1, QUEUE_FAIL, NULL, "postmaster"}},
		 {{1, 1, QUEUE_FAIL, "one", "postmaster@d.example"}},
		 "n"},
		{"1", /* of several one will do, wherever it leads */
		 {{1, 1, QUEUE_WAIT, "one", "postmaster@d.example"}},
		 {{1, 1, QUEUE_PENDING, "one", "postmaster@d.example"},
		  {1, 2, QUEUE_PENDING, NULL, "ann@f.example"}},
		 {{1, 1, QUEUE_PENDING, NULL, "ann@f.example"}},
		 "n"},
		{"3", /* others of the recipient stay as they are */
		 {{1, 2, QUEUE_DONE, "one", "ann@d.example"},
		  {1, 3, QUEUE_WAIT, "one", "postmaster@d.example"},
		  {1, 4, QUEUE_PENDING, NULL, "bob@f.example"}},
		 {{1, 1, QUEUE_PENDING, "other", "postmaster@e.example"}},
		 {{1, 2, QUEUE_DONE, "one", "ann@d.example"},
		  {1, 4, QUEUE_PENDING, NULL, "bob@f.example"},
		  {1, 5, QUEUE_PENDING, "other", "postmaster@e.example"}},
		 "oon"},
		{"3", /* the node's has it already: nothing is left to do */
		 {{1, 2, QUEUE_DONE, "other", "postmaster@e.example"},
		  {1, 3, QUEUE_WAIT, "one", "postmaster@d.example"}},
		 {{1, 1, QUEUE_PENDING, "other", "postmaster@e.example"}},
		 {{1, 2, QUEUE_DONE, "other", "postmaster@e.example"}},
		 "o"},
		{"23", /* all have failed that the node's leads to */
		 {{1, 2, QUEUE_WAIT, "one", "ann@d.example"},
		  {1, 3, QUEUE_WAIT, "one", "postmaster@d.example"},
		  {1, 4, QUEUE_FAIL, NULL, "bob@f.example"}},
		 {{1, 1, QUEUE_PENDING, "one", "ann@d.example"},
		  {1, 2, QUEUE_PENDING, NULL, "bob@f.example"}},
		 {{1, 2, QUEUE_FAIL, "one", "ann@d.example"},
		  {1, 3, QUEUE_FAIL, "one", "postmaster@d.example"},
		  {1, 4, QUEUE_FAIL, NULL, "bob@f.example"}},
		 "nno"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct queue_control *before = control_of(1, cases[i].before);
		struct queue_control *answer = control_of(1, cases[i].answer);
		struct mail_envelope *asked;
		struct remap remap;

		for (size_t k = 0; k < before->delivery_count; k++) {
			struct queue_delivery *delivery = &before->deliveries[k];

			delivery->is_requeued =
				strchr(cases[i].redirected, (char)('0' + delivery->number)) != NULL;
			if (delivery->is_requeued)
				delivery->status = STR("5.1.1");
		}
		for (size_t k = 0; k < answer->delivery_count; k++)
			answer->deliveries[k].is_requeued = false;
		asked = remap_envelope(before);
		assert_int_equal(asked->recipient_count, 1);
		assert_true(str_equal(asked->recipients[0].address, STR("postmaster")));
		assert_true(str_equal(before->envelope->recipients[0].address, STR("r@d.example")));
		remap = remap_merge(before, answer->deliveries, answer->delivery_count, NOW_US);
		expect(i, &remap, cases[i].after, cases[i].is_new);
		queue_control_free(before);
		queue_control_free(answer);
	}
}

static void only_who_waits_is_asked_about(void **state)
{
	static const struct line before[] = {{1, 1, QUEUE_DONE, NULL, "a@d.example"},
					     {2, 5, QUEUE_WAIT, NULL, "b@d.example"},
					     {2, 6, QUEUE_DONE, NULL, "c@d.example"},
					     {2, 7, QUEUE_PENDING, NULL, "d@d.example"},
					     {3, 3, QUEUE_PENDING, NULL, "e@d.example"},
					     {4, 4, QUEUE_WAIT, NULL, "f@d.example"},
					     {0, 0, 0, NULL, NULL}};
	struct queue_control *control = control_of(4, before);
	const struct mail_envelope *envelope;

	(void)state;
	control->deliveries[5].is_requeued = false;
	envelope = remap_envelope(control);
	assert_int_equal(envelope->recipient_count, 2);
	assert_int_equal(envelope->recipients[0].number, 2);
	assert_int_equal(envelope->recipients[1].number, 3);
	assert_int_equal(control->envelope->recipient_count, 4);
	for (size_t i = 0; i < control->delivery_count; i++)
		control->deliveries[i].outcome = QUEUE_DONE;
	assert_null(remap_envelope(control));
	queue_control_free(control);
}

static void a_delay_that_was_told_is_known(void **state)
{
	static const struct line before[] = {{1, 2, QUEUE_WAIT, NULL, "a@d.example"},
					     {1, 3, QUEUE_WAIT, NULL, "b@d.example"},
					     {0, 0, 0, NULL, NULL}};
	static const struct line answer[] = {{1, 1, QUEUE_PENDING, NULL, "c@d.example"},
					     {0, 0, 0, NULL, NULL}};
	struct queue_control *control = control_of(1, before);
	struct queue_control *fresh = control_of(1, answer);
	struct remap remap;

	(void)state;
	control->deliveries[1].delayed_us = 17;
	remap = remap_merge(control, fresh->deliveries, 1, NOW_US);
	assert_int_equal(remap.count, 1);
	assert_int_equal(remap.deliveries[0].delayed_us, 17);
	queue_control_free(control);
	queue_control_free(fresh);
}

/* With what is decided already it would be more than a control file holds. */
static void what_becomes_too_much_stays(void **state)
{
	static const struct line before[] = {{1, 2, QUEUE_DONE, NULL, "a@d.example"},
					     {1, 3, QUEUE_WAIT, NULL, "b@d.example"},
					     {0, 0, 0, NULL, NULL}};
	struct queue_control *control = control_of(1, before);
	struct queue_delivery *fresh =
		arena_alloc(control->envelope->arena, MAPPING_DELIVERIES_MAX * sizeof *fresh);
	struct remap remap;

	(void)state;
	for (uint32_t i = 0; i < MAPPING_DELIVERIES_MAX; i++)
		fresh[i] = (struct queue_delivery){
			.recipient = 1, .route = QUEUE_ROUTE_REMOTE, .address = STR("n@d.example")};
	remap = remap_merge(control, fresh, MAPPING_DELIVERIES_MAX, NOW_US);
	assert_int_equal(remap.count, 2);
	assert_true(str_equal(remap.deliveries[1].address, STR("b@d.example")));
	assert_false(remap.deliveries[1].is_requeued);
	remap = remap_merge(control, fresh, MAPPING_DELIVERIES_MAX - 1, NOW_US);
	assert_int_equal(remap.count, MAPPING_DELIVERIES_MAX);
	queue_control_free(control);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_decided_stays),
		cmocka_unit_test(a_postmasters_mail_goes_to_the_nodes),
		cmocka_unit_test(only_who_waits_is_asked_about),
		cmocka_unit_test(a_delay_that_was_told_is_known),
		cmocka_unit_test(what_becomes_too_much_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
