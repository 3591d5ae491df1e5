// SPDX-License-Identifier: ISC
#include "base/text/mask.h"

static char lower_of_char(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool mask_matches(struct str mask, struct str text)
{
	size_t at = 0;          /* in MASK */
	size_t star = SIZE_MAX; /* the last '*' there: an earlier one need not take more */
	size_t resume = 0;      /* where in TEXT its part ends, as was tried last */
	size_t i = 0;

	while (i < text.length) {
		if (at < mask.length && mask.data[at] == '*') {
			star = at++;
			resume = i;
		} else if (at < mask.length &&
			   (mask.data[at] == '?' ||
			    lower_of_char(mask.data[at]) == lower_of_char(text.data[i]))) {
			at++;
			i++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			i = ++resume;
		} else {
			return false;
		}
	}
	while (at < mask.length && mask.data[at] == '*')
		at++;
	return at == mask.length;
}
