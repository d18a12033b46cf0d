// ByteBuffer: bytes that are appended at the end and consumed at the front, in one piece of memory. Grows as needed; its user limits the
// size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "rondo/base/assert.h"

namespace rondo {

class ByteBuffer {
 public:
  std::size_t size() const noexcept { return end_ - begin_; }
  bool empty() const noexcept { return begin_ == end_; }
  /// The bytes held. Valid until the next prepare() or append().
  std::string_view view() const noexcept { return {data_.get() + begin_, size()}; }

  /// Returns room for 'bytes' more at the end; the caller fills and then commits it. Amortised O(bytes).
  std::span<char> prepare(std::size_t bytes) {
    if (capacity_ - end_ < bytes) make_room(bytes);
    return {data_.get() + end_, bytes};
  }
  void commit(std::size_t bytes) noexcept {
    RONDO_ASSERT(bytes <= capacity_ - end_);
    end_ += bytes;
  }
  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(prepare(bytes.size()).data(), bytes.data(), bytes.size());
    commit(bytes.size());
  }
  /// Drops 'bytes' from the front. An empty buffer frees a large block.
  void consume(std::size_t bytes) noexcept {
    RONDO_ASSERT(bytes <= size());
    begin_ += bytes;
    if (begin_ != end_) return;
    begin_ = end_ = 0;
    if (capacity_ > kKeptBytes) {
      data_.reset();
      capacity_ = 0;
    }
  }
  void clear() noexcept { consume(size()); }

 private:
  static constexpr std::size_t kKeptBytes = 1024 * 1024;

  void make_room(std::size_t bytes) {
    const std::size_t held = size();
    // Moving is cheaper than growing, but only pays when the unused front is at least as large as the bytes to move.
    if (capacity_ - held >= bytes && begin_ >= held) {
      std::memmove(data_.get(), data_.get() + begin_, held);
    } else {
      const std::size_t capacity = std::max(capacity_ * 2, held + bytes);
      std::unique_ptr<char[]> grown(new char[capacity]);
      if (held != 0) std::memcpy(grown.get(), data_.get() + begin_, held);
      data_ = std::move(grown);
      capacity_ = capacity;
    }
    begin_ = 0;
    end_ = held;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace rondo
