// SPDX-License-Identifier: ISC
/* confine/conninfo.h beside libpq's own parser: what that would use, a sandbox has to
 * allow; and of what it certainly does not use, no more than stands in the text is allowed. */
#include "base/attributes.h"
#include "base/buffer.h"
#include "confine/conninfo.h"
#include "test.h"
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

enum { STRINGS = 200000, PIECES_MAX = 14, USED_MIN = STRINGS / 20 };

/* Pieces of both forms: random strings of them are valid often enough. */
static const char *const pieces[] = {
	"host=",
	"hostaddr=",
	"sslcert=",
	"sslkey=",
	"sslrootcert=",
	"sslcrl=",
	"passfile=",
	"user=",
	"password=",
	"dbname=",
	"port=5432",
	"target=x",
	" ",
	" ",
	"\t",
	"\n",
	" = ",
	"'",
	"'",
	"\\",
	"\\'",
	"\\\\",
	"/etc/pass",
	"/run/postgresql",
	"@abstract",
	"db1",
	"192.0.2.1",
	"::1",
	",",
	":",
	"mail",
	"''",
	"%2F",
	"%73slkey=",
	"%20",
	"%zz",
	"%2",
	"%00",
	"?",
	"&",
	"=",
	"@",
	"/",
	"[2001:db8::1]",
	"u",
	"u:p@",
	"u:p?x@",
	"db1:5432",
	"relative",
	"a'b",
	"system",
	"\r",
	"\v",
};

static uint64_t state = 88172645463325252;

static size_t below(size_t bound)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % bound;
}

static void write_text(struct buffer *out)
{
	static const char *const begins[] = {"",
					     "",
					     "host=db1 ",
					     "postgresql://",
					     "postgres://",
					     "postgresql://db1/mail?",
					     "postgres://u:p@db1:5432,/mail?sslkey="};
	size_t count = 1 + below(PIECES_MAX);

	buffer_reset(out);
	buffer_append_string(out, begins[below(COUNT_OF(begins))]);
	for (size_t i = 0; i < count; i++)
		buffer_append_string(out, pieces[below(COUNT_OF(pieces))]);
	buffer_append_byte(out, '\0');
}

static const char *value_of(const PQconninfoOption *options, const char *name)
{
	for (; options->keyword != NULL; options++)
		if (strcmp(options->keyword, name) == 0)
			return options->val != NULL ? options->val : "";
	fail_msg("libpq has no %s", name);
	return "";
}

struct search {
	const char *path;
	bool is_found;
};

static void compare(void *context, struct str path)
{
	struct search *search = context;

	search->is_found |= str_equal(path, str_from(search->path));
}

static void check_files(const char *text, const PQconninfoOption *options)
{
	static const char *const names[] = {"sslcert", "sslkey", "sslrootcert", "sslcrl",
					    "passfile"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct search search = {.path = value_of(options, names[i])};

		if (search.path[0] != '/')
			continue;
		conninfo_files(text, compare, &search);
		if (!search.is_found)
			fail_msg("of \"%s\" libpq uses %s=%s", text, names[i], search.path);
	}
}

/* A host that is none, the path of a socket's directory, or an abstract name, among those that
 * libpq tries: an address goes before its host. */
static bool is_local(const PQconninfoOption *options)
{
	const char *hosts = value_of(options, "host");
	const char *piece = hosts[0] != '\0' ? hosts : value_of(options, "hostaddr");

	for (;; piece = strchr(piece, ',') + 1) {
		if (strchr(",/@", piece[0]) != NULL) /* '\0', too */
			return true;
		if (strchr(piece, ',') == NULL)
			return false;
	}
}

static void check_places(const char *text, const PQconninfoOption *options)
{
	if (conninfo_may_be_local(text) != is_local(options))
		fail_msg("\"%s\" is %s for libpq", text, is_local(options) ? "local" : "remote");
}

static void what_libpq_uses_is_found(void **context)
{
	struct buffer text = {0};
	size_t used = 0;

	(void)context;
	for (size_t i = 0; i < STRINGS; i++) {
		PQconninfoOption *options;
		char *reason = NULL;

		write_text(&text);
		options = PQconninfoParse(buffer_data(&text), &reason);
		if (options != NULL) {
			check_files(buffer_data(&text), options);
			check_places(buffer_data(&text), options);
			used++;
		}
		PQconninfoFree(options);
		PQfreemem(reason);
	}
	buffer_clear(&text);
	print_message("libpq takes %zu of %d strings\n", used, STRINGS);
	assert_true(used > USED_MIN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(what_libpq_uses_is_found)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
