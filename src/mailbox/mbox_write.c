// SPDX-License-Identifier: ISC
/* Writes one message at the end of a mailbox's file. */
#include "base/timestamp.h"
#include "mail/address.h"
#include "mailbox/copy.h"
#include "mailbox/internal_mbox.h"
#include "os/clock.h"
#include "os/file/file.h"
#include <string.h>
#include <time.h>

static const char separator[] = "From ";

enum { SEPARATOR_LENGTH = sizeof separator - 1 };

/* Whether the line that begins is one to be quoted. */
struct mbox_quoting {
	bool is_undecided; /* so far it is ARROWS times ">", and MATCHED bytes of the separator */
	size_t arrows;
	size_t matched;
};

static void append_held(const struct mbox_quoting *quoting, struct buffer *out)
{
	for (size_t i = 0; i < quoting->arrows; i++)
		buffer_append_byte(out, '>');
	buffer_append(out, separator, quoting->matched);
}

static void begin_mbox_line(struct mbox_quoting *quoting)
{
	*quoting = (struct mbox_quoting){.is_undecided = true};
}

/* Copies the rest of a line; the bytes of TEXT that were used. */
static size_t copy_rest_of_mbox_line(struct mbox_quoting *quoting, struct str text,
				     struct buffer *out)
{
	const char *newline = memchr(text.data, '\n', text.length);
	size_t used = newline != NULL ? (size_t)(newline - text.data) + 1 : text.length;

	buffer_append(out, text.data, used);
	if (newline != NULL)
		begin_mbox_line(quoting);
	return used;
}

/* Looks at a byte of a line's beginning: 1 if it was used. */
static size_t quote_beginning(struct mbox_quoting *quoting, char byte, struct buffer *out)
{
	if (quoting->matched == 0 && byte == '>') {
		quoting->arrows++;
		return 1;
	}
	if (byte == separator[quoting->matched]) {
		quoting->matched++;
		if (quoting->matched < SEPARATOR_LENGTH)
			return 1;
		buffer_append_byte(out, '>');
		append_held(quoting, out);
		quoting->is_undecided = false;
		return 1;
	}
	append_held(quoting, out);
	quoting->is_undecided = false;
	return 0;
}

static void quote_mbox_text(struct mbox_quoting *quoting, struct str text, struct buffer *out)
{
	while (text.length > 0) {
		size_t used = quoting->is_undecided ? quote_beginning(quoting, text.data[0], out)
						    : copy_rest_of_mbox_line(quoting, text, out);

		text = str_skip(text, used);
	}
}

/* Ends the message with a whole line and an empty one. */
static void end_mbox_message(const struct mbox_quoting *quoting, struct buffer *out)
{
	bool is_line_open = !quoting->is_undecided || quoting->arrows > 0 || quoting->matched > 0;

	if (quoting->is_undecided)
		append_held(quoting, out);
	buffer_append_string(out, is_line_open ? "\n\n" : "\n");
}

/* The sender is one word. */
static void append_sender(struct str sender, struct buffer *head)
{
	for (size_t i = 0; i < sender.length; i++) {
		unsigned char byte = (unsigned char)sender.data[i];

		buffer_append_byte(head, byte <= ' ' || byte == 0x7f ? '-' : (char)byte);
	}
	if (sender.length == 0)
		buffer_append_string(head, "MAILER-DAEMON");
}

static void append_mbox_date(struct buffer *head)
{
	const time_t now = (time_t)(os_clock_wall_us() / SECOND_US);
	struct tm parts;
	char text[64];

	gmtime_r(&now, &parts);
	buffer_append(head, text, strftime(text, sizeof text, " %a %b %e %H:%M:%S %Y\n", &parts));
}

int mbox_write_head(const struct mbox_file *box, const struct maildir_delivery *delivery,
		    struct buffer *head)
{
	char end[2] = {'\n', '\n'};
	size_t count = box->size < sizeof end ? (size_t)box->size : sizeof end;
	ssize_t length =
		os_file_read(box->file, end + sizeof end - count, count, box->size - count);

	if (length < 0)
		return (int)length;
	if (end[1] != '\n')
		buffer_append_string(head, "\n\n");
	else if (end[0] != '\n')
		buffer_append_byte(head, '\n');
	buffer_append(head, separator, SEPARATOR_LENGTH);
	append_sender(mail_sender_told(delivery->sender), head);
	append_mbox_date(head);
	return 0;
}

/* Reads the next part of the message into the output; at its end, ends it. */
static int next_part(struct mbox *mbox, struct mailbox_copy *copy, struct mbox_quoting *quoting)
{
	int result = 0;

	if (!mailbox_copy_is_done(copy))
		result = mailbox_copy_next(copy, mbox->input, MBOX_BLOCK, &mbox->copy);
	quote_mbox_text(quoting, buffer_view(&mbox->copy), &mbox->output);
	buffer_reset(&mbox->copy);
	if (result == 0 && mailbox_copy_is_done(copy))
		end_mbox_message(quoting, &mbox->output);
	return result;
}

static int write_mbox_parts(struct mbox *mbox, struct mailbox_copy *copy, int file,
			    uint64_t *offset)
{
	struct mbox_quoting quoting = {.is_undecided = true};
	int result;

	do {
		result = next_part(mbox, copy, &quoting);
		if (result == 0)
			result = os_file_write(file, buffer_data(&mbox->output),
					       mbox->output.length, *offset);
		*offset += mbox->output.length;
		buffer_reset(&mbox->output);
	} while (result == 0 && !mailbox_copy_is_done(copy));
	return result;
}

int mbox_write(struct mbox *mbox, const struct mbox_file *box,
	       const struct maildir_delivery *delivery, struct str head, uint64_t *size_out)
{
	const struct mailbox_copy_owner owner = {delivery->recipient, delivery->via,
						 delivery->site_key};
	struct mailbox_copy copy = {0};
	uint64_t offset = box->size;
	int result = 0;

	buffer_reset(&mbox->copy);
	buffer_reset(&mbox->output);
	buffer_append_str(&mbox->output, head);
	mailbox_copy_begin(&copy, &delivery->content, delivery->sender, &owner, &mbox->copy);
	if (delivery->is_binary)
		result = mailbox_copy_set_binary(&copy, mbox->input, MBOX_BLOCK);
	if (result == 0)
		result = write_mbox_parts(mbox, &copy, box->file, &offset);
	mailbox_copy_clear(&copy);
	if (result == 0)
		*size_out = offset;
	return result;
}
