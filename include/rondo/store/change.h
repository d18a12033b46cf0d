// Change: what happened to one key of a table. The same data as SONiC's KeyOpFieldsValuesTuple, with named accessors.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "rondo/store/record.h"

namespace rondo {

enum class ChangeOp : std::uint8_t {
  Set,     // The fields get the given values; fields that are not named keep theirs. A Set without fields is still a Set.
  Delete,  // The row is removed. Carries no fields.
  Event,   // Channel and Queue only: 'verb' names the event, the key its subject. Never merged.
};

/// "SET", "DEL" or "EVENT", as SONiC's records spell them.
std::string_view to_string(ChangeOp op) noexcept;

/// A value; 16 bytes, copies share the record.
class Change {
 public:
  Change() noexcept = default;
  Change(ChangeOp op, Record record) noexcept : record_(std::move(record)), op_(op) {}
  static Change set(std::string_view key, FieldList fields) { return {ChangeOp::Set, Record::make(key, fields)}; }
  static Change set(std::string_view key, std::span<const Field> fields) { return {ChangeOp::Set, Record::make(key, fields)}; }
  static Change remove(std::string_view key) { return {ChangeOp::Delete, Record::make(key, {})}; }
  static Change event(std::string_view verb, std::string_view key, std::span<const Field> fields) {
    return {ChangeOp::Event, Record::make(key, fields, verb)};
  }

  ChangeOp op() const noexcept { return op_; }
  std::string_view key() const noexcept { return record_.key(); }
  std::string_view verb() const noexcept { return op_ == ChangeOp::Event ? record_.verb() : to_string(op_); }
  Fields fields() const noexcept { return record_.fields(); }
  const Record& record() const& noexcept { return record_; }
  Record&& record() && noexcept { return std::move(record_); }

 private:
  Record record_;
  ChangeOp op_ = ChangeOp::Set;
};

}  // namespace rondo
