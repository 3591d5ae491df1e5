// SPDX-License-Identifier: ISC
#include "mailbox/copy.h"
#include "header/field.h"
#include "header/loop.h"
#include "mail/address.h"
#include "mail/text/text.h"

static void append_to_copy(struct mailbox_copy *copy, const char *data, size_t length,
			   struct buffer *out)
{
	if (length == 0)
		return;
	buffer_append(out, data, length);
	copy->last = data[length - 1];
}

static void append_newline(struct mailbox_copy *copy, struct buffer *out)
{
	if (copy->last != '\r')
		copy->lines++;
	append_to_copy(copy, "\n", 1, out);
}

/* Appends DATA with each CRLF converted to LF; other CRs stay. */
static void convert_line_ends(struct mailbox_copy *copy, const char *data, size_t length,
			      struct buffer *out)
{
	const char *end = data + length;

	while (data < end) {
		const char *stop = data;

		if (copy->held_cr && *data != '\n')
			append_to_copy(copy, "\r", 1, out);
		copy->held_cr = false;
		while (stop < end && *stop != '\r' && *stop != '\n')
			stop++;
		append_to_copy(copy, data, (size_t)(stop - data), out);
		if (stop < end && *stop == '\r')
			copy->held_cr = true;
		else if (stop < end)
			append_newline(copy, out);
		data = stop + 1;
	}
}

static void append_header_to_copy(struct mailbox_copy *copy, const char *before, struct str text,
				  const char *after, struct buffer *out)
{
	buffer_append_string(out, before);
	mail_text_append(out, text, MAIL_TEXT_8BIT);
	buffer_append_string(out, after);
	copy->last = '\0';
	append_newline(copy, out);
}

static void append_mark(struct mailbox_copy *copy, enum header_loop_way way, struct str address,
			struct buffer *out)
{
	size_t before = out->length;

	header_loop_append(copy->owner.key, way, address, "\n", out);
	copy->lines += out->length > before;
}

/* Whether LINE is of the field NAME, whose value is VALUE_OUT. */
static bool is_field_of_copy(struct str line, struct str name, struct str *value_out)
{
	if (line.length <= name.length || line.data[name.length] != ':' ||
	    !str_equal_nocase(str_slice(line.data, name.length), name))
		return false;
	*value_out = str_trim(str_skip(line, name.length + 1));
	return true;
}

/* HEADER may be incomplete: a loop with more Received lines than that is stopped by their
 * number. */
static bool is_loop(struct str header, const struct mailbox_copy_owner *owner)
{
	struct header_loop loop = {.count = 0};

	header_loop_read(&loop, header);
	return header_loop_closes(&loop, owner->key, owner->recipient, owner->via);
}

/* PART, the first block, without the fields Return-Path in its header, unless one may go on after
 * it. */
static struct str without_paths(struct mailbox_copy *copy, struct str part)
{
	struct str rest = part;
	struct str line;
	struct str value;
	const char *kept = part.data;
	bool is_path = false;

	while (header_next_line(&rest, &line)) {
		bool goes_on = line.data[0] == ' ' || line.data[0] == '\t';
		bool was_path = is_path;

		is_path = goes_on ? is_path : is_field_of_copy(line, STR("Return-Path"), &value);
		if (is_path && !was_path)
			buffer_append(&copy->head, kept, (size_t)(line.data - kept));
		if (is_path && rest.length == 0)
			return part;
		if (is_path)
			kept = rest.data;
	}
	if (kept == part.data)
		return part;
	buffer_append(&copy->head, kept, part.length - (size_t)(kept - part.data));
	return buffer_view(&copy->head);
}

/* Whether VALUE is what the topmost field NAME says. */
static bool has_topmost(struct str header, struct str name, struct str value)
{
	struct str line;
	struct str found;

	while (header_next_line(&header, &line))
		if (is_field_of_copy(line, name, &found))
			return str_equal_nocase(found, value);
	return false;
}

void mailbox_copy_begin(struct mailbox_copy *copy, const struct ipc_content *content,
			struct str sender, const struct mailbox_copy_owner *owner,
			struct buffer *out)
{
	*copy = (struct mailbox_copy){.content = *content, .owner = *owner};
	append_header_to_copy(copy, "Return-Path: <", mail_sender_told(sender), ">", out);
	append_header_to_copy(copy, "Delivered-To: ", owner->recipient, "", out);
	append_mark(copy, HEADER_LOOP_DELIVERED, owner->recipient, out);
	if (owner->via.length > 0)
		append_mark(copy, HEADER_LOOP_LED_ON, owner->via, out);
}

int mailbox_copy_begin_filed(struct mailbox_copy *copy, const struct ipc_content *content,
			     struct str sender, struct str recipient, char *block,
			     size_t block_size, struct buffer *out)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	struct str header;
	int error = ipc_content_read(content, 0, block, block_size, &header);

	if (error < 0)
		return error;
	mailbox_copy_begin_bare(copy, content);
	buffer_append_byte(&path, '<');
	mail_text_append(&path, mail_sender_told(sender), MAIL_TEXT_8BIT);
	buffer_append_byte(&path, '>');
	if (!has_topmost(header, STR("Return-Path"), buffer_view(&path)))
		append_header_to_copy(copy, "Return-Path: ", buffer_view(&path), "", out);
	if (!has_topmost(header, STR("Delivered-To"), recipient))
		append_header_to_copy(copy, "Delivered-To: ", recipient, "", out);
	return 0;
}

void mailbox_copy_begin_bare(struct mailbox_copy *copy, const struct ipc_content *content)
{
	*copy = (struct mailbox_copy){.content = *content};
}

void mailbox_copy_clear(struct mailbox_copy *copy)
{
	mail_seven_bit_free(copy->form);
	copy->form = NULL;
	buffer_clear(&copy->piece);
	buffer_clear(&copy->head);
}

int mailbox_copy_set_binary(struct mailbox_copy *copy, char *block, size_t block_size)
{
	struct ipc_content_pass pass = {0};
	struct str part;

	copy->form = mail_seven_bit_new();
	mail_seven_bit_set_binary(copy->form);
	while (!ipc_content_is_passed(&copy->content, &pass)) {
		int error = ipc_content_next(&copy->content, &pass, block, block_size, &part);

		if (error < 0)
			return error;
		mail_seven_bit_scan(copy->form, part);
	}
	switch (mail_seven_bit_scanned(copy->form)) {
	case MAIL_SEVEN_BIT_NONE:
		mailbox_copy_clear(copy);
		return 0;
	case MAIL_SEVEN_BIT_CONVERT:
		return 0;
	default:
		return MAILBOX_COPY_SEALED;
	}
}

bool mailbox_copy_is_done(const struct mailbox_copy *copy)
{
	return ipc_content_is_passed(&copy->content, &copy->pass);
}

/* PART, or what it becomes; the latter is valid until the next call. */
static struct str encode_part_of_copy(struct mailbox_copy *copy, struct str part)
{
	if (copy->form == NULL)
		return part;
	buffer_reset(&copy->piece);
	mail_seven_bit_convert(copy->form, part, &copy->piece);
	if (mailbox_copy_is_done(copy))
		mail_seven_bit_converted(copy->form, &copy->piece);
	return buffer_view(&copy->piece);
}

int mailbox_copy_next(struct mailbox_copy *copy, char *block, size_t block_size, struct buffer *out)
{
	bool has_header = copy->pass.position == 0 && copy->owner.recipient.length > 0;
	struct str part;
	int error = ipc_content_next(&copy->content, &copy->pass, block, block_size, &part);

	if (error < 0)
		return error;
	if (has_header && is_loop(part, &copy->owner))
		return MAILBOX_COPY_LOOP;
	if (has_header)
		part = without_paths(copy, part);
	part = encode_part_of_copy(copy, part);
	convert_line_ends(copy, part.data, part.length, out);
	if (mailbox_copy_is_done(copy) && copy->held_cr)
		append_to_copy(copy, "\r", 1, out);
	return 0;
}
