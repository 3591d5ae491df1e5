// SPDX-License-Identifier: ISC
/* Which triggers a helper may name, by what it works for: nobody blocks mail of others. */
#include "scene.h"
#include "unit/test.h"
#include <stdio.h>
#include <string.h>

static const struct kind {
	const char *address;
	enum config_service_kind kind; /* of the service "extra" */
	char letter;                   /* in who may name it */
} kinds[] = {
	{"r@fast.example", CONFIG_SERVICE_LMTP, 'r'},
	{"r@list.example", CONFIG_SERVICE_LMTP, 'l'},
	{"r@extra.example", CONFIG_SERVICE_LMTP, 't'},
	{"r@extra.example", CONFIG_SERVICE_MAILBOX, 'm'},
	{"r@extra.example", CONFIG_SERVICE_IMAP, 'i'},
	{"r@extra.example", CONFIG_SERVICE_PIPE, 'p'},
	{"r@extra.example", CONFIG_SERVICE_MAILDIR, 'd'},
	{"r@extra.example", CONFIG_SERVICE_MBOX, 'b'},
};

static const struct {
	const char *trigger;
	const char *who; /* may name it */
} triggers[] = {
	{"", "rltmipdb"},
	{"host.mx.example", "r"},
	{"host.a", "r"},
	{"hos.a", ""},
	{"directory", "l"},
	{"directory.x", ""},
	{"service.extra", "tmi"},
	{"service.extra.there", ""},
	{"service.extr", ""},
	{"service.extraa", ""},
	{"service.local", ""},
	{"service.remote", ""},
	{"pipe.extra.x", "p"},
	{"pipe.extra.x.y", "p"},
	{"pipe.extra.", ""},
	{"pipe.extra", ""},
	{"pipe.extrax", ""},
	{"pipe.extrax.y", ""},
	{"pipe.extr.y", ""},
	{"pipe.local.y", ""},
	{"class.192.0.2.0-24", ""},
	{"hold.100-1", ""},
	{"an.event", ""},
};

/* The trigger that is named is set, and released again; or its helper is lost, and nothing is set.
 */
static void name_trigger(const struct kind *kind, const char *trigger, bool may)
{
	struct model_message *m;

	m = scene_mail(kind->address);
	assert_true(scene_is_tried(m, 1));
	model_say(m, 1, "4.4.1", trigger);
	scene_work();
	if (*trigger != '\0')
		assert_int_equal(model_has_trigger(trigger), may);
	assert_false(scene_is_tried(m, 1));
	if (!may)
		model_connect_helpers(); /* it was lost */
	if (may && *trigger != '\0') {
		char order[64];

		assert_true(scene_waits(m));
		snprintf(order, sizeof order, "trigger %s", trigger);
		assert_string_equal(model_give_order(order), "ok");
	}
	scene_pass(2 * HOUR_US);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	assert_false(m->is_present);
	if (*trigger != '\0')
		assert_false(model_has_trigger(trigger));
}

static void each_names_what_it_works_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct config_service services[2];

		scene_begin(true);
		memcpy(services, scene_config.services, sizeof services);
		services[1].kind = kinds[i].kind;
		scene_config.services = services;
		scene_configure();
		for (size_t j = 0; j < COUNT_OF(triggers); j++) {
			print_message("%s %c\n", triggers[j].trigger, kinds[i].letter);
			name_trigger(&kinds[i], triggers[j].trigger,
				     strchr(triggers[j].who, kinds[i].letter) != NULL);
		}
		scene_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_names_what_it_works_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
