/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A symbolic file that is unlinked or renamed. It is mounted over the original file, and a mount
 * point can neither be removed nor renamed: it is unmounted first. If the file gets another name,
 * its bytes are copied into the original, where they are symbolic, too.
 */
#include "internal.h"

#define MNT_DETACH 2
#define RENAME_EXCHANGE 2

static Bool gone[SYM_MAX_MOUNTS];

Bool sym_is_gone(UInt mount)
{
	return gone[mount];
}

static SysRes sys(UWord no, UWord a, UWord b, UWord c, UWord d)
{
	return VG_(do_syscall)(no, a, b, c, d, 0, 0, 0, 0);
}

/* Which source the file is; -1: none. */
static Int source_at(Int dirfd, const HChar *path)
{
	struct vki_stat st;
	if (!VG_(am_is_valid_for_client)((Addr)path, 1, VKI_PROT_READ) ||
	    sr_isError(sys(__NR_newfstatat, (UWord)dirfd, (UWord)path, (UWord)&st,
			   0x100 /* AT_SYMLINK_NOFOLLOW */)))
		return -1;
	return sym_source_of(st.st_dev, st.st_ino);
}

static Int mount_of(UInt source)
{
	const struct sym_source *s = &sym_control->source[source];
	for (UInt i = 0; i < sym_control->nmounts; i++) {
		HChar name[16];
		struct vki_stat st;
		VG_(sprintf)(name, "s%u", i);
		if (sym_control->mount[i].kind == MOUNT_BIND && !gone[i] &&
		    !sr_isError(sys(__NR_newfstatat, (UWord)sym_view_fd(), (UWord)name, (UWord)&st,
				    0)) &&
		    st.st_dev == s->dev && st.st_ino == s->ino)
			return (Int)i;
	}
	return -1;
}

static void copy(UInt source, UInt mount)
{
	HChar name[16], buf[4096];
	struct vg_stat st;
	Int n;
	VG_(sprintf)(name, "s%u", mount);
	SysRes from = sys(__NR_openat, (UWord)sym_view_fd(), (UWord)name, VKI_O_RDONLY, 0);
	SysRes to = VG_(open)(sym_control->mount[mount].path, VKI_O_WRONLY | VKI_O_TRUNC, 0);
	if (!sr_isError(from) && !sr_isError(to)) {
		while ((n = VG_(read)((Int)sr_Res(from), buf, sizeof buf)) > 0)
			VG_(write)((Int)sr_Res(to), buf, n);
		if (VG_(fstat)((Int)sr_Res(to), &st) == 0)
			sym_source_also(source, st.dev, st.ino);
	}
	if (!sr_isError(from))
		VG_(close)((Int)sr_Res(from));
	if (!sr_isError(to))
		VG_(close)((Int)sr_Res(to));
}

/* The file at path is about to lose that name; `keep`: it will have another. */
static void let_go(Int dirfd, const HChar *path, Bool keep)
{
	Int s = source_at(dirfd, path), m = s < 0 ? -1 : mount_of((UInt)s);
	if (m < 0)
		return;
	if (keep)
		sym_first_use(); /* its bytes are copied */
	sym_view_files();
	sym_view_rights(True);
	if (!sr_isError(sys(__NR_umount2, (UWord)sym_control->mount[m].path, MNT_DETACH, 0, 0))) {
		gone[m] = True;
		if (keep)
			copy((UInt)s, (UInt)m);
	}
	sym_view_rights(False);
}

void sym_names_go(UInt no, const UWord *a)
{
	const HChar *p0 = (const HChar *)a[0], *p1 = (const HChar *)a[1], *p3 = (const HChar *)a[3];
	Int here = VKI_AT_FDCWD;
	switch (no) {
	case __NR_unlink: let_go(here, p0, False); break;
	case __NR_unlinkat: let_go((Int)a[0], p1, False); break;
	case __NR_link: let_go(here, p0, True); break;
	case __NR_linkat: let_go((Int)a[0], p1, True); break;
	case __NR_rename:
		let_go(here, p0, True);
		let_go(here, p1, False);
		break;
	case __NR_renameat:
	case __NR_renameat2:
		let_go((Int)a[0], p1, True);
		let_go((Int)a[2], p3, no == __NR_renameat2 && a[4] & RENAME_EXCHANGE);
		break;
	default: break;
	}
}
