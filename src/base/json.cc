// The one translation unit that compiles Boost.JSON.
#include "base/json.h"

#include <boost/json/src.hpp>

namespace rondo {

void append_json(std::string& out, const json::value& value) {
  json::serializer serializer;
  serializer.reset(&value);
  char buffer[4096];
  while (!serializer.done()) {
    const json::string_view piece = serializer.read(buffer, sizeof buffer);
    out.append(piece.data(), piece.size());
  }
}

}  // namespace rondo
