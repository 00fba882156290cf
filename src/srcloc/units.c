/* SPDX-License-Identifier: BSD-3-Clause */
/* The units of an object: what was compiled, where, how and from which files. */
#include <dwarf.h>
#include <stdlib.h>

#include "srcloc/internal.h"

static const char *text(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

static void tell(Dwarf_Die *die, srcloc_each_unit *each, void *arg)
{
	struct srcloc_unit u = { .name = text(die, DW_AT_name),
				 .folder = text(die, DW_AT_comp_dir),
				 .producer = text(die, DW_AT_producer) };
	VEC(const char *) file = { 0 };
	Dwarf_Files *files;
	size_t n;
	if (!u.name)
		return;
	if (dwarf_getsrcfiles(die, &files, &n) == 0)
		for (size_t i = 0; i < n; i++) {
			const char *name = dwarf_filesrc(files, i, NULL, NULL);
			if (name && *name)
				VEC_PUSH(&file, name);
		}
	u.file = file.p;
	u.files = file.n;
	each(arg, &u);
	VEC_FREE(&file);
}

bool srcloc_units(const char *object, srcloc_each_unit *each, void *arg)
{
	struct srcloc *s = srcloc_new();
	Dwfl *dwfl = dwfl_begin(srcloc_callbacks(s));
	Dwfl_Module *mod = dwfl ? dwfl_report_elf(dwfl, object, object, -1, 0, true) : NULL;
	Dwarf_Addr bias;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	if (dwfl)
		dwfl_report_end(dwfl, NULL, NULL);
	Dwarf *dw = mod ? dwfl_module_getdwarf(mod, &bias) : NULL;
	while (dw && !dwarf_get_units(dw, cu, &cu, NULL, &type, &die, &split))
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			tell(&die, each, arg);
	if (dwfl)
		dwfl_end(dwfl);
	srcloc_free(s);
	return dw != NULL;
}
