// SPDX-License-Identifier: ISC
/*
 * The class of hosts in which a session is counted, and whether it has a place (limit/count.h);
 * and the load of the machine.
 *
 * It is the class of the client: of the one that a PROXY header or XCLIENT names. A session by a
 * UNIX socket has none.
 */
#include "intake/internal.h"
#include "limit/count.h"
#include "log/event.h"
#include "os/load.h"

static bool is_limited(const struct intake_session *session)
{
	return session->intake->counter != NULL && intake_session_has_address(session);
}

static struct str client_name_of_session(const struct intake_session *session)
{
	return session->name != NULL ? str_from(session->name) : STR("");
}

static size_t find_class_of_session(const struct intake_session *session)
{
	return limit_classes_find(session->intake->classes, client_name_of_session(session),
				  &session->mapped);
}

bool intake_limit_is_overloaded(const struct intake_session *session)
{
	uint32_t limit = session->intake->config->load_refuse;

	return limit > 0 && intake_session_has_address(session) && os_load_average() >= limit * 100;
}

bool intake_limit_ask_name(struct intake_session *session)
{
	const struct names *names = session->intake->names;

	if (!is_limited(session) || names == NULL ||
	    !limit_classes_need_name(session->intake->classes, &session->mapped))
		return false;
	intake_lookup_name(session);
	return names_request_is_open(&session->name_request) && !names_are_slow(names);
}

static void log_class_decision(struct intake_session *session, const struct limit_class *class,
			       const struct limit_total *total, bool may)
{
	log_event(EVENT_CLASS_DECIDED, log_string(class, class->mask), log_string(direction, "in"),
		  log_string(result, may ? "counted" : "refused"),
		  log_number(in, (int64_t)total->in), log_number(out, (int64_t)total->out),
		  log_string(setting, "refuse"), log_number(limit, class->refuse),
		  INTAKE_LOG_CLIENT(session), log_str(name, client_name_of_session(session)));
	if (may)
		return;
	session->is_turned_away = true;
	log_event_rated(EVENT_SESSION_REFUSED, INTAKE_LOG_CLIENT(session),
			log_string(text, "Too many sessions of its class"),
			log_string(class, class->mask), log_string(setting, "refuse"),
			log_number(limit, class->refuse),
			log_str(name, client_name_of_session(session)));
}

static bool is_class_full(const struct limit_total *total, const struct limit_class *class)
{
	return total->in + total->out >= class->refuse;
}

/* Whoever is held back by a rate leaves if somebody else could have its place. */
static void make_room_in_class(struct intake *intake, size_t index)
{
	const struct limit_class *class = limit_classes_at(intake->classes, index);
	struct intake_session *slowed = intake_slow_first(intake, (ptrdiff_t)index);
	struct limit_total total;

	if (slowed == NULL)
		return;
	limit_total_of(intake->limits, class->key, &total);
	if (is_class_full(&total, class))
		slowed->yield_place(slowed);
}

/* Tells who closes the sockets for mail when no class has a place any more. */
static bool enter_limited_class(struct intake_session *session, size_t index)
{
	struct intake *intake = session->intake;
	const struct limit_class *class = limit_classes_at(intake->classes, index);
	struct limit_total total;
	bool may;

	make_room_in_class(intake, index);
	may = limit_enter_in(intake->counter, index);
	limit_total_of(intake->limits, class->key, &total);
	log_class_decision(session, class, &total, may);
	if (is_class_full(&total, class) && intake->all_full != NULL &&
	    limit_is_all_full(intake->limits, intake->classes))
		intake->all_full(intake->context);
	return may;
}

bool intake_limit_enter(struct intake_session *session)
{
	size_t class;

	if (!is_limited(session))
		return true;
	class = find_class_of_session(session);
	if (!enter_limited_class(session, class))
		return false;
	session->limits.class = (ptrdiff_t) class;
	return true;
}

void intake_limit_leave(struct intake_session *session)
{
	if (session->limits.class >= 0)
		limit_leave_in(session->intake->counter, (size_t)session->limits.class);
	session->limits.class = INTAKE_NO_CLASS;
}

bool intake_limit_move(struct intake_session *session)
{
	size_t class;

	if (!is_limited(session))
		return true;
	class = find_class_of_session(session);
	if (session->limits.class == (ptrdiff_t) class)
		return true;
	if (!enter_limited_class(session, class))
		return false;
	intake_limit_leave(session);
	session->limits.class = (ptrdiff_t) class;
	return true;
}

/* Those that wait for their name are decided when they have it. */
static void recount_sessions(struct intake *intake)
{
	for (struct intake_session *s = intake->sessions; s != NULL; s = s->next) {
		s->limits.class = INTAKE_NO_CLASS;
		s->limits.rates_logged = 0; /* the sections have other numbers */
		if (s->named != NULL || !is_limited(s) || s->engine->is_closed(s))
			continue;
		s->limits.class = (ptrdiff_t)find_class_of_session(s);
		limit_recount_in(intake->counter, (size_t)s->limits.class);
		if (s->limits.is_slowed)
			limit_recount_slowed(intake->counter, (size_t)s->limits.class);
	}
}

void intake_set_limits(struct intake *intake, const struct limit_memory *limits,
		       const struct limit_classes *classes)
{
	if (classes == NULL) {
		limit_counter_free(intake->counter);
		intake->counter = NULL;
	} else if (intake->counter == NULL) {
		intake->counter = limit_counter_new(limits, classes);
	}
	limit_clients_use(intake->clients, limits);
	intake->limits = limits;
	intake->classes = classes;
	if (classes != NULL)
		limit_recount_begin(intake->counter, limits, classes);
	recount_sessions(intake);
	if (classes != NULL)
		limit_recount_end(intake->counter);
}
