/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Valgrind reads the debug information of every object it loads, for backtraces that we never
 * print. It takes time at each start, and Valgrind 3.19 gives up on some of what clang writes.
 * The linker (--wrap, see meson.build) sends its calls here; symbols are still read, for
 * --hf-watch. Source places are holdfast's business (src/srcloc).
 */
#include "record.h"

void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void);
void __wrap_vgModuleLocal_read_callframe_info_dwarf3(void);
void __wrap_vgModuleLocal_new_dwarf3_reader(void);

void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void)
{
}

void __wrap_vgModuleLocal_read_callframe_info_dwarf3(void)
{
}

void __wrap_vgModuleLocal_new_dwarf3_reader(void)
{
}
