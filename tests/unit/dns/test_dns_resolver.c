// SPDX-License-Identifier: ISC
/* A libunbound that never lets go: nobody waits for it. */
#include "base/timestamp.h"
#include "dns/resolver.h"
#include "os/worker.h"
#include "test.h"
#include "unit/frame/frame.h"
#include <unbound.h>
#include <unistd.h>

static struct {
	int gate[2]; /* a pipe: shut until its second end is closed */
	bool must_hang;
	unsigned begun;
	unsigned waited;
} deletion;

void ub_ctx_delete(struct ub_ctx *context)
{
	char byte;

	(void)context;
	deletion.begun++;
	if (deletion.must_hang)
		assert_int_equal(read(deletion.gate[0], &byte, 1), 0);
}

bool __real_os_worker_wait(struct os_worker *worker, int64_t timeout_us);
bool __wrap_os_worker_wait(struct os_worker *worker, int64_t timeout_us);

bool __wrap_os_worker_wait(struct os_worker *worker, int64_t timeout_us)
{
	assert_in_range(timeout_us, 1, 5 * SECOND_US);
	deletion.waited++;
	return __real_os_worker_wait(worker, deletion.must_hang ? 0 : 3600 * SECOND_US);
}

static void what_hangs_is_left(void **state)
{
	struct os_loop *loop = os_loop_new();

	(void)state;
	frame_leaves_for_life();
	assert_int_equal(pipe(deletion.gate), 0);
	for (unsigned round = 1; round <= 2; round++) {
		struct dns_resolver *resolver;

		deletion.must_hang = round == 2;
		assert_int_equal(dns_resolver_new(loop, "127.0.0.1", &resolver), 0);
		dns_resolver_free(resolver);
		assert_int_equal(deletion.waited, round);
		if (!deletion.must_hang)
			assert_int_equal(deletion.begun, round);
	}
	os_loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_hangs_is_left)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
