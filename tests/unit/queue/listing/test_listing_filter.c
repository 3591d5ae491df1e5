// SPDX-License-Identifier: ISC
/* Which messages pass a filter: filters by chance, against plain rules over what was put into the
 * queue. */
#include "chance.h"
#include "listing_scene.h"
#include "queue/listing/listing.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { FILTERS = 2000 };

static bool is_seen[LISTING_SCENE_MESSAGES];

/* --- the rules --- */

/* WORD is one of the words of LIST, which a space parts. */
static bool has_word(const char *list, struct str word)
{
	struct str rest = str_from(list);
	struct str one;

	while (str_split(&rest, ' ', &one))
		if (str_equal_nocase(one, word))
			return true;
	return false;
}

static bool has_domain(const char *list, struct str domain)
{
	struct str rest = str_from(list);
	struct str one;

	while (str_split(&rest, ' ', &one))
		if (one.length > 0 &&
		    str_equal_nocase(str_skip(one, (size_t)str_find(one, '@') + 1), domain))
			return true;
	return false;
}

static bool has_trigger(size_t i, struct str trigger)
{
	char hold[MAIL_ID_SIZE + 8];
	char id[MAIL_ID_SIZE];

	mail_id_format((struct mail_id){listing_scene_numbers[i], listing_scene_born(i)}, id);
	snprintf(hold, sizeof hold, "hold.%s", id);
	return has_word(listing_scene_messages[i].triggers, trigger) ||
	       (listing_scene_messages[i].hold > 0 && str_equal(trigger, str_from(hold))) ||
	       (listing_scene_messages[i].hold == 2 && str_equal(trigger, STR("maint")));
}

static bool has_reason(size_t i, struct str reason)
{
	char lower[64];

	snprintf(lower, sizeof lower, STR_FORMAT, STR_ARGUMENTS(reason));
	str_lower(lower, strlen(lower));
	return strstr(listing_scene_messages[i].reasons, lower) != NULL ||
	       has_word(listing_scene_messages[i].status, reason);
}

static const char *network_of; /* the clients that the filter's network has */

static bool passes(const struct listing_filter *filter, size_t i)
{
	const struct listing_scene_message *m = &listing_scene_messages[i];

	if (filter->is_from_null ? m->sender[0] != '\0'
				 : filter->sender.length > 0 &&
					   !str_equal_nocase(filter->sender, str_from(m->sender)))
		return false;
	if ((filter->recipient.length > 0 || filter->domain.length > 0) &&
	    !((filter->recipient.length == 0 || has_word(m->addresses, filter->recipient)) &&
	      (filter->domain.length == 0 || has_domain(m->addresses, filter->domain))))
		return false;
	if (filter->has_stage && (m->control != NULL || m->stage != filter->stage))
		return false;
	if (filter->transport.length > 0 && !has_word(m->transports, filter->transport))
		return false;
	if (filter->trigger.length > 0 && !has_trigger(i, filter->trigger))
		return false;
	if (filter->reason.length > 0 && !has_reason(i, filter->reason))
		return false;
	if (filter->is_held && m->hold <= 0)
		return false;
	if (filter->born_before_us != 0 && listing_scene_born(i) >= filter->born_before_us)
		return false;
	if (filter->born_after_us != 0 && listing_scene_born(i) <= filter->born_after_us)
		return false;
	if (filter->left_out_since_us != 0 && listing_scene_born(i) >= filter->left_out_since_us)
		return false;
	if (filter->user.length > 0 && !str_equal_nocase(filter->user, str_from(m->user)))
		return false;
	if (filter->has_client &&
	    (m->client[0] == '\0' || !has_word(network_of, str_from(m->client))))
		return false;
	return !filter->is_of_one_user || (m->uid >= 0 && (unsigned long)m->uid == filter->uid);
}

/* --- filters --- */

static const char *one_of(const char *const *texts, size_t count)
{
	return chance(4) > 0 ? "" : texts[chance(count)];
}

/* Of both an address and a domain only such as are of one address. */
static void choose_addresses(struct listing_filter *filter)
{
	static const char *const addresses[] = {"A@a.test", "b@b.test", "d@d.test",
						"f@f.test", "a@a",      "z@a.test"};
	static const char *const domains[] = {"A.test", "b.test", "c.test",
					      "d.test", "test",   "f.test"};

	if (chance(2) == 0)
		filter->recipient = str_from(one_of(addresses, COUNT_OF(addresses)));
	else
		filter->domain = str_from(one_of(domains, COUNT_OF(domains)));
}

static void choose_network(struct listing_filter *filter)
{
	static const struct {
		const char *mask, *clients;
	} networks[] = {{"192.0.2.0/29", "192.0.2.7"},
			{"192.0.2.7", "192.0.2.7"},
			{"192.0.2.8/30", "192.0.2.8 192.0.2.9 192.0.2.10"},
			{"2001:db8::/32", "2001:db8::7"},
			{"203.0.113.0/24", ""}};
	size_t n = chance(COUNT_OF(networks));

	if (chance(4) > 0)
		return;
	filter->has_client = true;
	network_of = networks[n].clients;
	assert_null(config_network_parse(NULL, str_from(networks[n].mask), &filter->client));
}

static struct listing_filter choose_filter(char hold[MAIL_ID_SIZE + 8])
{
	static const char *const senders[] = {"s@X.test", "t@x.test", "@x.test", "z@x.test"};
	static const char *const transports[] = {"remote", "box", "boxes", "list"};
	static const char *const triggers[] = {"service.box", "host.mx", "maint", "host.m",
					       "service.box.srv.test"};
	static const char *const reasons[] = {"NOT re",    "greylisted", "4.4.1", "4.7.1",
					      "reached\n", "b",          "5.1.1", "kept"};
	static const char *const users[] = {"ANN", "bob", "root", "an"};
	struct listing_filter filter = {.sender = str_from(one_of(senders, COUNT_OF(senders))),
					.transport =
						str_from(one_of(transports, COUNT_OF(transports))),
					.trigger = str_from(one_of(triggers, COUNT_OF(triggers))),
					.reason = str_from(one_of(reasons, COUNT_OF(reasons))),
					.user = str_from(one_of(users, COUNT_OF(users)))};
	size_t held = chance(LISTING_SCENE_MESSAGES);
	char id[MAIL_ID_SIZE];

	choose_addresses(&filter);
	choose_network(&filter);
	filter.is_from_null = chance(8) == 0;
	filter.has_stage = chance(6) == 0;
	filter.stage = chance(2) == 0 ? MAIL_STAGE_SUBMIT : MAIL_STAGE_ARRIVE;
	filter.is_held = chance(6) == 0;
	filter.born_before_us =
		chance(4) == 0 ? listing_scene_born(chance(LISTING_SCENE_MESSAGES)) : 0;
	filter.born_after_us =
		chance(4) == 0 ? listing_scene_born(chance(LISTING_SCENE_MESSAGES)) : 0;
	filter.left_out_since_us =
		chance(6) == 0 ? listing_scene_born(chance(LISTING_SCENE_MESSAGES)) : 0;
	filter.is_of_one_user = chance(6) == 0;
	filter.uid = chance(2) == 0 ? 7 : 0;
	if (chance(8) == 0) {
		mail_id_format(
			(struct mail_id){listing_scene_numbers[held], listing_scene_born(held)},
			id);
		snprintf(hold, MAIL_ID_SIZE + 8, "hold.%s", id);
		filter.trigger = str_from(hold);
	}
	return filter;
}

static int see(void *context, const struct listing_entry *entry)
{
	size_t i = 0;

	(void)context;
	while (listing_scene_numbers[i] != entry->number)
		i++;
	assert_false(is_seen[i]);
	is_seen[i] = true;
	assert_int_equal(entry->is_held, listing_scene_messages[i].hold > 0);
	assert_true(str_equal(entry->held_until,
			      listing_scene_messages[i].hold == 2 ? STR("maint") : STR("")));
	assert_int_equal(entry->is_preprocessed, listing_scene_messages[i].control != NULL);
	if (!entry->is_preprocessed)
		assert_int_equal(entry->stage, listing_scene_messages[i].stage);
	return 0;
}

static void filters_are_as_their_rules(void **state)
{
	(void)state;
	for (unsigned n = 0; n < FILTERS; n++) {
		char hold[MAIL_ID_SIZE + 8];
		struct listing_filter filter = choose_filter(hold);

		memset(is_seen, 0, sizeof is_seen);
		assert_int_equal(listing_each(listing_scene_store, &filter, see, NULL), 0);
		for (size_t i = 0; i < LISTING_SCENE_MESSAGES; i++)
			assert_int_equal(is_seen[i], passes(&filter, i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_are_as_their_rules),
	};

	return cmocka_run_group_tests(tests, listing_scene_open, listing_scene_close);
}
