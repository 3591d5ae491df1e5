// SPDX-License-Identifier: ISC
#include "mail/package.h"
#include <stdio.h>
#include <string.h>

bool mail_node_is_valid(struct str name)
{
	if (name.length == 0 || name.length > MAIL_NODE_MAX || str_equal(name, STR(".")) ||
	    str_equal(name, STR("..")))
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '.')
			return false;
	}
	return true;
}

void mail_package_format(struct mail_package package, char text[MAIL_PACKAGE_SIZE])
{
	size_t length;

	mail_id_format(package.id, text);
	length = strlen(text);
	if (package.first > 0)
		snprintf(text + length, MAIL_PACKAGE_SIZE - length, ".%u", package.first);
}

bool mail_package_parse(struct str text, struct mail_package *package_out)
{
	struct mail_package package = {0};
	char again[MAIL_PACKAGE_SIZE];
	struct str rest = text;
	uint64_t first = 0;
	struct str id;

	if (!str_split(&rest, '.', &id) || !mail_id_parse(id, &package.id) ||
	    package.id.number == 0)
		return false;
	if (rest.data != NULL && (!str_to_u64(rest, &first) || first == 0 || first > UINT32_MAX))
		return false;
	package.first = (uint32_t)first;
	mail_package_format(package, again);
	if (!str_equal(text, str_from(again)))
		return false;
	*package_out = package;
	return true;
}

bool mail_package_split(struct str text, struct str *node_out, struct str *name_out)
{
	struct mail_package package;
	struct str node;

	if (!str_split(&text, '/', &node) || !mail_node_is_valid(node) || text.data == NULL ||
	    !mail_package_parse(text, &package))
		return false;
	if (node_out != NULL)
		*node_out = node;
	if (name_out != NULL)
		*name_out = text;
	return true;
}
