/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers for keys of three words: a hash table with open addressing, whose size is a power of two. */
#include "record.h"

#define FIRST_CAP 4096u

static struct intern_entry *find(struct intern_entry *entry, UInt cap, const ULong key[3])
{
	ULong h = (key[1] * 0x9E3779B97F4A7C15ull) ^ ((key[2] + key[0]) * 0xC2B2AE3D27D4EB4Full);
	UInt i = (UInt)((h ^ h >> 32) & (cap - 1));
	while (entry[i].id && !(entry[i].key[0] == key[0] && entry[i].key[1] == key[1] &&
				entry[i].key[2] == key[2]))
		i = (i + 1) & (cap - 1);
	return &entry[i];
}

static void grow(struct intern *t)
{
	UInt cap = t->cap ? t->cap * 2 : FIRST_CAP;
	struct intern_entry *entry = VG_(calloc)("hf.intern", cap, sizeof *entry);
	for (UInt i = 0; i < t->cap; i++)
		if (t->entry[i].id)
			*find(entry, cap, t->entry[i].key) = t->entry[i];
	if (t->entry)
		VG_(free)(t->entry);
	t->entry = entry;
	t->cap = cap;
}

UInt *intern_at(struct intern *t, const ULong key[3])
{
	struct intern_entry *e;
	if (t->n * 2 >= t->cap)
		grow(t);
	e = find(t->entry, t->cap, key);
	if (!e->id) {
		t->n++;
		for (UInt i = 0; i < 3; i++)
			e->key[i] = key[i];
	}
	return &e->id;
}
