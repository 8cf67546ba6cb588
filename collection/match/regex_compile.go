package match

import (
	"regexp"

	"github.com/cantledb/cantle/wire/mongoerr"
)

type compiledRegex struct{ re *regexp.Regexp }

func (r compiledRegex) Match(b []byte) (bool, error) { return r.re.Match(b), nil }

func compileRegex(pattern, options string) (compiledRegex, error) {
	if options != "" {
		pattern = "(?" + options + ")" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return compiledRegex{}, mongoerr.New(51091, "Regular expression is invalid: %s", err.Error())
	}
	return compiledRegex{re}, nil
}
