/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library of its own, preloaded into a program that is recorded with --line-buffered: what it prints is written by the
 * line, as on a terminal, unless it chooses otherwise. Where the buffer is, and how big, does not change.
 */
#include <stdio.h>

__attribute__((constructor)) static void write_lines(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
}
