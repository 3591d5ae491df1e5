// SPDX-License-Identifier: ISC
/* Where owners had their last mail: what is kept, and what is not known. */
#include "deliver/local/devices.h"
#include "os/file/mounts.h"
#include "test.h"
#include "unit/frame/frame.h"

enum { COUNT = 3 };

static struct maildir_delivery deliveries[COUNT];
static struct os_process_user owners[COUNT];
static const struct local_group group = {deliveries, owners, COUNT};

static void learn(struct local_devices *devices, size_t i, uid_t uid, uint64_t device)
{
	owners[i] = (struct os_process_user){.change = true, .uid = uid};
	deliveries[i].device = device;
	local_devices_learn(devices, &group);
}

static uint64_t find(const struct local_devices *devices, uid_t uid)
{
	return local_devices_find(devices, uid, STR("/home")).device;
}

static void the_last_mail_counts(void **state)
{
	struct local_devices *devices = local_devices_new();

	(void)state;
	learn(devices, 0, 1000, 7);
	learn(devices, 1, 1001, 8);
	assert_int_equal(find(devices, 1000), 7);
	assert_int_equal(find(devices, 1001), 8);
	assert_int_equal(find(devices, 1002), 0);
	learn(devices, 0, 1000, 9);
	assert_int_equal(find(devices, 1000), 9);
	local_devices_free(devices);
}

static void what_was_not_stored_says_nothing(void **state)
{
	struct local_devices *devices = local_devices_new();

	(void)state;
	learn(devices, 0, 1000, 7);
	learn(devices, 0, 1000, 0);
	assert_int_equal(find(devices, 1000), 7);
	local_devices_free(devices);
}

static void nobody_is_taken_for_another(void **state)
{
	struct local_devices *devices = local_devices_new();

	(void)state;
	for (uid_t uid = 1; uid < 100; uid++)
		learn(devices, 0, uid << 14, uid);
	for (uid_t uid = 1; uid < 100; uid++)
		assert_int_equal(find(devices, uid << 14), uid == 99 ? 99 : 0);
	local_devices_free(devices);
}

static void mail_as_the_process_is_nobodys(void **state)
{
	struct local_devices *devices = local_devices_new();

	(void)state;
	learn(devices, 0, 1000, 7);
	owners[0] = (struct os_process_user){.change = false, .uid = 2000};
	local_devices_learn(devices, &group);
	assert_int_equal(find(devices, 2000), 0);
	local_devices_free(devices);
}

/* Who had none yet is told from others by what is mounted. */
static void strangers_are_told_apart_by_mounts(void **state)
{
	struct local_devices *devices = local_devices_new();
	struct local_disk disks[4];

	(void)state;
	frame_leaves_for_life();
	assert_int_equal(os_mounts_open(), 0);
	learn(devices, 0, 1000, 7);
	disks[0] = local_devices_find(devices, 1000, STR("/proc/ann"));
	disks[1] = local_devices_find(devices, 3001, STR("/proc/bob"));
	disks[2] = local_devices_find(devices, 3002, STR("/proc/eve"));
	disks[3] = local_devices_find(devices, 3003, STR("/sys/joe"));
	assert_true(disks[0].device == 7 && disks[0].mount == 0);
	assert_true(disks[1].device == 0 && disks[1].mount != 0);
	assert_true(local_disk_is_same(&disks[1], &disks[2]));
	assert_false(local_disk_is_same(&disks[0], &disks[1]));
	assert_false(local_disk_is_same(&disks[1], &disks[3]));
	local_devices_free(devices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_mail_counts),
		cmocka_unit_test(what_was_not_stored_says_nothing),
		cmocka_unit_test(nobody_is_taken_for_another),
		cmocka_unit_test(mail_as_the_process_is_nobodys),
		cmocka_unit_test(strangers_are_told_apart_by_mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
