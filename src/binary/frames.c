/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranges of .eh_frame: with no symbols, unwind information still says where functions begin
 * and end. A list of records: common ones (CIE) say how addresses are written, and each of the
 * others (FDE) holds the range of one function.
 */
#include <string.h>

#include "binary/internal.h"

/* DW_EH_PE_: how a pointer is written. */
enum {
	PE_SIZE = 0x0f,
	PE_HOW = 0x70,
	PE_ABSOLUTE = 0,
	PE_RELATIVE = 0x10,
	PE_U4 = 0x03,
	PE_U8 = 0x04,
	PE_S4 = 0x0b,
	PE_S8 = 0x0c,
};

struct cursor {
	const uint8_t *p, *end;
};

static bool skip_leb(struct cursor *c)
{
	while (c->p < c->end)
		if (!(*c->p++ & 0x80))
			return true;
	return false;
}

static bool get_value(struct cursor *c, uint8_t encoding, uint64_t *value)
{
	size_t n = 8;
	if ((encoding & PE_SIZE) == PE_U4 || (encoding & PE_SIZE) == PE_S4)
		n = 4;
	else if ((encoding & PE_SIZE) != PE_ABSOLUTE && (encoding & PE_SIZE) != PE_U8 &&
		 (encoding & PE_SIZE) != PE_S8)
		return false;
	if ((size_t)(c->end - c->p) < n)
		return false;
	*value = 0;
	memcpy(value, c->p, n);
	if ((encoding & PE_SIZE) == PE_S4)
		*value = (uint64_t)(int64_t)(int32_t)*value;
	c->p += n;
	return true;
}

/* The encoding of addresses that a CIE gives its FDEs; 0xff: not understood. */
static uint8_t cie_encoding(struct cursor c)
{
	const uint8_t *what;
	uint64_t skipped;
	if (c.end - c.p < 2)
		return 0xff;
	c.p++; /* version */
	what = c.p;
	while (c.p < c.end && *c.p)
		c.p++;
	if (c.p == c.end)
		return 0xff;
	c.p++;
	if (*what != 'z')
		return *what ? 0xff : PE_ABSOLUTE;
	if (!skip_leb(&c) || !skip_leb(&c) || !skip_leb(&c) || !skip_leb(&c))
		return 0xff; /* alignments, return register, size of what follows */
	for (what++; *what; what++) {
		if (c.p >= c.end)
			return 0xff;
		if (*what == 'R')
			return *c.p;
		if (*what == 'L') {
			c.p++;
		} else if (*what == 'P') {
			uint8_t encoding = *c.p++;
			if (!get_value(&c, encoding, &skipped))
				return 0xff;
		} else if (*what != 'S' && *what != 'B') {
			return 0xff;
		}
	}
	return PE_ABSOLUTE;
}

/* The address that a byte of the file gets; false: none. */
static bool address_of(const struct elf *e, uint64_t off, uint64_t *addr)
{
	for (size_t i = 0; i < e->load.n; i++) {
		const struct load *l = &e->load.p[i];
		if (off >= l->off && off - l->off < l->len) {
			*addr = l->addr + (off - l->off);
			return true;
		}
	}
	return false;
}

static bool read_fde(const struct elf *e, struct cursor c, uint8_t encoding, uint64_t *addr,
		     uint64_t *len)
{
	uint64_t here;
	if (!address_of(e, (uint64_t)(c.p - e->p), &here) || !get_value(&c, encoding, addr) ||
	    !get_value(&c, encoding & PE_SIZE, len))
		return false;
	if ((encoding & PE_HOW) == PE_RELATIVE)
		*addr += here;
	else if ((encoding & PE_HOW) != PE_ABSOLUTE)
		return false;
	return true;
}

void binary_frames_each(const struct elf *e, void (*each)(void *, uint64_t addr, uint64_t len),
			void *arg)
{
	uint64_t off = e->frames, end = e->frames + e->nframes, last_cie = UINT64_MAX, addr, len;
	uint8_t encoding = 0xff;
	uint32_t size, id;
	while (off + 8 <= end) {
		if (!binary_elf_read(e, off, &size, 4) || !binary_elf_read(e, off + 4, &id, 4))
			return;
		if (!size || size == UINT32_MAX || size < 4 || size > end - off - 4)
			return; /* the end; records over 4 GiB do not occur */
		if (id && id <= off + 4) {
			uint64_t cie = off + 4 - id;
			uint32_t cie_size;
			if (cie != last_cie) {
				encoding = 0xff;
				if (cie + 8 <= end && binary_elf_read(e, cie, &cie_size, 4) &&
				    cie_size >= 4 && cie_size <= end - cie - 4)
					encoding = cie_encoding((struct cursor){
						e->p + cie + 8, e->p + cie + 4 + cie_size });
				last_cie = cie;
			}
			struct cursor c = { e->p + off + 8, e->p + off + 4 + size };
			if (encoding != 0xff && read_fde(e, c, encoding, &addr, &len) && len)
				each(arg, addr, len);
		}
		off += 4 + (uint64_t)size;
	}
}
