"""Starts the server of llama-cpp-python on a runtime from a wheel, which has all that serving needs.

What the runtime has no symbol for, such as quantising, is not called by the server: the bindings look all of
them up when they are imported, so each gets a stand-in that says so.
"""

import ctypes
import runpy


class Library(ctypes.CDLL):
    def __getattr__(self, name: str):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("__"):
                raise

            def absent(*_: object) -> None:
                raise NotImplementedError(name)

            return absent


ctypes.CDLL = Library
runpy.run_module("llama_cpp.server", run_name="__main__", alter_sys=True)
