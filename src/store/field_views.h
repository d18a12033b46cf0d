// Views of the fields of a call, valid as long as these. A few need no allocation: each row that a program sets passes here.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "rondo/store/record.h"

namespace rondo {

class FieldViews {
 public:
  explicit FieldViews(FieldList fields) : size_(fields.size()) {
    if (size_ > few_.size()) many_.resize(size_);
    Field* view = size_ > few_.size() ? many_.data() : few_.data();
    for (const FieldArgument& field : fields) *view++ = field.field();
  }
  FieldViews(const FieldViews&) = delete;
  FieldViews& operator=(const FieldViews&) = delete;

  std::span<const Field> all() const noexcept { return {many_.empty() ? few_.data() : many_.data(), size_}; }

 private:
  std::array<Field, 8> few_;
  std::vector<Field> many_;
  std::size_t size_;
};

}  // namespace rondo
