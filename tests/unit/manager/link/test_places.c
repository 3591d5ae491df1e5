// SPDX-License-Identifier: ISC
/* Which names of a waiting message go when outcomes are on the disk, or a new map is: all
 * deliveries of small messages against a count of what is open at each place. The queue is played
 * here. */
#include "manager/link/service_names.h"
#include "queue/update.h"
#include "test.h"
#include <errno.h>
#include <string.h>

enum place { NOWHERE, REMOTE, LOCAL_A, LOCAL_B, PLACES };
enum { MOST = 4, KINDS = PLACES * 4, FORMER = 3 };

static struct mail_envelope envelope = {.id = {457, 9}};
static struct queue_store *const store = (struct queue_store *)(void *)&envelope;
static unsigned left[PLACES];
static int result; /* a failure holds up no other name */

int queue_update_leave(struct queue_store *of, uint64_t number, const char *service)
{
	assert_ptr_equal(of, store);
	assert_int_equal(number, 457);
	if (service == NULL)
		left[REMOTE]++;
	else if (strcmp(service, "a") == 0)
		left[LOCAL_A]++;
	else if (strcmp(service, "bb") == 0)
		left[LOCAL_B]++;
	else
		fail_msg("there is no service %s", service);
	return result;
}

/* One whose service is noise where it does not count. */
static struct queue_delivery delivery_at(enum place place, enum queue_outcome outcome,
					 unsigned noise)
{
	struct queue_delivery delivery = {
		.service = (noise & 1) != 0 ? STR("a") : STR("bb"),
		.outcome = outcome,
	};

	delivery.route = place == NOWHERE  ? QUEUE_ROUTE_NONE
			 : place == REMOTE ? QUEUE_ROUTE_REMOTE
					   : QUEUE_ROUTE_LOCAL;
	if (delivery.route == QUEUE_ROUTE_LOCAL)
		delivery.service = place == LOCAL_A ? STR("a") : STR("bb");
	return delivery;
}

static bool is_open(const struct queue_delivery *delivery)
{
	return delivery->outcome == QUEUE_PENDING || delivery->outcome == QUEUE_WAIT;
}

/* NUMBER says of each of COUNT: its place, whether it is open, whether there is news. */
static void check_finished(unsigned number, size_t count)
{
	struct queue_delivery deliveries[MOST];
	const struct queue_control control = {
		.envelope = &envelope, .deliveries = deliveries, .delivery_count = count};
	unsigned char news[MOST] = {0};
	unsigned open[PLACES] = {0};
	unsigned decided[PLACES] = {0};

	for (unsigned i = 0; i < count; i++, number /= KINDS) {
		enum place place = number % PLACES;
		bool is_decided = (number / PLACES & 1) != 0;

		deliveries[i] = delivery_at(place,
					    is_decided ? (i % 2 > 0 ? QUEUE_DONE : QUEUE_FAIL)
						       : (i % 2 > 0 ? QUEUE_WAIT : QUEUE_PENDING),
					    i);
		news[i] = (number / PLACES & 2) != 0 ? (unsigned char)(i + 1) : 0;
		open[place] += !is_decided;
		decided[place] += is_decided && news[i] != 0;
	}
	memset(left, 0, sizeof left);
	result = count == 2 ? -EIO : 0;
	service_names_remove_finished(store, &control, news);
	for (unsigned place = 0; place < PLACES; place++)
		assert_int_equal(left[place],
				 place != NOWHERE && open[place] == 0 && decided[place] > 0);
}

static void a_name_goes_with_the_last_open_delivery(void **state)
{
	(void)state;
	for (size_t count = 0, numbers = 1; count <= MOST; count++, numbers *= KINDS)
		for (unsigned number = 0; number < numbers; number++)
			check_finished(number, count);
}

/* NUMBER says of each of FORMER, and then of each of COUNT, its place, and of these whether they
 * are open. */
static void check_former(unsigned number, size_t former_count, size_t count)
{
	struct queue_delivery deliveries[FORMER];
	struct queue_delivery former[FORMER];
	const struct queue_control control = {
		.envelope = &envelope, .deliveries = deliveries, .delivery_count = count};
	unsigned open[PLACES] = {0};
	bool was_there[PLACES] = {0};

	for (unsigned i = 0; i < former_count; i++, number /= PLACES) {
		former[i] = delivery_at(number % PLACES, QUEUE_PENDING, i);
		was_there[number % PLACES] = true;
	}
	for (unsigned i = 0; i < count; i++, number /= 2 * PLACES) {
		enum place place = number % PLACES;

		deliveries[i] =
			delivery_at(place, number / PLACES % 2 > 0 ? QUEUE_FAIL : QUEUE_WAIT, i);
		open[place] += is_open(&deliveries[i]);
	}
	memset(left, 0, sizeof left);
	result = 0;
	service_names_remove_former(store, &control, former, former_count);
	for (unsigned place = 0; place < PLACES; place++)
		assert_int_equal(left[place],
				 place != NOWHERE && was_there[place] && open[place] == 0);
}

static void what_a_new_map_does_not_need_goes(void **state)
{
	(void)state;
	for (unsigned former = 0; former <= FORMER; former++)
		for (unsigned count = 0; count <= FORMER; count++)
			for (unsigned number = 0; number < 1U << (2 * former + 3 * count); number++)
				check_former(number, former, count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_goes_with_the_last_open_delivery),
		cmocka_unit_test(what_a_new_map_does_not_need_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
