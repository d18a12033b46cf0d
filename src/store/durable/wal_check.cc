#include "store/durable/wal_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/unique_fd.h"

namespace rondo::store::durable {

namespace {

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  // The last bit: the checksums use big-endian words.
using Bytes = std::span<const unsigned char>;

std::uint32_t big_endian(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (const unsigned char byte : bytes.subspan(at, 4)) value = value << 8U | byte;
  return value;
}

/// The checksum of a frame continues that of the frame before it.
struct Checksum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  friend bool operator==(const Checksum&, const Checksum&) = default;

  void add(Bytes bytes, bool is_big) {
    const bool is_swapped = is_big == (std::endian::native == std::endian::little);
    const auto word = [&](std::size_t at) {
      std::uint32_t value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof(value));
      return is_swapped ? __builtin_bswap32(value) : value;
    };
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first += word(at) + second;
      second += word(at + 4) + first;
    }
  }
  static Checksum stored(Bytes bytes, std::size_t at) { return {big_endian(bytes, at), big_endian(bytes, at + 4)}; }
};

bool is_page_size(std::uint32_t bytes) { return bytes >= 512 && bytes <= 65536 && std::has_single_bit(bytes); }

class Walk {
 public:
  Walk(const std::string& database, std::uint32_t page_bytes)
      : database_(database), page_bytes_(page_bytes), log_(::open((database + "-wal").c_str(), O_RDONLY | O_CLOEXEC)) {}

  WalCheck run() {
    if (!log_) {
      if (errno != ENOENT) fail();
      return std::move(found_);
    }
    if (!read_header()) return std::move(found_);
    while (read_frame()) look_at_frame();
    found_.frames.resize(kept_);
    if (broken_ < kept_ || (kept_ > 0 && !header_is_whole_)) tell();
    return std::move(found_);
  }

 private:
  bool read(std::uint64_t from, std::span<unsigned char> into) {
    const ssize_t got = ::pread(log_.get(), into.data(), into.size(), static_cast<off_t>(from));
    if (got < 0) fail();
    return got == static_cast<ssize_t>(into.size());
  }
  void fail() { found_.failed = status_from_errno(errno, "reading '" + database_ + "-wal'"); }

  /// False: the file ends here.
  bool read_header() {
    std::array<unsigned char, kHeaderBytes> header{};
    if (!read(0, header)) return false;
    const Bytes bytes{header};
    const std::uint32_t magic = big_endian(bytes, 0);
    last_ = Checksum::stored(bytes, 24);
    is_big_ = magic == (kMagic | 1U);
    Checksum sum;
    sum.add(bytes.first(24), is_big_);
    header_is_whole_ = (magic == kMagic || is_big_) && sum == last_;
    found_.page_bytes = big_endian(bytes, 8);
    if (header_is_whole_) {
      salts_ = Checksum::stored(bytes, 16);
    } else {
      is_big_ = false;
      found_.page_bytes = page_bytes_;
    }
    if (!is_page_size(found_.page_bytes)) return false;
    frame_.resize(kFrameHeaderBytes + found_.page_bytes);
    return true;
  }

  bool read_frame() { return read(kHeaderBytes + found_.frames.size() * frame_.size(), frame_); }

  /// Each frame can be checked alone: the frame before it stores the checksum from which its own continues.
  void look_at_frame() {
    const Bytes bytes{frame_};
    const Checksum stored = Checksum::stored(bytes, 16);
    const Checksum salts = Checksum::stored(bytes, 8);
    Checksum sum = last_;
    sum.add(bytes.first(8), is_big_);
    sum.add(bytes.subspan(kFrameHeaderBytes), is_big_);
    const std::uint32_t page = big_endian(bytes, 0);
    // A frame with other salts is from before the log was restarted. If the header is lost, the first whole frame supplies the salts.
    const bool is_whole = page > 0 && sum == stored && salts == salts_.value_or(salts);
    if (is_whole) salts_ = salts;
    const std::size_t number = found_.frames.size();
    if (!is_whole && broken_ > number) broken_ = number;
    found_.frames.push_back({is_whole ? page : 0, kHeaderBytes + number * frame_.size() + kFrameHeaderBytes});
    if (is_whole && big_endian(bytes, 4) > 0) kept_ = found_.frames.size();
    last_ = stored;
  }

  void tell() {
    std::size_t broken = 0;
    for (const WalCheck::Frame& frame : found_.frames) broken += frame.page == 0 ? 1U : 0U;
    const std::string all = std::to_string(found_.frames.size());
    std::string what = header_is_whole_ ? "" : "the beginning";
    if (broken > 0) {
      what += (what.empty() ? "" : " and ") + std::to_string(broken) + " of " + all + " pages, from byte " +
              std::to_string(found_.frames[broken_].bytes_from - kFrameHeaderBytes) + " on,";
    }
    found_.damage = {Code::DataLoss, what + " of the write-ahead log '" + database_ + "-wal'"};
  }

  const std::string& database_;
  const std::uint32_t page_bytes_;
  const UniqueFd log_;
  WalCheck found_;
  std::vector<unsigned char> frame_;
  Checksum last_;
  std::optional<Checksum> salts_;
  bool header_is_whole_ = false;
  bool is_big_ = false;
  std::size_t broken_ = SIZE_MAX;  // The first broken frame.
  std::size_t kept_ = 0;
};

}  // namespace

WalCheck check_wal(const std::string& database, std::uint32_t page_bytes) { return Walk{database, page_bytes}.run(); }

}  // namespace rondo::store::durable
