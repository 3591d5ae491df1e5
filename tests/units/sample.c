// SPDX-License-Identifier: ISC
/* Times that meet in a wrong unit, and such as are converted: what tools/check-units must tell
 * apart. It is read, not compiled. */
#include <stdint.h>
#include <time.h>

#define SECOND_US ((int64_t)1000000)
#define MINUTE_US (60 * SECOND_US)

struct sample {
	int64_t wait_us;
	int timeout_ms;
};

int64_t sample_now_us(void);
void sample_wait(int64_t delay_us, int grace_ms);

static int64_t sample_late_us(const struct sample *sample)
{
	return sample->timeout_ms; /* wrong */
}

void sample_wrong(struct sample *sample, int idle_s, int count)
{
	struct sample other = {.wait_us = sample->timeout_ms}; /* wrong */
	struct timespec time = {.tv_sec = sample->wait_us};    /* wrong */
	int64_t begun_us = idle_s;                             /* wrong */

	sample->wait_us = sample->timeout_ms;                     /* wrong */
	sample->wait_us = idle_s * 1000;                          /* wrong */
	sample->wait_us += count != 0 ? 5 : sample->timeout_ms;   /* wrong */
	if (sample_now_us() - begun_us < sample->timeout_ms)      /* wrong */
		sample_wait(5 * SECOND_US, (int)sample->wait_us); /* wrong */
	sample_wait(sample->timeout_ms, 5);                       /* wrong */
	begun_us = begun_us * SECOND_US;                          /* wrong */
	idle_s = idle_s / SECOND_US;                              /* wrong */
	time.tv_nsec = begun_us % SECOND_US;                      /* wrong */
}

void sample_right(struct sample *sample, int idle_s, int count)
{
	struct sample other = {.wait_us = (int64_t)sample->timeout_ms * 1000};
	struct timespec time = {.tv_sec = sample->wait_us / SECOND_US,
				.tv_nsec = sample->wait_us % SECOND_US * 1000};
	int64_t begun_us = sample_now_us() + idle_s * SECOND_US + MINUTE_US / 2 + 1000 * SECOND_US;

	sample->timeout_ms = (int)(other.wait_us * 1000 / SECOND_US);
	sample->timeout_ms = idle_s * 1000 + count;
	sample->wait_us = (begun_us + count * SECOND_US) / 2 + sample_late_us(sample);
	if (sample_now_us() - begun_us < time.tv_sec * SECOND_US + SECOND_US / 1000)
		sample_wait(5 * SECOND_US, (int)(sample->wait_us / 1000));
}
