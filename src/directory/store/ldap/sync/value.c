// SPDX-License-Identifier: ISC
#include "directory/store/ldap/sync/value.h"
#include "base/panic.h"
#include <errno.h>
#include <lber.h>
#include <ldap.h>
#include <string.h>

static void ber_end(BerElement **ber)
{
	if (*ber != NULL)
		ber_free(*ber, 1);
}

#define BER_OWNED __attribute__((cleanup(ber_end))) BerElement *

static BerElement *ber_begin(struct str data)
{
	struct berval value = {.bv_len = data.length, .bv_val = (char *)data.data};

	return data.length == 0 ? NULL : ber_init(&value);
}

/* Whether TAG follows. At the end, or before an incomplete element, LBER_DEFAULT does. */
static bool tag_follows(BerElement *ber, ber_tag_t tag)
{
	ber_len_t length;

	return ber_peek_tag(ber, &length) == tag;
}

/* The rest might be an unknown element, but is not a complete one. */
static bool is_broken(BerElement *ber)
{
	ber_len_t left = 0;

	return ber_get_option(ber, LBER_OPT_BER_REMAINING_BYTES, &left) == LBER_OPT_SUCCESS &&
	       left > 0 && tag_follows(ber, LBER_DEFAULT);
}

static struct str copy_berval(struct arena *arena, const struct berval *value)
{
	return arena_copy_str(arena, str_slice(value->bv_val, value->bv_len));
}

void ldap_sync_request_encode(struct str cookie, struct buffer *out)
{
	BER_OWNED ber = ber_alloc_t(LBER_USE_DER);
	struct berval value;
	int error;

	if (ber == NULL)
		panic("out of memory");
	error = ber_printf(ber, "{e", LDAP_SYNC_REFRESH_AND_PERSIST);
	if (error >= 0 && cookie.length > 0)
		error = ber_printf(ber, "o", cookie.data, (ber_len_t)cookie.length);
	if (error >= 0)
		error = ber_printf(ber, "}"); /* no reloadHint: a stale cookie is an error */
	if (error < 0 || ber_flatten2(ber, &value, 0) < 0)
		panic("out of memory");
	buffer_append(out, value.bv_val, value.bv_len);
}

int sync_state_decode(struct str data, struct arena *arena, struct sync_state_value *value_out)
{
	BER_OWNED ber = ber_begin(data);
	struct sync_state_value value = {0};
	struct berval uuid;
	struct berval cookie;
	ber_int_t state;

	if (ber == NULL || ber_scanf(ber, "{em", &state, &uuid) == LBER_ERROR ||
	    state < SYNC_PRESENT || state > SYNC_DELETE || uuid.bv_len != SYNC_UUID_SIZE)
		return -EBADMSG;
	value.state = (enum sync_state)state;
	memcpy(value.uuid.bytes, uuid.bv_val, SYNC_UUID_SIZE);
	if (tag_follows(ber, LDAP_TAG_SYNC_COOKIE)) {
		if (ber_scanf(ber, "m", &cookie) == LBER_ERROR)
			return -EBADMSG;
		value.cookie = copy_berval(arena, &cookie);
	}
	if (is_broken(ber))
		return -EBADMSG;
	*value_out = value;
	return 0;
}

/* Decodes an optional cookie and an optional boolean; *FLAG must be set to its default. */
static int decode_cookie(BerElement *ber, struct arena *arena, struct str *cookie_out, bool *flag)
{
	struct berval cookie;
	ber_int_t truth;

	if (tag_follows(ber, LDAP_TAG_SYNC_COOKIE)) {
		if (ber_scanf(ber, "m", &cookie) == LBER_ERROR)
			return -EBADMSG;
		*cookie_out = copy_berval(arena, &cookie);
	}
	if (tag_follows(ber, LBER_BOOLEAN)) {
		if (ber_scanf(ber, "b", &truth) == LBER_ERROR)
			return -EBADMSG;
		*flag = truth != 0;
	}
	return 0;
}

static int decode_uuids(BerElement *ber, struct arena *arena, struct sync_info_value *value)
{
	BerVarray texts = NULL;
	struct sync_uuid *uuids;
	size_t count = 0;
	int error = 0;

	if (ber_scanf(ber, "[W]", &texts) == LBER_ERROR)
		return -EBADMSG;
	while (texts != NULL && texts[count].bv_val != NULL)
		count++;
	uuids = arena_alloc(arena, (count + 1) * sizeof(*uuids));
	for (size_t i = 0; i < count; i++) {
		if (texts[i].bv_len != SYNC_UUID_SIZE)
			error = -EBADMSG;
		else
			memcpy(uuids[i].bytes, texts[i].bv_val, SYNC_UUID_SIZE);
	}
	ber_bvarray_free(texts);
	value->uuids = uuids;
	value->uuid_count = count;
	return error;
}

static int decode_new_cookie(BerElement *ber, struct arena *arena, struct sync_info_value *value)
{
	struct berval cookie;

	if (ber_scanf(ber, "m", &cookie) == LBER_ERROR)
		return -EBADMSG;
	value->info = SYNC_NEW_COOKIE;
	value->cookie = copy_berval(arena, &cookie);
	return 0;
}

static int decode_sequence(BerElement *ber, ber_tag_t tag, struct arena *arena,
			   struct sync_info_value *value)
{
	int error;

	if (ber_scanf(ber, "{") == LBER_ERROR)
		return -EBADMSG;
	if (tag == LDAP_TAG_SYNC_ID_SET) {
		value->info = SYNC_ID_SET;
		error = decode_cookie(ber, arena, &value->cookie, &value->are_deleted);
		if (error == 0)
			error = decode_uuids(ber, arena, value);
	} else {
		value->info = tag == LDAP_TAG_SYNC_REFRESH_DELETE ? SYNC_REFRESH_DELETE
								  : SYNC_REFRESH_PRESENT;
		value->is_refresh_done = true;
		error = decode_cookie(ber, arena, &value->cookie, &value->is_refresh_done);
	}
	if (error == 0 && is_broken(ber))
		error = -EBADMSG;
	return error;
}

int sync_info_decode(struct str data, struct arena *arena, struct sync_info_value *value_out)
{
	BER_OWNED ber = ber_begin(data);
	struct sync_info_value value = {0};
	ber_len_t length;
	ber_tag_t tag;
	int error = -EBADMSG;

	if (ber == NULL)
		return -EBADMSG;
	tag = ber_peek_tag(ber, &length);
	if (tag == LDAP_TAG_SYNC_NEW_COOKIE)
		error = decode_new_cookie(ber, arena, &value);
	else if (tag == LDAP_TAG_SYNC_REFRESH_DELETE || tag == LDAP_TAG_SYNC_REFRESH_PRESENT ||
		 tag == LDAP_TAG_SYNC_ID_SET)
		error = decode_sequence(ber, tag, arena, &value);
	if (error == 0)
		*value_out = value;
	return error;
}
