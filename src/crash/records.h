/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores, packed. A *record* is what one event stores to one line: one piece or a few, one after the
 * other. Records lie behind each other in one run of bytes, in the order of events:
 *
 *      flags  event+  line±  place  thread  off  len  |  bytes of each piece: 0 … 8  |  these bytes
 *        1      1      1-3    1-3    0-1     1    1   |      4 bits each             |
 *
 * Numbers are varints, those of event and line differences to the record before; place and thread are
 * left out where they are that record's. Of a piece, zeros at its upper end are left out: half of all
 * that programs store is zeros, and most of the rest are small numbers. About 20 bytes for 32 that are
 * stored are what is left.
 *
 * Every CRASH_BLOCK-th record stands by itself, and is where reading begins. Blocks that were read of
 * late are kept unpacked.
 */
#ifndef HOLDFAST_CRASH_RECORDS_H
#define HOLDFAST_CRASH_RECORDS_H

#include "base/base.h"

#define CRASH_BLOCK 16u

struct crash_record {
	uint64_t event;
	const uint8_t
		*bytes; /* as they are packed; when one is added: as they are stored, NULL: zeros */
	uint32_t line, place, thread;
	uint32_t piece; /* number of its first piece among all */
	uint16_t off, len;
	uint16_t pieces;
	bool whole; /* one piece, however long */
	bool zero;  /* … all zeros */
};

struct crash_unpacked;
struct crash_records {
	size_t n;
	size_t pieces;       /* in all of them */
	VEC(uint8_t) packed; /* at most CRASH_BLOCK records from each of these on: */
	VEC(struct crash_base {
		uint64_t at;
		uint32_t piece;
	})
	base;
	struct crash_record last; /* that was added */
	struct crash_unpacked *unpacked;
};

/* The most that the pieces of a record may be, unless it is whole. */
#define CRASH_MOST_PIECES 255u
/* Sets its `piece` and `pieces`. */
void crash_records_add(struct crash_records *, struct crash_record *);
void crash_records_free(struct crash_records *);
size_t crash_records_memory(const struct crash_records *);
/* Number i; good until another is asked for. Nothing may be added any more. */
const struct crash_record *crash_record_at(const struct crash_records *, size_t i);
/* The number of the one that has a piece. */
size_t crash_record_with(const struct crash_records *, size_t piece);
/* Where in the line piece k of a record is, k from 0. */
void crash_record_piece(const struct crash_record *, unsigned k, uint16_t *off, uint16_t *len);
/* Stores the first k pieces to a line. */
void crash_record_apply(const struct crash_record *, unsigned k, uint8_t *line);

#endif
