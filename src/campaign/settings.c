/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings: given, kept, and compared when a campaign is resumed.
 *
 * They share a table with the counters that `holdfast status` shows, and one of these has the name
 * of a setting, "points". So this setting has another key; where a campaign that is older than
 * this key has been run, the number of points is all that is left.
 */
#include <stdlib.h>
#include <string.h>

#include "campaign/internal.h"

static struct campaign_setting *find(const struct campaign_settings *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->p[i].name, name) == 0)
			return &s->p[i];
	return NULL;
}

void campaign_settings_put(struct campaign_settings *s, const char *name, const char *text)
{
	struct campaign_setting *old = find(s, name);
	if (!old) {
		VEC_PUSH(s, ((struct campaign_setting){ .name = xstrdup(name) }));
		old = &s->p[s->n - 1];
	}
	free(old->text);
	old->text = xstrdup(text);
}

const char *campaign_settings_get(const struct campaign_settings *s, const char *name)
{
	const struct campaign_setting *found = find(s, name);
	return found ? found->text : NULL;
}

void campaign_settings_copy(struct campaign_settings *to, const struct campaign_settings *from)
{
	for (size_t i = 0; i < from->n; i++)
		campaign_settings_put(to, from->p[i].name, from->p[i].text);
}

void campaign_settings_free(struct campaign_settings *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->p[i].name);
		free(s->p[i].text);
	}
	VEC_FREE(s);
}

#define POINTS_KEY "crash-points"

static const char *key_of(const char *name)
{
	return strcmp(name, "points") == 0 ? POINTS_KEY : name;
}

static const char *kept_text(struct campaign_db *db, const char *name)
{
	const char *key = key_of(name), *text = campaign_db_get(db, key);
	if (text || key == name)
		return text;
	text = campaign_db_get(db, name);
	return text && strspn(text, "0123456789") == strlen(text) ? NULL : text;
}

int campaign_settings_save(struct campaign_db *db, const struct campaign_settings *s,
			   struct err *err)
{
	for (size_t i = 0; i < s->n; i++)
		if (campaign_db_set(db, key_of(s->p[i].name), s->p[i].text, err))
			return -1;
	return 0;
}

int campaign_settings_resume(struct campaign_db *db, const char *name, const char *what,
			     struct campaign_settings *s, struct err *err)
{
	const char *kept = kept_text(db, name), *given = campaign_settings_get(s, name);
	if (given && (!kept || strcmp(given, kept) != 0))
		return err_set(err, EXIT_USAGE,
			       "--%s is '%s' in this %s; start another with --fresh", name,
			       kept ? kept : "", what);
	if (kept && !given)
		campaign_settings_put(s, name, kept);
	return 0;
}
