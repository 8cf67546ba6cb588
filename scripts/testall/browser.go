package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/cantledb/cantle/compat-tests/rig/browser"
)

// chromiumPackage is the npm package of a Chromium without a window. The program and its libraries are in the package
// itself, so that nothing is loaded from elsewhere.
const chromiumPackage = "@sparticuz/chromium@" + browser.Version

// unpackChromium is a script for Node that unpacks chromiumPackage, with Node's own decompression. The font list of
// the package names folders of another machine, so the script replaces it.
const unpackChromium = `
const fs = require('fs'), zlib = require('zlib'), { execFileSync } = require('child_process');
const from = 'node_modules/@sparticuz/chromium/bin/', unpack = (n) => zlib.brotliDecompressSync(fs.readFileSync(from + n + '.br'));
for (const n of ['al2023.tar', 'fonts.tar', 'swiftshader.tar']) { fs.writeFileSync(n, unpack(n)); execFileSync('tar', ['xf', n]); fs.rmSync(n); }
fs.writeFileSync('fonts.conf', '<fontconfig><dir>' + process.cwd() + '/fonts</dir><dir>/usr/share/fonts</dir><cachedir>' + process.cwd() + '/fonts-cache</cachedir></fontconfig>');
fs.writeFileSync('chromium', unpack('chromium'), { mode: 0o755 });
fs.rmSync('node_modules', { recursive: true });
`

// startChromium is a script that starts the unpacked Chromium, whose build runs in few processes only.
const startChromium = `#!/bin/sh
here=$(dirname "$0")
LANG=en_US.UTF-8 LC_ALL=en_US.UTF-8 LD_LIBRARY_PATH=$here/lib FONTCONFIG_PATH=$here exec "$here/chromium" --lang=en-US --no-zygote --in-process-gpu "$@"
`

// installBrowser provides a Chromium for the tests that open pages: the machine's if there is one, otherwise that of
// the distribution if it may be installed, otherwise one from npm. Without any, the tests and this step are skipped,
// with the reason.
func (r *run) installBrowser() error {
	var failed []error
	for _, install := range []func() error{nil, r.aptBrowser, r.npmBrowser} {
		if install != nil {
			if err := install(); err != nil {
				failed = append(failed, err)
			}
		}
		path := browser.Path(".")
		if path == "" {
			continue
		}
		out, err := exec.CommandContext(r.ctx, path, "--version").Output()
		if err == nil {
			fmt.Fprintf(r.out, "%s: %s", path, out)
			return nil
		}
		failed = append(failed, fmt.Errorf("%s: %w", path, err))
	}
	r.count.skip("browser", fmt.Sprintf("no browser could be installed: %v", errors.Join(failed...)))
	return nil
}

// aptBrowser installs the Chromium of Debian and its derivatives.
func (r *run) aptBrowser() error {
	apt, err := exec.LookPath("apt-get")
	switch {
	case err != nil:
		return errors.New("apt-get: there is none")
	case os.Geteuid() != 0:
		return errors.New("apt-get: only root may install")
	}
	r.env = append(r.env, "DEBIAN_FRONTEND=noninteractive")
	if err := r.output(apt, "update", "-qq"); err != nil {
		return fmt.Errorf("apt-get update: %w", err)
	}
	if err := r.output(apt, "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"); err != nil {
		return fmt.Errorf("apt-get install chromium: %w", err)
	}
	return nil
}

// npmBrowser installs the Chromium of the npm registry, in the cache.
func (r *run) npmBrowser() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("npm: %s is for linux/amd64", chromiumPackage)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return errors.New("npm: there is none")
	}
	if err := os.RemoveAll(browser.Folder); err != nil {
		return err
	}
	if err := os.MkdirAll(browser.Folder, 0o755); err != nil {
		return err
	}
	if err := r.output("npm", "install", "--prefix", browser.Folder, "--no-package-lock", "--no-audit", "--no-fund",
		"--no-save", "--ignore-scripts", "--loglevel=error", chromiumPackage); err != nil {
		return fmt.Errorf("npm install %s: %w", chromiumPackage, err)
	}
	cmd, end := r.command("node", "-e", unpackChromium)
	defer end()
	cmd.Dir, cmd.Stdout, cmd.Stderr = browser.Folder, r.out, r.out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("unpacking %s: %w", chromiumPackage, err)
	}
	// Written last, so that an interrupted installation is not used.
	return os.WriteFile(filepath.Join(browser.Folder, browser.Program), []byte(startChromium), 0o755)
}
