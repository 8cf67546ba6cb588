package main

import (
	"fmt"
	"slices"
	"strings"
)

// platform is an operating system and a processor, in Go's terms.
type platform struct{ os, arch string }

// platforms are all released platforms.
var platforms = []platform{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

// dashed returns the platform in the form of file names.
func (p platform) dashed() string { return p.os + "-" + p.arch }

// program returns the file name of the binary.
func (p platform) program() string {
	if p.os == "windows" {
		return "cantle.exe"
	}
	return "cantle"
}

// parsePlatforms reads a list such as "linux/amd64,darwin/arm64".
func parsePlatforms(list string) (out []platform, err error) {
	for text := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == text })
		if i < 0 {
			return nil, fmt.Errorf("%q is none of the platforms %v", text, platforms)
		}
		out = append(out, platforms[i])
	}
	return out, nil
}

// linux returns the Linux platforms of the release.
func (r *release) linux() []platform {
	return slices.DeleteFunc(slices.Clone(r.platforms), func(p platform) bool { return p.os != "linux" })
}
