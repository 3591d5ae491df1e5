// SPDX-License-Identifier: ISC
#include "deliver/remote/route/source.h"
#include "base/panic.h"
#include "base/table.h"
#include "deliver/remote/route/peer.h"
#include "deliver/remote/route/sender.h"
#include "limit/class.h"
#include "log/event.h"
#include "os/socket/interface.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS_MAX = 4096, KEY_SIZE = 40 + DNS_NAME_SIZE };

/* When each address of a source was last used for a host; 0: never. */
struct host {
	char key[KEY_SIZE]; /* "SOURCE HOST" */
	uint64_t used[CONFIG_SOURCE_ADDRESSES_MAX];
	UT_hash_handle hh;
};

struct remote_sources {
	const struct config *config;
	struct limit_classes *classes;
	struct host *hosts; /* oldest first */
	uint64_t now;       /* counts connections */
};

static void log_missing(const struct config_source *source, const struct in6_addr *address)
{
	char text[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format_mapped(address, text);
	log_event_rated(EVENT_SOURCE_MISSING, log_string(source, source->name),
			log_string(address, text));
}

/* Those that are not there yet are no error: they may come. */
static void look_for_missing(const struct config *config)
{
	for (size_t i = 0; i < config->source_count; i++)
		for (size_t n = 0; n < config->sources[i].address_count; n++)
			if (!os_interface_has(&config->sources[i].addresses[n]))
				log_missing(&config->sources[i], &config->sources[i].addresses[n]);
}

struct remote_sources *remote_sources_new(const struct config *config)
{
	struct remote_sources *sources = memory_alloc_zero(1, sizeof *sources);

	sources->config = config;
	sources->classes = limit_classes_new(config);
	look_for_missing(config);
	return sources;
}

static void drop_source_host(struct remote_sources *sources, struct host *host)
{
	HASH_DEL(sources->hosts, host);
	free(host);
}

void remote_sources_free(struct remote_sources *sources)
{
	if (sources == NULL)
		return;
	while (sources->hosts != NULL)
		drop_source_host(sources, sources->hosts);
	limit_classes_free(sources->classes);
	free(sources);
}

static const struct config_source *find_key(const struct remote_sources *sources,
					    const struct config_source_use *uses, size_t count,
					    struct str key)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal(str_from(uses[i].key), key))
			return config_source_find(sources->config, str_from(uses[i].source));
	return NULL;
}

static const struct config_source *find_sender(const struct remote_sources *sources,
					       struct str sender)
{
	const struct config *config = sources->config;
	const struct config_source *source = NULL;
	struct remote_sender form;

	if (config->sender_source_count == 0 || !remote_sender_of(sender, &form))
		return NULL;
	for (struct str key = form.first; source == NULL && key.length > 0;
	     key = remote_sender_next(&form, key))
		source =
			find_key(sources, config->sender_sources, config->sender_source_count, key);
	return source;
}

static const struct config_source *find_domain(const struct remote_sources *sources,
					       struct str domain)
{
	const struct config *config = sources->config;
	const struct config_source *source =
		find_key(sources, config->domain_sources, config->domain_source_count, domain);

	for (size_t i = 1; source == NULL && i < domain.length && domain.data[0] != '['; i++)
		if (domain.data[i] == '.')
			source = find_key(sources, config->domain_sources,
					  config->domain_source_count, str_skip(domain, i));
	return source;
}

const struct config_source *remote_sources_of_mail(const struct remote_sources *sources,
						   struct str sender, struct str domain)
{
	const struct config_source *source = find_sender(sources, sender);

	return source != NULL ? source : find_domain(sources, domain);
}

const struct config_source *remote_sources_of_server(const struct remote_sources *sources,
						     const struct dns_server *server)
{
	const struct config *config = sources->config;
	struct in6_addr address = os_socket_address_mapped(&server->address);
	const char *name = "";

	if (config->source_count == 0)
		return NULL;
	if (sources->classes != NULL)
		name = config->classes[limit_classes_find(sources->classes, str_from(server->host),
							  &address)]
			       .source;
	return config_source_find(config, str_from(*name != '\0' ? name : config->source));
}

static struct host *host_of(struct remote_sources *sources, const struct config_source *source,
			    const struct dns_server *server)
{
	char key[KEY_SIZE] = {0};
	struct host *host;

	snprintf(key, sizeof key, "%s %s", source->name, server->host);
	HASH_FIND(hh, sources->hosts, key, strlen(key), host);
	if (host != NULL)
		return host;
	if (HASH_COUNT(sources->hosts) >= HOSTS_MAX)
		drop_source_host(sources, sources->hosts);
	host = memory_alloc_zero(1, sizeof *host);
	memcpy(host->key, key, sizeof key);
	HASH_ADD(hh, sources->hosts, key, strlen(host->key), host);
	return host;
}

/* The index of the address used longest ago of those that are not IS_TRIED; -1: none is left. */
static int find_next(const struct host *host, const struct config_source *source, bool is_ipv4,
		     const bool *is_tried)
{
	int best = -1;

	for (int i = 0; i < (int)source->address_count; i++) {
		bool is_of_family = IN6_IS_ADDR_V4MAPPED(&source->addresses[i]) == is_ipv4;

		if (is_of_family && !is_tried[i] && (best < 0 || host->used[i] < host->used[best]))
			best = i;
	}
	return best;
}

int remote_source_connect(struct remote_sources *sources, const struct config_source *source,
			  const struct dns_server *server, struct in6_addr *address_out)
{
	bool is_ipv4 = server->address.any.sa_family == AF_INET;
	struct host *host = host_of(sources, source, server);
	bool is_tried[CONFIG_SOURCE_ADDRESSES_MAX] = {false};
	int index;

	while ((index = find_next(host, source, is_ipv4, is_tried)) >= 0) {
		int result = os_socket_connect_from(&source->addresses[index], &server->address);

		is_tried[index] = true;
		if (result == -EADDRNOTAVAIL) {
			log_missing(source, &source->addresses[index]);
			continue;
		}
		host->used[index] = ++sources->now;
		*address_out = source->addresses[index];
		return result;
	}
	return -EADDRNOTAVAIL;
}

void remote_source_explain(const struct config_source *source, const struct dns_server *server,
			   struct mail_verdict *verdict_out)
{
	char peer[REMOTE_PEER_SIZE];

	remote_peer_format(server, peer);
	mail_verdict_set(verdict_out, "4.4.4",
			 "connect to %s: this machine has no %s address of the source %s", peer,
			 server->address.any.sa_family == AF_INET ? "IPv4" : "IPv6", source->name);
}
