"use strict";

/** Any error of this package. */
class GenericMMSError extends Error {
  constructor(...args) {
    super(...args);
    this.name = new.target.name;
  }
}

/** A method was called in a state that does not allow it. */
class StateError extends GenericMMSError {
  constructor(wantedStates, gotState) {
    super(`The state is "${gotState}", and this can be done in ${wantedStates.map((s) => `"${s}"`).join(" and ")} only`);
    this.wantedStates = wantedStates;
    this.gotState = gotState;
  }
}

/** A replica set without members was requested. */
class ReplsetCountLowError extends GenericMMSError {
  constructor(count) {
    super(`replSet.count is at least 1, not ${count}`);
    this.count = count;
  }
}

/** The data of a running server are needed, and no server runs. */
class InstanceInfoError extends GenericMMSError {
  constructor(where) {
    super(`There is no instanceInfo (${where}): the server was not started, or has been stopped`);
    this.where = where;
  }
}

/** The option auth is neither an object nor absent. */
class AuthNotObjectError extends GenericMMSError {
  constructor() {
    super("auth must be an object such as { enable: true }");
  }
}

/** Users cannot be created, because the driver is not installed. */
class NoDriverError extends GenericMMSError {
  constructor() {
    super("auth.enable makes users with the mongodb driver, which is not installed: npm install --save-dev mongodb");
  }
}

/** The server did not start; the message has the reason, and code is "EADDRINUSE" if the port is not free. */
class StdoutInstanceError extends GenericMMSError {
  constructor(message, options) {
    super(message, options);
    this.code = options?.cause?.code;
  }
}

/** The server ended by itself. */
class UnexpectedCloseError extends GenericMMSError {
  constructor(code, signal) {
    super(`The server ended with ${signal || `status ${code}`}`);
    this.code = code;
    this.signal = signal;
  }
}

/** A method concerns the download of a binary, and this package downloads nothing. */
class NoDownloadError extends GenericMMSError {
  constructor(method) {
    super(`cantle-memory-server downloads nothing: ${method} has no meaning here. The program is in an npm package; MongoBinary.getPath() returns its path`);
    this.method = method;
  }
}

module.exports = { GenericMMSError, StateError, ReplsetCountLowError, InstanceInfoError, AuthNotObjectError, NoDriverError, StdoutInstanceError,
  UnexpectedCloseError, NoDownloadError };

// Errors of downloads, archives, lock files, elections and key files. They are exported because tests compare with
// them (instanceof), and never thrown: nothing of this exists here.
for (const name of ["AssertionFallbackError", "BinaryNotFoundError", "DownloadError", "InsufficientPermissionsError", "KeyFileMissingError",
  "KnownVersionIncompatibilityError", "Md5CheckFailedError", "NoRegexMatchError", "ParseArchiveRegexError", "StartBinaryFailedError",
  "UnableToUnlockLockfileError", "UnknownArchitectureError", "UnknownLinuxDistro", "UnknownLockfileStatusError", "UnknownPlatformError",
  "UnknownVersionError", "WaitForPrimaryTimeoutError"]) {
  module.exports[name] = { [name]: class extends GenericMMSError {} }[name];
}
