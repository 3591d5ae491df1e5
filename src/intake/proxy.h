// SPDX-License-Identifier: ISC
/*
 * intake/proxy.h - a connection from a proxy, up to the header in which it gives its client's
 * address (smtp/proxy.h). Until then it counts as a session.
 */
#ifndef INTAKE_PROXY_H
#define INTAKE_PROXY_H

#include "intake/session.h"

/* Takes over SOCKET, whose PEER must be in proxy_from. When the header is complete, the client's
 * session begins. */
void intake_proxy_new(struct intake *intake, const struct smtp_service *service,
		      const struct intake_security *security, int socket,
		      const union os_socket_address *peer);
/* Closes all such connections. */
void intake_proxy_stop(struct intake *intake);

#endif
