// Record: a key and its fields in one immutable, shared allocation. A table row, the change delivered to a consumer and the row parked in a
// ledger share the same bytes; passing a record on only counts a reference. Keys, names and values are binary safe and may be empty.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "rondo/base/result.h"

namespace rondo {

/// A view of a name and a value, whose bytes must outlive it. It cannot be made from a temporary std::string, which is a compile
/// error: keep the string in a variable.
struct Field {
  Field() = default;
  constexpr Field(std::string_view of_name, std::string_view of_value) noexcept : name(of_name), value(of_value) {}
  template <typename Name, typename Value,
            typename = std::enable_if_t<std::is_same_v<const Name, const std::string> || std::is_same_v<const Value, const std::string>>>
  Field(Name&&, Value&&) = delete;

  std::string_view name;
  std::string_view value;
  friend bool operator==(const Field&, const Field&) = default;
};

/// A field in the braces of a call, such as set("swp1", {{"mtu", std::to_string(mtu)}}). It owns what is given as a temporary
/// std::string, and views the rest.
class FieldArgument {
 public:
  template <typename Name, typename Value,
            typename = std::enable_if_t<std::is_convertible_v<Name, std::string_view> && std::is_convertible_v<Value, std::string_view>>>
  FieldArgument(Name&& name, Value&& value)
      : name_(kept(std::forward<Name>(name), owned_name_)), value_(kept(std::forward<Value>(value), owned_value_)) {}
  FieldArgument(const Field& field) noexcept : name_(field.name), value_(field.value) {}  // NOLINT(google-explicit-constructor)
  FieldArgument(const FieldArgument&) = delete;
  FieldArgument& operator=(const FieldArgument&) = delete;

  Field field() const noexcept { return {name_, value_}; }

 private:
  template <typename Text>
  static std::string_view kept(Text&& text, std::string& owned) {
    if constexpr (std::is_same_v<Text, std::string>) return owned = std::move(text);
    return text;
  }
  std::string owned_name_;
  std::string owned_value_;
  std::string_view name_;
  std::string_view value_;
};
using FieldList = std::initializer_list<FieldArgument>;

class Record;

/// A read-only view of a record's fields, in order. Valid while any copy of its Record lives. Two words.
class Fields {
 public:
  class iterator;
  Fields() noexcept = default;

  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }
  Field operator[](std::size_t index) const noexcept;
  iterator begin() const noexcept;
  iterator end() const noexcept;

  /// The value of the first field with that name. O(fields); rows have few fields.
  std::optional<std::string_view> find(std::string_view name) const noexcept;
  bool contains(std::string_view name) const noexcept { return find(name).has_value(); }

  /// The value; NotFound, with the name of the field, if there is none.
  Result<std::string> text(std::string_view name) const;
  /// A decimal integer in [low, high]; otherwise an error with the field, its value and the range.
  Result<std::int64_t> integer(std::string_view name, std::int64_t low, std::int64_t high) const;
  /// The value, or 'absent' if there is no such field.
  std::string text_or(std::string_view name, std::string_view absent) const;
  /// Like integer(), but 'absent' if there is no such field. A field with a wrong value is an error.
  Result<std::int64_t> integer_or(std::string_view name, std::int64_t low, std::int64_t high, std::int64_t absent) const;

 private:
  friend class Record;
  explicit Fields(const void* block) noexcept : block_(block) {}
  const void* block_ = nullptr;
};

/// Iterates over the fields in order; each dereference returns a Field of two views.
class Fields::iterator {
 public:
  using iterator_concept = std::forward_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using value_type = Field;
  using reference = Field;
  using pointer = void;
  using difference_type = std::ptrdiff_t;

  iterator() noexcept = default;
  Field operator*() const noexcept { return fields_[index_]; }
  iterator& operator++() noexcept {
    ++index_;
    return *this;
  }
  iterator operator++(int) noexcept {
    iterator before = *this;
    ++index_;
    return before;
  }
  friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.index_ == b.index_; }

 private:
  friend class Fields;
  iterator(const Fields& fields, std::size_t index) noexcept : fields_(fields), index_(index) {}
  Fields fields_;
  std::size_t index_ = 0;
};

inline Fields::iterator Fields::begin() const noexcept { return {*this, 0}; }
inline Fields::iterator Fields::end() const noexcept { return {*this, size()}; }

/// Owning handle; 8 bytes. Copying adds a reference, atomically, so records may be shared between threads; the content never changes.
class Record {
 public:
  Record() noexcept = default;
  /// One allocation. 'verb' is only for events of a Channel or Queue (see ChangeOp::Event). Sizes must be within the limits (check_record).
  static Record make(std::string_view key, std::span<const Field> fields, std::string_view verb = {});
  static Record make(std::string_view key, FieldList fields);
  /// 'older' overlaid with 'newer': a field of both takes the newer value and moves behind the unchanged older ones (sonic-swss addToSync
  /// order). The key is that of 'newer'. One allocation, or none if one side has all fields of the result.
  static Record merged(const Record& older, const Record& newer);

  /// This record. If it names a field twice, a copy that keeps only the last field of each name, at its position.
  Record with_distinct_names() const;

  Record(const Record& other) noexcept;
  Record& operator=(const Record& other) noexcept;
  Record(Record&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Record& operator=(Record&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Record() {
    if (block_ != nullptr) release(block_);
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }
  /// True if both handles share one record; false for a separate record with equal content.
  bool is_copy_of(const Record& other) const noexcept { return block_ == other.block_; }
  std::string_view key() const noexcept;
  std::string_view verb() const noexcept;
  Fields fields() const noexcept { return Fields{block_}; }
  /// hash_key(key()), computed once when the record is made.
  std::uint64_t key_hash() const noexcept;
  /// Hash of the whole content, with fields in their order. Computed at each call, O(bytes).
  std::uint64_t content_hash() const noexcept;
  /// Prefetches the first 128 bytes: most records are no longer than that, with the allocator's header behind them.
  void prefetch() const noexcept {
    __builtin_prefetch(block_);
    __builtin_prefetch(reinterpret_cast<const char*>(block_) + 64);
  }
  /// Bytes of the allocation, for accounting.
  std::size_t bytes() const noexcept;

 private:
  friend class Fields;
  struct Block;
  static Block* allocate(std::string_view key, std::string_view verb, std::size_t field_count, std::size_t field_bytes, std::uint64_t hash);
  static void release(Block* block) noexcept;
  explicit Record(Block* block) noexcept : block_(block) {}
  Block* block_ = nullptr;
};

/// The hash of keys in all tables of Rondo (XXH3, 64 bits, unkeyed).
std::uint64_t hash_key(std::string_view key) noexcept;

/// InvalidArgument, naming the part, when a key, name, value, the number of fields or their total size is over its limit.
Status check_record(std::string_view key, std::span<const Field> fields);
/// The same for an existing record. A few nanoseconds for a small one.
Status check_record(const Record& record);

/// quoted(text): 'text' in single quotes for a message. Unprintable bytes are in hexadecimal; of a long text only the first 64 bytes and
/// the length are shown. An object instead of a function, so that argument-dependent lookup never finds std::quoted.
std::string quote(std::string_view text);
inline constexpr auto quoted = [](std::string_view text) { return quote(text); };

}  // namespace rondo
