// SPDX-License-Identifier: ISC
#include "policy/sts/store.h"

void sts_store_format(const struct sts_stored *stored, struct buffer *out)
{
	char time[TIMESTAMP_SIZE];

	timestamp_format_seconds(stored->fetched_us, time);
	buffer_append_format(out, "id: %s\nfetched: %s\nsize: %zu\n\n", stored->id, time,
			     stored->text.length);
	buffer_append_str(out, stored->text);
}

/* The value of the next line, which must be "NAME: VALUE". False: it is another one. */
static bool take_stored_line(struct str *file, const char *name, struct str *value_out)
{
	struct str line;
	struct str found;

	if (!str_split(file, '\n', &line))
		return false;
	(void)str_split(&line, ':', &found);
	if (line.data == NULL)
		return false;
	*value_out = str_trim(line);
	return str_equal(found, str_from(name));
}

static bool take_stored_id(struct str *file, struct sts_stored *stored)
{
	struct sts_record record = {0};
	struct buffer text = {0};
	struct str value;

	if (!take_stored_line(file, "id", &value))
		return false;
	buffer_append_string(&text, "v=STSv1; id=");
	buffer_append_str(&text, value);
	sts_record_add(&record, buffer_view(&text));
	buffer_clear(&text);
	memcpy(stored->id, record.id, sizeof stored->id);
	return sts_record_is_valid(&record);
}

const char *sts_store_parse(struct str file, struct sts_stored *stored_out)
{
	struct sts_stored stored = {.id = ""};
	struct str value;
	uint64_t size;
	const char *problem;

	if (!take_stored_id(&file, &stored))
		return "no id";
	if (!take_stored_line(&file, "fetched", &value) ||
	    !timestamp_parse(value, &stored.fetched_us))
		return "no time of its fetch";
	if (!take_stored_line(&file, "size", &value) || !str_to_u64(value, &size))
		return "no size";
	if (!str_split(&file, '\n', &value) || value.length > 0 || file.length != size)
		return "the text does not have its size";
	stored.text = file;
	problem = sts_policy_parse(file, &stored.policy);
	if (problem == NULL)
		*stored_out = stored;
	return problem;
}
