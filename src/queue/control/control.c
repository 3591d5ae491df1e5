// SPDX-License-Identifier: ISC
#include "queue/control/control.h"
#include "mail/address.h"
#include "queue/control/checksum.h"
#include "queue/control/record.h"

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

bool record_word(struct str *rest, struct str *word_out)
{
	return str_split(rest, ' ', word_out) && word_out->length > 0;
}

bool record_number(struct str *rest, uint32_t *value_out)
{
	struct str word;
	uint64_t value;

	if (!record_word(rest, &word) || !str_to_u64(word, &value) || value < 1 ||
	    value > UINT32_MAX)
		return false;
	*value_out = (uint32_t)value;
	return true;
}

bool record_address(struct str *rest, struct str *address_out)
{
	struct str inside;
	ptrdiff_t end;

	if (rest->length < 2 || rest->data[0] != '<')
		return false;
	inside = str_skip(*rest, 1);
	end = queue_address_end(inside);
	if (end < 0 || end > MAIL_ADDRESS_MAX)
		return false;
	*address_out = str_slice(inside.data, (size_t)end);
	*rest = str_skip(inside, (size_t)end + 1);
	if (rest->length == 0)
		return true;
	if (rest->data[0] != ' ')
		return false;
	*rest = str_skip(*rest, 1);
	return true;
}

bool record_parameter(struct str *rest, struct str *name_out, struct str *value_out)
{
	struct str word;

	return rest->length > 0 && record_word(rest, &word) && str_split(&word, '=', name_out) &&
	       (*value_out = word).length > 0;
}

bool record_option(struct str *rest, struct str *name_out, struct str *value_out)
{
	struct str word;

	if (!record_word(rest, &word))
		return false;
	(void)str_split(&word, '=', name_out);
	*value_out = word.data != NULL ? word : STR("");
	return word.data == NULL || word.length > 0;
}

bool record_split(struct str line, struct str *name_out, struct str *value_out)
{
	ptrdiff_t colon = str_find(line, ':');

	if (colon <= 0 || !queue_text_is_clean(line))
		return false;
	*name_out = str_slice(line.data, (size_t)colon);
	*value_out = str_skip(line, (size_t)colon + 1);
	if (!queue_word_is_clean(*name_out))
		return false;
	if (value_out->length == 0)
		return true;
	if (value_out->data[0] != ' ')
		return false;
	*value_out = str_skip(*value_out, 1);
	return true;
}

bool queue_control_read_id(struct str text, struct mail_id *id_out)
{
	struct str line;

	return str_split(&text, '\n', &line) && str_starts_with(line, STR("stagepost ")) &&
	       str_split(&text, '\n', &line) && str_starts_with(line, STR("id: ")) &&
	       mail_id_parse(str_skip(line, 4), id_out);
}

bool control_next_line(struct str *text, struct str *line_out)
{
	ptrdiff_t end = str_find(*text, '\n');

	if (end < 0)
		return false;
	*line_out = str_slice(text->data, (size_t)end);
	*text = str_skip(*text, (size_t)end + 1);
	return true;
}

bool control_is_cut(struct str line)
{
	return line.length > 0 && line.data[line.length - 1] == QUEUE_CONTROL_CANCEL[0];
}

size_t queue_control_envelope_length(struct str text)
{
	struct str rest = text;
	struct str line;

	while (control_next_line(&rest, &line))
		if (str_equal(line, STR("end:")))
			return text.length - rest.length;
	return 0;
}

void queue_control_free(struct queue_control *control)
{
	if (control != NULL)
		mail_envelope_free(control->envelope);
}

bool queue_control_has_data(const struct queue_control *control, uint32_t checksum)
{
	return !control->has_checksum || checksum == control->data_checksum;
}

void queue_control_take_data(struct queue_control *control, uint32_t checksum)
{
	struct buffer head CLEANUP(buffer_clear) = {0};

	if (!control->has_checksum)
		return;
	buffer_append(&head, control->head.data, control->head.length - QUEUE_CHECKSUM_HEAD_SIZE);
	queue_checksum_add_head(&head, buffer_view(&head), checksum);
	control->head = arena_copy_str(control->envelope->arena, buffer_view(&head));
	control->data_checksum = checksum;
	control->must_be_whole = true;
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

bool queue_control_is_deadline_told(const struct queue_control *control)
{
	const struct mail_deadline *deadline = &control->envelope->deadline;

	for (size_t i = 0; i < control->delivery_count; i++)
		if (control->deliveries[i].delayed_us >= deadline->at_us &&
		    control->deliveries[i].delayed_us > 0)
			return true;
	return deadline->is_told;
}
