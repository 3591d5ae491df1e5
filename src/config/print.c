// SPDX-License-Identifier: ISC
/* Prints a configuration as a file that can be parsed again, for "stagepost config". */
#include "base/text/quote.h"
#include "config/internal.h"
#include <string.h>

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

/* Omits an empty list where that is the default. */
static void print_list(const struct config_setting *setting, const char *base, const char *indent,
		       struct buffer *out)
{
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
		config_print_value(setting, values + i * setting->type->size, out);
	}
	buffer_append_string(out, " }\n");
}

static void print_settings(enum config_section section, const void *base, struct buffer *out)
{
	const char *indent = section == CONFIG_SECTION_ROOT ? "" : "\t";
	struct config_rows rows = {.section = section};
	const struct config_setting *row;

	while ((row = config_rows_next(&rows)) != NULL) {
		if (!config_setting_applies(row, base))
			continue;
		if (row->type->is_list) {
			print_list(row, base, indent, out);
			continue;
		}
		print_name(row, indent, out);
		config_print_value(row, (const char *)base + row->offset, out);
		buffer_append_byte(out, '\n');
	}
}

static void print_section(enum config_section section, const char *title, const void *base,
			  struct buffer *out)
{
	buffer_append_byte(out, '\n');
	buffer_append_string(out, config_section_info(section)->name);
	if (title != NULL) {
		buffer_append_byte(out, ' ');
		quote_append(out, str_from(title));
	}
	buffer_append_string(out, " {\n");
	print_settings(section, base, out);
	buffer_append_string(out, "}\n");
}

void config_print(const struct config *config, struct buffer *out)
{
	print_settings(CONFIG_SECTION_ROOT, config, out);
	for (size_t i = 0; i < config->listen_count; i++)
		print_section(CONFIG_SECTION_LISTEN,
			      config_protocol_name(config->listens[i].protocol),
			      &config->listens[i], out);
	for (size_t i = 0; i < config->service_count; i++)
		print_section(CONFIG_SECTION_SERVICE, config->services[i].name,
			      &config->services[i], out);
	for (size_t i = 0; i < config->domain_count; i++)
		print_section(CONFIG_SECTION_DOMAIN, config->domains[i].name, &config->domains[i],
			      out);
	for (size_t i = 0; i < config->transport_count; i++)
		print_section(CONFIG_SECTION_TRANSPORT, config->transports[i].name,
			      &config->transports[i], out);
	for (size_t i = 0; i < CONFIG_PROCESSES; i++)
		print_section(CONFIG_SECTION_PROCESS, config->processes[i].name,
			      &config->processes[i], out);
	for (size_t i = 0; i < config->certificate_count; i++)
		print_section(CONFIG_SECTION_CERTIFICATE, config->certificates[i].name,
			      &config->certificates[i], out);
	for (size_t i = 0; i < config->tls_policy_count; i++)
		print_section(CONFIG_SECTION_TLS, config->tls_policies[i].destination,
			      &config->tls_policies[i], out);
	for (size_t i = 0; i < config->class_count; i++)
		print_section(CONFIG_SECTION_CLASS, config->classes[i].mask, &config->classes[i],
			      out);
	for (size_t i = 0; i < config->source_count; i++)
		print_section(CONFIG_SECTION_SOURCE, config->sources[i].name, &config->sources[i],
			      out);
	for (size_t i = 0; i < config->destination_count; i++)
		print_section(CONFIG_SECTION_DESTINATION, config->destinations[i].mask,
			      &config->destinations[i], out);
	for (size_t i = 0; i < config->rate_count; i++)
		print_section(CONFIG_SECTION_RATE, config->rates[i].name, &config->rates[i], out);
	for (size_t i = 0; i < config->rule_count; i++)
		print_section(CONFIG_SECTION_RULE, config->rules[i].name, &config->rules[i], out);
	if (config->directory.backend != CONFIG_BACKEND_NONE)
		print_section(CONFIG_SECTION_DIRECTORY, NULL, &config->directory, out);
	if (config_has_auth(config))
		print_section(CONFIG_SECTION_AUTH, NULL, &config->auth, out);
	if (config->record.backend != CONFIG_RECORD_NONE)
		print_section(CONFIG_SECTION_RECORD, NULL, &config->record, out);
}
