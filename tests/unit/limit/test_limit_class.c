// SPDX-License-Identifier: ISC
/* In which class a host is. */
#include "limit/class.h"
#include "unit/config/config_outcome.h"
#include <arpa/inet.h>

#define CLASS(mask) "class \"" mask "\" { queue = 2 refuse = 1 }\n"

static const char text[] = HOST CLASS("mx.customer.example") CLASS("*.insa-lyon.example")
	CLASS("10.1.0.0/16") CLASS("192.0.2.7") CLASS("*.univ.example") CLASS("2001:db8::/32")
		CLASS("::/0") CLASS("*");

static struct limit_classes *classes_of(const char *from)
{
	struct config *config = config_of(from);
	struct limit_classes *classes = limit_classes_new(config);

	config_free(config);
	return classes;
}

static struct in6_addr address_of(const char *literal)
{
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, literal, &address), 1);
	return address;
}

static void the_first_class_with_the_host_applies(void **state)
{
	static const struct {
		const char *name;
		const char *address;
		const char *mask;
		bool needs_name;
	} cases[] = {
		{"mx.customer.example", "::ffff:192.0.2.1", "mx.customer.example", true},
		{"MX.Customer.Example", "::ffff:192.0.2.1", "mx.customer.example", true},
		{"mx.customer.example.", "::ffff:192.0.2.1", "mx.customer.example", true},
		{"a.mx.customer.example", "::ffff:192.0.2.1", "*", true},
		{"xmx.customer.example", "::ffff:192.0.2.1", "*", true},
		{"insa-lyon.example", "::ffff:192.0.2.1", "*.insa-lyon.example", true},
		{"grasp.insa-lyon.example", "::ffff:192.0.2.1", "*.insa-lyon.example", true},
		{"a.b.insa-lyon.example", "::ffff:10.1.2.3", "*.insa-lyon.example", true},
		{"notinsa-lyon.example", "::ffff:192.0.2.1", "*", true},
		{".insa-lyon.example", "::ffff:192.0.2.1", "*.insa-lyon.example", true},
		{"insa-lyon.example.evil.example", "::ffff:192.0.2.1", "*", true},
		{"", "::ffff:10.1.0.0", "10.1.0.0/16", true},
		{"", "::ffff:10.1.255.255", "10.1.0.0/16", true},
		{"", "::ffff:10.2.0.0", "*", true},
		{"a.univ.example", "::ffff:10.1.2.3", "10.1.0.0/16", true},
		{"a.univ.example", "::ffff:192.0.2.7", "192.0.2.7/32", true},
		{"a.univ.example", "::ffff:192.0.2.6", "*.univ.example", true},
		{"", "2001:db8:1::1", "2001:db8::/32", true},
		{"", "2001:db9:1::1", "::/0", true},
		{"", "::ffff:203.0.113.1", "*", true},
	};
	struct limit_classes *classes = classes_of(text);

	(void)state;
	assert_int_equal(limit_classes_count(classes), 8);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct in6_addr address = address_of(cases[i].address);
		size_t found = limit_classes_find(classes, str_from(cases[i].name), &address);

		assert_string_equal(limit_classes_at(classes, found)->mask, cases[i].mask);
		assert_int_equal(limit_classes_need_name(classes, &address), cases[i].needs_name);
	}
	limit_classes_free(classes);
}

static void a_name_is_needed_only_if_it_can_matter(void **state)
{
	static const struct {
		const char *address;
		bool needs_name;
	} cases[] = {{"::ffff:10.1.2.3", false}, {"::ffff:192.0.2.7", true}, {"2001:db8::1", true}};
	struct limit_classes *classes = classes_of(HOST CLASS("10.0.0.0/8") CLASS("*.d.example")
							   CLASS("192.0.2.7") CLASS("*"));
	struct limit_classes *plain = classes_of(HOST CLASS("192.0.2.7") CLASS("*"));

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct in6_addr address = address_of(cases[i].address);

		assert_int_equal(limit_classes_need_name(classes, &address), cases[i].needs_name);
		assert_false(limit_classes_need_name(plain, &address));
	}
	limit_classes_free(classes);
	limit_classes_free(plain);
}

static void a_class_has_its_limits_and_a_key_by_its_mask(void **state)
{
	struct limit_classes *one =
		classes_of(HOST "class \"*.A.example\" { queue = 8 refuse = 3 }\n"
				"class \"*\" { queue = 15 refuse = 16 count = all }");
	struct limit_classes *other =
		classes_of(HOST CLASS("192.0.2.0/24") CLASS("*.a.example") CLASS("*"));

	(void)state;
	assert_int_equal(limit_classes_at(one, 0)->queue, 8);
	assert_int_equal(limit_classes_at(one, 0)->refuse, 3);
	assert_false(limit_classes_at(one, 0)->counts_idle);
	assert_true(limit_classes_at(one, 1)->counts_idle);
	assert_true(limit_classes_at(one, 0)->key == limit_classes_at(other, 1)->key);
	assert_true(limit_classes_at(one, 1)->key == limit_classes_at(other, 2)->key);
	assert_true(limit_classes_at(other, 0)->key != limit_classes_at(other, 1)->key);
	assert_true(limit_classes_at(other, 0)->key != 0);
	limit_classes_free(one);
	limit_classes_free(other);
}

static void without_classes_there_is_nothing(void **state)
{
	(void)state;
	assert_null(classes_of(HOST));
	assert_int_equal(limit_classes_count(NULL), 0);
	limit_classes_free(NULL);
}

/* No two masks have the same one, and all are those of a trigger's file. */
static void each_class_has_a_trigger(void **state)
{
	static const char long_name[] =
		"a23456789.a23456789.a23456789.a23456789.a23456789.a23456789."
		"a23456789.a23456789.a23456789.a23456789.a23456789.a23456789."
		"a23456789.a23456789.a23456789.a23456789.a23456789.a23456789."
		"a23456789.a23456789";
	static const char *const cases[][2] = {
		{"*", "class.[any]"},
		{"*.a.test", "class.[any].a.test"},
		{"a.test", "class.a.test"},
		{"192.0.2.0/24", "class.192.0.2.0_24"},
		{"2001:db8::/32", "class.2001:db8::_32"},
		{long_name, "class.00000000000000ff"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct limit_class class = {.mask = cases[i][0], .key = 255};
		char trigger[LIMIT_TRIGGER_SIZE];

		limit_class_trigger(&class, trigger);
		assert_string_equal(trigger, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_class_has_a_trigger),
		cmocka_unit_test(the_first_class_with_the_host_applies),
		cmocka_unit_test(a_name_is_needed_only_if_it_can_matter),
		cmocka_unit_test(a_class_has_its_limits_and_a_key_by_its_mask),
		cmocka_unit_test(without_classes_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
