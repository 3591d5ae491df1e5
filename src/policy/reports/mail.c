// SPDX-License-Identifier: ISC
#include "policy/reports/mail.h"
#include "base/panic.h"
#include "base/text/base64.h"
#include "base/timestamp.h"
#include <zlib.h>

enum {
	GZIP_FORM = 15 + 16, /* of deflateInit2(): the largest window, in gzip's form */
	MEMORY_LEVEL = 8,
	LINE_BYTES = 57, /* 76 characters in Base64 */
};

void reports_compress(struct str text, struct buffer *out)
{
	z_stream stream = {0};
	char *space;

	if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_FORM, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		panic("no memory for a compressed text");
	stream.avail_out = (uInt)deflateBound(&stream, text.length);
	space = buffer_reserve(out, stream.avail_out);
	stream.next_out = (Bytef *)space;
	stream.next_in = (z_const Bytef *)text.data;
	stream.avail_in = (uInt)text.length;
	if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
		panic("a text cannot be compressed");
	buffer_commit(out, stream.total_out);
	(void)deflateEnd(&stream);
}

static void append_base64(struct buffer *out, struct str bytes)
{
	for (; bytes.length > 0; bytes = str_skip(bytes, LINE_BYTES)) {
		size_t length = bytes.length < LINE_BYTES ? bytes.length : LINE_BYTES;

		base64_append(out, str_slice(bytes.data, length));
		buffer_append_string(out, "\r\n");
	}
}

static void append_headers(const struct reports_mail *mail, struct buffer *out)
{
	char date[TIMESTAMP_HEADER_SIZE];

	timestamp_format_header(mail->now_us, date);
	buffer_append_format(out, "Date: %s\r\nFrom: <%s>\r\nTo: <%s>\r\n", date, mail->from,
			     mail->to);
	buffer_append_format(out,
			     "Subject: Report Domain: %s\r\n Submitter: %s\r\n Report-ID: <%s>\r\n",
			     mail->domain, mail->submitter, mail->id);
	buffer_append_format(out, "Message-ID: <%s@%s>\r\n", mail->id, mail->submitter);
	buffer_append_format(out, "TLS-Report-Domain: %s\r\nTLS-Report-Submitter: %s\r\n",
			     mail->domain, mail->submitter);
	/* it may be about why TLS fails: RFC 8460 section 3, RFC 8689 section 5 */
	buffer_append_string(out, "TLS-Required: No\r\nAuto-Submitted: auto-generated\r\n"
				  "MIME-Version: 1.0\r\n");
	buffer_append_format(out,
			     "Content-Type: multipart/report; report-type=\"tlsrpt\";\r\n"
			     " boundary=\"%s\"\r\n\r\n",
			     mail->id);
}

void reports_mail_format(const struct reports_mail *mail, struct buffer *out)
{
	char begin[TIMESTAMP_SIZE];

	append_headers(mail, out);
	timestamp_format_seconds(mail->begin_us, begin);
	buffer_append_format(out,
			     "--%s\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n"
			     "This is an aggregate report, by RFC 8460, of TLS in mail that %s\r\n"
			     "has sent to %s\r\non %.10s (UTC).\r\n\r\n",
			     mail->id, mail->submitter, mail->domain, begin);
	buffer_append_format(
		out,
		"--%s\r\nContent-Type: application/tlsrpt+gzip\r\n"
		"Content-Transfer-Encoding: base64\r\n"
		"Content-Disposition: attachment;\r\n filename=\"%s!%s!%lld!%lld.json.gz\""
		"\r\n\r\n",
		mail->id, mail->submitter, mail->domain, (long long)(mail->begin_us / SECOND_US),
		(long long)((mail->begin_us + DAY_US) / SECOND_US - 1));
	append_base64(out, mail->content);
	buffer_append_format(out, "--%s--\r\n", mail->id);
}
