// SPDX-License-Identifier: ISC
/* Prints the reference manual in mdoc(7). */
#include "base/text/mdoc.h"
#include "config/schema/schema.h"

static void print_default(const struct config_setting *setting, struct buffer *out)
{
	struct buffer text = {0};

	if (setting->computed != NULL)
		buffer_append_format(&text, "Default: %s.", setting->computed);
	else if (setting->initial == NULL)
		buffer_append_string(&text, "Must be set.");
	else if (*setting->initial == '\0')
		buffer_append_string(&text, "Default: empty.");
	else
		buffer_append_format(&text, "Default: %s.", setting->initial);
	buffer_append_byte(&text, '\0');
	mdoc_append_text(out, buffer_data(&text));
	buffer_clear(&text);
}

static void print_kinds(const struct config_setting *setting, struct buffer *out)
{
	struct buffer text = {0};

	buffer_append_string(&text, "For ");
	config_setting_kinds(setting, &text);
	buffer_append_string(&text, ".");
	buffer_append_byte(&text, '\0');
	mdoc_append_text(out, buffer_data(&text));
	buffer_clear(&text);
}

static void print_setting(const struct config_setting *setting, struct buffer *out)
{
	struct buffer text = {0};

	buffer_append_format(out, ".It Ic %s No = Ar %s\n", setting->name, setting->type->name);
	if (setting->kinds != 0)
		print_kinds(setting, out);
	mdoc_append_text(out, setting->meaning);
	buffer_append_string(&text, setting->type->is_list ? "Each value: " : "Value: ");
	config_setting_allowed(setting, &text);
	buffer_append_byte(&text, '.');
	buffer_append_byte(&text, '\0');
	mdoc_append_text(out, buffer_data(&text));
	print_default(setting, out);
	if (config_setting_is_fixed(setting))
		mdoc_append_text(out, "Another value needs a restart.");
	buffer_clear(&text);
}

static void print_manual_section(enum config_section section, struct buffer *out)
{
	const struct config_section_info *info = config_section_info(section);
	struct config_rows rows = {.section = section};
	const struct config_setting *row;

	if (section == CONFIG_SECTION_ROOT)
		buffer_append_string(out, ".Ss Outside of every section\n");
	else
		buffer_append_format(out, ".Ss %s%s%s { ... }\n", info->name,
				     *info->title != '\0' ? " " : "", info->title);
	mdoc_append_text(out, info->meaning);
	buffer_append_string(out, ".Bl -tag -width Ds\n");
	while ((row = config_rows_next(&rows)) != NULL)
		print_setting(row, out);
	buffer_append_string(out, ".El\n");
}

static const char head[] =
	".Dd $Mdocdate$\n"
	".Dt STAGEPOST.CONF 5\n"
	".Os\n"
	".Sh NAME\n"
	".Nm stagepost.conf\n"
	".Nd configuration of the mail transfer agent Stagepost\n"
	".Sh DESCRIPTION\n"
	"The file consists of settings and of sections that contain settings:\n"
	".Bd -literal -offset indent\n"
	"hostname = \"mx1.example.org\"\n"
	"listen smtp {\n"
	"\taddress = { \"0.0.0.0:25\", \"[::]:25\" }\n"
	"}\n"
	"service maildir { kind = maildir  path = \"/var/mail/%d/%u\" }\n"
	"domain \"example.org\" { service = maildir }   # every local part\n"
	".Ed\n"
	".Pp\n"
	"Values are in double or single quotes, on one line; quotes may be left out\n"
	"where a value has no space and none of these:\n"
	".Dl # \\(dq \\(aq = { } \\&( \\&) + \\&, *\n"
	"In quotes a backslash escapes a quote or another backslash.\n"
	"A list is written\n"
	".Li { VALUE , VALUE } ;\n"
	"one value needs no braces, and += adds to what the file has given before, not to\n"
	"the default;\n"
	".Li { }\n"
	"is no value where the default has some.\n"
	"Comments reach from # or // to the end of the line, or from /* to */.\n"
	"A setting, a section or a word that does not exist is an error.\n"
	"Every error is reported with its line, the text found and what is allowed;\n"
	".Ic stagepost check\n"
	"does only that.\n"
	".Pp\n"
	"Outside of sections,\n"
	".Dl include \\(dq/etc/stagepost/conf.d/*.conf\\(dq\n"
	"puts other files in its place, in order of their names, as if their text were\n"
	"there.\n"
	"A pattern is one of\n"
	".Xr glob 7\n"
	"and may match no file; a name without a *, ? or [ must exist.\n"
	"A path that does not begin with a slash is one beside the file that includes it.\n"
	"What begins in a file ends in it.\n"
	"Files may include others, 8 deep, 1000 and 4 MiB in all; a reload reads all of\n"
	"them again.\n"
	".Pp\n"
	"K, M, G and T after a number of bytes multiply it by 1024 once to four times.\n"
	"A time is in seconds, or in minutes, hours, days or weeks with m, h, d or w\n"
	"after it.\n"
	".Sh SETTINGS\n";

void config_print_manual(struct buffer *out)
{
	buffer_append_string(out, ".\\\" SPDX-License-Identifier: ISC\n");
	buffer_append_string(out, head);
	for (unsigned i = CONFIG_SECTION_ROOT; i < CONFIG_SECTION_COUNT; i++)
		print_manual_section((enum config_section)i, out);
}
