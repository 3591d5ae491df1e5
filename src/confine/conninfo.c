// SPDX-License-Identifier: ISC
#include "confine/conninfo.h"
#include "base/attributes.h"
#include "base/buffer.h"
#include "os/socket/address.h"
#include <stdio.h>
#include <string.h>

static const char *const conninfo_names[] = {"sslcert", "sslkey", "sslrootcert", "sslcrl",
					     "passfile"};

static bool is_file(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(conninfo_names); i++)
		if (str_equal(name, str_from(conninfo_names[i])))
			return true;
	return false;
}

/* Called for each parameter with a value: VALUE is valid during the call. */
struct reader {
	void (*take)(struct reader *reader, struct str name, struct str value);
	void (*found)(void *context, struct str path);
	void *context;
	struct buffer hosts; /* separated by commas, like the next ones */
	struct buffer addresses;
};

/* ---- NAME=VALUE 'a quoted \' value' ---- */

static bool is_conninfo_space(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static void skip_conninfo_spaces(struct str *text)
{
	while (text->length > 0 && is_conninfo_space(text->data[0]))
		*text = str_skip(*text, 1);
}

static struct str take_conninfo_name(struct str *text)
{
	size_t length = 0;
	struct str name;

	while (length < text->length && text->data[length] != '=' &&
	       !is_conninfo_space(text->data[length]))
		length++;
	name = str_slice(text->data, length);
	*text = str_skip(*text, length);
	skip_conninfo_spaces(text);
	return name;
}

static void take_conninfo_value(struct str *text, struct buffer *value)
{
	bool is_quoted = text->length > 0 && text->data[0] == '\'';

	if (is_quoted)
		*text = str_skip(*text, 1);
	while (text->length > 0) {
		char byte = text->data[0];

		*text = str_skip(*text, 1);
		if (is_quoted ? byte == '\'' : is_conninfo_space(byte))
			return;
		if (byte == '\\' && text->length == 0)
			return;
		if (byte == '\\') {
			byte = text->data[0];
			*text = str_skip(*text, 1);
		}
		buffer_append_byte(value, byte);
	}
}

static void read_pairs(struct reader *reader, struct str text)
{
	for (skip_conninfo_spaces(&text); text.length > 0; skip_conninfo_spaces(&text)) {
		struct str name = take_conninfo_name(&text);
		struct buffer value = {0};

		if (text.length == 0 || text.data[0] != '=')
			return;
		text = str_skip(text, 1);
		skip_conninfo_spaces(&text);
		take_conninfo_value(&text, &value);
		reader->take(reader, name, buffer_view(&value));
		buffer_clear(&value);
	}
}

/* ---- postgresql://...?NAME=VALUE&NAME=VALUE ---- */

static void decode_percent_escapes(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		uint64_t code;

		if (text.data[i] == '%' && i + 2 < text.length &&
		    str_to_u64_hex(str_slice(text.data + i + 1, 2), &code)) {
			buffer_append_byte(out, (char)code);
			i += 2;
		} else {
			buffer_append_byte(out, text.data[i]);
		}
	}
}

static void read_query(struct reader *reader, struct str text)
{
	struct str pair;

	while (str_split(&text, '&', &pair)) {
		struct str word;
		struct buffer name = {0};
		struct buffer value = {0};

		(void)str_split(&pair, '=', &word);
		decode_percent_escapes(word, &name);
		decode_percent_escapes(pair, &value);
		reader->take(reader, buffer_view(&name), buffer_view(&value));
		buffer_clear(&name);
		buffer_clear(&value);
	}
}

/* Takes what is before the first of ENDS, or all. */
static struct str take_text_until(struct str *text, const char *ends)
{
	size_t length = 0;
	struct str taken;

	while (length < text->length && strchr(ends, text->data[length]) == NULL)
		length++;
	taken = str_slice(text->data, length);
	*text = str_skip(*text, length);
	return taken;
}

static bool begins_with_byte(struct str text, char byte)
{
	return text.length > 0 && text.data[0] == byte;
}

/* The hosts of "USER:PASSWORD@HOST:PORT,[ADDRESS]:PORT/...", where libpq finds them: the user and
 * the password end at the first '@', unless there is a '/' before it. */
static void read_authority(struct reader *reader, struct str *text)
{
	struct str rest = *text;

	(void)take_text_until(&rest, "@/");
	if (begins_with_byte(rest, '@'))
		*text = str_skip(rest, 1);
	for (;;) {
		bool has_brackets = begins_with_byte(*text, '[');

		*text = str_skip(*text, has_brackets ? 1 : 0);
		decode_percent_escapes(take_text_until(text, has_brackets ? "]" : ":/?,"),
				       &reader->hosts);
		(void)take_text_until(text, "/?,");
		if (!begins_with_byte(*text, ','))
			return;
		buffer_append_byte(&reader->hosts, ',');
		*text = str_skip(*text, 1);
	}
}

static void read_conninfo_text(struct reader *reader, const char *text)
{
	struct str rest = str_from(text);

	if (!str_starts_with(rest, STR("postgresql://")) &&
	    !str_starts_with(rest, STR("postgres://"))) {
		read_pairs(reader, rest);
		return;
	}
	rest = str_skip(rest, (size_t)str_find(rest, '/') + 2);
	read_authority(reader, &rest);
	(void)take_text_until(&rest, "?");
	read_query(reader, str_skip(rest, 1));
}

/* ---- results ---- */

static void take_file_parameter(struct reader *reader, struct str name, struct str value)
{
	if (is_file(name) && value.length > 0 && value.data[0] == '/')
		reader->found(reader->context, value);
}

/* If a parameter is repeated, the last one counts. */
static void take_host_parameter(struct reader *reader, struct str name, struct str value)
{
	struct buffer *place = str_equal(name, STR("host"))       ? &reader->hosts
			       : str_equal(name, STR("hostaddr")) ? &reader->addresses
								  : NULL;

	if (place == NULL)
		return;
	buffer_reset(place);
	buffer_append_str(place, value);
}

enum place {
	PLACE_DEFAULT, /* libpq's: a UNIX socket */
	PLACE_PATH,    /* of a directory with sockets, or an abstract address */
	PLACE_ADDRESS,
	PLACE_NAME,
};

static enum place place_of_host_item(struct str item)
{
	union os_socket_address address;
	char text[64];

	if (item.length == 0)
		return PLACE_DEFAULT;
	if (item.data[0] == '/' || item.data[0] == '@')
		return PLACE_PATH;
	snprintf(text, sizeof text, STR_FORMAT, STR_ARGUMENTS(item));
	return item.length < sizeof text && os_socket_address_parse(text, 0, &address)
		       ? PLACE_ADDRESS
		       : PLACE_NAME;
}

/* The PLACES of the items of TEXT, as bits. */
static unsigned places_of_host_items(struct str text)
{
	unsigned places = 0;
	struct str piece;

	if (text.length == 0 || text.data[text.length - 1] == ',')
		places = 1u << PLACE_DEFAULT;
	while (str_split(&text, ',', &piece))
		places |= 1u << place_of_host_item(piece);
	return places;
}

void conninfo_files(const char *text, void (*found)(void *context, struct str path), void *context)
{
	struct reader reader = {.take = take_file_parameter, .found = found, .context = context};

	read_conninfo_text(&reader, text);
	buffer_clear(&reader.hosts);
}

struct places {
	unsigned hosts, addresses; /* bits of enum place */
};

static struct places read_places(const char *text)
{
	struct reader reader = {.take = take_host_parameter};
	struct places places;

	read_conninfo_text(&reader, text);
	places.hosts = places_of_host_items(buffer_view(&reader.hosts));
	places.addresses = places_of_host_items(buffer_view(&reader.addresses));
	buffer_clear(&reader.hosts);
	buffer_clear(&reader.addresses);
	return places;
}

bool conninfo_may_be_local(const char *text)
{
	const struct places places = read_places(text);
	unsigned counts = places.hosts == 1u << PLACE_DEFAULT ? places.addresses : places.hosts;

	return (counts & (1u << PLACE_DEFAULT | 1u << PLACE_PATH)) != 0;
}

bool conninfo_may_be_remote(const char *text)
{
	const struct places places = read_places(text);

	return ((places.hosts | places.addresses) & (1u << PLACE_ADDRESS | 1u << PLACE_NAME)) != 0;
}

bool conninfo_has_names(const char *text)
{
	const struct places places = read_places(text);
	bool has_all_addresses = (places.addresses & 1u << PLACE_DEFAULT) == 0;

	return ((has_all_addresses ? places.addresses : places.hosts) & 1u << PLACE_NAME) != 0;
}
