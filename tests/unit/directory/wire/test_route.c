// SPDX-License-Identifier: ISC
#include "chance.h"
#include "directory/wire/route.h"
#include "test.h"

static const char *const words[] = {"maildir", "4.3.5", "h.example:24", "-", "5.1.1"};
static const char *const addresses[] = {"a@d.example", "\"a b\"@d.example",
					"\"a \\\" b\"@d.example", "postmaster",
					"jos\xc3\xa9@d.example"};
static const char *const texts[] = {"", "No such user here", "no \"bob\", \"ann", "a@d owner b@d",
				    " two  spaces "};

static struct str any(const char *const *list, size_t count)
{
	return str_from(list[chance(count)]);
}

static struct directory_route any_route(void)
{
	struct directory_route route = {.kind = (enum directory_route_kind)(chance(5))};

	if (route.kind != DIRECTORY_ROUTE_ELSEWHERE)
		route.address = any(addresses, COUNT_OF(addresses));
	if (route.kind == DIRECTORY_ROUTE_LOCAL) {
		route.service = any(words, COUNT_OF(words));
		if (chance(2) == 0)
			route.server = any(words, COUNT_OF(words));
	} else if (route.kind == DIRECTORY_ROUTE_LIST) {
		route.owner = any(addresses, COUNT_OF(addresses));
		route.verp = chance(2) == 0;
		route.post = (enum directory_post)(chance(3));
	} else if (route.kind == DIRECTORY_ROUTE_REFUSE) {
		route.status = any(words, COUNT_OF(words));
		route.text = any(texts, COUNT_OF(texts));
	}
	return route;
}

static void check_equal(const struct directory_route *one, const struct directory_route *other)
{
	assert_int_equal(one->kind, other->kind);
	assert_true(str_equal(one->address, other->address));
	assert_true(str_equal(one->service, other->service));
	assert_true(str_equal(one->server, other->server));
	assert_true(str_equal(one->owner, other->owner));
	assert_true(str_equal(one->status, other->status));
	assert_true(str_equal(one->text, other->text));
	assert_int_equal(one->verp, other->verp);
	assert_int_equal(one->post, other->post);
}

static void what_is_written_is_read(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		struct directory_route route = any_route();
		struct buffer text CLEANUP(buffer_clear) = {0};
		struct directory_route read;

		directory_route_write(&route, &text);
		read = directory_route_read(buffer_view(&text));
		check_equal(&route, &read);
	}
}

static void what_is_none_is_passed_on(void **state)
{
	static const char *const none[] = {"",
					   "hologram x",
					   "local",
					   "local maildir",
					   "server maildir h:1",
					   "remote",
					   "list",
					   "list a@d of b@d",
					   "list a@d owner",
					   "list a@d owner b@d verp no",
					   "list a@d owner b@d post",
					   "list a@d owner b@d post all",
					   "list a@d owner b@d post anyone",
					   "list a@d owner b@d post Members",
					   "list a@d owner b@d post members verp yes",
					   "list a@d owner b@d verp yes post members x",
					   "list a@d owner b@d archive yes",
					   "refuse",
					   "elsewhere x"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(none); i++) {
		struct directory_route route = directory_route_read(str_from(none[i]));
		struct buffer text CLEANUP(buffer_clear) = {0};

		assert_int_equal(route.kind, DIRECTORY_ROUTE_OTHER);
		directory_route_write(&route, &text);
		assert_true(str_equal(buffer_view(&text), str_from(none[i])));
	}
}

/* What was asked for may be anything. */
static void a_refused_address_may_be_none(void **state)
{
	static const char *const none[] = {"a b@d.example", "\"a@d.example", "\" a\"b\"@d"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(none); i++) {
		struct directory_route route = {.kind = DIRECTORY_ROUTE_REFUSE,
						.address = str_from(none[i]),
						.status = STR("5.1.3"),
						.text = STR("no \"address\" it is")};
		struct buffer text CLEANUP(buffer_clear) = {0};

		directory_route_write(&route, &text);
		assert_true(
			str_equal(buffer_view(&text), STR("refuse 5.1.3 - no \"address\" it is")));
	}
}

static void check_negative(const char *text, bool is_negative)
{
	struct directory_route route = directory_route_read(str_from(text));

	assert_int_equal(directory_route_is_negative(&route), is_negative);
}

static void what_refuses_for_good(void **state)
{
	(void)state;
	check_negative("refuse 5.1.1 a@d.example no", true);
	check_negative("elsewhere", true);
	check_negative("refuse 4.3.5 a@d.example no", false);
	check_negative("local maildir a@d.example", false);
	check_negative("5 refuse", false);
}

/* Somebody meant to keep others out. */
static void what_is_no_word_keeps_all_out_but_owners(void **state)
{
	(void)state;
	assert_int_equal(directory_post_find(STR("")), DIRECTORY_POST_ANYONE);
	assert_int_equal(directory_post_find(STR("Anyone")), DIRECTORY_POST_ANYONE);
	assert_int_equal(directory_post_find(STR("members")), DIRECTORY_POST_MEMBERS);
	assert_int_equal(directory_post_find(STR("owners")), DIRECTORY_POST_OWNERS);
	assert_int_equal(directory_post_find(STR("staff")), DIRECTORY_POST_OWNERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_is_none_is_passed_on),
		cmocka_unit_test(a_refused_address_may_be_none),
		cmocka_unit_test(what_refuses_for_good),
		cmocka_unit_test(what_is_no_word_keeps_all_out_but_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
