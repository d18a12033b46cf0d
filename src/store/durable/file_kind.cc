#include "store/durable/file_kind.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "rondo/store/record.h"

namespace rondo::store::durable {

namespace {

/// SQLite's file format, sections 1.3 and 1.6: the magic bytes of the first page, and the offsets of two numbers in its header.
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kVersionAt = 60;
constexpr std::size_t kApplicationAt = 68;
constexpr std::size_t kCellsAt = 103;  // Offset in the first page, two bytes: the number of entries in the schema.

std::int64_t number_at(std::string_view header, std::size_t at, std::size_t bytes) {
  std::int64_t value = 0;
  for (const char byte : header.substr(at, bytes)) value = value << 8U | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

Status none_of_ours(const std::string& path) {
  return {Code::FailedPrecondition, quoted(path) + " is a database, but no store of Rondo's"};
}

Status check_kind(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(found)) return {};
  const std::string opening = "opening " + quoted(path) + ": ";
  if (std::filesystem::is_directory(found)) return {Code::FailedPrecondition, opening + "it is a folder"};
  if (!std::filesystem::is_regular_file(found)) return {Code::FailedPrecondition, opening + "it is no regular file"};
  // An empty file becomes a store. If there is a log, the first page may be in the log.
  for (const char* const suffix : {"-wal", "-journal"}) {
    if (std::filesystem::exists(path + suffix, error)) return {};
  }
  std::array<char, kCellsAt + 2> bytes{};
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), bytes.size());
  const std::string_view header{bytes.data(), static_cast<std::size_t>(in.gcount())};
  if (header.empty()) return {};
  if (!header.starts_with(kMagic)) return {Code::FailedPrecondition, opening + "it is no store of Rondo's"};
  if (header.size() < bytes.size()) return {};
  const std::int64_t application = number_at(header, kApplicationAt, 4);
  const bool is_empty = application == 0 && number_at(header, kVersionAt, 4) == 0 && number_at(header, kCellsAt, 2) == 0;
  return is_empty || application == kApplication ? Status{} : none_of_ours(path).with_context("opening");
}

}  // namespace rondo::store::durable
