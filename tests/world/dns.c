// SPDX-License-Identifier: ISC
/* libunbound of a world without a name server: every question fails, at once. */
#include "description.h"
#include <err.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unbound.h>

struct ub_ctx {
	struct description description;
	int descriptor;
};

static unsigned poll_nothing(struct description *description)
{
	(void)description;
	return OS_WATCH_NONE;
}

static void close_context(struct description *description)
{
	free(description);
}

static const struct description_kind context_description = {"names", poll_nothing, close_context,
							    NULL,    NULL,         S_IFIFO};

struct ub_ctx *ub_ctx_create(void)
{
	struct ub_ctx *context = calloc(1, sizeof *context);

	if (context == NULL)
		err(1, "no memory");
	description_init(&context->description, &context_description);
	context->descriptor = table_add(&context->description);
	return context;
}

void ub_ctx_delete(struct ub_ctx *context)
{
	if (context->descriptor >= 0)
		(void)table_close(context->descriptor);
}

int ub_fd(struct ub_ctx *context)
{
	return context->descriptor;
}

int ub_ctx_set_option(struct ub_ctx *context, const char *option, const char *value)
{
	(void)context;
	(void)option;
	(void)value;
	return 0;
}

int ub_ctx_set_fwd(struct ub_ctx *context, const char *address)
{
	(void)context;
	(void)address;
	return 0;
}

int ub_ctx_resolvconf(struct ub_ctx *context, const char *file)
{
	(void)context;
	(void)file;
	return 0;
}

int ub_ctx_hosts(struct ub_ctx *context, const char *file)
{
	(void)context;
	(void)file;
	return 0;
}

int ub_ctx_async(struct ub_ctx *context, int thread)
{
	(void)context;
	(void)thread;
	return 0;
}

int ub_ctx_zone_remove(struct ub_ctx *context, const char *zone)
{
	(void)context;
	(void)zone;
	return 0;
}

int ub_process(struct ub_ctx *context)
{
	(void)context;
	return 0;
}

int ub_resolve_async(struct ub_ctx *context, const char *name, int type, int class, void *data,
		     ub_callback_type callback, int *id)
{
	(void)context;
	(void)name;
	(void)type;
	(void)class;
	(void)data;
	(void)callback;
	(void)id;
	return UB_SERVFAIL;
}

int ub_cancel(struct ub_ctx *context, int id)
{
	(void)context;
	(void)id;
	return 0;
}

void ub_resolve_free(struct ub_result *result)
{
	(void)result;
}

const char *ub_strerror(int error)
{
	(void)error;
	return "there is no name server in this world";
}
