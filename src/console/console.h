// Console: the page of the daemon for browsers, as files over HTTP. The page calls the API (src/api) as its user, so its files are for
// everybody and hold no secret.
//
//   GET /console/NAME       its script, styles and icon
//   GET /console/...        the page, at each other path below: the page itself reads the path
//   GET /                   leads to /console/
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace rondo::console {

class Console {
 public:
  /// Compresses the files, which takes some milliseconds.
  Console();

  /// True if the path is one of the console.
  static bool serves(std::string_view path) noexcept { return path == "/" || path == "/console" || path.starts_with("/console/"); }
  /// The answer to a request whose path it serves. Any thread. O(bytes of the file).
  http::Response answer(const http::Request& request) const;

 private:
  struct File {
    std::string_view path;
    std::string_view type;
    std::string_view bytes;
    std::string gzip;
    std::string tag;
  };
  const File& file_at(std::string_view path) const noexcept;

  std::vector<File> files_;  // The page is the first one.
};

}  // namespace rondo::console
