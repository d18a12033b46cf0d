#!/usr/bin/env python3
"""The self-test of compile_alone.py: a file that does not compile by itself is named, and so is a folder without files."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compile_alone.py")


def run(folder):
    return subprocess.run([sys.executable, TOOL, folder], text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class CompileAlone(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, files):
        entries = []
        for name, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(self.folder.name, name)), exist_ok=True)
            with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
                file.write(text)
            entries.append({"directory": self.folder.name, "file": name, "command": f"c++ -Wshadow -Werror -I. -o {name}.o -c {name}"})
        with open(os.path.join(self.folder.name, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump(entries, file)

    def test_files_that_compile(self):
        self.write({"one.cc": "int one() { return 1; }\n", "two.cc": "int two() { return 2; }\n"})
        done = run(self.folder.name)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("2 of 2 files compile", done.stdout)
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "one.cc.o")))

    def test_a_missing_include_and_a_hidden_name(self):
        self.write({"good.cc": "int one() { return 1; }\n", "include.cc": "std::string text;\n",
                    "shadow.cc": "int f(int a) { { int a = 1; return a; } }\n"})
        done = run(self.folder.name)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("FAILED: include.cc", done.stdout)
        self.assertIn("FAILED: shadow.cc", done.stdout)
        self.assertIn("1 of 3 files compile", done.stdout)

    def test_a_header_that_another_file_begins_with_is_compiled_once(self):
        for header in ("one.h", "two.h"):
            with open(os.path.join(self.folder.name, header), "w", encoding="utf-8") as file:
                file.write("inline std::string text() { return {}; }\n")
        self.write({"one.cc": '// Its header comes first.\n#include "one.h"\n#include <string>\n',
                    "alone/one.cc": '#include "one.h"  // Compiles alone.\n', "alone/two.cc": '#include "two.h"  // Compiles alone.\n'})
        done = run(self.folder.name)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("FAILED: one.cc", done.stdout)
        self.assertIn("FAILED: alone/two.cc", done.stdout)
        self.assertIn("0 of 2 files compile", done.stdout)

    def test_no_file(self):
        self.write({})
        self.assertEqual(run(self.folder.name).returncode, 2)


if __name__ == "__main__":
    unittest.main()
