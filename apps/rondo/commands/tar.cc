#include "commands/tar.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "rondo/base/assert.h"

namespace rondo::cli {
namespace {

constexpr std::size_t kBlock = 512;

using Header = std::array<char, kBlock>;

void put(Header& header, std::size_t at, std::string_view text) {
  std::ranges::copy(text, header.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Writes 'digits' octal digits; the terminating zero is present already.
void put_number(Header& header, std::size_t at, int digits, std::uint64_t value) {
  char text[24];
  const int length = std::snprintf(text, sizeof text, "%0*llo", digits, static_cast<unsigned long long>(value));
  put(header, at, {text, static_cast<std::size_t>(length)});
}

}  // namespace

void Tar::add(std::string_view name, std::string_view content) {
  RONDO_ASSERT(!name.empty() && name.size() <= 100);
  Header header{};
  put(header, 0, name);
  put_number(header, 100, 7, 0600);
  put_number(header, 108, 7, 0);
  put_number(header, 116, 7, 0);
  put_number(header, 124, 11, content.size());
  put_number(header, 136, 11, static_cast<std::uint64_t>(std::max<std::int64_t>(seconds_, 0)));
  put(header, 148, "        ");  // The checksum is computed with blanks in its own field.
  put(header, 156, "0");
  put(header, 257, "ustar");
  put(header, 263, "00");
  std::uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put_number(header, 148, 6, sum);
  header[154] = '\0';
  bytes_.append(header.data(), header.size()).append(content);
  bytes_.resize((bytes_.size() + kBlock - 1) / kBlock * kBlock, '\0');
}

std::string Tar::finish() {
  bytes_.append(2 * kBlock, '\0');
  return std::move(bytes_);
}

}  // namespace rondo::cli
