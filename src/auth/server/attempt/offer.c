// SPDX-License-Identifier: ISC
/* Which mechanisms are offered: those that the settings allow, and for which there is somebody who
 * can judge now. */
#include "auth/server/internal.h"
#include "ipc/pack.h"
#include <string.h>

static bool is_mechanism_allowed(const struct auth_server *server, const char *name)
{
	const struct config_auth *settings = &server->config->auth;

	for (size_t i = 0; i < settings->mechanism_count; i++)
		if (strcmp(settings->mechanisms[i], name) == 0)
			return true;
	return settings->mechanism_count == 0;
}

static bool has_client_authority(const struct config *config)
{
	for (size_t i = 0; i < config->listen_count; i++)
		if (*config->listens[i].client_authority != '\0')
			return true;
	return false;
}

/* Whether this process can judge it by itself. */
static bool is_own_mechanism(const struct auth_server *server,
			     const struct sasl_mechanism *mechanism)
{
	enum config_auth_users users = server->config->auth.users;
	bool is_clear =
		strcmp(mechanism->name, "PLAIN") == 0 || strcmp(mechanism->name, "LOGIN") == 0;

	if (strcmp(mechanism->name, "OAUTHBEARER") == 0 || strcmp(mechanism->name, "XOAUTH2") == 0)
		return auth_tokens_are_known(server->tokens);
	if ((mechanism->needs & AUTH_NEEDS_CERTIFICATE) != 0)
		return users != CONFIG_AUTH_DOVECOT && server->directory != NULL &&
		       has_client_authority(server->config);
	if (users == CONFIG_AUTH_LDAP)
		return is_clear && server->ways.binder != NULL;
	return users == CONFIG_AUTH_DIRECTORY && server->directory != NULL;
}

static bool is_scram_mechanism(const struct sasl_mechanism *mechanism)
{
	return strncmp(mechanism->name, "SCRAM-", strlen("SCRAM-")) == 0;
}

/* Whether some user has no keys of it. */
static bool is_useless(const struct auth_server *server, const struct sasl_mechanism *own)
{
	return is_scram_mechanism(own) && !auth_keys_have_all(server, own->keys);
}

static void add_offered_mechanism(struct auth_server *server, const char *name, unsigned needs,
				  const struct sasl_mechanism *own)
{
	struct auth_offered *place = &server->offered[server->offered_count];

	if (server->offered_count == AUTH_MECHANISMS_MAX || !is_mechanism_allowed(server, name) ||
	    auth_offer_find(server, str_from(name)) != NULL)
		return;
	*place = (struct auth_offered){
		.needs = needs, .own = own, .is_withheld = own != NULL && is_useless(server, own)};
	strncpy(place->name, name, sizeof place->name - 1);
	server->offered_count++;
}

static void add_own_mechanisms(struct auth_server *server)
{
	for (size_t i = 0; i < sasl_mechanism_count; i++)
		if (is_own_mechanism(server, &sasl_mechanisms[i]))
			add_offered_mechanism(server, sasl_mechanisms[i].name,
					      sasl_mechanisms[i].needs, &sasl_mechanisms[i]);
}

/* Ours first, best first; then others. It knows nothing of our connection: no -PLUS. */
static void add_dovecots(struct auth_server *server)
{
	const struct dovecot_mechanism *mechanisms;
	size_t count;

	mechanisms = dovecot_mechanisms(server->dovecot, &count);
	for (size_t i = 0; i < sasl_mechanism_count; i++)
		for (size_t j = 0; j < count; j++)
			if (strcmp(mechanisms[j].name, sasl_mechanisms[i].name) == 0 &&
			    !sasl_mechanisms[i].is_binding)
				add_offered_mechanism(server, mechanisms[j].name,
						      sasl_mechanisms[i].needs, NULL);
	for (size_t j = 0; j < count; j++) {
		size_t length = strlen(mechanisms[j].name);

		if (length < 5 || strcmp(mechanisms[j].name + length - 5, "-PLUS") != 0)
			add_offered_mechanism(server, mechanisms[j].name, AUTH_NEEDS_SECURED, NULL);
	}
}

void auth_offer_tell(void *context, struct ipc_channel *channel)
{
	const struct auth_asker *asker = context;
	const struct auth_server *server = asker->server;
	struct buffer body CLEANUP(buffer_clear) = {0};
	uint32_t count = 0;

	if (auth_keys_are_awaited(server)) /* a client that has begun cannot be told later */
		return;
	for (size_t i = 0; i < server->offered_count; i++)
		count += !server->offered[i].is_withheld;
	pack_u32(&body, count);
	for (size_t i = 0; i < server->offered_count; i++) {
		if (server->offered[i].is_withheld)
			continue;
		pack_str(&body, str_from(server->offered[i].name));
		pack_u32(&body, server->offered[i].needs);
	}
	ipc_channel_send(channel, AUTH_OFFER, 0, buffer_view(&body), NULL, 0);
}

void auth_offer_update(struct auth_server *server)
{
	server->offered_count = 0;
	memset(server->offered, 0, sizeof server->offered);
	add_own_mechanisms(server);
	if (server->dovecot != NULL)
		add_dovecots(server);
	if (server->ipc != NULL)
		ipc_server_each(server->ipc, auth_offer_tell);
}

const struct auth_offered *auth_offer_find(const struct auth_server *server, struct str name)
{
	for (size_t i = 0; i < server->offered_count; i++)
		if (str_equal(name, str_from(server->offered[i].name)))
			return &server->offered[i];
	return NULL;
}

bool auth_offer_has_binding(const struct auth_server *server)
{
	for (size_t i = 0; i < server->offered_count; i++)
		if ((server->offered[i].needs & AUTH_NEEDS_BINDING) != 0 &&
		    !server->offered[i].is_withheld)
			return true;
	return false;
}
