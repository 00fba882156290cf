/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of decisions.
 *
 *   root ── a==1 ── b==0 ── c==1          a run: a path from the root to a leaf
 *              \        \── c==0          steps before the first difference are shared
 *               \── b==1 ── d==1
 *
 * A step is found by the hash of all decisions up to and including it, so that neither the
 * children need a table nor a candidate a copy of its path.
 */
#include <stdlib.h>

#include "symbolic/internal.h"

#define ROOT_HASH 0x9ae16a3b2f90404fu

uint64_t symbolic_tree_hash(uint64_t before, uint64_t ip, unsigned kind, uint64_t value)
{
	return hash_mix(hash_mix(before, ip), hash_mix(kind, value));
}

void symbolic_tree_init(struct tree *t)
{
	struct step root = { .hash = ROOT_HASH };
	VEC_PUSH(&t->step, root);
	hmap_put(&t->by_hash, root.hash, 0);
}

void symbolic_tree_free(struct tree *t)
{
	VEC_FREE(&t->step);
	hmap_free(&t->by_hash);
}

size_t symbolic_tree_memory(const struct tree *t)
{
	return t->step.cap * sizeof *t->step.p + t->by_hash.cap * 17;
}

uint32_t symbolic_tree_find(const struct tree *t, uint64_t hash)
{
	uint64_t id;
	return hmap_get(&t->by_hash, hash, &id) ? (uint32_t)id : SYMBOLIC_NONE;
}

uint32_t symbolic_tree_above(const struct tree *t, uint32_t at, uint32_t depth)
{
	while (t->step.p[at].depth > depth)
		at = t->step.p[at].parent;
	return at;
}

uint32_t symbolic_tree_add(struct tree *t, const struct step *what)
{
	uint32_t id = (uint32_t)t->step.n;
	struct step s = *what;
	struct step *parent = &t->step.p[s.parent];
	s.depth = parent->depth + 1;
	s.child = 0;
	s.next = parent->child;
	parent->child = id;
	VEC_PUSH(&t->step, s);
	hmap_put(&t->by_hash, s.hash, id);
	return id;
}
