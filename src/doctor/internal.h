/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of the table's rows; see struct doctor_row. */
#ifndef HOLDFAST_DOCTOR_INTERNAL_H
#define HOLDFAST_DOCTOR_INTERNAL_H

#include "doctor/doctor.h"

/* tools.c: what is installed. */
bool doctor_valgrind(const char *, char **found);
bool doctor_tracer(const char *, char **found);
bool doctor_record(const char *, char **found);
bool doctor_gdb(const char *, char **found);
bool doctor_libclang(const char *, char **found);

/* kernel.c: what the system lets us do. */
bool doctor_proc(const char *, char **found);
bool doctor_sandbox(const char *, char **found);
bool doctor_user_namespaces(const char *, char **found);
bool doctor_mount_namespaces(const char *, char **found);
bool doctor_network(const char *, char **found);
bool doctor_overlay(const char *, char **found);
bool doctor_ptrace(const char *, char **found);
bool doctor_shm(const char *, char **found);
bool doctor_core_dumps(const char *, char **found);
bool doctor_processors(const char *, char **found);

/* program.c: what there is to be known of a program. */
bool doctor_program(const char *, char **found);
bool doctor_program_sandbox(const char *, char **found);
bool doctor_debug(const char *, char **found);
bool doctor_sources(const char *, char **found);

/* The view that is used where none is asked for; NULL: none works. *why: what the best one lacks. */
const struct sandbox_view *doctor_view(struct err *why);

#endif
