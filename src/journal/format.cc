#include "journal/format.h"

#include <xxhash.h>

#include <algorithm>

namespace rondo::journal {

namespace {

std::uint64_t checksum(const BlockHead& head, std::string_view payload) noexcept {
  const std::uint64_t of_head = XXH3_64bits(&head, kHeadBytes - sizeof head.checksum);
  return XXH3_64bits_withSeed(payload.data(), payload.size(), of_head);
}

}  // namespace

void seal(BlockHead& head, std::string_view payload) noexcept { head.checksum = checksum(head, payload); }

bool is_sealed(const BlockHead& head, std::string_view payload) noexcept { return head.checksum == checksum(head, payload); }

std::string_view first_record(std::string_view bytes) noexcept {
  // The fast path: most records are short.
  if (const auto length = bytes.empty() ? std::size_t{0} : static_cast<unsigned char>(bytes.front());
      length < kShortBound && length < bytes.size())
    return length == 0 ? std::string_view{} : bytes.substr(0, 1 + length);
  Decoder decoder(bytes.substr(0, std::min(bytes.size(), kLongLength)));
  const std::uint64_t length = decoder.number();
  const std::size_t head = std::min(bytes.size(), kLongLength) - decoder.left();
  const bool is_length = head == 1 || head == kLongLength;  // Only the two lengths that writers use: they determine where the kind is.
  if (!decoder.ok() || !is_length || length == 0 || length > bytes.size() - head) return {};
  return bytes.substr(0, head + static_cast<std::size_t>(length));
}

}  // namespace rondo::journal
