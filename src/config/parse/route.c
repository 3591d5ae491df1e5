// SPDX-License-Identifier: ISC
/* Where the password is in an element of smtproutes, which may be wrong otherwise: its ":" may be
 * what is missing. */
#include "config/internal.h"

size_t config_route_length(struct str text)
{
	ptrdiff_t bar = str_find(text, '|');
	ptrdiff_t second;

	if (bar < 0)
		return text.length;
	second = str_find(str_skip(text, (size_t)bar + 1), '|');
	return second < 0 ? text.length : (size_t)bar + (size_t)second + 2;
}
