/* SPDX-License-Identifier: BSD-3-Clause */
/* restamp TRACE VERSION: makes a trace one of another version, with a right checksum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HEAD 40
#define SUM 32

int main(int argc, char **argv)
{
	unsigned char b[4096];
	unsigned raw, stored;
	FILE *f = argc == 3 ? fopen(argv[1], "r+") : NULL;
	if (!f || fread(b, 1, HEAD, f) != HEAD)
		return 1;
	memcpy(&raw, b + 8, sizeof raw);
	memcpy(&stored, b + 12, sizeof stored);
	if (stored > sizeof b - HEAD || fread(b + HEAD, 1, stored, f) != stored)
		return 1;
	/* So short a payload does not shrink: it is plain at the end of what zstd makes of it. */
	if (raw > stored || !b[HEAD + stored - raw] || b[HEAD + stored - raw] > 99)
		return 1; /* that is no version */
	b[HEAD + stored - raw] = (unsigned char)atoi(argv[2]);
	XXH64_hash_t sum = XXH3_64bits_withSeed(b + HEAD, stored, XXH3_64bits(b, SUM));
	memcpy(b + SUM, &sum, sizeof sum);
	rewind(f);
	return fwrite(b, 1, HEAD + stored, f) != HEAD + stored || fclose(f);
}
