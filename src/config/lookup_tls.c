// SPDX-License-Identifier: ISC
/* Queries on a configuration: certificates, their authorities, and which TLS is demanded. */
#include "config/config.h"
#include <string.h>

const struct config_certificate *config_certificate_find(const struct config *config,
							 struct str name)
{
	for (size_t i = 0; i < config->certificate_count; i++)
		if (str_equal(name, str_from(config->certificates[i].name)))
			return &config->certificates[i];
	return NULL;
}

bool config_directory_dials(const struct config_directory *directory)
{
	for (size_t i = 0;
	     directory->backend == CONFIG_BACKEND_SERVERS && i < directory->server_count; i++)
		if (strncmp(directory->servers[i], "unix:", strlen("unix:")) != 0)
			return true;
	return false;
}

bool config_directory_has_tls(const struct config_directory *directory)
{
	return directory->backend != CONFIG_BACKEND_NONE &&
	       (directory->listen_count > 0 || config_directory_dials(directory));
}

/* Certificates for peers of our own, which no section certificate names. */
static bool has_node_tls(const struct config *config)
{
	return config_has_nodes(config);
}

size_t config_key_count(const struct config *config)
{
	return config->certificate_count + (config_directory_has_tls(&config->directory) ? 1 : 0) +
	       has_node_tls(config);
}

struct config_certificate config_key_at(const struct config *config, size_t index)
{
	if (index < config->certificate_count)
		return config->certificates[index];
	if (index == config->certificate_count && config_directory_has_tls(&config->directory))
		return (struct config_certificate){.name = CONFIG_DIRECTORY_CERTIFICATE,
						   .chain = config->directory.certificate,
						   .key = config->directory.key};
	return (struct config_certificate){.name = CONFIG_NODE_CERTIFICATE,
					   .chain = config->node.certificate,
					   .key = config->node.key};
}

size_t config_authority_count(const struct config *config)
{
	return config->listen_count + (config_directory_has_tls(&config->directory) ? 1 : 0) +
	       has_node_tls(config);
}

const char *config_authority_at(const struct config *config, size_t index)
{
	if (index < config->listen_count)
		return config->listens[index].client_authority;
	return index == config->listen_count && config_directory_has_tls(&config->directory)
		       ? config->directory.authority
		       : config->node.authority;
}

static const struct config_tls_policy *find_policy_of_destination(const struct config *config,
								  struct str name)
{
	for (size_t i = 0; i < config->tls_policy_count; i++)
		if (str_equal_nocase(name, str_from(config->tls_policies[i].destination)))
			return &config->tls_policies[i];
	return NULL;
}

const struct config_tls_policy *config_tls_policy_find(const struct config *config,
						       struct str destination)
{
	const struct config_tls_policy *found = find_policy_of_destination(config, destination);
	ptrdiff_t dot;

	if (destination.length > 0 && destination.data[0] == '[')
		return found;
	while (found == NULL && (dot = str_find(destination, '.')) >= 0) {
		found = find_policy_of_destination(config, str_skip(destination, (size_t)dot));
		destination = str_skip(destination, (size_t)dot + 1);
	}
	return found;
}

bool config_has_tls_out_certificates(const struct config *config)
{
	for (size_t i = 0; i < config->tls_policy_count; i++)
		if (*config->tls_policies[i].certificate != '\0')
			return true;
	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].certificate != NULL &&
		    *config->services[i].certificate != '\0')
			return true;
	return false;
}

bool config_has_tls_in(const struct config *config)
{
	for (size_t i = 0; i < config->listen_count; i++)
		if (config->listens[i].tls != CONFIG_LISTEN_TLS_NONE)
			return true;
	return false;
}
