/* SPDX-License-Identifier: BSD-3-Clause */
/* In GNU's style, with macros of instructions, which are no expressions and flush one line. */
/* clang-format off */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define CLWB(at) asm volatile ("clwb (%0)" :: "r" ((const char *) (at)) : "memory")
#define SFENCE() asm volatile ("sfence" ::: "memory")

struct node
{
  uint64_t key, value;
  unsigned live : 1, color : 6;
  char pad[40];
} __attribute__ ((aligned (64)));

static struct node *node;

static void
choose (int which, uint64_t v)
{
  which ? (node[1].value = v) : (node[2].value = v);
}

static int
test (uint64_t v)
{
  if ((node[3].value = v) == 3)
    return 1;
  return 0;
}

static void
copy (int i, const struct node *from)
{
  if (i > 60) return;
  node[i] = *from;
}

int
main (int argc, char **argv)
{
  struct node other = { .key = 7, .live = 1 };
  int fd = argc > 1 ? open (argv[1], O_RDWR | O_CREAT, 0600) : -1;
  if (fd < 0 || ftruncate (fd, 4096))
    return 2;
  node = mmap (NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (node == MAP_FAILED)
    return 2;
  for (int i = 0; i < 8; i++)
    {
      node[i] = (struct node) { .key = i };
      CLWB (&node[i]);
    }
  SFENCE ();
  choose (1, 8);
  choose (0, 9);
  copy (4, &other);
  printf ("%d\n", test (3));
  munmap (node, 4096);
  return 0;
}
