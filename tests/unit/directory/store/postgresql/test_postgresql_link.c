// SPDX-License-Identifier: ISC
/* A connection of the directory to PostgreSQL: how it is made, lost and made again. */
#include "link_scene.h"

/* --- connections --- */

static void a_connection_is_made_and_lost(void **state)
{
	(void)state;
	assert_false(postgresql_link_is_accepted(link));
	connect_link();
	assert_string_equal(postgresql_link_label(link), "first");
	for (int with_words = 0; with_words <= 1; with_words++) {
		played_postgresql_lose_all(with_words == 1);
		settle();
		assert_told("lost\n");
		assert_false(postgresql_link_is_accepted(link));
		/* an idle one's words are a notice for libpq */
		assert_non_null(strstr(heard_take(), "closed the connection"));
		assert_int_equal(pass(), 0); /* at once, as it was accepted */
		assert_told("connected\n");
		postgresql_link_accept(link);
		(void)heard_take();
	}
}

/* Twice as long each time, and what is wrong is logged once. */
static void nobody_is_there(void **state)
{
	static const int64_t wanted_us[] = {0, 50000, 100000, 200000, 400000, 400000};

	(void)state;
	played_postgresql_stop_listening();
	for (size_t i = 0; i < COUNT_OF(wanted_us); i++) {
		assert_int_equal(pass(), wanted_us[i]);
		assert_told("");
		assert_int_equal(
			strncmp(heard_take(), "store_refused role=read database=first ", 39) == 0,
			i == 0);
	}
	postgresql_link_hurry(link);
	assert_int_equal(pass(), 0);
	assert_int_equal(pass(), 50000);
	played_postgresql_listen_again();
	(void)pass();
	assert_told("connected\n");
	/* whoever is not pausing hurries already */
	postgresql_link_hurry(link);
	assert_int_equal(fake_timers(), 0);
	/* one that was connected, but not accepted, is as none */
	played_postgresql_lose_all(false);
	settle();
	assert_told("lost\n");
	assert_int_equal(pass(), 200000);
	assert_told("connected\n");
}

static void a_login_is_refused(void **state)
{
	(void)state;
	played_postgresql.refuses_login = "28P01";
	assert_int_equal(pass(), 0);
	assert_non_null(strstr(heard_take(), "you are refused"));
	played_postgresql.refuses_login = NULL;
	assert_int_equal(pass(), 50000);
	assert_told("connected\n");
	postgresql_link_refuse(link, "it is not\tright \n");
	assert_told("lost\n");
	assert_string_equal(heard_take(),
			    "store_refused role=read database=first reason=it is not right\n");
	assert_int_equal(pass(), 100000);
	postgresql_link_refuse(link, "it is not\tright \n");
	assert_string_equal(heard_take(), "");
	assert_int_equal(pass(), 200000);
	postgresql_link_refuse(link, NULL);
	assert_string_equal(heard_take(), "");
}

static void a_server_does_not_answer_who_connects(void **state)
{
	(void)state;
	played_postgresql.is_silent = true;
	assert_int_equal(pass(), 0);
	assert_int_equal(pass(), 2 * SECOND_US);
	assert_string_equal(heard_take(), "store_refused role=read database=first reason=no "
					  "connection within 2 seconds\n");
	played_postgresql.is_silent = false;
	settle();
}

static void the_next_database_is_tried(void **state)
{
	(void)state;
	databases.count = 3;
	postgresql_link_free(link);
	link = postgresql_link_new(NULL, &databases, "read", MAY_WAIT_US, &handler, NULL);
	played_postgresql_stop_listening();
	for (int round = 0; round < 2; round++) {
		assert_int_equal(pass(), round == 0 ? 0 : 50000);
		assert_int_equal(postgresql_link_position(link), 1);
		assert_int_equal(pass(), 0);
		assert_int_equal(postgresql_link_position(link), 2);
		assert_int_equal(pass(), 0);
		assert_int_equal(postgresql_link_position(link), 0);
	}
	played_postgresql_listen_again();
	postgresql_link_hurry(link);
	(void)heard_take();
	connect_link();
	/* after one that was lost the next one, and then all others before it waits */
	played_postgresql_lose_all(false);
	settle();
	played_postgresql_stop_listening();
	assert_told("lost\n");
	assert_int_equal(postgresql_link_position(link), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pass(), 0);
	assert_int_equal(pass(), 50000);
	played_postgresql_listen_again();
	postgresql_link_move(link, 2, NULL);
	assert_int_equal(postgresql_link_position(link), 2);
	while (told.length == 0)
		(void)pass();
	assert_told("connected\n");
	assert_string_equal(postgresql_link_label(link), "third");
}

/* --- names --- */

static void look_up_host(struct dns_servers *servers)
{
	postgresql_link_free(link);
	list[0].host = "db.example";
	link = postgresql_link_new(NULL, &databases, "read", MAY_WAIT_US, &handler, NULL);
	fake_play_timer();
	assert_told("who is db.example:5432\n");
	if (servers != NULL)
		resolved(resolved_context, servers);
	settle();
}

static void a_name_has_no_address(void **state)
{
	struct dns_servers none = {.verdict = {.text = "there is no such name"}};

	(void)state;
	look_up_host(&none);
	assert_string_equal(heard_take(), "store_refused role=read database=first reason=there is "
					  "no such name\n");
	assert_int_equal(fake_timers(), 1);
	look_up_host(NULL);
	assert_int_equal(pass(), 2 * SECOND_US);
	assert_non_null(strstr(heard_take(), "no connection within 2 seconds"));
	assert_null(resolved);
}

/* All addresses of a name are tried; there is nobody at port 1. */
static void each_address_of_a_name_is_tried(void **state)
{
	static struct dns_servers servers = {.count = 2};

	(void)state;
	list[0].values[1] = "1";
	assert_true(os_socket_address_parse("127.0.0.1", 1, &servers.list[0].address));
	assert_true(os_socket_address_parse("127.0.0.2", 1, &servers.list[1].address));
	list[0].values[0] = "db.example";
	look_up_host(&servers);
	for (int i = 0; i < 100 && fake_timers() > 0 && link->state != POSTGRESQL_LINK_WAITING; i++)
		settle();
	assert_non_null(strstr(heard_take(), "127.0.0.2"));
	assert_string_equal(list[0].values[4], "");
	list[0].host = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(a_connection_is_made_and_lost),
		LINK_TEST(nobody_is_there),
		LINK_TEST(a_login_is_refused),
		LINK_TEST(a_server_does_not_answer_who_connects),
		LINK_TEST(the_next_database_is_tried),
		LINK_TEST(a_name_has_no_address),
		LINK_TEST(each_address_of_a_name_is_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
