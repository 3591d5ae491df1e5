// SPDX-License-Identifier: ISC
#include "transcript/transcript.h"
#include "os/clock.h"
#include <stdio.h>
#include <string.h>

static struct {
	bool is_on;
	struct transcript_filter filters[TRANSCRIPT_WATCHERS_MAX];
	size_t count;
	void (*say)(void *context, struct str said);
	void *context;
	uint64_t sessions; /* number of sessions reported */
	int64_t second_us; /* monotonic: when the current second began */
	uint32_t lines;    /* passed on in this second */
	uint64_t left_out; /* and omitted */
	uint32_t left_of;  /* bits of the watchers concerned */
} transcript;

/* --- filters --- */

void transcript_pack(struct buffer *out, const struct transcript_filter *filter)
{
	const struct in6_addr *address = &filter->network.address;

	pack_u32(out, filter->watcher);
	pack_str(out, filter->has_network
			      ? str_slice((const char *)address->s6_addr, sizeof address->s6_addr)
			      : STR(""));
	pack_u32(out, filter->network.prefix);
	pack_str(out, mail_domain_view(&filter->domain));
}

bool transcript_unpack(struct unpack *in, struct transcript_filter *filter_out)
{
	struct transcript_filter filter = {.watcher = unpack_u32(in)};
	struct str address = unpack_str(in);
	struct str domain;

	filter.network.prefix = unpack_u32(in);
	domain = unpack_str(in);
	filter.has_network = address.length > 0;
	if (in->failed || filter.watcher >= TRANSCRIPT_WATCHERS_MAX ||
	    filter.network.prefix > 8 * sizeof filter.network.address ||
	    (filter.has_network && address.length != sizeof filter.network.address) ||
	    (domain.length > 0 && !mail_domain_form(domain, &filter.domain)) ||
	    (!filter.has_network && domain.length == 0))
		return false;
	if (filter.has_network)
		memcpy(filter.network.address.s6_addr, address.data, address.length);
	*filter_out = filter;
	return true;
}

bool transcript_configure(struct str filters)
{
	struct unpack in = {filters, false};
	bool is_good = true;

	transcript.count = 0;
	while (is_good && in.rest.length > 0) {
		is_good = transcript.count < TRANSCRIPT_WATCHERS_MAX &&
			  transcript_unpack(&in, &transcript.filters[transcript.count]);
		transcript.count += is_good;
	}
	if (!is_good)
		transcript.count = 0;
	transcript.is_on = transcript.count > 0 && transcript.say != NULL;
	return is_good;
}

void transcript_say_by(void (*say)(void *context, struct str said), void *context)
{
	transcript.say = say;
	transcript.context = context;
}

const bool *transcript_is_on(void)
{
	return &transcript.is_on;
}

/* --- who watches --- */

static bool is_peer_name_below(struct str name, struct str domain)
{
	struct mail_domain form;
	struct str view;

	(void)mail_domain_form(name, &form);
	view = mail_domain_view(&form);
	if (view.length > domain.length && view.data[view.length - domain.length - 1] == '.')
		view = str_skip(view, view.length - domain.length);
	return str_equal(view, domain);
}

static bool has_peer_name_in_domain(const struct transcript_peer *peer, struct str domain)
{
	for (size_t i = 0; i < TRANSCRIPT_NAMES; i++)
		if (peer->names[i].length > 0 && is_peer_name_below(peer->names[i], domain))
			return true;
	return false;
}

static bool passes_transcript_filter(const struct transcript_filter *filter,
				     const struct transcript_peer *peer)
{
	struct str domain = mail_domain_view(&filter->domain);

	if (filter->has_network &&
	    (peer->address == NULL || !config_network_has(&filter->network, peer->address)))
		return false;
	return domain.length == 0 || has_peer_name_in_domain(peer, domain);
}

static uint32_t watchers_of(const struct transcript_peer *peer)
{
	uint32_t watchers = 0;

	for (size_t i = 0; i < transcript.count; i++)
		if (passes_transcript_filter(&transcript.filters[i], peer))
			watchers |= UINT32_C(1) << transcript.filters[i].watcher;
	return watchers;
}

/* --- lines --- */

static void send_transcript_line(const struct transcript_said *said)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	transcript_pack_said(&body, said);
	transcript.say(transcript.context, buffer_view(&body));
}

static void send_transcript_note(struct transcript_said said, const char *text)
{
	said.side = TRANSCRIPT_NOTE;
	said.line = str_from(text);
	send_transcript_line(&said);
}

static void tell_left_out(struct transcript_said said)
{
	char text[64];

	snprintf(text, sizeof text, "(%llu lines were left out)",
		 (unsigned long long)transcript.left_out);
	said.watchers = transcript.left_of;
	transcript.left_out = transcript.left_of = 0;
	send_transcript_note(said, text);
}

/* The first omission is reported at once: perhaps no other line follows. */
static void leave_out(const struct transcript_said *said)
{
	if (transcript.left_out++ == 0)
		send_transcript_note(*said, "(too many lines in a second: some are left out)");
	transcript.left_of |= said->watchers;
}

/* Whether another line may be passed on in this second. */
static bool may_say(void)
{
	int64_t now_us = os_clock_monotonic_us();

	if (transcript.second_us == 0 || now_us - transcript.second_us >= SECOND_US) {
		transcript.second_us = now_us;
		transcript.lines = 0;
	}
	return transcript.lines++ < TRANSCRIPT_LINES_MAX;
}

void transcript_line(uint64_t *session, const struct transcript_peer *peer,
		     enum transcript_side side, struct str line)
{
	uint32_t watchers = watchers_of(peer);
	struct transcript_said said = {.watchers = watchers,
				       .time_us = os_clock_wall_us(),
				       .side = side,
				       .peer = str_from(peer->shown),
				       .line = line};

	if (watchers == 0 || transcript.say == NULL)
		return;
	if (*session == 0)
		*session = ++transcript.sessions;
	said.session = *session;
	if (!may_say()) {
		leave_out(&said);
		return;
	}
	if (transcript.left_out > 0)
		tell_left_out(said);
	send_transcript_line(&said);
}

/* --- lines from other processes --- */

void transcript_pack_said(struct buffer *out, const struct transcript_said *said)
{
	struct str line = said->line;

	pack_u32(out, said->watchers);
	pack_u64(out, said->session);
	pack_u64(out, (uint64_t)said->time_us);
	pack_u32(out, said->side);
	pack_str(out, said->peer);
	if (line.length <= TRANSCRIPT_LINE_MAX) {
		pack_str(out, line);
		return;
	}
	pack_u32(out, TRANSCRIPT_LINE_MAX);
	buffer_append(out, line.data, TRANSCRIPT_LINE_MAX - 3);
	buffer_append_string(out, "...");
}

bool transcript_unpack_said(struct str body, struct transcript_said *said_out)
{
	struct unpack in = {body, false};
	uint32_t side;

	said_out->watchers = unpack_u32(&in);
	said_out->session = unpack_u64(&in);
	said_out->time_us = (int64_t)unpack_u64(&in);
	side = unpack_u32(&in);
	said_out->peer = unpack_str(&in);
	said_out->line = unpack_str(&in);
	said_out->side = side <= TRANSCRIPT_NOTE ? (enum transcript_side)side : TRANSCRIPT_NOTE;
	return unpack_is_whole(&in) && side <= TRANSCRIPT_NOTE &&
	       said_out->peer.length <= TRANSCRIPT_PEER_MAX &&
	       said_out->line.length <= TRANSCRIPT_LINE_MAX;
}
