// SPDX-License-Identifier: ISC
/* The types of settings of a section rule. */
#include "config/type/type.h"
#include "config/type/value.h"

enum { MASK_MAX = 255, FIELD_NAME_MAX = 76 };

static struct config_complaint check_mask(struct str text)
{
	if (text.length == 0)
		return config_type_complain("not a mask");
	if (text.length > MASK_MAX)
		return config_type_complain("too long");
	return config_type_fine;
}

static struct config_complaint parse_rule_mask(const struct config_setting *setting,
					       const struct config *config, struct str text,
					       void *place)
{
	struct config_complaint complaint = check_mask(text);

	(void)setting;
	return complaint.message == NULL ? config_type_keep(config, text, place) : complaint;
}

const struct config_type config_type_masks = {.name = "list of masks",
					      .allowed = "a text of 1 to 255 bytes with * and ?",
					      .size = sizeof(char *),
					      .is_list = true,
					      .parse = parse_rule_mask,
					      .print = config_type_print_text};

static struct config_complaint parse_address_mask(const struct config_setting *setting,
						  const struct config *config, struct str text,
						  void *place)
{
	if (str_find(text, ' ') >= 0 || (text.length > 0 && text.data[text.length - 1] == '@'))
		return config_type_complain("not a mask of addresses");
	return parse_rule_mask(setting, config, text, place);
}

const struct config_type config_type_address_masks = {
	.name = "list of masks of addresses",
	.allowed = "LOCAL@DOMAIN or DOMAIN of at most 255 bytes, with * and ?; <> for no sender",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_address_mask,
	.print = config_type_print_text};

/* RFC 5322 section 3.6.8. */
static bool is_field_name(struct str name)
{
	for (size_t i = 0; i < name.length; i++)
		if (name.data[i] <= ' ' || name.data[i] >= 0x7f)
			return false;
	return name.length > 0 && name.length <= FIELD_NAME_MAX;
}

static struct config_complaint parse_header_test(const struct config_setting *setting,
						 const struct config *config, struct str text,
						 void *place)
{
	struct config_header_test *test = place;
	struct str mask = text;
	struct config_complaint complaint = config_type_fine;
	struct str name;

	(void)setting;
	if (!str_split(&mask, ':', &name) || !is_field_name(name))
		return config_type_complain("not the name of a header field");
	mask = mask.data == NULL ? STR("*") : str_trim(mask);
	complaint = check_mask(mask);
	if (complaint.message == NULL)
		*test = (struct config_header_test){config_copy_lower(config->arena, name),
						    arena_copy(config->arena, mask)};
	return complaint;
}

static void print_header_test(const struct config_setting *setting, const void *place,
			      struct buffer *out)
{
	const struct config_header_test *test = place;

	(void)setting;
	buffer_append_string(out, test->name);
	if (!str_equal(str_from(test->mask), STR("*")))
		buffer_append_format(out, ": %s", test->mask);
}

const struct config_type config_type_header_tests = {
	.name = "list of header fields",
	.allowed = "NAME, \"NAME: MASK\" with a mask of 1 to 255 bytes with * and ?",
	.size = sizeof(struct config_header_test),
	.is_list = true,
	.parse = parse_header_test,
	.print = print_header_test};
