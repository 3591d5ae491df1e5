// SPDX-License-Identifier: ISC
#include "deliver/mailbox/open.h"
#include "base/panic.h"
#include "filing/mailstore/imap.h"
#include "filing/mailstore/maildir.h"
#include "os/file/secret.h"

static enum maildir_sync sync_of_mailstore(enum config_sync sync)
{
	if (sync == CONFIG_SYNC_FILESYSTEM)
		return MAILDIR_SYNC_FILESYSTEM;
	return sync == CONFIG_SYNC_FILES ? MAILDIR_SYNC_FILES : MAILDIR_SYNC_AUTO;
}

static struct mailstore *new_maildir(const struct config *config,
				     const struct config_service *service)
{
	return mailstore_maildir_new(&(struct mailstore_maildir_settings){
		.path = service->path,
		.host = config->hostname,
		.sync = sync_of_mailstore(config->queue_sync),
	});
}

static struct mailstore *new_imap(const struct config *config, const struct config_service *service,
				  const char *password)
{
	static const enum mailstore_imap_tls tls[] = {
		[CONFIG_IMAP_PLAIN] = MAILSTORE_IMAP_PLAIN,
		[CONFIG_IMAP_STARTTLS] = MAILSTORE_IMAP_STARTTLS,
		[CONFIG_IMAP_IMPLICIT] = MAILSTORE_IMAP_IMPLICIT,
	};
	bool has_name = *service->server_name != '\0';

	return mailstore_imap_new(&(struct mailstore_imap_settings){
		.host = has_name ? service->server_name : service->address.host,
		.address = has_name ? service->address.host : "",
		.port = service->address.port,
		.tls = tls[service->security],
		.authorities = config_imap_authority(config, service),
		.login = service->login,
		.password = password,
		.prefix = service->prefix,
		.timeout_s = service->timeout,
	});
}

int mailbox_store_new(const struct config *config, const struct config_service *service,
		      struct mailstore **store_out)
{
	struct buffer password = {0};
	int error;

	if (service->kind == CONFIG_SERVICE_MAILBOX) {
		*store_out = new_maildir(config, service);
		return 0;
	}
	error = os_secret_read(service->password_file, &password);
	buffer_append_byte(&password, '\0');
	if (error == 0)
		*store_out = new_imap(config, service, buffer_data(&password));
	buffer_clear(&password);
	return error;
}
