// SPDX-License-Identifier: ISC
#include "mail/host.h"

enum { HOST_LABEL_MAX = 63 };

static bool is_host_name_byte(char c)
{
	return str_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
	       c == '_';
}

bool mail_host_is_name(struct str text)
{
	struct str label = {NULL, 0};
	bool has_letter = false;

	if (text.length == 0 || text.length > MAIL_HOST_MAX)
		return false;
	while (str_split(&text, '.', &label)) {
		if (label.length == 0 || label.length > HOST_LABEL_MAX || label.data[0] == '-' ||
		    label.data[label.length - 1] == '-')
			return false;
		has_letter = false;
		for (size_t i = 0; i < label.length; i++) {
			if (!is_host_name_byte(label.data[i]))
				return false;
			has_letter |= !str_is_digit(label.data[i]);
		}
	}
	return has_letter;
}
