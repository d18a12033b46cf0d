// Finds secrets by the text around them. See rondo/admin/secrets.h.
#include "admin/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace rondo {
namespace {

constexpr std::string_view kHidden = "***";
constexpr std::array<std::string_view, 6> kNames{"password", "passwd", "passphrase", "secret", "token", "key"};

/// No other character surely ends a secret: it may contain a comma or a semicolon. Hiding too much is better than showing the rest of a
/// secret.
bool ends_text(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '"'; }
bool ends_value(char c) noexcept { return ends_text(c) || c == '&'; }
bool is_name(char c) noexcept { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

/// True if the name at the end of 'text' is that of a secret.
bool names_a_secret(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_name(text[begin - 1])) --begin;
  std::string name{text.substr(begin)};
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(kNames, [&name](std::string_view known) { return name.ends_with(known); });
}

/// Appends the user part behind "scheme://", which ends at '@', without its password. Returns its length; 0 if there is none.
std::size_t hide_user_part(std::string_view rest, std::string& out) {
  const std::size_t end =
      static_cast<std::size_t>(std::ranges::find_if(rest, [](char c) { return ends_text(c) || c == '/' || c == '?'; }) - rest.begin());
  const std::size_t at = rest.substr(0, end).rfind('@');
  if (at == std::string_view::npos) return 0;
  const std::size_t colon = rest.substr(0, at).find(':');
  if (colon != std::string_view::npos) out.append(rest.substr(0, colon + 1));
  out.append(kHidden).append("@");
  return at + 1;
}

}  // namespace

std::string hide_secrets(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text.substr(at).starts_with("://")) {
      out.append("://");
      at += 3;
      at += hide_user_part(text.substr(at), out);
    } else if (text[at] == '=' && names_a_secret(text.substr(0, at))) {
      out.append("=");
      const bool is_quoted = at + 1 < text.size() && text[at + 1] == '"';
      const std::size_t start = at + (is_quoted ? 2 : 1);
      const auto end = is_quoted ? std::find(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(), '"')
                                 : std::find_if(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(), ends_value);
      at = static_cast<std::size_t>(end - text.begin());
      if (at > start) out.append(is_quoted ? "\"" : "").append(kHidden);
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace rondo
