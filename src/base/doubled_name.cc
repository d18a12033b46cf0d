#include "base/doubled_name.h"

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <set>
#include <vector>

namespace rondo {
namespace {

namespace json = boost::json;

/// What a basic_parser calls. Returns false at the first name that is there twice.
struct Names {
  using error_code = json::error_code;
  using string_view = json::string_view;
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  static bool on_document_begin(error_code&) { return true; }
  static bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    if (open.empty()) ++object;
    open.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    open.pop_back();
    return true;
  }
  static bool on_array_begin(error_code&) { return true; }
  static bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(string_view part, std::size_t, error_code&) {
    key.append(part);
    return true;
  }
  bool on_key(string_view part, std::size_t, error_code& error) {
    key.append(part);
    if (!open.back().insert(key).second) {
      error = json::error::exception;
      return false;
    }
    key.clear();
    return true;
  }
  static bool on_string_part(string_view, std::size_t, error_code&) { return true; }
  static bool on_string(string_view, std::size_t, error_code&) { return true; }
  static bool on_number_part(string_view, error_code&) { return true; }
  static bool on_int64(std::int64_t, string_view, error_code&) { return true; }
  static bool on_uint64(std::uint64_t, string_view, error_code&) { return true; }
  static bool on_double(double, string_view, error_code&) { return true; }
  static bool on_bool(bool, error_code&) { return true; }
  static bool on_null(error_code&) { return true; }
  static bool on_comment_part(string_view, error_code&) { return true; }
  static bool on_comment(string_view, error_code&) { return true; }

  std::vector<std::set<std::string>> open;  // The names of the objects around the present place.
  std::string key;
  std::size_t object = 0;
};

}  // namespace

std::optional<DoubledName> doubled_name(std::string_view text) {
  json::basic_parser<Names> parser{json::parse_options{}};
  json::error_code error;
  parser.write_some(false, text.data(), text.size(), error);
  const Names& names = parser.handler();
  if (names.open.empty() || names.key.empty() || !names.open.back().contains(names.key)) return std::nullopt;
  return DoubledName{.name = names.key, .object = names.object};
}

}  // namespace rondo
