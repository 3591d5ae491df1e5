// SPDX-License-Identifier: ISC
#include "deliver/mailbox/rules.h"
#include "base/text/mask.h"
#include <string.h>

static bool is_rule_for_service(const struct config_rule *rule,
				const struct config_service *service)
{
	return *rule->service == '\0' || strcmp(rule->service, service->name) == 0;
}

static struct decode_field *find_field_of_rules(const struct mailbox_rules_fields *fields,
						const char *name)
{
	for (size_t i = 0; i < fields->count; i++)
		if (str_equal(fields->fields[i].name, str_from(name)))
			return &fields->fields[i];
	return NULL;
}

static void add_fields_of_rule(const struct config_rule *rule, struct arena *arena,
			       struct mailbox_rules_fields *out)
{
	for (size_t i = 0; i < rule->header_count; i++) {
		const char *name = rule->headers[i].name;

		if (find_field_of_rules(out, name) == NULL)
			out->fields[out->count++] = (struct decode_field){
				.name = arena_copy_str(arena, str_from(name))};
	}
}

void mailbox_rules_fields(const struct config *config, struct arena *arena,
			  struct mailbox_rules_fields *out)
{
	*out = (struct mailbox_rules_fields){
		.fields = arena_alloc(arena, CONFIG_RULE_FIELDS_MAX * sizeof *out->fields)};
	for (size_t i = 0; i < config->rule_count; i++)
		add_fields_of_rule(&config->rules[i], arena, out);
}

/* The value of the field NAME; without data: it is not there. */
static struct str value_of_header_field(const struct mailbox_rules_facts *facts, const char *name)
{
	const struct decode_field *field = find_field_of_rules(&facts->fields, name);

	if (field == NULL || field->value.data == NULL || strcmp(name, "subject") != 0)
		return field != NULL ? field->value : (struct str){0};
	return facts->decoded->subject;
}

static bool has_header(const struct config_rule *rule, const struct mailbox_rules_facts *facts)
{
	for (size_t i = 0; i < rule->header_count; i++) {
		struct str value = value_of_header_field(facts, rule->headers[i].name);

		if (value.data != NULL && mask_matches(str_from(rule->headers[i].mask), value))
			return true;
	}
	return rule->header_count == 0;
}

/* MASKS: of whole addresses, or of domains if they have no '@'. */
static bool has_masked_address(const char *const *masks, size_t count, struct str address)
{
	ptrdiff_t at = str_find_last(address, '@');
	struct str domain = at < 0 ? STR("") : str_skip(address, (size_t)at + 1);

	for (size_t i = 0; i < count; i++) {
		bool is_whole = strchr(masks[i], '@') != NULL;

		if (address.length == 0
			    ? strcmp(masks[i], "<>") == 0
			    : mask_matches(str_from(masks[i]), is_whole ? address : domain))
			return true;
	}
	return count == 0;
}

static bool has_detail(const struct config_rule *rule, struct str detail)
{
	for (size_t i = 0; i < rule->detail_count; i++)
		if (detail.length > 0 && mask_matches(str_from(rule->details[i]), detail))
			return true;
	return rule->detail_count == 0;
}

static bool has_size(const struct config_rule *rule, uint64_t size)
{
	return (rule->larger == 0 || size > rule->larger) &&
	       (rule->smaller == 0 || size < rule->smaller);
}

static bool is_automatic_or_not(const struct config_rule *rule, bool is_automatic)
{
	return rule->automatic == CONFIG_RULE_ANY ||
	       (rule->automatic == CONFIG_RULE_AUTOMATIC) == is_automatic;
}

void mailbox_rules_weigh(const struct config *config, const struct config_service *service,
			 const struct mailbox_rules_facts *facts, bool *holds_out)
{
	for (size_t i = 0; i < config->rule_count; i++) {
		const struct config_rule *rule = &config->rules[i];

		holds_out[i] =
			is_rule_for_service(rule, service) && has_size(rule, facts->size) &&
			is_automatic_or_not(rule, facts->identity->is_automatic) &&
			has_masked_address(rule->senders, rule->sender_count, facts->sender) &&
			has_header(rule, facts);
	}
}

const struct config_rule *mailbox_rules_choose(const struct config *config, const bool *holds,
					       struct str user, struct str detail)
{
	for (size_t i = 0; i < config->rule_count; i++) {
		const struct config_rule *rule = &config->rules[i];

		if (holds[i] && has_detail(rule, detail) &&
		    has_masked_address(rule->recipients, rule->recipient_count, user))
			return rule;
	}
	return NULL;
}
