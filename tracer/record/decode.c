/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognise the few instructions that VEX does not tell us about.
 *
 * VEX turns sfence, mfence and lfence into one statement, non-temporal stores into plain
 * ones, and does not know clwb and clflushopt at all; so look at the guest's bytes.
 *
 *   NP 0F AE /7 mem   clflush        0F AE F8  sfence        0F C3        movnti
 *   66 0F AE /7 mem   clflushopt     0F AE F0  mfence     66 0F E7        movntdq
 *   66 0F AE /6 mem   clwb           0F AE E8  lfence     NP 0F E7        movntq
 *   E8 rel32          call                             66/NP 0F 2B        movntpd, movntps
 *                                                      66/NP 0F F7        maskmovdqu, maskmovq
 * and the VEX-prefixed forms of those in the 0F map.
 */
#include "record.h"

struct prefixes {
	Bool p66, f2, f3, lock, addr32, vex;
	UInt rex; /* W=8 R=4 X=2 B=1 */
	UInt seg;
};

/* Reads prefixes; returns the first byte that is none. */
static const UChar *read_prefixes(const UChar *p, struct prefixes *pf)
{
	VG_(memset)(pf, 0, sizeof *pf);
	for (UInt n = 0; n < 14; n++, p++) {
		switch (*p) {
		case 0x66: pf->p66 = True; break;
		case 0x67: pf->addr32 = True; break;
		case 0xF2: pf->f2 = True; break;
		case 0xF3: pf->f3 = True; break;
		case 0x64: pf->seg = SEG_FS; break;
		case 0x65: pf->seg = SEG_GS; break;
		case 0xF0: pf->lock = True; break;
		case 0x26:
		case 0x2E:
		case 0x36:
		case 0x3E: break;
		default:
			if ((*p & 0xF0) == 0x40)
				pf->rex = *p++ & 0x0F; /* REX is the last one */
			return p;
		}
	}
	return p;
}

/* A VEX prefix in front of the 0F map: fills pf and returns the opcode's place, or NULL. */
static const UChar *read_vex(const UChar *p, struct prefixes *pf)
{
	UInt pp;
	if (p[0] == 0xC5) {
		pp = p[1] & 3;
		pf->rex = p[1] & 0x80 ? 0 : 4;
		p += 2;
	} else if (p[0] == 0xC4 && (p[1] & 0x1F) == 1) {
		pp = p[2] & 3;
		pf->rex = (~p[1] >> 5) & 7;
		p += 3;
	} else {
		return NULL;
	}
	pf->vex = True;
	pf->p66 = pp == 1;
	pf->f3 = pp == 2;
	pf->f2 = pp == 3;
	return p;
}

static Long read_disp(const UChar *p, UInt bytes)
{
	return bytes == 1 ? (Long)(Char)p[0]
			  : (Long)(Int)((UInt)p[0] | (UInt)p[1] << 8 | (UInt)p[2] << 16 |
					(UInt)p[3] << 24);
}

/* Decodes ModRM, SIB and displacement at p; `start` is the instruction's first byte. */
static void read_amode(const UChar *start, const UChar *p, const struct prefixes *pf,
		       struct decoded *d)
{
	UInt mod = p[0] >> 6, rm = p[0] & 7, disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	struct amode *m = &d->mem;
	Bool rip = False;
	m->base = m->index = -1;
	m->scale = 0;
	m->disp = 0;
	m->seg = pf->seg;
	m->addr32 = pf->addr32;
	p++;
	if (rm == 4) {
		UInt sib = *p++, index = ((sib >> 3) & 7) | (pf->rex & 2 ? 8 : 0);
		m->scale = sib >> 6;
		if (index != 4)
			m->index = (Int)index;
		if ((sib & 7) == 5 && mod == 0)
			disp = 4;
		else
			m->base = (Int)((sib & 7) | (pf->rex & 1 ? 8 : 0));
	} else if (rm == 5 && mod == 0) {
		disp = 4;
		rip = True;
	} else {
		m->base = (Int)(rm | (pf->rex & 1 ? 8 : 0));
	}
	if (disp) {
		m->disp = read_disp(p, disp);
		p += disp;
	}
	d->len = (UInt)(p - start);
	if (rip)
		m->disp += (Long)(Addr)p;
}

/* 0F AE: fences have a register form, flushes a memory form. */
static void decode_0fae(const UChar *start, const UChar *modrm, const struct prefixes *pf,
			struct decoded *d)
{
	UInt reg = (*modrm >> 3) & 7;
	if (pf->f2 || pf->f3)
		return;
	if (*modrm >= 0xC0) {
		if (!pf->p66)
			d->insn = reg == 7   ? INSN_SFENCE
				  : reg == 6 ? INSN_MFENCE
				  : reg == 5 ? INSN_LFENCE
					     : INSN_OTHER;
		return;
	}
	if (reg == 7)
		d->insn = pf->p66 ? INSN_CLFLUSHOPT : INSN_CLFLUSH;
	else if (reg == 6 && pf->p66)
		d->insn = INSN_CLWB;
	else
		return;
	read_amode(start, modrm, pf, d);
}

static enum insn decode_0f(UChar op, UChar modrm, const struct prefixes *pf)
{
	Bool mem = modrm < 0xC0;
	switch (op) {
	case 0x2B: return mem && !pf->f2 && !pf->f3 ? INSN_NT_STORE : INSN_OTHER;
	case 0xC3:
		return mem && !pf->vex && !pf->p66 && !pf->f2 && !pf->f3 ? INSN_NT_STORE
									 : INSN_OTHER;
	case 0xE7: return mem && !pf->f2 && !pf->f3 ? INSN_NT_STORE : INSN_OTHER;
	case 0xF7: return !mem && !pf->f2 && !pf->f3 ? INSN_MASKED_NT_STORE : INSN_OTHER;
	default: return INSN_OTHER;
	}
}

void decode(Addr ip, struct decoded *d)
{
	const UChar *start = (const UChar *)ip, *p;
	struct prefixes pf;
	d->insn = INSN_OTHER;
	p = read_prefixes(start, &pf);
	d->atomic = pf.lock || p[0] == 0x86 || p[0] == 0x87; /* XCHG needs no prefix */
	if (p[0] == 0xE8) {
		d->insn = INSN_CALL;
		d->len = (UInt)(p + 5 - start);
		d->target = (Addr)(p + 5) + (Addr)read_disp(p + 1, 4);
	} else if (p[0] == 0x0F && p[1] == 0xAE) {
		decode_0fae(start, p + 2, &pf, d);
	} else if (p[0] == 0x0F) {
		/* Stay within the instruction: only these opcodes have a ModRM byte we look at. */
		UChar op = p[1];
		if (op == 0x2B || op == 0xC3 || op == 0xE7 || op == 0xF7)
			d->insn = decode_0f(op, p[2], &pf);
	} else if ((p[0] == 0xC4 || p[0] == 0xC5) && (p = read_vex(p, &pf)) != NULL) {
		UChar op = p[0];
		if (op == 0x2B || op == 0xE7 || op == 0xF7)
			d->insn = decode_0f(op, p[1], &pf);
	}
}
