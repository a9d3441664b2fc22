// Where Go's own tools say that imports lead: `go list` for the files of each package, `go/parser` for the imports of
// each file.
//
// usage: go run packages.go ROOT
//
// Every module below ROOT is listed from its own folder, so that `replace` and `go.work` count as they do for a build.
// Packages that other modules would have to be fetched for are reported as broken by `go list`, and are not counted.
// Files for other systems are part of a package, too: they are given apart, as allowed and not as required.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

type Package struct {
	ImportPath, Dir, Name, ForTest    string
	GoFiles, CgoFiles, IgnoredGoFiles []string
}

type Line struct {
	File    string   `json:"file"`
	Import  string   `json:"import"`
	Targets []string `json:"targets"`
	Allowed []string `json:"allowed"`
	Package string   `json:"package"`
}

func main() {
	root, err := filepath.EvalSymlinks(os.Args[1])
	check(err)
	root, err = filepath.Abs(root)
	check(err)
	var modules []string
	sources := map[string][]string{}
	check(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if entry.IsDir() && path != root && (name == "testdata" || name == "vendor" || strings.ContainsAny(name[:1], "._")) {
			return filepath.SkipDir
		}
		if name == "go.mod" {
			modules = append(modules, filepath.Dir(path))
		} else if strings.HasSuffix(name, ".go") {
			sources[filepath.Dir(path)] = append(sources[filepath.Dir(path)], path)
		}
		return err
	}))
	// The innermost module first: a file belongs to that one.
	sort.Slice(modules, func(a, b int) bool { return len(modules[a]) > len(modules[b]) })
	out := json.NewEncoder(os.Stdout)
	for _, module := range modules {
		packages := list(module)
		for folder, files := range sources {
			if folder != module && !strings.HasPrefix(folder, module+"/") {
				continue
			}
			delete(sources, folder)
			for _, file := range files {
				imports(out, root, file, packages)
			}
		}
	}
}

// What `go list` knows from the folder of a module, by path.
func list(module string) map[string]Package {
	command := exec.Command("go", "list", "-e", "-deps", "-test",
		"-json=ImportPath,Dir,Name,ForTest,GoFiles,CgoFiles,IgnoredGoFiles", "./...")
	command.Dir = module
	command.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local", "CGO_ENABLED=1")
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, module, err)
	}
	known := map[string]Package{}
	for decoder := json.NewDecoder(strings.NewReader(string(printed))); ; {
		var each Package
		err := decoder.Decode(&each)
		if errors.Is(err, io.EOF) {
			return known
		}
		check(err)
		if each.ForTest == "" && !strings.HasSuffix(each.ImportPath, ".test") {
			known[each.ImportPath] = each
		}
	}
}

func imports(out *json.Encoder, root, file string, packages map[string]Package) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		found, known := packages[path]
		if err != nil || seen[path] || !known || !strings.HasPrefix(found.Dir+"/", root+"/") {
			continue
		}
		seen[path] = true
		within := func(names []string) []string {
			paths := []string{}
			for _, name := range names {
				paths = append(paths, relative(root, filepath.Join(found.Dir, name)))
			}
			return paths
		}
		required := within(append(append([]string{}, found.GoFiles...), found.CgoFiles...))
		if len(required) > 0 {
			check(out.Encode(Line{relative(root, file), path, required, within(ofPackage(found)), relative(root, found.Dir)}))
		}
	}
}

// Ignored here, yet of the same package: for another system, or under a tag.
func ofPackage(found Package) []string {
	names := []string{}
	for _, name := range found.IgnoredGoFiles {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(found.Dir, name), nil, parser.PackageClauseOnly)
		if err == nil && parsed.Name.Name == found.Name {
			names = append(names, name)
		}
	}
	return names
}

func relative(root, path string) string {
	name, err := filepath.Rel(root, path)
	check(err)
	return filepath.ToSlash(name)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
