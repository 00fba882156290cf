# SPDX-License-Identifier: BSD-3-Clause
"""Prints the page as the numbers of a C array, with a zero at the end.

usage: embed.py PAGE.html PAGE.css PART.js…    @CSS@ and @JS@ in the page are replaced; the parts are one function
"""
import pathlib
import sys

page, css, *parts = (pathlib.Path(name).read_text(encoding="utf-8") for name in sys.argv[1:])
js = '"use strict";\n(() => {\n' + "".join(parts) + "})();\n"
data = page.replace("@CSS@", css).replace("@JS@", js).encode() + b"\0"
for at in range(0, len(data), 24):
    print("".join(f"{byte if byte < 128 else byte - 256}," for byte in data[at:at + 24]))
