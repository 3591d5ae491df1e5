// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_directory_key.c - the canonical form of keys. The first byte is the table. A
 * form is within its bounds, has no other form, and an address's is an address.
 */
#include "base/panic.h"
#include "directory/record/key.h"
#include "input.h"
#include "mail/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct str key)
{
	if (key.length == 0 || key.length > DIRECTORY_KEY_MAX)
		panic("a key of %zu bytes", key.length);
	for (size_t i = 0; i < key.length; i++)
		if ((unsigned char)key.data[i] < ' ' || key.data[i] == 0x7f)
			panic("a key has a control character");
}

static void check_address(struct str key)
{
	struct mail_address address;

	if (key.data[0] == '@')
		key = str_skip(key, 1);
	else if (mail_address_parse(key, MAIL_ADDRESS_UTF8, &address) < 0)
		panic("an address's key is no address");
	else if (str_find_last(key, '@') != (ptrdiff_t)address.local.length)
		panic("a domain is elsewhere");
	else
		key = address.domain;
	if (!mail_domain_is_valid(key))
		panic("a domain is no host name");
}

static void check_member(struct str key)
{
	struct str list;
	struct str member;

	directory_key_member(key, &list, &member);
	if (list.length + 1 + member.length != key.length)
		panic("a member's key is not the sum of its parts");
	check_address(list);
	check_address(member);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum directory_table table;
	struct buffer form = {0};
	struct buffer again = {0};

	if (size == 0)
		return 0;
	table = DIRECTORY_DOMAIN + data[0] % (DIRECTORY_TABLES - DIRECTORY_DOMAIN);
	if (directory_key_normalize(table, str_slice((const char *)data + 1, size - 1), &form) ==
	    0) {
		if (directory_key_normalize(table, buffer_view(&form), &again) < 0)
			panic("a form has no form");
		check_equal(buffer_view(&form), buffer_view(&again), "the form of a form");
		check_text(buffer_view(&form));
		if (table == DIRECTORY_ADDRESS)
			check_address(buffer_view(&form));
		if (table == DIRECTORY_MEMBER)
			check_member(buffer_view(&form));
		buffer_reset(&again);
		directory_key_display(buffer_view(&form), &again);
	} else if (form.length > 0) {
		panic("what has no form left something");
	}
	buffer_clear(&form);
	buffer_clear(&again);
	return 0;
}
