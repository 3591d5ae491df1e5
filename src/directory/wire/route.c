// SPDX-License-Identifier: ISC
#include "directory/wire/route.h"
#include "mail/address.h"

static const char *const POST_NAMES[] = {[DIRECTORY_POST_ANYONE] = "anyone",
					 [DIRECTORY_POST_MEMBERS] = "members",
					 [DIRECTORY_POST_OWNERS] = "owners"};

const char *directory_post_name(enum directory_post post)
{
	return POST_NAMES[post];
}

enum directory_post directory_post_find(struct str text)
{
	if (text.length == 0)
		return DIRECTORY_POST_ANYONE;
	for (unsigned i = 0; i < COUNT_OF(POST_NAMES); i++)
		if (str_equal_nocase(text, str_from(POST_NAMES[i])))
			return (enum directory_post)i;
	return DIRECTORY_POST_OWNERS;
}

static void add_word_to_route(struct buffer *out, const char *before, struct str text)
{
	buffer_append_string(out, before);
	buffer_append_str(out, text);
}

/* Where the address at the start of TEXT ends. With an unbalanced quote it is not valid, and ends
 * at a space. */
static size_t end_of_route_address(struct str text)
{
	ptrdiff_t end = mail_address_end(text);

	if (end < 0)
		end = str_find(text, ' ');
	return end >= 0 ? (size_t)end : text.length;
}

static struct str take_route_address(struct str *rest)
{
	struct str address = str_slice(rest->data, end_of_route_address(*rest));

	*rest = str_skip(*rest, address.length);
	if (rest->length > 0)
		*rest = str_skip(*rest, 1);
	return address;
}

static struct str take_route_word(struct str *rest)
{
	struct str word = STR("");

	if (!str_split(rest, ' ', &word) || rest->data == NULL)
		*rest = STR("");
	return word;
}

/* --- each kind, without its word --- */

static void write_local(const struct directory_route *route, struct buffer *out)
{
	add_word_to_route(out, " ", route->service);
	add_word_to_route(out, " ", route->address);
}

static bool read_local(struct str rest, struct directory_route *out)
{
	out->service = take_route_word(&rest);
	out->address = rest;
	return out->service.length > 0 && rest.length > 0;
}

static void write_server(const struct directory_route *route, struct buffer *out)
{
	add_word_to_route(out, " ", route->service);
	add_word_to_route(out, " ", route->server);
	add_word_to_route(out, " ", route->address);
}

static bool read_server(struct str rest, struct directory_route *out)
{
	out->service = take_route_word(&rest);
	out->server = take_route_word(&rest);
	out->address = rest;
	return out->service.length > 0 && out->server.length > 0 && rest.length > 0;
}

static void write_remote(const struct directory_route *route, struct buffer *out)
{
	add_word_to_route(out, " ", route->address);
}

static bool read_remote(struct str rest, struct directory_route *out)
{
	out->address = rest;
	return rest.length > 0;
}

static void write_list_route(const struct directory_route *route, struct buffer *out)
{
	add_word_to_route(out, " ", route->address);
	if (route->owner.length > 0)
		add_word_to_route(out, " owner ", route->owner);
	if (route->verp)
		buffer_append_string(out, " verp yes");
	if (route->post != DIRECTORY_POST_ANYONE)
		buffer_append_format(out, " post %s", directory_post_name(route->post));
}

/* Takes "NAME VALUE" off REST if it begins with NAME; else leaves REST unchanged. */
static bool take_named_route_word(struct str *rest, struct str name, struct str *value_out)
{
	struct str ahead = *rest;

	if (!str_equal(take_route_word(&ahead), name))
		return false;
	*value_out = take_route_word(&ahead);
	*rest = ahead;
	return true;
}

static bool read_list_route(struct str rest, struct directory_route *out)
{
	struct str value;

	out->address = take_route_address(&rest);
	if (out->address.length == 0 || rest.length == 0)
		return out->address.length > 0;
	if (!str_equal(take_route_word(&rest), STR("owner")))
		return false;
	out->owner = take_route_address(&rest);
	if (take_named_route_word(&rest, STR("verp"), &value)) {
		out->verp = str_equal(value, STR("yes"));
		if (!out->verp)
			return false;
	}
	if (take_named_route_word(&rest, STR("post"), &value)) {
		out->post = directory_post_find(value);
		if (value.length == 0 || out->post == DIRECTORY_POST_ANYONE ||
		    !str_equal(value, str_from(directory_post_name(out->post))))
			return false;
	}
	return out->owner.length > 0 && rest.length == 0;
}

static void write_refuse(const struct directory_route *route, struct buffer *out)
{
	bool is_readable = mail_address_end(route->address) == (ptrdiff_t)route->address.length;

	add_word_to_route(out, " ", route->status);
	add_word_to_route(out, " ", is_readable ? route->address : STR("-"));
	add_word_to_route(out, " ", route->text);
}

static bool read_refuse(struct str rest, struct directory_route *out)
{
	out->status = take_route_word(&rest);
	out->address = take_route_address(&rest);
	out->text = rest;
	return out->status.length > 0 && out->address.length + out->text.length > 0;
}

static void write_elsewhere(const struct directory_route *route, struct buffer *out)
{
	(void)route;
	(void)out;
}

static bool read_elsewhere(struct str rest, struct directory_route *out)
{
	(void)out;
	return rest.length == 0;
}

/* --- all of them --- */

static const struct {
	const char *word;
	enum directory_route_kind kind;
	void (*write)(const struct directory_route *route, struct buffer *out);
	bool (*read)(struct str rest, struct directory_route *out);
} rows[] = {
	{"local", DIRECTORY_ROUTE_LOCAL, write_local, read_local},
	{"server", DIRECTORY_ROUTE_LOCAL, write_server, read_server},
	{"remote", DIRECTORY_ROUTE_REMOTE, write_remote, read_remote},
	{"list", DIRECTORY_ROUTE_LIST, write_list_route, read_list_route},
	{"refuse", DIRECTORY_ROUTE_REFUSE, write_refuse, read_refuse},
	{"elsewhere", DIRECTORY_ROUTE_ELSEWHERE, write_elsewhere, read_elsewhere},
};

void directory_route_write(const struct directory_route *route, struct buffer *out)
{
	size_t i = 0;

	if (route->kind == DIRECTORY_ROUTE_OTHER) {
		buffer_append_str(out, route->text);
		return;
	}
	while (rows[i].kind != route->kind)
		i++;
	if (route->kind == DIRECTORY_ROUTE_LOCAL && route->server.length > 0)
		i++;
	buffer_append_string(out, rows[i].word);
	rows[i].write(route, out);
}

struct directory_route directory_route_read(struct str text)
{
	struct str rest = text;
	struct str word = take_route_word(&rest);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct directory_route route = {.kind = rows[i].kind};

		if (str_equal(word, str_from(rows[i].word)) && rows[i].read(rest, &route))
			return route;
	}
	return (struct directory_route){.kind = DIRECTORY_ROUTE_OTHER, .text = text};
}

bool directory_route_is_negative(const struct directory_route *route)
{
	return route->kind == DIRECTORY_ROUTE_ELSEWHERE ||
	       (route->kind == DIRECTORY_ROUTE_REFUSE && str_starts_with(route->status, STR("5")));
}
