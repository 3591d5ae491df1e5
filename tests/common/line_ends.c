// SPDX-License-Identifier: ISC
#include "line_ends.h"
#include <stdio.h>
#include <stdlib.h>

bool has_bare_line_end(struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		bool is_pair =
			text.data[i] == '\r' && i + 1 < text.length && text.data[i + 1] == '\n';

		if (is_pair)
			i++;
		else if (text.data[i] == '\r' || text.data[i] == '\n')
			return true;
	}
	return false;
}

size_t short_string_length(int argc, char **argv)
{
	unsigned long length = argc > 1 ? strtoul(argv[1], NULL, 10) : SHORT_STRING_MAX;

	return length >= 1 && length <= SHORT_STRING_MAX ? length : SHORT_STRING_MAX;
}

int try_short_strings(size_t longest, bool (*try)(struct str tested))
{
	static const char alphabet[5] = {'\r', '\n', '.', '\0', 'a'};
	unsigned tried = 0;
	unsigned failed = 0;

	for (size_t length = 1, count = 5; length <= longest; length++, count *= 5) {
		for (size_t number = 0; number < count; number++) {
			char bytes[SHORT_STRING_MAX];
			size_t rest = number;

			for (size_t i = 0; i < length; i++, rest /= 5)
				bytes[i] = alphabet[rest % 5];
			tried++;
			if (!try(str_slice(bytes, length)))
				failed++;
		}
	}
	printf("%u of %u strings as they should be\n", tried - failed, tried);
	return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
