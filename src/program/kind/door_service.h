// SPDX-License-Identifier: ISC
/*
 * program/kind/door_service.h - what the configuration says of a listen section, for SMTP's
 * engine.
 */
#ifndef PROGRAM_KIND_DOOR_SERVICE_H
#define PROGRAM_KIND_DOOR_SERVICE_H

#include "config/config.h"
#include "smtp/server/server.h"

/* SERVICE is zero; its texts stay with it. */
void door_service_fill(struct smtp_service *service, const struct config *config,
		       const struct config_listen *listen);

#endif
