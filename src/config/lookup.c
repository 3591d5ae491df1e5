// SPDX-License-Identifier: ISC
/* Queries on a configuration: which domain, service, user or limit applies. */
#include "config/config.h"
#include "mail/server.h"
#include <string.h>

const struct config_transport *config_transport_find(const struct config *config, struct str name)
{
	for (size_t i = 0; i < config->transport_count; i++)
		if (str_equal(name, str_from(config->transports[i].name)))
			return &config->transports[i];
	return NULL;
}

const struct config_service *config_service_find(const struct config *config, struct str name)
{
	for (size_t i = 0; i < config->service_count; i++)
		if (str_equal(name, str_from(config->services[i].name)))
			return &config->services[i];
	return NULL;
}

bool config_offers_auth(const struct config *config)
{
	for (size_t i = 0; i < config->listen_count; i++)
		if (config->listens[i].auth != CONFIG_LISTEN_AUTH_NO)
			return true;
	return false;
}

const char *config_protocol_name(enum config_protocol protocol)
{
	static const char *const names[] = {[CONFIG_SMTP] = "smtp",
					    [CONFIG_SUBMISSION] = "submission",
					    [CONFIG_LMTP] = "lmtp",
					    [CONFIG_QMTP] = "qmtp",
					    [CONFIG_QMQP] = "qmqp"};

	return names[protocol];
}

bool config_is_qmtp(const struct config_listen *listen)
{
	return listen->protocol == CONFIG_QMTP || listen->protocol == CONFIG_QMQP;
}

bool config_has_qmtp(const struct config *config)
{
	for (size_t i = 0; i < config->listen_count; i++)
		if (config_is_qmtp(&config->listens[i]))
			return true;
	return false;
}

static bool has_text(const char *text)
{
	return text != NULL && *text != '\0';
}

const struct config_route *config_login_route(const struct config *config, size_t index)
{
	if (index < config->smtproute_count)
		return &config->smtproutes[index];
	index -= config->smtproute_count;
	if (index < config->senderroute_count)
		return &config->senderroutes[index];
	index -= config->senderroute_count;
	return index < config->fallback_relay_count ? &config->fallback_relays[index] : NULL;
}

const struct config_source *config_source_find(const struct config *config, struct str name)
{
	for (size_t i = 0; i < config->source_count; i++)
		if (str_equal(str_from(config->sources[i].name), name))
			return &config->sources[i];
	return NULL;
}

bool config_has_logins(const struct config *config)
{
	const struct config_route *route;

	for (size_t i = 0; (route = config_login_route(config, i)) != NULL; i++)
		if (has_text(route->user))
			return true;
	return false;
}

bool config_has_passwords(const struct config *config)
{
	const struct config_route *route;

	for (size_t i = 0; (route = config_login_route(config, i)) != NULL; i++)
		if (has_text(route->password))
			return true;
	return false;
}

bool config_has_site_key(const struct config *config)
{
	return (config->site_key.high | config->site_key.low) != 0;
}

bool config_has_auth(const struct config *config)
{
	return config->auth.users != CONFIG_AUTH_NONE;
}

bool config_has_introspection(const struct config *config)
{
	return config_has_auth(config) && *config->auth.introspection_url != '\0';
}

bool config_has_ldap_bind(const struct config *config)
{
	return config->auth.users == CONFIG_AUTH_LDAP;
}

const char *config_process_user(const struct config *config, const char *name)
{
	for (size_t i = 0; i < CONFIG_PROCESSES; i++)
		if (strcmp(config->processes[i].name, name) == 0 &&
		    *config->processes[i].user != '\0')
			return config->processes[i].user;
	return config->user;
}

bool config_has_process_users(const struct config *config)
{
	for (size_t i = 0; i < CONFIG_PROCESSES; i++)
		if (*config->processes[i].user != '\0')
			return true;
	return false;
}

bool config_has_owners(const struct config *config, enum config_service_kind kind)
{
	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].kind == kind && *config->services[i].user != '\0')
			return true;
	return false;
}

bool config_service_is_local(const struct config_service *service)
{
	return service->kind == CONFIG_SERVICE_MAILDIR || service->kind == CONFIG_SERVICE_MBOX;
}

bool config_has_local_service(const struct config *config)
{
	for (size_t i = 0; i < config->service_count; i++)
		if (config_service_is_local(&config->services[i]))
			return true;
	return false;
}

bool config_has_mailbox_owners(const struct config *config)
{
	return config_has_owners(config, CONFIG_SERVICE_MAILDIR) ||
	       config_has_owners(config, CONFIG_SERVICE_MBOX);
}

bool config_has_mail_user(const struct config *config, uid_t uid)
{
	return uid != 0 && uid >= config->uid_min && uid <= config->uid_max;
}

bool config_service_records(const struct config_service *service)
{
	return service->kind == CONFIG_SERVICE_MAILBOX || service->kind == CONFIG_SERVICE_IMAP;
}

bool config_has_recording_service(const struct config *config)
{
	for (size_t i = 0; i < config->service_count; i++)
		if (config_service_records(&config->services[i]))
			return true;
	return false;
}

const char *config_imap_authority(const struct config *config, const struct config_service *service)
{
	return *service->authority != '\0' ? service->authority : config->tls_authorities;
}

struct config_file config_record_file(const struct config_record *record, size_t i)
{
	const struct config_file files[] = {
		{"record.password_file", record->password_file},
		{"record.authority", record->authority},
		{"record.client_certificate", record->client_certificate},
		{"record.client_key", record->client_key},
		{NULL, NULL},
	};

	return files[i < sizeof files / sizeof files[0] ? i : sizeof files / sizeof files[0] - 1];
}

bool config_has_record(const struct config *config)
{
	return config->record.backend != CONFIG_RECORD_NONE;
}

/* "%%" ends it, too: the result is then a directory above, which is harmless. */
struct str config_mailbox_base(const struct config_service *service)
{
	size_t length = strcspn(service->path, "%");

	while (length > 0 && service->path[length - 1] != '/')
		length--;
	while (length > 1 && service->path[length - 1] == '/')
		length--;
	return str_slice(service->path, length);
}

/* Like strcmp(), for NAME in any case and OTHER in lower case. */
static int compare_name_nocase(struct str name, const char *other)
{
	for (size_t i = 0; i < name.length; i++) {
		unsigned char c = (unsigned char)name.data[i];
		unsigned char d = (unsigned char)other[i];

		if (c >= 'A' && c <= 'Z')
			c = (unsigned char)(c + ('a' - 'A'));
		if (c != d || d == '\0')
			return c < d ? -1 : 1;
	}
	return other[name.length] == '\0' ? 0 : -1;
}

const struct config_domain *config_domain_find(const struct config *config, struct str name)
{
	size_t first = 0;
	size_t end = config->domain_count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;
		int result = compare_name_nocase(name, config->domain_index[middle]->name);

		if (result == 0)
			return config->domain_index[middle];
		if (result < 0)
			end = middle;
		else
			first = middle + 1;
	}
	return NULL;
}

bool config_domain_has(const struct config_domain *domain, struct str local)
{
	size_t first = 0;
	size_t end = domain->address_count;

	if (domain->address_count == 0)
		return true;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		int result = compare_name_nocase(local, domain->addresses[middle]);

		if (result == 0)
			return true;
		if (result < 0)
			end = middle;
		else
			first = middle + 1;
	}
	return false;
}

static bool is_in_any(const struct in6_addr *address, const struct config_network *networks,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (config_network_has(&networks[i], address))
			return true;
	return false;
}

static bool is_server_in_reach(const struct config_reach *reach, const struct mail_server *server)
{
	size_t length = reach->name != NULL ? strlen(reach->name) : 0;
	struct str end = server->host;

	if (reach->port != server->port || server->is_address != (reach->name == NULL))
		return false;
	if (server->is_address)
		return config_network_has(&reach->network, &server->address);
	if (reach->is_below) {
		if (server->host.length < length + 2)
			return false;
		end = str_skip(server->host, server->host.length - length);
		if (end.data[-1] != '.')
			return false;
	}
	return str_equal(end, str_from(reach->name));
}

const char *config_service_server_problem(const struct config_service *service, struct str text)
{
	struct mail_server server;

	if (service->kind != CONFIG_SERVICE_LMTP)
		return "is not of kind lmtp";
	if (!mail_server_is_in_form(text) || mail_server_parse(text, &server) < 0)
		return "cannot deliver to what is not HOST:PORT";
	for (size_t i = 0; i < service->server_count; i++)
		if (is_server_in_reach(&service->servers[i], &server))
			return NULL;
	return "may not deliver there (setting servers)";
}

bool config_has_server_names(const struct config *config)
{
	for (size_t i = 0; i < config->service_count; i++)
		for (size_t j = 0; j < config->services[i].server_count; j++)
			if (config->services[i].servers[j].name != NULL)
				return true;
	return false;
}

bool config_admits(const struct config_listen *listen, const struct in6_addr *address)
{
	return listen->protocol != CONFIG_QMQP ||
	       is_in_any(address, listen->clients, listen->client_count);
}

bool config_may_etrn(const struct config *config, const struct in6_addr *address)
{
	return is_in_any(address, config->etrn_from, config->etrn_from_count);
}

bool config_may_xclient(const struct config *config, const struct in6_addr *address)
{
	return is_in_any(address, config->xclient_from, config->xclient_from_count);
}

bool config_may_xforward(const struct config *config, const struct in6_addr *address)
{
	return is_in_any(address, config->xforward_from, config->xforward_from_count);
}

bool config_may_relay(const struct config *config, const struct in6_addr *address)
{
	return is_in_any(address, config->relay_from, config->relay_from_count);
}

bool config_is_own_address(const struct config *config, const struct in6_addr *address)
{
	return is_in_any(address, config->own_addresses, config->own_address_count);
}

bool config_is_proxy(const struct config *config, const struct in6_addr *address)
{
	return is_in_any(address, config->proxy_from, config->proxy_from_count);
}

static bool has_default_domain(const struct config *config)
{
	return config->default_domain != NULL && *config->default_domain != '\0';
}

const char *config_users_domain(const struct config *config)
{
	return has_default_domain(config) ? config->default_domain : config->hostname;
}

const char *config_default_domain(const struct config *config)
{
	if (has_default_domain(config))
		return config->default_domain;
	if (config->domain_count == 0 ||
	    config_domain_find(config, str_from(config->hostname)) != NULL)
		return config->hostname;
	return config->domains[0].name;
}
