// Views of the fields of a call, valid as long as these.
#pragma once

#include <vector>

#include "rondo/store/record.h"

namespace rondo {

inline std::vector<Field> views_of(FieldList fields) {
  std::vector<Field> views;
  views.reserve(fields.size());
  for (const FieldArgument& field : fields) views.push_back(field.field());
  return views;
}

}  // namespace rondo
