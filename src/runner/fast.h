/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cell and the preloaded library say to each other. */
#ifndef HOLDFAST_RUNNER_FAST_H
#define HOLDFAST_RUNNER_FAST_H

#include <stdint.h>

#define FAST_FD 198 /* the library's end of the socket */
#define FAST_ENV "HOLDFAST_FORKSERVER"
#define FAST_MAP "HOLDFAST_MAP" /* "address=path", one a line */

/* The cell sends one byte for each run. */
enum {
	FAST_HELLO, /* the program stands before main */
	FAST_CHILD, /* the run has begun; value: its pid */
	FAST_END,   /* and ended; value: status, as from waitpid */
};
struct fast_msg {
	int32_t what, value;
};

#endif
