// SPDX-License-Identifier: ISC
/* Messages of the search that does not end, at played LDAP servers (RFC 4533). */
#include "played_ldap_internal.h"
#include "test.h"
#include <string.h>

static const char SYNC_STATE[] = "1.3.6.1.4.1.4203.1.9.1.2";
static const char SYNC_INFO[] = "1.3.6.1.4.1.4203.1.9.1.4";

static struct buffer *output_of(size_t server)
{
	for (size_t i = 0; i < PLAYED_LDAP_SESSIONS; i++)
		if (played_ldap_sessions[i].socket >= 0 &&
		    played_ldap_sessions[i].server == &played_ldap.servers[server] &&
		    played_ldap_sessions[i].server->sync != 0)
			return &played_ldap_sessions[i].out;
	fail_msg("nobody follows server %zu", server);
	return NULL;
}

static void put_uuid(struct buffer *out, uint8_t uuid)
{
	uint8_t bytes[SYNC_UUID_SIZE] = {0};

	bytes[SYNC_UUID_SIZE - 1] = uuid;
	played_ldap_put_bytes(out, 0x04, bytes, sizeof bytes);
}

static void put_sync_state(struct buffer *out, enum sync_state state, uint8_t uuid,
			   const char *cookie)
{
	size_t controls = played_ldap_begin_element(out, 0xa0),
	       control = played_ldap_begin_element(out, 0x30), value;
	size_t sequence;

	played_ldap_put_text(out, 0x04, SYNC_STATE);
	value = played_ldap_begin_element(out, 0x04);
	sequence = played_ldap_begin_element(out, 0x30);
	played_ldap_put_number(out, 0x0a, (int)state);
	put_uuid(out, uuid);
	if (cookie != NULL)
		played_ldap_put_text(out, 0x04, cookie);
	played_ldap_end_element(out, sequence);
	played_ldap_end_element(out, value);
	played_ldap_end_element(out, control);
	played_ldap_end_element(out, controls);
}

void played_ldap_entry(size_t server, enum sync_state state, uint8_t uuid, const char *dn,
		       const char *attribute, const char *value, const char *cookie)
{
	struct buffer *out = output_of(server);
	struct played_ldap_message message =
		played_ldap_begin_answer(out, played_ldap.servers[server].sync, 0x64);

	played_ldap_put_entry_body(out, dn, attribute, (const char *const[]){value, NULL});
	played_ldap_end_element(out, message.body);
	put_sync_state(out, state, uuid, cookie);
	played_ldap_end_element(out, message.whole);
}

void played_ldap_plain_entry(size_t server, const char *dn)
{
	played_ldap_send_entry(output_of(server), played_ldap.servers[server].sync, dn, NULL, NULL);
}

void played_ldap_intermediate(size_t server, const char *kind, struct str data)
{
	played_ldap_send_intermediate(output_of(server), played_ldap.servers[server].sync, kind,
				      data);
}

void played_ldap_refreshed(size_t server, enum sync_info info, bool is_done, const char *cookie)
{
	struct buffer data CLEANUP(buffer_clear) = {0};
	size_t at;

	if (info == SYNC_NEW_COOKIE) {
		played_ldap_put_text(&data, 0x80, cookie);
	} else {
		at = played_ldap_begin_element(&data, info == SYNC_REFRESH_DELETE ? 0xa1 : 0xa2);
		if (cookie != NULL)
			played_ldap_put_text(&data, 0x04, cookie);
		played_ldap_put_bytes(&data, 0x01, is_done ? "\xff" : "\0", 1);
		played_ldap_end_element(&data, at);
	}
	played_ldap_intermediate(server, SYNC_INFO, buffer_view(&data));
}

void played_ldap_uuids(size_t server, bool are_deleted, const uint8_t *uuids, size_t count)
{
	struct buffer data CLEANUP(buffer_clear) = {0};
	size_t at = played_ldap_begin_element(&data, 0xa3), set;

	played_ldap_put_bytes(&data, 0x01, are_deleted ? "\xff" : "\0", 1);
	set = played_ldap_begin_element(&data, 0x31);
	for (size_t i = 0; i < count; i++)
		put_uuid(&data, uuids[i]);
	played_ldap_end_element(&data, set);
	played_ldap_end_element(&data, at);
	played_ldap_intermediate(server, SYNC_INFO, buffer_view(&data));
}

void played_ldap_reference(size_t server)
{
	played_ldap_send_reference(output_of(server), played_ldap.servers[server].sync);
}

void played_ldap_sync_ends(size_t server, int code, const char *text)
{
	played_ldap_send_result(output_of(server), played_ldap.servers[server].sync, 0x65, code,
				text);
}

void played_ldap_unsolicited(size_t server)
{
	played_ldap_send_intermediate(output_of(server), 0, "1.2.3", STR("hear"));
}
