// SPDX-License-Identifier: ISC
/* The parts of a message, numbered as in IMAP (RFC 9051 section 6.4.5.1). */
#include "base/buffer.h"
#include "filing/decode/mime/internal.h"

/* Where a part is. */
struct extent {
	struct str number; /* its own */
	struct str within; /* of its parts, before their own: "", "2." */
	unsigned depth;
};

static void list_mime_part(struct decode_work *work, GMimeObject *object,
			   const struct extent *extent);

static struct str join_part_number(struct decode_work *work, struct str first, const char *second)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	buffer_append_str(&out, first);
	buffer_append_string(&out, second);
	return arena_copy_str(work->arena, buffer_view(&out));
}

/* --- what is in a part --- */

/* The content of a part whose encoding keeps lines may have any line ends. */
static bool is_text_part(GMimePart *part)
{
	switch (g_mime_part_get_content_encoding(part)) {
	case GMIME_CONTENT_ENCODING_BASE64:
	case GMIME_CONTENT_ENCODING_UUENCODE:
	case GMIME_CONTENT_ENCODING_BINARY:
		return false;
	default:
		return true;
	}
}

/* GMime takes an unknown encoding for none. */
static bool has_unknown_encoding(GMimePart *part)
{
	const char *text =
		g_mime_object_get_header(GMIME_OBJECT(part), "Content-Transfer-Encoding");

	return text != NULL &&
	       g_mime_part_get_content_encoding(part) == GMIME_CONTENT_ENCODING_DEFAULT;
}

static void digest_part(struct decode_work *work, GMimePart *part, struct decode_part *out)
{
	GMimeDataWrapper *content = g_mime_part_get_content(part);
	const GMimeStream *from = content != NULL ? g_mime_data_wrapper_get_stream(content) : NULL;
	GMimeStream *sink = decode_sink_new(work, is_text_part(part));

	if (from != NULL)
		work->blank += decode_bound_count(work->bound, (uint64_t)from->bound_start,
						  from->bound_end < 0 ? work->end
								      : (uint64_t)from->bound_end);
	if ((content != NULL && g_mime_data_wrapper_write_to_stream(content, sink) < 0) ||
	    has_unknown_encoding(part))
		work->problems |= DECODE_PROBLEM_ENCODING;
	out->size = decode_sink_end(sink, out->digest);
}

static void digest_message(struct decode_work *work, GMimeMessage *message, struct decode_part *out)
{
	GMimeStream *sink = decode_sink_new(work, true);

	(void)g_mime_object_write_to_stream(GMIME_OBJECT(message), NULL, sink);
	out->size = decode_sink_end(sink, out->digest);
}

static struct str content_type_of(struct decode_work *work, GMimeObject *object)
{
	GMimeContentType *type = g_mime_object_get_content_type(object);
	char *text = type != NULL ? g_mime_content_type_get_mime_type(type) : NULL;
	struct str copy = decode_text_word(work->arena, text);

	g_free(text);
	return copy;
}

static const char *filename_of(GMimeObject *object)
{
	const char *name = NULL;

	if (GMIME_IS_PART(object))
		return g_mime_part_get_filename(GMIME_PART(object));
	if (g_mime_object_get_content_disposition(object) != NULL)
		name = g_mime_object_get_content_disposition_parameter(object, "filename");
	return name != NULL ? name : g_mime_object_get_content_type_parameter(object, "name");
}

static struct decode_part *add_mime_part(struct decode_work *work, GMimeObject *object,
					 struct str number)
{
	struct decode_message *message = work->message;
	struct decode_part *part = &message->parts[message->part_count++];

	*part = (struct decode_part){
		.number = number,
		.type = content_type_of(work, object),
		.charset = decode_text_word(
			work->arena, g_mime_object_get_content_type_parameter(object, "charset")),
		.disposition = decode_text_word(work->arena, g_mime_object_get_disposition(object)),
		.filename = decode_text_clean(work->arena, filename_of(object)),
	};
	return part;
}

/* --- where they are --- */

static void list_multipart(struct decode_work *work, GMimeMultipart *multipart,
			   const struct extent *extent)
{
	int count = g_mime_multipart_get_count(multipart);

	for (int i = 0; i < count && (work->problems & DECODE_PROBLEM_PARTS) == 0; i++) {
		char number[16];
		struct extent inner = {.depth = extent->depth + 1};

		(void)g_snprintf(number, sizeof number, "%d", i + 1);
		inner.number = join_part_number(work, extent->within, number);
		inner.within = join_part_number(work, inner.number, ".");
		list_mime_part(work, g_mime_multipart_get_part(multipart, i), &inner);
	}
}

/* What a message has at first: a multipart whose parts are numbered, or part 1. WITHIN: "", or what
 * stands before numbers in a message that is a part. */
static void list_body(struct decode_work *work, GMimeMessage *message, struct str within,
		      unsigned depth)
{
	GMimeObject *body = g_mime_message_get_mime_part(message);
	struct extent extent = {.within = within, .depth = depth};

	if (body == NULL)
		return;
	if (GMIME_IS_MULTIPART(body)) {
		extent.number = join_part_number(work, within, "TEXT");
	} else {
		extent.number = join_part_number(work, within, "1");
		extent.within = join_part_number(work, extent.number, ".");
	}
	list_mime_part(work, body, &extent);
}

static void list_mime_part(struct decode_work *work, GMimeObject *object,
			   const struct extent *extent)
{
	struct decode_part *part;

	if (extent->depth > DECODE_DEPTH_MAX) {
		work->problems |= DECODE_PROBLEM_DEPTH;
		return;
	}
	if (work->message->part_count >= DECODE_PART_MAX) {
		work->problems |= DECODE_PROBLEM_PARTS;
		return;
	}
	part = add_mime_part(work, object, extent->number);
	if (GMIME_IS_MULTIPART(object)) {
		list_multipart(work, GMIME_MULTIPART(object), extent);
	} else if (GMIME_IS_MESSAGE_PART(object)) {
		GMimeMessage *inner = g_mime_message_part_get_message(GMIME_MESSAGE_PART(object));

		if (inner == NULL)
			return;
		digest_message(work, inner, part);
		list_body(work, inner, extent->within, extent->depth + 1);
	} else if (GMIME_IS_PART(object)) {
		digest_part(work, GMIME_PART(object), part);
	}
}

void decode_parts_list(struct decode_work *work, GMimeMessage *message)
{
	work->message->parts =
		arena_alloc(work->arena, DECODE_PART_MAX * sizeof *work->message->parts);
	list_body(work, message, STR(""), 1);
}
