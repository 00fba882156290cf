// SPDX-License-Identifier: BSD-3-Clause
/* A hash table of one-line buckets with a lock each, as research prototypes have it: absolute pointers into a pool that is always mapped at
   one address, flushes by hand, macros for what differs. Threads would take the lock of the first bucket of a chain.

     line 0: magic      line 1: top, the number of buckets in use      4096: TABLE_SIZE first buckets, then those of the chains

   An entry is valid if its key is not 0; the key is stored last, in the same line as the value. A chain grows by one bucket, which is
   complete before the pointer to it is. Locks and versions mean nothing after a crash: recovery clears them. */
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

#include "common/corpus.h"
#include "holdfast.h"

#define MAGIC 0x3174656b63756262ULL
#define POOL_ADDR ((void *)0x210000000000ULL)
#define TABLE_SIZE 16
#define MAX_NODES 256
#define ENTRIES 3
#define CACHE_LINE_SIZE 64
#define INVALID 0ULL

#define CPU_BARRIER() asm volatile("mfence" ::: "memory")
#define FOREACH_ENTRY(node, i) for (; node != NULL; node = node->next) for (int i = 0; i < ENTRIES; i++)

typedef uint64_t Key_t;
typedef uint64_t Value_t;

namespace hash_pm {

/* clflush is ordered with stores to the same line and with other clflush: what it writes back is persistent when the next
   one begins, so no fence is wanted around it. */
inline void clflush(const void *data, size_t len)
{
    char *ptr = (char *)((uintptr_t)data & ~(uintptr_t)(CACHE_LINE_SIZE - 1));
#ifdef BUG_BUCKETS_BARRIER
    CPU_BARRIER(); /* BUG(buckets-barrier) */
#endif
    for (; ptr < (char *)data + len; ptr += CACHE_LINE_SIZE)
        asm volatile("clflush %0" : "+m"(*(volatile char *)ptr) : : "memory");
}

inline void clwb(const void *data)
{
    asm volatile("clwb %0" : "+m"(*(volatile char *)data) : : "memory");
}

} // namespace hash_pm

struct Entry {
    Key_t key;
    Value_t value;
};

struct alignas(CACHE_LINE_SIZE) Node {
    std::atomic<uint32_t> lock;
    std::atomic<uint32_t> version;
    Entry entry[ENTRIES];
    Node *next;
};

struct Pool {
    alignas(CACHE_LINE_SIZE) uint64_t magic;
    alignas(CACHE_LINE_SIZE) uint64_t top;
    alignas(4096) Node table[MAX_NODES];
};

class Lock {
    Node *node;

public:
    explicit Lock(Node *n) : node(n)
    {
#if defined(BUG_BUCKETS_LOCK_TRANSIENT) || defined(TRAP_BUCKETS_LOCK)
        uint32_t unlocked = 0;
        while (!node->lock.compare_exchange_weak(unlocked, 1)) /* TRAP(buckets-lock) */
            unlocked = 0;
#endif
    }
    ~Lock()
    {
#if defined(BUG_BUCKETS_LOCK_TRANSIENT) || defined(TRAP_BUCKETS_LOCK)
        node->lock.store(0, std::memory_order_release); /* BUG(buckets-lock-transient) */
#endif
#ifdef TRAP_BUCKETS_VERSION
        node->version.fetch_add(1); /* TRAP(buckets-version) */
#endif
        (void)node;
    }
};

class HashTable {
    Pool *pool;

    static void put_entry(Entry *e, Key_t key, Value_t value)
    {
        *(volatile Value_t *)&e->value = value;
        *(volatile Key_t *)&e->key = key;
    }

    Node *head(Key_t key) const { return &pool->table[(key * 0x9e3779b97f4a7c15ULL) >> 60]; }

    Entry *find(Key_t key) const
    {
        Node *n = head(key);
        FOREACH_ENTRY(n, i)
            if (n->entry[i].key == key)
                return &n->entry[i];
        return NULL;
    }

    bool grow(Node *last, Key_t key, Value_t value)
    {
        uint64_t top = pool->top;
        if (top == MAX_NODES)
            return false;
        Node *fresh = &pool->table[top];
        *(volatile uint64_t *)&pool->top = top + 1; /* BUG(buckets-top-unpersisted) */
#ifndef BUG_BUCKETS_TOP_UNPERSISTED
        hash_pm::clflush(&pool->top, sizeof(pool->top));
#endif
#ifdef BUG_BUCKETS_LINK_FIRST
        *(Node *volatile *)&last->next = fresh; /* BUG(buckets-link-first) */
        hash_pm::clflush(&last->next, sizeof(last->next));
        put_entry(&fresh->entry[0], key, value);
        hash_pm::clflush(fresh, sizeof(*fresh));
#else
        *(volatile Value_t *)&fresh->entry[0].value = value; /* BUG(buckets-node-published) */
        *(volatile Key_t *)&fresh->entry[0].key = key;
#ifndef BUG_BUCKETS_NODE_PUBLISHED
        hash_pm::clflush(fresh, sizeof(*fresh));
#endif
        *(Node *volatile *)&last->next = fresh;
        hash_pm::clflush(&last->next, sizeof(last->next));
#endif
        return true;
    }

public:
    explicit HashTable(Pool *p) : pool(p)
    {
        if (pool->top < TABLE_SIZE) {
            *(volatile uint64_t *)&pool->top = TABLE_SIZE;
            hash_pm::clflush(&pool->top, sizeof(pool->top));
        }
        for (uint64_t i = 0; i < pool->top && i < MAX_NODES; i++) {
#if defined(TRAP_BUCKETS_VERSION)
            pool->table[i].version.store(0, std::memory_order_relaxed);
#endif
#if defined(BUG_BUCKETS_LOCK_TRANSIENT) || defined(TRAP_BUCKETS_LOCK)
            pool->table[i].lock.store(0, std::memory_order_relaxed);
#endif
        }
    }
    ~HashTable() { corpus_pool_unmap(pool, sizeof(Pool)); }

    corpus_result get(Key_t key, Value_t *out) const
    {
        Entry *e = find(key);
        if (!e)
            return CORPUS_NONE;
        *out = e->value;
        return CORPUS_VALUE;
    }

    corpus_result update(Key_t key, Value_t value, Value_t *out)
    {
        Lock guard(head(key));
        Entry *e = find(key);
        if (!e)
            return CORPUS_NONE;
        *out = e->value;
#ifdef BUG_BUCKETS_UPDATE_COPY
        for (Node *n = head(key); n != NULL; n = n->next)
            for (int i = 0; i < ENTRIES; i++)
                if (n->entry[i].key == INVALID) {
                    put_entry(&n->entry[i], key, value); /* BUG(buckets-update-copy) */
                    hash_pm::clflush(&n->entry[i], sizeof(Entry));
                    *(volatile Key_t *)&e->key = INVALID;
                    hash_pm::clflush(&e->key, sizeof(e->key));
                    return CORPUS_OLD;
                }
#endif
        *(volatile Value_t *)&e->value = value; /* BUG(buckets-update-unfenced) */
#ifdef BUG_BUCKETS_UPDATE_UNFENCED
        hash_pm::clwb(&e->value);
#else
        hash_pm::clflush(&e->value, sizeof(e->value));
#endif
        return CORPUS_OLD;
    }

    corpus_result insert(Key_t key, Value_t value)
    {
        Lock guard(head(key));
        Node *n = head(key), *last = NULL;
        for (; n != NULL; last = n, n = n->next)
            for (int i = 0; i < ENTRIES; i++)
                if (n->entry[i].key == INVALID) {
                    put_entry(&n->entry[i], key, value);
                    hash_pm::clflush(&n->entry[i], sizeof(Entry));
#ifdef BUG_BUCKETS_FIELD_BY_FIELD
                    hash_pm::clflush(&n->entry[i].key, sizeof(Key_t)); /* BUG(buckets-field-by-field) */
#endif
                    return CORPUS_NEW;
                }
        return grow(last, key, value) ? CORPUS_NEW : CORPUS_FULL;
    }

    corpus_result remove(Key_t key, Value_t *out)
    {
        Lock guard(head(key));
        Entry *e = find(key);
        if (!e)
            return CORPUS_NONE;
        *out = e->value;
        *(volatile Key_t *)&e->key = INVALID; /* BUG(buckets-remove-unflushed) */
#ifndef BUG_BUCKETS_REMOVE_UNFLUSHED
        hash_pm::clflush(&e->key, sizeof(e->key));
#endif
        return CORPUS_OLD;
    }

    bool is_chained(Node *n) const
    {
        return n >= &pool->table[TABLE_SIZE] && n < &pool->table[MAX_NODES] && ((char *)n - (char *)pool->table) % sizeof(Node) == 0 &&
               (uint64_t)(n - pool->table) < pool->top;
    }

    void check() const
    {
        bool seen[MAX_NODES] = {};
        if (pool->top < TABLE_SIZE || pool->top > MAX_NODES)
            return corpus_wrong("%lu buckets are in use", pool->top);
        for (int b = 0; b < TABLE_SIZE; b++)
            for (Node *n = &pool->table[b]; n != NULL; n = n->next) {
                if (n != &pool->table[b] && (!is_chained(n) || seen[n - pool->table]))
                    return corpus_wrong("the chain of bucket %d leads to %p", b, (void *)n);
                seen[n - pool->table] = true;
                if (b != (n - pool->table) && n->entry[0].value == 0)
                    corpus_wrong("a bucket in the chain of %d was never filled", b);
                for (int i = 0; i < ENTRIES; i++)
                    if (n->entry[i].key != INVALID && (head(n->entry[i].key) != &pool->table[b] || n->entry[i].value == 0))
                        corpus_wrong("key %lu is damaged, or in the chain of %d", n->entry[i].key, b);
            }
    }
};

static void *ht_open(const char *path)
{
    int fresh;
    Pool *pool = (Pool *)corpus_pool_map(path, sizeof(Pool), MAGIC, POOL_ADDR, &fresh);
    if (!pool)
        return NULL;
    if (fresh) {
        *(volatile uint64_t *)&pool->magic = MAGIC;
        hash_pm::clflush(&pool->magic, sizeof(pool->magic));
    }
    return new HashTable(pool);
}

#define HT(store) ((HashTable *)store)
static void ht_close(void *store) { delete HT(store); }
static void ht_check(void *store) { HT(store)->check(); }
static corpus_result ht_get(void *store, Key_t key, Value_t *out) { return HT(store)->get(key, out); }
static corpus_result ht_del(void *store, Key_t key, Value_t *out) { return HT(store)->remove(key, out); }
static corpus_result ht_upd(void *store, Key_t key, Value_t value, Value_t *out) { return HT(store)->update(key, value, out); }
static corpus_result ht_put(void *store, Key_t key, Value_t value, Value_t *out)
{
    corpus_result r = HT(store)->update(key, value, out);
    return r == CORPUS_NONE ? HT(store)->insert(key, value) : r;
}

int main(int argc, char **argv)
{
    corpus_program program = {"buckets", ht_open, ht_close, ht_check, ht_put, ht_get, ht_del, ht_upd, NULL};
    return corpus_main(&program, argc, argv);
}
