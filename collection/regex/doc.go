// Package regex is a backtracking engine for regular expressions with the syntax and the meaning of PCRE2 10.42 with
// UTF, and of ECMAScript. A pattern is parsed to a Tree; Tree.Linear writes those patterns in RE2's syntax that mean the
// same there; Tree.Compile makes a Program, which matches under a budget of steps that does not depend on the speed of
// the machine.
//
// Source of the syntax: the pages pcre2pattern, pcre2syntax and pcre2compat of PCRE2; ECMA-262, RegExp.
package regex
