// life_memory: operator new and delete of rondo-sim. A life asks for memory some twenty times a turn, mostly for a few dozen bytes that it
// soon gives back, and nobody else runs in its process: so a list of free places for each size does in a few instructions what the C
// library, which has threads and fragmentation to think of, does in a hundred. Places are used again by the lives that follow; what is
// larger than kMost, and what comes to us by malloc, is the C library's. Not linked where a sanitizer wants to see each allocation. Safe in
// any thread: each has lists of its own, and what it frees becomes its own.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace rondo::swarm {
namespace {

constexpr std::size_t kStep = 16;            // Sizes differ by it, and all addresses are multiples of it.
constexpr std::size_t kHead = 8;             // Before each place: the number of its size, or kLarge.
constexpr std::size_t kMost = 1024;          // With the head.
constexpr std::size_t kPiece = 64UL * 1024;  // Asked of the C library at a time.
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

  std::array<Free*, kMost / kStep + 1> free_{};  // By number of the size.
  char* next_ = nullptr;                         // Never used yet.
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
