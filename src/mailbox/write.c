// SPDX-License-Identifier: ISC
/* Writes one copy of a message into tmp/. */
#include "mailbox/copy.h"
#include "mailbox/internal.h"
#include "os/file/file.h"

static int flush_maildir_output(struct buffer *output, int file, uint64_t *written)
{
	int result = os_file_write(file, buffer_data(output), output->length, *written);

	*written += output->length;
	buffer_reset(output);
	return result;
}

static int write_maildir_copy(struct maildir *maildir, struct mailbox_copy *copy, int file,
			      uint64_t *written)
{
	struct buffer *output = &maildir->output;
	int result = 0;

	do {
		if (!mailbox_copy_is_done(copy))
			result = mailbox_copy_next(copy, maildir->input, MAILDIR_BLOCK, output);
		if (result == 0)
			result = flush_maildir_output(output, file, written);
	} while (result == 0 && !mailbox_copy_is_done(copy));
	return result;
}

/* Writes what comes before the message into the maildir's output. 0 or -errno. */
static int begin_maildir_copy(struct maildir *maildir, const struct maildir_delivery *delivery,
			      struct mailbox_copy *copy)
{
	*copy = (struct mailbox_copy){0};
	buffer_reset(&maildir->output);
	if (delivery->is_bare)
		mailbox_copy_begin_bare(copy, &delivery->content);
	else if (delivery->is_filed)
		return mailbox_copy_begin_filed(copy, &delivery->content, delivery->sender,
						delivery->recipient, maildir->input, MAILDIR_BLOCK,
						&maildir->output);
	else
		mailbox_copy_begin(copy, &delivery->content, delivery->sender,
				   &(struct mailbox_copy_owner){delivery->recipient, delivery->via,
								delivery->site_key},
				   &maildir->output);
	return 0;
}

int maildir_write(struct maildir *maildir, const struct maildir_delivery *delivery, int file,
		  uint64_t *size_out, uint64_t *virtual_size_out)
{
	struct mailbox_copy copy;
	uint64_t written = 0;
	int result = begin_maildir_copy(maildir, delivery, &copy);

	if (result == 0 && delivery->is_binary)
		result = mailbox_copy_set_binary(&copy, maildir->input, MAILDIR_BLOCK);
	if (result == 0)
		result = write_maildir_copy(maildir, &copy, file, &written);
	mailbox_copy_clear(&copy);
	if (result != 0)
		return result;
	*size_out = written;
	*virtual_size_out = written + copy.lines;
	return 0;
}
