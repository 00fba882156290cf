/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A deterministic clock and random numbers, so that the same input gives the same run.
 *
 * The clock advances by a microsecond at each reading, so that a loop that waits for a deadline
 * ends; so does the time-stamp counter. Random numbers, from the kernel and from the processor,
 * come from a generator with the same seed in every run.
 *
 * Ids of processes and threads are the real ones, which differ from run to run: a program that
 * sends signals, waits for children or reads /proc needs them.
 */
#include "base/random.h"
#include "internal.h"

#define START 1700000000ull /* seconds since 1970 */

static struct {
	ULong ticks;     /* microseconds since START */
	uint64_t random; /* the generator's state */
} pinned_to = { .random = 0x9E3779B97F4A7C15 };

/* Microseconds; strictly increasing. */
static ULong tick(void)
{
	return ++pinned_to.ticks;
}

static void put_random(UChar *to, SizeT n)
{
	while (n) {
		ULong r = splitmix64(&pinned_to.random);
		SizeT k = n < 8 ? n : 8;
		VG_(memcpy)(to, &r, k);
		to += k;
		n -= k;
	}
}

static Bool is_random_device(Int fd)
{
	struct vg_stat st;
	/* /dev/random is 1:8, /dev/urandom 1:9 */
	return VG_(fstat)(fd, &st) == 0 && (st.mode & VKI_S_IFMT) == VKI_S_IFCHR &&
	       (st.rdev == 0x108 || st.rdev == 0x109);
}

/* The time-stamp counter: the linker's --wrap (meson.build) replaces VEX's helpers. */
extern ULong __real_amd64g_dirtyhelper_RDTSC(void);
extern ULong __wrap_amd64g_dirtyhelper_RDTSC(void);
extern void __real_amd64g_dirtyhelper_RDTSCP(VexGuestAMD64State *st);
extern void __wrap_amd64g_dirtyhelper_RDTSCP(VexGuestAMD64State *st);

static Bool pinned(void)
{
	return sym_on && sym_control->pin;
}

ULong __wrap_amd64g_dirtyhelper_RDTSC(void)
{
	return pinned() ? tick() * 1000 : __real_amd64g_dirtyhelper_RDTSC();
}

void __wrap_amd64g_dirtyhelper_RDTSCP(VexGuestAMD64State *st)
{
	__real_amd64g_dirtyhelper_RDTSCP(st);
	if (!pinned())
		return;
	ULong t = tick() * 1000;
	st->guest_RAX = t & 0xffffffff;
	st->guest_RDX = t >> 32;
	st->guest_RCX = 0;
}

/* 32 bits, and above them: this was a random number. */
extern ULong __real_amd64g_dirtyhelper_RDRAND(void);
extern ULong __wrap_amd64g_dirtyhelper_RDRAND(void);
extern ULong __real_amd64g_dirtyhelper_RDSEED(void);
extern ULong __wrap_amd64g_dirtyhelper_RDSEED(void);

static ULong random_32(void)
{
	return 1ull << 32 | (splitmix64(&pinned_to.random) & 0xffffffff);
}

ULong __wrap_amd64g_dirtyhelper_RDRAND(void)
{
	return pinned() ? random_32() : __real_amd64g_dirtyhelper_RDRAND();
}

ULong __wrap_amd64g_dirtyhelper_RDSEED(void)
{
	return pinned() ? random_32() : __real_amd64g_dirtyhelper_RDSEED();
}

/* unit: how many units of the second field make a second */
static void put_time(Addr at, ULong unit)
{
	ULong *t = (ULong *)at, us = tick();
	if (!at)
		return;
	t[0] = START + us / 1000000;
	t[1] = us % 1000000 * (unit / 1000000);
}

void sym_clock_syscall(ThreadId tid, UInt no, UWord *a, SysRes res)
{
	UWord r = sr_Res(res);
	ULong now;
	switch (no) {
	case __NR_clock_gettime: put_time(a[1], 1000000000); break;
	case __NR_gettimeofday: put_time(a[0], 1000000); break;
	case __NR_time:
		now = START + tick() / 1000000;
		if (a[0])
			*(ULong *)a[0] = now;
		VG_(set_shadow_regs_area)
		(tid, 0, offsetof(VexGuestAMD64State, guest_RAX), sizeof now, (const UChar *)&now);
		break;
	case __NR_getrandom: put_random((UChar *)a[0], r); break;
	case __NR_read:
		if (is_random_device((Int)a[0]))
			put_random((UChar *)a[1], r);
		break;
	default: break;
	}
}
