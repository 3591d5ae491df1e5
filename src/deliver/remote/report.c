// SPDX-License-Identifier: ISC
#include "deliver/remote/report.h"
#include "log/event.h"
#include "policy/sts/client.h"
#include "policy/tlsrpt/session.h"

struct finding {
	enum tlsrpt_result result;
	const char *reason;
};

static struct finding of_flaw(enum tls_flaw flaw)
{
	switch (flaw) {
	case TLS_FLAW_NAME:
		return (struct finding){TLSRPT_CERTIFICATE_HOST_MISMATCH,
					"the certificate is for another name"};
	case TLS_FLAW_EXPIRED:
		return (struct finding){TLSRPT_CERTIFICATE_EXPIRED, "the certificate has expired"};
	case TLS_FLAW_UNTRUSTED:
		return (struct finding){TLSRPT_CERTIFICATE_NOT_TRUSTED,
					"no authority has signed the certificate"};
	case TLS_FLAW_OTHER:
		return (struct finding){TLSRPT_VALIDATION_FAILURE, "the certificate is not valid"};
	case TLS_FLAW_NONE:
		break;
	}
	return (struct finding){TLSRPT_SUCCESS, ""};
}

/* The session was not made, or TLS failed in it. */
static struct finding find_failure(const struct remote_report *report)
{
	struct finding found = {report->policy->flaw, report->reason};

	if (report->session == NULL)
		return found;
	found = (struct finding){TLSRPT_STARTTLS_NOT_SUPPORTED, report->reason};
	if (remote_session_is_injected(report->session))
		found.result = TLSRPT_VALIDATION_FAILURE;
	if (remote_session_connection(report->session) == NULL)
		return found;
	if (report->policy->verify.by == TLS_VERIFY_AUTHORITIES)
		found = of_flaw(tls_connection_flaw(remote_session_connection(report->session)));
	if (found.result == TLSRPT_SUCCESS || found.result == TLSRPT_STARTTLS_NOT_SUPPORTED)
		found.result = TLSRPT_VALIDATION_FAILURE;
	found.reason = report->reason;
	return found;
}

static struct finding find_tls_finding(const struct remote_report *report)
{
	const struct remote_policy *policy = report->policy;
	struct finding found = {policy->flaw, ""};

	if (report->has_failed || report->session == NULL)
		return find_failure(report);
	if (remote_session_tls(report->session) == NULL)
		return (struct finding){TLSRPT_STARTTLS_NOT_SUPPORTED,
					"the server does not offer STARTTLS"};
	if (policy->is_tried)
		found = of_flaw(tls_connection_flaw(remote_session_connection(report->session)));
	if (found.result == TLSRPT_SUCCESS)
		found.result = policy->flaw;
	return found;
}

/* "3 1 1 AB..." for each record. */
static void append_records(struct buffer *out, const struct tls_verify *verify)
{
	for (size_t i = 0; i < verify->record_count; i++) {
		const struct tls_tlsa *record = &verify->records[i];

		if (out->length + 2 * record->data.length + 16 > TLSRPT_TEXT_MAX)
			return;
		buffer_append_format(out, "%s%u %u %u ", i > 0 ? "\n" : "", record->usage,
				     record->selector, record->matching);
		for (size_t n = 0; n < record->data.length; n++)
			buffer_append_format(out, "%02X", (unsigned char)record->data.data[n]);
	}
}

static enum tlsrpt_policy kind_of_reported_policy(const struct remote_policy *policy)
{
	if (policy->source == REMOTE_POLICY_DANE)
		return TLSRPT_TLSA;
	return policy->source == REMOTE_POLICY_MTA_STS ? TLSRPT_STS : TLSRPT_NO_POLICY;
}

static void count_tls_session(struct sts_client *client, const struct remote_report *report,
			      const struct finding *found)
{
	struct buffer records CLEANUP(buffer_clear) = {0};
	char server[OS_SOCKET_TEXT_SIZE] = "";
	char own[OS_SOCKET_TEXT_SIZE] = "";
	union os_socket_address address;
	struct tlsrpt_session session = {
		.domain = str_from(report->domain),
		.policy = kind_of_reported_policy(report->policy),
		.result = found->result,
		.host = str_from(report->server->host),
		.reason = str_from(found->reason),
	};

	append_records(&records, &report->policy->verify);
	session.text = buffer_view(&records);
	if (report->session != NULL) {
		session.greeting = str_from(remote_session_server_name(report->session));
		os_socket_address_format_host(remote_session_address(report->session), server);
		if (remote_session_own_address(report->session, &address))
			os_socket_address_format_host(&address, own);
	}
	session.server_address = str_from(server);
	session.own_address = str_from(own);
	sts_client_count(client, &session);
}

void remote_report_tell(struct sts_client *client, const struct remote_report *report)
{
	struct finding found = find_tls_finding(report);

	if (report->policy->is_tried && found.result != TLSRPT_SUCCESS &&
	    found.result != report->policy->flaw)
		log_event_rated(EVENT_POLICY_UNMET, log_string(domain, report->domain),
				log_string(host, report->server->host),
				log_string(reason, found.reason));
	/* what the policy says without a word for it in reports */
	if (report->session == NULL && found.result == TLSRPT_SUCCESS)
		return;
	if (client != NULL)
		count_tls_session(client, report, &found);
}
