/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `run`, the script that runs the program with the input in its folder. It gives the program copies
 * of files and pools: in the place of arguments that name them, or else bound over them in a mount
 * namespace. HOLDFAST_UNDER is put before the program's name; with HOLDFAST_PLACED=1 the files are
 * taken to be where they belong already.
 */
#include <string.h>

#include "explore/native.h"

static bool is_printable(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] == 127)
			return false;
	return true;
}

void explore_quote(struct buf *b, const char *text, size_t n)
{
	if (is_printable(text, n)) {
		shell_quote(b, text, n);
		return;
	}
	buf_puts(b, "$'");
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '\'' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (is_printable(text + i, 1))
			buf_add(b, text + i, 1);
		else
			buf_printf(b, "\\x%02x", c);
	}
	buf_puts(b, "'");
}

static void quote(struct buf *b, const char *text)
{
	explore_quote(b, text, strlen(text));
}

static void say_env(struct buf *b, const struct explore_program *how, const struct explore_plan *p,
		    const struct symbolic_input *in)
{
	if (!how->run.no_pmem_force)
		buf_puts(b, "export PMEM_IS_PMEM_FORCE=${PMEM_IS_PMEM_FORCE-1}\n");
	for (size_t i = 0; i < p->source.n; i++) {
		if (p->source.p[i].kind != SYM_SRC_ENV)
			continue;
		buf_printf(b, "export %s=", p->source.p[i].path);
		explore_quote(b, (const char *)in->byte + p->source.p[i].first,
			      explore_input_length(p, i, in));
		buf_puts(b, "\n");
	}
}

static const struct sym_source *argument(const struct explore_plan *p, size_t index, size_t *i)
{
	for (*i = 0; *i < p->source.n; ++*i)
		if (p->source.p[*i].kind == SYM_SRC_ARG && p->source.p[*i].index == index)
			return &p->source.p[*i];
	return NULL;
}

static void say_arguments(struct buf *b, const struct explore_plan *p,
			  const struct symbolic_input *in)
{
	buf_puts(b, "words=(");
	for (size_t k = 0; k < p->argc; k++) {
		size_t i;
		const struct sym_source *s = argument(p, k, &i);
		buf_puts(b, k ? " " : "");
		if (s)
			explore_quote(b, (const char *)in->byte + s->first,
				      explore_input_length(p, i, in));
		else
			quote(b, p->argv[k]);
	}
	buf_puts(b, ")\n");
}

/* Copies of files and pools: in the place of arguments, or bound over what they stand for. */
static void say_placing(struct buf *b, const struct explore_plan *p)
{
	bool any = false;
	for (size_t i = 0; i < p->source.n; i++)
		any = any || p->source.p[i].kind == SYM_SRC_FILE;
	if (!any)
		return;
	buf_puts(b,
		 "if [ -z \"$HOLDFAST_PLACED\" ]; then\n"
		 "\tcopies=$(mktemp -d) && trap 'rm -rf \"$copies\"' EXIT || exit 125\n"
		 "\tbind=()\n"
		 "\tplace() { # a file here, the path that the program knows, another name of it\n"
		 "\t\tlocal i found=no\n"
		 "\t\tcp --sparse=always \"$here/$1\" \"$copies/$1\" || exit 125\n"
		 "\t\tfor ((i = 1; i < ${#words[@]}; i++)); do\n"
		 "\t\t\tif [ \"${words[i]}\" = \"$2\" ] || [ \"${words[i]}\" = \"$3\" ]; then\n"
		 "\t\t\t\twords[i]=$copies/$1 found=yes\n"
		 "\t\t\tfi\n"
		 "\t\tdone\n"
		 "\t\t[ $found = yes ] || bind+=(\"$copies/$1\" \"$2\")\n"
		 "\t}\n");
	for (size_t i = 0; i < p->source.n; i++) {
		if (p->source.p[i].kind != SYM_SRC_FILE)
			continue;
		buf_puts(b, "\tplace ");
		quote(b, p->about.p[i].name);
		buf_puts(b, " ");
		quote(b, p->source.p[i].path);
		buf_puts(b, " ");
		quote(b, p->about.p[i].given);
		buf_puts(b, "\n");
	}
	buf_puts(
		b,
		"\tif [ ${#bind[@]} -gt 0 ]; then\n"
		"\t\tunder=(unshare -Urm \"$BASH\" -c 'while [ \"$1\" != -- ]; do\n"
		"\t\t\tmount --bind \"$1\" \"$2\" || exit 125; shift 2; done; shift; exec \"$@\"'\n"
		"\t\t\tbash \"${bind[@]}\" -- \"${under[@]}\")\n"
		"\tfi\n"
		"fi\n");
}

static void say_server(struct buf *b, const struct explore_program *how)
{
	const char *stop = how->stop ? how->stop : "TERM";
	bool signal = strspn(stop, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == strlen(stop);
	buf_puts(b, "listening() {\n"
		    "\tlocal place state rest\n"
		    "\tcat /proc/net/tcp /proc/net/tcp6 2>/dev/null |\n"
		    "\t\twhile read -r _ place _ state rest; do\n"
		    "\t\t\tif [ \"$state\" = 0A ]; then echo \"${place##*:}\"; fi\n"
		    "\t\tdone | sort -u\n"
		    "}\n"
		    "before=$(listening)\n");
	buf_puts(b, "port=");
	if (how->port)
		buf_printf(b, "%u", how->port);
	buf_puts(b, "\n");
	buf_puts(b, "\"${under[@]}\" \"${words[@]}\" <\"$input\" &\n"
		    "pid=$! up=\n"
		    "for ((i = 0; i < 600; i++)); do\n"
		    "\tkill -0 $pid 2>/dev/null || break\n"
		    "\tif [ -n \"$port\" ]; then\n"
		    "\t\tlistening | grep -qx \"$(printf %04X \"$port\")\" && up=$port\n"
		    "\telse\n"
		    "\t\tnew=$(comm -13 <(echo \"$before\") <(listening) | head -n 1)\n"
		    "\t\t[ -n \"$new\" ] && up=$((16#$new))\n"
		    "\tfi\n"
		    "\t[ -n \"$up\" ] && break\n"
		    "\tsleep 0.1\n"
		    "done\n"
		    "if [ -n \"$up\" ] && exec 3<>\"/dev/tcp/127.0.0.1/$up\"; then\n"
		    "\tfor packet in \"$here\"/packet-*; do\n"
		    "\t\tcat \"$packet\" >&3\n"
		    "\t\tIFS= read -r -t 0.2 -N 1000000 -u 3 _\n"
		    "\tdone 2>/dev/null\n"
		    "\texec 3>&-\n"
		    "\tsleep 0.2\n"
		    "fi\n");
	if (signal) {
		buf_printf(b, "kill -s %s $pid 2>/dev/null && told=$((128 + $(kill -l %s)))\n",
			   strncmp(stop, "SIG", 3) ? stop : stop + 3,
			   strncmp(stop, "SIG", 3) ? stop : stop + 3);
	} else {
		buf_puts(b, "told=0\n");
		buf_printf(b, "%s\n", stop);
	}
	buf_puts(b, "wait $pid\n"
		    "status=$?\n"
		    "[ \"$status\" = \"$told\" ] && status=0\n"
		    "exit $status\n");
}

char *explore_script(const struct explore_program *how, const struct explore_plan *p,
		     const struct symbolic_input *in, size_t *n)
{
	struct buf b = { 0 };
	bool socket = false, own_stdin = false;
	for (size_t i = 0; i < p->source.n; i++) {
		socket = socket || p->source.p[i].kind == SYM_SRC_SOCKET;
		own_stdin = own_stdin || p->source.p[i].kind == SYM_SRC_STDIN;
	}
	buf_puts(&b,
		 "#!/bin/bash\n"
		 "# Made by 'holdfast explore': runs the program with the input in this folder.\n"
		 "# HOLDFAST_UNDER='gdb --args' puts another program before it.\n"
		 "here=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd) || exit 125\n"
		 "cd ");
	quote(&b, how->cwd);
	buf_puts(&b, " || exit 125\n"
		     "under=()\n"
		     "if [ -n \"$HOLDFAST_UNDER\" ]; then eval \"under=($HOLDFAST_UNDER)\"; fi\n");
	say_env(&b, how, p, in);
	say_arguments(&b, p, in);
	say_placing(&b, p);
	buf_puts(&b, "input=");
	if (own_stdin)
		buf_puts(&b, "$here/stdin");
	else
		quote(&b, how->run.stdin_path ? how->run.stdin_path
			  : socket            ? "/dev/null"
					      : "/dev/stdin");
	buf_puts(&b, "\n");
	if (socket)
		say_server(&b, how);
	else
		buf_puts(&b, "\"${under[@]}\" \"${words[@]}\" <\"$input\"\n"
			     "exit $?\n");
	*n = b.n;
	return b.p;
}
