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

/// A view into a JSON string.
inline std::string_view view(const json::string& text) noexcept { return {text.data(), text.size()}; }

}  // namespace rondo
