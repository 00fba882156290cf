/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Valgrind reads the debug information of every object it loads, for backtraces that the tracer
 * never prints. This takes time at each start, and Valgrind 3.19 aborts on some of what clang
 * writes. The linker's --wrap (meson.build) redirects its readers to these empty functions; symbols
 * are still read, for --hf-watch. Source locations are found by holdfast (src/srcloc).
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
