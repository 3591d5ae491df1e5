// SPDX-License-Identifier: ISC
/* A message from its bytes to plain values. */
#include "filing/decode/mime.h"
#include "base/timestamp.h"
#include "filing/decode/mime/internal.h"
#include <iconv.h>

/* A message within messages is digested for each of them: so often for all of it. */
enum { DIGESTS_MAX = 8, DIGEST_LEAST = 1 << 20 };

/* Charsets of mail. The C library reads a file for each at its first use; a converter that stays
 * open keeps it. */
static const char *const charsets[] = {
	"US-ASCII",
	"UTF-8",
	"UTF-7",
	"UTF-16",
	"UTF-16LE",
	"UTF-16BE",
	"UTF-32",
	"ISO-8859-1",
	"ISO-8859-2",
	"ISO-8859-3",
	"ISO-8859-4",
	"ISO-8859-5",
	"ISO-8859-6",
	"ISO-8859-7",
	"ISO-8859-8",
	"ISO-8859-9",
	"ISO-8859-10",
	"ISO-8859-11",
	"ISO-8859-13",
	"ISO-8859-14",
	"ISO-8859-15",
	"ISO-8859-16",
	"WINDOWS-1250",
	"WINDOWS-1251",
	"WINDOWS-1252",
	"WINDOWS-1253",
	"WINDOWS-1254",
	"WINDOWS-1255",
	"WINDOWS-1256",
	"WINDOWS-1257",
	"WINDOWS-1258",
	"CP437",
	"CP850",
	"CP852",
	"CP866",
	"CP874",
	"CP932",
	"CP949",
	"KOI8-R",
	"KOI8-U",
	"KOI8-T",
	"MACINTOSH",
	"MAC-CYRILLIC",
	"TIS-620",
	"VISCII",
	"TCVN",
	"GB2312",
	"GBK",
	"GB18030",
	"HZ",
	"BIG5",
	"BIG5-HKSCS",
	"EUC-TW",
	"EUC-JP",
	"EUC-KR",
	"EUC-CN",
	"SHIFT_JIS",
	"ISO-2022-JP",
	"ISO-2022-JP-2",
	"ISO-2022-JP-3",
	"ISO-2022-KR",
	"ISO-2022-CN",
	"ISO-2022-CN-EXT",
	"UHC",
	"JOHAB",
	"ARMSCII-8",
	"GEORGIAN-PS",
	"GEORGIAN-ACADEMY",
	"PT154",
	"RK1048",
};

/* Nobody reads them: a compiler would leave them out, and a search for leaks not find the
 * converters. */
static __attribute__((used)) iconv_t converters[COUNT_OF(charsets)];

/* A character makes the converter load all that it needs. */
static void load_converter(iconv_t converter)
{
	char text[] = "a";
	char out[16];
	char *from = text;
	char *to = out;
	size_t left = 1;
	size_t room = sizeof out;

	(void)iconv(converter, &from, &left, &to, &room);
}

void decode_mime_begin(void)
{
	for (size_t i = 0; i < COUNT_OF(charsets); i++) {
		converters[i] = iconv_open("UTF-8", charsets[i]);
		if (converters[i] != (iconv_t)-1)
			load_converter(converters[i]);
	}
	g_mime_init();
}

static void on_warning(gint64 offset, GMimeParserWarning warning, const gchar *item, void *context)
{
	struct decode_work *work = context;

	(void)offset;
	(void)item;
	work->problems |= decode_problem_of(warning);
}

static GMimeMessage *parse_mime_message(struct decode_work *work, GMimeParserOptions *options)
{
	static const char *fallbacks[] = {"utf-8", "iso-8859-1", NULL};
	GMimeStream *source = decode_source_new(work);
	GMimeParser *parser = g_mime_parser_new_with_stream(source);
	GMimeMessage *message;

	g_mime_parser_options_set_fallback_charsets(options, fallbacks);
	g_mime_parser_options_set_warning_callback(options, on_warning, work);
	g_mime_parser_set_persist_stream(parser, TRUE);
	g_mime_parser_set_respect_content_length(parser, FALSE);
	message = g_mime_parser_construct_message(parser, options);
	g_object_unref(parser);
	g_object_unref(source);
	return message;
}

static void take_date(struct decode_work *work, GMimeMessage *message)
{
	GDateTime *date = g_mime_message_get_date(message);

	/* GMime's years have four digits */
	if (date != NULL)
		work->message->date_us = g_date_time_to_unix(date) * SECOND_US;
	else if (g_mime_object_get_header(GMIME_OBJECT(message), "Date") != NULL)
		work->problems |= DECODE_PROBLEM_DATE;
}

void decode_mime(const struct ipc_content *content, struct arena *arena, struct decode_message *out)
{
	struct decode_work work = {
		.content = content,
		.arena = arena,
		.message = out,
		.end = content->size,
		.budget = content->size * DIGESTS_MAX + DIGEST_LEAST,
	};
	GMimeParserOptions *options = g_mime_parser_options_new();
	GMimeMessage *message;

	*out = (struct decode_message){.subject = STR("")};
	work.bound = decode_bound_new(&work);
	work.is_parsing = true;
	message = parse_mime_message(&work, options);
	work.is_parsing = false;
	if (message == NULL) {
		work.problems |= DECODE_PROBLEM_MESSAGE;
	} else {
		out->subject = decode_text_clean(arena, g_mime_message_get_subject(message));
		take_date(&work, message);
		decode_words_check(&work, message);
		decode_participants_list(&work, message);
		decode_parts_list(&work, message);
		g_object_unref(message);
	}
	if (decode_bound_count(work.bound, 0, work.end) > work.blank)
		work.problems |= DECODE_PROBLEM_BOUND;
	decode_bound_free(work.bound);
	g_mime_parser_options_free(options);
	out->problem = decode_problem_tell(arena, work.problems);
}
