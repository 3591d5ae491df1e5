// SPDX-License-Identifier: ISC
/* policy/https/https.h: nobody in the world asks by HTTPS, as no settings have him do so. */
#include "policy/https/https.h"
#include <errno.h>

int https_new(struct os_loop *loop, struct https **https_out)
{
	(void)loop;
	(void)https_out;
	return -ENOTSUP;
}

void https_configure(struct https *https, struct dns_resolver *resolver, const char *authorities,
		     bool allows_private)
{
	(void)https;
	(void)resolver;
	(void)authorities;
	(void)allows_private;
}

void https_free(struct https *https)
{
	(void)https;
}

struct https_request *https_ask(struct https *https, const struct https_ask *ask,
				void (*done)(void *context, const struct https_answer *answer),
				void *context)
{
	(void)https;
	(void)ask;
	(void)done;
	(void)context;
	return NULL;
}

void https_cancel(struct https_request *request)
{
	(void)request;
}
