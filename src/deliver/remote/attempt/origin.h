// SPDX-License-Identifier: ISC
/*
 * deliver/remote/attempt/origin.h - where a message came from, for servers that are told that
 * (XFORWARD).
 */
#ifndef DELIVER_REMOTE_ATTEMPT_ORIGIN_H
#define DELIVER_REMOTE_ATTEMPT_ORIGIN_H

#include "base/attributes.h"
#include "config/config.h"
#include "deliver/helper.h"
#include "smtp/client/client.h"

/* Whether the next hop RELAY is told. */
bool remote_origin_is_told(const struct config *config, const char *relay);
/* What is known of where the message of JOB came from; in its arena. */
const struct smtp_client_origin *remote_origin_of(const struct deliver_helper_job *job);

#endif
