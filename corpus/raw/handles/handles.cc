// SPDX-License-Identifier: BSD-3-Clause
/// A queue on smart handles. Assigning to a handle writes its line back; an epoch, while it is in scope, collects what was
/// written back and waits for it at its end. Flushing is a method, an operator and a destructor here, never a plain call.
///
///   0: magic   64: head, the offset of the oldest node   128: tail, only in a variant   4096: nodes, a line each
///
/// Nodes are linked when they are complete. A node that is not linked is free. The last one is found by walking.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "common/corpus.h"
#include "holdfast.h"

namespace pq
{
namespace detail
{
struct line_writer
{
    template <class T>
    auto operator()(T const & what) const noexcept -> void
    {
        asm volatile("clwb %0" : "+m"(*reinterpret_cast<volatile char *>(const_cast<T *>(&what))) : : "memory");
    }
};

inline constexpr line_writer write_back{};

inline auto wait() noexcept -> void
{
    asm volatile("sfence" : : : "memory");
}
} // namespace detail

/// Waits, at the end of its scope, for all that was written back in it.
class [[maybe_unused]] epoch
{
    static inline thread_local bool pending_ = false;

public:
    epoch() = default;
    epoch(epoch const &) = delete;
    auto operator=(epoch const &) -> epoch & = delete;

    ~epoch()
    {
        if (pending_)
            detail::wait();
        pending_ = false;
    }

    static auto note() noexcept -> void { pending_ = true; }
};

/// One word in persistent memory.
template <class T>
class handle
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) == 8);
    T volatile word_;

public:
    operator T() const noexcept { return word_; }

    auto operator=(T value) noexcept -> handle &
    {
        word_ = value; /* BUG(handles-temporary) BUG(handles-link-early) */
        flush();
        return *this;
    }

    /// Without writing it back.
    auto set(T value) noexcept -> void { word_ = value; }

    auto flush() const noexcept -> void
    {
        detail::write_back(*this);
        epoch::note();
    }
};

using offset = std::uint64_t;

class alignas(64) node
{
    handle<std::uint64_t> key_, value_;
    handle<offset> next_;
    handle<std::uint64_t> sum_;

    static auto sum(std::uint64_t k, std::uint64_t v, offset at) noexcept { return (k * 31 + v) * 0x9e3779b97f4a7c15u + at; }

public:
    auto key() const noexcept -> std::uint64_t { return key_; }
    auto value() const noexcept -> std::uint64_t { return value_; }
    auto next() noexcept -> handle<offset> & { return next_; }
    auto whole(offset at) const noexcept { return sum_ == sum(key_, value_, at); }

    auto fill(std::uint64_t k, std::uint64_t v, offset next, offset at) noexcept -> void
    {
        key_.set(k);
        value_.set(v);
        next_.set(next);
        sum_.set(sum(k, v, at));
#ifndef BUG_HANDLES_NODE_PUBLISHED
        key_.flush();
#endif
    }

    auto same(std::uint64_t v) noexcept -> void
    {
        value_.set(v); /* TRAP(handles-same) */
    }
};

struct root
{
    alignas(64) handle<std::uint64_t> magic;
    alignas(64) handle<offset> head;
    alignas(64) handle<offset> tail;
    alignas(64) handle<offset> saved; // only in variants: from here on all nodes are free; 0 if that is not known
};

class queue
{
    static constexpr std::uint64_t magic = 0x3173656c646e6168ull;
    static constexpr std::size_t nodes_start = 4096, capacity = 3072, size = nodes_start + capacity * sizeof(node);

    char * base_;
    root & root_;
    std::vector<offset> free_;
    offset last_ = 0;
    bool moved_ = false; // only in a variant: the head is not written back

    auto at(offset o) const noexcept -> node & { return *reinterpret_cast<node *>(base_ + o); }
    static auto valid(offset o) noexcept { return o >= nodes_start && o < size && o % sizeof(node) == 0; }
    static auto number(offset o) noexcept { return (o - nodes_start) / sizeof(node); }

    /// Visits the list until it ends; false if it leads astray.
    template <class F>
    auto walk(F && visit) const -> bool
    {
        std::vector<bool> seen(capacity);
        for (offset o = root_.head; o != 0; o = at(o).next())
        {
            if (!valid(o) || seen[number(o)])
                return false;
            seen[number(o)] = true;
            visit(o);
        }
        return true;
    }

    auto point_tail() noexcept -> void
    {
#if defined(BUG_HANDLES_TAIL) || defined(TRAP_HANDLES_TAIL)
        root_.tail.set(last_); /* BUG(handles-tail) TRAP(handles-tail-rebuilt) */
#endif
    }

    explicit queue(char * base) : base_(base), root_(*reinterpret_cast<root *>(base))
    {
        std::vector<bool> used(capacity);
        walk([&](offset o) {
            used[number(o)] = true;
            last_ = o;
        });
#if defined(BUG_HANDLES_SAVED_STALE) || defined(TRAP_HANDLES_SAVED)
        if (offset const saved = root_.saved; saved != 0 && valid(saved))
            used.assign(capacity, false), std::fill_n(used.begin(), number(saved), true);
#endif
        for (auto i = capacity; i-- > 0;)
            if (!used[i])
                free_.push_back(nodes_start + i * sizeof(node));
        point_tail();
        forget();
    }

    /// What was saved is not true any more.
    auto forget() noexcept -> void
    {
#if defined(BUG_HANDLES_SAVED_STALE)
        root_.saved.set(0); /* BUG(handles-saved-stale) */
#elif defined(TRAP_HANDLES_SAVED)
        epoch of_saved;
        root_.saved = 0; /* TRAP(handles-saved) */
#endif
    }

    /// Spares the next one to open the pool the search.
    auto save() noexcept -> void
    {
#if defined(BUG_HANDLES_SAVED_STALE) || defined(TRAP_HANDLES_SAVED)
        offset end = nodes_start;
        walk([&](offset o) { end = o >= end ? o + sizeof(node) : end; });
        epoch of_saved;
        root_.saved = end < size ? end : 0;
#endif
    }

    /// Writes the head back that pop() has moved.
    auto settle() noexcept -> void
    {
        if (!moved_)
            return;
        epoch of_head;
        root_.head.flush();
        moved_ = false;
    }

public:
    ~queue()
    {
        settle();
        save();
        corpus_pool_unmap(base_, size);
    }

    static auto open(char const * path) -> std::unique_ptr<queue>
    {
        int fresh = 0;
        auto * base = static_cast<char *>(corpus_pool_map(path, size, magic, nullptr, &fresh));
        if (!base)
            return nullptr;
        if (fresh)
        {
#if defined(BUG_HANDLES_SAVED_STALE) || defined(TRAP_HANDLES_SAVED)
            {
                epoch first;
                reinterpret_cast<root *>(base)->saved = nodes_start;
            }
#endif
            epoch here;
            reinterpret_cast<root *>(base)->magic = magic;
        }
        return std::unique_ptr<queue>(new queue(base));
    }

    auto push(std::uint64_t k, std::uint64_t v) -> bool
    {
        if (free_.empty())
            return false;
        settle();
        auto const fresh = free_.back();
        auto & link = last_ ? at(last_).next() : root_.head;
        free_.pop_back();
#ifdef BUG_HANDLES_LINK_EARLY
        epoch both;
        at(fresh).fill(k, v, 0, fresh);
        link = fresh;
#else
        {
            epoch of_node;
            at(fresh).fill(k, v, 0, fresh); /* BUG(handles-node-published) */
        }
#ifdef BUG_HANDLES_WAIT
        detail::wait(); /* BUG(handles-wait) */
#endif
        epoch of_link;
        link = fresh;
#ifdef BUG_HANDLES_FLUSH_AGAIN
        link.flush(); /* BUG(handles-flush-again) */
#endif
#endif
        last_ = fresh;
        point_tail();
        return true;
    }

    auto front() const -> node * { return root_.head ? &at(root_.head) : nullptr; }

    auto pop() -> void
    {
        offset const old = root_.head, next = at(old).next();
#if defined(BUG_HANDLES_TEMPORARY)
        epoch(); // ends at once
        root_.head = next;
#elif defined(BUG_HANDLES_POP_LAZY)
        settle();
        root_.head.set(next); /* BUG(handles-pop-lazy) */
        moved_ = true;
#elif defined(BUG_HANDLES_SETTER)
        root_.head.set(next); /* BUG(handles-setter) */
#else
        epoch of_head;
        root_.head = next;
#endif
        if (last_ == old)
            last_ = 0;
        point_tail();
        free_.insert(free_.begin(), old);
    }

    /// A new node takes the place of the oldest.
    auto replace(std::uint64_t v) -> bool
    {
        offset const old = root_.head, next = at(old).next();
#ifdef TRAP_HANDLES_SAME
        if (v == at(old).value())
            return at(old).same(v), true;
#endif
        if (free_.empty())
            return false;
        settle();
        auto const fresh = free_.back();
        free_.pop_back();
#ifdef BUG_HANDLES_REPLACE_TWO
        {
            epoch without;
            root_.head = next; /* BUG(handles-replace-two) */
        }
#endif
        {
            epoch of_node;
            at(fresh).fill(at(old).key(), v, next, fresh);
        }
        {
            epoch of_head;
            root_.head = fresh;
        }
        if (last_ == old)
            last_ = fresh;
        point_tail();
        free_.insert(free_.begin(), old);
        return true;
    }

    auto check() const -> void
    {
        if (!walk([&](offset o) {
                if (!at(o).whole(o))
                    corpus_wrong("the node at 0x%lx is damaged", o);
            }))
            corpus_wrong("the list leads astray");
    }

    auto list(std::size_t n, corpus_pair * out) const -> std::size_t
    {
        std::size_t count = 0;
        walk([&](offset o) {
            if (count < n)
                out[count++] = {at(o).key(), at(o).value()};
        });
        return count;
    }
};

auto self(void * store) -> queue & { return *static_cast<queue *>(store); }

auto put(void * store, std::uint64_t k, std::uint64_t v, std::uint64_t *) -> corpus_result
{
    return self(store).push(k, v) ? CORPUS_NEW : CORPUS_FULL;
}

auto get(void * store, std::uint64_t, std::uint64_t * out) -> corpus_result
{
    auto const * front = self(store).front();
    if (!front)
        return CORPUS_NONE;
    *out = front->value();
    return CORPUS_VALUE;
}

auto del(void * store, std::uint64_t k, std::uint64_t * out) -> corpus_result
{
    if (get(store, k, out) == CORPUS_NONE)
        return CORPUS_NONE;
    self(store).pop();
    return CORPUS_OLD;
}

auto upd(void * store, std::uint64_t k, std::uint64_t v, std::uint64_t * out) -> corpus_result
{
    if (get(store, k, out) == CORPUS_NONE)
        return CORPUS_NONE;
    return self(store).replace(v) ? CORPUS_OLD : CORPUS_FULL;
}
} // namespace pq

int main(int argc, char ** argv)
{
    corpus_program const program = {"handles",
                                    [](char const * path) -> void * { return pq::queue::open(path).release(); },
                                    [](void * store) { delete &pq::self(store); },
                                    [](void * store) { pq::self(store).check(); },
                                    pq::put,
                                    pq::get,
                                    pq::del,
                                    pq::upd,
                                    [](void * store, std::uint64_t, std::size_t n, corpus_pair * out) { return pq::self(store).list(n, out); }};
    return corpus_main(&program, argc, argv);
}
