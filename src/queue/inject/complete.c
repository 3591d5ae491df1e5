// SPDX-License-Identifier: ISC
/* Header fields that are missing in a user's message: From, Date, Message-ID, To. */
#include "header/name.h"
#include "queue/inject/header.h"

static void append_from_field(struct buffer *out, const struct inject_completion *completion)
{
	struct str name = str_trim(completion->full_name);

	buffer_append_string(out, "From: ");
	if (name.length == 0) {
		buffer_append_format(out, STR_FORMAT "\r\n", STR_ARGUMENTS(completion->from));
		return;
	}
	header_name_append(out, name);
	buffer_append_format(out, " <" STR_FORMAT ">\r\n", STR_ARGUMENTS(completion->from));
}

void inject_header_complete(const struct inject_header *header,
			    const struct inject_completion *completion, struct buffer *out)
{
	struct str rest = buffer_view(&header->text);
	struct header_field field;
	char date[TIMESTAMP_HEADER_SIZE];
	char id[MAIL_ID_SIZE];

	while (inject_header_next(&rest, &field))
		if (!header_field_is_private(field.name))
			header_field_complete(&field, completion->domain, out);
	timestamp_format_header(completion->id.born_us, date);
	mail_id_format(completion->id, id);
	if (inject_header_count(header, STR("date")) == 0)
		buffer_append_format(out, "Date: %s\r\n", date);
	if (inject_header_count(header, STR("from")) == 0)
		append_from_field(out, completion);
	if (inject_header_count(header, STR("message-id")) == 0)
		buffer_append_format(out, "Message-ID: <%s@" STR_FORMAT ">\r\n", id,
				     STR_ARGUMENTS(completion->hostname));
}
