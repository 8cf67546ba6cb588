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

// Script is the source of a JavaScript function, compiled: the body of
// $function, $where, $accumulator or mapReduce. Immutable, safe for concurrent
// use by all commands; it runs in a VM.
type Script struct {
	program *goja.Program
	source  string
	bytes   int // that it takes, about
}

// Source is the text the script was compiled from.
func (c *Script) Source() string { return c.source }

// sourceBytesMax is the longest source text. The library compiles it without looking whether
// it is to end, so what is short enough takes some 50 ms at most, see complexity.
const sourceBytesMax = 64 << 10

// parseBytes is what parsing and compiling holds for each byte of the source, about.
const parseBytes = 64

// unsafeSource finds what would run without limits: regular expressions that
// need backtracking, and integers of any size.
var unsafeSource = regexp.MustCompile(`\(\?[=!<]|\\[1-9k]|(?:^|[^\w$.])(?:0[xXoObB])?[0-9a-fA-F_]+n\b`)

// CompileScript compiles a function: "function(a) { … }", an arrow function, or
// statements without a function around them, whose value is that of `return`
// or of the last expression. Comments may stand before. A source that was compiled lately,
// for whatever command, is not compiled again.
//
// Errors: JSInterpreterFailure for a syntax error, for more than 64 KiB of
// source, for what nests too deep, and for look-around, back-references and big integers, which the
// limits of a run do not reach; ExceededTimeLimit for scripts that take as long to compile as one
// may run, ExceededMemoryLimit, and the context's cause.
func CompileScript(env *mql.Env, source string) (*Script, error) {
	done, err := env.Solid()
	if err != nil {
		return nil, err
	}
	defer done()
	return compile(env, source)
}

// compile is CompileScript for who has a lane for solid work.
func compile(env *mql.Env, source string) (*Script, error) {
	if err := env.Interrupted(); err != nil {
		return nil, err
	}
	if c := scripts.get(source); c != nil {
		return c, env.Memory.Need(c.bytes, "compiled JavaScript")
	}
	switch {
	case len(source) > sourceBytesMax:
		return nil, mongoerr.New(mongoerr.JSInterpreterFailure, "JavaScript code is too long: %d bytes, %d are allowed", len(source), sourceBytesMax)
	case unsafeSource.MatchString(source):
		return nil, mongoerr.New(mongoerr.JSInterpreterFailure,
			"JavaScript code must not use look-around, back-references or big integers: %.40q", unsafeSource.FindString(source))
	}
	most := scriptTimeMax
	if env.SolidWanted() {
		most = scriptTimeWanted
	}
	if env.Compiling(0) > most {
		return nil, mongoerr.New(mongoerr.ExceededTimeLimit, "the JavaScript code of one command took longer than %v to compile; send less of it", most)
	}
	held := parseBytes * len(source)
	defer func() { env.Memory.Shrink(held) }()
	if err := env.Memory.Need(held, "compiling JavaScript"); err != nil {
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
	return c, env.Memory.Need(bytes, "compiled JavaScript")
}

// clockOf is what the time is while a command runs.
func clockOf(env *mql.Env) time.Time {
	if env.Clock == nil {
		return time.UnixMilli(env.NowMillis)
	}
	return env.Clock()
}

// compileText compiles a source as a function, or else as the statements of one.
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

// compileError is the error of a source that cannot be compiled.
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

// parseStatements puts a function around statements. The last is its value if it is an expression.
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
	at := int(last.Idx0()) - 1 // they count from 1
	tree, err = parseScript(form[:at] + "return " + form[at:])
	return tree, err
}

// comments are what may stand before a function.
var comments = regexp.MustCompile(`^(?:\s+|//[^\n]*(?:\n|$)|/\*(?s:.*?)\*/)*`)

// functionStart tells a function from statements.
var functionStart = regexp.MustCompile(`^(?:async\s+)?(?:function\b|\([\w\s,.={}\[\]:$]*\)\s*=>|[\w$]+\s*=>)`)
