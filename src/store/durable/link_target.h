// link_target(): the file that a name leads to, whether it is there or not. SQLite's log, the lock and what takes the place of a file lie
// beside that and not beside a link: one store has one of each, under all its names.
#pragma once

#include <string>

namespace rondo::store::durable {

/// 'path' itself where it is no symbolic link, or one that cannot be read or leads round in a circle.
std::string link_target(const std::string& path);

}  // namespace rondo::store::durable
