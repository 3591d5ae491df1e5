// SPDX-License-Identifier: ISC
#include "deliver/lmtp.h"
#include "base/panic.h"
#include "deliver/remote_attempt.h"
#include <stdio.h>
#include <stdlib.h>

enum { NAME_SIZE = 128, TRIGGER_SIZE = 64 };

/* Jobs under way point into it: it stays as it is when the configuration changes. */
struct target {
	struct dns_server server;
	char name[NAME_SIZE];       /* of the server, for people */
	char key[NAME_SIZE];        /* of connections to it */
	char trigger[TRIGGER_SIZE]; /* "service.NAME" */
	unsigned users;             /* jobs, and one while it is the current one */
};

struct deliver_lmtp {
	struct remote_carrier carrier;
	struct target *target;
};

static struct target *target_new(const struct config_service *service)
{
	const struct config_endpoint *endpoint = &service->address;
	struct target *target = memory_alloc_zero(1, sizeof *target);
	bool is_address;

	if (endpoint->port == 0)
		is_address = os_socket_address_of_path(endpoint->host, &target->server.address);
	else
		is_address = os_socket_address_parse(endpoint->host, endpoint->port,
						     &target->server.address);
	if (!is_address)
		panic("the configuration has %s for an address", endpoint->text);
	snprintf(target->name, sizeof target->name, "%s",
		 endpoint->port == 0 ? endpoint->text : endpoint->host);
	snprintf(target->key, sizeof target->key, "%s", endpoint->text);
	snprintf(target->trigger, sizeof target->trigger, "service.%s", service->name);
	target->server.host = target->name;
	target->users = 1;
	return target;
}

static void target_release(struct target *target)
{
	if (target != NULL && --target->users == 0)
		free(target);
}

static void find(void *context, struct remote_attempt *attempt)
{
	const struct target *target = context;

	remote_attempt_try(attempt, &target->server, 1, target->trigger);
}

static void end(void *context)
{
	target_release(context);
}

static const struct remote_finder finder = {find, end};

struct deliver_lmtp *deliver_lmtp_new(struct os_loop *loop, const struct config *config,
				      const struct config_service *service)
{
	struct deliver_lmtp *lmtp = memory_alloc_zero(1, sizeof *lmtp);

	remote_carrier_init(&lmtp->carrier, loop, SMTP_CLIENT_LMTP);
	deliver_lmtp_configure(lmtp, config, service);
	return lmtp;
}

void deliver_lmtp_free(struct deliver_lmtp *lmtp)
{
	if (lmtp == NULL)
		return;
	remote_carrier_clear(&lmtp->carrier);
	target_release(lmtp->target);
	free(lmtp);
}

void deliver_lmtp_configure(struct deliver_lmtp *lmtp, const struct config *config,
			    const struct config_service *service)
{
	remote_carrier_configure(&lmtp->carrier, config->hostname,
				 config->remote_connect_timeout * SECOND_US,
				 service->timeout * SECOND_US, config->convert_8bit);
	target_release(lmtp->target);
	lmtp->target = target_new(service);
}

void deliver_lmtp_start(struct deliver_lmtp *lmtp, struct deliver_helper_job *job)
{
	struct target *target = lmtp->target;

	target->users++;
	remote_attempt_start(&lmtp->carrier, job, target->key, &finder, target);
}

void deliver_lmtp_give_up(struct deliver_lmtp *lmtp)
{
	remote_carrier_give_up(&lmtp->carrier);
}

void deliver_lmtp_drain(struct deliver_lmtp *lmtp)
{
	remote_carrier_drain(&lmtp->carrier);
}
