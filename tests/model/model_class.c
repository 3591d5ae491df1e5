// SPDX-License-Identifier: ISC
#include "model_class.h"
#include "model.h"
#include "unit/limit/limit_scene.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	REMOTES = 2, /* the first of the helpers */
	SERVERS = 2,
	OWN = REMOTES + SERVERS, /* of the manager, where who waits is counted */
	PROCESSES,
	FILES = 4,
	CLASSES_MAX = 4,
	KEYS_MAX = 16,
	OPEN_MAX = 64,
	LOOKS = 50, /* that are too many to find a place that is free */
};
enum direction { OUT, IN, DIRECTIONS };
enum seen {
	ENTERED,
	FULL,
	BEHIND_OTHERS, /* who have waited longer */
	TURN_USED,
	TURN_LOST,
	CLIENT_ENTERED,
	CLIENT_REFUSED,
	KILLED,
	BEGUN_AGAIN,
	RECOUNTED,
	UNLIMITED,
	ABOVE_ITS_LIMIT, /* since it was configured */
	SEEN
};

static const int64_t LOOK_US = SECOND_US / 50; /* how often the manager looks */

struct session {
	uint32_t tag; /* of its job */
	char host[64];
	enum direction direction;
};

struct process {
	size_t file;
	bool is_dead; /* and the supervisor has not noticed */
	struct session open[OPEN_MAX];
	size_t count;
	uint32_t shown[KEYS_MAX][DIRECTIONS]; /* what others see of it */
};

static struct limit_scene limits;
static struct limit_classes *classes[FILES]; /* the first: none */
static struct process processes[PROCESSES];
static size_t chosen;   /* for the next configuration */
static size_t in_force; /* the manager's */
static uint64_t keys[KEYS_MAX];
static uint32_t most_turns[KEYS_MAX];
static size_t key_count;
static uint64_t seen[SEEN];

static struct config_class configured[FILES][CLASSES_MAX] = {
	{{0}},
	{{.mask = "fast0.example",
	  .kind = CONFIG_CLASS_HOST,
	  .name = "fast0.example",
	  .queue = 2,
	  .refuse = 3},
	 {.mask = "*", .kind = CONFIG_CLASS_ALL, .queue = 5, .refuse = 4}},
	{{.mask = "fast0.example",
	  .kind = CONFIG_CLASS_HOST,
	  .name = "fast0.example",
	  .queue = 1,
	  .refuse = 1},
	 {.mask = "*.grey1.example",
	  .kind = CONFIG_CLASS_DOMAIN,
	  .name = "grey1.example",
	  .queue = 2,
	  .refuse = 1},
	 {.mask = "slow1.example",
	  .kind = CONFIG_CLASS_HOST,
	  .name = "slow1.example",
	  .queue = 2,
	  .refuse = 4},
	 {.mask = "*", .kind = CONFIG_CLASS_ALL, .queue = 9, .refuse = 9}},
	{{.mask = "*", .kind = CONFIG_CLASS_ALL, .queue = 3, .refuse = 6}},
};
static const size_t class_counts[FILES] = {0, 2, 4, 1};

/* --- the reference --- */

static size_t key_index(uint64_t key)
{
	for (size_t i = 0; i < key_count; i++)
		if (keys[i] == key)
			return i;
	if (key_count == KEYS_MAX)
		model_fail("the model has no room for another class");
	keys[key_count] = key;
	return key_count++;
}

static size_t class_in(size_t file, const char *host)
{
	static const struct in6_addr nowhere;

	return limit_classes_find(classes[file], str_from(host), &nowhere);
}

static uint64_t total(uint64_t key)
{
	size_t index = key_index(key);
	uint64_t sum = 0;

	for (size_t i = 0; i < PROCESSES; i++)
		sum += processes[i].shown[index][IN] + processes[i].shown[index][OUT];
	return sum;
}

static uint64_t waiting(uint64_t key)
{
	struct limit_total found;

	limit_total_of(limits.supervisor, key, &found);
	return found.waiting;
}

static void show(struct process *process, const struct session *session, uint32_t change)
{
	size_t class = class_in(process->file, session->host);
	uint64_t key = limit_classes_at(classes[process->file], class)->key;

	process->shown[key_index(key)][session->direction] += change;
}

/* --- sessions --- */

/* Nobody counts it where there are no classes. */
static bool enter(size_t i, const struct session *session, bool has_turn)
{
	struct process *process = &processes[i];
	const struct limit_class *class;
	bool is_out = session->direction == OUT;
	size_t index;
	bool may;
	bool did;

	if (classes[process->file] == NULL) {
		seen[UNLIMITED]++;
		return true;
	}
	index = class_in(process->file, session->host);
	class = limit_classes_at(classes[process->file], index);
	if (is_out && !has_turn && waiting(class->key) > 0) { /* deliver/remote/session/places.h */
		limit_hold_out(limits.counters[i], index);
		seen[BEHIND_OTHERS]++;
		return false;
	}
	may = total(class->key) < (is_out ? class->queue : class->refuse);
	did = is_out ? limit_enter_out(limits.counters[i], index)
		     : limit_enter_in(limits.counters[i], index);
	if (did != may)
		model_fail("class %s of %" PRIu64 " sessions %s another one", class->mask,
			   total(class->key), did ? "takes" : "refuses");
	if (did)
		show(process, session, 1);
	seen[is_out ? (did ? ENTERED : FULL) : (did ? CLIENT_ENTERED : CLIENT_REFUSED)]++;
	return did;
}

static bool begin_session(size_t i, const struct session *session, bool has_turn)
{
	struct process *process = &processes[i];

	if (process->is_dead || process->count == OPEN_MAX)
		model_fail("process %zu cannot begin a session", i);
	if (!enter(i, session, has_turn))
		return false;
	process->open[process->count++] = *session;
	return true;
}

static void end_session(size_t i, size_t which)
{
	struct process *process = &processes[i];
	struct session session = process->open[which];

	process->open[which] = process->open[--process->count];
	if (classes[process->file] == NULL)
		return;
	if (session.direction == OUT)
		limit_leave_out(limits.counters[i], class_in(process->file, session.host));
	else
		limit_leave_in(limits.counters[i], class_in(process->file, session.host));
	show(process, &session, UINT32_MAX);
}

/* --- "remote" --- */

static bool begin_job(size_t helper, uint32_t tag, const char *host, bool has_turn)
{
	struct session session = {.tag = tag, .direction = OUT};
	bool did;

	snprintf(session.host, sizeof session.host, "%s", host);
	did = begin_session(helper, &session, has_turn);
	if (has_turn)
		seen[did ? TURN_USED : TURN_LOST]++;
	return did;
}

static void end_job(size_t helper, uint32_t tag)
{
	for (size_t i = 0; i < processes[helper].count; i++)
		if (processes[helper].open[i].tag == tag) {
			end_session(helper, i);
			return;
		}
}

static const char *refused_by(size_t helper, const char *host)
{
	static char trigger[LIMIT_TRIGGER_SIZE];
	size_t file = processes[helper].file;

	limit_class_trigger(limit_classes_at(classes[file], class_in(file, host)), trigger);
	return trigger;
}

/* --- their life --- */

static void begin_process(size_t i, size_t file)
{
	limit_scene_start(&limits, i, classes[file]);
	if (classes[file] == NULL) {
		limit_counter_free(limits.counters[i]);
		limits.counters[i] = NULL;
	}
	processes[i] = (struct process){.file = file};
}

/* Its sessions are seen until the supervisor clears them. */
static void kill_process(size_t i)
{
	limit_scene_kill(&limits, i);
	processes[i].is_dead = true;
	processes[i].count = 0;
	seen[KILLED]++;
}

static void revive(size_t i)
{
	if (!processes[i].is_dead)
		return;
	limit_scene_reap(&limits, i);
	begin_process(i, chosen);
	seen[BEGUN_AGAIN]++;
}

static void note_above(const struct process *process)
{
	for (size_t i = 0; i < limit_classes_count(classes[process->file]); i++) {
		const struct limit_class *class = limit_classes_at(classes[process->file], i);

		seen[ABOVE_ITS_LIMIT] +=
			total(class->key) > class->refuse && total(class->key) > class->queue;
	}
}

/* As deliver/remote/session/places.c does it. */
static void configure_process(size_t i, size_t file)
{
	struct process *process = &processes[i];
	struct limit_counter *counter = limits.counters[i];

	process->file = file;
	memset(process->shown, 0, sizeof process->shown);
	seen[RECOUNTED]++;
	if (classes[file] == NULL) {
		limit_counter_free(counter);
		limits.counters[i] = NULL;
		return;
	}
	if (counter == NULL)
		counter = limits.counters[i] = limit_counter_new(limits.memories[i], classes[file]);
	limit_recount_begin(counter, limits.memories[i], classes[file]);
	for (size_t j = 0; j < process->count; j++) {
		size_t class = class_in(file, process->open[j].host);

		if (process->open[j].direction == OUT)
			limit_recount_out(counter, class);
		else
			limit_recount_in(counter, class);
		show(process, &process->open[j], 1);
	}
	limit_recount_end(counter);
	note_above(process);
}

/* --- what happens --- */

static void client_comes(size_t i)
{
	static const char *const hosts[] = {"fast0.example", "slow1.example", "mx.grey1.example",
					    "elsewhere.example"};
	struct session session = {.direction = IN};

	snprintf(session.host, sizeof session.host, "%s", hosts[model_random(COUNT_OF(hosts))]);
	if (processes[i].count < OPEN_MAX)
		(void)begin_session(i, &session, false);
}

void model_class_happens(void)
{
	size_t i = REMOTES + model_random(SERVERS);
	uint64_t kind = model_random(100);

	if (kind < 3) {
		i = model_random(OWN);
		if (!processes[i].is_dead)
			configure_process(i, model_once_in(4) ? model_random(FILES) : chosen);
	} else if (processes[i].is_dead) {
		revive(i);
	} else if (kind < 4) {
		kill_process(i);
	} else if (kind < 60 && processes[i].count > 0) {
		end_session(i, model_random(processes[i].count));
	} else {
		client_comes(i);
	}
}

void model_class_calm(void)
{
	for (size_t i = 0; i < OWN; i++) {
		revive(i);
		while (i >= REMOTES && processes[i].count > 0)
			end_session(i, 0);
		configure_process(i, in_force);
	}
}

/* --- what must hold --- */

static const struct limit_class *class_of_trigger(const struct trigger *trigger)
{
	char name[LIMIT_TRIGGER_SIZE];

	for (size_t i = 0; i < limit_classes_count(classes[in_force]); i++) {
		limit_class_trigger(limit_classes_at(classes[in_force], i), name);
		if (str_equal(trigger_name(trigger), str_from(name)))
			return limit_classes_at(classes[in_force], i);
	}
	return NULL;
}

static void compare(void)
{
	for (size_t key = 0; key < key_count; key++) {
		uint64_t sums[DIRECTIONS] = {0};
		struct limit_total found;

		limit_total_of(limits.supervisor, keys[key], &found);
		for (size_t i = 0; i < PROCESSES; i++) {
			sums[IN] += processes[i].shown[key][IN];
			sums[OUT] += processes[i].shown[key][OUT];
		}
		if (found.in != sums[IN] || found.out != sums[OUT])
			model_fail("%" PRIu64 " sessions in and %" PRIu64
				   " out are counted, and there are %" PRIu64 " and %" PRIu64,
				   found.in, found.out, sums[IN], sums[OUT]);
	}
}

/* How many messages that are awake have a turn; but not those that an order tries or maps again,
 * and which wait for nobody then. */
static size_t count_turns(struct manager *manager, const struct trigger *trigger)
{
	size_t all = 0;
	size_t in_turn = 0;

	for (const struct message *m = manager->messages; m != NULL; m = m->hh.next) {
		const struct model_message *known = model_find(m->id.number);
		bool has_turn = triggers_turn_of(manager->triggers, m) == trigger;

		all += has_turn;
		in_turn += has_turn &&
			   (known == NULL || !(known->is_hurried || known->is_mapped_again));
	}
	if (all != trigger_turns(trigger))
		model_fail("%zu messages have a turn for %s, and %zu are counted", all,
			   trigger_name(trigger).data, trigger_turns(trigger));
	return in_turn;
}

/* Those who have one already may be more than a new configuration allows. */
static void check_turns(struct manager *manager, const struct trigger *trigger,
			const struct limit_class *class)
{
	size_t index = key_index(class->key);
	size_t turns = trigger_turns(trigger);

	if (turns > class->queue)
		turns = count_turns(manager, trigger);
	if (turns <= class->queue)
		most_turns[index] = class->queue;
	else if (turns > most_turns[index])
		model_fail("%zu messages have a turn for %u places of %s", turns, class->queue,
			   class->mask);
}

void model_class_check(struct manager *manager)
{
	struct trigger *trigger = triggers_next_of_class(manager->triggers, NULL);

	compare();
	for (; trigger != NULL; trigger = triggers_next_of_class(manager->triggers, trigger)) {
		const struct limit_class *class = class_of_trigger(trigger);

		if (class != NULL)
			check_turns(manager, trigger, class);
	}
}

/* A message that waits for TRIGGER could go, or others are told a wrong number of them. */
static bool is_to_be_looked_at(struct trigger *trigger)
{
	const struct limit_class *class = class_of_trigger(trigger);
	size_t count = trigger_waiters(trigger)->count;
	size_t turns = trigger_turns(trigger);
	struct limit_total found;
	uint64_t taken;

	if (class == NULL)
		return true; /* it is to be released */
	limit_total_of(limits.supervisor, class->key, &found);
	taken = found.in + (found.out > turns ? found.out : turns);
	return found.waiting != count || (taken < class->queue && count > 0);
}

static struct trigger *find_to_be_looked_at(struct manager *manager)
{
	struct trigger *trigger = triggers_next_of_class(manager->triggers, NULL);

	while (trigger != NULL && !is_to_be_looked_at(trigger))
		trigger = triggers_next_of_class(manager->triggers, trigger);
	return trigger;
}

void model_class_check_waiting(struct manager *manager)
{
	struct trigger *trigger = triggers_next_of_class(manager->triggers, NULL);

	for (; trigger != NULL; trigger = triggers_next_of_class(manager->triggers, trigger))
		(void)count_turns(manager, trigger);
	trigger = find_to_be_looked_at(manager);
	for (unsigned i = 0; i < LOOKS && trigger != NULL; i++) {
		model_advance(LOOK_US);
		trigger = find_to_be_looked_at(manager);
	}
	if (trigger != NULL)
		model_fail("%zu messages wait for %s, %" PRIu64 " are shown, and there are places",
			   trigger_waiters(trigger)->count, trigger_name(trigger).data,
			   class_of_trigger(trigger) != NULL
				   ? waiting(class_of_trigger(trigger)->key)
				   : 0);
}

void model_class_check_over(struct manager *manager)
{
	const struct trigger *trigger = triggers_next_of_class(manager->triggers, NULL);

	for (size_t i = 0; i < key_count; i++)
		if (total(keys[i]) > 0 || waiting(keys[i]) > 0)
			model_fail("class %zu has %" PRIu64 " sessions, and %" PRIu64
				   " messages wait, when all is over",
				   i, total(keys[i]), waiting(keys[i]));
	if (trigger != NULL)
		model_fail("trigger %s is set when all is over", trigger_name(trigger).data);
}

void model_class_check_seen(void)
{
	for (enum seen i = 0; i < SEEN; i++)
		if (seen[i] == 0)
			model_fail("nothing of kind %d has happened to a class", (int)i);
}

/* --- the model's life --- */

static void lose_helper(size_t helper)
{
	if (!processes[helper].is_dead && model_once_in(2))
		kill_process(helper);
}

static void drop_jobs(size_t helper)
{
	while (processes[helper].count > 0)
		end_session(helper, 0);
}

static const struct model_sessions sessions = {.count = REMOTES,
					       .begin = begin_job,
					       .end = end_job,
					       .refused_by = refused_by,
					       .lose = lose_helper,
					       .drop = drop_jobs,
					       .connect = revive};

void model_class_begin(void)
{
	limit_scene_init(&limits, PROCESSES);
	for (size_t i = 0; i < FILES; i++) {
		const struct config config = {.classes = configured[i],
					      .class_count = class_counts[i]};

		classes[i] = limit_classes_new(&config);
	}
	for (size_t i = 0; i < PROCESSES; i++)
		begin_process(i, 0);
	model_class_choose();
	model_sessions = &sessions;
}

void model_class_end(void)
{
	limit_scene_clear(&limits);
	for (size_t i = 0; i < FILES; i++)
		limit_classes_free(classes[i]);
}

void model_class_choose(void)
{
	chosen = model_random(FILES);
}

void model_class_configure(struct config *config)
{
	config->classes = configured[chosen];
	config->class_count = class_counts[chosen];
}

void model_class_use(struct manager *manager)
{
	in_force = chosen;
	manager_use_limits(manager, limits.memories[OWN]);
}
