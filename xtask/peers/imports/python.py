"""Where Python's own import machinery says that imports lead, without running any of the modules.

usage: python.py ROOT [FOLDER...]

Imports are found by `ast`, wherever they stand. Each name is looked up part by part with the finders of `sys.meta_path`
in the order that a developer has: the folder that pytest or a script puts first (the one around the outermost
package), the standard library, then the FOLDERs, which stand for what `pip install -e` or the project's own runner
adds. Of `from a import b` it is the module `b` if there is one and `a` does not bind that name itself, else `a`.
Namespace packages have no file.
"""

import ast
import importlib.machinery
import json
import os
import sys

# Sources that are not Python any more, or not for this one, are skipped; a warning about an escape is no help here.
sys.dont_write_bytecode = True
STANDARD = [path for path in sys.path[1:] if path and "site-packages" not in path]


class Finder:
    """Names to files, for all files that have the same folders before them."""

    def __init__(self, folders):
        self.folders, self.known = folders, {}

    def find(self, name):
        """The specification of a module, and of all packages around it."""
        if name not in self.known:
            self.known[name] = self.look(name)
        return self.known[name]

    def look(self, name):
        parent, _, last = name.rpartition(".")
        if not parent:
            built_in = importlib.machinery.BuiltinImporter.find_spec(name) or \
                importlib.machinery.FrozenImporter.find_spec(name)
            return built_in or along(name, self.folders)
        around = self.find(parent)
        if around is None or around.submodule_search_locations is None:
            return None
        return along(name, around.submodule_search_locations) if last else around


def along(name, folders):
    """`PathFinder.find_spec` but for its last step, which wants the package around a namespace to have been imported."""
    return importlib.machinery.PathFinder._get_spec(name, list(folders))


def outermost(folder, root):
    """The folder around the outermost package."""
    while folder != root and os.path.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


def package_of(file, top):
    return os.path.relpath(os.path.dirname(file), top).replace(os.sep, ".").removeprefix(".")


def origin(spec):
    """Its file, if it is one of sources."""
    if spec is None or not spec.has_location or not spec.origin.endswith((".py", ".pyi")):
        return None
    return os.path.realpath(spec.origin)


def bound(path, known={}):
    """The names that a package's own file binds to something else than its modules."""
    if path not in known:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        names = set()
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names.update(target.id for target in targets if isinstance(target, ast.Name))
            elif isinstance(node, ast.ImportFrom) and (node.module or not node.level):
                names.update(alias.asname or alias.name for alias in node.names)
        known[path] = names
    return known[path]


def leads(finder, module, names):
    """Each `(written, file)` of one statement."""
    spec = finder.find(module)
    own = origin(spec)
    for name in names:
        is_own = own and spec.submodule_search_locations is not None and name in bound(own)
        below = None if name == "*" or is_own else finder.find(f"{module}.{name}")
        # A folder without a file is nothing to lead to.
        if below is not None and origin(below):
            yield f"{module}.{name}", origin(below)
        elif own:
            yield module, own


def imports(file, root, folders, finders):
    top = outermost(os.path.dirname(file), root)
    if top not in finders:
        finders[top] = Finder([top, *STANDARD, *folders])
    finder = finders[top]
    with open(file, "rb") as source:
        tree = ast.parse(source.read())
    package = package_of(file, top)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found = origin(finder.find(alias.name))
                if found:
                    yield alias.name, found
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package else []
            if node.level:
                if node.level > len(parts):
                    continue
                parts = parts[:len(parts) - node.level + 1]
            module = ".".join([*(parts if node.level else []), *([node.module] if node.module else [])])
            yield from leads(finder, module, [alias.name for alias in node.names])


def main():
    root = os.path.realpath(sys.argv[1])
    folders = [os.path.join(root, folder) for folder in sys.argv[2:]]
    finders, seen = {}, set()
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            file = os.path.join(folder, name)
            if not name.endswith(".py"):
                continue
            try:
                found = list(imports(file, root, folders, finders))
            except (SyntaxError, UnicodeDecodeError, ValueError):
                continue
            for written, target in found:
                line = (os.path.relpath(file, root), written, os.path.relpath(target, root))
                if target.startswith(root + os.sep) and target != file and line not in seen:
                    seen.add(line)
                    print(json.dumps({"file": line[0], "import": line[1], "targets": [line[2]]}))


if __name__ == "__main__":
    main()
