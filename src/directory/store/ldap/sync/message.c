// SPDX-License-Identifier: ISC
#include "directory/store/ldap/sync/message.h"
#include <errno.h>
#include <string.h>

static struct str view_of_berval(const struct berval *value)
{
	return str_slice(value->bv_val, value->bv_len);
}

int message_ask_sync(LDAP *ld, const char *base, char *const *attributes, struct str cookie)
{
	struct buffer value = {0};
	LDAPControl control = {.ldctl_oid = (char *)LDAP_CONTROL_SYNC, .ldctl_iscritical = 1};
	LDAPControl *controls[] = {&control, NULL};
	int number = 0;
	int code;

	ldap_sync_request_encode(cookie, &value);
	control.ldctl_value =
		(struct berval){.bv_len = value.length, .bv_val = buffer_data(&value)};
	code = ldap_search_ext(ld, base, LDAP_SCOPE_SUBTREE, "(objectClass=*)", (char **)attributes,
			       0, controls, NULL, NULL, 0, &number);
	buffer_clear(&value);
	return code == LDAP_SUCCESS ? number : -1;
}

static const struct str *copy_values(const struct berval *values, struct arena *arena,
				     size_t *count_out)
{
	size_t count = 0;
	struct str *texts;

	while (values != NULL && values[count].bv_val != NULL)
		count++;
	texts = arena_alloc(arena, (count + 1) * sizeof(*texts));
	for (size_t i = 0; i < count; i++)
		texts[i] = view_of_berval(&values[i]);
	*count_out = count;
	return texts;
}

/* Counts the attributes that follow in BER, without consuming them. */
static size_t count_attributes(LDAP *ld, LDAPMessage *message)
{
	BerElement *ber = NULL;
	struct berval name;
	size_t count = 0;

	if (ldap_get_dn_ber(ld, message, &ber, &name) != LDAP_SUCCESS)
		return 0;
	while (ldap_get_attribute_ber(ld, message, ber, &name, NULL) == LDAP_SUCCESS &&
	       name.bv_val != NULL)
		count++;
	ber_free(ber, 0);
	return count;
}

int message_entry(LDAP *ld, LDAPMessage *message, struct arena *arena, struct entry *entry_out)
{
	size_t most = count_attributes(ld, message);
	struct entry_attribute *attributes = arena_alloc(arena, (most + 1) * sizeof(*attributes));
	BerElement *ber = NULL;
	struct berval name;
	BerVarray values = NULL;
	size_t count = 0;
	int error = 0;

	if (ldap_get_dn_ber(ld, message, &ber, &name) != LDAP_SUCCESS)
		return -EBADMSG;
	entry_out->dn = view_of_berval(&name);
	while (count < most && error == 0) {
		values = NULL;
		if (ldap_get_attribute_ber(ld, message, ber, &name, &values) != LDAP_SUCCESS)
			error = -EBADMSG;
		else if (name.bv_val == NULL)
			break;
		attributes[count].name = view_of_berval(&name);
		attributes[count].values =
			copy_values(values, arena, &attributes[count].value_count);
		count++;
		ber_memfree(values);
	}
	ber_free(ber, 0);
	entry_out->attributes = attributes;
	entry_out->attribute_count = count;
	return error;
}

int message_sync_state(LDAP *ld, LDAPMessage *message, struct arena *arena,
		       struct sync_state_value *value_out)
{
	LDAPControl **controls = NULL;
	LDAPControl *found;
	int error = -EBADMSG;

	if (ldap_get_entry_controls(ld, message, &controls) != LDAP_SUCCESS)
		return -EBADMSG;
	found = ldap_control_find(LDAP_CONTROL_SYNC_STATE, controls, NULL);
	if (found != NULL)
		error = sync_state_decode(view_of_berval(&found->ldctl_value), arena, value_out);
	ldap_controls_free(controls);
	return error;
}

int message_sync_info(LDAP *ld, LDAPMessage *message, struct arena *arena,
		      struct sync_info_value *value_out)
{
	struct berval *data = NULL;
	char *kind = NULL;
	int error = -ENOMSG;

	if (ldap_parse_intermediate(ld, message, &kind, &data, NULL, 0) != LDAP_SUCCESS)
		return -EBADMSG;
	if (kind != NULL && strcmp(kind, LDAP_SYNC_INFO) == 0)
		error = data == NULL ? -EBADMSG
				     : sync_info_decode(view_of_berval(data), arena, value_out);
	ldap_memfree(kind);
	ber_bvfree(data);
	return error;
}
