"use strict";

/** The name of the method that `await using` calls at the end of a block, also where Node does not have it yet. */
exports.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");
