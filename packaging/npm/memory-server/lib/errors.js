"use strict";

/** Something was asked of a server or set that is not in the state for it. */
class StateError extends Error {
  constructor(wantedStates, gotState) {
    super(`The state is "${gotState}", and this can be done in ${wantedStates.map((s) => `"${s}"`).join(" and ")} only`);
    this.name = "StateError";
    this.wantedStates = wantedStates;
    this.gotState = gotState;
  }
}

/** A replica set without members was asked for. */
class ReplsetCountLowError extends Error {
  constructor(count) {
    super(`replSet.count is at least 1, not ${count}`);
    this.name = "ReplsetCountLowError";
    this.count = count;
  }
}

/** A server runs, or should, and nothing is known of it. */
class InstanceInfoError extends Error {
  constructor(where) {
    super(`There is no instanceInfo (${where}): the server was not started, or has been stopped`);
    this.name = "InstanceInfoError";
  }
}

/** Users cannot be made, as the driver that would do it is not installed. */
class NoDriverError extends Error {
  constructor() {
    super("auth.enable makes users with the mongodb driver, which is not installed: npm install --save-dev mongodb");
    this.name = "NoDriverError";
  }
}

module.exports = { StateError, ReplsetCountLowError, InstanceInfoError, NoDriverError };
