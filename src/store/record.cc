// Record: one malloc'ed block with counts, the hash, the end of each part, and then the bytes. Field i is found without a walk: the ends of
// its name and of its value are two 32-bit words. Any thread may hold a reference; the block never changes after make().
#include "rondo/store/record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "store/field_views.h"

namespace rondo {

/// The block of a Record. The ends (two for each field: of its name and of its value) and the bytes follow it.
struct Record::Block {
  std::atomic<std::uint32_t> references;
  std::uint32_t field_count;
  std::uint64_t hash;
  std::uint32_t key_size;
  std::uint32_t verb_size;

  static const Block& of(const void* block) noexcept { return *static_cast<const Block*>(block); }

  const std::uint32_t* ends() const noexcept { return reinterpret_cast<const std::uint32_t*>(this + 1); }
  std::uint32_t* ends() noexcept { return reinterpret_cast<std::uint32_t*>(this + 1); }
  const char* data() const noexcept { return reinterpret_cast<const char*>(ends() + std::size_t{2} * field_count); }
  char* data() noexcept { return reinterpret_cast<char*>(ends() + std::size_t{2} * field_count); }
  std::size_t head_size() const noexcept { return std::size_t{key_size} + verb_size; }
  std::size_t data_size() const noexcept { return field_count == 0 ? head_size() : ends()[std::size_t{2} * field_count - 1]; }
  std::string_view key() const noexcept { return {data(), key_size}; }
  Field field(std::size_t index) const noexcept {
    const char* const bytes = data();
    const std::uint32_t* const end = ends() + 2 * index;
    const std::size_t begin = index == 0 ? head_size() : end[-1];
    return {{bytes + begin, end[0] - begin}, {bytes + end[0], std::size_t{end[1]} - end[0]}};
  }
};

// --- Fields: defined before their callers, so that the compiler can inline them.

std::size_t Fields::size() const noexcept { return block_ == nullptr ? 0 : Record::Block::of(block_).field_count; }

Field Fields::operator[](std::size_t index) const noexcept { return Record::Block::of(block_).field(index); }

std::optional<std::string_view> Fields::find(std::string_view name) const noexcept {
  if (block_ == nullptr) return std::nullopt;
  const Record::Block& block = Record::Block::of(block_);
  const char* const bytes = block.data();
  const std::uint32_t* end = block.ends();
  std::size_t begin = block.head_size();
  for (std::uint32_t left = block.field_count; left > 0; --left, begin = end[1], end += 2) {
    if (std::string_view{bytes + begin, end[0] - begin} == name) return std::string_view{bytes + end[0], std::size_t{end[1]} - end[0]};
  }
  return std::nullopt;
}

namespace {

constexpr std::size_t kInlineFields = 32;  // Up to this number, names are compared one by one; beyond it, a hash set is used.
using Positions = boost::container::small_vector<std::uint32_t, kInlineFields>;
using Names = boost::unordered_flat_set<std::string_view>;

/// Appends to a block that is large enough, and sets the ends.
class Filler {
 public:
  Filler(char* bytes, std::uint32_t* ends) noexcept : begin_(bytes), at_(bytes), end_(ends) {}
  void text(std::string_view text) noexcept {
    if (text.empty()) return;
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void field(const Field& field) noexcept {
    text(field.name);
    *end_++ = static_cast<std::uint32_t>(at_ - begin_);
    text(field.value);
    *end_++ = static_cast<std::uint32_t>(at_ - begin_);
  }

 private:
  char* begin_;
  char* at_;
  std::uint32_t* end_;
};

/// The positions of the fields in 'older' whose names 'newer' does not have. 'old_block' holds the fields of 'older', and 'new_block' those
/// of 'newer'; the loop reads the blocks directly.
template <class Block>
Positions untouched(const Block& old_block, const Fields& newer, const Block& new_block) {
  Positions kept;
  const auto keep_unless = [&](auto&& covered) {
    for (std::uint32_t i = 0; i < old_block.field_count; ++i) {
      if (!covered(old_block.field(i).name, i)) kept.push_back(i);
    }
  };
  if (new_block.field_count <= kInlineFields) {
    keep_unless([&](std::string_view name, std::uint32_t i) {
      // Writers often repeat the same fields, so check the same position first.
      return (i < new_block.field_count && new_block.field(i).name == name) || newer.contains(name);
    });
    return kept;
  }
  Names names;
  names.reserve(newer.size());
  for (const Field field : newer) names.insert(field.name);
  keep_unless([&](std::string_view name, std::size_t) { return names.contains(name); });
  return kept;
}

/// The positions of the fields that no later field of the same name replaces, in order.
Positions last_of_each_name(const Fields& fields) {
  Positions kept;
  Names later;
  for (std::size_t i = fields.size(); i-- > 0;) {
    if (later.insert(fields[i].name).second) kept.push_back(static_cast<std::uint32_t>(i));
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

template <class Block>
bool has_repeated_name(const Fields& fields, const Block& block) {
  if (block.field_count > kInlineFields) return last_of_each_name(fields).size() != fields.size();
  for (std::uint32_t i = 1; i < block.field_count; ++i) {
    const std::string_view name = block.field(i).name;
    for (std::uint32_t j = 0; j < i; ++j) {
      if (block.field(j).name == name) return true;
    }
  }
  return false;
}

template <class Block>
std::size_t bytes_of(const Block& block, const Positions& positions) noexcept {
  std::size_t bytes = 0;
  for (const std::uint32_t i : positions) {
    const Field field = block.field(i);
    bytes += field.name.size() + field.value.size();
  }
  return bytes;
}

}  // namespace

std::uint64_t hash_key(std::string_view key) noexcept { return XXH3_64bits(key.data(), key.size()); }

Record::Block* Record::allocate(std::string_view key, std::string_view verb, std::size_t field_count, std::size_t field_bytes,
                                std::uint64_t hash) {
  const std::size_t data_size = key.size() + verb.size() + field_bytes;
  RONDO_ASSERT(data_size <= UINT32_MAX && field_count <= UINT32_MAX / 2);
  void* const memory = std::malloc(sizeof(Block) + 2 * sizeof(std::uint32_t) * field_count + data_size);
  if (memory == nullptr) throw std::bad_alloc();
  Block* const block = new (memory) Block{.references = 1,
                                          .field_count = static_cast<std::uint32_t>(field_count),
                                          .hash = hash,
                                          .key_size = static_cast<std::uint32_t>(key.size()),
                                          .verb_size = static_cast<std::uint32_t>(verb.size())};
  return block;
}

Record Record::make(std::string_view key, std::span<const Field> fields, std::string_view verb) {
  std::size_t field_bytes = 0;
  for (const Field& field : fields) field_bytes += field.name.size() + field.value.size();
  Block* const block = allocate(key, verb, fields.size(), field_bytes, hash_key(key));
  Filler filler{block->data(), block->ends()};
  filler.text(key);
  filler.text(verb);
  for (const Field& field : fields) filler.field(field);
  return Record{block};
}

Record Record::make(std::string_view key, FieldList fields) { return make(key, FieldViews{fields}.all()); }

Record Record::merged(const Record& older, const Record& newer) {
  if (!older) return newer;
  if (!newer) return older;
  const Block& old_block = *older.block_;
  const Block& new_block = *newer.block_;
  if (new_block.field_count == 0 && older.key() == newer.key()) return older;
  const Positions kept = untouched(old_block, newer.fields(), new_block);
  if (kept.empty()) return newer;
  Block* const block = allocate(newer.key(), newer.verb(), kept.size() + new_block.field_count,
                                bytes_of(old_block, kept) + new_block.data_size() - new_block.head_size(), newer.key_hash());
  Filler filler{block->data(), block->ends()};
  filler.text(newer.key());
  filler.text(newer.verb());
  for (const std::uint32_t i : kept) filler.field(old_block.field(i));
  for (std::uint32_t i = 0; i < new_block.field_count; ++i) filler.field(new_block.field(i));
  return Record{block};
}

Record Record::with_distinct_names() const {
  const Fields all = fields();
  if (block_ == nullptr || !has_repeated_name(all, *block_)) return *this;
  const Positions kept = last_of_each_name(all);
  Block* const block = allocate(key(), verb(), kept.size(), bytes_of(*block_, kept), key_hash());
  Filler filler{block->data(), block->ends()};
  filler.text(key());
  filler.text(verb());
  for (const std::uint32_t i : kept) filler.field(all[i]);
  return Record{block};
}

void Record::release(Block* block) noexcept {
  // The last holder needs no locked instruction, because no other thread can add a reference.
  if (block->references.load(std::memory_order_acquire) == 1 || block->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    block->~Block();
    std::free(block);
  }
}

Record::Record(const Record& other) noexcept : block_(other.block_) {
  if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
}

Record& Record::operator=(const Record& other) noexcept {
  Record copy{other};
  std::swap(block_, copy.block_);
  return *this;
}

std::string_view Record::key() const noexcept { return block_ == nullptr ? std::string_view{} : block_->key(); }

std::string_view Record::verb() const noexcept {
  return block_ == nullptr ? std::string_view{} : std::string_view{block_->data() + block_->key_size, block_->verb_size};
}

std::uint64_t Record::key_hash() const noexcept { return block_ == nullptr ? hash_key({}) : block_->hash; }

std::uint64_t Record::content_hash() const noexcept {
  if (block_ == nullptr) return 0;
  const auto* const from = reinterpret_cast<const char*>(&block_->key_size);  // The sizes, the ends and the bytes are contiguous.
  const std::size_t size = static_cast<std::size_t>(block_->data() - from) + block_->data_size();
  return XXH3_64bits_withSeed(from, size, block_->field_count);
}

std::size_t Record::bytes() const noexcept {
  if (block_ == nullptr) return 0;
  return sizeof(Block) + 2 * sizeof(std::uint32_t) * block_->field_count + block_->data_size();
}

// --- Fields as values

Result<std::string> Fields::text(std::string_view name) const {
  const std::optional<std::string_view> value = find(name);
  if (!value) return failure(StatusCode::NotFound, "field " + quoted(name) + " is missing");
  return std::string{*value};
}

Result<std::int64_t> Fields::integer(std::string_view name, std::int64_t low, std::int64_t high) const {
  const std::optional<std::string_view> value = find(name);
  if (!value) return failure(StatusCode::NotFound, "field " + quoted(name) + " is missing");
  std::int64_t number = 0;
  const char* const end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, number);
  if (error != std::errc{} || stop != end || number < low || number > high) {
    return failure(StatusCode::InvalidArgument, "field " + quoted(name) + ": " + quoted(*value) + " is not a decimal integer from " +
                                                    std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

std::string Fields::text_or(std::string_view name, std::string_view absent) const { return std::string{find(name).value_or(absent)}; }

Result<std::int64_t> Fields::integer_or(std::string_view name, std::int64_t low, std::int64_t high, std::int64_t absent) const {
  if (!contains(name)) return absent;
  return integer(name, low, high);
}

// --- Checks

std::string quote(std::string_view text) {
  constexpr std::size_t kShown = 64;
  constexpr char kHex[] = "0123456789abcdef";
  std::string result{"'"};
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      result.push_back(c);
    } else {
      result.append({'\\', 'x', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  result.push_back('\'');
  if (text.size() > kShown) result.append("... (").append(std::to_string(text.size())).append(" bytes)");
  return result;
}

namespace {

Status over_limit(const std::string& what, std::size_t size, std::size_t limit) {
  return {StatusCode::InvalidArgument, what + ": " + std::to_string(size) + " is over the limit of " + std::to_string(limit)};
}

template <class FieldRange>
Status check_parts(std::string_view key, std::string_view verb, const FieldRange& fields) {
  if (key.size() > limits::kNameBytes) return over_limit("bytes of key " + quoted(key), key.size(), limits::kNameBytes);
  if (verb.size() > limits::kNameBytes) return over_limit("bytes of verb " + quoted(verb), verb.size(), limits::kNameBytes);
  if (fields.size() > limits::kFields) return over_limit("fields of key " + quoted(key), fields.size(), limits::kFields);
  std::size_t total = key.size() + verb.size();
  for (const Field field : fields) {
    if (field.name.size() > limits::kNameBytes) {
      return over_limit("bytes of field name " + quoted(field.name) + " of key " + quoted(key), field.name.size(), limits::kNameBytes);
    }
    if (field.value.size() > limits::kValueBytes) {
      return over_limit("bytes of field " + quoted(field.name) + " of key " + quoted(key), field.value.size(), limits::kValueBytes);
    }
    total += field.name.size() + field.value.size();
  }
  if (total > limits::kRecordBytes) return over_limit("bytes of key " + quoted(key) + " with its fields", total, limits::kRecordBytes);
  return {};
}

}  // namespace

Status check_record(std::string_view key, std::span<const Field> fields) { return check_parts(key, {}, fields); }

Status check_record(const Record& record) {
  // A record that is smaller than the smallest limit has no part beyond a limit.
  if (record.bytes() <= limits::kNameBytes && record.fields().size() <= limits::kFields) return {};
  return check_parts(record.key(), record.verb(), record.fields());
}

}  // namespace rondo
