// SPDX-License-Identifier: ISC
#include "mail/template.h"
#include <errno.h>
#include <string.h>

enum { NAME_BYTES_MAX = 255 }; /* NAME_MAX of Linux file systems */

static bool has_byte(struct str text, char byte)
{
	return byte != '\0' && str_find(text, byte) >= 0;
}

/* The bytes of a login that stand beside a sequence separate it from the rest. An address has its
 * own @, and must not have others. */
static bool may_log_in(char letter, struct str value, char before, char after)
{
	struct str local = letter == 'a' ? mail_parts_of(value).local : value;

	return !has_byte(local, '@') && (before == '@' || !has_byte(value, before)) &&
	       (after == '@' || !has_byte(value, after));
}

static const struct str *value_of(enum mail_template_kind kind, char letter,
				  const struct mail_template_values *values)
{
	static const char *const letters[] = {
		[MAIL_TEMPLATE_PATH] = "du",
		[MAIL_TEMPLATE_ARGUMENT] = "adsux",
		[MAIL_TEMPLATE_LOGIN] = "adu",
	};

	if (letter == '\0' || strchr(letters[kind], letter) == NULL)
		return NULL;
	switch (letter) {
	case 'a':
		return &values->address;
	case 'd':
		return &values->domain;
	case 's':
		return &values->sender;
	case 'u':
		return &values->user;
	default:
		return &values->extension;
	}
}

static bool is_safe_template_value(enum mail_template_kind kind, char letter, struct str value,
				   char before, char after)
{
	bool is_whole = letter == 'a' || letter == 's';

	if (str_has_control(value))
		return false;
	if (kind == MAIL_TEMPLATE_LOGIN)
		return may_log_in(letter, value, before, after);
	return is_whole || (letter == 'x' && value.length == 0) || mail_name_is_path_safe(value);
}

/* What stands literally at C: a NUL at the end, and for a sequence. */
static char literal_at(const char *c)
{
	return c[0] == '%' && c[1] != '%' ? '\0' : c[0];
}

static bool fill_template(enum mail_template_kind kind, const char *template,
			  const struct mail_template_values *values, struct buffer *out)
{
	char before = '\0'; /* the literal byte; a NUL after a sequence */

	for (const char *c = template; *c != '\0'; c++) {
		char literal = literal_at(c);
		const struct str *value;

		if (*c == '%' && *++c == '\0')
			return false;
		if (literal != '\0') {
			buffer_append_byte(out, literal);
		} else {
			value = value_of(kind, *c, values);
			if (value == NULL ||
			    !is_safe_template_value(kind, *c, *value, before, literal_at(c + 1)))
				return false;
			buffer_append_str(out, *value);
		}
		before = literal;
	}
	return true;
}

static bool has_long_name(struct str path)
{
	struct str name;

	while (str_split(&path, '/', &name))
		if (name.length > NAME_BYTES_MAX)
			return true;
	return false;
}

static bool may_stand(enum mail_template_kind kind, const char *template, struct str text)
{
	if (kind == MAIL_TEMPLATE_PATH)
		return !has_long_name(text);
	return kind != MAIL_TEMPLATE_ARGUMENT || text.length == 0 || template[0] == '-' ||
	       text.data[0] != '-';
}

int mail_template_values(struct str recipient, struct mail_template_recipient *storage,
			 struct mail_template_values *out)
{
	struct mail_parts parts = mail_parts_of(recipient);
	struct buffer tag CLEANUP(buffer_clear) = {0};

	if (mail_localpart_parse(parts.local, &storage->local) < 0)
		return -EINVAL;
	(void)mail_domain_form(parts.domain, &storage->domain);
	mail_localpart_tag(parts.local, &tag);
	_Static_assert(sizeof storage->tag >= sizeof storage->local.text, "no tag is longer");
	if (tag.length > 0)
		memcpy(storage->tag, buffer_data(&tag), tag.length);
	*out = (struct mail_template_values){
		.address = recipient,
		.sender = STR(""),
		.user = mail_localpart_user(&storage->local),
		.extension = str_slice(storage->tag, tag.length),
		.domain = mail_domain_view(&storage->domain),
	};
	return 0;
}

int mail_template_fill(enum mail_template_kind kind, const char *template,
		       const struct mail_template_values *values, struct buffer *out)
{
	size_t before = out->length;

	if (fill_template(kind, template, values, out) &&
	    may_stand(kind, template, str_skip(buffer_view(out), before)))
		return 0;
	buffer_truncate(out, before);
	return -EINVAL;
}
