// SPDX-License-Identifier: ISC
#include "directory/store/ldap/sync/csn.h"
#include <string.h>

/* The SERVER of CSN, between the second and the third '#'; empty if it is malformed. */
static struct str server_of_csn(struct str csn)
{
	struct str piece = {0};

	for (int i = 0; i < 3; i++)
		if (!str_split(&csn, '#', &piece))
			return (struct str){0};
	return piece;
}

static char *find_csn_of_server(struct csn_set *set, struct str server)
{
	for (size_t i = 0; i < set->count; i++)
		if (str_equal(server_of_csn(str_from(set->csns[i])), server))
			return set->csns[i];
	return NULL;
}

void csn_set_add(struct csn_set *set, struct str csn)
{
	struct str server = server_of_csn(csn);
	char *known;

	if (server.length == 0 || csn.length >= CSN_SIZE || str_find(csn, '\0') >= 0)
		return;
	known = find_csn_of_server(set, server);
	if (known == NULL && set->count < CSN_SERVERS_MAX)
		known = set->csns[set->count++];
	else if (known == NULL || strncmp(known, csn.data, csn.length) >= 0)
		return;
	memcpy(known, csn.data, csn.length);
	known[csn.length] = '\0';
}

void csn_set_add_cookie(struct csn_set *set, struct str cookie)
{
	struct str field;
	struct str csn;

	while (str_split(&cookie, ',', &field)) {
		if (!str_starts_with(field, STR("csn=")))
			continue;
		field = str_skip(field, 4);
		while (str_split(&field, ';', &csn))
			csn_set_add(set, csn);
	}
}

bool csn_set_covers(const struct csn_set *set, const struct csn_set *other)
{
	for (size_t i = 0; i < other->count; i++) {
		const char *known = find_csn_of_server((struct csn_set *)set,
						       server_of_csn(str_from(other->csns[i])));

		if (known == NULL || strcmp(known, other->csns[i]) < 0)
			return false;
	}
	return true;
}

void csn_set_print(const struct csn_set *set, struct buffer *out)
{
	for (size_t i = 0; i < set->count; i++) {
		if (i > 0)
			buffer_append_byte(out, ';');
		buffer_append_string(out, set->csns[i]);
	}
}
