// SPDX-License-Identifier: BSD-3-Clause
//
// A store on two instances of a header-only list: even keys are in one, which writes lines back, odd keys in the other,
// which evicts them.
//
//   line 0  magic    line 1, 2  first node of each list    line 3, 4  statistics    4096  nodes of one, then of the other

#include <memory>

#include "common/corpus.h"
#include "holdfast.h"
#include "raw/sorted/sorted_list.hpp"

namespace {

constexpr std::uint64_t kMagic = 0x316465747230736full;
constexpr std::size_t kNodes = 160;
constexpr std::size_t kNodesStart = 4096;

using EvenList = sorted::SortedList<std::uint64_t, std::uint64_t, sorted::WriteBack>;
using OddList = sorted::SortedList<std::uint64_t, std::uint64_t, sorted::Evict>;

struct Header {
  alignas(64) std::uint64_t magic;
  EvenList::Root even;
  OddList::Root odd;
  EvenList::Statistics even_statistics;
  OddList::Statistics odd_statistics;
};

constexpr std::size_t kPoolSize = kNodesStart + 2 * kNodes * sizeof(EvenList::Node);

class Store {
 public:
  explicit Store(void* base)
      : base_(base),
        header_(static_cast<Header*>(base)),
        even_(&header_->even, &header_->even_statistics, reinterpret_cast<EvenList::Node*>(Nodes()), kNodes),
        odd_(&header_->odd, &header_->odd_statistics, reinterpret_cast<OddList::Node*>(Nodes() + kNodes * sizeof(OddList::Node)),
             kNodes) {
#ifdef TRAP_SORTED_STATISTICS
    HOLDFAST_VOLATILE(&header_->even_statistics, sizeof(header_->even_statistics));
    HOLDFAST_VOLATILE(&header_->odd_statistics, sizeof(header_->odd_statistics));
#endif
  }
  ~Store() { corpus_pool_unmap(base_, kPoolSize); }

  // Calls use(list) with the list that a key belongs to.
  template <typename Use>
  auto With(std::uint64_t key, Use&& use) {
    return key % 2 == 0 ? use(even_) : use(odd_);
  }

  template <typename List>
  static void Verify(const List& list, std::uint64_t parity) {
    std::uint64_t before = 0;
    const bool ends = list.Walk([&](const typename List::Node& node) {
      if (node.key <= before) corpus_wrong("key %lu is out of order", node.key);
      if (node.key % 2 != parity) corpus_wrong("key %lu is in the wrong list", node.key);
      if (node.check != List::Check(node.key, node.value)) corpus_wrong("the node of key %lu is damaged", node.key);
      before = node.key;
    });
    if (!ends) corpus_wrong("the list of keys with remainder %lu is broken", parity);
  }

  void Verify() const {
    Verify(even_, 0);
    Verify(odd_, 1);
  }

  void Recover() {
    even_.Repair();
    odd_.Repair();
  }

 private:
  char* Nodes() const { return static_cast<char*>(base_) + kNodesStart; }

  void* base_;
  Header* header_;
  EvenList even_;
  OddList odd_;
};

void* Open(const char* path) {
  int fresh = 0;
  void* base = corpus_pool_map(path, kPoolSize, kMagic, nullptr, &fresh);
  if (base == nullptr) return nullptr;
  if (fresh) {
    auto* header = static_cast<Header*>(base);
    *const_cast<volatile std::uint64_t*>(&header->magic) = kMagic;
    sorted::Persist<sorted::WriteBack>()(header->magic);
  }
  auto store = std::make_unique<Store>(base);
  store->Recover();
  return store.release();
}

void Close(void* store) { delete static_cast<Store*>(store); }

void Verify(void* store) { static_cast<Store*>(store)->Verify(); }

corpus_result Get(void* store, std::uint64_t key, std::uint64_t* out) {
  return static_cast<Store*>(store)->With(key, [&](auto& list) {
    const auto* node = list.Find(key);
    if (node == nullptr) return CORPUS_NONE;
    *out = node->value;
    return CORPUS_VALUE;
  });
}

corpus_result Update(void* store, std::uint64_t key, std::uint64_t value, std::uint64_t* out) {
  return static_cast<Store*>(store)->With(key, [&](auto& list) {
    auto* node = list.Find(key);
    if (node == nullptr) return CORPUS_NONE;
    *out = node->value;
    list.Assign(node, value);
    return CORPUS_OLD;
  });
}

corpus_result Put(void* store, std::uint64_t key, std::uint64_t value, std::uint64_t* out) {
  const corpus_result result = Update(store, key, value, out);
  if (result != CORPUS_NONE) return result;
#ifdef BUG_SORTED_DEFAULT_FIRST
  const bool done = static_cast<Store*>(store)->With(key, [&](auto& list) {
    if (!list.Insert(key, {})) return false; /* BUG(sorted-default-first) */
    list.Assign(list.Find(key), value);
    return true;
  });
#else
  const bool done = static_cast<Store*>(store)->With(key, [&](auto& list) { return list.Insert(key, value); });
#endif
  return done ? CORPUS_NEW : CORPUS_FULL;
}

corpus_result Delete(void* store, std::uint64_t key, std::uint64_t* out) {
  return static_cast<Store*>(store)->With(key, [&](auto& list) {
    const auto* node = list.Find(key);
    if (node == nullptr) return CORPUS_NONE;
    *out = node->value;
    list.Erase(key);
    return CORPUS_OLD;
  });
}

}  // namespace

int main(int argc, char** argv) {
  const corpus_program program = {"sorted", Open, Close, Verify, Put, Get, Delete, Update, nullptr};
  return corpus_main(&program, argc, argv);
}
