// SPDX-License-Identifier: ISC
#include "deliver/mailbox/mailbox.h"
#include "base/panic.h"
#include "deliver/mailbox/prepare.h"
#include "deliver/mailbox/turns.h"
#include "os/process/process.h"
#include <stdlib.h>

struct deliver_mailbox {
	struct mailbox_prepare *prepare;
	struct mailbox_turns *turns;
};

static void on_mailbox_entry_ready(void *context, struct mailbox_entry *entry)
{
	struct deliver_mailbox *mailbox = context;

	mailbox_turns_add(mailbox->turns, entry);
}

struct deliver_mailbox *deliver_mailbox_new(const struct deliver_mailbox_peers *peers,
					    const struct config *config,
					    const struct config_service *service)
{
	struct deliver_mailbox *mailbox = memory_alloc_zero(1, sizeof *mailbox);

	os_process_private_mask();
	mailbox->prepare = mailbox_prepare_new(peers, on_mailbox_entry_ready, mailbox);
	mailbox->turns = mailbox_turns_new(peers->loop);
	deliver_mailbox_configure(mailbox, config, service);
	return mailbox;
}

void deliver_mailbox_configure(void *transport, const struct config *config,
			       const struct config_service *service)
{
	struct deliver_mailbox *mailbox = transport;

	mailbox_prepare_configure(mailbox->prepare, config, service);
	mailbox_turns_configure(mailbox->turns, config, service);
}

void deliver_mailbox_start(void *transport, struct deliver_helper_job *job)
{
	struct deliver_mailbox *mailbox = transport;

	mailbox_prepare_start(mailbox->prepare, mailbox_entry_new(job));
}

void deliver_mailbox_drain(void *transport)
{
	struct deliver_mailbox *mailbox = transport;

	mailbox_turns_drain(mailbox->turns);
	mailbox_prepare_drop(mailbox->prepare);
}

void deliver_mailbox_lost(void *transport)
{
	struct deliver_mailbox *mailbox = transport;

	mailbox_turns_lose(mailbox->turns);
	mailbox_prepare_drop(mailbox->prepare);
}

void deliver_mailbox_free(void *transport)
{
	struct deliver_mailbox *mailbox = transport;

	if (mailbox == NULL)
		return;
	mailbox_turns_free(mailbox->turns);
	mailbox_prepare_drop(mailbox->prepare);
	mailbox_prepare_free(mailbox->prepare);
	free(mailbox);
}
