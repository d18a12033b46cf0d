// See socket_path.h.
#include "backends/socket_path.h"

#include <cstdlib>

namespace rondo::cli {

std::vector<std::string> socket_candidates(const std::string& given) {
  if (!given.empty()) return {given};
  const char* const named = std::getenv("RONDO_SOCKET");
  if (named != nullptr && *named != '\0') return {named};
  std::vector<std::string> places{"/run/rondo/rondod.sock"};
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') places.push_back(std::string{runtime} + "/rondo/rondod.sock");
  return places;
}

}  // namespace rondo::cli
