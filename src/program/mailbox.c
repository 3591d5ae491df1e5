// SPDX-License-Identifier: ISC
/* mailbox - records messages and files each once: one transport for each service of kind mailbox
 * or imap. "decode" decodes them. */
#include "deliver/mailbox/mailbox.h"
#include "deliver/mailbox/open.h"
#include "deliver/mailbox/prune.h"
#include "mailbox/maildir.h"
#include "os/process/process.h"
#include "program/kind/service.h"
#include "supervisor/child/child.h"

enum { CONCURRENCY = 1000 };

static struct {
	const struct child *child;
	struct decode_client *decoder; /* shared by all services, since the first one */
	struct directory *directory;   /* likewise */
	struct mailbox_prune *prune;   /* likewise */
	size_t services;
} mailbox_program;

static void replace_decoder(const char *socket)
{
	child_replace(mailbox_program.child, socket);
}

static void connect_peers(struct os_loop *loop, const struct config *config)
{
	char path[108];

	mailbox_program.decoder = decode_client_new(
		loop, config->run, child_token(mailbox_program.child, "mailbox"), replace_decoder);
	child_path(mailbox_program.child, "directory", path);
	mailbox_program.directory = directory_new(loop, config, path);
	mailbox_program.prune = mailbox_prune_new(loop, config);
}

/* What is shared is told once, before the transports. */
static bool fits_mailbox_process(struct child *child, const struct config *config)
{
	(void)child;
	if (mailbox_program.services > 0) {
		directory_configure(mailbox_program.directory, config);
		mailbox_prune_configure(mailbox_program.prune, config);
	}
	return mailbox_record_fits(config);
}

static void *new_mailbox_transport(struct child *child, const struct config *config,
				   const struct config_service *service)
{
	if (mailbox_program.services++ == 0)
		connect_peers(child->loop, config);
	return deliver_mailbox_new(
		&(struct deliver_mailbox_peers){.loop = child->loop,
						.decoder = mailbox_program.decoder,
						.directory = mailbox_program.directory},
		config, service);
}

static void free_mailbox_transport(void *transport)
{
	deliver_mailbox_free(transport);
	if (--mailbox_program.services > 0)
		return;
	mailbox_prune_free(mailbox_program.prune);
	decode_client_free(mailbox_program.decoder);
	directory_free(mailbox_program.directory);
}

static void make_parent(const char *path)
{
	struct str text = str_from(path);
	ptrdiff_t slash = str_find_last(text, '/');

	if (slash > 0)
		(void)!maildir_make_base(str_slice(path, (size_t)slash));
}

/* The directories must exist for the sandbox to allow them; this process creates them if it may.
 * Otherwise mail waits until they exist. */
static int open_mailbox(struct child *child)
{
	const struct config *config = child->config;

	mailbox_program.child = child;
	os_process_private_mask();
	mailbox_record_prepare(config);
	if (config->record.backend == CONFIG_RECORD_SQLITE)
		make_parent(config->record.path);
	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].kind == CONFIG_SERVICE_MAILBOX)
			(void)!maildir_make_base(config_mailbox_base(&config->services[i]));
	return 0;
}

/* Both kinds file messages; only their stores differ. */
#define FILES_ONCE(which)                                                                     \
	{                                                                                     \
		.kind = (which), .concurrency = CONCURRENCY, .new = new_mailbox_transport,    \
		.configure = deliver_mailbox_configure,                                       \
		.jobs = {deliver_mailbox_start, deliver_mailbox_drain, deliver_mailbox_lost}, \
		.free = free_mailbox_transport                                                \
	}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		FILES_ONCE(CONFIG_SERVICE_MAILBOX),
		FILES_ONCE(CONFIG_SERVICE_IMAP),
		{0},
	};

	return service_main(argc, argv,
			    &(struct service_program){.name = "mailbox",
						      .file = mailbox_program_file,
						      .kinds = kinds,
						      .open = open_mailbox,
						      .fits = fits_mailbox_process});
}
