// SPDX-License-Identifier: ISC
/* Splits and joins addresses: extensions, quotes, postmaster. */
#include "mail/address.h"
#include "directory/expand/internal.h"
#include "directory/record/key.h"
#include <string.h>

static bool is_quoted(struct str local)
{
	return local.length > 0 && local.data[0] == '"';
}

/* LOCAL without its quotes, backslashes included. */
static struct str text_inside_quotes(struct str local)
{
	return is_quoted(local) ? str_slice(local.data + 1, local.length - 2) : local;
}

/* TEXT, an unquoted local part, with quotes if it needs them; empty if it is not valid. */
static struct str requote_local_part(struct arena *arena, struct str text)
{
	struct buffer quoted = {0};
	struct buffer form = {0};
	struct str result = {"", 0};

	buffer_append_byte(&quoted, '"');
	buffer_append_str(&quoted, text);
	buffer_append_byte(&quoted, '"');
	if (directory_key_local(buffer_view(&quoted), &form) == 0)
		result = arena_copy_str(arena, buffer_view(&form));
	buffer_clear(&quoted);
	buffer_clear(&form);
	return result;
}

/* The length of TEXT without its extension. */
static size_t user_length(struct str text, struct str delimiters)
{
	for (size_t i = 0; i < text.length; i++)
		if (str_find(delimiters, text.data[i]) >= 0)
			return i > 0 ? i : text.length;
	return text.length;
}

void expand_address_split(struct arena *arena, const char *delimiters, struct expand_node *node)
{
	ptrdiff_t at = str_find_last(node->address, '@');
	struct str text;
	size_t length;

	node->local = str_slice(node->address.data, (size_t)at);
	node->user = node->local;
	node->extension = str_slice("", 0);
	text = text_inside_quotes(node->local);
	length = user_length(text, str_from(delimiters));
	if (length == text.length)
		return;
	node->extension = str_skip(text, length);
	node->user = str_slice(text.data, length);
	if (is_quoted(node->local))
		node->user = requote_local_part(arena, node->user);
}

struct str expand_address_join(struct arena *arena, struct str local, struct str domain)
{
	char *joined = arena_alloc(arena, local.length + 1 + domain.length);

	memcpy(joined, local.data, local.length);
	joined[local.length] = '@';
	memcpy(joined + local.length + 1, domain.data, domain.length);
	return str_slice(joined, local.length + 1 + domain.length);
}

/* Empty if it would be too long. */
static struct str join_bounded(struct arena *arena, struct str local, struct str domain)
{
	struct str whole = expand_address_join(arena, local, domain);

	return whole.length <= MAIL_ADDRESS_MAX ? whole : str_slice("", 0);
}

struct str expand_address_extend(struct arena *arena, struct str address, struct str extension)
{
	ptrdiff_t at = str_find_last(address, '@');
	struct str domain = str_skip(address, (size_t)at + 1);
	struct str text = text_inside_quotes(str_slice(address.data, (size_t)at));
	struct str local;
	char *longer;

	if (extension.length == 0)
		return address;
	longer = arena_alloc(arena, text.length + extension.length);
	memcpy(longer, text.data, text.length);
	memcpy(longer + text.length, extension.data, extension.length);
	local = requote_local_part(arena, str_slice(longer, text.length + extension.length));
	return local.length > 0 ? join_bounded(arena, local, domain) : local;
}

/* EXTENSION as services get it: after a '+', whatever its delimiter was. */
static struct str after_plus(struct arena *arena, struct str extension)
{
	char *form;

	if (extension.length == 0 || extension.data[0] == '+')
		return extension;
	form = arena_alloc(arena, extension.length);
	memcpy(form, extension.data, extension.length);
	form[0] = '+';
	return str_slice(form, extension.length);
}

/* USER with each '+' escaped, and EXTENSION, which begins with one. */
static struct str escape_plus(struct arena *arena, struct str user, struct str extension)
{
	struct str text = text_inside_quotes(user);
	struct buffer local CLEANUP(buffer_clear) = {0};

	buffer_append_byte(&local, '"');
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '+')
			buffer_append_byte(&local, '\\');
		buffer_append_byte(&local, text.data[i]);
	}
	buffer_append_str(&local, extension);
	buffer_append_byte(&local, '"');
	return local.length <= MAIL_LOCAL_LONG_MAX ? arena_copy_str(arena, buffer_view(&local))
						   : str_slice("", 0);
}

static bool is_escaped(const char *delimiters, struct str user)
{
	return str_find(user, '+') >= 0 && str_find(str_from(delimiters), '+') < 0;
}

struct str expand_address_mailbox(struct arena *arena, const char *delimiters, struct str mailbox,
				  struct str extension)
{
	ptrdiff_t at = str_find_last(mailbox, '@');
	struct str user = str_slice(mailbox.data, (size_t)at);
	struct str plus = after_plus(arena, extension);
	struct str local;

	if (!is_escaped(delimiters, user))
		return expand_address_extend(arena, mailbox, plus);
	local = escape_plus(arena, user, plus);
	return local.length > 0 ? join_bounded(arena, local, str_skip(mailbox, (size_t)at + 1))
				: local;
}

struct str expand_address_told(struct arena *arena, const char *delimiters,
			       const struct expand_node *node, struct str extension)
{
	struct str user = extension.length > 0 ? node->user : node->local;

	if ((extension.length == 0 || extension.data[0] == '+') && !is_escaped(delimiters, user))
		return node->shown;
	return expand_address_mailbox(arena, delimiters,
				      expand_address_join(arena, user, node->domain), extension);
}

bool expand_is_postmaster(struct str user)
{
	return str_equal_nocase(user, STR("postmaster"));
}
