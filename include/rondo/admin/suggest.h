// The nearest known name to one that is not known, for errors that help: "unknown command 'sorces'; did you mean 'sources'?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rondo {

/// The candidate with the smallest edit distance (insert, remove, change, swap neighbours), if that is at most a third of the word's
/// length, and at least 1. A candidate that begins with the word is nearer than one edit if the word has fewer than 4 letters, and
/// farther than one edit but nearer than two otherwise. Empty when none is near. The first wins among equals.
/// O(candidates x length^2); words longer than 64 bytes have no near name.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean 'x'?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace rondo
