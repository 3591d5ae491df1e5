// SPDX-License-Identifier: ISC
#include "deliver/remote/session/form.h"
#include "base/panic.h"
#include "deliver/remote/session/content.h"
#include "header/field.h"
#include "mail/seven_bit/seven_bit.h"
#include <stdlib.h>

enum { LOOK_MAX = 32 }; /* chunks at a time: other sessions wait meanwhile */

struct remote_form {
	struct ipc_content content;
	bool breaks_lines;
	struct mail_seven_bit *converter;
	enum mail_seven_bit_need need;
	bool is_scanned;
	bool is_measured;
	struct ipc_content_pass pass; /* over the content */
	uint64_t size;
	struct remote_breaks breaks;
	struct buffer piece;
};

/* What is no field, as the first line of a mailbox file, stays. */
static bool encode_field(struct str text, struct buffer *out)
{
	struct header_field field;

	if (header_field_parse(text, &field))
		return header_field_to_ascii(&field, out);
	buffer_append_str(out, text);
	return false;
}

struct remote_form *remote_form_new(const struct ipc_content *content,
				    const struct remote_form_rules *rules)
{
	struct remote_form *form = memory_alloc_zero(1, sizeof *form);

	form->content = *content;
	form->breaks_lines = rules->breaks_lines;
	form->converter = mail_seven_bit_new();
	if (rules->is_binary)
		mail_seven_bit_set_binary(form->converter);
	if (rules->wanted & SMTP_CLIENT_FORM_ASCII_HEADER)
		mail_seven_bit_set_encoder(form->converter, encode_field);
	if (!rules->is_binary && !(rules->wanted & SMTP_CLIENT_FORM_SEVEN_BIT))
		mail_seven_bit_keep_bodies(form->converter);
	return form;
}

void remote_form_free(struct remote_form *form)
{
	if (form == NULL)
		return;
	mail_seven_bit_free(form->converter);
	buffer_clear(&form->piece);
	free(form);
}

static int read_next_content(struct remote_form *form, char *block, struct str *part_out)
{
	return ipc_content_next(&form->content, &form->pass, block, REMOTE_CHUNK_SIZE, part_out);
}

static bool is_at_end(const struct remote_form *form)
{
	return ipc_content_is_passed(&form->content, &form->pass);
}

static int scan_form_content(struct remote_form *form, char *block)
{
	struct str part;
	int error = read_next_content(form, block, &part);

	if (error < 0)
		return error;
	mail_seven_bit_scan(form->converter, part);
	if (is_at_end(form)) {
		form->need = mail_seven_bit_scanned(form->converter);
		form->is_scanned = true;
		form->pass = (struct ipc_content_pass){0};
	}
	return 0;
}

int remote_form_read(struct remote_form *form, char *block, struct str *part_out, bool *is_last_out)
{
	struct str part;
	int error = read_next_content(form, block, &part);

	if (error < 0)
		return error;
	*is_last_out = is_at_end(form);
	*part_out = part;
	if (form->need == MAIL_SEVEN_BIT_NONE)
		return 0;
	buffer_reset(&form->piece);
	mail_seven_bit_convert(form->converter, part, &form->piece);
	if (*is_last_out)
		mail_seven_bit_converted(form->converter, &form->piece);
	*part_out = buffer_view(&form->piece);
	return 0;
}

static int measure_form(struct remote_form *form, char *block)
{
	struct str part;
	bool is_last;
	int error = remote_form_read(form, block, &part, &is_last);

	if (error < 0)
		return error;
	form->size += part.length;
	remote_breaks_count(&form->breaks, part);
	if (is_last) {
		form->is_measured = true;
		form->pass = (struct ipc_content_pass){0};
	}
	return 0;
}

static enum remote_form_state state_of(const struct remote_form *form)
{
	if (form->is_scanned && form->need == MAIL_SEVEN_BIT_SIGNED)
		return REMOTE_FORM_SEALED;
	if (form->is_scanned && form->need == MAIL_SEVEN_BIT_UNPARSED)
		return REMOTE_FORM_UNPARSED;
	if (form->is_scanned && form->need == MAIL_SEVEN_BIT_ADDRESS)
		return REMOTE_FORM_ADDRESS;
	return form->is_measured ? REMOTE_FORM_READY : REMOTE_FORM_UNKNOWN;
}

int remote_form_look(struct remote_form *form, char *block, enum remote_form_state *state_out)
{
	for (int i = 0; i < LOOK_MAX && state_of(form) == REMOTE_FORM_UNKNOWN; i++) {
		int error = form->is_scanned ? measure_form(form, block)
					     : scan_form_content(form, block);

		if (error < 0)
			return error;
	}
	*state_out = state_of(form);
	return 0;
}

uint64_t remote_form_size(const struct remote_form *form)
{
	return form->size + (form->breaks_lines ? remote_breaks_size(&form->breaks) : 0);
}
