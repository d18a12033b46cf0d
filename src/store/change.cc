#include "rondo/store/change.h"

namespace rondo {

std::string_view to_string(ChangeOp op) noexcept {
  switch (op) {
    case ChangeOp::Set: return "SET";
    case ChangeOp::Delete: return "DEL";
    case ChangeOp::Event: return "EVENT";
  }
  return "?";
}

}  // namespace rondo
