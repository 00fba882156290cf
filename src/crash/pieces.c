/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be asked of a history: pieces by either number, and contents of any version.
 *
 * The records of a line are its *slots*, one after the other in `order`. From a version to its slot, and
 * back, it goes by the sums of `count`, of which every CRASH_BLOCK-th is kept. Contents take at most
 * CRASH_CHECKPOINT records from the checkpoint before them. Their hash is made when it is needed; those
 * of late are kept, since the same few lines are asked for again and again.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

/* ---- slots ---- */

uint32_t crash_slots_end(const struct crash_history *h, uint32_t line)
{
	return line + 1 < h->line.n ? h->line.p[line + 1].first : (uint32_t)h->store.n;
}

/* How many pieces of the line are before its slot, or the end of its slots. */
static uint32_t pieces_before(const struct crash_history *h, uint32_t line, uint32_t slot)
{
	uint32_t at = slot - slot % CRASH_BLOCK, sum = 0;
	if (slot == crash_slots_end(h, line))
		return h->line.p[line].n;
	if (at <= h->line.p[line].first)
		at = h->line.p[line].first;
	else
		sum = h->version[at / CRASH_BLOCK];
	while (at < slot)
		sum += h->count[at++];
	return sum;
}

/* The slot with the line's piece k, from 1, and how many pieces are before it. */
static uint32_t slot_of(const struct crash_history *h, uint32_t line, uint32_t k, uint32_t *before)
{
	uint32_t first = h->line.p[line].first, end = crash_slots_end(h, line), slot = first;
	uint32_t block = first / CRASH_BLOCK + 1, blocks = (end - 1) / CRASH_BLOCK + 1;
	*before = 0;
	if (block < blocks) {
		block += (uint32_t)BISECT(i, blocks - block, h->version[block + i] < k);
		if (--block > first / CRASH_BLOCK) {
			slot = block * CRASH_BLOCK;
			*before = h->version[block];
		}
	}
	while (*before + h->count[slot] < k)
		*before += h->count[slot++];
	return slot;
}

/* ---- pieces ---- */

static struct crash_piece piece_of_record(const struct crash_record *r, unsigned k)
{
	struct crash_piece p = {
		.event = r->event, .line = r->line, .place = r->place, .thread = r->thread
	};
	crash_record_piece(r, k, &p.off, &p.len);
	return p;
}

struct crash_piece crash_piece_at(const struct crash_history *h, size_t i)
{
	const struct crash_record *r = crash_record_at(&h->store, crash_record_with(&h->store, i));
	return piece_of_record(r, (unsigned)(i - r->piece));
}

struct crash_piece crash_piece_of(const struct crash_history *h, uint32_t line, uint32_t k)
{
	uint32_t before, slot = slot_of(h, line, k, &before);
	return piece_of_record(crash_record_at(&h->store, h->order[slot]), k - before - 1);
}

uint32_t crash_piece_index(const struct crash_history *h, uint32_t line, uint32_t k)
{
	uint32_t before, slot = slot_of(h, line, k, &before);
	return crash_record_at(&h->store, h->order[slot])->piece + k - before - 1;
}

uint32_t crash_number_of(const struct crash_history *h, uint32_t i)
{
	size_t record = crash_record_with(&h->store, i);
	const struct crash_record *r = crash_record_at(&h->store, record);
	uint32_t line = r->line, first = h->line.p[line].first;
	uint32_t slots = crash_slots_end(h, line) - first, inside = i - r->piece;
	uint32_t slot = first + (uint32_t)BISECT(k, slots, h->order[first + k] < record);
	return pieces_before(h, line, slot) + inside + 1;
}

uint32_t crash_version_at(const struct crash_history *h, uint32_t line, uint64_t event)
{
	uint32_t first = h->line.p[line].first, slots = crash_slots_end(h, line) - first;
	uint32_t slot = (uint32_t)BISECT(
		k, slots, crash_record_at(&h->store, h->order[first + k])->event < event);
	return pieces_before(h, line, first + slot);
}

size_t crash_event_begin(const struct crash_history *h, size_t i)
{
	size_t at = crash_record_with(&h->store, i);
	uint64_t event = crash_record_at(&h->store, at)->event;
	while (at && crash_record_at(&h->store, at - 1)->event == event)
		at--;
	return crash_record_at(&h->store, at)->piece;
}

size_t crash_event_end(const struct crash_history *h, size_t i)
{
	size_t at = i < h->pieces ? crash_record_with(&h->store, i) : h->store.n;
	uint64_t event = i < h->pieces ? crash_record_at(&h->store, at)->event : 0;
	while (at < h->store.n && crash_record_at(&h->store, at)->event == event)
		at++;
	return at < h->store.n ? crash_record_at(&h->store, at)->piece : h->pieces;
}

/* ---- contents ---- */

/* The initial contents; behind the file's end there are zeros. */
static void initial(const struct crash_history *h, const struct crash_line *l, uint8_t *out)
{
	const struct crash_file *f = &h->file.p[l->file];
	memset(out, 0, f->unit);
	if (l->off < f->size)
		trace_image_read(h->initial, f->owner, l->off, out,
				 f->size - l->off < f->unit ? f->size - l->off : f->unit);
}

void crash_contents(const struct crash_history *h, uint32_t line, uint32_t version, uint8_t *out)
{
	const struct crash_line *l = &h->line.p[line];
	uint32_t before = 0, slot = version ? slot_of(h, line, version, &before) : l->first;
	uint32_t check = (slot - l->first) / CRASH_CHECKPOINT, unit = h->file.p[l->file].unit;
	if (check)
		memcpy(out, h->check.p + (size_t)l->check * TRACE_LINE + (size_t)(check - 1) * unit,
		       unit);
	else
		initial(h, l, out);
	for (uint32_t at = l->first + check * CRASH_CHECKPOINT; version && at <= slot; at++) {
		const struct crash_record *r = crash_record_at(&h->store, h->order[at]);
		crash_record_apply(r, at < slot ? r->pieces : version - before, out);
	}
}

#define KNOWN 16384u
struct crash_known {
	uint32_t line, version; /* version 0: nothing */
	uint64_t hash;
};

uint64_t crash_contents_hash(const struct crash_history *h, uint32_t line, uint32_t version)
{
	const struct crash_line *l = &h->line.p[line];
	struct crash_known *k = &h->known[hash_mix(line, version) % KNOWN];
	uint8_t bytes[MODEL_PAGE];
	if (l->file == h->meta)
		return 0; /* crash_meta_hash */
	if (version && k->line == line && k->version == version)
		return k->hash;
	crash_contents(h, line, version, bytes);
	*k = (struct crash_known){ line, version,
				   hash_seeded(bytes, h->file.p[l->file].unit,
					       hash_mix(l->off, l->file)) };
	return k->hash;
}

/* ---- once it is read ---- */

/* Slots: a counting sort by line. */
static void index_slots(struct crash_history *h)
{
	uint32_t at = 0;
	VEC(uint32_t) next = { 0 };
	VEC_RESERVE(&next, h->line.n);
	for (size_t i = 0; i < h->store.n; i++)
		h->line.p[crash_record_at(&h->store, i)->line].first++;
	for (size_t i = 0; i < h->line.n; i++) {
		uint32_t n = h->line.p[i].first;
		h->line.p[i].first = at;
		VEC_PUSH(&next, at);
		at += n;
	}
	h->order = xmalloc((h->store.n + 1) * sizeof *h->order);
	h->count = xmalloc(h->store.n + 1);
	h->version = xmalloc((h->store.n / CRASH_BLOCK + 1) * sizeof *h->version);
	for (size_t i = 0; i < h->store.n; i++) {
		const struct crash_record *r = crash_record_at(&h->store, i);
		uint32_t slot = next.p[r->line]++;
		h->order[slot] = (uint32_t)i;
		h->count[slot] = (uint8_t)r->pieces;
		if (slot % CRASH_BLOCK == 0)
			h->version[slot / CRASH_BLOCK] = h->line.p[r->line].n;
		h->line.p[r->line].n += r->pieces;
	}
	VEC_FREE(&next);
}

static void add_checkpoints(struct crash_history *h, uint32_t line, uint8_t *now)
{
	struct crash_line *l = &h->line.p[line];
	uint32_t unit = h->file.p[l->file].unit, slots = crash_slots_end(h, line) - l->first;
	l->check = (uint32_t)(h->check.n / TRACE_LINE);
	if (slots <= CRASH_CHECKPOINT)
		return;
	initial(h, l, now);
	for (uint32_t k = 1; k < slots; k++) {
		const struct crash_record *r =
			crash_record_at(&h->store, h->order[l->first + k - 1]);
		crash_record_apply(r, r->pieces, now);
		if (k % CRASH_CHECKPOINT == 0) {
			VEC_RESERVE(&h->check, h->check.n + unit);
			memcpy(h->check.p + h->check.n, now, unit);
			h->check.n += unit;
		}
	}
}

void crash_pieces_index(struct crash_history *h)
{
	uint8_t *now = xmalloc(MODEL_PAGE);
	h->known = xcalloc(KNOWN, sizeof *h->known);
	index_slots(h);
	for (uint32_t i = 0; i < h->line.n; i++)
		add_checkpoints(h, i, now);
	free(now);
}

void crash_pieces_free(struct crash_history *h)
{
	crash_records_free(&h->store);
	VEC_FREE(&h->check);
	free(h->order);
	free(h->count);
	free(h->version);
	free(h->known);
}
