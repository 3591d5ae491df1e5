// SPDX-License-Identifier: ISC
#include "dns/resolver.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "dns/reach.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unbound.h>

#define QUERY_TIMEOUT_US (30 * SECOND_US)

enum { CLASS_IN = 1, SERVFAIL = 2 };

struct dns_resolver {
	struct os_loop *loop;
	struct ub_ctx *unbound;
	struct os_watch *watch;
	struct dns_reach *reach;
};

struct dns_query {
	struct dns_resolver *resolver;
	int id;                           /* of libunbound */
	bool is_asked;                    /* pending in libunbound */
	struct dns_reach_question *reach; /* after a failure, to find out why */
	struct os_timer *timer;
	void (*done)(void *context, const struct dns_answer *answer);
	void *context;
};

/* A server that does not answer is considered down after about 11 seconds, and retried
 * soon. There are no trust anchors yet, so no DNSSEC validation. */
static const struct {
	const char *name;
	const char *value;
} options[] = {
	{"module-config:", "iterator"},
	{"do-not-query-localhost:", "no"},
	{"infra-host-ttl:", "30"},
	{"infra-keep-probing:", "yes"},
	{"infra-cache-max-rtt:", "4000"},
	{"outgoing-range:", "1024"},
	{"num-queries-per-thread:", "1024"},
	{"use-syslog:", "no"},
	{"target-fetch-policy:", "0 0 0 0 0"},
	/* allow names of private networks, if the name servers know them */
	{"unblock-lan-zones:", "yes"},
};

/* Prefers the system's errno to libunbound's ERROR, which is less specific. */
static int error_of(int error)
{
	bool is_of_system = error == UB_READFILE || error == UB_PIPE || error == UB_SOCKET;

	if (error == UB_NOERROR)
		return 0;
	if (is_of_system && errno != 0)
		return -errno;
	return error == UB_NOMEM ? -ENOMEM : -EINVAL;
}

static int configure(struct ub_ctx *unbound, const char *server)
{
	for (size_t i = 0; i < COUNT_OF(options); i++)
		if (ub_ctx_set_option(unbound, options[i].name, options[i].value) != 0)
			return -EINVAL;
	if (*server != '\0' && ub_ctx_set_fwd(unbound, server) != 0)
		return -EINVAL;
	if (*server == '\0') {
		int error;

		errno = 0;
		error = error_of(ub_ctx_resolvconf(unbound, NULL));
		if (error < 0)
			return error;
		(void)ub_ctx_hosts(unbound, NULL);
	}
	/* by default libunbound answers that names under "test" do not exist */
	if (ub_ctx_async(unbound, 1) != 0 || ub_ctx_zone_remove(unbound, "test.") != 0)
		return -EINVAL;
	return 0;
}

static void on_readable(void *context, unsigned events)
{
	struct dns_resolver *resolver = context;

	(void)events;
	(void)ub_process(resolver->unbound);
}

int dns_resolver_new(struct os_loop *loop, const char *server, struct dns_resolver **resolver_out)
{
	struct dns_resolver *resolver;
	struct ub_ctx *unbound;
	int result;

	errno = 0;
	unbound = ub_ctx_create();
	if (unbound == NULL)
		return errno != 0 ? -errno : -ENOMEM;
	result = configure(unbound, server);
	if (result < 0) {
		ub_ctx_delete(unbound);
		return result;
	}
	resolver = memory_alloc_zero(1, sizeof *resolver);
	resolver->loop = loop;
	resolver->unbound = unbound;
	resolver->reach = dns_reach_new(loop, server);
	resolver->watch = os_watch_new(loop, ub_fd(unbound), OS_WATCH_READ, on_readable, resolver);
	*resolver_out = resolver;
	return 0;
}

void dns_resolver_free(struct dns_resolver *resolver)
{
	if (resolver == NULL)
		return;
	os_watch_free(resolver->watch);
	dns_reach_free(resolver->reach);
	ub_ctx_delete(resolver->unbound);
	free(resolver);
}

static void finish(struct dns_query *query, const struct dns_answer *answer)
{
	void (*done)(void *context, const struct dns_answer *answer) = query->done;
	void *context = query->context;

	os_timer_free(query->timer);
	free(query);
	done(context, answer);
}

static struct dns_answer read_result(const struct ub_result *result)
{
	struct dns_answer answer = {.status = DNS_NO_DATA, .reason = ""};

	if (result->havedata) {
		answer.status = DNS_FOUND;
		answer.data = result->data;
		answer.lengths = result->len;
		while (result->data[answer.count] != NULL)
			answer.count++;
	} else if (result->nxdomain) {
		answer.status = DNS_NO_NAME;
	} else if (result->rcode != 0) {
		answer.status = DNS_FAILED;
		answer.reason = "refused or malformed";
	}
	if (answer.status != DNS_FAILED && result->ttl > 0)
		answer.ttl = (uint32_t)result->ttl;
	return answer;
}

static void on_reach_known(void *context, bool is_reached)
{
	struct dns_query *query = context;
	struct dns_answer answer = {.status = DNS_FAILED, .reason = "no name server answers"};

	query->reach = NULL;
	if (is_reached)
		answer.reason = "the name servers answer SERVFAIL";
	finish(query, &answer);
}

static void on_result(void *context, int error, struct ub_result *result)
{
	struct dns_query *query = context;
	struct dns_answer answer = {.status = DNS_FAILED, .reason = ub_strerror(error)};

	query->is_asked = false;
	if (error == 0 && result->rcode == SERVFAIL) {
		os_timer_stop(query->timer);
		query->reach = dns_reach_ask(query->resolver->reach, on_reach_known, query);
		ub_resolve_free(result);
		return;
	}
	if (error == 0)
		answer = read_result(result);
	finish(query, &answer);
	ub_resolve_free(result);
}

static void on_timeout(void *context)
{
	struct dns_query *query = context;
	struct dns_answer answer = {.status = DNS_FAILED, .reason = "timeout"};

	if (query->is_asked)
		(void)ub_cancel(query->resolver->unbound, query->id);
	finish(query, &answer);
}

struct dns_query *dns_query_new(struct dns_resolver *resolver, const char *name, enum dns_type type,
				void (*done)(void *context, const struct dns_answer *answer),
				void *context)
{
	struct dns_query *query = memory_alloc_zero(1, sizeof *query);

	query->resolver = resolver;
	query->done = done;
	query->context = context;
	query->timer = os_timer_new(resolver->loop, on_timeout, query);
	query->is_asked = ub_resolve_async(resolver->unbound, name, (int)type, CLASS_IN, query,
					   on_result, &query->id) == 0;
	os_timer_start(query->timer, query->is_asked ? QUERY_TIMEOUT_US : 0);
	return query;
}

void dns_query_cancel(struct dns_query *query)
{
	if (query == NULL)
		return;
	if (query->is_asked)
		(void)ub_cancel(query->resolver->unbound, query->id);
	dns_reach_cancel(query->reach);
	os_timer_free(query->timer);
	free(query);
}
