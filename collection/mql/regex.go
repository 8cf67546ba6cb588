package mql

import (
	"errors"
	"regexp"

	"github.com/cantledb/cantle/collection/regex"
)

// Regex is a compiled regular expression of MongoDB's kind (PCRE2). Patterns that have the same meaning in RE2 run on
// the linear engine, in time linear in the text; look-around, back-references, atomic groups and the like run on the
// backtracking engine of package regex, with a budget of steps. Immutable, safe for concurrent use. Manual:
// reference/operator/query/regex.
type Regex struct {
	// Pattern and Options are the arguments of CompileRegex.
	Pattern, Options string

	linear *regexp.Regexp        // nil if the pattern needs backtracking
	next   func() *regexp.Regexp // finds the match after the first character; see EachWithin
	// finalLine is set if the linear engine treats a newline at the end of a text in another way than PCRE2. Such
	// texts are matched by backtracking.
	finalLine bool
	// rounds is set if the places of matches on the linear engine may be others than those of PCRE2.
	rounds bool
	slow   func() *regex.Program
	empty  bool // may match the empty text
	// literal is the zero value if the pattern needs backtracking.
	literal literal
	prefix  string
	whole   bool
	groups  int
	held    int64 // see RegexHeld
}

// engine returns the backtracking engine if it is needed to decide whether text matches, else nil.
func (r *Regex) engine(text []byte) *regex.Program {
	if r.linear == nil || r.finalLine && len(text) > 0 && text[len(text)-1] == '\n' {
		return r.slow()
	}
	return nil
}

// placer returns the backtracking engine if it is needed to find the place of a match in text, else nil.
func (r *Regex) placer(text []byte) *regex.Program {
	if r.rounds {
		return r.slow()
	}
	return r.engine(text)
}

// Backtracks reports whether a match in text may take the backtracking engine and so may take long, some 100 ms. A
// command does such a match after Env.BeginUninterruptible.
func (r *Regex) Backtracks(text []byte) bool { return r.placer(text) != nil }

// Begin is called before a command matches text: if the match may take long (Backtracks), it waits with
// Env.BeginUninterruptible. The caller calls done after the match. Errors: the errors of Env.BeginUninterruptible.
func (r *Regex) Begin(env *Env, text []byte) (done func(), err error) {
	if !r.Backtracks(text) {
		return func() {}, nil
	}
	return env.BeginUninterruptible()
}

// Match reports whether the pattern matches somewhere in text. On the linear engine it does not allocate.
//
// Errors: 51156 if the match takes too many steps. The limit does not depend on the speed of the machine.
func (r *Regex) Match(text []byte) (bool, error) { return r.match(text, nil) }

// match is Match; interrupted may be nil.
func (r *Regex) match(text []byte, interrupted func() error) (bool, error) {
	if ok, decided := r.decide(text); decided {
		return ok, nil
	}
	program := r.engine(text)
	if program == nil {
		return r.linear.Match(text), nil
	}
	m, err := program.Find(text, 0, interrupted)
	return m != nil, matchError(err)
}

// Groups returns the number of capturing groups.
func (r *Regex) Groups() int { return r.groups }

// FindIndex finds the first match that begins at or after byte from of text (on the linear engine, of those that do
// not overlap an earlier match). It returns the byte offsets, in pairs of begin and end, of the match and of its
// groups, -1 for a group that took no part; nil if there is no match.
//
// Errors: 51156 if the match takes too many steps.
func (r *Regex) FindIndex(text []byte, from int) ([]int, error) { return r.findIndex(text, from, nil) }

func (r *Regex) findIndex(text []byte, from int, interrupted func() error) ([]int, error) {
	if program := r.placer(text); program != nil {
		m, err := program.Find(text, from, interrupted)
		return m, matchError(err)
	}
	// The search is in the whole text, so that ^ and \b see the characters before from.
	if from == 0 {
		return r.linear.FindSubmatchIndex(text), nil
	}
	for _, loc := range r.linear.FindAllSubmatchIndex(text, -1) {
		if loc[0] >= from {
			return loc, nil
		}
	}
	return nil, nil
}

// FindAll returns up to most matches of the pattern in text, all for -1, in the order and form of Each.
//
// Errors: 51156 if a match takes too many steps.
func (r *Regex) FindAll(text []byte, most int) (all [][]int, err error) {
	err = r.Each(text, func(m []int) error {
		if most >= 0 && len(all) >= most {
			return errStop
		}
		all = append(all, m)
		return nil
	})
	if err == errStop {
		err = nil
	}
	return all, err
}

var errStop = errors.New("enough")

// matchesMax is more matches than fit into any document.
const matchesMax = 2 << 20

// Each calls f for every match in text, from left to right, until f returns an error. m has the form of FindIndex's
// result. The search continues at the end of a match, or one character after an empty match. An empty match at the
// end of a text counts only if it is the only match.
//
// Errors: 51156 if a match takes too many steps; the error of f.
func (r *Regex) Each(text []byte, f func(m []int) error) error { return r.each(text, f, nil) }

func (r *Regex) each(text []byte, f func(m []int) error, interrupted func() error) error {
	program := r.placer(text)
	if program == nil && !r.empty {
		for _, m := range r.linear.FindAllSubmatchIndex(text, matchesMax) {
			if err := f(m); err != nil {
				return err
			}
		}
		return nil
	}
	if program == nil {
		program = r.slow() // RE2 skips empty matches directly after other matches
	}
	for at := 0; ; {
		m, err := program.Find(text, at, interrupted)
		if err != nil {
			return matchError(err)
		}
		if m == nil || at > 0 && m[0] >= len(text) {
			return nil
		}
		if err := f(m); err != nil {
			return err
		}
		// With \K a match may begin before the place at which the search began.
		next := max(m[1], at)
		if m[1] == m[0] || next == at {
			next = max(next, at) + regex.Advance(text[min(max(next, at), len(text)):])
		}
		if at = next; at >= len(text) {
			return nil
		}
	}
}
