// tcmalloc of gperftools, without its profilers. Its library replaces malloc() and free(), new and delete.
#include <gperftools/malloc_extension.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/prefault.h"
#include "heap/heap.h"

namespace rondo::heap {

std::string_view name() noexcept { return "tcmalloc"; }

// tcmalloc returns memory to the system during a free(): rarely, but then a whole span of free pages, which may be most of the memory of a
// table of a million rows.
void keep_frees_short() noexcept { MallocExtension::instance()->SetMemoryReleaseRate(0); }

Status reserve(std::size_t bytes) {
  /// tcmalloc logs larger allocations to standard error.
  constexpr std::size_t kPiece = std::size_t{512} << 20;
  if (bytes == 0) return {};
  if (Status refused = prepare_to_prefault(bytes); !refused.ok()) return refused;
  MallocExtension::instance()->SetMemoryReleaseRate(0);
  Status reserved;
  std::vector<void*> pieces;
  pieces.reserve(bytes / kPiece + 1);
  while (bytes > 0 && reserved.ok()) {
    const std::size_t piece = std::min(bytes, kPiece);
    pieces.push_back(std::malloc(piece));
    if (pieces.back() == nullptr) {
      reserved = not_reserved(bytes, "refused by the system");
    } else {
      prefault(static_cast<char*>(pieces.back()), piece);
      bytes -= piece;
    }
  }
  for (void* const piece : pieces) std::free(piece);
  return reserved;
}

}  // namespace rondo::heap
