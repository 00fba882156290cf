/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the slow version of a block calls, statement by statement (slow.h).
 *
 * If all operands are concrete, so is the result, and nothing more is done. The result of an
 * operation that is not followed is concrete, too; then its operands are pinned to their values, so
 * that the path's conditions still determine the run.
 */
#include "slow.h"

struct sym_value sym_temp[SYM_TEMPS];
Bool exec_verify = False;

/* ---- results ---- */

VG_REGPARM(3) void slow_upper(struct sym_value *r, ULong v1, ULong v2, ULong v3)
{
	r->v[1] = v1;
	r->v[2] = v2;
	r->v[3] = v3;
}

static inline struct sym_value *begin(const struct sym_stmt *s, ULong v)
{
	struct sym_value *r = s->r;
	r->bits = s->bits;
	r->v[0] = v;
	r->node[0] = r->node[1] = r->node[2] = r->node[3] = 0;
	return r;
}

static void verify(const struct sym_value *r)
{
	if (LIKELY(!exec_verify))
		return;
	for (UInt i = 0; i * 64 < r->bits; i++) {
		ULong args[2] = { r->node[i], r->v[i] };
		if (r->node[i])
			emit(TRACE_SYM_VERIFY, 0, 0, 0, 2, args, NULL, 0);
	}
}

/* An operation that is not followed. */
static void give_up(const struct sym_stmt *s, const struct sym_value *const *a, UInt n)
{
	for (UInt i = 0; i < n; i++)
		sym_pin(SYM_PIN, a[i], s->ip);
	if (s->name)
		sym_concrete(s->name);
	else
		sym_concrete_op((IROp)s->op);
}

static inline Bool any(const struct sym_value *const *a, UInt n)
{
	for (UInt i = 0; i < n; i++)
		if (sym_is(a[i]))
			return True;
	return False;
}

VG_REGPARM(2) void slow_set(const struct sym_stmt *s, ULong v)
{
	begin(s, v);
}

VG_REGPARM(2) void slow_copy(const struct sym_stmt *s, ULong v)
{
	struct sym_value *r = begin(s, v);
	VG_(memcpy)(r->node, s->a[0]->node, sizeof r->node);
}

/* ---- operations ---- */

VG_REGPARM(2) void slow_unop(const struct sym_stmt *s, ULong v)
{
	struct sym_value *r = begin(s, v);
	if (!sym_is(s->a[0]))
		return;
	if (!sym_unop((IROp)s->op, r, s->a[0]))
		give_up(s, s->a, 1);
	else
		verify(r);
}

VG_REGPARM(2) void slow_binop(const struct sym_stmt *s, ULong v)
{
	struct sym_value *r = begin(s, v);
	if (!sym_is(s->a[0]) && !sym_is(s->a[1]))
		return;
	if (!sym_binop((IROp)s->op, r, s->a[0], s->a[1]))
		give_up(s, s->a, 2);
	else
		verify(r);
}

static void several(const struct sym_stmt *s, ULong v, UInt n,
		    Bool (*fn)(IROp, struct sym_value *, const struct sym_value *))
{
	struct sym_value *r = begin(s, v), a[4];
	if (!any(s->a, n))
		return;
	for (UInt i = 0; i < n; i++)
		a[i] = *s->a[i];
	if (!fn((IROp)s->op, r, a))
		give_up(s, s->a, n);
	else
		verify(r);
}

VG_REGPARM(2) void slow_triop(const struct sym_stmt *s, ULong v)
{
	several(s, v, 3, sym_triop);
}

VG_REGPARM(2) void slow_qop(const struct sym_stmt *s, ULong v)
{
	several(s, v, 4, sym_qop);
}

VG_REGPARM(2) void slow_ite(const struct sym_stmt *s, ULong v)
{
	struct sym_value *r = begin(s, v);
	const struct sym_value *taken = s->a[0]->v[0] & 1 ? s->a[1] : s->a[2];
	if (!s->a[0]->node[0]) {
		VG_(memcpy)(r->node, taken->node, sizeof r->node);
		return;
	}
	for (UInt i = 0; i * 64 < r->bits; i++)
		t_to(r, i, t_ite(t_of(s->a[0], 0), t_of(s->a[1], i), t_of(s->a[2], i)));
	verify(r);
}

/* The operation that the flags are from should be known: `offset` is that argument's number. */
VG_REGPARM(2) void slow_ccall(const struct sym_stmt *s, ULong v)
{
	struct sym_value *r = begin(s, v), a[8];
	Bool done;
	if (!any(s->extra, s->nextra))
		return;
	for (UInt i = 0; i < s->nextra; i++)
		a[i] = *s->extra[i];
	done = sym_ccall(s->name, r, a, s->nextra);
	if (!done && s->offset >= 0 && a[s->offset].node[0]) {
		sym_pin(SYM_PIN, &a[s->offset], s->ip);
		a[s->offset].node[0] = 0;
		done = sym_ccall(s->name, r, a, s->nextra);
	}
	if (!done)
		give_up(s, s->extra, s->nextra);
	else
		verify(r);
}

/* a: the divisor. If it is 0, the division traps: the condition is recorded before it. */
VG_REGPARM(1) void slow_before_division(const struct sym_stmt *s)
{
	struct term zero;
	if (!s->a[0]->node[0])
		return;
	zero = t_is_zero(t_of(s->a[0], 0));
	if (zero.node)
		sym_branch(SYM_COND, zero.node, zero.v, s->ip, s->to);
}

/* ---- registers ---- */

VG_REGPARM(2) void slow_get(const struct sym_stmt *s, ULong v)
{
	struct sym_value *r = begin(s, v);
	if (!(sym_summary.groups & s->groups))
		return;
	sym_reg_get(s->offset, r);
	verify(r);
}

static Int element(const struct sym_stmt *s, const struct sym_value *index)
{
	Int i = ((Int)index->v[0] + s->bias) % s->elems;
	sym_pin(SYM_PIN, index, s->ip);
	return s->offset + (i < 0 ? i + s->elems : i) * s->size;
}

VG_REGPARM(2) void slow_geti(const struct sym_stmt *s, ULong v)
{
	struct sym_value *r = begin(s, v);
	if (sym_summary.groups & s->groups)
		sym_reg_get(element(s, s->a[0]), r);
}

static void put(const struct sym_stmt *s, Int offset)
{
	if (sym_is(s->a[0]))
		sym_reg_put(offset, s->a[0]);
	else
		sym_reg_clear(offset, s->size);
}

VG_REGPARM(1) void slow_put(const struct sym_stmt *s)
{
	if ((sym_summary.groups & s->groups) || sym_is(s->a[0]))
		put(s, s->offset);
}

VG_REGPARM(1) void slow_puti(const struct sym_stmt *s)
{
	if ((sym_summary.groups & s->groups) || sym_is(s->a[0]))
		put(s, element(s, s->a[1]));
}

/* ---- memory ---- */

VG_REGPARM(2) void slow_before_load(Addr a, ULong size)
{
	if (sym_any(a, size))
		sym_first_use();
}

static void load(const struct sym_stmt *s, struct sym_value *r)
{
	if (s->a[0]->node[0])
		sym_load_at(s->a[0], r, s->ip);
	else if (sym_maybe(s->a[0]->v[0]))
		sym_load(s->a[0]->v[0], r);
}

VG_REGPARM(2) void slow_load(const struct sym_stmt *s, ULong v)
{
	struct sym_value *r = begin(s, v);
	load(s, r);
	verify(r);
}

/* Before the store. a: address, data, guard */
VG_REGPARM(1) void slow_store(const struct sym_stmt *s)
{
	Addr a = s->a[0]->v[0];
	if (s->a[2]) {
		sym_pin(SYM_PIN, s->a[2], s->ip);
		if (!s->a[2]->v[0])
			return;
	}
	if (s->a[0]->node[0])
		sym_store_at(s->a[0], s->a[1], s->ip);
	else if (sym_is(s->a[1]))
		sym_store(a, s->a[1]);
	else if (sym_maybe(a))
		sym_clear(a, (SizeT)s->size);
}

/* a: address, otherwise, guard; the value may be widened. */
VG_REGPARM(2) void slow_loadg(const struct sym_stmt *s, ULong v)
{
	struct sym_value *r = begin(s, v);
	Bool sign = s->op == ILGop_16Sto32 || s->op == ILGop_8Sto32;
	sym_pin(SYM_PIN, s->a[2], s->ip);
	if (!s->a[2]->v[0]) {
		VG_(memcpy)(r->node, s->a[1]->node, sizeof r->node);
		return;
	}
	struct sym_value narrow = *r;
	narrow.bits = (UInt)s->size * 8;
	if (narrow.bits < 64)
		narrow.v[0] &= expr_mask(narrow.bits);
	load(s, &narrow);
	if (narrow.bits == r->bits)
		VG_(memcpy)(r->node, narrow.node, sizeof r->node);
	else if (narrow.node[0])
		t_to(r, 0,
		     sign ? t_sext(t_of(&narrow, 0), r->bits) : t_zext(t_of(&narrow, 0), r->bits));
	verify(r);
}

/* Whether it stores depends on the comparison, which is pinned. */
static Bool cas_equal(const struct sym_stmt *s, const struct sym_value *old,
		      const struct sym_value *expected)
{
	Bool same = old->v[0] == expected->v[0];
	if (sym_is(old) || sym_is(expected)) {
		struct term t = t_cmp(EXPR_EQ, t_of(old, 0), t_of(expected, 0));
		if (t.node)
			sym_branch(SYM_PIN, t.node, same, s->ip, NULL);
	}
	return same;
}

/* a: address, expected, data, upper halves of both */
VG_REGPARM(3) void slow_cas(const struct sym_stmt *s, ULong lo, ULong hi)
{
	struct sym_value *r = begin(s, lo);
	Addr a = s->a[0]->v[0];
	UInt half = s->bits / 8;
	struct sym_values places = { 0 };
	Bool same;
	if (s->a[0]->node[0] && s->r2)
		sym_store_pinned(s->a[0], (UInt)s->size, s->ip);
	else if (s->a[0]->node[0])
		sym_store_places(s->a[0], half, s->ip, &places);
	if (places.n)
		sym_places_load(t_of(s->a[0], 0), &places, r);
	else
		sym_load(a, r);
	verify(r);
	if (s->r2) {
		*s->r2 = (struct sym_value){ s->bits, { hi }, { 0 } };
		sym_load(a + half, s->r2);
	}
	same = cas_equal(s, r, s->a[1]);
	if (s->r2)
		same = cas_equal(s, s->r2, s->a[3]) && same;
	if (!same)
		return;
	if (places.n)
		sym_places_store(t_of(s->a[0], 0), &places, s->a[2], r);
	else
		sym_store(a, s->a[2]);
	if (s->r2)
		sym_store(a + half, s->a[4]);
}

/* ---- helpers of VEX ---- */

/* Before the call. a: address, guard */
VG_REGPARM(1) void slow_dirty(const struct sym_stmt *s)
{
	UInt pinned = 0;
	if (s->a[1]) {
		sym_pin(SYM_PIN, s->a[1], s->ip);
		if (!s->a[1]->v[0])
			return;
	}
	if (s->a[0] && s->a[0]->node[0]) {
		sym_pin(s->writes ? SYM_STORE : SYM_LOAD, s->a[0], s->ip);
		pinned++;
	}
	if (any(s->extra, s->nextra)) {
		for (UInt i = 0; i < s->nextra; i++)
			sym_pin(SYM_PIN, s->extra[i], s->ip);
		pinned++;
	}
	if (s->reads)
		pinned += sym_pin_memory(s->a[0]->v[0], (SizeT)s->size, s->ip);
	for (UInt i = 0; i < s->nparts; i++)
		if (s->part[i].read)
			pinned += sym_pin_registers(s->part[i].offset, s->part[i].size, s->ip);
	if (pinned)
		sym_concrete(s->name);
	if (s->writes)
		sym_clear(s->a[0]->v[0], (SizeT)s->size);
	for (UInt i = 0; i < s->nparts; i++)
		if (s->part[i].write)
			sym_reg_clear(s->part[i].offset, s->part[i].size);
}

/* ---- where it goes ---- */

VG_REGPARM(1) void slow_exit(const struct sym_stmt *s)
{
	const struct sym_value *guard = s->a[0];
	if (guard->node[0])
		sym_branch(SYM_COND, guard->node[0], guard->v[0] & 1, s->ip, s->to);
}

VG_REGPARM(1) void slow_next(const struct sym_stmt *s)
{
	sym_pin(SYM_JUMP, s->a[0], s->ip);
}

/* ---- flushes ---- */

static struct term reg(Int number)
{
	struct sym_value x = { .bits = 64 };
	Int offset = (Int)offsetof(VexGuestAMD64State, guest_RAX) + number * 8;
	VG_(get_shadow_regs_area)(VG_(get_running_tid)(), (UChar *)&x.v[0], 0, offset, 8);
	if (sym_summary.groups & sym_group(offset, 8))
		sym_reg_get(offset, &x);
	return t_of(&x, 0);
}

/* offset: base, size: index, bias: scale; the rest of the address is the difference. */
VG_REGPARM(2) void slow_flush(const struct sym_stmt *s, ULong addr)
{
	struct term t = t_const(64, 0);
	if (!(sym_summary.groups & s->groups))
		return;
	if (s->offset >= 0)
		t = t_bin(EXPR_ADD, t, reg(s->offset));
	if (s->size >= 0)
		t = t_bin(EXPR_ADD, t, t_bin(EXPR_SHL, reg(s->size), t_const(64, (ULong)s->bias)));
	t = t_bin(EXPR_ADD, t, t_const(64, addr - t.v));
	if (t.node)
		sym_announce(SYM_FLUSH, t.node, addr, s->ip);
}
