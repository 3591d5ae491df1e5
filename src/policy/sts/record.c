// SPDX-License-Identifier: ISC
#include "policy/sts/record.h"
#include "policy/sts/field.h"
#include <string.h>

static bool is_policy_id(struct str value)
{
	if (value.length == 0 || value.length > STS_ID_MAX)
		return false;
	for (size_t i = 0; i < value.length; i++)
		if (!sts_field_is_alphanumeric(value.data[i]))
			return false;
	return true;
}

/* sts-ext-value: visible characters other than '=' and ';', which is no part of a field. */
static bool is_extension(struct str value)
{
	for (size_t i = 0; i < value.length; i++)
		if (value.data[i] <= ' ' || value.data[i] > '~' || value.data[i] == '=')
			return false;
	return value.length > 0;
}

/* Takes a field "name=value"; the first id counts. False: it is malformed. */
static bool take_sts_record_field(struct sts_record *record, struct str field)
{
	struct str name;

	(void)str_split(&field, '=', &name);
	if (field.data == NULL || !sts_field_is_name(name))
		return false;
	if (!str_equal(name, STR("id")))
		return is_extension(field);
	if (!is_policy_id(field))
		return false;
	if (record->id[0] == '\0') {
		memcpy(record->id, field.data, field.length);
		record->id[field.length] = '\0';
	}
	return true;
}

/* The fields after the version; a ';' may end the last one. */
static bool take_sts_record_fields(struct sts_record *record, struct str text)
{
	while (text.length > 0) {
		struct str field;

		(void)str_split(&text, ';', &field);
		text = str_trim(text);
		if (!take_sts_record_field(record, str_trim(field)))
			return false;
	}
	return record->id[0] != '\0';
}

void sts_record_add(struct sts_record *record, struct str text)
{
	const struct str version = STR("v=STSv1;");

	if (!str_starts_with(text, version))
		return;
	record->count++;
	record->id[0] = '\0';
	if (!take_sts_record_fields(record, str_trim(str_skip(text, version.length))))
		record->id[0] = '\0';
}

bool sts_record_is_valid(const struct sts_record *record)
{
	return record->count == 1 && record->id[0] != '\0';
}
