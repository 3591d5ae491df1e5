// SPDX-License-Identifier: ISC
#include "mail/mailbox/quota.h"
#include <errno.h>

static const char UNITS[] = "KMGT";

/* The exponent of 1024 that the unit C means; 0: not a unit. */
static unsigned power_of(char c)
{
	for (unsigned i = 0; UNITS[i] != '\0'; i++)
		if (c == UNITS[i] || c == UNITS[i] - 'A' + 'a')
			return i + 1;
	return 0;
}

static bool parse_bytes(struct str text, uint64_t *out)
{
	unsigned power = text.length > 0 ? power_of(text.data[text.length - 1]) : 0;

	if (power > 0)
		text.length--;
	if (!str_to_u64(text, out) || *out > UINT64_MAX >> (10 * power))
		return false;
	*out <<= 10 * power;
	return true;
}

int mail_quota_parse(struct str text, struct mail_quota *out)
{
	struct str bytes = text;
	bool has_messages = str_find(text, ',') >= 0;

	*out = (struct mail_quota){0};
	if (str_equal(text, STR("none")))
		return 0;
	if (has_messages)
		(void)str_split(&text, ',', &bytes);
	if (!parse_bytes(bytes, &out->bytes) || (has_messages && !str_to_u64(text, &out->messages)))
		return -EINVAL;
	return 0;
}

static void append_bytes(uint64_t bytes, struct buffer *out)
{
	unsigned power = 0;

	while (bytes > 0 && bytes % 1024 == 0 && power < sizeof UNITS - 1) {
		bytes /= 1024;
		power++;
	}
	buffer_append_number(out, bytes);
	if (power > 0)
		buffer_append_byte(out, UNITS[power - 1]);
}

int mail_quota_normalize(struct str text, struct buffer *out)
{
	struct mail_quota quota;

	if (mail_quota_parse(text, &quota) < 0)
		return -EINVAL;
	if (quota.bytes == 0 && quota.messages == 0) {
		buffer_append_string(out, "none");
		return 0;
	}
	append_bytes(quota.bytes, out);
	if (quota.messages > 0) {
		buffer_append_byte(out, ',');
		buffer_append_number(out, quota.messages);
	}
	return 0;
}
