// SPDX-License-Identifier: ISC
/*
 * policy/sts/field.h - names of fields, in TXT records and in policies of RFC 8461.
 */
#ifndef POLICY_STS_FIELD_H
#define POLICY_STS_FIELD_H

#include "base/str.h"

static inline bool sts_field_is_alphanumeric(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9');
}

/* sts-ext-name and sts-policy-ext-name: up to 32 characters. */
static inline bool sts_field_is_name(struct str name)
{
	if (name.length == 0 || name.length > 32 || !sts_field_is_alphanumeric(name.data[0]))
		return false;
	for (size_t i = 1; i < name.length; i++)
		if (!sts_field_is_alphanumeric(name.data[i]) && name.data[i] != '_' &&
		    name.data[i] != '-' && name.data[i] != '.')
			return false;
	return true;
}

#endif
