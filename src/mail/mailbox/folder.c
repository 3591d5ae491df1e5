// SPDX-License-Identifier: ISC
#include "mail/mailbox/folder.h"
#include "base/text/utf8.h"

static bool is_folder_name_character(struct str rest, bool begins_level)
{
	uint32_t c = utf8_code_point(rest);

	if (c < ' ' || (c >= 0x7f && c < 0xa0) || c == '%' || c == '*')
		return false;
	return !begins_level || (c != '/' && c != '.');
}

bool mail_folder_is_valid(struct str name)
{
	bool begins_level = true;

	if (name.length > MAIL_FOLDER_MAX)
		return false;
	for (size_t at = 0, length; at < name.length; at += length) {
		struct str rest = str_slice(name.data + at, name.length - at);

		length = utf8_length(rest);
		if (length == 0 || !is_folder_name_character(rest, begins_level))
			return false;
		begins_level = *rest.data == '/';
	}
	return !begins_level;
}

bool mail_folder_is_portable(struct str name)
{
	return mail_folder_is_valid(name) && str_find(name, '.') < 0 && name.data[0] != '~';
}
