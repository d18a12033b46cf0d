// The files of web/dist as the build found them: a part of the program.
#pragma once

#include <string_view>

namespace rondo::console {

struct WebFiles {
  std::string_view index_html;
  std::string_view console_js;
  std::string_view console_css;
  std::string_view icon_svg;
};

/// The texts exist as long as the program.
WebFiles web_files() noexcept;

}  // namespace rondo::console
