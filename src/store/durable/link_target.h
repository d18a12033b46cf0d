// link_target(): the file that a name leads to, whether the file exists or not. SQLite's log, the lock and a replacement file are made
// beside that file and not beside a link. So one store has one of each, under all its names.
#pragma once

#include <string>

namespace rondo::store::durable {

/// Returns 'path' itself if it is not a symbolic link, or if the link cannot be read or is circular.
std::string link_target(const std::string& path);

}  // namespace rondo::store::durable
