// SPDX-License-Identifier: ISC
#include "dns/resolver.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "dns/alive.h"
#include "dns/hosts.h"
#include "dns/name.h"
#include "dns/reach.h"
#include "os/worker.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unbound.h>

#define QUERY_TIMEOUT_US   (30 * SECOND_US)
#define DELETE_PATIENCE_US SECOND_US

enum { RESOLVER_CLASS_IN = 1, SERVFAIL = 2, RESOLVER_REASON_SIZE = 240 };

struct dns_resolver {
	struct os_loop *loop;
	struct ub_ctx *unbound;
	struct os_watch *watch;
	struct dns_reach *reach;
	struct dns_alive *alive;
	struct dns_hosts *hosts;
};

struct dns_query {
	struct dns_resolver *resolver;
	int id;                           /* of libunbound */
	bool is_asked;                    /* pending in libunbound */
	struct dns_reach_question *reach; /* after a failure, to find out why */
	struct dns_hosts_answer *known;   /* by /etc/hosts; NULL: libunbound is asked */
	struct os_timer *timer;
	void (*done)(void *context, const struct dns_answer *answer);
	void *context;
};

/* A server that does not answer is considered down after about 11 seconds, and retried
 * soon. */
static const struct {
	const char *name;
	const char *value;
} options[] = {
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
static int error_of_unbound(int error)
{
	bool is_of_system = error == UB_READFILE || error == UB_PIPE || error == UB_SOCKET;

	if (error == UB_NOERROR)
		return 0;
	if (is_of_system && errno != 0)
		return -errno;
	return error == UB_NOMEM ? -ENOMEM : -EINVAL;
}

/* One call for each line: libunbound reads only the first of several. */
static int add_anchors(struct ub_ctx *unbound, struct str anchors)
{
	struct buffer copy CLEANUP(buffer_clear) = {0};
	struct str line;

	while (anchors.length > 0) {
		(void)str_split(&anchors, '\n', &line);
		buffer_reset(&copy);
		buffer_append_str(&copy, line);
		buffer_append_byte(&copy, '\0');
		if (line.length > 0 && ub_ctx_add_ta(unbound, buffer_data(&copy)) != 0)
			return -EINVAL;
	}
	return 0;
}

static int configure_trust(struct ub_ctx *unbound, const struct dns_trust *trust)
{
	bool validates = trust->anchors.length > 0;

	if (ub_ctx_set_option(unbound,
			      "module-config:", validates ? "validator iterator" : "iterator") != 0)
		return -EINVAL;
	for (size_t i = 0; i < trust->unsigned_count && validates; i++)
		if (ub_ctx_set_option(unbound, "domain-insecure:", trust->unsigned_domains[i]) != 0)
			return -EINVAL;
	return add_anchors(unbound, trust->anchors);
}

/* Without the file, this machine is the name server, by resolv.conf(5); and it may come. */
static int use_system(struct ub_ctx *unbound)
{
	int error;

	errno = 0;
	error = error_of_unbound(ub_ctx_resolvconf(unbound, NULL));
	if (error == -ENOENT && ub_ctx_set_fwd(unbound, "127.0.0.1") == 0)
		error = 0;
	return error;
}

static int configure_unbound(struct ub_ctx *unbound, const char *server,
			     const struct dns_trust *trust)
{
	if (configure_trust(unbound, trust) < 0)
		return -EINVAL;
	for (size_t i = 0; i < COUNT_OF(options); i++)
		if (ub_ctx_set_option(unbound, options[i].name, options[i].value) != 0)
			return -EINVAL;
	if (*server != '\0' && ub_ctx_set_fwd(unbound, server) != 0)
		return -EINVAL;
	if (*server == '\0') {
		int error = use_system(unbound);

		if (error < 0)
			return error;
	}
	/* by default libunbound answers that names under "test" do not exist; and this call checks
	 * all options and anchors */
	if (ub_ctx_async(unbound, 1) != 0 || ub_ctx_zone_remove(unbound, "test.") != 0)
		return -EINVAL;
	return 0;
}

static void on_unbound_readable(void *context, unsigned events)
{
	struct dns_resolver *resolver = context;

	(void)events;
	if (ub_process(resolver->unbound) != 0)
		cannot_begin("libunbound's thread cannot be understood", -EPIPE);
}

int dns_resolver_new_validating(struct os_loop *loop, const char *server,
				const struct dns_trust *trust, struct dns_resolver **resolver_out)
{
	struct dns_resolver *resolver;
	struct ub_ctx *unbound;
	int result;

	errno = 0;
	unbound = ub_ctx_create();
	if (unbound == NULL)
		return errno != 0 ? -errno : -ENOMEM;
	result = configure_unbound(unbound, server, trust);
	if (result < 0) {
		ub_ctx_delete(unbound);
		return result;
	}
	resolver = memory_alloc_zero(1, sizeof *resolver);
	resolver->loop = loop;
	resolver->unbound = unbound;
	resolver->reach = dns_reach_new(loop, server);
	resolver->alive = dns_alive_new(loop, unbound);
	resolver->hosts = dns_hosts_read();
	resolver->watch =
		os_watch_new(loop, ub_fd(unbound), OS_WATCH_READ, on_unbound_readable, resolver);
	*resolver_out = resolver;
	return 0;
}

int dns_resolver_new(struct os_loop *loop, const char *server, struct dns_resolver **resolver_out)
{
	return dns_resolver_new_validating(loop, server, &(struct dns_trust){{0}}, resolver_out);
}

static void delete_context(void *context)
{
	ub_ctx_delete(context);
}

/* ub_ctx_delete() asks libunbound's thread to end and waits for that forever, also when the thread
 * has ended before or cannot be asked, which nobody is told. So it is waited for no longer than
 * DELETE_PATIENCE_US: what is left goes with the process. */
static void delete_patiently(struct ub_ctx *unbound)
{
	struct os_worker *worker;

	if (os_worker_new(delete_context, unbound, NULL, &worker) < 0)
		return;
	os_worker_start(worker);
	if (os_worker_wait(worker, DELETE_PATIENCE_US))
		os_worker_free(worker);
}

void dns_resolver_free(struct dns_resolver *resolver)
{
	if (resolver == NULL)
		return;
	os_watch_free(resolver->watch);
	dns_reach_free(resolver->reach);
	dns_alive_free(resolver->alive);
	dns_hosts_free(resolver->hosts);
	delete_patiently(resolver->unbound);
	free(resolver);
}

static void finish_dns_query(struct dns_query *query, const struct dns_answer *answer)
{
	void (*done)(void *context, const struct dns_answer *answer) = query->done;
	void *context = query->context;
	struct dns_hosts_answer *known = query->known; /* ANSWER may be in it */

	os_timer_free(query->timer);
	free(query);
	done(context, answer);
	free(known);
}

/* What follows "validation failure <NAME TYPE CLASS>: ". It has names and addresses that others
 * chose. */
static void explain_bogus(const struct ub_result *result, char reason[RESOLVER_REASON_SIZE])
{
	const char *why = result->why_bogus != NULL ? result->why_bogus : "no reason is known";
	const char *rest = strstr(why, ">: ");
	size_t length;

	if (rest != NULL)
		why = rest + 3;
	snprintf(reason, RESOLVER_REASON_SIZE, "bogus: %s", why);
	for (length = 0; reason[length] != '\0'; length++)
		if (reason[length] < ' ' || reason[length] > '~')
			reason[length] = '?';
	while (length > 0 && reason[length - 1] == ' ')
		reason[--length] = '\0';
}

static void read_canonical(const struct ub_result *result, char name[DNS_NAME_SIZE])
{
	size_t length = result->canonname != NULL ? strlen(result->canonname) : 0;

	name[0] = '\0';
	if (length > 0 && result->canonname[length - 1] == '.')
		length--;
	if (length == 0 || length >= DNS_NAME_SIZE)
		return;
	memcpy(name, result->canonname, length);
	name[length] = '\0';
	str_lower(name, length);
	if (!dns_name_is_host(str_from(name)))
		name[0] = '\0';
}

/* CANONICAL is what the answer points to. */
static struct dns_answer read_result(const struct ub_result *result, char canonical[DNS_NAME_SIZE])
{
	struct dns_answer answer = {.status = DNS_NO_DATA, .reason = "", .canonical = canonical};

	read_canonical(result, canonical);
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
	answer.is_secure = answer.status != DNS_FAILED && result->secure;
	return answer;
}

static void on_reach_known(void *context, bool is_reached)
{
	struct dns_query *query = context;
	struct dns_answer answer = {
		.status = DNS_FAILED, .reason = "no name server answers", .canonical = ""};

	query->reach = NULL;
	if (is_reached)
		answer.reason = "the name servers answer SERVFAIL";
	finish_dns_query(query, &answer);
}

static void on_unbound_result(void *context, int error, struct ub_result *result)
{
	struct dns_query *query = context;
	struct dns_answer answer = {
		.status = DNS_FAILED, .reason = ub_strerror(error), .canonical = ""};
	char canonical[DNS_NAME_SIZE];
	char reason[RESOLVER_REASON_SIZE];

	query->is_asked = false;
	dns_alive_answered(query->resolver->alive);
	if (error == 0 && result->rcode == SERVFAIL && !result->bogus) {
		os_timer_stop(query->timer);
		query->reach = dns_reach_ask(query->resolver->reach, on_reach_known, query);
		ub_resolve_free(result);
		return;
	}
	if (error == 0 && result->bogus) {
		explain_bogus(result, reason);
		answer.reason = reason;
	} else if (error == 0) {
		answer = read_result(result, canonical);
	}
	finish_dns_query(query, &answer);
	ub_resolve_free(result);
}

static void cancel_unbound_query(const struct dns_query *query)
{
	if (!query->is_asked)
		return;
	(void)ub_cancel(query->resolver->unbound, query->id);
	dns_alive_cancelled(query->resolver->alive);
}

static void on_dns_query_timeout(void *context)
{
	struct dns_query *query = context;
	struct dns_answer answer = {.status = DNS_FAILED, .reason = "timeout", .canonical = ""};

	cancel_unbound_query(query);
	finish_dns_query(query, query->known != NULL ? &query->known->answer : &answer);
}

static bool is_in_hosts(struct dns_query *query, const char *name, enum dns_type type)
{
	struct dns_hosts_answer *known = memory_alloc(sizeof *known);

	if (dns_hosts_find(query->resolver->hosts, name, type, known))
		query->known = known;
	else
		free(known);
	return query->known != NULL;
}

static void ask_unbound(struct dns_query *query, const char *name, enum dns_type type)
{
	struct dns_resolver *resolver = query->resolver;
	int error = ub_resolve_async(resolver->unbound, name, (int)type, RESOLVER_CLASS_IN, query,
				     on_unbound_result, &query->id);

	if (error == UB_PIPE) /* half of it may have been written, before all that follows */
		cannot_begin("libunbound's thread cannot be asked", -EPIPE);
	query->is_asked = error == 0;
	if (query->is_asked)
		dns_alive_asked(resolver->alive);
}

struct dns_query *dns_query_new(struct dns_resolver *resolver, const char *name, enum dns_type type,
				void (*done)(void *context, const struct dns_answer *answer),
				void *context)
{
	struct dns_query *query = memory_alloc_zero(1, sizeof *query);

	query->resolver = resolver;
	query->done = done;
	query->context = context;
	query->timer = os_timer_new(resolver->loop, on_dns_query_timeout, query);
	if (!is_in_hosts(query, name, type))
		ask_unbound(query, name, type);
	os_timer_start(query->timer, query->is_asked ? QUERY_TIMEOUT_US : 0);
	return query;
}

void dns_query_cancel(struct dns_query *query)
{
	if (query == NULL)
		return;
	cancel_unbound_query(query);
	dns_reach_cancel(query->reach);
	os_timer_free(query->timer);
	free(query->known);
	free(query);
}
