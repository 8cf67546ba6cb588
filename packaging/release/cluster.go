package main

import (
	"os"
	"path"
	"path/filepath"
)

// A binary of its own, for Linux, has the engine for TiKV clusters: its libraries are two
// fifths of it, and most people run on files. It is in an archive by itself; who runs a cluster
// knows where to put it.

// clusterTag builds the program with that engine, and clusterTags as it is released: without
// gRPC's pages about its own requests, which nobody can ask for. They use templates, which look
// methods up by their names, and then the linker keeps all methods: 8 MB.
const (
	clusterTag = "tikv"
	// aloneTag leaves out of the usual program what only several servers over one store need.
	aloneTag    = "alone"
	clusterTags = clusterTag + ",grpcnotrace"
)

// clusterBinary is where that binary of a platform lies.
func (r *release) clusterBinary(p platform) string {
	return filepath.Join(r.out, "binaries", p.dashed(), "cantle-"+clusterTag)
}

// clusterFolder is the one folder in its archive.
func (r *release) clusterFolder(p platform) string {
	return "cantle-" + clusterTag + "-" + r.version + "-" + p.dashed()
}

// clusterArchiveName is the file name of its archive.
func (r *release) clusterArchiveName(p platform) string { return r.clusterFolder(p) + ".tar.gz" }

// clusterArchives puts the binaries for clusters into archives, with how to run them.
func (r *release) clusterArchives() error {
	for _, p := range r.linux() {
		var entries []entry
		for _, f := range []struct {
			from string
			mode int64
		}{{r.clusterBinary(p), 0o755}, {filepath.Join(r.root, "LICENSE"), 0o644}, {filepath.Join(r.root, "docs", "scale-out.md"), 0o644}} {
			data, err := os.ReadFile(f.from)
			if err != nil {
				return err
			}
			entries = append(entries, entry{name: path.Join(r.clusterFolder(p), filepath.Base(f.from)), data: data, mode: f.mode})
		}
		out, err := os.Create(filepath.Join(r.out, r.clusterArchiveName(p)))
		if err != nil {
			return err
		}
		if err := writeTarGz(out, entries, r.date); err != nil {
			out.Close()
			return err
		}
		if err := out.Close(); err != nil {
			return err
		}
	}
	return nil
}
