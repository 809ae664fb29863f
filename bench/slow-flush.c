/*
 * Makes each flush of Postgres's log take longer, as on a network disk or with a synchronous standby: preloaded, it
 * sleeps in fdatasync. SLOW_FLUSH names a file whose first four bytes are the microseconds, so that they can change
 * while the server runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile uint32_t *microseconds(void) {
  static const volatile uint32_t *shared;
  const char *path = getenv("SLOW_FLUSH");
  if (shared == NULL && path != NULL) {
    int file = open(path, O_RDONLY);
    if (file >= 0) {
      void *mapped = mmap(NULL, sizeof *shared, PROT_READ, MAP_SHARED, file, 0);
      if (mapped != MAP_FAILED) shared = mapped;
      close(file);
    }
  }
  return shared;
}

int fdatasync(int file) {
  static int (*flush)(int);
  if (flush == NULL) flush = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  int result = flush(file);
  const volatile uint32_t *added = microseconds();
  if (added != NULL && *added > 0) {
    struct timespec rest = {*added / 1000000, (long)(*added % 1000000) * 1000};
    while (nanosleep(&rest, &rest) != 0) {
    }
  }
  return result;
}
