#include "base/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/prefault.h"

namespace rondo {

namespace {

/// Stack bytes to touch; the deepest turns use some tens of KiB.
constexpr std::size_t kStackBytes = 256 * 1024;

[[gnu::noinline]] void prefault_stack() {
  char stack[kStackBytes];
  prefault(stack, sizeof stack);
}

}  // namespace

void prefault(volatile char* memory, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < bytes; at += page) memory[at] = 0;
}

Status not_reserved(std::size_t bytes, std::string_view why) {
  return Status{StatusCode::ResourceExhausted, "reserving " + std::to_string(bytes >> 20) + " MiB of memory: " + std::string{why}};
}

Status prepare_to_prefault(std::size_t bytes) {
  const std::size_t machine = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > machine) return not_reserved(bytes, "the machine has " + std::to_string(machine >> 20) + " MiB");
  prefault_stack();
  return {};
}

Status reserve_memory(std::size_t bytes) {
  if (bytes == 0) return {};
  if (Status refused = prepare_to_prefault(bytes); !refused.ok()) return refused;
  // Uses one heap that never shrinks: separately mapped blocks would have new pages each time.
  ::mallopt(M_TRIM_THRESHOLD, -1);
  ::mallopt(M_MMAP_MAX, 0);
  void* const block = std::malloc(bytes);
  if (block == nullptr) return not_reserved(bytes, "refused by the system");
  prefault(static_cast<char*>(block), bytes);
  std::free(block);
  return {};
}

}  // namespace rondo
