// SPDX-License-Identifier: ISC
#include "fake_unbound.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "dns/alive.h"
#include "dns/hosts.h"
#include "os/worker.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct played played;

int ub_resolve_async(struct ub_ctx *context, const char *name, int type, int class, void *data,
		     ub_callback_type call, int *id)
{
	int error = played.refuses;

	(void)context;
	played.refuses = 0;
	if (error != 0)
		return error;
	assert_string_equal(name, "asked.example");
	assert_int_equal(type, DNS_TYPE_AAAA);
	assert_int_equal(class, 1);
	played.asked[played.count] = (struct asked){.context = data, .call = call};
	*id = played.count++;
	return 0;
}

int ub_cancel(struct ub_ctx *context, int id)
{
	(void)context;
	assert_in_range(id, 0, played.count - 1);
	assert_non_null(played.asked[id].call);
	played.asked[id].call = NULL;
	return 0;
}

void ub_resolve_free(struct ub_result *result)
{
	if (result != NULL)
		played.results--;
}

const char *ub_strerror(int error)
{
	return error == UB_NOMEM ? "out of memory" : "no error";
}

int ub_process(struct ub_ctx *context)
{
	(void)context;
	played.processed++;
	return played.process_error;
}

int ub_fd(struct ub_ctx *context)
{
	(void)context;
	return played.descriptor;
}

/* Each line of the log is a call; one of them fails. */
static int note_call(const char *call, const char *first, const char *second)
{
	size_t used = strlen(played.log);

	snprintf(played.log + used, sizeof played.log - used, "%s %s%s\n", call, first, second);
	return ++played.calls == played.fails_at ? UB_SYNTAX : 0;
}

struct ub_ctx *ub_ctx_create(void)
{
	if (played.system_error != 0)
		errno = played.system_error;
	return note_call("create", "", "") == 0 ? (struct ub_ctx *)&played : NULL;
}

void ub_ctx_delete(struct ub_ctx *context)
{
	assert_ptr_equal(context, &played);
	(void)note_call("delete", "", "");
}

int ub_ctx_set_option(struct ub_ctx *context, const char *name, const char *value)
{
	(void)context;
	return note_call("option", name, value);
}

int ub_ctx_set_fwd(struct ub_ctx *context, const char *server)
{
	(void)context;
	return note_call("forward", server, "");
}

int ub_ctx_add_ta(struct ub_ctx *context, const char *anchor)
{
	(void)context;
	return note_call("anchor", anchor, "");
}

int ub_ctx_resolvconf(struct ub_ctx *context, const char *path)
{
	(void)context;
	assert_null(path);
	(void)note_call("resolvconf", "", "");
	if (played.system_error != 0)
		errno = played.system_error;
	return played.resolvconf_error;
}

int ub_ctx_async(struct ub_ctx *context, int is_thread)
{
	(void)context;
	return note_call("async", is_thread == 1 ? "1" : "other", "");
}

int ub_ctx_zone_remove(struct ub_ctx *context, const char *zone)
{
	(void)context;
	return note_call("remove", zone, "");
}

struct dns_alive *dns_alive_new(struct os_loop *loop, struct ub_ctx *unbound)
{
	(void)loop;
	(void)unbound;
	return NULL;
}

void dns_alive_free(struct dns_alive *alive)
{
	(void)alive;
}

void dns_alive_asked(struct dns_alive *alive)
{
	(void)alive;
	played.open++;
}

void dns_alive_answered(struct dns_alive *alive)
{
	(void)alive;
	played.open--;
}

void dns_alive_cancelled(struct dns_alive *alive)
{
	(void)alive;
	played.open--;
}

struct dns_reach *dns_reach_new(struct os_loop *loop, const char *server)
{
	(void)loop;
	(void)server;
	return NULL;
}

void dns_reach_free(struct dns_reach *reach)
{
	(void)reach;
}

struct dns_reach_question *
dns_reach_ask(struct dns_reach *reach, void (*done)(void *context, bool is_reached), void *context)
{
	struct dns_reach_question *question = memory_alloc(sizeof *question);

	(void)reach;
	*question = (struct dns_reach_question){done, context, played.reach};
	played.reach = question;
	return question;
}

void dns_reach_cancel(struct dns_reach_question *question)
{
	struct dns_reach_question **place = &played.reach;

	if (question == NULL)
		return;
	while (*place != question)
		place = &(*place)->next;
	*place = question->next;
	free(question);
}

struct dns_hosts *__wrap_dns_hosts_read(void);
struct dns_hosts *__wrap_dns_hosts_read(void)
{
	return dns_hosts_parse(STR("192.0.2.1 four.example\n2001:db8::1 six.example\n"));
}

/* Its time-out would be of the clock that is played. */
bool __wrap_os_worker_wait(struct os_worker *worker, int64_t timeout_us);
bool __wrap_os_worker_wait(struct os_worker *worker, int64_t timeout_us)
{
	assert_int_equal(timeout_us, SECOND_US);
	while (os_worker_is_busy(worker))
		usleep(100);
	return true;
}
