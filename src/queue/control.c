// SPDX-License-Identifier: ISC
#include "queue/control.h"
#include "queue/record.h"

bool queue_text_is_clean(struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char byte = (unsigned char)text.data[i];

		if (byte < 0x20 || byte == 0x7f)
			return false;
	}
	return true;
}

bool queue_word_is_clean(struct str word)
{
	return word.length > 0 && queue_text_is_clean(word) && str_find(word, ' ') < 0;
}

bool queue_service_is_valid(struct str name)
{
	if (name.length == 0 || name.length > QUEUE_SERVICE_MAX)
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!is_letter && !(c >= '0' && c <= '9') && (i == 0 || (c != '-' && c != '_')))
			return false;
	}
	return true;
}

ptrdiff_t queue_address_end(struct str text)
{
	bool is_quoted = false;

	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && text.data[i] == '\\')
			i++;
		else if (!is_quoted && text.data[i] == '>')
			return (ptrdiff_t)i;
	}
	return -1;
}

void queue_control_free(struct queue_control *control)
{
	if (control != NULL)
		mail_envelope_free(control->envelope);
}

bool queue_control_is_finished(const struct queue_control *control)
{
	if (!control->is_mapped)
		return false;
	for (size_t i = 0; i < control->delivery_count; i++)
		if (control->deliveries[i].outcome == QUEUE_PENDING ||
		    control->deliveries[i].outcome == QUEUE_WAIT)
			return false;
	return true;
}
