// SPDX-License-Identifier: ISC
#include "ipc/job.h"
#include "mail/address.h"
#include "mail/envelope.h"
#include "mail/verdict.h"

_Static_assert(4 * sizeof(uint64_t) + 8 * sizeof(uint32_t) + MAIL_ADDRESS_MAX + MAIL_ENVID_MAX +
			       MAIL_DOMAIN_MAX + IPC_JOB_RECEIVED_MAX <=
		       IPC_JOB_HEAD_MAX,
	       "a START with as many recipients as fit would be too long");

/* A single line, fit for logs, control files and reports. */
static bool is_single_line(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
			return false;
	return text.length < MAIL_TEXT_SIZE;
}

static bool is_word(struct str word)
{
	return is_single_line(word) && str_find(word, ' ') < 0;
}

void ipc_job_send_start(struct ipc_channel *channel, enum ipc_job type, uint32_t tag,
			struct buffer *body, struct str content)
{
	enum { LENGTH = 4 };
	bool fits = content.length <= IPC_BODY_MAX - LENGTH - body->length;

	pack_str(body, fits ? content : STR(""));
	ipc_channel_send(channel, (uint16_t)type, tag, buffer_view(body), NULL, 0);
	while (!fits && content.length > 0) {
		struct str part = content;

		if (part.length > IPC_BODY_MAX)
			part.length = IPC_BODY_MAX;
		ipc_channel_send(channel, IPC_JOB_CONTENT, tag, part, NULL, 0);
		content = str_skip(content, part.length);
	}
}

bool ipc_job_read_hello(struct str body, struct ipc_job_hello *hello_out)
{
	struct unpack unpack = {body, false};

	hello_out->service = unpack_str(&unpack);
	hello_out->concurrency = unpack_u32(&unpack);
	hello_out->token = unpack_str(&unpack);
	return unpack_is_whole(&unpack);
}

void ipc_job_add_hello(struct buffer *out, const struct ipc_job_hello *hello)
{
	pack_str(out, hello->service);
	pack_u32(out, hello->concurrency);
	pack_str(out, hello->token);
}

static bool take_tls(struct unpack *body, struct ipc_job_tls *tls_out)
{
	tls_out->version = unpack_str(body);
	tls_out->cipher = unpack_str(body);
	tls_out->policy = unpack_str(body);
	tls_out->verified = unpack_str(body);
	return is_word(tls_out->version) && is_word(tls_out->cipher) && is_word(tls_out->policy) &&
	       is_word(tls_out->verified);
}

bool ipc_job_take_report(struct unpack *body, struct ipc_job_report *report_out)
{
	report_out->number = unpack_u32(body);
	report_out->flags = unpack_u32(body);
	report_out->status = unpack_str(body);
	report_out->text = unpack_str(body);
	report_out->trigger = unpack_str(body);
	report_out->tls = (struct ipc_job_tls){0};
	if ((report_out->flags & IPC_JOB_SECURED) != 0 && !take_tls(body, &report_out->tls))
		return false;
	report_out->source = STR("");
	if ((report_out->flags & IPC_JOB_SOURCED) != 0)
		report_out->source = unpack_str(body);
	return !body->failed && (report_out->flags & ~(uint32_t)IPC_JOB_FLAGS) == 0 &&
	       is_word(report_out->source) && mail_status_is_valid(report_out->status) &&
	       is_single_line(report_out->text) && is_word(report_out->trigger);
}

void ipc_job_add_report(struct buffer *out, const struct ipc_job_report *report)
{
	pack_u32(out, report->number);
	pack_u32(out, report->flags);
	pack_str(out, report->status);
	pack_str(out, report->text);
	pack_str(out, report->trigger);
	if ((report->flags & IPC_JOB_SECURED) != 0) {
		pack_str(out, report->tls.version);
		pack_str(out, report->tls.cipher);
		pack_str(out, report->tls.policy);
		pack_str(out, report->tls.verified);
	}
	if ((report->flags & IPC_JOB_SOURCED) != 0)
		pack_str(out, report->source);
}

bool ipc_job_read_busy(struct str body, struct ipc_job_busy *busy_out)
{
	struct unpack unpack = {body, false};

	busy_out->wait_ms = unpack_u32(&unpack);
	busy_out->flags = unpack_u32(&unpack);
	busy_out->reason = unpack_str(&unpack);
	return unpack_is_whole(&unpack) && busy_out->wait_ms <= IPC_JOB_BUSY_MAX_MS &&
	       (busy_out->flags & ~(uint32_t)IPC_JOB_BUSY_FLAGS) == 0 &&
	       is_single_line(busy_out->reason);
}

void ipc_job_add_busy(struct buffer *out, const struct ipc_job_busy *busy)
{
	pack_u32(out, busy->wait_ms);
	pack_u32(out, busy->flags);
	pack_str(out, busy->reason);
}

bool ipc_job_read_said(struct str body, struct ipc_job_said *said_out)
{
	struct unpack unpack = {body, false};

	said_out->host = unpack_str(&unpack);
	said_out->port = unpack_u32(&unpack);
	said_out->what = unpack_u32(&unpack);
	said_out->amount = unpack_u32(&unpack);
	said_out->id.number = unpack_u64(&unpack);
	said_out->id.born_us = (int64_t)unpack_u64(&unpack);
	said_out->to = unpack_str(&unpack);
	said_out->status = unpack_str(&unpack);
	said_out->text = unpack_str(&unpack);
	return unpack_is_whole(&unpack) && said_out->host.length > 0 && is_word(said_out->host) &&
	       said_out->what < IPC_JOB_SAID_KINDS && is_single_line(said_out->to) &&
	       mail_status_is_valid(said_out->status) && is_single_line(said_out->text);
}

void ipc_job_add_said(struct buffer *out, const struct ipc_job_said *said)
{
	pack_str(out, said->host);
	pack_u32(out, said->port);
	pack_u32(out, said->what);
	pack_u32(out, said->amount);
	pack_u64(out, said->id.number);
	pack_u64(out, (uint64_t)said->id.born_us);
	pack_str(out, said->to);
	pack_str(out, said->status);
	pack_str(out, said->text);
}

bool ipc_job_take_resolved(struct unpack *body, struct ipc_job_resolved *resolved_out)
{
	resolved_out->number = unpack_u64(body);
	resolved_out->question = unpack_u32(body);
	resolved_out->flags = unpack_u32(body);
	resolved_out->version = unpack_u64(body);
	resolved_out->count = unpack_u32(body);
	return !body->failed && (resolved_out->flags & ~(uint32_t)IPC_JOB_RESOLVED_FLAGS) == 0;
}

void ipc_job_add_resolved(struct buffer *out, const struct ipc_job_resolved *resolved)
{
	pack_u64(out, resolved->number);
	pack_u32(out, resolved->question);
	pack_u32(out, resolved->flags);
	pack_u64(out, resolved->version);
	pack_u32(out, resolved->count);
}

bool ipc_job_take_target(struct unpack *body, struct ipc_job_target *target_out)
{
	target_out->recipient = unpack_u32(body);
	target_out->route = unpack_u32(body);
	target_out->service = unpack_str(body);
	target_out->server = unpack_str(body);
	target_out->address = unpack_str(body);
	target_out->status = unpack_str(body);
	target_out->text = unpack_str(body);
	return !body->failed && is_word(target_out->service) && is_word(target_out->server) &&
	       is_single_line(target_out->address) &&
	       (target_out->status.length == 0 || mail_status_is_valid(target_out->status)) &&
	       is_single_line(target_out->text);
}

void ipc_job_add_target(struct buffer *out, const struct ipc_job_target *target)
{
	pack_u32(out, target->recipient);
	pack_u32(out, target->route);
	pack_str(out, target->service);
	pack_str(out, target->server);
	pack_str(out, target->address);
	pack_str(out, target->status);
	pack_str(out, target->text);
}
