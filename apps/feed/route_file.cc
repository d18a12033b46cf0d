// zlib's gzread also reads plain files, so both kinds use it. Lines are cut from large pieces: reading a full table takes well under a
// second.
#include "feed/route_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "feed/limits.h"

namespace rondo::feed {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;
constexpr std::size_t kColumnsMax = 5;

struct GzClose {
  void operator()(gzFile file) const noexcept { gzclose(file); }
};
using GzFile = std::unique_ptr<gzFile_s, GzClose>;

Result<std::uint32_t> parse_origin(std::string_view text) {
  std::uint32_t origin = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), origin);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    return failure(StatusCode::InvalidArgument, "'" + std::string{text.substr(0, 50)} + "' is not an AS number");
  }
  return origin;
}

/// Parses lines into routes; the first line determines the kind of the file.
class LineReader {
 public:
  LineReader(const NextHopPlan& plan, RouteFile& file) : plan_(plan), file_(file) {}

  Status line(std::string_view text) {
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty() || text.front() == '#' || text.front() == ';') return {};
    std::array<std::string_view, kColumnsMax> columns;
    const std::size_t count = split(text, columns);
    const RouteFileKind kind = kind_of(count);
    if (kind == RouteFileKind::Empty)
      return wrong("has " + std::to_string(count) + " columns; 1 (prefix), 2 (prefix, origin) or 5 (update) are known");
    if (file_.kind == RouteFileKind::Empty) file_.kind = kind;
    if (file_.kind != kind) return wrong("has " + std::to_string(count) + " columns, unlike the lines before");
    if (kind == RouteFileKind::Updates) return update(columns);
    return add(columns[0], kind == RouteFileKind::Origins ? std::optional{columns[1]} : std::nullopt, false);
  }

 private:
  static Status wrong(std::string why) { return Status{StatusCode::InvalidArgument, "the line " + std::move(why)}; }

  static std::size_t split(std::string_view text, std::array<std::string_view, kColumnsMax>& columns) {
    std::size_t count = 0;
    for (;;) {
      const std::size_t tab = text.find('\t');
      if (count < kColumnsMax) columns[count] = text.substr(0, tab);
      ++count;
      if (tab == std::string_view::npos) return count;
      text.remove_prefix(tab + 1);
    }
  }

  static RouteFileKind kind_of(std::size_t columns) noexcept {
    switch (columns) {
      case 1: return RouteFileKind::Prefixes;
      case 2: return RouteFileKind::Origins;
      case 5: return RouteFileKind::Updates;
      default: return RouteFileKind::Empty;
    }
  }

  Status update(const std::array<std::string_view, kColumnsMax>& columns) {
    if (columns[1] == "A") return add(columns[3], columns[4], false);
    if (columns[1] == "W") return add(columns[3], std::nullopt, true);
    return wrong("says '" + std::string{columns[1].substr(0, 20)} + "' where A (announce) or W (withdraw) is due");
  }

  Status add(std::string_view prefix_text, std::optional<std::string_view> origin_text, bool withdrawn) {
    const Result<Prefix> prefix = parse_prefix(prefix_text);
    if (!prefix) return prefix.error();
    std::optional<std::uint32_t> origin;
    if (origin_text) {
      const Result<std::uint32_t> parsed = parse_origin(*origin_text);
      if (!parsed) return parsed.error();
      origin = *parsed;
    }
    file_.routes.push_back({*prefix, static_cast<std::uint16_t>(plan_.group_of(*prefix, origin)), withdrawn});
    return {};
  }

  const NextHopPlan& plan_;
  RouteFile& file_;
};

Result<GzFile> open_gz(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure(status_from_errno(errno, "open '" + path + "'"));
  GzFile file{gzdopen(fd, "rb")};
  if (file == nullptr) {
    ::close(fd);
    return failure(StatusCode::ResourceExhausted, "open '" + path + "': out of memory");
  }
  gzbuffer(file.get(), static_cast<unsigned>(kPieceBytes));
  return file;
}

}  // namespace

Result<RouteFile> read_route_file(const std::string& path, const NextHopPlan& plan) {
  const Result<GzFile> opened = open_gz(path);
  if (!opened) return failure(opened.error());
  RouteFile file;
  LineReader reader(plan, file);
  std::string text;
  std::uint64_t line_number = 0;
  bool ended = false;
  while (!ended) {
    const std::size_t held = text.size();
    text.resize(held + kPieceBytes);
    errno = 0;
    const int got = gzread(opened->get(), text.data() + held, static_cast<unsigned>(kPieceBytes));
    if (got < 0) {
      int error = Z_OK;
      const std::string why = gzerror(opened->get(), &error);
      if (error == Z_ERRNO) return failure(status_from_errno(errno, "read '" + path + "'"));
      return failure(StatusCode::DataLoss, path + ": damaged compressed data after line " + std::to_string(line_number) + ": " + why);
    }
    text.resize(held + static_cast<std::size_t>(got));
    ended = got == 0;
    if (ended) {
      int error = Z_OK;
      gzerror(opened->get(), &error);
      if (error != Z_OK && error != Z_STREAM_END) {
        return failure(StatusCode::DataLoss, path + ": the compressed data ends too early, after line " + std::to_string(line_number));
      }
      if (!text.empty()) text += '\n';
    }
    std::size_t start = 0;
    for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
      ++line_number;
      const Status read = reader.line(std::string_view{text}.substr(start, end - start));
      if (!read.ok()) return failure(read.with_context(path + ":" + std::to_string(line_number)));
    }
    text.erase(0, start);
    if (text.size() > limits::kRouteLineBytes) {
      return failure(StatusCode::InvalidArgument, path + ":" + std::to_string(line_number + 1) + ": the line is longer than " +
                                                      std::to_string(limits::kRouteLineBytes) + " bytes");
    }
  }
  return file;
}

}  // namespace rondo::feed
