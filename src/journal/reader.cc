// Reads the blocks of a journal. A block is valid if its checksum matches. After an invalid one, the reader searches for the next block's
// mark.
#include "journal/reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rondo::journal {

namespace {

/// The number of bytes that may be checked without finding a block. A damaged head can contain a length up to the rest of the file, and a
/// forged file can have many such heads. The damage of a genuine file is checked about once.
class Patience {
 public:
  explicit Patience(std::uint64_t file) noexcept : left_(kLeast + 4 * file) {}
  bool has_ended() const noexcept { return left_ == 0; }
  void spend(std::uint64_t bytes) noexcept { left_ -= std::min(left_, bytes); }

 private:
  static constexpr std::uint64_t kLeast = std::uint64_t{16} << 20U;
  std::uint64_t left_;
};

/// Returns the fault of the block that should begin at 'offset'. If empty, the block is whole, and 'head' is its head.
std::string fault_at(JournalBytes& bytes, std::uint64_t offset, BlockHead& head, Patience& patience) {
  const std::string_view begin = bytes.view(offset, kHeadBytes);
  if (begin.size() < sizeof kMagic || std::memcmp(begin.data(), &kMagic, sizeof kMagic) != 0) return "no block begins here";
  if (begin.size() < kHeadBytes) return "the head of a block is cut off";
  std::memcpy(&head, begin.data(), kHeadBytes);
  if (head.version != kVersion)
    return "a block of version " + std::to_string(head.version) + ", and only version " + std::to_string(kVersion) + " is known";
  if (head.payload_bytes > bytes.size() - offset - kHeadBytes) return "a block is cut off";
  if (head.payload_bytes > kBlockBytes) return "a block of impossible length";
  const std::string_view whole = bytes.view(offset, kHeadBytes + head.payload_bytes);
  if (whole.size() < kHeadBytes + head.payload_bytes) return "a block is cut off";
  if (is_sealed(head, whole.substr(kHeadBytes))) return {};
  patience.spend(whole.size());
  return "a block whose checksum does not match";
}

/// Returns where the next whole block begins, at 'from' or later; the end if there is none or if 'patience' is used up.
std::uint64_t find_next(JournalBytes& bytes, std::uint64_t from, Patience& patience) {
  constexpr std::size_t kLook = JournalBytes::kPiece / 4;
  const std::string_view mark{reinterpret_cast<const char*>(&kMagic), sizeof kMagic};
  BlockHead head;
  for (std::uint64_t at = from;;) {
    const std::string_view look = bytes.view(at, kLook);
    if (look.size() < mark.size() || patience.has_ended()) return bytes.size();
    const std::size_t found = look.find(mark);
    if (found == std::string_view::npos) {
      at += look.size() - mark.size() + 1;  // A mark may begin in the last bytes.
      continue;
    }
    at += found;
    if (fault_at(bytes, at, head, patience).empty()) return at;
    ++at;
  }
}

/// Finds the blocks from 'at' on.
void find_blocks(JournalBytes& bytes, std::uint64_t at, std::vector<Block>& blocks, std::vector<Damage>& damage) {
  Patience patience(bytes.size());
  while (at < bytes.size()) {
    BlockHead head;
    std::string fault = fault_at(bytes, at, head, patience);
    if (fault.empty()) {
      blocks.push_back({head, at});
      at += kHeadBytes + head.payload_bytes;
      continue;
    }
    const std::uint64_t next = find_next(bytes, at + 1, patience);
    if (patience.has_ended()) fault += ", and so many false blocks begin behind it that the rest was not searched";
    damage.push_back({at, next - at, std::move(fault), next == bytes.size()});
    at = next;
  }
}

}  // namespace

std::vector<Block> find_blocks(std::string_view bytes, std::vector<Damage>& damage) {
  JournalBytes memory(bytes);
  std::vector<Block> blocks;
  find_blocks(memory, 0, blocks, damage);
  return blocks;
}

Result<std::unique_ptr<JournalReader>> JournalReader::open(const std::string& path) {
  Result<std::unique_ptr<JournalBytes>> bytes = JournalBytes::open(path);
  if (!bytes) return failure(std::move(bytes).error());
  return open(path, std::move(*bytes));
}

Result<std::unique_ptr<JournalReader>> JournalReader::open(std::string path, std::unique_ptr<JournalBytes> bytes) {
  std::unique_ptr<JournalReader> reader{new JournalReader(std::move(path), std::move(bytes))};
  if (const Status& unread = reader->bytes_->failure(); !unread.ok()) return failure(Status{unread});
  if (reader->blocks_.empty()) {
    if (Status other = reader->check_version(); !other.ok()) return failure(std::move(other));
    const std::string why = reader->damage_.empty() ? "it is empty" : "at offset 0: " + reader->damage_.front().reason;
    return failure(StatusCode::DataLoss, "'" + reader->name() + "' is no journal: " + why);
  }
  return reader;
}

/// An error if the file begins as a journal of another version of the format.
Status JournalReader::check_version() const {
  const std::string_view begin = bytes_->view(0, kHeadBytes);
  BlockHead head;
  if (begin.size() < kHeadBytes || std::memcmp(begin.data(), &kMagic, sizeof kMagic) != 0) return {};
  std::memcpy(&head, begin.data(), kHeadBytes);
  if (head.version == kVersion) return {};
  return {StatusCode::DataLoss,
          "'" + name_ + "' is a journal of format " + std::to_string(head.version) + ", and this program reads format " +
              std::to_string(kVersion) + ": read it with " +
              (head.version < kVersion ? "the rondo that was installed with the rondod that wrote it" : "a newer rondo")};
}

JournalReader::JournalReader(std::string name, std::string_view bytes)
    : JournalReader(std::move(name), std::make_unique<JournalBytes>(bytes)) {}

JournalReader::JournalReader(std::string name, std::unique_ptr<JournalBytes> bytes)
    : name_(std::move(name)), bytes_(std::move(bytes)), scanned_(bytes_->size()) {
  find_blocks(*bytes_, 0, blocks_, damage_);
}

JournalReader::~JournalReader() = default;

bool JournalReader::check_again() {
  bytes_->check_size();
  if (bytes_->size() == scanned_) return true;
  const auto torn = std::ranges::find_if(damage_, &Damage::at_end);
  if (bytes_->size() < scanned_) {
    // A writer on a full disk truncates the block that did not fit, and no more.
    if (torn == damage_.end() || bytes_->size() != torn->offset) return false;
    scanned_ = bytes_->size();
    damage_.erase(torn);
    return true;
  }
  if (next_block_ > 1) {
    blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(next_block_ - 1));
    next_block_ = 1;
  }
  std::uint64_t from = std::exchange(scanned_, bytes_->size());
  if (torn != damage_.end()) {
    from = torn->offset;
    damage_.erase(torn);
  }
  find_blocks(*bytes_, from, blocks_, damage_);
  return true;
}

void JournalReader::go_to(std::size_t index) {
  next_block_ = 0;
  names_.clear();
  for (; next_block_ < index; ++next_block_) add_names(blocks_[next_block_], names_);
  rest_ = {};
  number_ = 0;
}

std::uint64_t JournalReader::next_number() const noexcept {
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    if (block->head.kind == BlockKind::Records) return block->head.first_record + block->head.records;
  }
  return 0;
}

const Block* JournalReader::first_records() const noexcept {
  const auto found = std::ranges::find(blocks_, BlockKind::Records, [](const Block& block) { return block.head.kind; });
  return found == blocks_.end() ? nullptr : &*found;
}

/// Returns the payload as it was when the blocks were found; empty, with the damage reported, if the file has changed since. Empty, too,
/// once the reading was ended.
std::string_view JournalReader::payload(const Block& block) {
  const std::size_t size = kHeadBytes + block.head.payload_bytes;
  const std::string_view whole = bytes_->view(block.offset, size);
  if (whole.size() == size && std::memcmp(whole.data(), &block.head, kHeadBytes) == 0 && is_sealed(block.head, whole.substr(kHeadBytes)))
    return whole.substr(kHeadBytes);
  if (is_ended()) return {};
  const bool is_known = std::ranges::find(damage_, block.offset, &Damage::offset) != damage_.end();
  std::string why = bytes_->failure().ok() ? "a block that the file lost while it was read" : std::string{bytes_->failure().message()};
  if (!is_known) damage_.push_back({block.offset, size, std::move(why), false});
  return {};
}

/// A malformed name keeps its number in place of its text.
void JournalReader::add_names(const Block& block, Names& names) {
  if (block.head.kind == BlockKind::Records) return;
  if (block.head.kind == BlockKind::AllNames) names.clear();
  static_cast<void>(names.add(block.head.first_record, payload(block)));
}

/// Goes to the next block of records and adds the names of the blocks before it. Returns false at the end, and once the reading was ended.
bool JournalReader::enter_block() {
  while (next_block_ < blocks_.size() && !is_ended()) {
    const Block& block = blocks_[next_block_++];
    add_names(block, names_);
    if (block.head.kind != BlockKind::Records) continue;
    const std::string_view records = payload(block);
    if (records.empty()) continue;
    // The first block of a run begins with record 1. If no earlier record of the run was written, it is not the run of the records before.
    const std::uint64_t first = block.head.first_record;
    const bool follows = number_ != 0 && first >= number_ && block.head.lost_before + 1 < first;
    missing_ += follows ? first - number_ : block.head.lost_before;
    run_changed_ = run_changed_ || (number_ != 0 && !follows);
    number_ = first;
    wall_offset_ = block.head.wall_offset;
    rest_ = records;
    piece_ = bytes_->piece();
    offset_ = block.offset + kHeadBytes;
    return true;
  }
  return false;
}

RawRecord JournalReader::next() {
  missing_ = 0;
  run_changed_ = false;
  for (;;) {
    if (rest_.empty() && !enter_block()) return {};
    const std::string_view record = first_record(rest_);
    if (record.empty() || record.size() < 2) {
      rest_ = {};  // The checksum matches, but the content is malformed: the rest of the block cannot be read.
      continue;
    }
    const RawRecord raw{record, number_++, offset_};
    offset_ += record.size();
    rest_.remove_prefix(record.size());
    return raw;
  }
}

}  // namespace rondo::journal
