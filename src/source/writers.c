/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that write to memory that they are given, and those that only look at it. These are names of the C
 * library, of compilers' built-ins, of libpmem and libpmemobj, by their documentation; what a program's own functions do is
 * never told from their names.
 */
#include <string.h>

#include "source/internal.h"

#define ARG SOURCE_EXTENT_ARG
#define PRODUCT SOURCE_EXTENT_PRODUCT
#define STRING SOURCE_EXTENT_STRING
#define TYPE SOURCE_EXTENT_TYPE
#define FIXED SOURCE_EXTENT_FIXED
#define BETWEEN SOURCE_EXTENT_BETWEEN
#define COUNT SOURCE_EXTENT_COUNT
#define COPY SOURCE_COPY
#define STREAM SOURCE_STREAM
#define ATOMIC SOURCE_ATOMIC

static const struct source_writer writers[] = {
	{ "memcpy", COPY, 0, ARG, 2 },
	{ "memmove", COPY, 0, ARG, 2 },
	{ "memset", COPY, 0, ARG, 2 },
	{ "mempcpy", COPY, 0, ARG, 2 },
	{ "bcopy", COPY, 1, ARG, 2 },
	{ "bzero", COPY, 0, ARG, 1 },
	{ "explicit_bzero", COPY, 0, ARG, 1 },
	{ "strcpy", COPY, 0, STRING, 0 },
	{ "stpcpy", COPY, 0, STRING, 0 },
	{ "strcat", COPY, 0, STRING, 0 },
	{ "strncat", COPY, 0, STRING, 0 },
	{ "sprintf", COPY, 0, STRING, 0 },
	{ "vsprintf", COPY, 0, STRING, 0 },
	{ "strncpy", COPY, 0, ARG, 2 },
	{ "stpncpy", COPY, 0, ARG, 2 },
	{ "snprintf", COPY, 0, ARG, 1 },
	{ "vsnprintf", COPY, 0, ARG, 1 },
	{ "read", COPY, 1, ARG, 2 },
	{ "pread", COPY, 1, ARG, 2 },
	{ "recv", COPY, 1, ARG, 2 },
	{ "fread", COPY, 0, PRODUCT, 1 },
	{ "getrandom", COPY, 0, ARG, 1 },
	{ "pmem_memcpy", COPY, 0, ARG, 2 },
	{ "pmem_memmove", COPY, 0, ARG, 2 },
	{ "pmem_memset", COPY, 0, ARG, 2 },
	{ "pmem_memcpy_nodrain", STREAM, 0, ARG, 2 },
	{ "pmem_memmove_nodrain", STREAM, 0, ARG, 2 },
	{ "pmem_memset_nodrain", STREAM, 0, ARG, 2 },
	{ "pmem_memcpy_persist", STREAM, 0, ARG, 2 },
	{ "pmem_memmove_persist", STREAM, 0, ARG, 2 },
	{ "pmem_memset_persist", STREAM, 0, ARG, 2 },
	{ "pmemobj_memcpy", COPY, 1, ARG, 3 },
	{ "pmemobj_memmove", COPY, 1, ARG, 3 },
	{ "pmemobj_memset", COPY, 1, ARG, 3 },
	{ "pmemobj_memcpy_persist", STREAM, 1, ARG, 3 },
	{ "pmemobj_memset_persist", STREAM, 1, ARG, 3 },
	{ "_mm_stream_si32", STREAM, 0, FIXED, 4 },
	{ "_mm_stream_si64", STREAM, 0, FIXED, 8 },
	{ "_mm_stream_si128", STREAM, 0, FIXED, 16 },
	{ "_mm_stream_ps", STREAM, 0, FIXED, 16 },
	{ "_mm_stream_pd", STREAM, 0, FIXED, 16 },
	{ "_mm256_stream_si256", STREAM, 0, FIXED, 32 },
	{ "_mm256_stream_ps", STREAM, 0, FIXED, 32 },
	{ "_mm256_stream_pd", STREAM, 0, FIXED, 32 },
	{ "_mm512_stream_si512", STREAM, 0, FIXED, 64 },
	{ "_mm_store_si128", COPY, 0, FIXED, 16 },
	{ "_mm_storeu_si128", COPY, 0, FIXED, 16 },
	{ "_mm256_store_si256", COPY, 0, FIXED, 32 },
	{ "_mm256_storeu_si256", COPY, 0, FIXED, 32 },
	{ "_mm512_store_si512", COPY, 0, FIXED, 64 },
	{ "_mm512_storeu_si512", COPY, 0, FIXED, 64 },
	/* Of C++, with pointers to where they write. */
	{ "std::fill", COPY, 0, BETWEEN, 0 },
	{ "std::fill_n", COPY, 0, COUNT, 1 },
	{ "std::copy", COPY, 2, BETWEEN, 0 },
	{ "std::copy_n", COPY, 2, COUNT, 1 },
	{ "std::move", COPY, 2, BETWEEN, 0 },
	{ "std::transform", COPY, 2, BETWEEN, 0 },
	{ "std::iota", COPY, 0, BETWEEN, 0 },
	{ "std::generate", COPY, 0, BETWEEN, 0 },
	{ "std::sort", COPY, 0, BETWEEN, 0 },
	{ "std::reverse", COPY, 0, BETWEEN, 0 },
};

/* Families, by how the name begins; all write what their first argument points to. */
static const struct source_writer families[] = {
	{ "__atomic_store", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_exchange", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_compare_exchange", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_fetch_", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_add_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_sub_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_and_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_or_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_xor_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_nand_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_test_and_set", ATOMIC, 0, TYPE, 0 },
	{ "__atomic_clear", ATOMIC, 0, TYPE, 0 },
	{ "__sync_lock_test_and_set", ATOMIC, 0, TYPE, 0 },
	{ "__sync_lock_release", ATOMIC, 0, TYPE, 0 },
	{ "__sync_val_compare_and_swap", ATOMIC, 0, TYPE, 0 },
	{ "__sync_bool_compare_and_swap", ATOMIC, 0, TYPE, 0 },
	{ "__sync_fetch_and_", ATOMIC, 0, TYPE, 0 },
	{ "__sync_add_and_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__sync_sub_and_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__sync_and_and_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__sync_or_and_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__sync_xor_and_fetch", ATOMIC, 0, TYPE, 0 },
	{ "__c11_atomic_store", ATOMIC, 0, TYPE, 0 },
	{ "__c11_atomic_exchange", ATOMIC, 0, TYPE, 0 },
	{ "__c11_atomic_compare_exchange", ATOMIC, 0, TYPE, 0 },
	{ "__c11_atomic_fetch_", ATOMIC, 0, TYPE, 0 },
	{ "atomic_store", ATOMIC, 0, TYPE, 0 },
	{ "atomic_init", ATOMIC, 0, TYPE, 0 },
	{ "atomic_exchange", ATOMIC, 0, TYPE, 0 },
	{ "atomic_compare_exchange", ATOMIC, 0, TYPE, 0 },
	{ "atomic_fetch_", ATOMIC, 0, TYPE, 0 },
};

const struct source_writer *source_writer(const char *name, size_t len)
{
	if (len > 10 && strncmp(name, "__builtin_", 10) == 0)
		name += 10, len -= 10;
	if (len > 6 && strncmp(name, "__", 2) == 0 && strncmp(name + len - 4, "_chk", 4) == 0)
		name += 2, len -= 6;
	for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
		if (strlen(writers[i].name) == len && strncmp(writers[i].name, name, len) == 0)
			return &writers[i];
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		size_t n = strlen(families[i].name);
		if (n <= len && strncmp(families[i].name, name, n) == 0)
			return &families[i];
	}
	return NULL;
}

unsigned source_assigns(const char *name)
{
	static const struct {
		const char *name;
		unsigned arguments;
	} assigning[] = {
		{ "std::swap", 2 },
		{ "std::exchange", 1 },
	};
	for (size_t i = 0; i < sizeof assigning / sizeof *assigning; i++)
		if (strcmp(assigning[i].name, name) == 0)
			return assigning[i].arguments;
	return 0;
}

bool source_is_pure(const char *name)
{
	static const char *const pure[] = {
		"strlen",
		"strnlen",
		"strcmp",
		"strncmp",
		"memcmp",
		"strchr",
		"abs",
		"labs",
		"pmemobj_direct",
		"pmemobj_direct_inline",
		"pmemobj_oid",
		"pmemobj_pool_by_ptr",
	};
	for (size_t i = 0; i < sizeof pure / sizeof *pure; i++)
		if (strcmp(pure[i], name) == 0)
			return true;
	return false;
}
