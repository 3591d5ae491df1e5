// SPDX-License-Identifier: ISC
/* Passwords and the key in a configuration's text, which most processes must not see. */
#include "config/internal.h"
#include "config/parse/token.h"

static bool is_with_logins(struct str setting)
{
	return str_equal(setting, STR("smtproutes")) || str_equal(setting, STR("senderroutes")) ||
	       str_equal(setting, STR("fallback_relays"));
}

/* Appends TOKEN, a value of such a setting, without its password. */
static void append_route(struct str token, struct buffer *out)
{
	bool is_quoted = token.length >= 2 && (token.data[0] == '"' || token.data[0] == '\'');
	size_t end = token.length - (is_quoted ? 1 : 0);
	size_t length = config_route_length(str_slice(token.data, end));

	buffer_append(out, token.data, length);
	if (length < end)
		buffer_append_string(out, CONFIG_HIDDEN);
	buffer_append_str(out, str_skip(token, end));
}

/* Statements are "NAME = VALUE", "NAME = { VALUE, ... }", "NAME TITLE {" and "}". */
struct hide_place {
	struct str name; /* of the setting whose values follow, or the last word */
	bool is_value;
	bool is_list;
};

static void move_on(struct hide_place *place, enum token_kind kind, struct str token)
{
	switch (kind) {
	case TOKEN_ASSIGN:
		place->is_value = true;
		break;
	case TOKEN_OPEN:
		place->is_list = place->is_value;
		break;
	case TOKEN_CLOSE:
		*place = (struct hide_place){STR(""), false, false};
		break;
	case TOKEN_WORD:
	case TOKEN_STRING:
		if (!place->is_value)
			place->name = token;
		else if (!place->is_list)
			place->is_value = false;
		break;
	default:
		break;
	}
}

static bool is_secret(const struct hide_place *place, bool keeps_key)
{
	if (!place->is_value)
		return false;
	return is_with_logins(place->name) ||
	       (!keeps_key && str_equal(place->name, STR("site_key")));
}

/* Appends TOKEN, a value of the setting NAME, as others may see it. */
static void append_hidden(struct str name, struct str token, struct buffer *out)
{
	if (is_with_logins(name))
		append_route(token, out);
	else
		buffer_append_string(out, CONFIG_HIDDEN);
}

void config_hide_secrets(struct str text, bool keeps_key, struct buffer *out)
{
	struct config_problems problems = {0};
	struct config_reader reader = {.text = text, .line = 1, .problems = &problems};
	struct hide_place place = {STR(""), false, false};
	size_t done = 0;

	for (;;) {
		struct str name = place.name;
		struct str token;
		bool is_hidden;

		config_reader_next(&reader);
		if (reader.token.kind == TOKEN_END || reader.token.kind == TOKEN_BAD)
			break;
		token = config_token_text(&reader, &reader.token);
		is_hidden = is_secret(&place, keeps_key);
		move_on(&place, reader.token.kind, token);
		if (!is_hidden ||
		    (reader.token.kind != TOKEN_WORD && reader.token.kind != TOKEN_STRING))
			continue;
		buffer_append(out, text.data + done, reader.token.start - done);
		append_hidden(name, token, out);
		done = reader.token.end;
	}
	buffer_append_str(out, str_skip(text, done));
	config_problems_clear(&problems);
}
