// SPDX-License-Identifier: BSD-3-Clause
//
// A sorted, singly linked list in persistent memory: a header-only container in the style of large C++ code bases.
//
// The list is parameterized on its keys and values and on how it writes back cache lines. A node lies in a
// line of its own. A node that is not in the list is free: which ones are is found out by walking
// when the list is opened, so that the allocator has nothing persistent.

#ifndef CORPUS_RAW_SORTED_SORTED_LIST_HPP_
#define CORPUS_RAW_SORTED_SORTED_LIST_HPP_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sorted {

constexpr std::size_t kLineSize = 64;

// Calls visit(line) for every line that the object touches.
template <typename T, typename Visitor>
inline void ForEachLine(const T& object, Visitor&& visit) {
  const auto first = reinterpret_cast<std::uintptr_t>(&object);
  for (auto line = first & ~(kLineSize - 1); line < first + sizeof(T); line += kLineSize) {
    visit(reinterpret_cast<volatile char*>(line));
  }
}

// Writes lines back and keeps them in the cache.
class WriteBack {
 public:
  template <typename T>
  static void Push(const T& object) {
    ForEachLine(object, [](volatile char* line) { asm volatile("clwb %0" : "+m"(*line) : : "memory"); });
  }
  static void Drain() { asm volatile("sfence" : : : "memory"); }
};

// Writes lines back and evicts them.
class Evict {
 public:
  template <typename T>
  static void Push(const T& object) {
    ForEachLine(object, [](volatile char* line) { asm volatile("clflushopt %0" : "+m"(*line) : : "memory"); });
  }
  static void Drain() { asm volatile("sfence" : : : "memory"); }
};

// The policy as a function object: makes one thing persistent.
template <typename Policy>
struct Persist {
  template <typename T>
  void operator()(const T& object) const {
    Policy::Push(object);
    Policy::Drain();
  }
};

template <typename Key, typename Value, typename Policy>
class SortedList {
 public:
  using Index = std::uint64_t;  // of a node; 0 is none

  struct alignas(kLineSize) Node {
    Key key;
    Value value;
    Index next;
    Value check;  // of key and value
  };

  struct alignas(kLineSize) Root {
    Index first;
  };

  // Where the last search ended. It helps nobody after a restart.
  struct alignas(kLineSize) Statistics {
    Key last_key;
    std::uint64_t searches;
  };

  SortedList(Root* root, Statistics* statistics, Node* nodes, std::size_t count)
      : root_(root), statistics_(statistics), nodes_(nodes), used_(count + 1, false) {
    (void)statistics_;
    Walk([this](const Node& node) { used_[IndexOf(node)] = true; });
  }

  // The node of a key, or nullptr.
  Node* Find(const Key& key) {
    Index* link = Seek(key);
    Remember(key);
    return *link != 0 && At(*link).key == key ? &At(*link) : nullptr;
  }

  // False if there is no room. The key must not be there.
  bool Insert(const Key& key, const Value& value) {
    const Index index = Allocate();
    if (index == 0) return false;
    Index* link = Seek(key);
    Fill(&At(index), key, value, *link);
#if defined(BUG_SORTED_NODE_UNFLUSHED)
    Policy::Drain();
#elif defined(BUG_SORTED_LINK_EARLY)
    Policy::Push(At(index));
#elif defined(BUG_SORTED_PUSH_TWICE)
    Policy::Push(At(index));
    Persist<Policy>()(At(index)); /* BUG(sorted-push-twice) */
#else
    persist_(At(index));
#endif
    *const_cast<volatile Index*>(link) = index; /* BUG(sorted-link-early) */
    persist_(*link);
    return true;
  }

  // Replaces the value of a node. Both words are in one line, and are checked together: the copy is the newer
  // one if they differ (see Repair).
  void Assign(Node* node, const Value& value) {
#ifdef TRAP_SORTED_SAME_VALUE
    if (node->value == value) {
      *const_cast<volatile Value*>(&node->value) = value; /* TRAP(sorted-same-value) */
      return;
    }
#endif
    const Value check = Check(node->key, value);
    *const_cast<volatile Value*>(&node->value) = value;
    *const_cast<volatile Value*>(&node->check) = check; /* BUG(sorted-assign-undrained) */
#ifdef BUG_SORTED_ASSIGN_UNDRAINED
    Policy::Push(*node);
#else
    persist_(*node);
#endif
  }

  // The key must be there.
  void Erase(const Key& key) {
    Index* link = Seek(key);
    const Index index = *link;
    *const_cast<volatile Index*>(link) = At(index).next; /* BUG(sorted-erase-unpersisted) */
#ifndef BUG_SORTED_ERASE_UNPERSISTED
    persist_(*link);
#endif
#ifdef BUG_SORTED_ERASE_DRAIN
    Policy::Drain(); /* BUG(sorted-erase-drain) */
#endif
    used_[index] = false;
  }

  // Calls visit(node) for all nodes in order; false if the list does not end, or leaves the pool.
  template <typename Visitor>
  bool Walk(Visitor&& visit) const {
    std::size_t steps = 0;
    for (Index at = root_->first; at != 0; at = At(at).next) {
      if (at >= used_.size() || ++steps >= used_.size()) return false;
      visit(At(at));
    }
    return true;
  }

  // Recovery: a crash during Assign may leave the new value with the old check. The value counts.
  void Repair() {
    Walk([this](Node& node) {
      if (node.check != Check(node.key, node.value)) {
        *const_cast<volatile Value*>(&node.check) = Check(node.key, node.value);
        persist_(node);
      }
    });
  }

  static Value Check(const Key& key, const Value& value) {
    return (static_cast<Value>(key) * 0x9e3779b97f4a7c15u) ^ (value << 1);
  }

 private:
  Node& At(Index index) const { return nodes_[index - 1]; }
  Index IndexOf(const Node& node) const { return static_cast<Index>(&node - nodes_) + 1; }

  // The link to the first node whose key is not smaller.
  Index* Seek(const Key& key) const {
    Index* link = &root_->first;
    while (*link != 0 && At(*link).key < key) link = &At(*link).next;
    return link;
  }

  void Remember(const Key& key) {
#if defined(BUG_SORTED_STATISTICS) || defined(TRAP_SORTED_STATISTICS)
    *const_cast<volatile Key*>(&statistics_->last_key) = key; /* BUG(sorted-statistics) TRAP(sorted-statistics-volatile) */
#else
    (void)key;
#endif
  }

  Index Allocate() {
    for (Index index = 1; index < used_.size(); ++index) {
      if (!used_[index]) {
        used_[index] = true;
        return index;
      }
    }
    return 0;
  }

  static void Fill(Node* node, const Key& key, const Value& value, Index next) {
    Node fresh{};
    fresh.key = key;
    fresh.value = value;
    fresh.next = next;
    fresh.check = Check(key, value);
    auto* to = reinterpret_cast<volatile std::uint64_t*>(node);
    const auto* from = reinterpret_cast<const std::uint64_t*>(&fresh);
    for (std::size_t i = 0; i < sizeof(Node) / 16; ++i) {
      to[i] = from[i]; /* BUG(sorted-node-unflushed) */
    }
  }

  Root* root_;
  Statistics* statistics_;
  Node* nodes_;
  std::vector<bool> used_;
  Persist<Policy> persist_;
};

}  // namespace sorted

#endif  // CORPUS_RAW_SORTED_SORTED_LIST_HPP_
