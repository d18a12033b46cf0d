#include "console/console.h"

#include <openssl/sha.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "console/files.h"
#include "rondo/base/assert.h"

namespace rondo::console {

namespace {

/// The page loads its own files and calls its own server; nothing that gets into it can load or send anything else.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action "
    "'none'; "
    "frame-ancestors 'none'";

http::Response with_fields(http::Response response) {
  response.is_public = true;
  for (const auto& [name, value] : {std::pair{"Cache-Control", "no-cache"}, std::pair{"Content-Security-Policy", kPolicy},
                                    std::pair{"X-Content-Type-Options", "nosniff"}, std::pair{"Referrer-Policy", "no-referrer"},
                                    std::pair{"Cross-Origin-Opener-Policy", "same-origin"}, std::pair{"X-Frame-Options", "DENY"}})
    response.fields.push_back({name, value});
  return response;
}

std::string gzip_of(std::string_view bytes) {
  constexpr int kGzip = 15 + 16;  // The largest window, and the header of gzip.
  constexpr int kMemory = 8;      // The default of zlib.
  z_stream stream{};
  RONDO_ASSERT(::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib does not write there.
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  RONDO_ASSERT(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

/// Weak: the file is the same, compressed or not.
std::string tag_of(std::string_view bytes) {
  constexpr std::size_t kBytes = 16;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string tag = "W/\"";
  for (std::size_t i = 0; i < kBytes; ++i) {
    constexpr std::string_view kHex = "0123456789abcdef";
    tag += kHex[digest[i] >> 4U];
    tag += kHex[digest[i] & 0xfU];
  }
  return tag + "\"";
}

}  // namespace

Console::Console() {
  const WebFiles web = web_files();
  files_ = {{.path = "/console/", .type = "text/html; charset=utf-8", .bytes = web.index_html, .gzip = {}, .tag = {}},
            {.path = "/console/console.js", .type = "text/javascript; charset=utf-8", .bytes = web.console_js, .gzip = {}, .tag = {}},
            {.path = "/console/console.css", .type = "text/css; charset=utf-8", .bytes = web.console_css, .gzip = {}, .tag = {}},
            {.path = "/console/icon.svg", .type = "image/svg+xml", .bytes = web.icon_svg, .gzip = {}, .tag = {}}};
  for (File& file : files_) {
    file.gzip = gzip_of(file.bytes);
    file.tag = tag_of(file.bytes);
  }
}

const Console::File& Console::file_at(std::string_view path) const noexcept {
  const auto found = std::ranges::find(files_, path, &File::path);
  return found != files_.end() ? *found : files_.front();
}

http::Response Console::answer(const http::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    http::Response response = http::text_response(405, "the method must be GET or HEAD");
    response.fields.push_back({"Allow", "GET, HEAD"});
    return with_fields(std::move(response));
  }
  const std::string_view path = request.path();
  if (path == "/" || path == "/console") return with_fields({.status = 302, .content_type = {}, .fields = {{"Location", "/console/"}}});
  const File& file = file_at(path);
  http::Response response{.content_type = std::string{file.type}, .fields = {{"ETag", file.tag}, {"Vary", "Accept-Encoding"}}};
  if (const std::string* const known = request.field("If-None-Match"); known != nullptr && known->find(file.tag) != std::string::npos) {
    response.status = 304;
  } else if (request.lists("Accept-Encoding", "gzip")) {
    response.body = file.gzip;
    response.fields.push_back({"Content-Encoding", "gzip"});
  } else {
    response.body = file.bytes;
  }
  return with_fields(std::move(response));
}

}  // namespace rondo::console
