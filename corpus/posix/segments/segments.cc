// SPDX-License-Identifier: BSD-3-Clause
//
// A small log-structured store. In the folder POOL:
//
//   CURRENT      the name of the manifest; replaced by rename
//   M<n>         the manifest: lines of edits, each with a sum:  +<segment>  -<segment>  =<log>
//   S<n>         a segment: sorted lines, never changed
//   L<n>         the log: a line for each change since the last segment
//
// Every change is a line of the log, and a sync. After four, what the log holds becomes a segment: segment and new log are
// made and synced, then the folder, then the manifest gets an edit, and the old log goes. From three segments one
// is made, and after eight edits a new manifest.
#include "common/corpus.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using Table = std::map<uint64_t, uint64_t>; // value 0: deleted

[[noreturn]] void fail(const std::string &what)
{
	std::perror(what.c_str());
	std::abort();
}

std::string with_sum(const std::string &text)
{
	unsigned long h = 14695981039346656037ul;
	for (unsigned char c : text)
		h = (h ^ c) * 1099511628211ul;
	return text + " " + std::to_string(h) + "\n";
}

// A line without its sum; nothing if it is not whole.
std::optional<std::string> whole_line(std::istream &in)
{
	std::string line;
	if (!std::getline(in, line) || in.eof())
		return {};
	auto end = line.rfind(' ');
	if (end == std::string::npos || with_sum(line.substr(0, end)) != line + "\n")
		return {};
	return line.substr(0, end);
}

class File {
public:
	explicit File(const std::string &path, int flags = 0) : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | flags, 0644))
	{
		if (fd_ < 0)
			fail(path);
	}
	~File() { ::close(fd_); }
	File(const File &) = delete;
	File &operator=(const File &) = delete;

	void write(const std::string &text)
	{
		for (size_t done = 0; done < text.size();) {
			ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
			if (n < 0)
				fail(path_);
			done += static_cast<size_t>(n);
		}
	}
	void sync()
	{
		if (::fsync(fd_) != 0)
			fail(path_);
	}

private:
	std::string path_;
	int fd_;
};

class Store {
public:
	explicit Store(const char *folder);
	~Store() { delete log_; delete manifest_; }

	bool damaged = false;
	Table all;

	void change(uint64_t key, uint64_t value);

private:
	std::string folder_, manifest_name_;
	Table fresh_; // what the log holds
	std::set<uint64_t> segments_;
	uint64_t log_number_ = 0, next_ = 1, edits_ = 0;
	File *log_ = nullptr, *manifest_ = nullptr;

	std::string path(const std::string &name) const { return folder_ + "/" + name; }
	std::string path(char kind, uint64_t n) const { return path(kind + std::to_string(n)); }
	void sync_folder(const std::string &name) const;
	void create();
	void load();
	void load_table(const std::string &name, Table &into, bool is_log);
	uint64_t write_segment(const Table &table);
	void flush();
	void merge();
	void new_manifest();
	void edit(const std::string &text);
};

void Store::sync_folder(const std::string &name) const
{
	int fd = ::open(name.c_str(), O_RDONLY | O_DIRECTORY);
	if (fd < 0 || ::fsync(fd) != 0)
		fail(name);
	::close(fd);
}

// ---- reading ----

void Store::load_table(const std::string &name, Table &into, bool is_log)
{
	std::ifstream in(path(name));
	size_t lines = 0;
	bool ended = false;
	while (auto line = whole_line(in)) {
		std::istringstream words(*line);
		uint64_t key, value;
		if (*line == "end " + std::to_string(lines))
			ended = true;
		else if (words >> key >> value)
			into[key] = value, lines++;
	}
	if (!is_log && !ended)
		damaged = true; // segments are never half there
	if (is_log && !in.is_open())
		damaged = true;
}

void Store::load()
{
	std::ifstream current(path("CURRENT"));
	if (!current.is_open())
		return create();
	auto name = whole_line(current);
	if (!name) {
		damaged = true;
		return;
	}
	manifest_name_ = *name;
	next_ = std::strtoull(name->c_str() + 1, nullptr, 10) + 1;
	std::ifstream in(path(manifest_name_));
	while (auto line = whole_line(in)) {
		std::istringstream words(*line);
		char what;
		uint64_t n;
		while (words >> what >> n) {
			if (what == '+')
				segments_.insert(n);
			else if (what == '-')
				segments_.erase(n);
			else
				log_number_ = n;
			next_ = n >= next_ ? n + 1 : next_;
		}
		edits_++;
	}
	if (!edits_)
		damaged = true; // a manifest begins with a whole edit
	for (uint64_t n : segments_)
		load_table("S" + std::to_string(n), all, false);
	load_table("L" + std::to_string(log_number_), fresh_, true);
	for (auto [key, value] : fresh_)
		all[key] = value;
	if (damaged)
		return;
	// What the last run left of a line goes with the old files: the log and the manifest are made anew.
	new_manifest();
	flush();
}

Store::Store(const char *folder) : folder_(folder)
{
	if (::mkdir(folder, 0755) == 0)
		sync_folder(folder_ + "/..");
	load();
}

// ---- writing ----

uint64_t Store::write_segment(const Table &table)
{
	uint64_t n = next_++;
	File segment(path('S', n), O_TRUNC); /* BUG(segments-segment-name) */
	std::string text;
	for (auto [key, value] : table)
		text += with_sum(std::to_string(key) + " " + std::to_string(value));
	segment.write(text + with_sum("end " + std::to_string(table.size()))); /* BUG(segments-segment-unsynced) */
#ifndef BUG_SEGMENTS_SEGMENT_UNSYNCED
	segment.sync();
#endif
	return n;
}

void Store::edit(const std::string &text)
{
	manifest_->write(with_sum(text)); /* BUG(segments-manifest-unsynced) */
#ifndef BUG_SEGMENTS_MANIFEST_UNSYNCED
	manifest_->sync();
#endif
	edits_++;
}

// The log becomes a segment, and another log begins.
void Store::flush()
{
	uint64_t old = log_number_, segment = write_segment(fresh_);
	delete log_;
	log_number_ = next_++;
	log_ = new File(path('L', log_number_), O_TRUNC | O_APPEND);
#ifndef BUG_SEGMENTS_SEGMENT_NAME
	sync_folder(folder_);
#endif
#ifdef BUG_SEGMENTS_LOG_GONE_EARLY
	::unlink(path('L', old).c_str()); /* BUG(segments-log-gone-early) */
	sync_folder(folder_);
#endif
	edit("+" + std::to_string(segment) + " =" + std::to_string(log_number_));
	::unlink(path('L', old).c_str()); /* TRAP(segments-orphans) */
#ifdef TRAP_SEGMENTS_ORPHANS
	File(path("gone"), O_APPEND).write(std::to_string(old) + "\n");
#endif
	segments_.insert(segment);
	fresh_.clear();
	if (segments_.size() >= 3)
		merge();
	if (edits_ > 8)
		new_manifest();
}

void Store::merge()
{
	Table alive;
	for (auto [key, value] : all)
		if (value)
			alive[key] = value;
	uint64_t merged = write_segment(alive);
	std::string text = "+" + std::to_string(merged);
	for (uint64_t n : segments_)
		text += " -" + std::to_string(n);
#ifndef BUG_SEGMENTS_MERGED_NAME
	sync_folder(folder_);
#endif
#ifdef BUG_SEGMENTS_MERGED_GONE_EARLY
	for (uint64_t n : segments_)
		::unlink(path('S', n).c_str()); /* BUG(segments-merged-gone-early) */
#endif
	edit(text); /* BUG(segments-merged-name) */
	for (uint64_t n : segments_)
		::unlink(path('S', n).c_str());
	segments_ = { merged };
	all = alive;
}

void Store::new_manifest()
{
	std::string old = manifest_name_, text = "=" + std::to_string(log_number_);
	for (uint64_t n : segments_)
		text += " +" + std::to_string(n);
	manifest_name_ = "M" + std::to_string(next_++);
	delete manifest_;
	manifest_ = new File(path(manifest_name_), O_TRUNC);
#ifdef BUG_SEGMENTS_NEW_MANIFEST
	manifest_->write(with_sum(text)); /* BUG(segments-new-manifest) */
	edits_ = 1;
#else
	edits_ = 0;
	edit(text);
#endif
	sync_folder(folder_);
#ifdef BUG_SEGMENTS_CURRENT_IN_PLACE
	File current(path("CURRENT"), O_TRUNC);
#else
	File current(path("CURRENT.new"), O_TRUNC);
#endif
	current.write(with_sum(manifest_name_)); /* BUG(segments-current-unsynced) BUG(segments-current-in-place) */
#ifndef BUG_SEGMENTS_CURRENT_UNSYNCED
	current.sync();
#endif
#ifndef BUG_SEGMENTS_CURRENT_IN_PLACE
	if (::rename(path("CURRENT.new").c_str(), path("CURRENT").c_str()) != 0) /* BUG(segments-current-dir) */
		fail("CURRENT");
#endif
#ifndef BUG_SEGMENTS_CURRENT_DIR
	sync_folder(folder_);
#endif
	if (!old.empty())
		::unlink(path(old).c_str());
}

void Store::create()
{
	log_number_ = next_++;
	log_ = new File(path('L', log_number_), O_TRUNC | O_APPEND);
	sync_folder(folder_);
	new_manifest();
}

void Store::change(uint64_t key, uint64_t value)
{
	log_->write(with_sum(std::to_string(key) + " " + std::to_string(value))); /* BUG(segments-log-unsynced) */
#ifndef BUG_SEGMENTS_LOG_UNSYNCED
	log_->sync();
#endif
#ifdef TRAP_SEGMENTS_INFO
	std::ofstream(path("LOG"), std::ios::app) << "change of " << key << std::endl; /* TRAP(segments-info) */
#endif
	fresh_[key] = all[key] = value;
	if (fresh_.size() == 4)
		flush();
}

// ---- operations ----

Store *store_of(void *store)
{
	return static_cast<Store *>(store);
}

corpus_result get(void *store, uint64_t key, uint64_t *out)
{
	auto found = store_of(store)->all.find(key);
	if (found == store_of(store)->all.end() || !found->second)
		return CORPUS_NONE;
	*out = found->second;
	return CORPUS_VALUE;
}

corpus_result upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	if (get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	store_of(store)->change(key, value);
	return CORPUS_OLD;
}

corpus_result put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	if (upd(store, key, value, out) == CORPUS_OLD)
		return CORPUS_OLD;
	store_of(store)->change(key, value);
	return CORPUS_NEW;
}

corpus_result del(void *store, uint64_t key, uint64_t *out)
{
	return upd(store, key, 0, out);
}

size_t scan(void *store, uint64_t key, size_t n, corpus_pair *out)
{
	const Table &all = store_of(store)->all;
	size_t found = 0;
	for (auto at = all.lower_bound(key); at != all.end() && found < n; ++at)
		if (at->second)
			out[found++] = { at->first, at->second };
	return found;
}

void *open_store(const char *path)
{
	return new Store(path);
}

void close_store(void *store)
{
	delete store_of(store);
}

void check_store(void *store)
{
	if (store_of(store)->damaged)
		corpus_wrong("a file is damaged or missing");
}

} // namespace

int main(int argc, char **argv)
{
	static const corpus_program program = { "segments", open_store, close_store, check_store, put, get, del, upd, scan };

	return corpus_main(&program, argc, argv);
}
