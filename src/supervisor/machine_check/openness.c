// SPDX-License-Identifier: ISC
/* Who may send mail to whom, and how their passwords come: what makes a node an open relay, and
 * what leads mail back to it. */
#include "os/file/rights.h"
#include "os/socket/address.h"
#include "supervisor/machine_check/internal.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* --- relaying --- */

/* Larger than what one site has: 10.0.0.0/8 is the largest that is anybody's own. */
enum { MAPPED = 96, WIDEST_4 = MAPPED + 8, WIDEST_6 = 16 };

static bool is_for_all(const struct config_network *network)
{
	bool is_4 = IN6_IS_ADDR_V4MAPPED(&network->address) && network->prefix >= MAPPED;

	return network->prefix < (is_4 ? WIDEST_4 : WIDEST_6);
}

static void check_relaying(struct machine_check *check)
{
	const struct config *config = check->config;

	for (size_t i = 0; i < config->relay_from_count; i++) {
		struct buffer text CLEANUP(buffer_clear) = {0};

		if (!is_for_all(&config->relay_from[i]))
			continue;
		config_network_print(&config->relay_from[i], &text);
		machine_check_report(check, MACHINE_FAULT, "relay_from",
				     STR_FORMAT ": strangers may send mail to any domain: this is "
						"an open relay",
				     STR_ARGUMENTS(buffer_view(&text)));
	}
}

/* --- listeners for users --- */

static bool is_loopback(const struct config_endpoint *endpoint)
{
	return endpoint->port == 0 || strncmp(endpoint->host, "127.", 4) == 0 ||
	       strcmp(endpoint->host, "::1") == 0;
}

static const struct config_endpoint *find_public(const struct config_listen *listen)
{
	for (size_t i = 0; i < listen->address_count; i++)
		if (!is_loopback(&listen->addresses[i]))
			return &listen->addresses[i];
	return NULL;
}

static void check_submission(struct machine_check *check, const struct config_listen *listen)
{
	const struct config_endpoint *public = find_public(listen);
	bool has_tls =
		listen->tls != CONFIG_LISTEN_TLS_NONE && check->config->certificate_count > 0;

	if (listen->protocol != CONFIG_SUBMISSION || public == NULL)
		return;
	if (!has_tls)
		machine_check_report(
			check, MACHINE_WARNING, "listen submission.address",
			"%s has no TLS: mail and passwords come in plain text%s", public->text,
			check->config->certificate_count == 0 ? "; there is no section certificate"
							      : "");
	if (listen->auth == CONFIG_LISTEN_AUTH_NO && !listen->client_certificates)
		machine_check_report(check, MACHINE_WARNING, "listen submission.address",
				     "nobody can log in at %s: whoever connects is a stranger, or "
				     "in relay_from",
				     public->text);
}

/* --- routes --- */

static bool is_host_listened_at(const struct config_endpoint *endpoint, const char *host,
				uint16_t port)
{
	bool is_any = strcmp(endpoint->host, "0.0.0.0") == 0 || strcmp(endpoint->host, "::") == 0;
	struct config_endpoint named = {.host = host, .port = port};

	return endpoint->port == port && endpoint->port != 0 &&
	       (strcmp(endpoint->host, host) == 0 || (is_any && is_loopback(&named)));
}

/* A host name other than this one's is not looked up. */
static bool is_here(const struct config *config, const struct config_route *route)
{
	struct str relay = str_from(route->relay);
	char host[OS_SOCKET_TEXT_SIZE] = "";
	bool is_own = strcasecmp(route->relay, config->hostname) == 0;

	if (relay.length > 2 && relay.data[0] == '[')
		snprintf(host, sizeof host, "%.*s", (int)relay.length - 2, relay.data + 1);
	for (size_t i = 0; i < config->listen_count; i++)
		for (size_t j = 0; j < config->listens[i].address_count; j++) {
			const struct config_endpoint *at = &config->listens[i].addresses[j];

			if (is_host_listened_at(at, host, route->port) ||
			    (is_own && at->port == route->port && at->port != 0))
				return true;
		}
	return false;
}

static void check_routes(struct machine_check *check, const char *setting,
			 const struct config_route *routes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (*routes[i].relay != '\0' && is_here(check->config, &routes[i]))
			machine_check_report(check, MACHINE_FAULT, setting,
					     "%s:%s;%u leads to where this node listens itself: a "
					     "loop",
					     routes[i].domain, routes[i].relay, routes[i].port);
}

/* --- services, and rates --- */

/* It may come later: mail waits for it until then. */
static void check_lmtp_socket(struct machine_check *check, const struct config_service *service)
{
	char setting[MACHINE_SETTING_SIZE];
	struct os_file_info info;
	int error;

	if (service->kind != CONFIG_SERVICE_LMTP || service->address.host == NULL ||
	    service->address.port != 0)
		return;
	snprintf(setting, sizeof setting, "service %s.address", service->name);
	error = os_file_info_behind(service->address.host, &info);
	if (error < 0 && error != -EACCES)
		machine_check_report(check, MACHINE_WARNING, setting, "%s: %s",
				     service->address.host, strerror(-error));
	else if (error == 0 && !S_ISSOCK(info.mode))
		machine_check_report(check, MACHINE_WARNING, setting, "%s is no socket",
				     service->address.host);
}

static void check_rate_per_user(struct machine_check *check, const struct config_rate *rate)
{
	char setting[MACHINE_SETTING_SIZE];

	if (rate->per != CONFIG_RATE_PER_USER || config_offers_auth(check->config))
		return;
	snprintf(setting, sizeof setting, "rate %s.per", rate->name);
	machine_check_report(check, MACHINE_WARNING, setting,
			     "user: nobody can log in, so nothing is counted");
}

void machine_check_openness(struct machine_check *check)
{
	const struct config *config = check->config;

	check_relaying(check);
	for (size_t i = 0; i < config->listen_count; i++)
		check_submission(check, &config->listens[i]);
	check_routes(check, "smtproutes", config->smtproutes, config->smtproute_count);
	check_routes(check, "qmtproutes", config->qmtproutes, config->qmtproute_count);
	check_routes(check, "fallback_relays", config->fallback_relays,
		     config->fallback_relay_count);
	for (size_t i = 0; i < config->service_count; i++)
		check_lmtp_socket(check, &config->services[i]);
	for (size_t i = 0; i < config->rate_count; i++)
		check_rate_per_user(check, &config->rates[i]);
}
