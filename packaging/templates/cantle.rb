# Homebrew formula, filled by ./scripts/release.
class Cantle < Formula
  desc "MongoDB-compatible database with Cosmos-DB-style partitions and request units"
  homepage "{{.Home}}"
  version "{{.Version}}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{.URL "darwin/arm64"}}"
      sha256 "{{.Sum "darwin/arm64"}}"
    end
    on_intel do
      url "{{.URL "darwin/amd64"}}"
      sha256 "{{.Sum "darwin/amd64"}}"
    end
  end
  on_linux do
    on_arm do
      url "{{.URL "linux/arm64"}}"
      sha256 "{{.Sum "linux/arm64"}}"
    end
    on_intel do
      url "{{.URL "linux/amd64"}}"
      sha256 "{{.Sum "linux/amd64"}}"
    end
  end

  def install
    bin.install "cantle"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/cantle.bash" => "cantle"
    fish_completion.install "completions/cantle.fish"
    zsh_completion.install "completions/cantle.zsh" => "_cantle"
  end

  service do
    run [opt_bin/"cantle", "serve", "--data", var/"cantle"]
    keep_alive true
    log_path var/"log/cantle.log"
    error_log_path var/"log/cantle.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/cantle version")
  end
end
