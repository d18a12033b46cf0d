// JournalReader: reads a journal's file block by block and continues behind damage. One thread; it needs only the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "journal/bytes.h"
#include "journal/format.h"
#include "journal/record.h"
#include "rondo/base/result.h"

namespace rondo::journal {

/// A part of a file that is no whole block.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string reason;  // For people: "a block whose checksum does not match".
  bool at_end = false;
};

/// A whole block and its place in the file.
struct Block {
  BlockHead head;
  std::uint64_t offset = 0;
};

/// Finds the blocks in a file's bytes, and the damage between them. O(bytes). Forged block heads are checked up to a few times the file's
/// size in total; the rest of the file is then skipped and reported as damage.
std::vector<Block> find_blocks(std::string_view bytes, std::vector<Damage>& damage);

/// One undecoded record. Its bytes are valid until the reader's next() is called again, and as long as the caller holds its piece().
struct RawRecord {
  std::string_view bytes;    // Its length included.
  std::uint64_t number = 0;  // Its number in its run, from 1.
  std::uint64_t offset = 0;  // In the file.
  /// The length takes one byte or kLongLength bytes (see first_record()); the kind follows it.
  Kind kind() const noexcept { return static_cast<Kind>(bytes[(static_cast<unsigned char>(bytes[0]) & 0x80U) == 0 ? 1 : kLongLength]); }
};

class JournalReader {
 public:
  /// DataLoss when the file has no whole block or is of another version; otherwise the error of reading. All messages contain the file's
  /// name.
  static Result<std::unique_ptr<JournalReader>> open(const std::string& path);
  /// The same for a file that is already open.
  static Result<std::unique_ptr<JournalReader>> open(std::string path, std::unique_ptr<JournalBytes> bytes);
  /// Reads bytes in memory, which must outlive the reader.
  JournalReader(std::string name, std::string_view bytes);
  ~JournalReader();
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;

  const std::string& name() const noexcept { return name_; }
  /// The damage found when the file was opened, then blocks that were whole at that time and are damaged now. next() adds those when it
  /// reaches them.
  const std::vector<Damage>& damage() const noexcept { return damage_; }
  const std::vector<Block>& blocks() const noexcept { return blocks_; }

  /// Adds the names of a block of names.
  void add_names(const Block& block, Names& names);
  /// Continues with the block at 'index' of blocks() and skips those before it. Names that they added are known.
  void go_to(std::size_t index);
  /// Scans the bytes appended since the file was opened or last scanned; next() then continues with them. Damage at the end may have been
  /// a block that was being written, so it is scanned again. Blocks that next() has passed are forgotten. Returns false if the file has
  /// become shorter by more than such a block: its content now begins anew.
  bool check_again();
  /// True if the file's name still leads to it.
  bool is_at_its_name() const noexcept { return bytes_->is_at(name_); }
  /// Call it before the first next(): the file continues where another ended, whose next record would have been 'number' (0: unknown).
  void follow_on(std::uint64_t number) noexcept { number_ = number; }
  /// The number that the record behind the file's last one would have in its run; 0 when there are no records.
  std::uint64_t next_number() const noexcept;
  /// The first block of records; null when there is none.
  const Block* first_records() const noexcept;
  /// Returns the next record; its bytes are empty at the end, and once is_ended().
  RawRecord next();
  /// True once the reading of the file was ended: see JournalBytes::end_when().
  bool is_ended() const noexcept { return bytes_->is_ended(); }
  /// Known missing records before the newest record of next(): lost by the writer, or in a damaged block.
  std::uint64_t missing_before() const noexcept { return missing_; }
  /// True if the record that next() returned last is of another run than the one before it.
  bool run_changed() const noexcept { return run_changed_; }
  /// The owner of the bytes of the record that next() returned last; null when they are in memory that outlives the reader.
  const std::shared_ptr<const char[]>& piece() const noexcept { return piece_; }
  /// The names of the record that next() returned last.
  const Names& names() const noexcept { return names_; }
  /// Wall time less monotonic time, of the same record.
  std::int64_t wall_offset() const noexcept { return wall_offset_; }

 private:
  JournalReader(std::string name, std::unique_ptr<JournalBytes> bytes);
  std::string_view payload(const Block& block);
  bool enter_block();
  Status check_version() const;

  std::string name_;
  std::unique_ptr<JournalBytes> bytes_;
  std::vector<Damage> damage_;  // Declared before blocks_, because finding the blocks fills it.
  std::vector<Block> blocks_;
  std::uint64_t scanned_ = 0;  // Bytes of the file that were scanned.
  std::size_t next_block_ = 0;
  std::string_view rest_;                // The undecoded part of the block's payload.
  std::shared_ptr<const char[]> piece_;  // Owns the bytes of rest_.
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;  // The number of the next record.
  std::uint64_t missing_ = 0;
  bool run_changed_ = false;
  std::int64_t wall_offset_ = 0;
  Names names_;
};

}  // namespace rondo::journal
