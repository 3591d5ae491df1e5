// SPDX-License-Identifier: ISC
/* policy/https/internal.h - the library's handle and its place in the event loop. */
#ifndef POLICY_HTTPS_INTERNAL_H
#define POLICY_HTTPS_INTERNAL_H

#include "policy/https/https.h"
#include <curl/curl.h>

struct https_watch;

struct https {
	struct os_loop *loop;
	struct dns_resolver *resolver;
	char *authorities;
	bool allows_private;
	CURLM *multi;
	struct os_timer *timer;
	struct os_task collect; /* reads which transfers have ended, outside of the library */
	struct https_watch *watches;
};

/* Implemented in request.c: the transfer has ended with RESULT. */
void https_request_end(struct https_request *request, CURLcode result);

#endif
