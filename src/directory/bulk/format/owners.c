// SPDX-License-Identifier: ISC
/* Finds the aliases that are lists: those with an owner-NAME. */
#include "directory/bulk/format/internal.h"
#include "directory/record/key.h"
#include <errno.h>

static const struct str PREFIX = {"owner-", 6};

int bulk_owner_address(struct str list, struct buffer *out)
{
	struct buffer owner CLEANUP(buffer_clear) = {0};
	bool is_quoted = list.length > 0 && list.data[0] == '"';

	if (is_quoted)
		buffer_append_byte(&owner, '"');
	buffer_append_str(&owner, PREFIX);
	buffer_append_str(&owner, str_skip(list, is_quoted));
	return directory_key_address(buffer_view(&owner), out);
}

/* The list whose owner OWNER, a key, is by its name; -EINVAL: none. */
static int list_address(struct str owner, struct buffer *out)
{
	struct buffer list CLEANUP(buffer_clear) = {0};
	bool is_quoted = owner.data[0] == '"';
	struct str rest = str_skip(owner, is_quoted);

	if (!str_starts_with(rest, PREFIX))
		return -EINVAL;
	if (is_quoted)
		buffer_append_byte(&list, '"');
	buffer_append_str(&list, str_skip(rest, PREFIX.length));
	return directory_key_address(buffer_view(&list), out);
}

/* Processes the logical line LINE. */
static void take_owner_line(struct bulk_reader *reader, struct bulk_names *lists, struct str line)
{
	struct buffer owner CLEANUP(buffer_clear) = {0};
	struct buffer list CLEANUP(buffer_clear) = {0};
	ptrdiff_t colon = bulk_find_bare(line, ":");
	struct str name;
	struct str address;

	if (colon <= 0)
		return;
	name = str_trim(str_slice(line.data, (size_t)colon));
	if (bulk_address(reader, name, &address) == NULL &&
	    directory_key_address(address, &owner) == 0 &&
	    list_address(buffer_view(&owner), &list) == 0)
		bulk_names_add(lists, buffer_view(&list));
}

int bulk_owners_read(struct bulk_reader *reader, struct bulk_names **lists_out)
{
	return bulk_names_read(reader, take_owner_line, lists_out);
}
