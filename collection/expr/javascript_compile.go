package expr

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// Script is a compiled JavaScript function: the body of $function, $where, $accumulator or mapReduce.
// Immutable, safe for concurrent use by all commands; it runs in a VM.
type Script struct {
	program *goja.Program
	source  string
	bytes   int // approximate memory
}

// Source returns the source text.
func (c *Script) Source() string { return c.source }

// sourceBytesMax is the length of the longest source text of a script. The JavaScript library cannot be
// interrupted while it compiles; a text of this length takes some 50 ms at most, see complexity.
const sourceBytesMax = 64 << 10

// parseBytes is the approximate memory for parsing and compiling a byte of the source.
const parseBytes = 64

// CompileScript compiles a JavaScript function: "function(a) { … }", an arrow function, or statements without a
// function around them, whose value is that of `return` or of the last expression. Comments may precede it. A
// source that any command has compiled recently is not compiled again.
//
// Errors: JSInterpreterFailure for a syntax error, for more than 64 KiB of source, for code that nests too
// deep, and for big integers, whose arithmetic the limits of a call cannot interrupt; ExceededTimeLimit if
// compiling the command's scripts takes as long as one call may run; ExceededMemoryLimit; the reason why the
// command must end.
func CompileScript(env *mql.Env, source string) (*Script, error) {
	done, err := env.BeginUninterruptible()
	if err != nil {
		return nil, err
	}
	defer done()
	return compile(env, source)
}

// compile is CompileScript for a caller that holds an uninterruptible slot.
func compile(env *mql.Env, source string) (*Script, error) {
	if err := env.Interrupted(); err != nil {
		return nil, err
	}
	if c := scripts.get(source); c != nil {
		return c, env.Memory.GrowRequired(c.bytes, "compiled JavaScript")
	}
	if len(source) > sourceBytesMax {
		return nil, mongoerr.New(mongoerr.JSInterpreterFailure, "JavaScript code is too long: %d bytes, %d are allowed", len(source), sourceBytesMax)
	}
	most := scriptTimeMax
	if env.UninterruptibleWaiting() {
		most = scriptTimeContended
	}
	if env.Compiling(0) > most {
		return nil, mongoerr.New(mongoerr.ExceededTimeLimit, "the JavaScript code of one command took longer than %v to compile; send less of it", most)
	}
	held := parseBytes * len(source)
	defer func() { env.Memory.Shrink(held) }()
	if err := env.Memory.GrowRequired(held, "compiling JavaScript"); err != nil {
		return nil, err
	}
	begun := clockOf(env)
	program, bytes, err := compileText(env, source)
	env.Compiling(clockOf(env).Sub(begun))
	if err != nil {
		return nil, err
	}
	c := &Script{program, source, bytes}
	scripts.add(c)
	return c, env.Memory.GrowRequired(bytes, "compiled JavaScript")
}

// clockOf returns the current time of a command.
func clockOf(env *mql.Env) time.Time {
	if env.Clock == nil {
		return time.UnixMilli(env.NowMillis)
	}
	return env.Clock()
}

// compileText compiles a source as a function or an expression, or else as the body of a function. bytes is the
// approximate memory of the program.
func compileText(env *mql.Env, source string) (program *goja.Program, bytes int, err error) {
	text := source[len(comments.FindString(source)):]
	text = strings.TrimRight(text, "; \t\r\n")
	form := "(" + text + "\n)"
	if !functionStart.MatchString(text) {
		form = "(function(){ return (" + text + "\n); })"
	}
	tree, err := parseScript(form)
	if wrong := err; err != nil && mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure {
		if tree, err = parseStatements(text); err != nil && mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure {
			err = wrong
		}
	}
	if err == nil {
		bytes, err = complexity(tree)
	}
	if err == nil {
		program, err = goja.CompileAST(tree, false)
	}
	if err != nil {
		return nil, 0, compileError(env, err)
	}
	return program, bytes + len(form), nil
}

// compileError returns the error for a source that cannot be compiled.
func compileError(env *mql.Env, err error) error {
	var known *mongoerr.Error
	switch {
	case env.Interrupted() != nil:
		return env.Interrupted()
	case errors.As(err, &known):
		return err
	}
	return scriptError(err)
}

// parseStatements parses statements as the body of a function. If the last statement is an expression, the
// function returns its value.
func parseStatements(text string) (*ast.Program, error) {
	const head = "(function(){ "
	form := head + text + "\n})"
	tree, err := parseScript(form)
	if err != nil {
		return nil, err
	}
	whole, ok := tree.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return tree, nil
	}
	f, ok := whole.Expression.(*ast.FunctionLiteral)
	if !ok || len(f.Body.List) == 0 {
		return tree, nil
	}
	last, ok := f.Body.List[len(f.Body.List)-1].(*ast.ExpressionStatement)
	if !ok {
		return tree, nil
	}
	at := int(last.Idx0()) - 1 // Idx0 counts from 1
	tree, err = parseScript(form[:at] + "return " + form[at:])
	return tree, err
}

// comments matches comments before a function.
var comments = regexp.MustCompile(`^(?:\s+|//[^\n]*(?:\n|$)|/\*(?s:.*?)\*/)*`)

// functionStart matches the beginning of a function, to distinguish it from statements.
var functionStart = regexp.MustCompile(`^(?:async\s+)?(?:function\b|\([\w\s,.={}\[\]:$]*\)\s*=>|[\w$]+\s*=>)`)
