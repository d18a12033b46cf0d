// The sink that writes a journal's file. Records are gathered in chunks of memory, and its own thread makes blocks of them.
#pragma once

#include <memory>

#include "journal/sink.h"
#include "rondo/base/result.h"

namespace rondo::journal {

Result<std::unique_ptr<JournalSink>> open_writer(const JournalOptions& options);

}  // namespace rondo::journal
