// SPDX-License-Identifier: ISC
/*
 * tests/e2e/programs/ldap_store.c - a store that follows LDAP servers, driven by lines
 * (store_lines.h).
 *
 *   ldap_store NAME=VALUE...
 *
 * with the settings path, url (any number), base, bind_dn, password_file, authority, map (any
 * number) and ttl, in milliseconds.
 */
#include "base/panic.h"
#include "directory/store/ldap/ldap.h"
#include "log/event.h"
#include "store_lines.h"
#include <stdio.h>
#include <stdlib.h>

enum { LIST_MAX = 32 };

static const char *urls[LIST_MAX];
static const char *map[LIST_MAX];
static struct store_ldap_settings settings = {.urls = urls, .map = map, .ttl_us = 3600000000};

static const struct {
	const char *name;
	const char **place;
} names[] = {
	{"path", &settings.path},           {"base", &settings.base},
	{"bind_dn", &settings.bind_dn},     {"password_file", &settings.password_file},
	{"authority", &settings.authority},
};

static void take(struct str name, struct str value)
{
	uint64_t ttl_ms;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (str_equal(name, str_from(names[i].name))) {
			*names[i].place = value.data;
			return;
		}
	}
	if (str_equal(name, STR("url")) && settings.url_count < LIST_MAX)
		urls[settings.url_count++] = value.data;
	else if (str_equal(name, STR("map")) && settings.map_count < LIST_MAX)
		map[settings.map_count++] = value.data;
	else if (str_equal(name, STR("ttl")) && str_to_u64(value, &ttl_ms))
		settings.ttl_us = (int64_t)ttl_ms * 1000;
	else
		panic("what is " STR_FORMAT "?", STR_ARGUMENTS(name));
}

int main(int argc, char **argv)
{
	struct os_loop *loop = os_loop_new();
	struct buffer why = {0};
	struct directory_store *store;

	for (int i = 1; i < argc; i++) {
		struct str value = str_from(argv[i]);
		struct str name;

		(void)str_split(&value, '=', &name);
		take(name, value);
	}
	log_open("store", LOG_INFO_LEVEL);
	os_loop_set_idle(loop, log_flush);
	if (store_ldap_new(loop, &settings, &store, &why) < 0 || store_ldap_open(store, &why) < 0) {
		fprintf(stderr, STR_FORMAT "\n", STR_ARGUMENTS(buffer_view(&why)));
		return EXIT_FAILURE;
	}
	store_lines_run(loop, store, NULL);
	os_loop_free(loop);
	return EXIT_SUCCESS;
}
