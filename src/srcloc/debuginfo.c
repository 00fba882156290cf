/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What DWARF says about an address: function, inlined frames, file, line and column.
 *
 * libdw can answer these questions by itself (dwarf_getscopes, dwfl_module_getsrc), but walks
 * the whole unit for each, and finds no unit at all where the compiler left out .debug_aranges,
 * as clang does. So we keep two sorted tables: the ranges of all units, made once per object,
 * and the ranges of all functions of a unit, made when an address in it is first asked about.
 * Inside a function we descend to the inlined call that holds the address:
 *
 *	subprogram main             frame 2  place: where `insert` was inlined, line 90
 *	└─ inlined_subroutine insert   frame 1  place: where `set` was inlined, line 41
 *	   └─ inlined_subroutine set      frame 0  place: the line table's, line 12
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "srcloc/internal.h"

#define MAX_DEPTH 64 /* of nested scopes; more is not a compiler's work */

/* Adds the ranges of a unit or function that lie in code (dropped functions lie at 0). */
static void add_ranges(const struct object *obj, Dwarf_Die *die, size_t idx, struct ranges *out)
{
	Dwarf_Addr base, lo, hi;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0;) {
		struct range r = { lo, hi, idx };
		if (hi > lo && srcloc_object_is_code(obj, lo + obj->debug.bias))
			VEC_PUSH(out, r);
	}
}

static struct debuginfo *load_debuginfo(struct object *obj)
{
	struct debuginfo *d = &obj->debug;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	if (d->loaded)
		return d;
	d->loaded = true;
	d->dw = dwfl_module_getdwarf(obj->mod, &d->bias);
	while (d->dw && !dwarf_get_units(d->dw, cu, &cu, NULL, &type, &die, &split)) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		struct unit u = { .die = die, .scope = split.addr ? split : die };
		size_t before = d->unit_at.n;
		add_ranges(obj, &die, d->unit.n, &d->unit_at);
		if (d->unit_at.n > before)
			VEC_PUSH(&d->unit, u);
	}
	srcloc_ranges_sort(&d->unit_at);
	return d;
}

/* Collects the functions below `die`: in namespaces, classes, and inside other functions. */
static void collect_functions(const struct object *obj, struct unit *u, Dwarf_Die *die, int depth)
{
	Dwarf_Die child;
	if (depth > MAX_DEPTH || dwarf_child(die, &child))
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram: {
			size_t before = u->fn_at.n;
			add_ranges(obj, &child, u->fn.n, &u->fn_at);
			if (u->fn_at.n > before)
				VEC_PUSH(&u->fn, child);
		} /* fall through */
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_lexical_block: collect_functions(obj, u, &child, depth + 1); break;
		default: break;
		}
	} while (!dwarf_siblingof(&child, &child));
}

static struct unit *unit_at(struct object *obj, uint64_t pc)
{
	struct debuginfo *d = &obj->debug;
	const struct range *r = srcloc_ranges_find(&d->unit_at, pc);
	if (!r)
		return NULL;
	struct unit *u = &d->unit.p[r->idx];
	if (!u->loaded) {
		u->loaded = true;
		if (dwarf_getsrclines(&u->die, &u->lines, &u->nlines))
			u->nlines = 0;
		collect_functions(obj, u, &u->scope, 0);
		srcloc_ranges_sort(&u->fn_at);
	}
	return u;
}

/* "/build/../src/./a.c" -> "/src/a.c", in place. */
static void tidy_path(char *path)
{
	char *out = path;
	for (const char *in = path; *in;) {
		size_t n = strcspn(in + 1, "/") + 1; /* "/name" */
		if (n == 3 && !memcmp(in, "/..", 3)) {
			while (out > path && *--out != '/')
				;
		} else if (n > 1 && !(n == 2 && in[1] == '.')) {
			memmove(out, in, n);
			out += n;
		}
		in += n;
	}
	*out = '\0';
}

/* The path, absolute and without detours, unless a link makes the detour necessary. */
static const char *file_name(struct object *obj, struct unit *u, const char *file)
{
	Dwarf_Attribute attr;
	const char *dir = dwarf_formstring(dwarf_attr(&u->die, DW_AT_comp_dir, &attr));
	bool join = file[0] != '/' && dir;
	char *raw = join ? xasprintf("%s/%s", dir, file) : xstrdup(file);
	char *path = xstrdup(raw);
	if (path[0] == '/')
		tidy_path(path);
	bool detour = strstr(raw, "/../") && access(path, F_OK) && !access(raw, F_OK);
	const char *kept = srcloc_pool_add(&obj->store->pool, detour ? raw : path);
	free(raw);
	free(path);
	return kept;
}

/* The index of the line-table row that covers pc, or -1. Of several, the last counts. */
static ptrdiff_t row_at(const struct unit *u, uint64_t pc)
{
	Dwarf_Addr addr;
	bool end = true;
	size_t after = BISECT(i, u->nlines,
			      !dwarf_lineaddr(dwarf_onesrcline(u->lines, i), &addr) && addr <= pc);
	if (after)
		dwarf_lineendsequence(dwarf_onesrcline(u->lines, after - 1), &end);
	return end ? -1 : (ptrdiff_t)after - 1;
}

/* The declaration a concrete or inlined function goes back to. */
static Dwarf_Die declaration(Dwarf_Die die)
{
	Dwarf_Attribute attr;
	Dwarf_Die next;
	for (int hops = 0; hops < MAX_DEPTH; hops++) {
		bool linked = dwarf_attr(&die, DW_AT_abstract_origin, &attr) ||
			      dwarf_attr(&die, DW_AT_specification, &attr);
		if (!linked || !dwarf_formref_die(&attr, &next))
			break;
		die = next;
	}
	return die;
}

/*
 * The name with its namespaces, for the functions of C++ that have no linkage name because no
 * other file can call them.
 */
static const char *qualified_name(struct object *obj, Dwarf_Die *die)
{
	Dwarf_Die decl = declaration(*die), *scope = NULL;
	int n = dwarf_getscopes_die(&decl, &scope);
	const char *name = dwarf_diename(die);
	struct buf b = { 0 };
	for (int i = n - 1; name && i > 0; i--) {
		int tag = dwarf_tag(&scope[i]);
		const char *outer = dwarf_diename(&scope[i]);
		if (tag == DW_TAG_namespace)
			buf_printf(&b, "%s::", outer ? outer : "(anonymous namespace)");
		else if (outer && (tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
				   tag == DW_TAG_union_type))
			buf_printf(&b, "%s::", outer);
	}
	if (n > 0)
		free(scope);
	if (name)
		buf_puts(&b, name);
	const char *kept = name ? srcloc_pool_add(&obj->store->pool, b.p) : NULL;
	buf_free(&b);
	return kept;
}

static bool has_namespaces(Dwarf_Die *die)
{
	Dwarf_Die unit;
	int lang = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : 0;
	return lang == DW_LANG_C_plus_plus || lang == DW_LANG_C_plus_plus_03 ||
	       lang == DW_LANG_C_plus_plus_11 || lang == DW_LANG_C_plus_plus_14 ||
	       lang == DW_LANG_Rust;
}

static const char *function_name(struct object *obj, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	uint64_t old;
	if (hmap_get(&obj->debug.name, (uintptr_t)die->addr, &old))
		return (const char *)(uintptr_t)old;
	Dwarf_Attribute *linkage = dwarf_attr_integrate(die, DW_AT_linkage_name, &attr);
	if (!linkage)
		linkage = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr);
	const char *name = linkage ? dwarf_formstring(linkage) : NULL;
	if (name && !strncmp(name, "_Z", 2))
		name = srcloc_demangle(obj->store, name);
	else if (has_namespaces(die))
		name = qualified_name(obj, die);
	else if ((name = dwarf_diename(die)))
		name = srcloc_pool_add(&obj->store->pool, name);
	hmap_put(&obj->debug.name, (uintptr_t)die->addr, (uintptr_t)name);
	return name;
}

static uint32_t number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;
	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value))
		return 0;
	return (uint32_t)value;
}

/* Where an inlined call stands in the source of the frame around it. */
static void set_call_place(struct object *obj, struct unit *u, Dwarf_Die *call,
			   struct srcloc_frame *f)
{
	Dwarf_Files *files;
	size_t n;
	uint32_t idx = number(call, DW_AT_call_file);
	const char *file = NULL;
	if (!dwarf_getsrcfiles(&u->scope, &files, &n) && idx < n)
		file = dwarf_filesrc(files, idx, NULL, NULL);
	f->line = number(call, DW_AT_call_line);
	f->column = number(call, DW_AT_call_column);
	f->file = file && f->line ? file_name(obj, u, file) : NULL;
}

/*
 * Finds the inlined calls around pc below `die`, outermost first. Blocks without ranges of
 * their own are looked into. True if there are any.
 */
static bool inlined_calls(Dwarf_Die *die, uint64_t pc, Dwarf_Die *call, size_t *n)
{
	Dwarf_Die child;
	if (*n >= MAX_DEPTH || dwarf_child(die, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&child, pc) > 0) {
			call[(*n)++] = child;
			inlined_calls(&child, pc, call, n);
			return true;
		}
		if (tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
		    tag != DW_TAG_catch_block)
			continue;
		bool ranged =
			dwarf_hasattr(&child, DW_AT_low_pc) || dwarf_hasattr(&child, DW_AT_ranges);
		if ((!ranged || dwarf_haspc(&child, pc) > 0) && inlined_calls(&child, pc, call, n))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

/* Is `before` in the innermost scope around pc? *call: the inlined call of that scope that it is in, if it is in one. */
static bool is_within(Dwarf_Die *fn, uint64_t pc, uint64_t before, Dwarf_Die *call)
{
	Dwarf_Die at[MAX_DEPTH], of[MAX_DEPTH];
	size_t n = 0, k = 0;
	if (dwarf_haspc(fn, pc) <= 0 || dwarf_haspc(fn, before) <= 0)
		return false;
	inlined_calls(fn, pc, at, &n);
	inlined_calls(fn, before, of, &k);
	if (k < n || (n && at[n - 1].addr != of[n - 1].addr))
		return false;
	*call = k > n ? of[n] : (Dwarf_Die){ 0 };
	return true;
}

/*
 * Fills the frame's place from the line table. Code that the compiler made up, or made of several statements, has line
 * 0: it gets the place of what comes before it, as its own function has that.
 */
static void set_line(struct object *obj, struct unit *u, uint64_t pc, Dwarf_Die *fn,
		     struct srcloc_frame *f)
{
	ptrdiff_t first = row_at(u, pc);
	Dwarf_Die call = { 0 };
	for (ptrdiff_t i = first; i >= 0; i--) {
		Dwarf_Line *row = dwarf_onesrcline(u->lines, (size_t)i);
		const char *file = dwarf_linesrc(row, NULL, NULL);
		Dwarf_Addr addr = 0;
		int line = 0, column = 0;
		if (!file || dwarf_lineaddr(row, &addr) || dwarf_lineno(row, &line))
			return;
		if (i < first && (!fn || !is_within(fn, pc, addr, &call)))
			return;
		f->unsure = i < first;
		if (call.addr) {
			set_call_place(obj, u, &call, f);
			return;
		}
		if (!line)
			continue;
		dwarf_linecol(row, &column);
		f->file = file_name(obj, u, file);
		f->line = (uint32_t)line;
		f->column = (uint32_t)column;
		return;
	}
}

void srcloc_debuginfo_at(struct object *obj, uint64_t addr, frame_vec *out)
{
	struct debuginfo *d = load_debuginfo(obj);
	uint64_t pc = addr - d->bias;
	struct unit *u = unit_at(obj, pc);
	struct srcloc_frame f = { 0 };
	Dwarf_Die call[MAX_DEPTH];
	size_t n = 0;
	if (!u)
		return;
	const struct range *r = srcloc_ranges_find(&u->fn_at, pc);
	if (r)
		inlined_calls(&u->fn.p[r->idx], pc, call, &n);
	set_line(obj, u, pc, r ? &u->fn.p[r->idx] : NULL, &f);
	while (n) { /* each inlined function, then where it was called */
		n--;
		f.function = function_name(obj, &call[n]);
		f.takes = srcloc_prototype(d, &call[n]);
		VEC_PUSH(out, f);
		set_call_place(obj, u, &call[n], &f);
	}
	f.function = r ? function_name(obj, &u->fn.p[r->idx]) : NULL;
	f.takes = r ? srcloc_prototype(d, &u->fn.p[r->idx]) : 0;
	VEC_PUSH(out, f);
}

bool srcloc_debuginfo_scope(struct object *obj, uint64_t addr, size_t level, struct scope *out)
{
	struct debuginfo *d = load_debuginfo(obj);
	uint64_t pc = addr - d->bias;
	struct unit *u = unit_at(obj, pc);
	const struct range *r = u ? srcloc_ranges_find(&u->fn_at, pc) : NULL;
	Dwarf_Die call[MAX_DEPTH];
	size_t n = 0;
	if (!r)
		return false;
	inlined_calls(&u->fn.p[r->idx], pc, call, &n);
	if (level > n)
		return false;
	*out = (struct scope){ obj, u->scope, level < n ? call[n - 1 - level] : u->fn.p[r->idx],
			       pc };
	return true;
}

bool srcloc_debuginfo_function(struct object *obj, uint64_t addr, Dwarf_Die *fn)
{
	struct debuginfo *d = load_debuginfo(obj);
	uint64_t pc = addr - d->bias;
	struct unit *u = unit_at(obj, pc);
	const struct range *r = u ? srcloc_ranges_find(&u->fn_at, pc) : NULL;
	if (r)
		*fn = u->fn.p[r->idx];
	return r != NULL;
}

void srcloc_debuginfo_free(struct debuginfo *d)
{
	for (size_t i = 0; i < d->unit.n; i++) {
		VEC_FREE(&d->unit.p[i].fn);
		VEC_FREE(&d->unit.p[i].fn_at);
	}
	VEC_FREE(&d->unit);
	VEC_FREE(&d->unit_at);
	hmap_free(&d->name);
	hmap_free(&d->takes);
}
