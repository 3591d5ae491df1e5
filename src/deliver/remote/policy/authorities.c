// SPDX-License-Identifier: ISC
#include "deliver/remote/policy/authorities.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/file/watch.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct remote_authorities {
	bool is_lmtp;
	struct remote_authorities_file *files;
	struct remote_authorities_watcher watcher;
	struct os_timer *timer; /* NULL: files are not watched */
};

/* After the last event: whoever replaces one file may replace others, or write it in parts. */
static const int64_t QUIET_US = 2 * SECOND_US;
/* After one could not be read for a reason that passes: a new process tries again. */
static const int64_t AGAIN_US = 10 * SECOND_US;

const struct remote_authorities_file *
remote_authorities_find(const struct remote_authorities *authorities, const char *path)
{
	const struct remote_authorities_file *file = authorities->files;

	while (file != NULL && strcmp(file->path, path) != 0)
		file = file->next;
	return file;
}

static void on_authority_file_event(void *context)
{
	const struct remote_authorities *authorities = context;

	os_timer_start(authorities->timer, QUIET_US);
}

static void stop_watching(const struct remote_authorities *authorities)
{
	struct remote_authorities_file *file = authorities->files;

	for (; file != NULL; file = file->next) {
		os_file_watch_free(file->watch);
		file->watch = NULL;
	}
}

static void on_quiet(void *context)
{
	const struct remote_authorities *authorities = context;

	stop_watching(authorities);
	log_event(EVENT_TLS_AUTHORITY_CHANGED);
	authorities->watcher.changed(authorities->watcher.context);
}

/* Not for its name, its rights or what is in it: then only a change helps. */
static bool may_authority_error_pass(int error)
{
	return error != -ENOENT && error != -EACCES && error != -EINVAL;
}

/* It is watched before it is read, so that no change is missed. */
static void read_authority_file(struct remote_authorities *authorities, const char *path)
{
	struct remote_authorities_file *file = memory_alloc_zero(1, sizeof *file);
	struct buffer reason = {0};
	int error;

	file->path = memory_copy_string(path);
	file->next = authorities->files;
	authorities->files = file;
	if (authorities->timer != NULL)
		(void)!os_file_watch_name(authorities->watcher.loop, path, on_authority_file_event,
					  authorities, &file->watch);
	error = tls_authorities_open(path, &file->authorities, &reason);
	if (error < 0) {
		buffer_append_byte(&reason, '\0');
		file->problem = memory_copy_string(buffer_data(&reason));
	}
	if (error < 0 && may_authority_error_pass(error) && authorities->timer != NULL)
		os_timer_start(authorities->timer, AGAIN_US);
	buffer_clear(&reason);
}

const char *remote_authorities_of(const struct config *config, const char *own)
{
	return own[0] != '\0' ? own : config->tls_authorities;
}

bool remote_authorities_decide(enum config_tls_level level)
{
	return level == CONFIG_TLS_VERIFY || level == CONFIG_TLS_SECURE;
}

/* Calls USE for the file of each policy that has one. False: a call returned false. */
static bool each_authority_file(struct remote_authorities *authorities, const struct config *config,
				bool (*use)(struct remote_authorities *authorities,
					    const char *path))
{
	bool is_good = true;

	for (size_t i = 0; authorities->is_lmtp && i < config->service_count; i++) {
		const struct config_service *service = &config->services[i];

		if (service->kind == CONFIG_SERVICE_LMTP && remote_authorities_decide(service->tls))
			is_good &=
				use(authorities, remote_authorities_of(config, service->authority));
	}
	if (authorities->is_lmtp)
		return is_good;
	for (size_t i = 0; i < config->tls_policy_count; i++) {
		const struct config_tls_policy *policy = &config->tls_policies[i];

		if (remote_authorities_decide(policy->level))
			is_good &=
				use(authorities, remote_authorities_of(config, policy->authority));
	}
	/* with TLS in also for REQUIRETLS, which comes only by it */
	if (remote_authorities_decide(config->remote_tls) || config->mta_sts ||
	    config_has_tls_in(config))
		is_good &= use(authorities, config->tls_authorities);
	return is_good;
}

static bool read_new(struct remote_authorities *authorities, const char *path)
{
	if (remote_authorities_find(authorities, path) == NULL)
		read_authority_file(authorities, path);
	return true;
}

static bool is_known_authority_file(struct remote_authorities *authorities, const char *path)
{
	return remote_authorities_find(authorities, path) != NULL;
}

struct remote_authorities *remote_authorities_new(const struct config *config, bool is_lmtp,
						  const struct remote_authorities_watcher *watcher)
{
	struct remote_authorities *authorities = memory_alloc_zero(1, sizeof *authorities);

	authorities->is_lmtp = is_lmtp;
	if (watcher != NULL) {
		authorities->watcher = *watcher;
		authorities->timer = os_timer_new(watcher->loop, on_quiet, authorities);
	}
	(void)each_authority_file(authorities, config, read_new);
	return authorities;
}

void remote_authorities_free(struct remote_authorities *authorities)
{
	struct remote_authorities_file *file;

	stop_watching(authorities);
	if (authorities->timer != NULL)
		os_timer_free(authorities->timer);
	while ((file = authorities->files) != NULL) {
		authorities->files = file->next;
		tls_authorities_free(file->authorities);
		free(file->problem);
		free(file->path);
		free(file);
	}
	free(authorities);
}

void remote_authorities_log(const struct remote_authorities *authorities)
{
	const struct remote_authorities_file *file = authorities->files;

	for (; file != NULL; file = file->next)
		if (file->problem != NULL)
			log_event(EVENT_TLS_AUTHORITY_UNREADABLE, log_string(text, file->problem));
}

bool remote_authorities_has_all(struct remote_authorities *authorities, const struct config *config)
{
	return each_authority_file(authorities, config, is_known_authority_file);
}
