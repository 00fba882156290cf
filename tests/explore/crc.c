/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record with a CRC-32 behind it: crc POOL, 12 bytes on standard input. Each byte is looked up in a
 * table at an index that depends on all bytes before it; only a record whose sum is right gets to
 * the commands, and one of these has a bug.
 */
#include "pool.h"

#define BYTES 8

static uint32_t table[256];

static void make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] & 1 ? 0xedb88320u ^ table[i] >> 1 : table[i] >> 1;
	}
}

static uint32_t crc(const uint8_t *p)
{
	uint32_t sum = ~0u;
	for (int i = 0; i < BYTES; i++)
		sum = table[(sum ^ p[i]) & 255] ^ sum >> 8;
	return ~sum;
}

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	uint8_t c[BYTES + 4];
	uint32_t sum;
	make_table();
	if (take(c, sizeof(c)) < sizeof(c))
		return 0;
	memcpy(&sum, c + BYTES, sizeof(sum));
	if (crc(c) != sum)
		return 0;
	pool[0].value = c[2];
	persist(&pool[0]);
	if (c[0] == 'p' && c[1] > 10) {
		*(volatile uint64_t *)&pool[1].value = c[3]; /* BUG */
		IF_FIXED(clwb(&pool[1]);)
		sfence();
	}
	return 0;
}
