// Reading the blocks of a journal. A block counts when its checksum matches; after one that does not, the next is looked for by its mark.
#include "orch/journal_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/unique_fd.h"

namespace rondo::journal {

namespace {

/// What is wrong with the block that should begin 'bytes'; empty: nothing, and 'head' is its head.
std::string fault_of(std::string_view bytes, BlockHead& head) {
  if (bytes.size() < sizeof kMagic || std::memcmp(bytes.data(), &kMagic, sizeof kMagic) != 0) return "no block begins here";
  if (bytes.size() < kHeadBytes) return "the head of a block is cut off";
  std::memcpy(&head, bytes.data(), kHeadBytes);
  if (head.version < kOldestVersion || head.version > kVersion)
    return "a block of version " + std::to_string(head.version) + ", and only " + std::to_string(kOldestVersion) + " to " +
           std::to_string(kVersion) + " are known";
  if (head.payload_bytes > bytes.size() - kHeadBytes) return "a block is cut off";
  if (!is_sealed(head, bytes.substr(kHeadBytes, head.payload_bytes))) return "a block whose checksum does not match";
  return {};
}

bool is_whole(std::string_view bytes, BlockHead& head) { return fault_of(bytes, head).empty(); }

/// Where the next whole block begins, at 'from' or later; the end if there is none.
std::size_t find_next(std::string_view bytes, std::size_t from) {
  const std::string_view mark{reinterpret_cast<const char*>(&kMagic), sizeof kMagic};
  BlockHead head;
  for (std::size_t at = bytes.find(mark, from); at != std::string_view::npos; at = bytes.find(mark, at + 1)) {
    if (is_whole(bytes.substr(at), head)) return at;
  }
  return bytes.size();
}

}  // namespace

std::vector<Block> find_blocks(std::string_view bytes, std::vector<Damage>& damage) {
  std::vector<Block> blocks;
  std::size_t at = 0;
  while (at < bytes.size()) {
    BlockHead head;
    std::string fault = fault_of(bytes.substr(at), head);
    if (fault.empty()) {
      blocks.push_back({head, at});
      at += kHeadBytes + head.payload_bytes;
      continue;
    }
    const std::size_t next = find_next(bytes, at + 1);
    damage.push_back({at, next - at, std::move(fault), next == bytes.size()});
    at = next;
  }
  return blocks;
}

class JournalReader::Mapping {
 public:
  Mapping(void* begin, std::size_t size) : begin_(begin), size_(size) {}
  ~Mapping() {
    if (size_ > 0) ::munmap(begin_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(begin_), size_}; }

 private:
  void* begin_;
  std::size_t size_;
};

Result<std::unique_ptr<JournalReader>> JournalReader::open(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return failure(status_from_errno(errno, "cannot read '" + path + "'"));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return failure(status_from_errno(errno, "cannot read '" + path + "'"));
  if (!S_ISREG(found.st_mode)) return failure(Code::InvalidArgument, "'" + path + "' is no file");
  const auto size = static_cast<std::size_t>(found.st_size);
  void* begin = nullptr;
  if (size > 0) {
    begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (begin == MAP_FAILED) return failure(status_from_errno(errno, "cannot read '" + path + "'"));
  }
  auto mapping = std::make_unique<Mapping>(begin, size);
  auto reader = std::make_unique<JournalReader>(path, mapping->bytes());
  reader->mapping_ = std::move(mapping);
  if (reader->blocks_.empty()) {
    const std::string why = reader->damage_.empty() ? "it is empty" : "at offset 0: " + reader->damage_.front().reason;
    return failure(Code::DataLoss, "'" + path + "' is no journal: " + why);
  }
  return reader;
}

JournalReader::JournalReader(std::string name, std::string_view bytes)
    : name_(std::move(name)), bytes_(bytes), blocks_(find_blocks(bytes, damage_)) {}

JournalReader::~JournalReader() = default;

void JournalReader::go_to(std::size_t index) {
  next_block_ = 0;
  names_.clear();
  for (; next_block_ < index; ++next_block_) add_names(blocks_[next_block_], names_);
  rest_ = {};
  number_ = 0;
}

/// What is malformed has a number in place of its text.
void JournalReader::add_names(const Block& block, Names& names) const {
  if (block.head.kind == BlockKind::Records) return;
  if (block.head.kind == BlockKind::AllNames) names.clear();
  static_cast<void>(names.add(block.head.first_record, bytes_.substr(block.offset + kHeadBytes, block.head.payload_bytes)));
}

/// Goes to the next block of records, through those of names. False at the end.
bool JournalReader::enter_block() {
  while (next_block_ < blocks_.size()) {
    const Block& block = blocks_[next_block_++];
    add_names(block, names_);
    if (block.head.kind != BlockKind::Records) continue;
    // A run's first block begins anew.
    const bool follows = number_ != 0 && block.head.first_record >= number_;
    missing_ += follows ? block.head.first_record - number_ : block.head.lost_before;
    number_ = block.head.first_record;
    wall_offset_ = block.head.wall_offset;
    rest_ = bytes_.substr(block.offset + kHeadBytes, block.head.payload_bytes);
    offset_ = block.offset + kHeadBytes;
    return true;
  }
  return false;
}

RawRecord JournalReader::next() {
  missing_ = 0;
  for (;;) {
    if (rest_.empty() && !enter_block()) return {};
    const std::string_view record = first_record(rest_);
    if (record.empty() || record.size() < 2) {
      rest_ = {};  // Sealed, and yet not ours: the block's rest cannot be read.
      continue;
    }
    const RawRecord raw{record, number_++, offset_};
    offset_ += record.size();
    rest_.remove_prefix(record.size());
    return raw;
  }
}

}  // namespace rondo::journal
