/* SPDX-License-Identifier: BSD-3-Clause */
/* A log that is synced before each answer, but for one (`late`); `twice` syncs again, `scratch` has a file that is never synced; with
 * `threads` another thread has always written, and not synced yet, when one answers. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int append(int log, int n, int sync)
{
	char line[16];
	int len = snprintf(line, sizeof line, "entry %d\n", n);
	if (write(log, line, (size_t)len) != len || (sync && fdatasync(log)))
		return 1;
	printf("done %d\n", n);
	return fflush(stdout);
}

static sem_t turn[2];

/* One writes and answers in its turn; once, the other one answers between its write and its sync. */
static void *appender(void *arg)
{
	int *log = arg, me = log[1], bad = 0;
	for (int i = 0; i < 5; i++) {
		sem_wait(&turn[me]);
		bad |= write(*log, "entry\n", 6) != 6;
		if (i == 2 && me)
			sem_post(&turn[0]), sem_wait(&turn[1]);
		bad |= fdatasync(*log);
		if (i == 2 && !me)
			sem_post(&turn[1]), sem_wait(&turn[0]);
		bad |= printf("done %d\n", i) < 0 || fflush(stdout);
		sem_post(&turn[!me]);
	}
	return bad ? arg : NULL;
}

static int by_threads(int log)
{
	int own[2][2] = { { log, 0 }, { log, 1 } };
	pthread_t thread[2];
	void *bad[2] = { NULL, NULL };
	sem_init(&turn[0], 0, 1);
	sem_init(&turn[1], 0, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, appender, own[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], &bad[i]);
	return bad[0] || bad[1];
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
	int scratch = open("scratch", O_WRONLY | O_CREAT, 0644), bad = log < 0 || scratch < 0;
	if (!strcmp(way, "threads"))
		bad |= by_threads(log);
	for (int i = 0; i < 5; i++) {
		bad |= append(log, i, i != 3 || strcmp(way, "late"));
		if (!strcmp(way, "twice"))
			bad |= fsync(log); /* @twice */
		if (!strcmp(way, "scratch"))
			bad |= write(scratch, "x", 1) != 1;
	}
	return bad || fsync(log);
}
