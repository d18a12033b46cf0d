// The assembler reads the files, because a compiler takes seconds for texts of such lengths. CMakeLists.txt has their folder, and compiles
// this again when one of them changes.
#include "console/files.h"

#include <cstddef>

// Each file ends where the next label is.
__asm__(
    ".pushsection .rodata\n"
    "rondo_web_index_html: .incbin \"" RONDO_WEB
    "index.html\"\n"
    "rondo_web_console_js: .incbin \"" RONDO_WEB
    "console.js\"\n"
    "rondo_web_console_css: .incbin \"" RONDO_WEB
    "console.css\"\n"
    "rondo_web_icon_svg: .incbin \"" RONDO_WEB
    "icon.svg\"\n"
    "rondo_web_end: .byte 0\n"
    ".popsection\n");

extern "C" {
extern const char rondo_web_index_html[];
extern const char rondo_web_console_js[];
extern const char rondo_web_console_css[];
extern const char rondo_web_icon_svg[];
extern const char rondo_web_end[];
}

namespace rondo::console {

WebFiles web_files() noexcept {
  const auto between = [](const char* begin, const char* end) { return std::string_view{begin, static_cast<std::size_t>(end - begin)}; };
  return {.index_html = between(rondo_web_index_html, rondo_web_console_js),
          .console_js = between(rondo_web_console_js, rondo_web_console_css),
          .console_css = between(rondo_web_console_css, rondo_web_icon_svg),
          .icon_svg = between(rondo_web_icon_svg, rondo_web_end)};
}

}  // namespace rondo::console
