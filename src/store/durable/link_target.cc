#include "store/durable/link_target.h"

#include <filesystem>
#include <system_error>

namespace rondo::store::durable {

std::string link_target(const std::string& path) {
  constexpr int kLinks = 40;  // The limit that Linux uses.
  std::filesystem::path at = path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(at, error); ++links) {
    const std::filesystem::path next = std::filesystem::read_symlink(at, error);
    if (error || links == kLinks) return path;
    at = at.parent_path() / next;  // An absolute target replaces the path.
  }
  return at.string();
}

}  // namespace rondo::store::durable
