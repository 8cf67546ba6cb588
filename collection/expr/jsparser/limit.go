package jsparser

import (
	"errors"

	"github.com/dop251/goja/ast"
)

// ErrTooComplex is the error of a text that nests too deep, or is read too often over.
var ErrTooComplex = errors.New("the code nests too deep")

const (
	// levelsMax is how many of the functions that call themselves may be under way: a
	// parenthesis takes four, an operator before its operand one.
	levelsMax = 3000
	// Tokens that may be read: readsMax times what the text can have, as parameters of
	// arrow functions are read twice.
	readsMax  = 4
	readsMore = 1000
	// stepsLook is after how many tokens Parse looks whether it is to end.
	stepsLook = 1 << 12
)

// limit bounds a parser.
type limit struct {
	steps, stepsMax int
	levels          int
	look            func() error
}

// stopped ends a parser: the value of its panic.
type stopped struct{ error }

// step is called for each token.
func (l *limit) step() {
	l.steps++
	if l.steps > l.stepsMax {
		panic(stopped{ErrTooComplex})
	}
	if l.steps%stepsLook == 0 {
		if err := l.look(); err != nil {
			panic(stopped{err})
		}
	}
}

func (l *limit) enter() {
	if l.levels++; l.levels > levelsMax {
		panic(stopped{ErrTooComplex})
	}
}

func (l *limit) leave() { l.levels-- }

// Parse parses a text; look is asked from time to time whether to go on. steps is how many
// tokens were read.
//
// Errors: ErrTooComplex, those of look, ErrorList for a syntax error.
func Parse(source string, look func() error) (program *ast.Program, steps int, err error) {
	p := newParser("", source)
	p.limit = limit{stepsMax: readsMax*len(source) + readsMore, look: look}
	defer func() {
		steps = p.steps
		if r := recover(); r != nil {
			s, ok := r.(stopped)
			if !ok {
				panic(r)
			}
			program, err = nil, s.error
		}
	}()
	program, err = p.parse()
	return program, p.steps, err
}
