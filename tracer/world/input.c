/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sources of symbolic bytes. The control block (src/trace/format.h) lists them; every byte
 * of every source has a number, and where the byte arrives in memory, this input byte is its
 * expression: an argument or a variable of the environment when the program starts, the
 * bytes of a file when they are read or mapped, those of a connection when they are received,
 * and memory that the program names itself when it does so.
 *
 * Bytes in memory (arguments, environment, named memory) are put there by sym_fill(), at the
 * start and again in each child of the fork server. Files have been written by holdfast.
 */
#include "internal.h"

Bool sym_on = False;
struct sym_control *sym_control;

#define MAX_ALSO 16u

/* A part of a file that is mapped. */
struct mapped {
	Addr lo, hi;
	UInt source;
	ULong off; /* of lo, in the file */
};

static struct {
	struct {
		ULong dev, ino;
		UInt source;
	} also[MAX_ALSO]; /* copies of symbolic files that the program has under other names */
	UInt nalso;
	/* where an argument, a variable's value or named memory is; 0: not there */
	Addr place[SYM_MAX_SOURCES];
	UInt memories; /* HOLDFAST_SYMBOLIC() seen so far in this run */
	XArray *maps;  /* struct mapped */
} sources;

static struct sym_source *source(UInt i)
{
	return &sym_control->source[i];
}

/* Sends a new node to holdfast. */
static void send_node(UInt id, UInt word, UInt constants, const ULong arg[3], const UChar *entries,
		      UInt size)
{
	ULong args[5] = { id, word, arg[0], arg[1], arg[2] };
	emit(TRACE_SYM_NODE, constants, 0, 0, 5, args, entries, size);
}

void sym_init(const HChar *path)
{
	SysRes fd = VG_(open)(path, VKI_O_RDWR, 0), m;
	if (!sr_isError(fd)) {
		m = VG_(am_shared_mmap_file_float_valgrind)(
			sizeof *sym_control, VKI_PROT_READ | VKI_PROT_WRITE, (Int)sr_Res(fd), 0);
		VG_(close)((Int)sr_Res(fd));
		if (!sr_isError(m))
			sym_control = (struct sym_control *)sr_Res(m);
	}
	if (sym_control == NULL || sym_control->magic != SYM_MAGIC) {
		VG_(umsg)
		("holdfast: the tracer cannot open %s: start it with `holdfast explore`\n", path);
		VG_(exit)(1);
	}
	sources.maps = VG_(newXA)(VG_(malloc), "hf.sym.maps", VG_(free), sizeof(struct mapped));
	sym_node_made = send_node;
	sym_view_init();
	sym_said_init();
}

Int sym_source_of(ULong dev, ULong ino)
{
	for (UInt i = 0; i < sym_control->nsources; i++) {
		const struct sym_source *s = source(i);
		if ((s->kind == SYM_SRC_FILE || s->kind == SYM_SRC_STDIN) && s->ino == ino &&
		    s->dev == dev)
			return (Int)i;
	}
	for (UInt i = 0; i < sources.nalso; i++)
		if (sources.also[i].ino == ino && sources.also[i].dev == dev)
			return (Int)sources.also[i].source;
	return -1;
}

void sym_source_also(UInt s, ULong dev, ULong ino)
{
	if (sources.nalso == MAX_ALSO)
		return;
	sources.also[sources.nalso].dev = dev;
	sources.also[sources.nalso].ino = ino;
	sources.also[sources.nalso++].source = s;
}

/* Bytes off … off+len-1 of the source lie at a; those that are fixed stay concrete. */
static void mark(UInt i, ULong off, Addr a, SizeT len)
{
	const struct sym_source *s = source(i);
	UInt first = s->first + (UInt)off;
	for (SizeT k = 0, n; k < len; k += n + 1) {
		for (n = 0; k + n < len && !sym_control->fixed_byte[first + k + n]; n++)
			;
		if (n)
			sym_mark(a + k, n, first + (UInt)k);
	}
}

/* What of [off, off+len) of the file is input, lies at a, and is there in this run? */
static Bool mark_part(UInt i, ULong off, Addr a, SizeT len, ULong *from, ULong *n)
{
	const struct sym_source *s = source(i);
	ULong lo = off > s->off ? off : s->off, hi = off + len;
	if (hi > s->off + s->now)
		hi = s->off + s->now;
	if (lo >= hi)
		return False;
	*from = lo - s->off;
	*n = hi - lo;
	mark(i, *from, a + (lo - off), *n);
	return True;
}

void sym_arrived(UInt i, ULong off, Addr a, SizeT len, Bool end)
{
	const struct sym_source *s = source(i);
	ULong args[3] = { i, 0, 0 };
	if (!mark_part(i, off, a, len, &args[1], &args[2])) {
		if (!end || off < s->off)
			return;
		args[1] = s->now; /* nothing but the end */
	}
	emit(TRACE_SYM_READ, end, 0, 0, 3, args, NULL, 0);
}

/* ---- what is mapped ---- */

void sym_mapped(UInt i, ULong off, Addr a, SizeT len)
{
	struct mapped m = { a, a + VG_PGROUNDUP(len), i, off };
	VG_(addToXA)(sources.maps, &m);
	sym_arrived(i, off, a, len, off + len >= source(i)->off + source(i)->now);
}

/* [a, a+len) was unmapped, or mapped over. */
void sym_unmapped(Addr a, SizeT len)
{
	Addr end = a + VG_PGROUNDUP(len);
	for (Word k = VG_(sizeXA)(sources.maps) - 1; k >= 0; k--) {
		struct mapped *m = VG_(indexXA)(sources.maps, k), rest = *m;
		if (end <= m->lo || a >= m->hi)
			continue;
		if (end < m->hi) {
			rest.lo = end;
			rest.off += end - m->lo;
			if (a > m->lo) {
				m->hi = a;
				VG_(addToXA)(sources.maps, &rest);
			} else {
				*m = rest;
			}
		} else if (a > m->lo) {
			m->hi = a;
		} else {
			VG_(removeIndexXA)(sources.maps, k);
		}
	}
}

static void fill_mapped(void)
{
	ULong from, n;
	for (Word k = 0; k < VG_(sizeXA)(sources.maps); k++) {
		const struct mapped *m = VG_(indexXA)(sources.maps, k);
		sym_clear(m->lo, m->hi - m->lo);
		mark_part(m->source, m->off, m->lo, m->hi - m->lo, &from, &n);
	}
}

/* ---- what is in memory ---- */

static void fill(UInt i)
{
	const struct sym_source *s = source(i);
	UChar *to = (UChar *)sources.place[i];
	Bool string = s->kind != SYM_SRC_MEMORY;
	UInt n = s->now < s->len ? s->now : s->len;
	VG_(memcpy)(to, sym_control->input + s->first, n);
	if (string)
		VG_(memset)(to + n, 0, s->len + 1 - n);
	sym_clear((Addr)to, s->len + string);
	mark(i, 0, (Addr)to, n);
}

void sym_fill(void)
{
	for (UInt i = 0; i < sym_control->nsources; i++)
		if (sources.place[i])
			fill(i);
	fill_mapped();
}

/* Sources that are in memory from the start count as read completely. */
void sym_say_filled(void)
{
	for (UInt i = 0; i < sym_control->nsources; i++) {
		ULong args[3] = { i, 0, source(i)->now };
		Bool there = sources.place[i] != 0;
		for (Word k = 0; !there && k < VG_(sizeXA)(sources.maps); k++)
			there = ((struct mapped *)VG_(indexXA)(sources.maps, k))->source == i;
		if (there)
			emit(TRACE_SYM_READ, 1, 0, 0, 3, args, NULL, 0);
	}
}

/* In the initial stack there are: the number of arguments, their addresses, 0, those of the
 * environment, 0. A string that is shorter than the source is not the one that holdfast passed. */
static Addr find_string(const struct sym_source *s, const ULong *sp)
{
	ULong argc = sp[0];
	Addr at = 0;
	if (s->kind == SYM_SRC_ARG) {
		at = s->index < argc ? sp[1 + s->index] : 0;
	} else {
		SizeT n = VG_(strlen)(s->path);
		for (const ULong *e = sp + 2 + argc; *e; e++)
			if (VG_(strncmp)((const HChar *)*e, s->path, n) == 0 &&
			    ((const HChar *)*e)[n] == '=')
				at = *e + n + 1;
	}
	return at && VG_(strlen)((const HChar *)at) >= s->len ? at : 0;
}

void sym_start(ThreadId tid)
{
	const ULong *sp = (const ULong *)VG_(get_SP)(tid);
	for (UInt i = 0; i < sym_control->nsources; i++) {
		const struct sym_source *s = source(i);
		if (s->kind == SYM_SRC_ARG || s->kind == SYM_SRC_ENV)
			sources.place[i] = find_string(s, sp);
	}
	sym_carry_start();
	sym_fill();
}

/* ---- memory that the program names ---- */

/* The n-th request of a run is the n-th source of this kind. */
static Int memory_source(UInt n)
{
	for (UInt i = 0; i < sym_control->nsources; i++)
		if (source(i)->kind == SYM_SRC_MEMORY && n-- == 0)
			return (Int)i;
	return -1;
}

static Int add_memory(Addr a, SizeT len)
{
	UInt i = sym_control->nsources, first = 0;
	for (UInt k = 0; k < i; k++)
		if (first < source(k)->first + source(k)->len)
			first = source(k)->first + source(k)->len;
	if (i >= SYM_MAX_SOURCES || len > SYM_MAX_INPUT - first)
		return -1;
	*source(i) = (struct sym_source){
		.kind = SYM_SRC_MEMORY, .first = first, .len = (UInt)len, .now = (UInt)len
	};
	VG_(memcpy)(sym_control->input + first, (const void *)a, len);
	VG_(memset)(sym_control->fixed_byte + first, 0, len);
	__atomic_store_n(&sym_control->nsources, i + 1, __ATOMIC_RELEASE);
	return (Int)i;
}

Bool sym_request(Addr a, SizeT len)
{
	Int i = memory_source(sources.memories);
	if (len == 0 || len > SYM_MAX_INPUT ||
	    !VG_(am_is_valid_for_client)(a, len, VKI_PROT_READ | VKI_PROT_WRITE))
		return False;
	if (i < 0)
		i = add_memory(a, len);
	if (i < 0 || source((UInt)i)->len != len)
		return False;
	sources.memories++;
	sym_first_use();
	sources.place[i] = a;
	fill((UInt)i);
	sources.place[i] = 0; /* filled once: in the next run it may be elsewhere */
	ULong args[3] = { (ULong)i, 0, len };
	emit(TRACE_SYM_READ, 0, 0, 0, 3, args, NULL, 0);
	return True;
}
