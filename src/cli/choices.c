/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/choices.h"

#include <string.h>

#include "cli/output.h"
#include "crash/crash.h"
#include "launch/launch.h"
#include "model/model.h"
#include "sandbox/sandbox.h"
#include "symbolic/symbolic.h"

/* ---- in general ---- */

char *cli_choice_words(const struct cli_choices *of, char separator)
{
	struct cli_choice c;
	struct buf b = { 0 };
	for (size_t i = 0; of->at(i, &c); i++)
		buf_printf(&b, "%.*s%s", i > 0, &separator, c.name);
	buf_add(&b, "", 1);
	return b.p;
}

static bool is_one(const struct cli_choices *of, const char *word, size_t len)
{
	struct cli_choice c;
	for (size_t i = 0; of->at(i, &c); i++)
		if (strlen(c.name) == len && !memcmp(c.name, word, len))
			return true;
	return false;
}

bool cli_is_choice(const struct cli_choices *of, const char *value)
{
	for (;;) {
		size_t len = of->joined ? strcspn(value, "+") : strlen(value);
		if (!is_one(of, value, len))
			return false;
		if (!value[len])
			return true;
		value += len + 1;
	}
}

const struct cli_option *cli_next_option(const struct cli_verb *verb, struct cli_walk *w)
{
	struct cli_choice c;
	if (!w->row)
		w->row = verb->options;
	while (w->row->name && w->row->type == CLI_FILES) {
		if (w->row->choices->at(w->word, &c)) {
			w->made = *w->row;
			w->made.name = c.name;
			w->made.type = CLI_FILE;
			w->made.offset += w->word++ * sizeof(const char *);
			w->made.help = c.about;
			w->made.choices = NULL;
			return &w->made;
		}
		w->word = 0;
		w->row++;
	}
	return w->row->name ? w->row++ : NULL;
}

/* ---- the tables; the default is the first row of most ---- */

static bool row(struct cli_choice *out, const char *name, const char *about, bool is_default)
{
	*out = (struct cli_choice){ name, about, is_default };
	return name != NULL;
}

static bool cpu_at(size_t i, struct cli_choice *out)
{
	const char *about = NULL, *name = launch_cpu_at(i, &about);
	return row(out, name, about, i == 0);
}
const struct cli_choices choices_cpu = { cpu_at };

static bool model_row(size_t i, struct cli_choice *out)
{
	const struct model_ops *m = model_at(i);
	return row(out, m ? m->name : NULL, m ? m->about : NULL, i == 0);
}
const struct cli_choices choices_model = { model_row };

static bool points_at(size_t i, struct cli_choice *out)
{
	const char *about = NULL, *name = crash_points_at(i, &about);
	return row(out, name, about, i == 0);
}
const struct cli_choices choices_points = { points_at };

static bool strategy_at(size_t i, struct cli_choice *out)
{
	const char *about = NULL, *name = crash_strategy_at(i, &about);
	return row(out, name, about, i == 0);
}
const struct cli_choices choices_strategy = { strategy_at, .joined = true };

static bool search_at(size_t i, struct cli_choice *out)
{
	const char *about = NULL, *name = symbolic_search_at(i, &about);
	return row(out, name, about, i == 0);
}
const struct cli_choices choices_search = { search_at };

static bool view_at(size_t i, struct cli_choice *out)
{
	if (i == 0)
		return row(out, "auto", "the first of the others that is possible", true);
	const struct sandbox_view *v = sandbox_view_at(i - 1);
	return row(out, v ? v->name : NULL, v ? v->about : NULL, false);
}
const struct cli_choices choices_view = { view_at };

/* Notes never make a run fail. */
static bool level_at(size_t i, struct cli_choice *out)
{
	enum finding_level level = (enum finding_level)i;
	if (level == FINDING_NOTE)
		return row(out, OUTPUT_FAIL_NEVER, "findings do not matter", false);
	return i < FINDING_NOTE && row(out, finding_level_name(level), finding_level_about(level),
				       level == OUTPUT_FAIL_ON);
}
const struct cli_choices choices_level = { level_at };

static bool format_at(size_t i, struct cli_choice *out)
{
	const struct report_format *f = report_format_at(i);
	return row(out, f ? f->name : NULL, f ? f->about : NULL, false);
}
const struct cli_choices choices_format = { format_at };
