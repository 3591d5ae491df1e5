// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_address.c - the address parser. The first byte is the flags.
 * What it accepts must be safe as a line of a control file and in a command.
 */
#include "base/panic.h"
#include "base/text/utf8.h"
#include "mail/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct str text, bool allow_utf8)
{
	while (text.length > 0) {
		size_t length = utf8_length(text);

		if (length == 0 || (length > 1 && !allow_utf8) ||
		    (unsigned char)text.data[0] < ' ' || text.data[0] == 0x7f)
			panic("an address has an unsafe character");
		text = str_skip(text, length);
	}
}

static void check_parts(const struct mail_address *address, struct str text)
{
	size_t length = address->local.length;

	if (address->domain.length > 0)
		length += 1 + address->domain.length;
	if (!str_equal(address->text, text) || length != text.length ||
	    address->local.length > MAIL_LOCAL_LONG_MAX ||
	    address->domain.length > MAIL_DOMAIN_MAX || text.length > MAIL_ADDRESS_MAX)
		panic("an address is not the sum of its parts");
	if (address->domain.length > 0 && text.data[address->local.length] != '@')
		panic("an address without an @");
	if (address->domain.length > 0 && address->domain.data[0] != '[' &&
	    str_find(address->domain, ' ') >= 0)
		panic("a domain with a space");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mail_address address;
	struct str text;

	if (size == 0)
		return 0;
	text = str_slice((const char *)data + 1, size - 1);
	if (mail_address_parse(text, data[0], &address) < 0)
		return 0;
	check_text(text, data[0] & MAIL_ADDRESS_UTF8);
	check_parts(&address, text);
	return 0;
}
