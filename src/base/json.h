// Boost.JSON for internal code of every layer. Public headers only forward-declare its names; json.cc compiles the library itself (header
// mode).
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace rondo {

namespace json = boost::json;

/// Appends the text of 'value' to 'out'.
void append_json(std::string& out, const json::value& value);

/// The same; texts and names that are no UTF-8 are appended as visible_text(). Such bytes would make the whole text invalid JSON.
void append_utf8_json(std::string& out, const json::value& value);
/// Replaces texts and names with unsafe characters, also in what 'value' contains, by visible_text(). O(size).
void make_visible(json::value& value);

/// The position of the quote that ends the text whose first quote is at 'at', or the end of 'json'. O(result).
std::size_t end_of_text(std::string_view json, std::size_t at) noexcept;
/// True if 'json' may hold more than 'most' values: a parsed value takes up to 25 times the bytes of its text. Counts one, and one more for
/// each sign that another value can follow; names count too. If 'json' is malformed, the parser reports that. O(bytes).
bool has_many_values(std::string_view json, std::size_t most) noexcept;

/// A view into a JSON string.
inline std::string_view view(const json::string& text) noexcept { return {text.data(), text.size()}; }

}  // namespace rondo
