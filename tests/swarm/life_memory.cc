// life_memory: operator new and delete of rondo-sim. A life allocates some twenty times a turn, mostly a few dozen bytes that it soon
// frees, and its process runs nothing else. So a free list for each size takes a few instructions, where the C library, which handles
// threads and fragmentation, takes a hundred. Later lives reuse the blocks; the C library provides blocks larger than kMost and all of
// malloc(). Not linked where a sanitizer must see each allocation. Safe in any thread: each has its own lists, and a block that it frees
// joins its own.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace rondo::swarm {
namespace {

constexpr std::size_t kStep = 16;            // The step of the sizes and the alignment of all addresses.
constexpr std::size_t kHead = 8;             // Before each block: the number of its size, or kLarge.
constexpr std::size_t kMost = 1024;          // Including the head.
constexpr std::size_t kPiece = 64UL * 1024;  // Requested from the C library at a time.
constexpr std::uint64_t kLarge = UINT64_MAX;

struct Free {
  Free* next;
};

class Places {
 public:
  void* take(std::size_t size) {
    const std::size_t number = (size + kHead + kStep - 1) / kStep;
    if (number > kMost / kStep) return large(size);
    if (Free* const place = free_[number]) {
      free_[number] = place->next;
      return place;
    }
    return fresh(number);
  }
  void give_back(void* place) noexcept {
    const std::uint64_t number = head_of(place);
    if (number == kLarge) return std::free(static_cast<char*>(place) - kStep);
    free_[number] = new (place) Free{free_[number]};
  }

 private:
  static std::uint64_t& head_of(void* place) noexcept { return static_cast<std::uint64_t*>(place)[-1]; }
  static char* from_library(std::size_t size) {
    void* const memory = std::malloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<char*>(memory);
  }
  void* fresh(std::size_t number) {
    if (left_ < number * kStep) {
      next_ = from_library(kPiece) + kStep;
      left_ = kPiece - kStep;
    }
    void* const place = next_;
    next_ += number * kStep;
    left_ -= number * kStep;
    head_of(place) = number;
    return place;
  }
  static void* large(std::size_t size) {
    if (size > SIZE_MAX - kStep) throw std::bad_alloc();
    void* const place = from_library(size + kStep) + kStep;
    head_of(place) = kLarge;
    return place;
  }

  std::array<Free*, kMost / kStep + 1> free_{};  // Indexed by the number of the size.
  char* next_ = nullptr;                         // Memory never used yet.
  std::size_t left_ = 0;
};

constinit thread_local Places places;

}  // namespace
}  // namespace rondo::swarm

void* operator new(std::size_t size) { return rondo::swarm::places.take(size); }
void operator delete(void* place) noexcept {
  if (place != nullptr) rondo::swarm::places.give_back(place);
}
void operator delete(void* place, std::size_t) noexcept { operator delete(place); }
