#include "rondo/store/change.h"

namespace rondo {

std::string_view to_string(Op op) noexcept {
  switch (op) {
    case Op::Set: return "SET";
    case Op::Delete: return "DEL";
    case Op::Event: return "EVENT";
  }
  return "?";
}

}  // namespace rondo
