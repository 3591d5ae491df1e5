// SPDX-License-Identifier: ISC
/* Who takes part in a message, by its header. */
#include "filing/decode/mime/internal.h"
#include "mail/address.h"

enum { GROUPS_MAX = 5 }; /* within each other: RFC 5322 has one */

static void add_participant(struct decode_work *work, enum decode_role role,
			    InternetAddress *internet)
{
	struct decode_message *message = work->message;
	const char *text = internet_address_mailbox_get_addr(INTERNET_ADDRESS_MAILBOX(internet));
	struct mail_address address;
	struct str copy;

	if (text == NULL || *text == '\0')
		return;
	if (message->participant_count >= DECODE_PARTICIPANT_MAX) {
		work->problems |= DECODE_PROBLEM_PARTICIPANTS;
		return;
	}
	if (mail_address_parse(str_from(text), MAIL_ADDRESS_UTF8, &address) < 0 ||
	    !decode_text_is_clean(address.text, MAIL_ADDRESS_MAX)) {
		work->problems |= DECODE_PROBLEM_ADDRESS;
		return;
	}
	copy = arena_copy_str(work->arena, address.text);
	str_lower((char *)(uintptr_t)copy.data + address.local.length,
		  copy.length - address.local.length);
	message->participants[message->participant_count++] = (struct decode_participant){
		.role = role,
		.address = copy,
		.name = decode_text_clean(work->arena, internet_address_get_name(internet)),
	};
}

static void add_list(struct decode_work *work, enum decode_role role, InternetAddressList *list,
		     unsigned depth)
{
	int count = list != NULL ? internet_address_list_length(list) : 0;

	for (int i = 0; i < count; i++) {
		InternetAddress *address = internet_address_list_get_address(list, i);

		if (INTERNET_ADDRESS_IS_MAILBOX(address))
			add_participant(work, role, address);
		else if (INTERNET_ADDRESS_IS_GROUP(address) && depth < GROUPS_MAX)
			add_list(
				work, role,
				internet_address_group_get_members(INTERNET_ADDRESS_GROUP(address)),
				depth + 1);
	}
}

void decode_participants_list(struct decode_work *work, GMimeMessage *message)
{
	static const GMimeAddressType types[DECODE_ROLES] = {
		[DECODE_FROM] = GMIME_ADDRESS_TYPE_FROM,
		[DECODE_SENDER] = GMIME_ADDRESS_TYPE_SENDER,
		[DECODE_REPLY_TO] = GMIME_ADDRESS_TYPE_REPLY_TO,
		[DECODE_TO] = GMIME_ADDRESS_TYPE_TO,
		[DECODE_CC] = GMIME_ADDRESS_TYPE_CC,
		[DECODE_BCC] = GMIME_ADDRESS_TYPE_BCC,
	};

	work->message->participants = arena_alloc(
		work->arena, DECODE_PARTICIPANT_MAX * sizeof *work->message->participants);
	for (enum decode_role role = 0; role < DECODE_ROLES; role++)
		add_list(work, role, g_mime_message_get_addresses(message, types[role]), 0);
}
