// Boost.JSON for internal code of every layer. Public headers only forward-declare its names; json.cc compiles the library itself (header
// mode).
#pragma once

#include <boost/json.hpp>
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

/// A view into a JSON string.
inline std::string_view view(const json::string& text) noexcept { return {text.data(), text.size()}; }

}  // namespace rondo
