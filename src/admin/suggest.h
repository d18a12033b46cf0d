// Finds the known name nearest to an unknown one, for error messages: "unknown command 'sorces'; did you mean 'sources'?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rondo {

/// The candidate with the smallest edit distance (insert, remove, change, swap neighbours). The distance may be at most a third of the
/// word's length, but 1 is always allowed. A candidate that begins with the word counts as less than one edit if the word has fewer than 4
/// letters. With a longer word it counts as between one and two edits. Empty if none is near. The first of equal candidates wins.
/// O(candidates x length^2); words longer than 64 bytes have no near name.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean 'x'?", or an empty string.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace rondo
