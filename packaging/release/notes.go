package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"debug/gosym"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// notesName is the name of the file with the sizes of the released files, which is the end of the release notes.
const notesName = "SIZES.md"

// notes prints the sizes of the release, and its largest parts.
func (r *release) notes() error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "## What it weighs\n\n| binary | MB | archive, MB |\n|---|---|---|\n")
	for _, p := range r.platforms {
		binary, err := os.Stat(r.binary(p))
		if err != nil {
			return err
		}
		archive, err := os.Stat(filepath.Join(r.out, r.archiveName(p)))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "| %s | %.1f | %.1f |\n", p, megabytes(binary.Size()), megabytes(archive.Size()))
	}
	fmt.Fprintf(&out, "\nAt most %d MB for a binary, %d MB for what it is packed into, or no release is made.\n", binaryMax/1_000_000, packedMax/1_000_000)
	if linux := r.linux(); len(linux) > 0 {
		if err := heaviest(&out, r.binary(linux[0])); err != nil {
			return err
		}
	}
	fmt.Print(out.String())
	return os.WriteFile(filepath.Join(r.out, notesName), out.Bytes(), 0o644)
}

// megabytes converts a size to millions of bytes.
func megabytes(n int64) float64 { return float64(n) / 1e6 }

// heaviestShown is the number of modules listed.
const heaviestShown = 12

// heaviest prints the modules with the most machine code in a binary. Not counted are the data about the code, for
// stack traces and the garbage collector, which are about as large as all code.
func heaviest(out io.Writer, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	code, err := codeByModule(binary, info)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(code))
	for name := range code {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(code[b], code[a]), cmp.Compare(a, b)) })
	fmt.Fprintf(out, "\nMachine code by module, for Linux; data about the code (stack traces, the collector) adds about as much again:\n\n| module | MB |\n|---|---|\n")
	for _, name := range names[:min(heaviestShown, len(names))] {
		fmt.Fprintf(out, "| %s | %.2f |\n", name, megabytes(code[name]))
	}
	return nil
}

// codeByModule returns the bytes of machine code in a Linux binary by module: the sum of the lengths of the module's
// functions.
func codeByModule(binary string, info *debug.BuildInfo) (map[string]int64, error) {
	f, err := elf.Open(binary)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, lines := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || lines == nil {
		return nil, fmt.Errorf("%s is no binary of Go", binary)
	}
	data, err := lines.Data()
	if err != nil {
		return nil, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, err
	}
	modules := []string{info.Main.Path}
	for _, m := range info.Deps {
		modules = append(modules, m.Path)
	}
	out := map[string]int64{}
	for _, fn := range table.Funcs {
		out[moduleOf(fn.Name, modules)] += int64(fn.End - fn.Entry)
	}
	return out, nil
}

// moduleOf returns the module to which a function belongs: the one with the longest path that is a prefix of the
// function's name, or a text for Go's own code if there is none.
func moduleOf(function string, modules []string) string {
	best := ""
	for _, m := range modules {
		if strings.HasPrefix(function, m) && len(m) > len(best) {
			best = m
		}
	}
	return cmp.Or(best, "Go's standard library and runtime")
}
