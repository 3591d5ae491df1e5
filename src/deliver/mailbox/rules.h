// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/rules.h - which rule of the configuration decides about a copy of a message.
 * Pure.
 *
 * What a rule says of the message is looked at once, what it says of the recipient for each. That
 * costs at most CONFIG_RULE_MASKS_MAX masks, each of CONFIG's 255 bytes against at most
 * DECODE_TEXT_MAX bytes.
 */
#ifndef DELIVER_MAILBOX_RULES_H
#define DELIVER_MAILBOX_RULES_H

#include "config/config.h"
#include "filing/decode/identity.h"

/* The fields that the rules ask for, in ARENA, to be filled by decode_identify_fields(). */
struct mailbox_rules_fields {
	struct decode_field *fields;
	size_t count;
};
void mailbox_rules_fields(const struct config *config, struct arena *arena,
			  struct mailbox_rules_fields *out);

/* What is known of a message. */
struct mailbox_rules_facts {
	const struct decode_identity *identity;
	const struct decode_message *decoded; /* its subject counts, not the field */
	struct mailbox_rules_fields fields;
	struct str sender; /* of the envelope */
	uint64_t size;
};

/* Sets HOLDS_OUT[i] for each of CONFIG's rules: whether it is for SERVICE, and what it says of the
 * message holds. */
void mailbox_rules_weigh(const struct config *config, const struct config_service *service,
			 const struct mailbox_rules_facts *facts, bool *holds_out);
/* The first rule with HOLDS for the recipient with the mailbox USER and DETAIL ("": none), both in
 * canonical form; NULL: none. */
const struct config_rule *mailbox_rules_choose(const struct config *config, const bool *holds,
					       struct str user, struct str detail);

#endif
