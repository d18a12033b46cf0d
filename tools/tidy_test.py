#!/usr/bin/env python3
"""Self-test of tidy.py: a small tree that is in order, and for each rule a planted offence that must be found (and a neighbour that must not)."""
import os
import re
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import limit_headers  # noqa: E402
import snippets  # noqa: E402
import tidy  # noqa: E402

LAYERS = "base:\nsched: base\nstore: sched\ndataplane: sched\norch: store dataplane\nsim: orch\napps/rondo: sched\ntests: sim\nbench: sim\nexamples: sim\n"
HEADER = "// Thing: a thing.\n#pragma once\n\nnamespace rondo {\n\nclass Thing {\n public:\n  int size() const { return size_; }\n\n" \
         " private:\n  int size_ = 0;\n};\n\n}  // namespace rondo\n"
SOURCE = '#include "rondo/base/thing.h"\n\nnamespace rondo {\n\nconstexpr int kOne = 1;\n\n}  // namespace rondo\n'


def orderly():
    return {
        "tools/layers.txt": LAYERS,
        "include/rondo/base/thing.h": HEADER,
        "src/base/thing.cc": SOURCE,
        "docs/glossary.md": "# Glossary\n\n| `Thing` | what the field calls a thing |\n",
        "README.md": "# X\n\nSee [the glossary](docs/glossary.md) and `src/base/thing.cc`.\n",
    }


class TidyTest(unittest.TestCase):
    def offences(self, **files):
        """The offences of the orderly tree with some files added; '__' in a name stands for '/', and '_dot_' for '.'."""
        tree = orderly()
        tree.update({name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()})
        with tempfile.TemporaryDirectory() as root:
            for path, text in tree.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return tidy.check(root)[0]

    def finds(self, rule, what, **files):
        found = self.offences(**files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(f" {rule}: ", found[0])
        self.assertIn(what, found[0])

    def passes(self, **files):
        self.assertEqual(self.offences(**files), [])

    def test_an_orderly_tree_has_no_offences(self):
        self.passes()

    # layers

    def test_a_layer_may_not_use_what_is_above(self):
        self.finds("layers", "'base' may not use 'sched'", src__sched__x_dot_h="// X.\n#pragma once\n",
                   src__base__thing_dot_cc='#include "sched/x.h"\n')

    def test_siblings_may_not_use_each_other(self):
        self.finds("layers", "'store' may not use 'dataplane'", src__dataplane__x_dot_h="// X.\n#pragma once\n",
                   src__store__y_dot_cc='// Y.\n#include "dataplane/x.h"\n')

    def test_a_layer_may_use_what_is_far_below(self):
        self.passes(src__orch__y_dot_cc='// Y.\n#include "rondo/base/thing.h"\n')

    def test_only_tests_may_use_the_simulation(self):
        kit = "// X.\n#pragma once\n"
        self.passes(src__sim__x_dot_h=kit, src__base__thing_test_dot_cc='// Test.\n#include "sim/x.h"\n')
        self.finds("layers", "may not use 'sim'", src__sim__x_dot_h=kit, src__orch__y_dot_cc='// Y.\n#include "sim/x.h"\n')

    def test_a_header_that_only_tests_include_is_a_test_kit(self):
        kit = '// Kit.\n#pragma once\n#include "sim/x.h"\ninline int f() {\n  static int calls = 0;\n  return ++calls;\n}\n'
        files = {"src__sim__x_dot_h": "// X.\n#pragma once\n", "src__base__kit_dot_h": kit,
                 "src__base__thing_test_dot_cc": '// Test.\n#include "base/kit.h"\n'}
        self.passes(**files)
        found = self.offences(src__base__other_dot_cc='// Other.\n#include "base/kit.h"\n', **files)
        self.assertEqual(len(found), 2, found)
        self.assertIn("may not use 'sim'", found[0])
        self.assertIn("global", found[1])

    def test_a_program_may_use_only_its_layers(self):
        self.finds("layers", "'apps/rondo' may not use 'store'", src__store__x_dot_h="// X.\n#pragma once\n",
                   apps__rondo__main_dot_cc='// Main.\n#include "store/x.h"\n')

    def test_a_room_of_a_program_may_use_only_its_layers(self):
        layers = LAYERS + "apps/rondo/room: store\n"
        files = {"tools__layers_dot_txt": layers, "src__store__x_dot_h": "// X.\n#pragma once\n"}
        self.passes(apps__rondo__room__a_dot_cc='// A.\n#include "store/x.h"\n#include "other/y.h"\n', apps__rondo__other__y_dot_h="// Y.\n#pragma once\n", **files)
        self.finds("layers", "'apps/rondo' may not use 'store'", apps__rondo__other__b_dot_cc='// B.\n#include "store/x.h"\n', **files)

    def test_no_header_of_a_program_has_the_name_of_one_of_a_layer(self):
        self.finds("layers", "is in src/ and in apps/rondo/", src__base__x_dot_h="// X.\n#pragma once\n", apps__rondo__base__x_dot_h="// X.\n#pragma once\n",
                   apps__rondo__main_dot_cc='// Main.\n#include "base/x.h"\n')

    def test_a_public_header_may_not_include_a_private_one(self):
        self.finds("layers", "private 'base/y.h'", src__base__y_dot_h="// Y.\n#pragma once\n",
                   include__rondo__base__thing_dot_h=HEADER.replace("#pragma once\n", '#pragma once\n#include "base/y.h"\n'))

    def test_an_include_must_lead_somewhere(self):
        self.finds("layers", "neither", src__base__thing_dot_cc='#include "rondo/base/absent.h"\n')

    def test_an_include_in_a_comment_is_no_include(self):
        self.passes(src__base__thing_dot_cc='// #include "rondo/sched/absent.h"\n')

    def test_own_headers_are_quoted(self):
        self.finds("layers", "angle brackets", src__base__thing_dot_cc="#include <rondo/base/thing.h>\n")

    def test_a_new_folder_must_be_given_its_layer(self):
        self.finds("layers", "'novel' is not in", src__novel__y_dot_cc="// Y.\n")

    # length

    @staticmethod
    def function(lines, head="int f() {"):
        return "// Y.\n" + head + "\n" + "  g();\n" * (lines - 2) + "}\n"

    def test_a_function_has_at_most_70_lines(self):
        self.passes(src__base__y_dot_cc=self.function(70))
        self.finds("length", "71 lines", src__base__y_dot_cc=self.function(71))

    def test_the_length_of_a_function_counts_in_every_form(self):
        for head in ("int C::f() const noexcept {", "TEST(Thing, Works) {", "C::C(int a) : a_{a}, b_(1) {", "auto f(std::vector<int> a = {}) -> int {",
                     "constexpr auto kTable = [] {", "template <class T>\n  requires C<T>\nT f(T a) {", "static std::map<int, int> f(struct X* x) {"):
            extra = head.count("\n")
            self.finds("length", "71 lines", src__base__y_dot_cc=self.function(71 - extra, head))

    def test_methods_in_a_class_are_functions_and_the_class_is_not(self):
        method = "  int f() {\n" + "    g();\n" * 30 + "  }\n"
        self.passes(src__base__y_dot_cc="// Y.\nnamespace a {\nclass C : public B<int> {\n public:\n" + method * 5 + "};\n}  // namespace a\n")
        long = "  int f() {\n" + "    g();\n" * 80 + "  }\n"
        self.finds("length", "82 lines", src__base__y_dot_cc="// Y.\nclass C {\n private:\n" + long + "};\n")

    def test_a_table_is_not_a_function(self):
        self.passes(src__base__y_dot_cc="// Y.\nconstexpr int kTable[] = {\n" + "    1,\n" * 100 + "};\nconstexpr std::array kOther{\n" + "    1,\n" * 99 + "};\n")

    def test_braces_in_literals_and_comments_do_not_count(self):
        self.finds("length", "71 lines", src__base__y_dot_cc=self.function(71).replace("  g();", "  g('}', \"}\\\"}\", R\"(}\")\");  // }", 1))

    def test_a_file_has_at_most_600_lines_and_a_test_900(self):
        self.passes(src__base__y_dot_cc="// Y.\n" * 600, src__base__y_test_dot_cc="// Y.\n" * 900)
        self.finds("length", "601 lines", src__base__y_dot_cc="// Y.\n" * 601)
        self.finds("length", "901 lines", src__base__y_test_dot_cc="// Y.\n" * 901)

    # manners

    def test_no_loop_over_a_part_of_a_temporary(self):
        for head in ("const int x : f().value()", "const auto& [key, row] : plane().fdb(1, g(2)).value()", "auto&& x : std::move(r).all().value()"):
            self.finds("loop", "value() of a temporary", src__base__y_dot_cc=f"// Y.\nvoid f() {{ for ({head}) {{}} }}\n")
        self.passes(src__base__y_dot_cc="// Y.\nvoid f() { for (const int x : r.value()) {} for (int i = 0; i < f().value(); ++i) {} for (int x : r) g(a ? b : h().value()); }\n")

    def test_nothing_sleeps(self):
        for call in ("std::this_thread::sleep_for(1ms)", "sleep(1)", "::usleep (1)", "nanosleep(&t, nullptr)"):
            self.finds("sleep", "wait for the event", src__base__y_dot_cc=f"// Y.\nvoid f() {{ {call}; }}\n")
        self.passes(src__base__y_dot_cc="// Y. It may sleep(1) in a comment.\nvoid f() { go_to_sleep(1); g(\"sleep(1)\"); }\n")

    def test_headers_do_not_open_namespaces(self):
        self.finds("using", "std", src__base__y_dot_h="// Y.\n#pragma once\nusing namespace std;\n")
        self.passes(src__base__y_dot_cc="// Y.\nusing namespace std;\n")

    def test_headers_have_a_guard_and_a_comment(self):
        self.finds("header", "#pragma once", src__base__y_dot_h="// Y.\n")
        self.finds("header", "comment", src__base__y_dot_h="#pragma once\n")
        self.finds("header", "comment", src__base__y_dot_cc="int f();\n")

    def test_comments_name_what_there_is(self):
        self.finds("named", "'OtherThing'", src__base__y_dot_h="// OtherThing: another one.\n#pragma once\n")
        self.finds("named", "'is_big()'", src__base__y_dot_h="// Things: see is_big().\n#pragma once\n")
        self.passes(src__base__big_thing_dot_cc="// BigThing: the size() of a Thing.\nstruct BigThing;\n")

    def test_threads_start_only_where_it_is_written(self):
        for start in ("std::thread t(f);", "std::jthread t{f};", "auto x = std::async(f);", "pthread_create(&t, 0, f, 0);"):
            self.finds("thread", "threads start only in", src__base__y_dot_cc=f"// Y.\nvoid g() {{ {start} }}\n")
        self.passes(tools__layers_dot_txt=LAYERS + "journal: base\n",
                    src__base__y_dot_cc="// Y.\nstd::thread::id f() { return std::this_thread::get_id(); }\n",
                    src__journal__writer_dot_cc="// J.\nvoid g() { std::thread t(f); }\n",
                    src__base__y_test_dot_cc="// T.\nvoid g() { std::thread t(f); }\n")

    def test_there_are_no_mutable_globals(self):
        for variable in ("int counter = 0;", "static std::string name;", "std::atomic<int> flag{0};", "extern int other;", "inline std::map<int, int> all;",
                         "thread_local int depth = 0;", "const char* text = nullptr;", "struct C {\n  static int count;\n};",
                         "void f() {\n  static int calls = 0;\n}", "volatile sig_atomic_t stop = 0;", "static Foo instance;", "int table[4];"):
            self.finds("global", "mutable state", src__base__y_dot_cc=f"// Y.\nnamespace rondo {{\n{variable}\n}}\n")

    def test_globals_stand_only_where_it_is_written(self):
        self.passes(apps__rondo__output__print_dot_cc="// O.\nnamespace rondo {\nint& f() { static int number = 0; return number; }\n}\n")
        self.finds("global", "mutable state", apps__rondo__other_dot_cc="// O.\nnamespace rondo {\nint& f() { static int number = 0; return number; }\n}\n")

    def test_constants_and_declarations_are_no_globals(self):
        for text in ("constexpr int kOne = 1;", "const std::string kName = f();", "inline constexpr Priority Priority::p0{0}, Priority::p1{1};", "int f(int a);",
                     "class C;", "struct C {\n  int a = 0;\n  static constexpr int kB = 1;\n  static C make(int a);\n};", "using A = std::map<int, int>;",
                     "enum class E { A, B };", "const char* const kText = nullptr;", "constexpr const char* kText = \"a;b\";", "void f() {\n  static const int once = g();\n  int local = 0;\n}",
                     "static_assert(sizeof(int) == 4);", "template <class T>\nconcept C = requires(T t) { t.f(); };", "C::~C() = default;",
                     "bool operator==(const C&, const C&) = default;", "Result<std::unique_ptr<C>> make();", "template class std::vector<int>;"):
            self.passes(src__base__y_dot_cc=f"// Y.\nnamespace rondo {{\n{text}\n}}\n")

    # plain

    def test_sentences_have_a_subject_and_a_verb(self):
        for text in ("Of a table that is too wide", "Whether the row waits.", "So that no lock is held.", "In the order of the names.", "As it was read.", "Those that wait are first.",
                     "That of the first port.", "A walk that looks for rows.", "The row is given up.", "A word " * 46 + "."):
            for path, whole in (("src__base__y_dot_cc", f"// Y.\n// {text}\n"), ("src__base__y_dot_cc", f'// Y.\nconst char* const kText = "{text}";\n'),
                                ("docs__x_dot_md", f"# X\n\nSee below. {text}\n"), ("docs__x_dot_md", f"| a | {text} |\n")):
                self.finds("plain", "subject, verb, object", **{path: whole})
        self.passes(src__base__y_dot_cc="// Y. The list\n// of names.\n// As cron does, it waits. Of course it may end. A row takes up to 9 bytes.\n",
                    src__base__y_test_dot_cc="// Y.\nconst char* const kText = \"Whether\";\n", docs__x_dot_md="# Whether\n\nSee `Of a`.\n\n```\nOf a\n```\n")

    def test_the_sentences_of_a_room_may_not_become_more(self):
        with unittest.mock.patch.dict(tidy.UNPLAIN_LEFT, {"src/base": 1}):
            self.passes(src__base__y_dot_cc="// Y. Whether it waits.\n")
            self.assertEqual(len(self.offences(src__base__y_dot_cc="// Y. Whether it waits. Of the table.\n")), 2)

    # words, paths, documents

    def test_no_reminders_are_left(self):
        for word in ("TO" + "DO", "FIX" + "ME", "XX" + "X"):
            self.finds("words", word, src__base__y_dot_cc=f"// Y. {word} later.\n")
        self.passes(src__base__y_dot_cc="// Y.\nconst char* const kPattern = \"/tmp/x-XXXXXX\";\n")

    def test_no_conflict_of_a_merge_is_left(self):
        for marker in ("<", ">", "|"):
            self.finds("words", "conflict of a merge", src__base__y_dot_cc=f"// Y.\n{marker * 7} theirs\n")

    def test_no_path_of_one_machine(self):
        for folder in ("ho" + "me", "wo" + "rk"):
            self.finds("paths", "somebody's machine", src__base__y_dot_cc=f"// Y. See /{folder}/me/notes.\n")
        self.passes(src__base__y_dot_cc="// Y. See docs/network/x and http://host/w" "ork/x.\n")

    def test_paths_in_documents_exist(self):
        self.finds("docs", "'src/base/gone.cc'", docs__x_dot_md="See `src/base/gone.cc`.\n")
        self.finds("docs", "'src/base/gone.cc'", docs__x_dot_md="See `src/base/{thing,gone}.cc`.\n")
        self.passes(docs__x_dot_md="See `src/base/thing`, `src/base/*.cc:12`, `src/<layer>/x.cc` and `./README.md`.\n```\nsrc/base/gone.cc\n```\n")

    def test_links_in_documents_resolve(self):
        self.finds("docs", "leads nowhere", docs__x_dot_md="See [this](gone.md#part).\n")
        self.passes(docs__x_dot_md="See [this](../README.md#part), [that](https://example.org/x) and [here](#below).\n")


    # limits

    COMMENT = "/// Rows of a table, for memory. Reached: refused. Figure: `stats.store.full`. Test: `Rows.AreBounded`."

    @classmethod
    def limits(cls, comment=COMMENT, expression="64 * 1024", title="// --- Rows\n", **files):
        """A tree with one limit, its figure and its test; 'files' as in offences()."""
        kind = "Duration" if re.fullmatch(r"\d+(?:us|ms|s)", expression) else "std::size_t"
        tree = {"include__rondo__base__limits_dot_h": f"// L.\n#pragma once\n{title}{comment}\ninline constexpr {kind} kRows = {expression};\n",
                "docs__schema__stats_dot_json": '{"properties": {"store": {"items": {"properties": {"full": {"type": "integer"}}}}}}\n',
                "src__base__rows_test_dot_cc": "// T.\nTEST(Rows, AreBounded) {\n}\n", "tools__layers_dot_txt": LAYERS + "commands: base\n"}
        tree.update(files)
        return tree

    def test_a_limit_has_its_words_its_figure_and_its_test(self):
        self.passes(**self.limits())
        told = self.COMMENT.replace("`stats.store.full`", "none: the caller gets the error")
        self.passes(**self.limits(comment=told, expression="100ms"))
        self.passes(**self.limits(comment=self.COMMENT.replace("stats.store.full", "RowStats::full"), expression="1'000'000",
                                  include__rondo__base__thing_dot_h=HEADER + "struct RowStats {\n  int full = 0;\n};\n"))

    def test_two_limits_have_two_names(self):
        other = "// L.\n#pragma once\n// --- Others\n" + self.COMMENT + "\ninline constexpr std::size_t kRows = 2;\n"
        self.finds("limits", "'kRows' is in include/rondo/base/limits.h, too", **self.limits(src__sched__limits_dot_h=other))

    def test_a_comment_says_what_is_so(self):
        for comment, what in ((self.COMMENT.replace("Rows of a table, for memory. ", ""), "no comment that says what it bounds"),
                              (self.COMMENT.replace("Reached: refused. ", ""), "has no 'Reached: '"),
                              (self.COMMENT.replace("Figure: `stats.store.full`. ", ""), "has no 'Figure: '"),
                              (self.COMMENT.replace("Test: `Rows.AreBounded`.", ""), "has no 'Test: '"),
                              (self.COMMENT.replace("store.full", "store.gone"), "has no 'store.gone'"),
                              (self.COMMENT.replace("stats.store", "gone.store"), "no answer of docs/schema"),
                              (self.COMMENT.replace("stats.store.full", "RowStats::full"), "no public struct"),
                              (self.COMMENT.replace("`stats.store.full`", "none"), "names no figure"),
                              (self.COMMENT.replace("`Rows.AreBounded`", "by hand"), "names no test"),
                              (self.COMMENT.replace("AreBounded", "AreNotBounded"), "which no *_test.cc has")):
            self.finds("limits", what, **self.limits(comment=comment))
        self.finds("limits", "is in no section", **self.limits(title=""))

    def test_a_test_that_only_a_comment_names_is_none(self):
        self.finds("limits", "which no *_test.cc has", **self.limits(src__base__rows_test_dot_cc="// See TEST(Rows, AreBounded).\n"))

    def test_bounds_do_not_hide(self):
        for name in ("kRowsMax", "kRowsMost", "kTreeDepth", "kRowLimit", "kLongestLine", "kMaxRows"):
            self.finds("limits", f"'{name}' belongs into", src__base__y_dot_cc=f"// Y.\nconstexpr std::size_t {name} = 5;\n")
        self.passes(src__base__y_dot_cc="// Y.\nconstexpr int kRows = 5;\n// constexpr int kRowsMax = 5;\n",
                    src__base__y_test_dot_cc="// Y.\nconstexpr int kRowsMax = 5;\n")

    # snippets

    EXAMPLE = "// An example.\nint main() {\n  // region: all\n  int one = 1;\n    int two = 2;\n  // endregion\n  // region: other\n  // endregion\n}\n"

    def test_code_that_is_its_region_may_stand(self):
        self.passes(examples__x_dot_cc=self.EXAMPLE, docs__page_dot_md="```cpp examples/x.cc:all\nint one = 1;\n  int two = 2;\n```\n")

    def test_regions_of_python_are_found(self):
        example = "# region: all\none = 1\n# endregion\n"
        self.passes(examples__x_dot_py=example, docs__page_dot_md="```python examples/x.py:all\none = 1\n```\n")
        self.finds("snippets", "differs from region 'all'", examples__x_dot_py=example,
                   docs__page_dot_md="```python examples/x.py:all\none = 2\n```\n")

    def test_code_that_is_no_longer_its_region_is_found(self):
        self.finds("snippets", "differs from region 'all'", examples__x_dot_cc=self.EXAMPLE,
                   docs__page_dot_md="# Page\n\n```cpp examples/x.cc:all\nint one = 2;\n```\n")

    def test_a_region_that_is_not_there_is_found(self):
        self.finds("snippets", "no region 'none'", examples__x_dot_cc=self.EXAMPLE, docs__page_dot_md="```cpp examples/x.cc:none\n```\n")

    def test_a_file_that_is_not_there_is_found(self):
        self.finds("snippets", "'examples/y.cc' does not exist", docs__page_dot_md="```cpp examples/y.cc:all\n```\n")

    def test_code_of_the_guide_that_is_cut_from_nowhere_is_found(self):
        self.finds("snippets", "cut from an example", docs__guide__page_dot_md="# Page\n\n```cpp\nint one = 1;\n```\n")
        self.passes(docs__page_dot_md="# Page\n\n```cpp\nint one = 1;\n```\n")

    def test_fixing_writes_the_region(self):
        texts = {"examples/x.cc": self.EXAMPLE}
        self.assertEqual(snippets.fixed("a\n```cpp examples/x.cc:all\nold\n```\nb\n", texts),
                         "a\n```cpp examples/x.cc:all\nint one = 1;\n  int two = 2;\n```\nb\n")


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=1).result.wasSuccessful() else 1)
