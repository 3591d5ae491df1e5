// SPDX-License-Identifier: ISC
#include "deliver/mailbox/copies.h"
#include "filing/user.h"
#include "mail/mailbox/folder.h"
#include <string.h>

static unsigned flags_from_names(const char *const *names, size_t count)
{
	static const struct {
		const char *name;
		unsigned flag;
	} known[] = {{"seen", MAILSTORE_SEEN},
		     {"flagged", MAILSTORE_FLAGGED},
		     {"draft", MAILSTORE_DRAFT}};
	unsigned flags = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < COUNT_OF(known); j++)
			if (strcmp(names[i], known[j].name) == 0)
				flags |= known[j].flag;
	return flags;
}

void mailbox_copies_begin(struct mailbox_copies *copies, struct filing_message *message,
			  size_t recipients, const struct config *config,
			  const struct config_service *service,
			  const struct mailbox_rules_fields *fields, struct arena *arena)
{
	const struct mailbox_rules_facts facts = {
		.identity = message->identity,
		.decoded = message->decoded,
		.fields = *fields,
		.sender = message->sender,
		.size = message->content.size,
	};
	bool *holds = arena_alloc(arena, (config->rule_count + 1) * sizeof *holds);

	mailbox_rules_weigh(config, service, &facts, holds);
	*copies = (struct mailbox_copies){
		.message = message,
		.config = config,
		.service = service,
		.arena = arena,
		.sent_folder = arena_copy_str(arena, str_from(service->sent_folder)),
		.holds = holds,
	};
	message->copies = arena_alloc(arena, (recipients + 1) * sizeof *message->copies);
	message->copy_count = 0;
}

/* The copy of USER for PURPOSE, which is made if it is not there. */
static size_t copy_for(struct mailbox_copies *copies, const struct filing_copy *wanted)
{
	struct filing_message *message = copies->message;
	size_t i = 0;

	while (i < message->copy_count &&
	       !(str_equal(message->copies[i].mailbox.user, wanted->mailbox.user) &&
		 str_equal(message->copies[i].decision.purpose, wanted->decision.purpose)))
		i++;
	if (i == message->copy_count)
		message->copies[message->copy_count++] = *wanted;
	return i;
}

static struct str keep_copy_text(struct mailbox_copies *copies, struct buffer *text)
{
	struct str kept = arena_copy_str(copies->arena, buffer_view(text));

	buffer_clear(text);
	return kept;
}

/* "to", or "to+DETAIL". */
static struct str purpose_of(struct mailbox_copies *copies, struct str detail)
{
	struct buffer text = {0};

	buffer_append_string(&text, detail.length > 0 ? "to+" : "to");
	buffer_append_str(&text, detail);
	return keep_copy_text(copies, &text);
}

/* FOLDER with DETAIL in place of %x. */
static struct str expand_folder(struct mailbox_copies *copies, const char *folder,
				struct str detail)
{
	struct buffer text = {0};

	for (const char *at = folder; *at != '\0'; at++) {
		if (*at != '%') {
			buffer_append_byte(&text, *at);
			continue;
		}
		buffer_append_str(&text, detail);
		at++; /* x: the configuration was checked */
	}
	return keep_copy_text(copies, &text);
}

/* Whether the service can have FOLDER, the result of a rule. */
static bool can_have(const struct config_service *service, struct str folder)
{
	return service->kind == CONFIG_SERVICE_MAILBOX ? mail_folder_is_portable(folder)
						       : mail_folder_is_valid(folder);
}

/* DETAIL as it is written, since names of folders have a case. It is the sender's choice: one that
 * is no folder's name must not make mail bounce. */
static struct str folder_of(struct mailbox_copies *copies, const struct config_rule *rule,
			    struct str detail, bool *is_choice_out)
{
	const struct config_service *service = copies->service;
	bool is_name = mail_folder_is_portable(detail);

	if (rule != NULL && (is_name || strchr(rule->folder, '%') == NULL)) {
		struct str folder = expand_folder(copies, rule->folder, detail);

		*is_choice_out = strchr(rule->folder, '%') != NULL;
		if (can_have(service, folder))
			return folder;
	}
	*is_choice_out = service->detail_folders && is_name;
	if (*is_choice_out)
		return detail;
	return arena_copy_str(copies->arena, str_from(service->folder));
}

size_t mailbox_copies_add(struct mailbox_copies *copies, struct str address)
{
	const struct config_service *service = copies->service;
	struct filing_copy copy = {
		.recipient = address,
		.refuses_over_quota = service->over_quota == CONFIG_OVER_QUOTA_REFUSE,
	};
	const struct config_rule *rule;
	struct str detail;
	struct str written;

	if (filing_user(address, copies->arena, &copy.mailbox.user, &detail, &written) != 0)
		return MAILBOX_NO_COPY;
	rule = mailbox_rules_choose(copies->config, copies->holds, copy.mailbox.user, detail);
	copy.mailbox.folder = folder_of(copies, rule, written, &copy.is_choice);
	copy.other_folder = arena_copy_str(copies->arena, str_from(service->folder));
	copy.decision.purpose = purpose_of(copies, detail);
	copy.decision.rule =
		arena_copy_str(copies->arena, str_from(rule != NULL ? rule->name : ""));
	copy.decision.flags = rule != NULL && rule->flag_count > 0
				      ? flags_from_names(rule->flags, rule->flag_count)
				      : flags_from_names(service->flags, service->flag_count);
	copies->keeps_sent = copies->keeps_sent || rule == NULL || rule->sent;
	return copy_for(copies, &copy);
}

struct str mailbox_copies_sender(const struct mailbox_copies *copies)
{
	const struct decode_identity *identity = copies->message->identity;
	bool is_kept = copies->service->sent != CONFIG_SENT_NONE && copies->keeps_sent &&
		       !identity->is_automatic;

	return is_kept ? identity->from : STR("");
}

size_t mailbox_copies_add_sent(struct mailbox_copies *copies, struct str address)
{
	struct filing_copy copy = {
		.recipient = STR(""),
		.refuses_over_quota = true,
		.decision = {.purpose = STR("sent"), .rule = STR(""), .flags = MAILSTORE_SEEN},
	};

	if (filing_user(address, copies->arena, &copy.mailbox.user, NULL, NULL) != 0)
		return MAILBOX_NO_COPY;
	copy.mailbox.folder = copies->sent_folder;
	return copy_for(copies, &copy);
}

void mailbox_copies_limit(struct mailbox_copies *copies, size_t index,
			  const struct mail_quota *quota)
{
	struct mail_quota *kept = arena_alloc(copies->arena, sizeof *kept);

	*kept = *quota;
	copies->message->copies[index].quota = kept;
}
