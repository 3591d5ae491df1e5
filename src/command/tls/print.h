// SPDX-License-Identifier: ISC
/*
 * command/tls/print.h - what "stagepost tls" shows of a host.
 */
#ifndef COMMAND_TLS_PRINT_H
#define COMMAND_TLS_PRINT_H

#include "deliver/remote/probe.h"

/* Append RESULT, for DESTINATION: as lines for people; as an object of JSON. */
void command_tls_text(struct str destination, const struct remote_probe_result *result,
		      struct buffer *out);
void command_tls_json(struct str destination, const struct remote_probe_result *result,
		      struct buffer *out);

#endif
