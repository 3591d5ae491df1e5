// SPDX-License-Identifier: ISC
/* Prints a configuration as a file that can be parsed again, for "stagepost config". */
#include "base/checksum.h"
#include "base/text/quote.h"
#include "config/internal.h"
#include "config/section/send.h"
#include <string.h>

/* Where it goes. */
struct printing {
	struct buffer *out;
	bool is_public; /* without what may be secret */
	bool is_shared; /* without what each machine has of its own */
	uint32_t *sums; /* NULL, or checksums of each kind of section, in place of the text */
};

void config_print_value(const struct config_setting *setting, const void *place, struct buffer *out)
{
	struct buffer text = {0};

	setting->type->print(setting, place, &text);
	if (setting->type->is_bare)
		buffer_append_str(out, buffer_view(&text));
	else
		quote_append(out, buffer_view(&text));
	buffer_clear(&text);
}

static void print_name(const struct config_setting *setting, const char *indent, struct buffer *out)
{
	buffer_append_string(out, indent);
	buffer_append_string(out, setting->name);
	buffer_append_string(out, " = ");
}

static void print_one(const struct printing *printing, const struct config_setting *setting,
		      const void *place)
{
	if (printing->is_public && setting->is_secret)
		quote_append(printing->out, STR(CONFIG_HIDDEN));
	else
		config_print_value(setting, place, printing->out);
}

/* Omits an empty list where that is the default. */
static void print_list(const struct printing *printing, const struct config_setting *setting,
		       const char *base, const char *indent)
{
	struct buffer *out = printing->out;
	const char *values;
	size_t count;

	memcpy(&values, base + setting->offset, sizeof values);
	memcpy(&count, base + setting->count_offset, sizeof count);
	if (count == 0 && (setting->initial == NULL || *setting->initial == '\0'))
		return;
	print_name(setting, indent, out);
	buffer_append_string(out, count > 0 ? "{ " : "{");
	for (size_t i = 0; i < count; i++) {
		buffer_append_string(out, i > 0 ? ", " : "");
		print_one(printing, setting, values + i * setting->type->size);
	}
	buffer_append_string(out, " }\n");
}

static void print_settings(const struct printing *printing, enum config_section section,
			   const void *base)
{
	const char *indent = section == CONFIG_SECTION_ROOT ? "" : "\t";
	struct config_rows rows = {.section = section};
	const struct config_setting *row;

	while ((row = config_rows_next(&rows)) != NULL) {
		if (!config_setting_applies(row, base) ||
		    (printing->is_shared && row->is_of_machine))
			continue;
		if (row->type->is_list) {
			print_list(printing, row, base, indent);
			continue;
		}
		print_name(row, indent, printing->out);
		print_one(printing, row, (const char *)base + row->offset);
		buffer_append_byte(printing->out, '\n');
	}
}

/* What is in the buffer is of SECTION, of which there may be more. */
static void sum_section(const struct printing *printing, enum config_section section)
{
	struct str text = buffer_view(printing->out);

	if (printing->sums == NULL)
		return;
	printing->sums[section] = checksum_extend(printing->sums[section], text.data, text.length);
	buffer_reset(printing->out);
}

static void print_configured_section(const struct printing *printing, enum config_section section,
				     const char *title, const void *base)
{
	struct buffer *out = printing->out;

	buffer_append_byte(out, '\n');
	buffer_append_string(out, config_section_info(section)->name);
	if (title != NULL) {
		buffer_append_byte(out, ' ');
		quote_append(out, str_from(title));
	}
	buffer_append_string(out, " {\n");
	print_settings(printing, section, base);
	buffer_append_string(out, "}\n");
	sum_section(printing, section);
}

static void print_config(const struct printing *printing, const struct config *config)
{
	print_settings(printing, CONFIG_SECTION_ROOT, config);
	sum_section(printing, CONFIG_SECTION_ROOT);
	for (size_t i = 0; i < config->listen_count; i++)
		print_configured_section(printing, CONFIG_SECTION_LISTEN,
					 config_protocol_name(config->listens[i].protocol),
					 &config->listens[i]);
	for (size_t i = 0; i < config->service_count; i++)
		print_configured_section(printing, CONFIG_SECTION_SERVICE, config->services[i].name,
					 &config->services[i]);
	for (size_t i = 0; i < config->domain_count; i++)
		print_configured_section(printing, CONFIG_SECTION_DOMAIN, config->domains[i].name,
					 &config->domains[i]);
	for (size_t i = 0; i < config->transport_count; i++)
		print_configured_section(printing, CONFIG_SECTION_TRANSPORT,
					 config->transports[i].name, &config->transports[i]);
	for (size_t i = 0; i < CONFIG_PROCESSES; i++)
		print_configured_section(printing, CONFIG_SECTION_PROCESS,
					 config->processes[i].name, &config->processes[i]);
	for (size_t i = 0; i < config->certificate_count; i++)
		print_configured_section(printing, CONFIG_SECTION_CERTIFICATE,
					 config->certificates[i].name, &config->certificates[i]);
	for (size_t i = 0; i < config->tls_policy_count; i++)
		print_configured_section(printing, CONFIG_SECTION_TLS,
					 config->tls_policies[i].destination,
					 &config->tls_policies[i]);
	for (size_t i = 0; i < config->class_count; i++)
		print_configured_section(printing, CONFIG_SECTION_CLASS, config->classes[i].mask,
					 &config->classes[i]);
	for (size_t i = 0; i < config->source_count; i++)
		print_configured_section(printing, CONFIG_SECTION_SOURCE, config->sources[i].name,
					 &config->sources[i]);
	for (size_t i = 0; i < config->destination_count; i++)
		print_configured_section(printing, CONFIG_SECTION_DESTINATION,
					 config->destinations[i].mask, &config->destinations[i]);
	for (size_t i = 0; i < config->rate_count; i++)
		print_configured_section(printing, CONFIG_SECTION_RATE, config->rates[i].name,
					 &config->rates[i]);
	for (size_t i = 0; i < config->rule_count; i++)
		print_configured_section(printing, CONFIG_SECTION_RULE, config->rules[i].name,
					 &config->rules[i]);
	if (config->node.is_given)
		print_configured_section(printing, CONFIG_SECTION_NODE, NULL, &config->node);
	for (enum mail_stage stage = 0; stage < MAIL_STAGE_COUNT; stage++)
		if (config->stages[stage].nodes != NULL)
			print_configured_section(printing, CONFIG_SECTION_STAGE,
						 mail_stage_name(stage), &config->stages[stage]);
	if (config->directory.backend != CONFIG_BACKEND_NONE)
		print_configured_section(printing, CONFIG_SECTION_DIRECTORY, NULL,
					 &config->directory);
	if (config_has_auth(config))
		print_configured_section(printing, CONFIG_SECTION_AUTH, NULL, &config->auth);
	if (config->record.backend != CONFIG_RECORD_NONE)
		print_configured_section(printing, CONFIG_SECTION_RECORD, NULL, &config->record);
}

void config_print(const struct config *config, struct buffer *out)
{
	print_config(&(struct printing){.out = out}, config);
}

void config_print_public(const struct config *config, struct buffer *out)
{
	print_config(&(struct printing){.out = out, .is_public = true}, config);
}

void config_each_checksum(const struct config *config,
			  void (*each)(void *context, const char *section, uint32_t checksum),
			  void *context)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	uint32_t sums[CONFIG_SECTION_COUNT] = {0};

	print_config(
		&(struct printing){
			.out = &text, .is_public = true, .is_shared = true, .sums = sums},
		config);
	for (enum config_section section = 0; section < CONFIG_SECTION_COUNT; section++)
		if (sums[section] != 0 && section != CONFIG_SECTION_DIRECTORY)
			each(context, config_section_info(section)->name, sums[section]);
}
