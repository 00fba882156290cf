/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast dump: names of files, instructions, signals and commands; JSON strings. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dump.h"

const char *dump_file_path(const struct dump *d, uint32_t file)
{
	const struct trace_file_def *f = trace_file(d->defs, file);

	return f && f->path ? f->path : "?";
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *dump_file_name(const struct dump *d, uint32_t file)
{
	const char *path = dump_file_path(d, file), *name = last_part(path);

	for (uint32_t i = 0; i < trace_files(d->defs); i++)
		if (i != file && !strcmp(last_part(dump_file_path(d, i)), name))
			return path;
	return name;
}

const char *dump_flavour(const struct dump *d, const struct trace_event *ev)
{
	const struct trace_site_def *site;

	if (ev->kind != TRACE_FLUSH && ev->kind != TRACE_FENCE)
		return NULL;
	if (ev->flags & TRACE_F_ATOMIC)
		return "atomic";
	site = trace_site(d->defs, ev->process, ev->site);
	return site ? trace_site_class_name(site->class) : "other";
}

void dump_command(const struct trace_process_def *p, struct buf *out)
{
	for (uint32_t at = 0; at < p->command_len;) {
		const char *word = p->command + at;
		size_t len = strnlen(word, p->command_len - at);
		buf_puts(out, at ? " " : "");
		shell_quote(out, word, len);
		at += (uint32_t)len + 1;
	}
}

const char *dump_signal(uint64_t number, char buf[32])
{
	const char *name = number < NSIG ? sigabbrev_np((int)number) : NULL;

	if (name)
		snprintf(buf, 32, "SIG%s", name);
	else
		snprintf(buf, 32, "signal %llu", (unsigned long long)number);
	return buf;
}

/* Length of the UTF-8 character at s, of at most n bytes; 0 if it is none. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
	size_t len = s[0] < 0x80                   ? 1
		     : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		     : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
		     : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
						   : 0;

	if (len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0; /* too long a form, a surrogate, beyond U+10FFFF */
	return len;
}

void dump_json_bytes(struct buf *out, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;

	buf_puts(out, "\"");
	for (size_t i = 0; i < n;) {
		size_t len = utf8_length(s + i, n - i);
		if (!len)
			buf_puts(out, "\\ufffd");
		else if (s[i] == '"' || s[i] == '\\')
			buf_printf(out, "\\%c", s[i]);
		else if (s[i] < 0x20)
			buf_printf(out, "\\u%04x", s[i]);
		else
			buf_add(out, s + i, len);
		i += len ? len : 1;
	}
	buf_puts(out, "\"");
}

void dump_json_text(struct buf *out, const char *text)
{
	if (text)
		dump_json_bytes(out, text, strlen(text));
	else
		buf_puts(out, "null");
}

void dump_json_frame(struct buf *out, const struct srcloc_frame *f)
{
	static const char *const kind[] = { [SRCLOC_TAIL] = "tail-call",
					    [SRCLOC_SIGNAL] = "signal",
					    [SRCLOC_INTERRUPTED] = "interrupted",
					    [SRCLOC_CUT] = "cut" };

	buf_puts(out, "{\"function\":");
	dump_json_text(out, f->function);
	buf_puts(out, ",\"file\":");
	dump_json_text(out, f->file);
	buf_printf(out, ",\"line\":%u,\"column\":%u,\"module\":", f->line, f->column);
	dump_json_text(out, f->module);
	buf_printf(out, ",\"offset\":\"0x%llx\",\"inlined\":%s", (unsigned long long)f->offset,
		   f->inlined ? "true" : "false");
	if (f->kind != SRCLOC_CODE)
		buf_printf(out, ",\"kind\":\"%s\"", kind[f->kind]);
	buf_puts(out, "}");
}

void dump_json_command(struct buf *out, const struct trace_process_def *p)
{
	buf_puts(out, "[");
	for (uint32_t at = 0; p && at < p->command_len;) {
		size_t len = strnlen(p->command + at, p->command_len - at);
		buf_puts(out, at ? "," : "");
		dump_json_bytes(out, p->command + at, len);
		at += (uint32_t)len + 1;
	}
	buf_puts(out, "]");
}
