// JournalReader: reads a journal's file, block by block, and goes on behind what is damaged. One thread; nothing but the file is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orch/journal_bytes.h"
#include "orch/journal_format.h"
#include "orch/journal_record.h"
#include "rondo/base/result.h"

namespace rondo::journal {

/// A part of a file that is no whole block.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string reason;  // For people: "a block whose checksum does not match".
  bool at_end = false;
};

/// A whole block: where it lies in the file.
struct Block {
  BlockHead head;
  std::uint64_t offset = 0;
};

/// The blocks of a file's bytes, and what lies between them. O(bytes): of what is no block, and says that it is one, a few times the file's
/// bytes are checked; behind that everything is left out, as damage that says so.
std::vector<Block> find_blocks(std::string_view bytes, std::vector<Damage>& damage);

/// One record where it lies. Its bytes are valid until the reader's next() is called again, and as long as somebody holds its piece().
struct RawRecord {
  std::string_view bytes;    // Its length included.
  std::uint64_t number = 0;  // In its run, from 1.
  std::uint64_t offset = 0;  // In the file.
  /// Its length has one byte or kLongLength of them (first_record()), and its kind is there.
  Kind kind() const noexcept { return static_cast<Kind>(bytes[(static_cast<unsigned char>(bytes[0]) & 0x80U) == 0 ? 1 : kLongLength]); }
};

class JournalReader {
 public:
  /// DataLoss when there is no whole block in the file, or it is of another version; else the error of reading. All name the file.
  static Result<std::unique_ptr<JournalReader>> open(const std::string& path);
  /// The same of a file that was opened before.
  static Result<std::unique_ptr<JournalReader>> open(std::string path, std::unique_ptr<JournalBytes> bytes);
  /// Of bytes in memory, which must outlive it.
  JournalReader(std::string name, std::string_view bytes);
  ~JournalReader();
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;

  const std::string& name() const noexcept { return name_; }
  /// What was found when it was opened; behind that, blocks that were whole then and are no longer, told when next() comes to them.
  const std::vector<Damage>& damage() const noexcept { return damage_; }
  const std::vector<Block>& blocks() const noexcept { return blocks_; }

  /// Adds what a block of names brings.
  void add_names(const Block& block, Names& names);
  /// Goes on with the block at 'index' of blocks(), as if those before were not there. Names that they brought are known.
  void go_to(std::size_t index);
  /// Looks for what was appended since the file was opened, or looked at last: next() goes on with it. Damage at the end may have been a
  /// block that was being written, and is looked at again. Blocks that next() has passed are forgotten. False if the file has become
  /// shorter by more than such a block: what is in it now begins anew.
  bool look_again();
  /// Its name leads to it still.
  bool is_at_its_name() const noexcept { return bytes_->is_at(name_); }
  /// Before the first next(): the file goes on where another ended, whose next record would have been 'number' (0: it has none).
  void follow_on(std::uint64_t number) noexcept { number_ = number; }
  /// The number that the record behind the last one of the file would have in its run; 0 when there are no records.
  std::uint64_t next_number() const noexcept;
  /// The first block of records; null when there is none.
  const Block* first_records() const noexcept;
  /// The next record; its bytes are empty at the end.
  RawRecord next();
  /// Records that are known to be missing before the one that next() gave last: lost by the writer, or in a damaged block.
  std::uint64_t missing_before() const noexcept { return missing_; }
  /// The record that next() gave last is of another run than the one before.
  bool run_changed() const noexcept { return run_changed_; }
  /// What holds the bytes of the record that next() gave last; null when they are in memory that outlives the reader.
  const std::shared_ptr<const char[]>& piece() const noexcept { return piece_; }
  /// Of the record that next() gave last.
  const Names& names() const noexcept { return names_; }
  /// Wall time less monotonic time, likewise.
  std::int64_t wall_offset() const noexcept { return wall_offset_; }

 private:
  JournalReader(std::string name, std::unique_ptr<JournalBytes> bytes);
  std::string_view payload(const Block& block);
  bool enter_block();

  std::string name_;
  std::unique_ptr<JournalBytes> bytes_;
  std::vector<Damage> damage_;  // Before the blocks: finding them fills it.
  std::vector<Block> blocks_;
  std::uint64_t looked_through_ = 0;  // Bytes of the file.
  std::size_t next_block_ = 0;
  std::string_view rest_;                // Of the block's payload,
  std::shared_ptr<const char[]> piece_;  // which this holds.
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;  // Of the next record.
  std::uint64_t missing_ = 0;
  bool run_changed_ = false;
  std::int64_t wall_offset_ = 0;
  Names names_;
};

}  // namespace rondo::journal
