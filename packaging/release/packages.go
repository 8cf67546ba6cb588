package main

import (
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// Metadata of the packages.
const (
	home        = "https://github.com/cantledb/cantle"
	description = "MongoDB-compatible database with Cosmos-DB-style partitions and request units"
)

// packages makes a deb and an rpm package for each platform of Linux.
func (r *release) packages() error {
	for _, p := range r.linux() {
		for kind, packager := range map[string]nfpm.Packager{"deb": deb.Default, "rpm": rpm.DefaultRPM} {
			if _, err := r.linuxPackage(r.packageInfo(p, kind), kind, packager); err != nil {
				return err
			}
		}
	}
	return nil
}

// linuxPackage makes one package and returns its path.
func (r *release) linuxPackage(info *nfpm.Info, kind string, packager nfpm.Packager) (path string, err error) {
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return "", err
	}
	path = filepath.Join(r.out, packager.ConventionalFileName(info))
	info.Target = path
	out, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer out.Close()
	if err := packager.Package(info, out); err != nil {
		return "", err
	}
	return path, out.Close()
}

// packageInfo returns the metadata and the files of the deb or rpm package for a platform.
func (r *release) packageInfo(p platform, kind string) *nfpm.Info {
	part := func(name string) string { return filepath.Join(r.root, "packaging", "linux", name) }
	file := func(from, to, kind string, mode os.FileMode) *files.Content {
		return &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.date}}
	}
	manual := func(name, to string) *files.Content {
		return file(filepath.Join(r.out, manualFolder, name), to, files.TypeFile, 0o644)
	}
	info := &nfpm.Info{
		Name: "cantle", Arch: p.arch, Platform: p.os, Version: r.version, Release: "1", Section: "database", Priority: "optional",
		Maintainer: "Cantle maintainers <cantledb@users.noreply.github.com>", Vendor: "Cantle", Homepage: home, License: "Apache-2.0",
		Description:     description + "\nThe service does not start by itself: systemctl enable --now cantle",
		DisableGlobbing: true, MTime: r.date,
		Overridables: nfpm.Overridables{
			Contents: files.Contents{
				file(r.binary(p), "/usr/bin/cantle", files.TypeFile, 0o755),
				file(part("cantle.service"), "/usr/lib/systemd/system/cantle.service", files.TypeFile, 0o644),
				file(part("cantle.conf"), "/etc/cantle/cantle.conf", files.TypeConfigNoReplace, 0o644),
				file(filepath.Join(r.root, "LICENSE"), "/usr/share/doc/cantle/copyright", files.TypeFile, 0o644),
				file(r.noticesFile(), "/usr/share/doc/cantle/"+noticesName, files.TypeFile, 0o644),
				file(filepath.Join(r.root, "README.md"), "/usr/share/doc/cantle/README.md", files.TypeFile, 0o644),
				manual("completions/cantle.bash", "/usr/share/bash-completion/completions/cantle"),
				manual("completions/cantle.fish", "/usr/share/fish/vendor_completions.d/cantle.fish"),
				manual("completions/cantle.zsh", "/usr/share/zsh/"+zshFolders[kind]+"/_cantle"),
			},
			Scripts: nfpm.Scripts{PostInstall: part("postinstall.sh"), PreRemove: part("preremove.sh"), PostRemove: part("postremove.sh")},
			Deb:     nfpm.Deb{Compression: "gzip"},
			RPM:     nfpm.RPM{Compression: "gzip", BuildHost: "cantle", Summary: description},
		},
	}
	for _, page := range r.pages {
		info.Contents = append(info.Contents, manual("man/"+page+".gz", "/usr/share/man/man1/"+page+".gz"))
	}
	return info
}

// zshFolders are the folders in which zsh searches for completions of packages, by the kind of package.
var zshFolders = map[string]string{"deb": "vendor-completions", "rpm": "site-functions"}
