// Replaces direct.cc in a rondod that was built without ZeroMQ.
#include "rondod/stores/direct.h"

namespace rondo::daemon {

Status check_direct(const DirectSettings&) {
  return {Code::Unimplemented, "this rondod was built without direct tables (libzmq3-dev was missing)"};
}

Result<StoreMaker> direct_maker(const DirectSettings& settings, std::vector<std::string>, StoreMaker, DirectHooks) {
  return failure(check_direct(settings));
}

}  // namespace rondo::daemon
