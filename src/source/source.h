/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's source: which statement is behind a place that debug information names, what it
 * stores to, and how code is put beside it.
 *
 *	places ──▶ source_store_at ─────┐ statements, as spans of files
 *	(srcloc)   source_call_at       ├──▶ source_insert_* ──▶ edits ──▶ source_edits_apply
 *	           source_function_at ──┘                              └──▶ source_edits_diff
 *
 * It is C or C++ as libclang reads it, unit by unit, each when first asked about. Nothing here writes to a
 * file. A question has an answer, or a reason for people in `err` and the result -1; a reason is a
 * clause without a full stop ("the store is in the condition of a while loop"). Answers are plain data: their
 * strings and files stay valid until source_close.
 *
 * A function returns 0 or -1 where it returns int. Offsets count bytes from the beginning of a file.
 */
#ifndef HOLDFAST_SOURCE_SOURCE_H
#define HOLDFAST_SOURCE_SOURCE_H

#include "base/base.h"

/* Holdfast was built with libclang, and the library can be loaded. */
bool source_available(void);

struct source;
struct source_options {
	const char *root; /* only files below it are edited; NULL: "." */
	const char *
		compile_commands; /* NULL: as found in ROOT, ROOT/build and other folders of ROOT */
	/* The objects (programs, libraries) that were recorded: their debug information has the flags
	 * of what no compile_commands.json names, and their age tells what was changed since. */
	const char *const *object;
	size_t objects;
	bool changed; /* edit files that are newer than the objects, too */
};
/* -1: libclang is missing, or ROOT is no folder, or compile_commands cannot be read. */
struct source *source_open(const struct source_options *, struct err *);
void source_close(struct source *);
/* How many units were parsed so far, and how many of them with errors. */
void source_counts(const struct source *, size_t *units, size_t *broken);

/* ---- files ---- */

struct source_file {
	const char *path; /* absolute, without symbolic links */
	const char *name; /* below ROOT, as a patch has it; the path, where it is not below */
	const char *text; /* as on disk; text[size] is 0 */
	size_t size;
	bool crlf; /* most of its lines end in \r\n */
	/* Why nothing may be edited there: not below ROOT, a system header, read-only, generated, newer than the object;
	 * NULL: it may. Questions about it are answered all the same. */
	const char *refused;
	/* The first error of the parser in it, "tree.c:12: unknown type name 'x'", NULL: none, or not yet parsed.
	 * What it says about places beyond may be missing. */
	const char *broken;
};
/*
 * The file that debug information calls `name`: that file, if it is there and below ROOT; else the one below
 * ROOT whose path has most of its last components. -1: there is none.
 */
int source_file_at(struct source *, const char *name, const struct source_file **, struct err *);

struct source_span {
	size_t from, to; /* [from, to) */
};
/* A place as debug information has it; column 0: unknown. Lines and columns begin with 1. */
struct source_place {
	const char *file;
	uint32_t line, column;
};
/* The line and column of an offset. */
struct source_place source_place_of(const struct source_file *, size_t offset);

/* ---- statements ---- */

/* What a statement is part of, which decides what an insertion beside it takes. */
enum source_where {
	SOURCE_IN_BLOCK, /* between braces, or behind a label there: nothing */
	SOURCE_IN_BODY,  /* the whole body of an if, else, loop …: braces are added */
	SOURCE_IN_RETURN, /* a return: what comes after its expression needs a variable for the result */
	SOURCE_IN_CONDITION, /* of an if or switch: before it, and after an expression in it, which gets a variable */
	SOURCE_IN_HEADER,     /* of a loop, as a whole: nothing is possible */
	SOURCE_IN_EXPRESSION, /* a part of the statement: what comes after it follows by commas */
	SOURCE_IN_VALUE, /* the last of a statement expression, whose value it is: only before */
	SOURCE_IN_MACRO, /* inside a macro's expansion, with other statements: nothing */
};
struct source_statement {
	const struct source_file *file;
	struct source_span span; /* with its semicolon, without comments */
	enum source_where where;
	bool body;     /* it, or what has it, is a whole body: braces are added (besides `where`) */
	bool declares; /* it declares variables that are used later: it cannot be put in braces */
	/* Why code cannot be put before or after it; NULL: it can. */
	const char *no_before, *no_after;
	/* How insertion works; for this folder. */
	struct source_span head;  /* the keyword or ) that the body follows */
	struct source_span owner; /* the statement that it is the body of */
	struct source_span
		result;          /* a return's expression; that which is a part of the statement */
	const char *result_type; /* NULL: it needs no variable */
	const char *no_declare;  /* why no variable can be declared before it; NULL: it can */
	const char *first; /* of a part of a statement: what comes before it, "p = &a[i++], " */
	bool bare;         /* … it needs no parentheses */
	bool unused;       /* … nor for that of the whole, which is an expression */
	bool opens;        /* it is the brace that opens a block */
	bool label;        /* behind a label, where C allows no declaration */
	bool jumps;        /* in C++, a jump may cross a declaration beside it */
};
/* The innermost statement at the place. For "before the statement", loops, and what stores nothing. */
int source_statement_at(struct source *, const struct source_place *, struct source_statement *,
			struct err *);
/* The statement that has `inner`, in the list of statements that has `outer`. -1: there is none, or nothing can be put behind it. */
int source_statement_beside(struct source *, const struct source_statement *inner,
			    const struct source_statement *outer, struct source_statement *,
			    struct err *);

/* ---- stores ---- */

enum source_form {
	SOURCE_ASSIGN,    /* =, also of whole structs */
	SOURCE_COMPOUND,  /* +=, |=, … */
	SOURCE_INCREMENT, /* ++, -- */
	SOURCE_ATOMIC,    /* __atomic_…, __sync_…, atomic_…, members of std::atomic */
	SOURCE_COPY,      /* memcpy, strcpy, read … : a function of the table in writers.c */
	SOURCE_STREAM,    /* a store that bypasses the cache: needs no flush, only a fence */
};
/* The struct that a store is to a part of, behind a pointer. */
struct source_owner {
	const char *address, *size; /* "p", "sizeof(*p)"; NULL: there is none */
	uint64_t bytes, align;
	uint64_t offset; /* of the part; UINT64_MAX: an index decides */
};
struct source_store {
	enum source_form form;
	struct source_statement statement;
	const char *lvalue; /* as written: "p->slot[i]"; of a call, its destination */
	const char *type;   /* of the lvalue; of a call, of what the destination points to */
	/*
	 * Expressions that are valid, and have no side effects, right after the statement: where it has stored,
	 * and how many bytes. Where that cannot be said after the statement (p->slot[i++] = x), they use a
	 * variable that source_insert_store declares before it.
	 */
	const char *address, *size;
	const char *
		also; /* the address of another object of that size, to which it stores too; NULL: none */
	uint64_t bytes;    /* how many, where known; else 0 */
	bool in_line;      /* address and size are in one cache line, by the type */
	bool bitfield;     /* address and size are those of the struct that has it */
	bool merged;       /* the store is larger: the compiler made one of several statements */
	const char *calls; /* the function, of COPY, STREAM and ATOMIC; else NULL */
	bool beside; /* an earlier statement of the line, in its list, stores to another part of the owner */
	struct source_owner owner; /* not of COPY and STREAM, and where address needs a variable */
	/* For source_insert_store; NULL: address and size need nothing before. */
	const char *
		capture; /* "char *stored_at = &p->slot[i++];"; without the value of a part, see `first` */
	struct source_span replaced; /* by `replacement`, unless empty */
	const char *replacement;
};
/*
 * The store at the place that wrote `bytes` bytes (0: unknown). The column decides between several on one line,
 * then the size. -1: no store is there, several are possible, or its address cannot be
 * named; then `err` says which.
 */
int source_store_at(struct source *, const struct source_place *, uint64_t bytes,
		    struct source_store *, struct err *);

/* ---- calls and functions ---- */

struct source_argument {
	const char *text; /* as written */
	const char *type;
	const char *parameter; /* type that the function has there; "": it is not known */
	bool pointer;          /* a pointer, array or reference */
	bool to_bytes;         /* the function takes a pointer to void or to single bytes there */
	bool again;            /* evaluating it after the call is safe, and means the same */
	uint64_t value;        /* of a number that the compiler knows; else 0 */
	uint64_t points_to;    /* how many bytes a pointer points to, by its type; 0: unknown */
	struct source_span span;
};
struct source_call {
	struct source_statement statement;
	const char *callee; /* name; NULL: it is called through a pointer */
	const char
		*written; /* in C++ with its scope, as far as it is written; NULL: see the next */
	const char *qualified; /* … with all of it; NULL: it takes an object, or is of a template */
	bool indirect;         /* through a pointer, or virtual: what is called is not known */
	const char *pointer;  /* … that a variable of the file has: "ops->flush"; NULL: another */
	const char *variable; /* … whose name this is */
	bool conditional;     /* within its statement it may not be executed (&&, ||, ?:) */
	struct source_span span,
		name; /* the call; the callee's name in it, which is beyond the file's end
	                                * where a macro hides it: then no edit of it is made */
	const struct source_argument *argument;
	size_t arguments;
	const char *defined; /* file of the definition, as far as the unit shows; else NULL */
	uint32_t line;       /* of the call */
};
/* The call of `callee` (NULL: of anything; only one may be there) at the place. */
int source_call_at(struct source *, const struct source_place *, const char *callee,
		   struct source_call *, struct err *);

/*
 * The use of a macro that has the place, if it is written like a call; its arguments have text, span and, where the compiler sees one
 * expression, type and value. There is no statement.
 */
int source_macro_use_at(struct source *, const struct source_place *, struct source_call *,
			struct err *);

struct source_parameter {
	const char *name, *type; /* name "": it has none */
	bool pointer;
};
/* A declaration of the function, not its definition: a prototype of a variant goes behind it. */
struct source_prototype {
	const struct source_file *file;
	struct source_span span; /* with its semicolon */
};
struct source_function {
	const char *name; /* in C++ without scope */
	const struct source_file *file;
	struct source_span
		span; /* of the whole definition, from its first specifier to its last brace */
	struct source_span
		head; /* all before the body: with another name and a semicolon, a prototype */
	struct source_span body; /* with its braces */
	struct source_span name_at;
	const char *result; /* type */
	bool is_static;     /* or in an unnamed namespace */
	bool variadic;
	bool falls; /* its last brace can be reached: the body does not end in a return */
	const struct source_parameter *parameter;
	size_t parameters;
	const struct source_statement *exit; /* its return statements */
	size_t exits;
	const struct source_call *call; /* all calls in the body, in the order of the text */
	size_t calls;
	const struct source_prototype *prototype; /* as the unit shows them */
	size_t prototypes;
	/* Why a copy of it under another name could behave differently, or cannot be made; NULL: it can be copied. */
	const char *no_copy;
};
/* The function whose body has the place, or (line 0) the function of that name in the file. */
int source_function_at(struct source *, const struct source_place *, const char *name,
		       struct source_function *, struct err *);

/* ---- names ---- */

/* -1: the file does not see a function, static method or macro of that name, in C++ with its scopes, that is declared before the offset. */
int source_declared(struct source *, const struct source_file *, size_t before,
		    const char *function, struct err *);
/*
 * The variable that may be passed to the function first, by its type, where the statement begins: a parameter or local
 * variable with a value; else a member of what a parameter points to; else a global one. -1: there is
 * none, or several.
 */
int source_value_for(struct source *, const struct source_statement *, const char *function,
		     const char **text, struct err *);

/* ---- loops ---- */

/*
 * A loop around a statement. `count` is set where it is plain: for (i = first; i < last; i++), the statement
 * is executed in every round, nothing leaves the loop early, and the store goes to base[i] or a part of it. Then
 * `guard ? [base, base + bytes) : nothing` is what all rounds store to, in expressions that are valid after the loop.
 */
struct source_loop {
	struct source_statement statement; /* insert behind it, or before */
	struct source_span body;
	bool alone;               /* the body is the statement, and nothing else */
	const char *base, *bytes; /* NULL: not plain */
	const char *guard;        /* NULL: always true */
	const char *why;          /* it is not plain */
};
/* The innermost loop that has the statement of the store. -1: none in this function. */
int source_loop_around(struct source *, const struct source_place *, const struct source_store *,
		       struct source_loop *, struct err *);
/* … of a call that stores to what its argument, &base[i], points to. */
int source_loop_around_call(struct source *, const struct source_call *, const char *argument,
			    struct source_loop *, struct err *);

/* ---- edits ---- */

struct source_edit {
	const struct source_file *file;
	size_t at, remove;
	const char *text; /* inserted instead; lives until source_close */
	int64_t rank;     /* order at one offset; for this folder */
};
struct source_edits {
	VEC(struct source_edit) edit;
};
/*
 * Code before, or after, a statement: one or more statements, lines separated by \n, without indentation and
 * without a newline at the end. They get the statement's indentation and the file's line endings; braces are
 * added where it is a whole body, once however often. What is inserted first at a place stands first.
 * -1: `no_before`, `no_after` or the file's `refused` says why; nothing was added.
 */
int source_insert_before(struct source *, const struct source_statement *, const char *code,
			 struct source_edits *, struct err *);
int source_insert_after(struct source *, const struct source_statement *, const char *code,
			struct source_edits *, struct err *);
/* Whether the code, statements, can be put behind it: behind a part of a statement only what is an expression can. */
int source_may_follow(struct source *, const struct source_statement *, const char *code,
		      struct err *);
/* Code after a store, for which its capture is put before it. Once per store: later ones pass the same. */
int source_insert_store(struct source *, const struct source_store *, const char *code,
			struct source_edits *, struct err *);
/* Before each return of the function, and before its last brace where that can be reached. */
int source_insert_exits(struct source *, const struct source_function *, const char *code,
			struct source_edits *, struct err *);
/* On lines of their own at the beginning of a file's declarations: behind its last #include at the top. */
int source_insert_top(struct source *, const struct source_file *, const char *code,
		      struct source_edits *, struct err *);
/* Any text at an offset, instead of `remove` bytes. */
int source_replace(struct source *, const struct source_file *, size_t at, size_t remove,
		   const char *text, struct source_edits *, struct err *);
/*
 * The function once more, behind itself, under another name and with edits of its own: `inside` has edits within its
 * span (calls that are redirected, flushes). It calls itself where the function does. Declares it wherever the function is declared.
 */
int source_insert_copy(struct source *, const struct source_function *, const char *name,
		       const struct source_edits *inside, struct source_edits *, struct err *);

/* Sorts them by file and offset; equal ones become one. -1: two overlap. */
int source_edits_check(struct source_edits *, struct err *);
/* The file with its edits; xmalloc'ed, *size bytes and a 0. They were checked. */
char *source_edits_apply(const struct source_edits *, const struct source_file *, size_t *size);
/*
 * Where in the file as it is what stands at a place of the edited one is; column 0: it is in what was inserted. They were checked. -1: the
 * edited file has no such place.
 */
int source_edits_origin(const struct source_edits *, const struct source_file *,
			const struct source_place *edited, struct source_place *);
/* A unified diff of all files, for git apply and patch -p1. They were checked. */
void source_edits_diff(const struct source_edits *, struct buf *);
void source_edits_free(struct source_edits *);

#endif
