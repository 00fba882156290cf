/* SPDX-License-Identifier: BSD-3-Clause */
/* A library with a store, built twice (PLUGIN is a or b): the same size, other names and places. */
#include <stdint.h>

#define JOIN2(x, y) x##y
#define JOIN(x, y) JOIN2(x, y)
#define NAMED(name) JOIN(name, PLUGIN)

void plugin_entry(volatile uint64_t *pm, uint64_t value);
void NAMED(plugin_first_)(volatile uint64_t *pm, uint64_t value);
void NAMED(plugin_second_)(volatile uint64_t *pm, uint64_t value);

__attribute__((noinline)) void NAMED(plugin_first_)(volatile uint64_t *pm, uint64_t value)
{
	pm[PLUGIN_AT] = value;
}

__attribute__((noinline)) void NAMED(plugin_second_)(volatile uint64_t *pm, uint64_t value)
{
	NAMED(plugin_first_)(pm, value);
	pm[PLUGIN_AT + 1] = value;
}

void plugin_entry(volatile uint64_t *pm, uint64_t value)
{
	NAMED(plugin_second_)(pm, value);
}
