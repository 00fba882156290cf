/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside src/source. Reading order: this file; lib.c (libclang, loaded late), files.c (names and texts),
 * flags.c (how a unit was compiled), unit.c (parsing), condition.c (what was skipped), tree.c (the nodes of one function); then the questions:
 * statement.c, store.c with candidates.c, extent.c, writers.c, effects.c, expression.c, pure.c and render.c, call.c, function.c, loop.c; and the edits: text.c (white space
 * and comments), insert.c, edit.c, diff.c.
 */
#ifndef HOLDFAST_SOURCE_INTERNAL_H
#define HOLDFAST_SOURCE_INTERNAL_H

#include <clang-c/CXCompilationDatabase.h>
#include <clang-c/Index.h>

#include "source/source.h"

/* The functions of libclang that are used: source_lib.X is clang_X. */
#define SOURCE_CLANG(X)                                                                            \
	X(createIndex)                                                                             \
	X(disposeIndex)                                                                            \
	X(parseTranslationUnit2)                                                                   \
	X(disposeTranslationUnit)                                                                  \
	X(getTranslationUnitCursor)                                                                \
	X(getNumDiagnostics)                                                                       \
	X(getDiagnostic)                                                                           \
	X(disposeDiagnostic)                                                                       \
	X(getDiagnosticSeverity)                                                                   \
	X(getDiagnosticSpelling)                                                                   \
	X(getDiagnosticLocation)                                                                   \
	X(getCString)                                                                              \
	X(disposeString)                                                                           \
	X(visitChildren)                                                                           \
	X(getCursorKind)                                                                           \
	X(getCursorExtent)                                                                         \
	X(getCursorLocation)                                                                       \
	X(getRangeStart)                                                                           \
	X(getRangeEnd)                                                                             \
	X(getFileLocation)                                                                         \
	X(getFile)                                                                                 \
	X(getSkippedRanges)                                                                        \
	X(disposeSourceRangeList)                                                                  \
	X(getIncludedFile)                                                                         \
	X(getFileName)                                                                             \
	X(getCursorSpelling)                                                                       \
	X(getCursorType)                                                                           \
	X(getCursorResultType)                                                                     \
	X(getCursorReferenced)                                                                     \
	X(getCursorDefinition)                                                                     \
	X(getCursorSemanticParent)                                                                 \
	X(getCanonicalCursor)                                                                      \
	X(equalCursors)                                                                            \
	X(Cursor_isNull)                                                                           \
	X(isCursorDefinition)                                                                      \
	X(Location_isInSystemHeader)                                                               \
	X(getTypeSpelling)                                                                         \
	X(getCanonicalType)                                                                        \
	X(getPointeeType)                                                                          \
	X(getArraySize)                                                                            \
	X(getTypeDeclaration)                                                                      \
	X(equalTypes)                                                                              \
	X(Type_getAlignOf)                                                                         \
	X(Cursor_getOffsetOfField)                                                                 \
	X(Type_getSizeOf)                                                                          \
	X(isConstQualifiedType)                                                                    \
	X(isVolatileQualifiedType)                                                                 \
	X(isFunctionTypeVariadic)                                                                  \
	X(Cursor_isBitField)                                                                       \
	X(Cursor_getStorageClass)                                                                  \
	X(Cursor_isFunctionInlined)                                                                \
	X(Cursor_Evaluate)                                                                         \
	X(EvalResult_getKind)                                                                      \
	X(EvalResult_getAsLongLong)                                                                \
	X(EvalResult_dispose)                                                                      \
	X(CXXMethod_isVirtual)                                                                     \
	X(CXXMethod_isStatic)                                                                      \
	X(CompilationDatabase_fromDirectory)                                                       \
	X(CompilationDatabase_dispose)                                                             \
	X(CompilationDatabase_getCompileCommands)                                                  \
	X(CompilationDatabase_getAllCompileCommands)                                               \
	X(CompileCommands_dispose)                                                                 \
	X(CompileCommands_getSize)                                                                 \
	X(CompileCommands_getCommand)                                                              \
	X(CompileCommand_getDirectory)                                                             \
	X(CompileCommand_getFilename)                                                              \
	X(CompileCommand_getNumArgs)                                                               \
	X(CompileCommand_getArg)

struct source_lib {
	void *handle;
#define MEMBER(name) __typeof__(clang_##name) *name;
	SOURCE_CLANG(MEMBER)
#undef MEMBER
};
extern struct source_lib source_lib;
int source_lib_load(struct err *);
/* What libclang's string says, kept by the source. */
const char *source_string(struct source *, CXString);
const char *source_type_text(struct source *, CXType);

/* ---- files and texts ---- */

/* A file with what only this folder knows of it; the public part comes first. */
struct source_text {
	struct source_file file;
	VEC(uint32_t) line; /* offsets where lines begin */
	bool aged;          /* its age was compared with the object's */
};
/* source_file_at, without a look at its age. */
int source_find_file(struct source *, const char *name, const struct source_file **, struct err *);
size_t source_line_start(const struct source_file *, uint32_t line); /* 1 is the first */
uint32_t source_line_of(const struct source_file *, size_t offset);
/* The offset of a place; its line's beginning without a column. -1: the file is shorter. */
int source_offset(const struct source_file *, const struct source_place *, size_t *, struct err *);

/* ---- units ---- */

/* What is compiled together: a command, or a guess. */
struct source_flags {
	VEC(const char *) arg;
	const char *folder;
};
void source_flags_for(struct source *, const char *path, struct source_flags *);
void source_flags_free(struct source_flags *);
int source_commands_open(struct source *, struct err *);
void source_commands_close(struct source *);
/* The paths of all units that are known of. */
void source_commands_list(struct source *);
/* The same from debug information: flags of a unit, and which units there are. */
void source_flags_built(struct source *, const char *path, struct source_flags *);
void source_built_list(struct source *);
/* The unit that is known to include a header; NULL: none. */
const char *source_built_including(struct source *, const char *header);
/* When the newest object that has the file was built; 0: none has it. */
uint64_t source_built_time(struct source *, const char *path);
void source_built_close(struct source *);
/* Adds an option, the first of n arguments, if it is one that libclang needs; returns how many it was. */
size_t source_flags_keep(struct source *, struct source_flags *, const char *const *arg, size_t n);

/* A range of a file in one unit: a function's definition, or a macro's use. */
struct source_range {
	CXCursor cursor;
	CXFile file;
	uint32_t from, to;
};
/* May a call be repeated? The later, the less. */
enum source_purity {
	SOURCE_PURE,  /* it depends on its arguments only */
	SOURCE_READS, /* and on memory */
	SOURCE_IMPURE,
};
struct source_known {
	CXCursor function;
	enum source_purity purity;
};
struct source_unit {
	const char *path;
	CXTranslationUnit tu;
	VEC(CXFile) included;
	VEC(struct source_range) function;
	VEC(struct source_range) prototype; /* declarations of functions */
	VEC(struct source_range) macro;     /* outermost uses, sorted by `from` in each file */
	VEC(struct source_known) known;     /* functions that were looked into */
	uint64_t used;                      /* the clock when it was asked about last */
	bool cxx;
};
/* A unit that has the file: its own, or one that includes it. -1: it could not be parsed. */
int source_unit_of(struct source *, const struct source_file *, struct source_unit **,
		   struct err *);
/* The same, with what is at the offset, which was compiled, not skipped. */
int source_unit_at(struct source *, const struct source_file *, size_t offset,
		   struct source_unit **, struct err *);
void source_units_close(struct source *);
/* The next outer use of a macro that has [from, to); NULL: none. */
const struct source_range *source_macro_at(const struct source_unit *, CXFile, size_t from,
					   size_t to);

/* A macro that the command line must have defined for a unit. */
struct source_define {
	const char *unit, *name;
};
/* The line at the offset was skipped for want of a macro, which is defined from now on: parse the unit again. */
bool source_enable(struct source *, const struct source_unit *, const struct source_file *,
		   size_t offset);

struct source {
	char *root; /* absolute, without links and without / at the end */
	struct source_options options;
	CXIndex index;
	CXCompilationDatabase commands; /* NULL: none */
	char *commands_folder;          /* a temporary one, to be removed */
	VEC(char *) kept;
	struct hmap file_at; /* hash of the path -> struct source_text * */
	struct hmap name_at; /* hash of a name of debug information -> struct source_text * */
	VEC(struct source_text *) file;
	VEC(struct source_unit *) unit;
	VEC(const char *) sources; /* paths of all units that are known of, for headers */
	bool sources_known;
	VEC(struct source_built *) built; /* units as the debug information has them */
	bool built_known;
	VEC(struct source_define) define;
	uint64_t clock;
	size_t parsed, broken;
	struct hmap name_used; /* invented names of variables: hash of file and name -> 1 */
	struct hmap name_of;   /* hash of file, offset and stem -> name */
	struct hmap
		declared; /* hash of file, offset and name of a function -> whether it is seen there */
	uint64_t newest; /* time of the youngest object; 0: unknown */
};
char *source_keep(struct source *, char *); /* an xmalloc'ed string */
char *source_keep_n(struct source *, const char *, size_t n);

/* ---- nodes ---- */

/* An expression, statement or declaration of a function, or a part of one. Index 0 is no node. */
struct source_node {
	CXCursor cursor;
	enum CXCursorKind kind;
	uint32_t from, to; /* in the file; all of a macro's use for what it is made of */
	uint32_t parent, first, last, next;
	bool elsewhere; /* in another file: included in the middle of a function */
};
struct source_tree {
	struct source *source;
	const struct source_file *file;
	const struct source_unit *unit;
	CXFile in;
	VEC(struct source_node) node; /* 1 is the function */
};
/* The nodes of the function that has the offset. -1: none. */
int source_tree_at(struct source *, const struct source_file *, size_t offset, struct source_tree *,
		   struct err *);
void source_tree_of(struct source *, const struct source_file *, const struct source_unit *,
		    const struct source_range *, struct source_tree *);
void source_tree_free(struct source_tree *);
#define NODE(t, i) (&(t)->node.p[i])
uint32_t source_node_child(const struct source_tree *, uint32_t, unsigned nth); /* 0: none */
bool source_node_under(const struct source_tree *, uint32_t node, uint32_t ancestor);
/* The next node in the order of the text that is `top` or below it; 0: no more. Begins with `top`. */
uint32_t source_node_next(const struct source_tree *, uint32_t node, uint32_t top);
/* Without parentheses and implicit casts; without parentheses only. */
uint32_t source_node_peel(const struct source_tree *, uint32_t);
uint32_t source_node_inside(const struct source_tree *, uint32_t);
/* An lvalue that is written, not read: nothing converts it to its value. */
bool source_node_is_lvalue(const struct source_tree *, uint32_t);
bool source_node_is_dereference(const struct source_tree *, uint32_t);
CXType source_node_type(const struct source_tree *, uint32_t);
CXType source_node_canonical(const struct source_tree *, uint32_t);
uint64_t source_type_size(CXType);                                  /* 0: unknown */
const char *source_node_name(const struct source_tree *, uint32_t); /* spelling; "": none */
/* A macro's use hides the node: its text is not in the file. */
bool source_node_hidden(const struct source_tree *, uint32_t);
/* What a variable that only the macro around the name has is declared with; 0: it is none. */
uint32_t source_macro_local(const struct source_tree *, uint32_t);
/* The source of an expression, as written or, in a macro, made up. NULL: it cannot be named outside. */
const char *source_node_text(const struct source_tree *, uint32_t);

/* ---- statements ---- */

/* The nodes of the function at the place, and its offset; -1: none. */
int source_open_place(struct source *, const struct source_place *, struct source_tree *,
		      size_t *offset, struct err *);
/* The statement that has the node; *at is its node. */
int source_statement_of(const struct source_tree *, uint32_t node, uint32_t *at,
			struct source_statement *, struct err *);
bool source_is_statement(const struct source_tree *, uint32_t node);
bool source_is_loop(enum CXCursorKind);
/* What comes after the expression, which is in a condition or a header, or may not be executed, where that is possible. */
void source_follow(const struct source_tree *, uint32_t node, uint32_t statement,
		   struct source_statement *);
/* Statements, each a call, as what follows an expression: ", flush(p, 8), fence()"; NULL: they are none. */
const char *source_as_expression(struct source *, const struct source_file *, const char *code,
				 struct err *);
bool source_can_declare(const char *type); /* "T name" declares a variable of it */
/* Between the node and `top` there is something that decides whether it is executed. */
bool source_is_conditional(const struct source_tree *, uint32_t node, uint32_t top);

/* ---- effects ---- */

enum source_again {
	SOURCE_AGAIN,   /* evaluating it after the statement gives the same */
	SOURCE_BEFORE,  /* only before it, but any number of times */
	SOURCE_ONCE,    /* it has side effects */
	SOURCE_CHANGED, /* the statement changes what it depends on */
};
enum source_again source_again(const struct source_tree *, uint32_t expression, uint32_t statement,
			       uint32_t store);
bool source_has_effects(const struct source_tree *, uint32_t);
enum source_purity source_purity(const struct source_tree *, uint32_t call, unsigned depth);

/* The store at the place, which is at the offset; *node (NULL: not wanted) is its assignment or call. */
int source_store_in(const struct source_tree *, const struct source_place *, size_t offset,
		    uint64_t bytes, struct source_store *, uint32_t *node, struct err *);

/* A pointer to what is volatile or const becomes no void * by itself; `auto` and typedefs hide it. */
const char *source_cast_for(CXType);
/* A format with one %s, and the text for it; kept. */
const char *source_sized(const struct source_tree *, const char *format, const char *text);
/* What a pointer is made of: without casts between pointers, and what a macro's own variable stands for. */
uint32_t source_uncast(const struct source_tree *, uint32_t);
void source_owner_of(const struct source_tree *, uint32_t lvalue, struct source_owner *);
void source_array_owner(const struct source_tree *, uint32_t target, struct source_owner *);

/* "pm::Heap::flush"; NULL: without an object of it, or without template arguments, it cannot be named. */
const char *source_qualified_name(struct source *, CXCursor);
/* Type and value of an argument; not its text. */
void source_describe_argument(const struct source_tree *, uint32_t node, struct source_argument *);
int source_call_of(const struct source_tree *, uint32_t node, struct source_call *, struct err *);

/* What a node assigns to: 0, it is no assignment, ++ or --. */
uint32_t source_assigned(const struct source_tree *, uint32_t, enum source_form *);

#define SOURCE_LINE 64 /* bytes of a cache line */

/* ---- functions that write ---- */

enum source_extent {
	SOURCE_EXTENT_ARG,     /* an argument says how many bytes */
	SOURCE_EXTENT_PRODUCT, /* the product of two arguments: this one and the next */
	SOURCE_EXTENT_STRING,  /* the string that is there afterwards */
	SOURCE_EXTENT_TYPE,    /* what the destination points to */
	SOURCE_EXTENT_FIXED,   /* so many */
	SOURCE_EXTENT_BETWEEN, /* as many elements as from this argument to the next */
	SOURCE_EXTENT_COUNT,   /* an argument says how many elements */
};
struct source_writer {
	const char *name;
	enum source_form form;
	uint8_t destination;
	enum source_extent extent;
	uint8_t arg; /* or how many bytes */
};
const struct source_writer *source_writer(const char *name, size_t len);
/* How many of its first arguments a function assigns to, which it has by reference; 0: none. */
unsigned source_assigns(const char *name);
bool source_is_pure(const char *name); /* of the C library or PMDK, and without side effects */

/* ---- candidates ---- */

struct source_candidate {
	uint32_t node;   /* the assignment or call */
	uint32_t target; /* what it assigns to; of a writer, the pointer that it is given */
	enum source_form form;
	const struct source_writer *writer; /* NULL: target is an lvalue */
	uint64_t bytes;                     /* 0: unknown */
	uint32_t also;                      /* another lvalue that it assigns to; 0: none */
};
typedef VEC(struct source_candidate) source_candidates;
/* All that the line stores. */
void source_candidates_in(const struct source_tree *, uint32_t line, source_candidates *);
/* What may be the store of so many bytes (0: unknown) at the place, which is at the offset. */
void source_candidates_at(const struct source_tree *, const struct source_place *, size_t offset,
			  uint64_t bytes, source_candidates *);

/* Address and size of what a pointer leads to, where it is so large. */
bool source_through_pointer(const struct source_tree *, uint32_t pointer, uint64_t bytes,
			    struct source_store *);
/* … of what a function writes. -1: its arguments do not say it, or not again. */
int source_writer_extent(const struct source_tree *, const struct source_candidate *,
			 uint32_t statement, struct source_store *, struct err *);

/* ---- text ---- */

size_t source_skip_blank(const char *text, size_t at, size_t end); /* white space and comments */
size_t source_line_end(const struct source_file *, size_t at);     /* before its \r\n or \n */
/* The white space that the line of the offset begins with. */
struct source_span source_indent(const struct source_file *, size_t at);
const char *source_indent_unit(const struct source_file *);
/* A name for a variable that the file does not use, nor has the function got it from here: `stem`, or with a number. For
 * the same offset it is the same name. */
const char *source_new_name(struct source *, const struct source_file *, const char *stem,
			    size_t at);

#endif
