// GLib: a GSource for each descriptor (g_source_add_unix_fd), for each message of another thread, and for each local queue, with
// g_source_set_priority. An iteration polls every descriptor and dispatches all ready sources of the best priority. The second candidate
// adds a user's queue in front, woken by g_source_set_ready_time(), for programs that post many messages.
#include <glib.h>

#include <memory>
#include <vector>

#include "peers/loop.h"
#include "peers/measure.h"
#include "peers/queues.h"

namespace rondo::bench {

namespace {

/// In GLib a lower number is more urgent.
int number(unsigned priority) { return G_PRIORITY_DEFAULT - static_cast<int>(priority); }

/// A GSource with one of our objects after its own fields.
template <class Part>
struct With {
  GSource source;
  Part part;
};

template <class Part>
GSource* make_source(GSourceFuncs& functions, Part part, unsigned priority) {
  GSource* source = g_source_new(&functions, sizeof(With<Part>));
  reinterpret_cast<With<Part>*>(source)->part = part;
  g_source_set_priority(source, number(priority));
  return source;
}

template <class Part>
Part& part_of(GSource* source) {
  return reinterpret_cast<With<Part>*>(source)->part;
}

gboolean dispatch_descriptor(GSource* source, GSourceFunc, gpointer) {
  part_of<Ready*>(source)->read_and_take();
  return G_SOURCE_CONTINUE;
}
// Without prepare and check: GLib itself examines poll()'s result for the source's descriptors.
GSourceFuncs descriptor_functions = {nullptr, nullptr, &dispatch_descriptor, nullptr, nullptr, nullptr};

/// A message of another thread: ready immediately, and destroyed after it was handled.
struct Letter {
  Receiver* receiver;
  std::int64_t message;
};
gboolean ready_at_once(GSource*, gint* timeout) {
  *timeout = 0;
  return TRUE;
}
gboolean dispatch_letter(GSource* source, GSourceFunc, gpointer) {
  const Letter& letter = part_of<Letter>(source);
  letter.receiver->take(letter.message);
  return G_SOURCE_REMOVE;
}
GSourceFuncs letter_functions = {&ready_at_once, nullptr, &dispatch_letter, nullptr, nullptr, nullptr};

struct LocalEnd {
  LocalQueue* queue;
  Receiver* receiver;
};
gboolean prepare_local(GSource* source, gint* timeout) {
  *timeout = -1;
  return part_of<LocalEnd>(source).queue->empty() ? FALSE : TRUE;
}
gboolean check_local(GSource* source) { return part_of<LocalEnd>(source).queue->empty() ? FALSE : TRUE; }
gboolean dispatch_local(GSource* source, GSourceFunc, gpointer) {
  const LocalEnd& end = part_of<LocalEnd>(source);
  end.queue->hand_one_to(*end.receiver);
  return G_SOURCE_CONTINUE;
}
GSourceFuncs local_functions = {&prepare_local, &check_local, &dispatch_local, nullptr, nullptr, nullptr};

struct RemoteEnd {
  LockedQueue* queue;
  Receiver* receiver;
};
gboolean dispatch_remote(GSource* source, GSourceFunc, gpointer) {
  g_source_set_ready_time(source, -1);  // Before the queue is emptied, so that a later wake covers later messages.
  const RemoteEnd& end = part_of<RemoteEnd>(source);
  end.queue->hand_to(*end.receiver);
  return G_SOURCE_CONTINUE;
}
GSourceFuncs remote_functions = {nullptr, nullptr, &dispatch_remote, nullptr, nullptr, nullptr};

class GlibPort final : public Port {
 public:
  GlibPort(GMainContext* context, Receiver& receiver, unsigned priority, bool own_queue)
      : context_(context), receiver_(receiver), priority_(priority), own_queue_(own_queue) {
    local_ = make_source(local_functions, LocalEnd{&here_, &receiver}, priority);
    remote_ = make_source(remote_functions, RemoteEnd{&elsewhere_, &receiver}, priority);
    for (GSource* source : {local_, remote_}) g_source_attach(source, context);
  }
  ~GlibPort() override {
    for (GSource* source : {local_, remote_}) {
      g_source_destroy(source);
      g_source_unref(source);
    }
  }
  void send(std::int64_t message) override {
    if (own_queue_) {
      if (elsewhere_.push(message)) g_source_set_ready_time(remote_, 0);
      return;
    }
    GSource* source = make_source(letter_functions, Letter{&receiver_, message}, priority_);
    g_source_attach(source, context_);
    g_source_unref(source);
  }
  void send_here(std::int64_t message) override { here_.push(message); }

 private:
  GMainContext* const context_;
  Receiver& receiver_;
  const unsigned priority_;
  const bool own_queue_;
  LocalQueue here_;
  LockedQueue elsewhere_;
  GSource* local_ = nullptr;
  GSource* remote_ = nullptr;
};

class GlibLoop final : public Loop {
 public:
  explicit GlibLoop(bool own_queue) : own_queue_(own_queue), context_(g_main_context_new()) {}
  ~GlibLoop() override {
    for (GSource* source : descriptors_) {
      g_source_destroy(source);
      g_source_unref(source);
    }
    ports_.clear();
    g_main_context_unref(context_);
  }
  Port& open(Receiver& receiver, unsigned priority) override {
    return *ports_.emplace_back(std::make_unique<GlibPort>(context_, receiver, priority, own_queue_));
  }
  void watch(Ready& ready, unsigned priority) override {
    GSource* source = make_source(descriptor_functions, &ready, priority);
    g_source_add_unix_fd(source, ready.fd, G_IO_IN);
    g_source_attach(source, context_);
    descriptors_.push_back(source);
  }

 private:
  void run_until_done() override {
    // As g_main_loop_run() does. Owning the context saves acquiring it in each iteration.
    require(g_main_context_acquire(context_) != FALSE, "the context belongs to another thread");
    while (!done()) g_main_context_iteration(context_, TRUE);
    g_main_context_release(context_);
  }
  const bool own_queue_;
  GMainContext* const context_;
  std::vector<GSource*> descriptors_;
  std::vector<std::unique_ptr<GlibPort>> ports_;
};

}  // namespace

Candidates glib_loops() {
  return {{"GLib", Side::Peer, kAll, true, [](Threads) { return std::make_unique<GlibLoop>(false); }},
          {"GLib, own queue", Side::Peer, kHandOver, true, [](Threads) { return std::make_unique<GlibLoop>(true); }}};
}

}  // namespace rondo::bench
