// SPDX-License-Identifier: ISC
/*
 * program/kind/listen_service.h - what the configuration says of a listen section, for SMTP's
 * engine.
 */
#ifndef PROGRAM_KIND_LISTEN_SERVICE_H
#define PROGRAM_KIND_LISTEN_SERVICE_H

#include "config/config.h"
#include "smtp/server/server.h"

/* SERVICE is zero; its texts stay with it. */
void listen_service_fill(struct smtp_service *service, const struct config *config,
			 const struct config_listen *listen);

#endif
